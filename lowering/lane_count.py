"""Which loops are written out, and which can run as one vector of how many lanes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from xdsl.dialects import affine, arith, memref
from xdsl.dialects.builtin import VectorType
from xdsl.ir import Block, Operation
from xdsl.ir.affine import AffineExpr
from xdsl.traits import is_side_effect_free

from ..analysis.effects import has_no_effect
from ..analysis.neighbours import chosen_loads
from ..analysis.operations import body_of, operands_before_and_after, operations_of
from ..dialects import loop
from ..dialects.affine_bounds import linear_form
from ..dialects.affine_substitution import substituted
from ..dialects.loop import RunMode

MOST_LANES = 256
"""A loop with more iterations is not made one vector of: the code would grow without end."""


MOST_COPIES = 1 << 14
"""A loop with more iterations, whatever it is marked, stays a loop: to write it out takes memory and time without end."""


LaneCounter: TypeAlias = "Callable[[loop.ForOp], int | None]"
"""`lane_count`, or what remembers its answers."""


def is_written_out(for_op: loop.ForOp) -> bool:
    """Whether the loop is marked `unroll`, and numbers in its bounds say that it goes no further than code should."""
    return (
        (mode := for_op.mode) is not None
        and mode.data is RunMode.UNROLL
        and len(for_op.lower_map.data.results) == 1
        and (count := for_op.greatest_trip_count()) is not None
        and count <= MOST_COPIES
    )


def lane_count(for_op: loop.ForOp) -> int | None:
    """The number of iterations when it is a constant and all of the body can run in lanes."""
    if len(for_op.lower_map.data.results) != 1 or len(for_op.upper_map.data.results) != 1:
        return None
    count = constant_count(for_op)
    if count is None or not 1 <= count <= MOST_LANES or not _can_run(body_of(for_op)):
        return None
    return None if chosen_loads(for_op) is None else count


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
                if not is_elementwise(op):
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


def is_elementwise(op: Operation) -> bool:
    """Whether an operation has one result, of its operands alone, that vectors have in each lane."""
    return (
        op.dialect_name() in ("arith", "math")
        and len(op.results) == 1
        and not op.regions
        and (has_no_effect(type(op)) or is_side_effect_free(op) or isinstance(op, _PURE))
        and not isinstance(op.results[0].type, VectorType)
    )
