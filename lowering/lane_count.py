"""Which loops are written out, and which can run as one vector of how many lanes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

from xdsl.dialects import affine, arith, memref
from xdsl.dialects.builtin import NoneAttr, VectorType
from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir.affine import AffineExpr
from xdsl.traits import is_side_effect_free

from ..analysis.effects import has_no_effect
from ..analysis.neighbours import chosen_loads
from ..analysis.operations import body_of, operands_before_and_after, operations_of
from ..dialects import loop
from ..dialects.affine_bounds import linear_form
from ..dialects.affine_substitution import substituted
from ..dialects.loop import LoopKind, RunMode, mode_attribute
from ..dialects.shaped import memref_type
from ..frozen import frozen

MOST_LANES = 256
"""A loop with more iterations is not made one vector of: the code would grow without end."""

MOST_TRANSPOSED = 1024
"""The same for the elements of a block that is transposed in registers."""


LaneCounter: TypeAlias = "Callable[[loop.ForOp], int | None]"
"""`lane_count`, or what remembers its answers."""


def is_written_out(for_op: loop.ForOp) -> bool:
    """Whether the loop is marked `unroll`, and numbers in its bounds say how far that goes."""
    return (
        (mode := for_op.mode) is not None
        and mode.data is RunMode.UNROLL
        and len(for_op.lower_map.data.results) == 1
        and for_op.greatest_trip_count() is not None
    )


def lane_count(for_op: loop.ForOp) -> int | None:
    """The number of iterations when it is a constant and all of the body can run in lanes."""
    if len(for_op.lower_map.data.results) != 1 or len(for_op.upper_map.data.results) != 1:
        return None
    count = constant_count(for_op)
    if count is None or not 1 <= count <= MOST_LANES or not _can_run(body_of(for_op)):
        return None
    return None if chosen_loads(for_op) is None else count


def powers_of_two(count: int) -> list[int]:
    """The powers of two that a number is the sum of, the greatest first."""
    return [1 << bit for bit in reversed(range(count.bit_length())) if count >> bit & 1]


def constant_count(for_op: loop.ForOp) -> int | None:
    """The number of iterations of a loop with one lower and one upper bound, when it is a constant."""
    low_operands, high_operands = operands_before_and_after(for_op, for_op.lower_map.data.num_dims)
    values = list(dict.fromkeys((*low_operands, *high_operands)))
    forms: list[tuple[list[int], int]] = []
    for map_, used in (
        (for_op.lower_map.data, low_operands),
        (for_op.upper_map.data, high_operands),
    ):
        dims = [AffineExpr.dimension(values.index(v)) for v in used]
        form = linear_form(substituted(map_.results[0], dims), len(values))
        if form is None:
            return None
        forms.append(form)
    (low, first), (high, end) = forms
    return -(-(end - first) // for_op.step.value.data) if low == high else None


def _can_run(block: Block) -> bool:
    for op in operations_of(block):
        if type(op) in _CAN_RUN:
            continue
        match op:
            case loop.ForOp():
                if not (op.mode is None or is_written_out(op)) or not _can_run(body_of(op)):
                    return False
            case loop.IfOp():
                if not all(_can_run(inner) for r in op.regions for inner in r.blocks):
                    return False
            case _:
                if not _is_elementwise(op):
                    return False
    return True


_CAN_RUN = frozenset(
    (
        loop.LoadOp,
        loop.StoreOp,
        loop.PrefetchOp,
        loop.YieldOp,
        memref.LoadOp,
        affine.ApplyOp,
    )
)
"""Kinds of operations that always run in lanes."""


_PURE = (arith.ExtSIOp, arith.RemUIOp)
"""Operations of which xDSL does not say that they have no effects."""


def _is_elementwise(op: Operation) -> bool:
    return (
        op.dialect_name() in ("arith", "math")
        and len(op.results) == 1
        and not op.regions
        and (has_no_effect(type(op)) or is_side_effect_free(op) or isinstance(op, _PURE))
        and not isinstance(op.results[0].type, VectorType)
    )


# Blocks that are transposed.


@frozen
class LaneBlock:
    """Two vector loops, one inside the other, that run as a transposition in registers."""

    outer: loop.ForOp
    inner: loop.ForOp
    outer_lanes: int
    inner_lanes: int
    across: tuple[Operation, ...]
    """what loads neighbours along the outer loop, conditions included; all else is along the inner one"""


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
    across = tuple(_sources(inner.body.block, loads, outer, inner))
    return LaneBlock(outer, inner, outer_lanes, inner_lanes, across)


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
