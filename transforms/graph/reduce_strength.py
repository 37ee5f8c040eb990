"""Cheaper operations that are the same in exact arithmetic and round differently."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from ...dialects.graph.expressions import Expr
from ...dialects.graph.shapes import element_count
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
    # One operation for two: on f16 and bf16 with one rounding, on wider types with the same ones.
    Rule(reciprocal(sqrt(x)), rsqrt(x)),
    Rule(
        sum_of(x, axes=axes, keepdims=keepdims) / c,
        mean(x, axes=axes, keepdims=keepdims),
        when=_is_count,
    ),
    *NUMBERS_THAT_MEET,
)


@dataclass(frozen=True)
class GraphReduceStrengthPass(EquationsPass):
    """Use cheaper operations that round differently: `x ** 2` → `x * x`; not under `fp=strict`."""

    name = "graph-reduce-strength"
    numerics: ClassVar[NumericalEffect] = "reassociates"
    RULES: ClassVar = REDUCTIONS_IN_STRENGTH
