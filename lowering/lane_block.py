"""Two vector loops, one inside the other, that run as a transposition in registers."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from xdsl.dialects.builtin import NoneAttr
from xdsl.ir import Block, Operation, SSAValue

from ..analysis.operations import body_of
from ..dialects import loop
from ..dialects.affine_bounds import linear_form
from ..dialects.loop import LoopKind, RunMode, mode_attribute
from ..dialects.shaped import memref_type
from ..frozen import frozen
from .lane_count import constant_count, is_elementwise, lane_count

MOST_TRANSPOSED = 1024
"""Of the elements of a block: the code would grow without end."""


@frozen
class LaneBlock:
    """Two vector loops, one inside the other, that run as a transposition in registers."""

    outer: loop.ForOp
    inner: loop.ForOp
    outer_lanes: int
    inner_lanes: int
    across: tuple[Operation, ...]
    """what has neighbours along the outer loop, and is turned: loads, conditions included, or what is computed of them"""
    before: tuple[Operation, ...]
    """the operations that lead there, in order, these included, along the outer loop"""
    done: frozenset[Operation]
    """of these, what is turned, and what nothing else has a use for: all others are computed again along the inner loop"""


def lane_block(outer: loop.ForOp) -> LaneBlock | None:
    """The loop and the one inside of it, when both are vector loops and some load is across."""
    inner = body_of(outer).first_op
    if not isinstance(inner, loop.ForOp) or not isinstance(inner.next_op, loop.YieldOp):
        return None
    both = (outer, inner)
    if any(f.mode != mode_attribute(RunMode.VECTOR) for f in both):
        return None
    if any(f.kind.data is not LoopKind.PARALLEL for f in both):
        return None
    if len(outer.lower_map.data.results) != 1 or len(outer.upper_map.data.results) != 1:
        return None
    outer_lanes, inner_lanes = constant_count(outer), lane_count(inner)
    if outer_lanes is None or inner_lanes is None or outer.induction_variable in inner.operands:
        return None
    if outer_lanes < 1 or outer_lanes * inner_lanes > MOST_TRANSPOSED:
        return None
    loads = _loads_across(outer, inner)
    if not loads:
        return None
    sources = tuple(_sources(inner.body.block, loads, outer, inner))
    across, before = _turned(sources, outer, inner)
    body = inner.body.block
    again = _leading_to([op for op in body.ops if op not in before], across, body)
    done = frozenset(op for op in before if op in across or op not in again)
    return LaneBlock(outer, inner, outer_lanes, inner_lanes, across, before, done)


def _loads_across(outer: loop.ForOp, inner: loop.ForOp) -> set[Operation]:
    """The loads of neighbours along the outer loop; none where other accesses are no vectors either."""
    ops = list(inner.body.walk())
    accesses = [op for op in ops if isinstance(op, loop.LoadOp | loop.StoreOp)]
    if any(isinstance(op, loop.ForOp | loop.PrefetchOp) for op in ops) or not accesses:
        return set()
    *loads, store = accesses
    if not isinstance(store, loop.StoreOp) or _step_along(store, inner) != 1:
        return set()
    across: set[Operation] = set()
    for load in loads:
        if not isinstance(load, loop.LoadOp):
            return set()
        if _step_along(load, inner) in (0, 1):
            continue
        if _step_along(load, outer) != 1 or not _is_ready(load, outer, inner):
            return set()
        across.add(load)
    return across


def _sources(
    block: Block, loads: set[Operation], outer: loop.ForOp, inner: loop.ForOp
) -> Iterator[Operation]:
    """The loads, or what stands around them where that needs nothing else of the body."""
    for op in block.ops:
        inside = [op, *(i for r in op.regions for i in r.walk())] if op.regions else [op]
        if not any(i in loads for i in inside):
            continue
        if op in loads or (op.results and _stands_alone(op, inside, loads, outer, inner)):
            yield op
            continue
        for region in op.regions:
            for inner_block in region.blocks:
                yield from _sources(inner_block, loads, outer, inner)


def _stands_alone(
    op: Operation,
    inside: list[Operation],
    loads: set[Operation],
    outer: loop.ForOp,
    inner: loop.ForOp,
) -> bool:
    variables = (outer.induction_variable, inner.induction_variable)
    return (
        len(op.results) == 1
        and all(i in loads for i in inside if isinstance(i, loop.LoadOp))
        and all(
            v in variables or op.is_ancestor(v.owner) or not outer.is_ancestor(v.owner)
            for i in inside
            for v in i.operands
        )
    )


def _turned(
    sources: tuple[Operation, ...], outer: loop.ForOp, inner: loop.ForOp
) -> tuple[tuple[Operation, ...], tuple[Operation, ...]]:
    """
    What is turned, and the operations that lead there, in order. Where it can be, what is computed of the sources, and of what all iterations
    of the inner loop share, is computed before, and its last results are turned: rows are whole vectors, and columns often are not, which
    would take more instructions. Else the sources are turned.
    """
    body = inner.body.block
    if any(source.parent is not body for source in sources):
        return sources, sources
    varying, shared = set(sources), set[Operation]()
    for op in body.ops:
        owners = [v.owner for v in op.operands if outer.is_ancestor(v.owner)]
        if isinstance(op, loop.LoadOp):
            if op not in varying and _is_shared(op, outer, inner):
                shared.add(op)
        elif is_elementwise(op) and all(o in varying or o in shared for o in owners):
            (varying if any(o in varying for o in owners) else shared).add(op)
    last = [op for op in varying if any(u.operation not in varying for u in op.results[0].uses)]
    if not last or len(last) > len(sources):
        return sources, sources
    leading = _leading_to(last, sources, body)
    before = tuple(op for op in body.ops if op in leading)
    return tuple(op for op in before if op in last), before


def _leading_to(
    ops: Iterable[Operation], known: Collection[Operation], body: Block
) -> set[Operation]:
    """The operations of a body that some need, these included; what is known is among them, and not what that needs."""
    found, waiting = set[Operation](), list(ops)
    while waiting:
        op = waiting.pop()
        if op in found:
            continue
        found.add(op)
        if op not in known:
            owners = (v.owner for inside in op.walk() for v in inside.operands)
            waiting += [o for o in owners if isinstance(o, Operation) and o.parent is body]
    return found


def _is_shared(load: loop.LoadOp, outer: loop.ForOp, inner: loop.ForOp) -> bool:
    """Whether all iterations of the inner loop load the same element, and those of the outer one that or the next."""
    strides = memref_type(load.buffer).get_strides()
    forms = [linear_form(expr, len(load.operands_)) for expr in load.map.data.results]
    if strides is None or None in forms or None in strides or not _is_ready(load, outer, inner):
        return False
    steps = {outer.induction_variable: 0, inner.induction_variable: 0}
    for form, stride in zip(forms, strides, strict=True):
        assert form is not None and stride is not None
        for by, v in zip(form[0], load.operands_, strict=True):
            if v in steps:
                steps[v] += by * stride
    along, across = (steps[f.induction_variable] * f.step.value.data for f in (inner, outer))
    return along == 0 and across in (0, 1)


def _step_along(access: loop.LoadOp | loop.StoreOp, for_op: loop.ForOp) -> int | None:
    """0 when an iteration uses the element the one before it does, 1 when the next one, else None."""
    type_, operands = memref_type(access.buffer), list(access.operands_)
    if not isinstance(type_.layout, NoneAttr) and (type_.get_strides() or [None])[-1] != 1:
        return None
    steps: list[int] = []
    for expr in access.map.data.results:
        linear = linear_form(expr, len(operands))
        if linear is None:
            if any(operands[n] is for_op.induction_variable for n in expr.used_dims()):
                return None
            steps.append(0)
            continue
        uses = zip(linear[0], operands, strict=True)
        steps.append(sum(c for c, v in uses if v is for_op.induction_variable))
    steps = [step * for_op.step.value.data for step in steps]
    if any(steps[:-1]) or steps[-1:] not in ([], [0], [1]):
        return None
    return sum(steps)


def _is_ready(load: loop.LoadOp, outer: loop.ForOp, inner: loop.ForOp) -> bool:
    """Whether where and when it loads is known before the body runs: no other value of it is needed."""
    values: list[SSAValue] = list(load.operands_)
    block, parent = load.parent_block(), load.parent_op()
    while parent is not inner:
        if not isinstance(parent, loop.IfOp) or block is not body_of(parent):
            return False
        values += parent.condition_operands
        block, parent = parent.parent_block(), parent.parent_op()
    variables = (outer.induction_variable, inner.induction_variable)
    return all(v in variables or not outer.is_ancestor(v.owner) for v in values)
