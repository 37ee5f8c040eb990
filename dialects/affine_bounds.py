"""Facts about affine expressions over boxes, cheap enough for verifiers."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, cast

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
    AffineSymExpr,
)

from .affine_atoms import binary_expr, constant_expr, dim_expr
from .affine_substitution import plus, product, quotient, remainder, sum_of
from .int64 import is_int64

_ADD, _MUL = AffineBinaryOpKind.Add, AffineBinaryOpKind.Mul

Range = tuple[int | None, int | None]
"""Least and greatest value, both included; None where unknown."""

SEARCH_LIMIT = 1 << 14
"""Boxes of at most this many points are searched through for what cannot be deduced."""


def why_not_affine(expr: AffineExpr) -> str | None:
    """Why an expression over dimensions only is not one that we compute with; None when it is."""
    match expr:
        case AffineSymExpr():
            return f"{expr} is a symbol; use a dimension"
        case AffineConstantExpr(value=value) if not is_int64(value):
            return f"{value} has more than 64 bits; use a smaller number"
        case AffineBinaryOpExpr():
            reason = why_not_affine(expr.lhs) or why_not_affine(expr.rhs)
            if reason is not None or expr.kind is AffineBinaryOpKind.Add:
                return reason
            factor = expr.rhs
            if not isinstance(factor, AffineConstantExpr):
                return f"{expr} does not have a number on its right"
            if expr.kind is not AffineBinaryOpKind.Mul and factor.value <= 0:
                return f"{expr} divides by {factor.value}, which is not positive"
            return None
        case _:
            return None


def linear_form(expr: AffineExpr, num_dims: int) -> tuple[list[int], int] | None:
    """`(coefficients, constant)` when the expression is linear in its dimensions, else None."""
    coefficients = [0] * num_dims
    number = _add_linear(expr, 1, coefficients)
    return None if number is None else (coefficients, number)


def _add_linear(expr: AffineExpr, factor: int, coefficients: list[int]) -> int | None:
    """Add so many times the expression's coefficients; its constant, or None when it is not linear."""
    # The types themselves are compared, as isinstance takes long for abstract classes. Sums grow on their left.
    number = 0
    while type(expr) is AffineBinaryOpExpr:
        rhs = expr.rhs
        if expr.kind is _ADD:
            if type(rhs) is AffineConstantExpr:
                number += factor * rhs.value
                expr = expr.lhs
                continue
            added = _add_linear(rhs, factor, coefficients)
            if added is None:
                return None
            number += added
        elif expr.kind is _MUL and type(rhs) is AffineConstantExpr:
            factor *= rhs.value
        else:
            return None
        expr = expr.lhs
    if type(expr) is AffineDimExpr:
        coefficients[expr.position] += factor
        return number
    return number + factor * expr.value if type(expr) is AffineConstantExpr else None


def simplified(expr: AffineExpr, num_dims: int) -> AffineExpr:
    """The same as `expr.simplify(num_dims, 0)`, which takes ten times as long for a linear expression, as nearly all are."""
    found = linear_sum(expr, num_dims)
    return expr.simplify(num_dims, 0) if found is None else found


def linear_sum(expr: AffineExpr, num_dims: int) -> AffineExpr | None:
    """A linear expression as a sum over its dimensions in their order, and then a number; None of another one."""
    linear = linear_form(expr, num_dims)
    if linear is None:
        return None
    result: AffineExpr | None = None
    for position, factor in enumerate(linear[0]):
        if factor:
            term: AffineExpr = dim_expr(position)
            if factor != 1:
                term = binary_expr(_MUL, term, constant_expr(factor))
            result = term if result is None else binary_expr(_ADD, result, term)
    number = constant_expr(linear[1])
    if result is None:
        return number
    return binary_expr(_ADD, result, number) if linear[1] else result


def bounds(expr: AffineExpr, ranges: Sequence[Range]) -> Range:
    """
    Bounds of the expression for dimensions within their ranges: never too narrow, and exact when it is
    linear.
    """
    linear = linear_form(expr, len(ranges))
    if linear is not None:
        low: int | None = linear[1]
        high: int | None = linear[1]
        for coefficient, range_ in zip(linear[0], ranges, strict=True):
            if coefficient:
                term = _scaled(range_, coefficient)
                low, high = _plus(low, term[0]), _plus(high, term[1])
        return low, high
    if type(expr) is not AffineBinaryOpExpr:
        return None, None
    lhs, rhs = bounds(expr.lhs, ranges), bounds(expr.rhs, ranges)
    if expr.kind is AffineBinaryOpKind.Add:
        return _plus(lhs[0], rhs[0]), _plus(lhs[1], rhs[1])
    factor = rhs[0]
    if factor is None or factor != rhs[1]:
        return None, None
    if expr.kind is AffineBinaryOpKind.Mul:
        return _scaled(lhs, factor)
    return _divided(expr.kind, lhs, factor)


def without_divisions(
    expr: AffineExpr, ranges: Sequence[Range], multiples: Sequence[int]
) -> AffineExpr:
    """
    The expression with the floordiv and mod worked out that are decided by what is known of its
    dimensions: their ranges, and a number that each is a multiple of.

    `(d0 * 16 + d1) floordiv 16` is `d0` and `(d0 * 16 + d1) mod 16` is `d1` where `0 <= d1 < 16`; where
    `16 <= d1 < 32` it is `d0 + 1` and `d1 - 16`.
    """
    if type(expr) is not AffineBinaryOpExpr or not _divides(expr):
        return expr
    lhs = without_divisions(expr.lhs, ranges, multiples)
    rhs = without_divisions(expr.rhs, ranges, multiples)
    match expr.kind:
        case AffineBinaryOpKind.Add:
            return sum_of(lhs, rhs)
        case AffineBinaryOpKind.Mul if type(rhs) is AffineConstantExpr:
            return product(lhs, rhs.value)
        case AffineBinaryOpKind.Mul:
            return lhs * rhs
        case AffineBinaryOpKind.FloorDiv | AffineBinaryOpKind.Mod if isinstance(
            rhs, AffineConstantExpr
        ):
            return _quotient_or_rest(expr.kind, lhs, rhs.value, ranges, multiples)
        case AffineBinaryOpKind.CeilDiv if (
            isinstance(lhs, AffineConstantExpr)
            and isinstance(rhs, AffineConstantExpr)
            and rhs.value
        ):
            return constant_expr(-(-lhs.value // rhs.value))
        case _:
            return binary_expr(expr.kind, lhs, rhs)


def _divides(expr: AffineExpr) -> bool:
    """Whether there is a floordiv, ceildiv or mod in the expression."""
    if type(expr) is not AffineBinaryOpExpr:
        return False
    if expr.kind is AffineBinaryOpKind.Add:
        return _divides(expr.lhs) or _divides(expr.rhs)
    return expr.kind is not AffineBinaryOpKind.Mul or _divides(expr.lhs)


def _quotient_or_rest(
    kind: AffineBinaryOpKind,
    dividend: AffineExpr,
    divisor: int,
    ranges: Sequence[Range],
    multiples: Sequence[int],
) -> AffineExpr:
    """What is a multiple of the divisor leaves the division: `(16 a + b) // 16` is `a + b // 16`."""
    outside = rest = constant_expr(0)
    for term, factor in sum_of_terms(dividend):
        whole, left = divmod(factor, divisor)
        if left == 0:
            outside = sum_of(outside, product(term, whole))
        elif type(term) is AffineConstantExpr:
            outside, rest = plus(outside, whole), plus(rest, left)
        elif type(term) is AffineDimExpr and factor * multiples[term.position] % divisor == 0:
            outside = sum_of(outside, quotient(product(term, factor), divisor))
        else:
            rest = sum_of(rest, product(term, factor))
    low, high = bounds(rest, ranges)
    if low is None or high is None or low // divisor != high // divisor:
        if kind is AffineBinaryOpKind.Mod:
            return remainder(rest, divisor)
        return sum_of(outside, quotient(rest, divisor))
    whole = low // divisor  # no multiple of the divisor is crossed
    if kind is AffineBinaryOpKind.Mod:
        return plus(rest, -whole * divisor)
    return plus(outside, whole)


def sum_of_terms(expr: AffineExpr) -> list[tuple[AffineExpr, int]]:
    """What an expression is a sum of, each term once with its factor; a number as so many times 1."""
    factors: dict[AffineExpr, int] = {}
    for term, factor in terms(expr):
        factors[term] = factors.get(term, 0) + factor
    return [(term, factor) for term, factor in factors.items() if factor]


def has_each_term_once(expr: AffineExpr) -> bool:
    """Whether an expression is a number, or a sum of different dimensions, each times a number, and perhaps a number; none of them 0."""
    if type(expr) is AffineDimExpr or type(expr) is AffineConstantExpr:
        return True
    seen: set[int | None] = set()
    left = [expr]
    while left:
        term, factor = left.pop(), 1
        if type(term) is AffineBinaryOpExpr:
            if term.kind is AffineBinaryOpKind.Add:
                left += (term.lhs, term.rhs)
                continue
            if term.kind is not AffineBinaryOpKind.Mul or type(term.rhs) is not AffineConstantExpr:
                return False
            term, factor = term.lhs, term.rhs.value
        if type(term) is AffineDimExpr:
            dimension = term.position
        elif type(term) is AffineConstantExpr:
            dimension, factor = None, term.value
        else:
            return False
        if dimension in seen or not factor:
            return False
        seen.add(dimension)
    return True


_ONE = constant_expr(1)


def terms(expr: AffineExpr, factor: int = 1) -> list[tuple[AffineExpr, int]]:
    """What an expression is a sum of, each with its factor, as it is written."""
    if type(expr) is AffineBinaryOpExpr:
        if expr.kind is AffineBinaryOpKind.Add:
            return [*terms(expr.lhs, factor), *terms(expr.rhs, factor)]
        if expr.kind is AffineBinaryOpKind.Mul and type(expr.rhs) is AffineConstantExpr:
            return terms(expr.lhs, factor * expr.rhs.value)
    if type(expr) is AffineConstantExpr:
        return [(_ONE, factor * expr.value)]
    return [(expr, factor)]


def _divided(kind: AffineBinaryOpKind, lhs: Range, divisor: int) -> Range:
    if divisor <= 0:
        return None, None
    up = divisor - 1 if kind is AffineBinaryOpKind.CeilDiv else 0
    low, high = ((None if bound is None else (bound + up) // divisor) for bound in lhs)
    if kind is not AffineBinaryOpKind.Mod:
        return low, high
    if low is not None and low == high:  # no multiple of the divisor is crossed
        return _plus(lhs[0], -low * divisor), _plus(lhs[1], -low * divisor)
    return 0, divisor - 1


def _scaled(range_: Range, factor: int) -> Range:
    low, high = (None if bound is None else bound * factor for bound in range_)
    return (low, high) if factor >= 0 else (high, low)


def _plus(a: int | None, b: int | None) -> int | None:
    return None if a is None or b is None else a + b


def box(extents: Sequence[int]) -> list[Range]:
    """The ranges of `0 <= d_i < extents[i]`, where an extent may be DYNAMIC_INDEX."""
    return [(0, None if extent == DYNAMIC_INDEX else extent - 1) for extent in extents]


def is_within(expr: AffineExpr, extents: Sequence[int], size: int) -> bool:
    """Whether it follows from `bounds` that `0 <= expr < size` on the box."""
    low, high = bounds(expr, box(extents))
    return low is not None and high is not None and low >= 0 and high < size


def attained_range(expr: AffineExpr, extents: Sequence[int]) -> tuple[int, int]:
    """
    Two values the expression takes on the box `0 <= d_i < extents[i]`, which must not be empty.

    They are its extremes when it is linear or uses few enough points to try them all. Otherwise two
    corners are evaluated, so that a bound broken by the result is truly broken, but one that holds may
    still be broken inside.
    """
    if linear_form(expr, len(extents)) is not None:
        return cast("tuple[int, int]", bounds(expr, box(extents)))
    used = sorted(expr.used_dims())
    if prod(extents[dim] for dim in used) > SEARCH_LIMIT:
        first = expr.eval([0] * len(extents), ())
        last = expr.eval([extent - 1 for extent in extents], ())
        return min(first, last), max(first, last)
    import numpy as np  # late: the driver parses and prints without it

    grids: list[Any] = [0] * len(extents)
    for dim, grid in zip(used, np.ogrid[*(slice(extents[dim]) for dim in used)], strict=True):
        grids[dim] = grid
    values = np.asarray(expr.eval(grids, ()))  # arithmetic on arrays, as on ints
    return int(values.min()), int(values.max())


def guards_within(
    exprs: Sequence[AffineExpr], shape: Sequence[int], extents: Sequence[int]
) -> list[AffineExpr]:
    """
    Expressions over dimensions of these extents that are all at least zero exactly where `exprs` are subscripts inside a
    tensor of this shape; those that always are, are left out.
    """
    guards: list[AffineExpr] = []
    for expr, size in zip(exprs, shape, strict=True):
        low, high = bounds(expr, box(extents))
        if low is None or low < 0:
            guards.append(expr)
        if high is None or high >= size:
            guards.append(constant_expr(size - 1) - expr)
    return guards
