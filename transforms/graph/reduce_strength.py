"""Cheaper operations that are the same in exact arithmetic and round differently."""

from __future__ import annotations

from math import prod
from typing import Any, ClassVar

from ...dialects import graph
from ...dialects.dtypes import is_float, is_narrow_float
from ...dialects.graph.expressions import Expr
from ...dialects.graph.shapes import element_count
from ...frozen import frozen
from ..numerics import NumericalEffect
from .functions import mean, reciprocal, rsqrt, sqrt, sum_of
from .rules import EquationsPass, Rule
from .terms import Constant, Setting, Variable

x = Variable("x")
c, d = Constant("c"), Constant("d")
axes, keepdims = Setting("axes"), Setting("keepdims")


def _is_count(x: Expr, axes: tuple[int, ...], c: Any) -> bool:
    """Whether c is how many elements lie along the axes."""
    return element_count([x.shape[axis] for axis in axes]) == c


MOST_FACTORS = 8
"""The greatest exponent that becomes products: they are off by half a unit in the last place for each factor."""


def _is_of_few_factors(x: Expr, c: Any) -> bool:
    """Whether c is a whole number or half of one; each product of 16 bits would round too much."""
    twice = 2 * float(c)
    is_wide = is_float(x.element) and not is_narrow_float(x.element)
    return is_wide and twice.is_integer() and 0 < abs(twice) <= 2 * MOST_FACTORS


def _product(x: Expr, c: Any) -> Expr:
    """x ** c as the products of the binary method (Knuth, The Art of Computer Programming 2, 4.6.3) and a root."""
    whole, half = divmod(abs(float(c)), 1)
    factors: list[Expr] = []
    if half:
        factors.append(x.made(graph.RsqrtOp(x.value) if c < 0 else graph.SqrtOp(x.value)))
    square, rest = x, int(whole)
    if c < 0 and rest:
        square = x.made(graph.ReciprocalOp(x.value))
    while rest:
        if rest % 2:
            factors.append(square)
        square, rest = square * square if rest > 1 else square, rest // 2
    return prod(factors[1:], start=factors[0])


NUMBERS_THAT_MEET = (
    Rule(x * c * d, x * (c * d)),
    Rule(x * c / d, x * (c / d)),
    Rule(x / c * d, x * (d / c)),
    Rule(x / c / d, x / (c * d)),
    Rule(x + c + d, x + (c + d)),
    Rule(x - c - d, x - (c + d)),
    Rule(x + c - d, x + (c - d)),
    Rule(x - c + d, x + (d - c)),
)

REDUCTIONS_IN_STRENGTH = (
    # Powers. Of -inf, the power of a half is inf and the root NaN; of -0, the one is 0 and the other -0.
    Rule(x**2, x * x),
    Rule(x**3, x * x * x),
    Rule(x**0.5, sqrt(x)),
    Rule(x**-0.5, rsqrt(x)),
    Rule(x**-1, reciprocal(x)),
    Rule(x**c, _product, when=_is_of_few_factors, text="products of x and sqrt(x)"),
    # One operation for two: on f16 and bf16 with one rounding, on wider types with the same ones.
    Rule(reciprocal(sqrt(x)), rsqrt(x)),
    Rule(
        sum_of(x, axes=axes, keepdims=keepdims) / c,
        mean(x, axes=axes, keepdims=keepdims),
        when=_is_count,
    ),
    *NUMBERS_THAT_MEET,
)


@frozen
class GraphReduceStrengthPass(EquationsPass):
    """Use cheaper operations that round differently: `x ** 2` → `x * x`; not under `fp=strict`."""

    name = "graph-reduce-strength"
    numerics: ClassVar[NumericalEffect] = "reassociates"
    RULES: ClassVar = REDUCTIONS_IN_STRENGTH
