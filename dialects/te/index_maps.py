"""Which element of an operand an element of a result is: affine maps over the iterators of the result."""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd

from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineExpr,
)

from ...frozen import frozen


def dims(count: int, start: int = 0) -> list[AffineExpr]:
    """The expressions `d_start`, `d_(start+1)`, …"""
    return [AffineExpr.dimension(start + number) for number in range(count)]


def broadcast_indices(
    shape: Sequence[int], result: Sequence[int], exprs: Sequence[AffineExpr]
) -> list[AffineExpr]:
    """
    The index into a tensor of `shape` that is broadcast to `result`, whose own index is `exprs`.
    """
    offset = len(result) - len(shape)
    return [
        exprs[axis] if extent == result[axis] else AffineExpr.constant(0)
        for axis, extent in enumerate(shape, offset)
    ]


@frozen
class _Term:
    """`coefficient * expr` with `0 <= expr < extent`."""

    coefficient: int
    expr: AffineExpr
    extent: int


def _greatest(terms: Sequence[_Term]) -> int:
    return sum(term.coefficient * (term.extent - 1) for term in terms)


def _sum(terms: Sequence[_Term]) -> AffineExpr:
    result: AffineExpr | None = None
    for term in terms:
        part = term.expr if term.coefficient == 1 else term.expr * term.coefficient
        result = part if result is None else result + part
    return AffineExpr.constant(0) if result is None else result


def _floor_div(expr: AffineExpr, divisor: int) -> AffineExpr:
    """(x floordiv a) floordiv b is x floordiv (a · b)."""
    match expr:
        case AffineBinaryOpExpr(
            kind=AffineBinaryOpKind.FloorDiv, lhs=lhs, rhs=AffineConstantExpr(value=inner)
        ):
            return lhs // (inner * divisor)
        case _:
            return expr // divisor


def _divide(terms: Sequence[_Term], divisor: int) -> tuple[list[_Term], list[_Term]]:
    """
    Quotient and remainder of a sum by `divisor`, with as few floordiv and mod as its form allows.

    Terms the divisor divides go to the quotient; what is below it is the remainder. Else the terms are
    cut, in order of their coefficients, where those behind add up to less than the common divisor g of
    those before and of `divisor`: they cannot carry, so only the sum before, over g, is divided.
    """
    quotient = [
        _Term(t.coefficient // divisor, t.expr, t.extent)
        for t in terms
        if t.coefficient % divisor == 0
    ]
    rest = sorted(
        (t for t in terms if t.coefficient % divisor), key=lambda t: t.coefficient, reverse=True
    )
    if _greatest(rest) < divisor:
        return quotient, rest
    for cut in range(1, len(rest) + 1):
        before, behind = rest[:cut], rest[cut:]
        common = gcd(divisor, *(term.coefficient for term in before))
        if _greatest(behind) < common:
            break
    else:
        raise AssertionError("cutting behind the last term always fits")
    scaled = [_Term(t.coefficient // common, t.expr, t.extent) for t in before]
    inner = divisor // common
    expr, greatest = _sum(scaled), _greatest(scaled)
    quotient.append(_Term(1, _floor_div(expr, inner), greatest // inner + 1))
    return quotient, [_Term(common, expr % inner, inner), *behind]


def reshape_indices(
    shape: Sequence[int], result: Sequence[int], exprs: Sequence[AffineExpr]
) -> list[AffineExpr]:
    """
    The index into a tensor of `shape` of what is at `exprs` after a reshape to `result`.

    Both have the same number of elements. Axes that are kept, joined or split give plain sums, floordiv
    and mod; so `reshape 2x12 -> 2x3x4` is `[i, j * 4 + k]`.
    """
    if 0 in result:
        return [AffineExpr.constant(0) for _ in shape]
    terms: list[_Term] = []
    stride = 1
    for extent, expr in reversed(list(zip(result, exprs, strict=True))):
        if extent != 1:
            terms.append(_Term(stride, expr, extent))
        stride *= extent
    terms.reverse()
    indices: list[AffineExpr] = []
    for extent in reversed(shape):
        if extent == 1:
            indices.append(AffineExpr.constant(0))
            continue
        terms, remainder = _divide(terms, extent)
        indices.append(_sum(remainder))
    return indices[::-1]
