"""The least and greatest values of bounds while loop variables run through a tile."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.ir import SSAValue
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
)

from ...dialects.affine_bounds import simplified
from .rewrite import BoundExprs


def extreme(
    bound: BoundExprs, room: Mapping[SSAValue, int], *, greatest: bool
) -> BoundExprs | None:
    """
    Expressions for the least (or `greatest`) value of each expression of a bound.

    A value of `room` may be up to so much more than itself. None when an expression has a `mod` of one.
    """
    exprs, values = bound
    found = [_extreme(expr, values, room, greatest) for expr in exprs]
    known = [simplified(expr, len(values)) for expr in found if expr is not None]
    return (known, values) if len(known) == len(found) else None


def _extreme(
    expr: AffineExpr, values: Sequence[SSAValue], room: Mapping[SSAValue, int], greatest: bool
) -> AffineExpr | None:
    if isinstance(expr, AffineDimExpr):
        return expr + room.get(values[expr.position], 0) if greatest else expr
    if not isinstance(expr, AffineBinaryOpExpr):
        return expr
    if expr.kind is AffineBinaryOpKind.Add:
        lhs = _extreme(expr.lhs, values, room, greatest)
        rhs = _extreme(expr.rhs, values, room, greatest)
        return None if lhs is None or rhs is None else lhs + rhs
    assert isinstance(expr.rhs, AffineConstantExpr)
    number = expr.rhs.value
    match expr.kind:
        case AffineBinaryOpKind.Mul:
            lhs = _extreme(expr.lhs, values, room, greatest == (number > 0))
            return None if lhs is None else lhs * number
        case AffineBinaryOpKind.Mod:
            return None if any(values[n] in room for n in expr.lhs.used_dims()) else expr
        case AffineBinaryOpKind.FloorDiv:
            lhs = _extreme(expr.lhs, values, room, greatest)
            return None if lhs is None else lhs // number
        case AffineBinaryOpKind.CeilDiv:
            lhs = _extreme(expr.lhs, values, room, greatest)
            return None if lhs is None else lhs.ceil_div(number)
