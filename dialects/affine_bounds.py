"""Small exact facts about affine expressions over boxes, cheap enough for verifiers."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
)


def linear_form(expr: AffineExpr, num_dims: int) -> tuple[list[int], int] | None:
    """`(coefficients, constant)` when the expression is linear in its dimensions, else None."""
    match expr:
        case AffineConstantExpr():
            return [0] * num_dims, expr.value
        case AffineDimExpr():
            coefficients = [0] * num_dims
            coefficients[expr.position] = 1
            return coefficients, 0
        case AffineBinaryOpExpr(kind=AffineBinaryOpKind.Add):
            lhs, rhs = linear_form(expr.lhs, num_dims), linear_form(expr.rhs, num_dims)
            if lhs is None or rhs is None:
                return None
            return [a + b for a, b in zip(lhs[0], rhs[0], strict=True)], lhs[1] + rhs[1]
        case AffineBinaryOpExpr(kind=AffineBinaryOpKind.Mul, rhs=AffineConstantExpr(value=factor)):
            lhs = linear_form(expr.lhs, num_dims)
            return None if lhs is None else ([factor * c for c in lhs[0]], factor * lhs[1])
        case _:
            return None


def attained_range(expr: AffineExpr, extents: Sequence[int]) -> tuple[int, int]:
    """
    Two values the expression takes on the box `0 <= d_i < extents[i]`, its extremes when it is linear.

    The box must not be empty. For an expression with floordiv or mod the two corners are evaluated, so
    that a bound broken by the result is truly broken, but one that holds may still be broken inside.
    """
    linear = linear_form(expr, len(extents))
    if linear is None:
        first = expr.eval([0] * len(extents), ())
        last = expr.eval([extent - 1 for extent in extents], ())
        return min(first, last), max(first, last)
    coefficients, constant = linear
    low = high = constant
    for coefficient, extent in zip(coefficients, extents, strict=True):
        span = coefficient * (extent - 1)
        low, high = low + min(span, 0), high + max(span, 0)
    return low, high
