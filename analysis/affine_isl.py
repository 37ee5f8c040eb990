"""Affine expressions of the IR as isl's piecewise affine functions."""

from __future__ import annotations

from collections.abc import Sequence

import islpy as isl
from xdsl.dialects import affine
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineConstraintExpr,
    AffineConstraintKind,
    AffineDimExpr,
    AffineExpr,
)

_OF_THE_IR = range(-(1 << 63), 1 << 63)


def number_of(number: int) -> isl.Val:
    """A number for isl, which takes larger ones than those of the IR as text: bounds and steps are added and multiplied before."""
    return isl.Val(number if number in _OF_THE_IR else str(number))


def constant(space: isl.Space, value: int) -> isl.PwAff:
    """The constant function `value` on the (set) space."""
    zero = isl.Aff.zero_on_domain(isl.LocalSpace.from_space(space))
    return isl.PwAff.from_aff(zero.set_constant_val(number_of(value)))


def variable(space: isl.Space, position: int) -> isl.PwAff:
    """The function that is the set dimension number `position` of the space."""
    local = isl.LocalSpace.from_space(space)
    return isl.PwAff.from_aff(isl.Aff.var_on_domain(local, isl.dim_type.set, position))


def parameter(space: isl.Space, position: int) -> isl.PwAff:
    """The function that is the parameter number `position` of the space."""
    local = isl.LocalSpace.from_space(space)
    return isl.PwAff.from_aff(isl.Aff.var_on_domain(local, isl.dim_type.param, position))


def linear_function(
    local: isl.LocalSpace, parameters: int, coefficients: Sequence[int], number: int
) -> isl.Aff:
    """
    The function with these coefficients of the parameters and then of the set's dimensions, plus a number.

    It takes a fraction of the time that sums and products of functions do.
    """
    result = isl.Aff.zero_on_domain(local)
    if number:
        result = result.set_constant_val(number_of(number))
    for position, factor in enumerate(coefficients):
        if not factor:
            continue
        if position < parameters:
            result = result.set_coefficient_val(isl.dim_type.param, position, number_of(factor))
        else:
            position -= parameters
            result = result.set_coefficient_val(isl.dim_type.in_, position, number_of(factor))
    return result


def applied(op: affine.ApplyOp) -> AffineExpr:
    """The expression of an `affine.apply` with its symbols as dimensions after the others."""
    map_ = op.map.data
    dims = [AffineExpr.dimension(n) for n in range(map_.num_dims + map_.num_symbols)]
    return map_.results[0].replace_dims_and_symbols(dims, dims[map_.num_dims :])


def pw_aff(expr: AffineExpr, dims: Sequence[isl.PwAff], space: isl.Space) -> isl.PwAff:
    """The expression with `dims[i]` for dimension i. Divisors must be positive numbers."""
    match expr:
        case AffineConstantExpr():
            return constant(space, expr.value)
        case AffineDimExpr():
            return dims[expr.position]
        case AffineBinaryOpExpr():
            lhs = pw_aff(expr.lhs, dims, space)
            if expr.kind is AffineBinaryOpKind.Add:
                return lhs.add(pw_aff(expr.rhs, dims, space))
            assert isinstance(expr.rhs, AffineConstantExpr)
            factor = number_of(expr.rhs.value)
            if expr.kind is AffineBinaryOpKind.Mul:
                return lhs.scale_val(factor)
            if expr.kind is AffineBinaryOpKind.Mod:
                return lhs.mod_val(factor)
            quotient = lhs.scale_down_val(factor)
            return quotient.floor() if expr.kind is AffineBinaryOpKind.FloorDiv else quotient.ceil()
        case _:
            raise ValueError(f"symbols are not used here: {expr}")


def as_map(values: Sequence[isl.PwAff]) -> isl.Map:
    """The map from a space's points to vectors of the functions' values there."""
    if all(value.isa_aff() for value in values):
        space = values[0].get_domain_space()
        target = space.params().add_dims(isl.dim_type.set, len(values))
        vector = isl.MultiAff.zero(isl.Space.map_from_domain_and_range(space, target))
        for n, value in enumerate(values):
            vector = vector.set_aff(n, value.as_aff())
        return isl.Map.from_multi_aff(vector)
    result = isl.Map.from_pw_aff(values[0])  # takes several times as long
    for value in values[1:]:
        result = result.flat_range_product(isl.Map.from_pw_aff(value))
    return result


def in_same_iterations(pairs: isl.Map, depth: int) -> isl.Map:
    """The pairs whose first `depth` variables are equal."""
    # Joined before the pairs are: isl takes much longer to add them one by one.
    same = isl.Map.universe(pairs.get_space())
    for n in range(depth):
        same = same.equate(isl.dim_type.in_, n, isl.dim_type.out, n)
    return pairs.intersect(same)


def value_range(value: isl.PwAff, where: isl.Set) -> tuple[int | None, int | None]:
    """
    The least and the greatest value on a set that is not empty, None where there is no end.

    (isl's `min_val` and `max_val` fail for functions that are integral only on their domain.)
    """
    values = isl.Map.from_pw_aff(value).intersect_domain(where).range()
    least, greatest = values.dim_min_val(0), values.dim_max_val(0)
    return (
        least.to_python() if least.is_int() else None,
        greatest.to_python() if greatest.is_int() else None,
    )


def constraint_set(
    constraint: AffineConstraintExpr, dims: Sequence[isl.PwAff], space: isl.Space
) -> isl.Set:
    """Where the constraint (its left side against zero) holds."""
    value = pw_aff(constraint.lhs, dims, space)
    zero = constant(space, 0)
    if constraint.kind is AffineConstraintKind.ge:
        return value.ge_set(zero)
    if constraint.kind is AffineConstraintKind.le:
        return value.le_set(zero)
    return value.eq_set(zero)
