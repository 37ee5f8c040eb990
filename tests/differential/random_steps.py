"""Random schedule steps that look legal: their parameters are loops and buffers that are there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.util import find_spec
from itertools import pairwise
from random import Random

from stepwell.dialects import loop
from stepwell.dialects.schedule import Step
from stepwell.dialects.schedule import steps as s
from stepwell.transforms.step_support.nest import Nest, loops_around
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Operation

from .perfect_nests import perfect_nest
from .random_buffer_steps import (
    compute_at,
    decompose_reduction,
    double_buffer,
    fold_storage,
    handed_on,
    prefetch,
    reverse_compute_at,
    rfactor,
    set_scope,
    stage,
    stage_halo,
    storage_align,
)
from .random_draw import Draw, NotHere

WEIGHTS = {
    "reorder": 10,
    "fission": 9,
    "fuse_loops": 9,
    "split": 8,
    "tile": 7,
    "unroll_and_jam": 7,
    "stage": 7,
    "vectorize": 5,
    "parallel": 4,
    "reverse": 6,
    "skew": 5,
    "fuse": 5,
    "compute_at": 7,
    "reverse_compute_at": 7,
    "inline": 7,
    "reverse_inline": 7,
    "rfactor": 6,
    "decompose_reduction": 8,
    "simplify": 4,
    "normalize": 2,
    "pragma": 1,
    "mirror": 1,
    "prefetch": 2,
    "nontemporal": 1,
    "set_scope": 2,
    "tensorize": 12,
    "double_buffer": 7,
    "fold_storage": 6,
}
"""How often a step is drawn; those that are not here, 3."""


def implemented() -> list[str]:
    """The keywords of the steps that have a file in `transforms/loop`."""
    return [
        keyword
        for keyword in s.STEPS
        if keyword in _DRAW and find_spec(f"stepwell.transforms.loop.{keyword}") is not None
    ]


def random_step(rng: Random, nest: Nest, keywords: list[str]) -> Step:
    """A step on the function as it is. Raises NotHere when it has no loops left."""
    for _ in range(40):
        keyword = rng.choices(keywords, [WEIGHTS.get(k, 3) for k in keywords])[0]
        try:
            return _DRAW[keyword](Draw(rng, nest))
        except NotHere:
            continue
    raise NotHere


def _with_inner(draw: Draw) -> loop.ForOp:
    """A loop with others perfectly nested in it, when there is one."""
    nested = [op for op in draw.nest.loops() if len(perfect_nest(op)) > 1]
    return draw.one(nested or draw.nest.loops())


def _split(draw: Draw) -> Step:
    op, rng = draw.loop(), draw.rng
    outer = f"{op.loop_name.data}.o" if rng.random() < 0.2 else ""
    inner = f"{op.loop_name.data}.i" if rng.random() < 0.2 else ""
    return s.Split(draw.path(op), rng.choice((1, 2, 2, 3, 4, 5)), outer, inner, draw.tail())


def _tile(draw: Draw) -> Step:
    op = _with_inner(draw)
    count = draw.rng.randint(1, len(perfect_nest(op)))
    factors = tuple(draw.rng.choice((1, 2, 2, 3, 4)) for _ in range(count))
    return s.Tile(draw.path(op), factors, draw.tail())


def _reorder(draw: Draw) -> Step:
    op = _with_inner(draw)
    names = [one.loop_name.data for one in perfect_nest(op)]
    order = names[: draw.rng.randint(min(2, len(names)), len(names))]
    if draw.rng.random() < 0.1:
        inside = [o.loop_name.data for o in op.body.walk() if isinstance(o, loop.ForOp)]
        order = [op.loop_name.data, *inside]
    shuffled = draw.rng.sample(order, len(order))
    if shuffled == order:
        shuffled.reverse()
    return s.Reorder(draw.path(op), tuple(shuffled))


def _fuse(draw: Draw) -> Step:
    op = _with_inner(draw)
    inside = [o for o in op.body.walk() if isinstance(o, loop.ForOp)]
    inner = draw.one([o for o in inside if o.parent_op() is op] or inside)
    into = "fused" if draw.rng.random() < 0.2 else ""
    return s.Fuse(draw.path(op), inner.loop_name.data, into)


def _unroll(draw: Draw) -> Step:
    if not draw.is_small():
        raise NotHere
    return s.Unroll(draw.path(draw.loop()), draw.rng.choice((0, 0, 2, 2, 3, 4)), draw.tail())


def _unroll_and_jam(draw: Draw) -> Step:
    if not draw.is_small():
        raise NotHere
    with_loops = [
        op for op in draw.nest.loops() if any(isinstance(o, loop.ForOp) for o in op.body.walk())
    ]
    op = draw.one(with_loops or (draw.nest.loops() if draw.rng.random() < 0.1 else []))
    return s.UnrollAndJam(draw.path(op), draw.rng.choice((1, 2, 2, 2, 3, 4)), draw.tail())


def _vectorize(draw: Draw) -> Step:
    innermost = [
        op for op in draw.nest.loops() if not any(isinstance(o, loop.ForOp) for o in op.body.walk())
    ]
    op = draw.one(innermost) if draw.rng.random() < 0.7 else draw.loop()
    return s.Vectorize(draw.path(op), draw.rng.choice((0, 2, 2, 4, 4, 8)), draw.tail())


def _peel(draw: Draw) -> Step:
    front, back = draw.rng.choice(((1, 0), (0, 1), (2, 0), (0, 2), (1, 1), (3, 1)))
    return s.Peel(draw.path(draw.loop()), front, back)


def _index_set_split(draw: Draw) -> Step:
    op, rng = draw.loop(), draw.rng
    number = rng.randint(-2, 5)
    sign = rng.choice(("+", "-"))
    names = [around.loop_name.data for around in loops_around(op)]
    names += [
        arg.name_hint
        for arg in draw.nest.function.body.block.args
        if isinstance(arg.type, IndexType) and arg.name_hint
    ]
    point = str(number)
    if names and rng.random() < 0.5:
        point = f"{rng.choice(names)} {sign} {abs(number)}"
    if rng.random() < 0.4:
        own = op.loop_name.data
        comparison = rng.choice((">=", "<=", "=="))
        point = f"{own} - {abs(number)} {comparison} 0"
        if names and rng.random() < 0.5:
            point = f"{own} - {rng.choice(names)} {sign} {abs(number)} {comparison} 0"
    return s.IndexSetSplit(draw.path(op), point)


def _partition(draw: Draw) -> Step:
    around = [
        op
        for op in draw.nest.loops()
        if any(isinstance(inner, loop.IfOp) for inner in op.body.walk())
    ]
    return s.Partition(draw.path(draw.one(around) if around else draw.loop()))


def _fission(draw: Draw) -> Step:
    several = [op for op in draw.nest.loops() if len(_cuts(op)) > 1]
    if draw.rng.random() < 0.7:
        several = [op for op in several if not any(isinstance(o, loop.AllocOp) for o in op.walk())]
    op = draw.one(several or (draw.nest.loops() if draw.rng.random() < 0.15 else []))
    cuts = _cuts(op)
    if not cuts:
        raise NotHere
    return s.Fission(draw.path(op), draw.rng.choice(cuts[:-1] or cuts))


def _cuts(op: loop.ForOp) -> list[str]:
    """The loops of the body and the buffers that it stores to, in order."""
    found: list[str] = []
    for inner in op.body.block.ops:
        if isinstance(inner, loop.ForOp):
            found.append(inner.loop_name.data)
        elif isinstance(inner, loop.StoreOp) and inner.buffer.name_hint:
            found.append(inner.buffer.name_hint)
    # A name stands for its last place.
    return list(dict.fromkeys(reversed(found)))[::-1]


def _fuse_loops(draw: Draw) -> Step:
    pairs = [
        (a, b)
        for block in _blocks(draw.nest)
        for a, b in pairwise([op for op in block if isinstance(op, loop.ForOp)])
    ]
    if draw.rng.random() < 0.9:
        pairs = [(a, b) for a, b in pairs if a.step == b.step]
    if not pairs:
        raise NotHere
    first, second = draw.rng.choice(pairs)
    shift = draw.rng.choice((0, 0, 0, 0, 1, 1, 2, -1))
    return s.FuseLoops(draw.path(first), second.loop_name.data, shift)


def _blocks(nest: Nest) -> Iterator[list[Operation]]:
    yield list(nest.function.body.block.ops)
    for op in nest.function.body.walk():
        for region in op.regions:
            for block in region.blocks:
                yield list(block.ops)


def _skew(draw: Draw) -> Step:
    inner = draw.one([op for op in draw.nest.loops() if loops_around(op)])
    by = draw.rng.choice(loops_around(inner)).loop_name.data
    return s.Skew(draw.path(inner), by, draw.rng.choice((1, 1, 2, -1)))


def _tensorize(draw: Draw) -> Step:
    """Mostly the loop that the module's kernel was written after, or one that was made of it."""
    kernel = next(
        (op for op in draw.functions() if op.sym_name.data == "kernel"),
        None,
    )
    if kernel is None:
        if draw.rng.random() < 0.995:
            raise NotHere
        return s.Tensorize(draw.path(draw.loop()), "kernel")
    (root,) = (op for op in kernel.body.block.ops if isinstance(op, loop.ForOp))
    like = [op for op in draw.nest.loops() if op.loop_name.data == root.loop_name.data]
    if draw.rng.random() < 0.06:
        like = list(draw.nest.loops())
    return s.Tensorize(draw.path(draw.one(like)), "kernel")


def _pragma(draw: Draw) -> Step:
    return s.Pragma(draw.path(draw.loop()), "note", draw.rng.choice(("", "4")))


_DRAW: dict[str, Callable[[Draw], Step]] = {
    "split": _split,
    "tile": _tile,
    "reorder": _reorder,
    "fuse": _fuse,
    "unroll": _unroll,
    "unroll_and_jam": _unroll_and_jam,
    "vectorize": _vectorize,
    "parallel": lambda draw: s.Parallel(draw.path(draw.loop())),
    "peel": _peel,
    "index_set_split": _index_set_split,
    "partition": _partition,
    "skip_padding": lambda draw: s.SkipPadding(_partition(draw).target),
    "mirror": lambda draw: s.Mirror(draw.path(draw.loop())),
    "fission": _fission,
    "fuse_loops": _fuse_loops,
    "skew": _skew,
    "reverse": lambda draw: s.Reverse(draw.path(draw.loop())),
    "compute_at": compute_at,
    "reverse_compute_at": reverse_compute_at,
    "inline": lambda draw: s.Inline(f"f/{handed_on(draw)}"),
    "reverse_inline": lambda draw: s.ReverseInline(f"f/{handed_on(draw)}"),
    "stage": stage,
    "stage_halo": stage_halo,
    "rfactor": rfactor,
    "decompose_reduction": decompose_reduction,
    "double_buffer": double_buffer,
    "prefetch": prefetch,
    "nontemporal": lambda draw: s.Nontemporal(f"f/{draw.buffer()}"),
    "set_scope": set_scope,
    "storage_align": storage_align,
    "fold_storage": fold_storage,
    "tensorize": _tensorize,
    "pragma": _pragma,
    "simplify": lambda draw: s.Simplify("f"),
    "normalize": lambda draw: s.Normalize("f"),
}
