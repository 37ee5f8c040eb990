"""Random schedule steps that look legal: their parameters are loops and buffers that are there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import pairwise
from random import Random

from stepwell.dialects import loop
from stepwell.dialects.schedule import Step
from stepwell.dialects.schedule import steps as s
from stepwell.transforms.schedule.nest import Nest, loops_around
from xdsl.dialects.builtin import IndexType, MemRefType
from xdsl.ir import Operation, SSAValue

SCOPES = tuple(loop.Scope)
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
    "inline": 4,
    "reverse_inline": 4,
    "rfactor": 6,
    "decompose_reduction": 5,
    "simplify": 4,
    "pragma": 1,
    "prefetch": 2,
    "set_scope": 2,
    "tensorize": 1,
}
"""How often a step is drawn; those that are not here, 3."""
LARGEST = 500
"""Operations of a function that is not unrolled any more."""


class NotHere(Exception):
    """The function has nothing that the step could be applied to."""


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
            return _DRAW[keyword](_Draw(rng, nest))
        except NotHere:
            continue
    raise NotHere


@dataclass(frozen=True)
class _Draw:
    """The choices of one step's parameters."""

    rng: Random
    nest: Nest

    def one(self, values: Iterator[loop.ForOp] | list[loop.ForOp]) -> loop.ForOp:
        found = list(values)
        if not found:
            raise NotHere
        return self.rng.choice(found)

    def loop(self) -> loop.ForOp:
        return self.one(self.nest.loops())

    def path(self, op: loop.ForOp) -> str:
        return f"f/{op.loop_name.data}"

    def buffer(self, wanted: Callable[[SSAValue], bool] = lambda value: True) -> str:
        found = [v.name_hint for v in self.nest.buffers() if v.name_hint and wanted(v)]
        if not found:
            raise NotHere
        return self.rng.choice(found)

    def tail(self) -> str:
        return self.rng.choice(("guard", "guard", "peel", "peel", "pad", "perfect"))

    def is_small(self) -> bool:
        return sum(1 for _ in self.nest.function.walk()) < LARGEST


def chain(outermost: loop.ForOp) -> list[loop.ForOp]:
    """The loop and those perfectly nested in it."""
    found = [outermost]
    while True:
        inside = [op for op in found[-1].body.block.ops if not isinstance(op, loop.YieldOp)]
        if len(inside) != 1 or not isinstance(inside[0], loop.ForOp):
            return found
        found.append(inside[0])


def _with_inner(draw: _Draw) -> loop.ForOp:
    """A loop with others perfectly nested in it, when there is one."""
    nested = [op for op in draw.nest.loops() if len(chain(op)) > 1]
    return draw.one(nested or draw.nest.loops())


def _split(draw: _Draw) -> Step:
    op, rng = draw.loop(), draw.rng
    outer = f"{op.loop_name.data}.o" if rng.random() < 0.2 else ""
    inner = f"{op.loop_name.data}.i" if rng.random() < 0.2 else ""
    return s.Split(draw.path(op), rng.choice((1, 2, 2, 3, 4, 5)), outer, inner, draw.tail())


def _tile(draw: _Draw) -> Step:
    op = _with_inner(draw)
    count = draw.rng.randint(1, len(chain(op)))
    factors = tuple(draw.rng.choice((1, 2, 2, 3, 4)) for _ in range(count))
    return s.Tile(draw.path(op), factors, draw.tail())


def _reorder(draw: _Draw) -> Step:
    op = _with_inner(draw)
    names = [one.loop_name.data for one in chain(op)]
    order = names[: draw.rng.randint(min(2, len(names)), len(names))]
    if draw.rng.random() < 0.1:
        inside = [o.loop_name.data for o in op.body.walk() if isinstance(o, loop.ForOp)]
        order = [op.loop_name.data, *inside]
    shuffled = draw.rng.sample(order, len(order))
    if shuffled == order:
        shuffled.reverse()
    return s.Reorder(draw.path(op), tuple(shuffled))


def _fuse(draw: _Draw) -> Step:
    op = _with_inner(draw)
    inside = [o for o in op.body.walk() if isinstance(o, loop.ForOp)]
    inner = draw.one([o for o in inside if o.parent_op() is op] or inside)
    into = "fused" if draw.rng.random() < 0.2 else ""
    return s.Fuse(draw.path(op), inner.loop_name.data, into)


def _unroll(draw: _Draw) -> Step:
    if not draw.is_small():
        raise NotHere
    return s.Unroll(draw.path(draw.loop()), draw.rng.choice((0, 0, 2, 2, 3, 4)), draw.tail())


def _unroll_and_jam(draw: _Draw) -> Step:
    if not draw.is_small():
        raise NotHere
    with_loops = [
        op for op in draw.nest.loops() if any(isinstance(o, loop.ForOp) for o in op.body.walk())
    ]
    op = draw.one(with_loops or draw.nest.loops())
    return s.UnrollAndJam(draw.path(op), draw.rng.choice((1, 2, 2, 2, 3, 4)), draw.tail())


def _vectorize(draw: _Draw) -> Step:
    innermost = [
        op for op in draw.nest.loops() if not any(isinstance(o, loop.ForOp) for o in op.body.walk())
    ]
    op = draw.one(innermost) if draw.rng.random() < 0.7 else draw.loop()
    return s.Vectorize(draw.path(op), draw.rng.choice((0, 2, 2, 4, 4, 8)), draw.tail())


def _peel(draw: _Draw) -> Step:
    front, back = draw.rng.choice(((1, 0), (0, 1), (2, 0), (0, 2), (1, 1), (3, 1)))
    return s.Peel(draw.path(draw.loop()), front, back)


def _index_set_split(draw: _Draw) -> Step:
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


def _fission(draw: _Draw) -> Step:
    several = [op for op in draw.nest.loops() if len(_cuts(op)) > 1]
    op = draw.one(several or draw.nest.loops())
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
    return found


def _fuse_loops(draw: _Draw) -> Step:
    pairs = [
        (a, b)
        for block in _blocks(draw.nest)
        for a, b in pairwise([op for op in block if isinstance(op, loop.ForOp)])
    ]
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


def _skew(draw: _Draw) -> Step:
    inner = draw.one([op for op in draw.nest.loops() if loops_around(op)])
    by = draw.rng.choice(loops_around(inner)).loop_name.data
    return s.Skew(draw.path(inner), by, draw.rng.choice((1, 1, 2, -1)))


def _compute_at(draw: _Draw) -> Step:
    return s.ComputeAt(f"f/{draw.buffer(_is_stored)}", draw.loop().loop_name.data)


def _reverse_compute_at(draw: _Draw) -> Step:
    return s.ReverseComputeAt(f"f/{draw.buffer(_is_stored)}", draw.loop().loop_name.data)


def _is_stored(value: SSAValue) -> bool:
    return any(isinstance(use.operation, loop.StoreOp) for use in value.uses)


def _stage(draw: _Draw) -> Step:
    rng = draw.rng
    op = draw.loop()
    used = {
        inner.buffer.name_hint
        for inner in op.body.walk()
        if isinstance(inner, loop.LoadOp | loop.StoreOp)
    }
    if rng.random() < 0.05:
        used = set()
    buffer = draw.buffer(lambda v: not used or v.name_hint in used)
    type_ = draw.nest.buffer(buffer).type
    rank = type_.get_num_dims() if isinstance(type_, MemRefType) else 0
    order: tuple[int, ...] = ()
    if rank > 1 and rng.random() < 0.3:
        order = tuple(rng.sample(range(rank), rank))
    return s.Stage(
        f"f/{buffer}",
        op.loop_name.data,
        into="packed" if rng.random() < 0.1 else "",
        scope=rng.choice(SCOPES).value,
        order=order,
        panel=rng.choice((0, 0, 0, 2, 4)) if rank else 0,
        pad=rng.choice((0, 0, 0, 2, 4)) if rank else 0,
    )


def _rfactor(draw: _Draw) -> Step:
    reductions = [
        op
        for op in draw.nest.loops()
        if op.kind.data is loop.LoopKind.REDUCTION
        or draw.nest.dependences.kind_of(op) is loop.LoopKind.REDUCTION
    ]
    return s.Rfactor(draw.path(draw.one(reductions)), "rf" if draw.rng.random() < 0.1 else "")


def _decompose_reduction(draw: _Draw) -> Step:
    return s.DecomposeReduction(f"f/{draw.buffer(_is_stored)}", draw.loop().loop_name.data)


def _is_scratch(value: SSAValue) -> bool:
    return isinstance(value.owner, loop.AllocOp)


def _double_buffer(draw: _Draw) -> Step:
    buffer = draw.buffer(_is_scratch)
    around = loops_around(_alloc(draw, buffer))
    op = draw.one(around) if around and draw.rng.random() < 0.9 else draw.loop()
    return s.DoubleBuffer(f"f/{buffer}", op.loop_name.data)


def _alloc(draw: _Draw, buffer: str) -> Operation:
    owner = draw.nest.buffer(buffer).owner
    assert isinstance(owner, Operation)
    return owner


def _prefetch(draw: _Draw) -> Step:
    distance = draw.rng.choice((1, 1, 2, 4))
    return s.Prefetch(f"f/{draw.buffer()}", draw.loop().loop_name.data, distance)


def _set_scope(draw: _Draw) -> Step:
    return s.SetScope(f"f/{draw.buffer(_is_scratch)}", draw.rng.choice(SCOPES).value)


def _storage_align(draw: _Draw) -> Step:
    buffer = draw.buffer(lambda v: _is_scratch(v) and len(v.type.get_shape()) > 1)  # type: ignore[union-attr]
    rank = len(draw.nest.buffer(buffer).type.get_shape())  # type: ignore[union-attr]
    factor = draw.rng.choice((2, 4, 8))
    return s.StorageAlign(
        f"f/{buffer}", draw.rng.randint(1, rank - 1), factor, draw.rng.randrange(factor)
    )


def _tensorize(draw: _Draw) -> Step:
    return s.Tensorize(draw.path(draw.loop()), "kernel")


def _pragma(draw: _Draw) -> Step:
    return s.Pragma(draw.path(draw.loop()), "note", draw.rng.choice(("", "4")))


_DRAW: dict[str, Callable[[_Draw], Step]] = {
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
    "fission": _fission,
    "fuse_loops": _fuse_loops,
    "skew": _skew,
    "reverse": lambda draw: s.Reverse(draw.path(draw.loop())),
    "compute_at": _compute_at,
    "reverse_compute_at": _reverse_compute_at,
    "inline": lambda draw: s.Inline(f"f/{draw.buffer(_is_stored)}"),
    "reverse_inline": lambda draw: s.ReverseInline(f"f/{draw.buffer(_is_stored)}"),
    "stage": _stage,
    "rfactor": _rfactor,
    "decompose_reduction": _decompose_reduction,
    "double_buffer": _double_buffer,
    "prefetch": _prefetch,
    "set_scope": _set_scope,
    "storage_align": _storage_align,
    "tensorize": _tensorize,
    "pragma": _pragma,
    "simplify": lambda draw: s.Simplify("f"),
}
