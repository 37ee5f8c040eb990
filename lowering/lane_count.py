"""Which loops are written out, and which can run as one vector of how many lanes."""

from __future__ import annotations

from xdsl.dialects import affine
from xdsl.dialects.builtin import VectorType
from xdsl.ir import Block, Operation
from xdsl.ir.affine import AffineExpr
from xdsl.traits import is_side_effect_free

from ..dialects import loop
from ..dialects.affine_bounds import linear_form
from ..dialects.loop import RunMode, RunModeAttr

MOST_LANES = 256
"""A loop with more iterations is not made one vector of: the code would grow without end."""


def is_written_out(for_op: loop.ForOp) -> bool:
    """Whether the loop is marked `unroll`, and numbers in its bounds say how far that goes."""
    return (
        for_op.mode == RunModeAttr(RunMode.UNROLL)
        and len(for_op.lower_map.data.results) == 1
        and for_op.greatest_trip_count() is not None
    )


def lane_count(for_op: loop.ForOp) -> int | None:
    """The number of iterations when it is a constant and all of the body can run in lanes."""
    if len(for_op.lower_map.data.results) != 1 or len(for_op.upper_map.data.results) != 1:
        return None
    count = _constant_count(for_op)
    if count is None or not 1 <= count <= MOST_LANES or not _can_run(for_op.body.block):
        return None
    return count


def _constant_count(for_op: loop.ForOp) -> int | None:
    values = list(dict.fromkeys((*for_op.lower_operands, *for_op.upper_operands)))
    forms: list[tuple[list[int], int]] = []
    for map_, operands in (
        (for_op.lower_map.data, for_op.lower_operands),
        (for_op.upper_map.data, for_op.upper_operands),
    ):
        dims = [AffineExpr.dimension(values.index(v)) for v in operands]
        form = linear_form(map_.results[0].replace_dims_and_symbols(dims, ()), len(values))
        if form is None:
            return None
        forms.append(form)
    (low, first), (high, end) = forms
    return -(-(end - first) // for_op.step.value.data) if low == high else None


def _can_run(block: Block) -> bool:
    for op in block.ops:
        match op:
            case loop.ForOp():
                if not (op.mode is None or is_written_out(op)) or not _can_run(op.body.block):
                    return False
            case loop.IfOp():
                if not all(_can_run(inner) for r in op.regions for inner in r.blocks):
                    return False
            case loop.LoadOp() | loop.StoreOp() | loop.PrefetchOp() | loop.YieldOp():
                pass
            case affine.ApplyOp():
                pass
            case _:
                if not _is_elementwise(op):
                    return False
    return True


def _is_elementwise(op: Operation) -> bool:
    return (
        op.dialect_name() in ("arith", "math")
        and len(op.results) == 1
        and not op.regions
        and is_side_effect_free(op)
        and not isinstance(op.results[0].type, VectorType)
    )
