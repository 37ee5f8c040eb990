"""
Where the conditions inside of a loop change: from which iteration on they hold for all that the loops inside of it do,
or for nothing of it.

Between two such points a condition is decided, so that a loop that is cut there (index-set splitting; Wolfe, High
Performance Compilers for Parallel Computing, 1996, chapter 9) asks at the edges alone: of a pad, a concatenation, a roll.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from xdsl.dialects import affine, arith
from xdsl.dialects.builtin import IndexType, IntegerAttr, i64
from xdsl.ir import BlockArgument, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineConstraintKind, AffineExpr

from ..dialects import loop
from ..dialects.affine_bounds import linear_form
from .affine_isl import applied

Side = Literal["ge", "le"]
"""Whether something is compared to be 0 or more, or 0 or less; to be less or more is the opposite of these."""

_SIDES: Mapping[AffineConstraintKind, tuple[Side, ...]] = {
    AffineConstraintKind.ge: ("ge",),
    AffineConstraintKind.le: ("le",),
    AffineConstraintKind.eq: ("ge", "le"),
}

_PREDICATES: Mapping[str, tuple[Side, ...]] = {
    "eq": ("ge", "le"),
    "ne": ("ge", "le"),
    "slt": ("ge",),
    "sge": ("ge",),
    "sle": ("le",),
    "sgt": ("le",),
}

Form = tuple[Mapping[SSAValue, int], int]
"""A sum of values times numbers, and a number."""


def linear_index(value: SSAValue) -> Form | None:
    """An index, or a number of 64 bits made of one, as a sum of loops' variables; None for what is not one."""
    if isinstance(value, BlockArgument):
        return ({value: 1}, 0) if isinstance(value.type, IndexType) else None
    op = value.owner
    if isinstance(op, arith.IndexCastOp) and op.result.type == i64:
        return linear_index(op.input)
    if isinstance(op, affine.ApplyOp):
        return _form(applied(op), list(op.mapOperands))
    if isinstance(op, arith.ConstantOp) and isinstance(op.value, IntegerAttr):
        return {}, op.value.value.data
    return None


def _form(expr: AffineExpr, values: list[SSAValue]) -> Form | None:
    linear = linear_form(expr, len(values))
    if linear is None:
        return None
    factors: dict[SSAValue, int] = {}
    for value, factor in zip(values, linear[0], strict=True):
        factors[value] = factors.get(value, 0) + factor
    return factors, linear[1]


def compared(op: arith.CmpiOp) -> Form | None:
    """The difference of two indices that are compared."""
    if not isinstance(op.lhs.type, IndexType) and op.lhs.type != i64:
        return None
    one, other = linear_index(op.lhs), linear_index(op.rhs)
    if one is None or other is None:
        return None
    factors = dict(one[0])
    for value, factor in other[0].items():
        factors[value] = factors.get(value, 0) - factor
    return factors, one[1] - other[1]


def predicate_of(op: arith.CmpiOp) -> str:
    """The name of a comparison: eq, slt, …"""
    return arith.CMPI_COMPARISON_OPERATIONS[op.predicate.value.data]


def changes(for_op: loop.ForOp) -> list[int]:
    """
    The iterations of a loop between numbers, in order, from which on a condition inside of it holds always, or no
    longer always, or for the first time, or never.
    """
    bounds = constant_bounds(for_op)
    if bounds is None:
        return []
    first, end = bounds
    points = {
        point
        for form, sides in _conditions(for_op)
        for side in sides
        for point in _points(form, side, for_op)
    }
    return sorted(point for point in points if first < point < end)


def constant_bounds(for_op: loop.ForOp) -> tuple[int, int] | None:
    """The first iteration of a loop and where it ends, where both are numbers."""
    match (for_op.lower_map.data.results, for_op.upper_map.data.results):
        case ((AffineConstantExpr(value=first),), (AffineConstantExpr(value=end),)):
            return (first, end) if first < end else None
        case _:
            return None


def _conditions(for_op: loop.ForOp) -> Iterator[tuple[Form, Sequence[Side]]]:
    """What is compared with 0 inside of a loop, and on which sides."""
    for op in for_op.body.walk():
        if isinstance(op, loop.IfOp):
            values = list(op.condition_operands)
            for constraint in op.condition.data.constraints:
                form = _form(constraint.lhs - constraint.rhs, values)
                if form is not None:
                    yield form, _SIDES[constraint.kind]
        elif isinstance(op, arith.CmpiOp):
            form = compared(op)
            if form is not None:
                yield form, _PREDICATES.get(predicate_of(op), ())


def _points(form: Form, side: Side, for_op: loop.ForOp) -> tuple[int, ...]:
    """Where `own * i + rest` compared with 0 changes, for the least and for the greatest that `rest` is."""
    factors, low = dict(form[0]), form[1]
    own = factors.pop(for_op.induction_variable, 0)
    high = low
    for value, factor in factors.items():
        bounds = _bounds_inside(value, for_op) if factor else (0, 1)
        if bounds is None:
            return ()
        ends = (factor * bounds[0], factor * (bounds[1] - 1))
        low, high = low + min(ends), high + max(ends)
    if own < 0:
        own, low, high, side = -own, -high, -low, ("le" if side == "ge" else "ge")
    if not own:
        return ()
    if side == "ge":
        return -(low // own), -(high // own)
    return -((low - 1) // own), -((high - 1) // own)


def _bounds_inside(value: SSAValue, for_op: loop.ForOp) -> tuple[int, int] | None:
    """The numbers that the variable of a loop inside of another runs over."""
    around = value.owner.parent_op() if isinstance(value, BlockArgument) else None
    if not isinstance(around, loop.ForOp) or not for_op.is_ancestor(around):
        return None
    return constant_bounds(around)
