"""isl's constraints as affine expressions of the IR: the way back from integer sets."""

from __future__ import annotations

from collections.abc import Sequence

import islpy as isl
from xdsl.ir.affine import AffineConstraintExpr, AffineConstraintKind, AffineExpr

from ..dialects.affine_atoms import constant_expr, dim_expr
from ..dialects.affine_substitution import plus, product, sum_of


def lower_bounds(basic: isl.BasicSet, position: int) -> list[AffineExpr]:
    """
    Expressions that a dimension is never below, all of them.

    They are over the other dimensions in order (without `position`), and then the parameters.
    Constraints with existentially quantified variables are left out.
    """
    return [
        _ceil(rest * -1, factor) for rest, factor in _inequalities(basic, position) if factor > 0
    ]


def upper_bounds(basic: isl.BasicSet, position: int) -> list[AffineExpr]:
    """Expressions that a dimension is always below (excluded), as `lower_bounds` gives them."""
    return [
        _floor(rest, -factor) + 1 for rest, factor in _inequalities(basic, position) if factor < 0
    ]


def _inequalities(basic: isl.BasicSet, position: int) -> list[tuple[AffineExpr, int]]:
    """
    The inequalities `factor * x + rest >= 0` that involve the dimension; an equality gives two.
    """
    found: list[tuple[AffineExpr, int]] = []
    for constraint in basic.get_constraints():
        divisions = constraint.dim(isl.dim_type.div)
        if any(
            not constraint.get_coefficient_val(isl.dim_type.div, n).is_zero()
            for n in range(divisions)
        ):
            continue
        factor = constraint.get_coefficient_val(isl.dim_type.set, position).to_python()
        if factor == 0:
            continue
        found.append((_rest(constraint, position), factor))
        if constraint.is_equality():
            found.append((_rest(constraint, position, -1), -factor))
    return found


def _rest(constraint: isl.Constraint, position: int, sign: int = 1) -> AffineExpr:
    """The constraint's expression without the dimension at `position`, times `sign`."""
    factors = [
        constraint.get_coefficient_val(kind, n).to_python() * sign
        for kind in (isl.dim_type.set, isl.dim_type.param)
        for n in range(constraint.dim(kind))
        if kind is not isl.dim_type.set or n != position
    ]
    return _sum(factors, constraint.get_constant_val().to_python() * sign)


def _sum(factors: Sequence[int], value: int) -> AffineExpr:
    expr: AffineExpr | None = None
    for number, factor in enumerate(factors):
        if factor:
            term = product(dim_expr(number), factor)
            expr = term if expr is None else sum_of(expr, term)
    return constant_expr(value) if expr is None else plus(expr, value)


def linear_lower_bound(factors: Sequence[int], value: int) -> AffineExpr:
    """A linear function as `lower_bounds` writes one that bounds a dimension."""
    return product(_sum([-factor for factor in factors], -value), -1)


def _ceil(expr: AffineExpr, divisor: int) -> AffineExpr:
    return expr if divisor == 1 else expr.ceil_div(divisor)


def _floor(expr: AffineExpr, divisor: int) -> AffineExpr:
    return expr if divisor == 1 else expr // divisor


def expression(aff: isl.Aff) -> AffineExpr:
    """A quasi-affine function of integer values, as an expression over dimensions and then parameters."""
    denominator = aff.get_denominator_val()
    total: AffineExpr | None = None
    number = 0
    for kind in (isl.dim_type.in_, isl.dim_type.param, isl.dim_type.div):
        for n in range(aff.dim(kind)):
            factor = aff.get_coefficient_val(kind, n).mul(denominator).to_python()
            if factor:
                is_floor = kind is isl.dim_type.div
                term = expression(aff.get_div(n)) if is_floor else AffineExpr.dimension(number)
                scaled = term if factor == 1 else term * factor
                total = scaled if total is None else total + scaled
            number += 1
    value = aff.get_constant_val().mul(denominator).to_python()
    if total is None:
        total = AffineExpr.constant(value)
    elif value:
        total = total + value
    divisor = denominator.to_python()
    return total if divisor == 1 else total // divisor


def constraint_exprs(basic: isl.BasicSet) -> list[AffineConstraintExpr] | None:
    """The constraints on dimensions and parameters; None when some are on other variables too."""
    result: list[AffineConstraintExpr] = []
    zero = AffineExpr.constant(0)
    constraints = basic.get_constraints()
    if any(c.involves_dims(isl.dim_type.div, 0, c.dim(isl.dim_type.div)) for c in constraints):
        return None
    for constraint in constraints:
        kind = AffineConstraintKind.eq if constraint.is_equality() else AffineConstraintKind.ge
        lhs = expression(constraint.get_aff())
        result.append(AffineConstraintExpr(kind, lhs, zero, canonicalize=False))
    return result
