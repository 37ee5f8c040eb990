"""Identities and cheaper operations that give the same values."""

from __future__ import annotations

from math import frexp
from typing import Any, ClassVar

from xdsl.dialects.builtin import i1

from ...dialects.dtypes import float_limits, numpy_dtype
from ...dialects.graph.expressions import Expr
from ...frozen import frozen
from .functions import (
    absolute,
    clip,
    equal,
    leaky_relu,
    maximum,
    minimum,
    not_equal,
    reciprocal,
    relu,
    where,
)
from .rules import EquationsPass, Rule
from .terms import Constant, Variable

x, y = Variable("x"), Variable("y")
condition = Variable("condition", i1)
c, lo, hi, lo2, hi2 = map(Constant, ("c", "lo", "hi", "lo2", "hi2"))


def has_exact_reciprocal(x: Expr, c: Any) -> bool:
    """Whether dividing by c is multiplying by a number: a power of two whose reciprocal is not subnormal."""
    limits = float_limits(numpy_dtype(x.element))
    return abs(frexp(float(c))[0]) == 0.5 and abs(1 / float(c)) >= float(limits.tiny)


SIMPLIFICATIONS = (
    # Signs.
    Rule(x - -y, x + y),
    Rule(x + -y, x - y),
    Rule(-x * -y, x * y),
    Rule(absolute(-x), absolute(x)),
    Rule(absolute(absolute(x)), absolute(x)),
    # Clipping.
    Rule(maximum(x, 0), relu(x)),
    Rule(relu(relu(x)), relu(x)),
    Rule(minimum(relu(x), hi), clip(x, min=0, max=hi), when=(hi >= 0,)),
    Rule(minimum(maximum(x, lo), hi), clip(x, min=lo, max=hi)),
    Rule(maximum(minimum(x, hi), lo), clip(x, min=lo, max=hi), when=(lo <= hi,)),
    Rule(relu(minimum(x, hi)), clip(x, min=0, max=hi), when=(hi >= 0,)),
    Rule(relu(clip(x, min=lo, max=hi)), clip(x, min=lo, max=hi), when=(lo >= 0, lo <= hi)),
    Rule(
        clip(relu(x), min=lo, max=hi),
        clip(x, min=maximum(lo, 0), max=hi),
        when=(hi >= 0, lo <= hi),
    ),
    # Clipping is monotone: its ends are where the second one takes those of the first.
    Rule(
        clip(clip(x, min=lo, max=hi), min=lo2, max=hi2),
        clip(x, min=minimum(maximum(lo, lo2), hi2), max=minimum(maximum(hi, lo2), hi2)),
        when=(lo <= hi, lo2 <= hi2),
    ),
    Rule(maximum(x, c * x), leaky_relu(x, alpha=c), when=(c > 0, c < 1)),
    Rule(where(x >= 0, x, c * x), leaky_relu(x, alpha=c)),
    Rule(where(x < 0, c * x, x), leaky_relu(x, alpha=c)),
    # Choices.
    Rule(where(~condition, x, y), where(condition, y, x)),
    Rule(~equal(x, y), not_equal(x, y)),
    Rule(~not_equal(x, y), equal(x, y)),
    # Divisions.
    Rule(x / c, x * (1 / c), when=has_exact_reciprocal),
    Rule(1 / x, reciprocal(x)),
)


@frozen
class GraphSimplifyPass(EquationsPass):
    """Use identities of the graph level that give the same values: `relu(relu(x))` → `relu(x)`."""

    name = "graph-simplify"
    RULES: ClassVar = SIMPLIFICATIONS
