"""Subscripts of lanes: what is known of where they are in memory."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Block, SSAValue
from xdsl.ir.affine import AffineExpr

from ..dialects import loop
from ..dialects.affine_bounds import linear_form
from .lane_count import is_written_out
from .lane_values import LaneValues


def row_major(shape: Sequence[int], strides: Sequence[int | None]) -> list[int] | None:
    """The strides of dimensions that are one row of elements without gaps, else None."""
    expected, found = 1, list[int]()
    for size, stride in zip(reversed(shape), reversed(strides), strict=True):
        if size == DYNAMIC_INDEX or (stride != expected and size != 1):
            return None
        found.append(expected)
        expected *= size
    return found[::-1]


def phase_of(
    flat: AffineExpr, operands: Sequence[SSAValue], values: LaneValues, apart: int
) -> int | None:
    """The remainder of the first lane's subscript, where what varies adds multiples of `apart` only."""
    form = linear_form(flat, len(operands))
    if form is None:
        return None
    total = form[1]
    for by, value in zip(form[0], operands, strict=True):
        number = values.scalar.expander.number(values.scalar.values[value])
        if number is not None:
            total += by * number
        elif by % apart:
            return None
    return total % apart


def varying_part(
    flat: AffineExpr, operands: Sequence[SSAValue], values: LaneValues
) -> tuple[AffineExpr, int]:
    """A subscript as what varies, and a number."""
    form = linear_form(flat, len(operands))
    if form is None:
        return flat, 0
    varying, constant = AffineExpr.constant(0), form[1]
    for n, (by, value) in enumerate(zip(form[0], operands, strict=True)):
        number = values.scalar.expander.number(values.scalar.values[value])
        if number is not None:
            constant += by * number
        elif by:
            term = AffineExpr.dimension(n) * by if by != 1 else AffineExpr.dimension(n)
            varying = term if varying == AffineExpr.constant(0) else varying + term
    return varying, constant


def reach(flat: AffineExpr, operands: Sequence[SSAValue]) -> int:
    """How far loops that are written out move a subscript."""
    form, total = linear_form(flat, len(operands)), 0
    for by, value in zip(form[0] if form else (), operands, strict=False):
        around = value.owner.parent_op() if isinstance(value.owner, Block) else None
        if by and isinstance(around, loop.ForOp) and is_written_out(around):
            total += abs(by) * around.step.value.data * ((around.greatest_trip_count() or 1) - 1)
    return total
