"""Random schedule steps that move, copy or reshape what is stored. See `random_steps`."""

from __future__ import annotations

from stepwell.dialects import loop
from stepwell.dialects.schedule import Step
from stepwell.dialects.schedule import steps as s
from stepwell.transforms.step_support.nest import loops_around
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Operation, SSAValue

from .random_draw import Draw

SCOPES = tuple(loop.Scope)


def compute_at(draw: Draw) -> Step:
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


def reverse_compute_at(draw: Draw) -> Step:
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
    draw: Draw, kind: type[loop.LoadOp | loop.StoreOp]
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


def handed_on(draw: Draw) -> str:
    """A buffer that is computed and read, mostly a scratch buffer that is written in one place."""
    is_any = draw.rng.random() < 0.03

    def is_handed_on(value: SSAValue) -> bool:
        stores = _users(value, loop.StoreOp)
        usual = _is_scratch(value) and len(stores) == 1
        return bool(stores and _users(value, loop.LoadOp)) and (is_any or usual)

    return draw.buffer(is_handed_on)


def _is_stored(value: SSAValue) -> bool:
    return any(isinstance(use.operation, loop.StoreOp) for use in value.uses)


def stage(draw: Draw) -> Step:
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


def stage_halo(draw: Draw) -> Step:
    """Mostly of a buffer with loads that have another value where a condition does not hold."""

    def is_padded(value: SSAValue) -> bool:
        loads = _users(value, loop.LoadOp)
        around = [load.parent_op() for load in loads]
        return any(isinstance(op, loop.IfOp) and len(op.outputs) for op in around)

    is_any = draw.rng.random() < 0.01
    buffer = draw.buffer(lambda value: is_any or is_padded(value))
    at = draw.loop().loop_name.data if draw.rng.random() < 0.5 else ""
    return s.StageHalo(f"f/{buffer}", at, scope=draw.rng.choice(SCOPES).value)


def rfactor(draw: Draw) -> Step:
    reductions = [
        op
        for op in draw.nest.loops()
        if op.kind.data is loop.LoopKind.REDUCTION
        or draw.nest.dependences.kind_of(op) is loop.LoopKind.REDUCTION
    ]
    axis = 0 if draw.rng.random() < 0.3 else -1
    return s.Rfactor(draw.path(draw.one(reductions)), "rf" if draw.rng.random() < 0.1 else "", axis)


def decompose_reduction(draw: Draw) -> Step:
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


def double_buffer(draw: Draw) -> Step:
    """Mostly at the loop whose iterations make the buffer."""
    if draw.rng.random() < 0.06:
        return s.DoubleBuffer(f"f/{draw.buffer(_is_scratch)}", draw.loop().loop_name.data)

    def is_filled(value: SSAValue) -> bool:
        is_made = isinstance(value.owner, loop.AllocOp) and bool(loops_around(value.owner))
        return is_made and not any(map(_is_update, _users(value, loop.StoreOp)))

    buffer = draw.buffer(is_filled)
    op = loops_around(_alloc(draw, buffer))[-1]
    return s.DoubleBuffer(f"f/{buffer}", op.loop_name.data)


def _alloc(draw: Draw, buffer: str) -> Operation:
    owner = draw.nest.buffer(buffer).owner
    assert isinstance(owner, Operation)
    return owner


def prefetch(draw: Draw) -> Step:
    distance = draw.rng.choice((1, 1, 2, 4))
    return s.Prefetch(f"f/{draw.buffer()}", draw.loop().loop_name.data, distance)


def set_scope(draw: Draw) -> Step:
    return s.SetScope(f"f/{draw.buffer(_is_scratch)}", draw.rng.choice(SCOPES).value)


def storage_align(draw: Draw) -> Step:
    buffer = draw.buffer(lambda v: _is_scratch(v) and len(v.type.get_shape()) > 1)
    rank = len(draw.nest.buffer(buffer).type.get_shape())
    factor = draw.rng.choice((2, 4, 8))
    return s.StorageAlign(
        f"f/{buffer}", draw.rng.randint(1, rank - 1), factor, draw.rng.randrange(factor)
    )


def fold_storage(draw: Draw) -> Step:
    """Mostly a buffer that one loop both fills and reads, which may need few of its elements at a time."""

    def is_scratch(value: SSAValue) -> bool:
        return _is_scratch(value) and any(size > 1 for size in value.type.get_shape())

    def is_at_once(value: SSAValue) -> bool:
        fills = {op for store in _users(value, loop.StoreOp) for op in loops_around(store)}
        uses = {op for load in _users(value, loop.LoadOp) for op in loops_around(load)}
        return is_scratch(value) and bool(fills & uses)

    buffer = draw.buffer(is_scratch if draw.rng.random() < 0.06 else is_at_once)
    sizes = draw.nest.buffer(buffer).type.get_shape()
    axis = draw.rng.choice([n for n, size in enumerate(sizes) if size > 1])
    factor = draw.rng.choice([n for n in (1, 2, 2, 3, 4) if n < sizes[axis]])
    return s.FoldStorage(f"f/{buffer}", axis, factor)
