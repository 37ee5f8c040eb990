"""Bounds of loops in a new order, from the set of iterations they run through."""

from __future__ import annotations

from collections.abc import Sequence

import islpy as isl
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr

from .rewrite import BoundExprs


def loop_bounds(
    iterations: isl.Set, outer: Sequence[SSAValue], parameters: Sequence[SSAValue]
) -> tuple[BoundExprs, BoundExprs] | None:
    """
    Bounds for the last dimension of a set in terms of the dimensions before it.

    `outer` are the values of those dimensions, `parameters` of the set's parameters. The lower bound is
    a maximum, the upper one (excluded) a minimum. None when the set is no convex polyhedron over them
    (then no single loop runs through it) or the dimension is unbounded.
    """
    hull = iterations.remove_redundancies().coalesce()
    if hull.n_basic_set() != 1:
        return None
    (basic,) = hull.get_basic_sets()
    if basic.dim(isl.dim_type.div) > 0:
        return None
    position = basic.dim(isl.dim_type.set) - 1
    values = [*outer, *parameters]
    lower: list[AffineExpr] = []
    upper: list[AffineExpr] = []
    for constraint in basic.get_constraints():
        factor = constraint.get_coefficient_val(isl.dim_type.set, position).to_python()
        if factor == 0:
            continue
        if constraint.is_equality() and abs(factor) != 1:
            return None
        rest = _rest(constraint, position)
        # factor * x + rest >= 0
        if factor > 0 or constraint.is_equality():
            lower.append(_quotient(rest * -1, factor) if factor > 0 else _quotient(rest, -factor))
        if factor < 0 or constraint.is_equality():
            end = _floor(rest, -factor) if factor < 0 else _floor(rest * -1, factor)
            upper.append(end + 1)
    if not lower or not upper:
        return None
    return (lower, values), (upper, values)


def _rest(constraint: isl.Constraint, position: int) -> AffineExpr:
    """The constraint's expression without its last dimension: outer dimensions, then parameters."""
    expr = AffineExpr.constant(constraint.get_constant_val().to_python())
    for n in range(position):
        factor = constraint.get_coefficient_val(isl.dim_type.set, n).to_python()
        if factor:
            expr = AffineExpr.dimension(n) * factor + expr
    for n in range(constraint.dim(isl.dim_type.param)):
        factor = constraint.get_coefficient_val(isl.dim_type.param, n).to_python()
        if factor:
            expr = AffineExpr.dimension(position + n) * factor + expr
    return expr


def _quotient(expr: AffineExpr, divisor: int) -> AffineExpr:
    """`ceil(expr / divisor)`."""
    return expr if divisor == 1 else expr.ceil_div(divisor)


def _floor(expr: AffineExpr, divisor: int) -> AffineExpr:
    return expr if divisor == 1 else expr // divisor
