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
from stepwell.transforms.step_support.nest import Nest, loops_around
from xdsl.dialects import func
from xdsl.dialects.builtin import IndexType, MemRefType, ModuleOp
from xdsl.ir import Operation, SSAValue

from .perfect_nests import perfect_nest

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
    "inline": 7,
    "reverse_inline": 7,
    "rfactor": 6,
    "decompose_reduction": 8,
    "simplify": 4,
    "normalize": 2,
    "pragma": 1,
    "prefetch": 2,
    "nontemporal": 1,
    "set_scope": 2,
    "tensorize": 12,
    "double_buffer": 7,
    "fold_storage": 6,
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

    def pair(self, pairs: list[tuple[SSAValue, loop.ForOp]]) -> tuple[SSAValue, loop.ForOp]:
        if not pairs:
            raise NotHere
        return self.rng.choice(pairs)

    def places(self) -> dict[Operation, int]:
        """The operations of the function in the order of the text."""
        return {op: n for n, op in enumerate(self.nest.function.walk())}

    def functions(self) -> list[func.FuncOp]:
        """All functions of the module."""
        module = self.nest.function.parent_op()
        assert isinstance(module, ModuleOp)
        return [op for op in module.ops if isinstance(op, func.FuncOp)]

    def tail(self) -> str:
        return self.rng.choice(("guard", "guard", "peel", "peel", "pad", "perfect"))

    def is_small(self) -> bool:
        return sum(1 for _ in self.nest.function.walk()) < LARGEST


def _with_inner(draw: _Draw) -> loop.ForOp:
    """A loop with others perfectly nested in it, when there is one."""
    nested = [op for op in draw.nest.loops() if len(perfect_nest(op)) > 1]
    return draw.one(nested or draw.nest.loops())


def _split(draw: _Draw) -> Step:
    op, rng = draw.loop(), draw.rng
    outer = f"{op.loop_name.data}.o" if rng.random() < 0.2 else ""
    inner = f"{op.loop_name.data}.i" if rng.random() < 0.2 else ""
    return s.Split(draw.path(op), rng.choice((1, 2, 2, 3, 4, 5)), outer, inner, draw.tail())


def _tile(draw: _Draw) -> Step:
    op = _with_inner(draw)
    count = draw.rng.randint(1, len(perfect_nest(op)))
    factors = tuple(draw.rng.choice((1, 2, 2, 3, 4)) for _ in range(count))
    return s.Tile(draw.path(op), factors, draw.tail())


def _reorder(draw: _Draw) -> Step:
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
    op = draw.one(with_loops or (draw.nest.loops() if draw.rng.random() < 0.1 else []))
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


def _partition(draw: _Draw) -> Step:
    around = [
        op
        for op in draw.nest.loops()
        if any(isinstance(inner, loop.IfOp) for inner in op.body.walk())
    ]
    return s.Partition(draw.path(draw.one(around) if around else draw.loop()))


def _fission(draw: _Draw) -> Step:
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


def _fuse_loops(draw: _Draw) -> Step:
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


def _skew(draw: _Draw) -> Step:
    inner = draw.one([op for op in draw.nest.loops() if loops_around(op)])
    by = draw.rng.choice(loops_around(inner)).loop_name.data
    return s.Skew(draw.path(inner), by, draw.rng.choice((1, 1, 2, -1)))


def _compute_at(draw: _Draw) -> Step:
    """Mostly at a loop that reads what is written elsewhere."""
    if draw.rng.random() < 0.1:
        return s.ComputeAt(f"f/{draw.buffer(_is_stored)}", draw.loop().loop_name.data)
    place = draw.places()
    pairs = [
        (value, op)
        for value, op in _used_in_loops(draw, loop.LoadOp)
        if _is_stored(value) and all(place[s] < place[op] for s in _users(value, loop.StoreOp))
    ]
    value, op = draw.pair(pairs)
    return s.ComputeAt(f"f/{value.name_hint}", op.loop_name.data)


def _reverse_compute_at(draw: _Draw) -> Step:
    """Mostly at a loop that writes what is read elsewhere, to compute something from it."""
    if draw.rng.random() < 0.1:
        return s.ReverseComputeAt(f"f/{draw.buffer(_is_stored)}", draw.loop().loop_name.data)
    place = draw.places()
    pairs: list[tuple[SSAValue, loop.ForOp]] = []
    for value, op in _used_in_loops(draw, loop.StoreOp):
        for load in _users(value, loop.LoadOp):
            if not op.is_ancestor(load) and place[op] < place[load]:
                pairs += [
                    (store.buffer, op)
                    for store in _stores_beside(load)
                    if not any(op.is_ancestor(s) for s in _users(store.buffer, loop.StoreOp))
                ]
    value, op = draw.pair(pairs)
    return s.ReverseComputeAt(f"f/{value.name_hint}", op.loop_name.data)


def _used_in_loops(
    draw: _Draw, kind: type[loop.LoadOp | loop.StoreOp]
) -> list[tuple[SSAValue, loop.ForOp]]:
    """The buffers with a name, each with every loop that has such an operation on it inside."""
    found: dict[tuple[SSAValue, loop.ForOp], None] = {}
    for value in draw.nest.buffers():
        for op in _users(value, kind):
            found.update(((value, around), None) for around in loops_around(op) if value.name_hint)
    return list(found)


def _users(
    value: SSAValue, kind: type[loop.LoadOp | loop.StoreOp]
) -> list[loop.LoadOp | loop.StoreOp]:
    return [use.operation for use in value.uses if isinstance(use.operation, kind)]


def _stores_beside(op: Operation) -> list[loop.StoreOp]:
    block = op.parent
    assert block is not None
    return [other for other in block.ops if isinstance(other, loop.StoreOp)]


def _handed_on(draw: _Draw) -> str:
    """A buffer that is computed and read, mostly a scratch buffer that is written in one place."""
    is_any = draw.rng.random() < 0.03

    def is_handed_on(value: SSAValue) -> bool:
        stores = _users(value, loop.StoreOp)
        usual = _is_scratch(value) and len(stores) == 1
        return bool(stores and _users(value, loop.LoadOp)) and (is_any or usual)

    return draw.buffer(is_handed_on)


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
    order = tuple(rng.sample(range(rank), rank)) if rank > 1 and rng.random() < 0.3 else ()
    return s.Stage(
        f"f/{buffer}",
        op.loop_name.data,
        into="packed" if rng.random() < 0.1 else "",
        scope=rng.choice(SCOPES).value,
        order=order,
        panel=rng.choice((0, 0, 0, 2, 4)) if rank else 0,
        pad=rng.choice((0, 0, 0, 2, 4)) if rank else 0,
        along=draw.loop().loop_name.data if rng.random() < 0.15 else "",
    )


def _stage_halo(draw: _Draw) -> Step:
    """Mostly of a buffer with loads that have another value where a condition does not hold."""

    def is_padded(value: SSAValue) -> bool:
        loads = _users(value, loop.LoadOp)
        around = [load.parent_op() for load in loads]
        return any(isinstance(op, loop.IfOp) and len(op.outputs) for op in around)

    is_any = draw.rng.random() < 0.01
    buffer = draw.buffer(lambda value: is_any or is_padded(value))
    at = draw.loop().loop_name.data if draw.rng.random() < 0.5 else ""
    return s.StageHalo(f"f/{buffer}", at, scope=draw.rng.choice(SCOPES).value)


def _rfactor(draw: _Draw) -> Step:
    reductions = [
        op
        for op in draw.nest.loops()
        if op.kind.data is loop.LoopKind.REDUCTION
        or draw.nest.dependences.kind_of(op) is loop.LoopKind.REDUCTION
    ]
    axis = 0 if draw.rng.random() < 0.3 else -1
    return s.Rfactor(draw.path(draw.one(reductions)), "rf" if draw.rng.random() < 0.1 else "", axis)


def _decompose_reduction(draw: _Draw) -> Step:
    """Mostly at a loop around two stores to the buffer, one of which has more loops around."""
    if draw.rng.random() < 0.1:
        return s.DecomposeReduction(f"f/{draw.buffer(_is_stored)}", draw.loop().loop_name.data)
    pairs: list[tuple[SSAValue, loop.ForOp]] = []
    for value, op in _used_in_loops(draw, loop.StoreOp):
        stores = [store for store in _users(value, loop.StoreOp) if op.is_ancestor(store)]
        depths = {len(loops_around(store)) for store in stores}
        made = isinstance(value.owner, Operation) and op.is_ancestor(value.owner)
        reduces = any(store in draw.nest.dependences.updates for store in stores)
        if len(stores) == 2 and len(depths) == 2 and reduces and not made:
            pairs.append((value, op))
    value, op = draw.pair(pairs)
    return s.DecomposeReduction(f"f/{value.name_hint}", op.loop_name.data)


def _is_update(store: loop.LoadOp | loop.StoreOp) -> bool:
    block = store.parent
    assert block is not None
    return any(isinstance(op, loop.LoadOp) and op.buffer is store.buffer for op in block.ops)


def _is_scratch(value: SSAValue) -> bool:
    return isinstance(value.owner, loop.AllocOp)


def _double_buffer(draw: _Draw) -> Step:
    """Mostly at the loop whose iterations make the buffer."""
    if draw.rng.random() < 0.06:
        return s.DoubleBuffer(f"f/{draw.buffer(_is_scratch)}", draw.loop().loop_name.data)

    def is_filled(value: SSAValue) -> bool:
        is_made = isinstance(value.owner, loop.AllocOp) and bool(loops_around(value.owner))
        return is_made and not any(map(_is_update, _users(value, loop.StoreOp)))

    buffer = draw.buffer(is_filled)
    op = loops_around(_alloc(draw, buffer))[-1]
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


def _fold_storage(draw: _Draw) -> Step:
    """Mostly a buffer that one loop both fills and reads, which may need few of its elements at a time."""

    def is_scratch(value: SSAValue) -> bool:
        return _is_scratch(value) and any(size > 1 for size in value.type.get_shape())  # type: ignore[union-attr]

    def is_at_once(value: SSAValue) -> bool:
        fills = {op for store in _users(value, loop.StoreOp) for op in loops_around(store)}
        uses = {op for load in _users(value, loop.LoadOp) for op in loops_around(load)}
        return is_scratch(value) and bool(fills & uses)

    buffer = draw.buffer(is_scratch if draw.rng.random() < 0.06 else is_at_once)
    sizes = draw.nest.buffer(buffer).type.get_shape()  # type: ignore[union-attr]
    axis = draw.rng.choice([n for n, size in enumerate(sizes) if size > 1])
    factor = draw.rng.choice([n for n in (1, 2, 2, 3, 4) if n < sizes[axis]])
    return s.FoldStorage(f"f/{buffer}", axis, factor)


def _tensorize(draw: _Draw) -> Step:
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
    "partition": _partition,
    "fission": _fission,
    "fuse_loops": _fuse_loops,
    "skew": _skew,
    "reverse": lambda draw: s.Reverse(draw.path(draw.loop())),
    "compute_at": _compute_at,
    "reverse_compute_at": _reverse_compute_at,
    "inline": lambda draw: s.Inline(f"f/{_handed_on(draw)}"),
    "reverse_inline": lambda draw: s.ReverseInline(f"f/{_handed_on(draw)}"),
    "stage": _stage,
    "stage_halo": _stage_halo,
    "rfactor": _rfactor,
    "decompose_reduction": _decompose_reduction,
    "double_buffer": _double_buffer,
    "prefetch": _prefetch,
    "nontemporal": lambda draw: s.Nontemporal(f"f/{draw.buffer()}"),
    "set_scope": _set_scope,
    "storage_align": _storage_align,
    "fold_storage": _fold_storage,
    "tensorize": _tensorize,
    "pragma": _pragma,
    "simplify": lambda draw: s.Simplify("f"),
    "normalize": lambda draw: s.Normalize("f"),
}
