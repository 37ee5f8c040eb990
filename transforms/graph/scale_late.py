"""Numbers that operands of products are multiplied by, multiplied with the products instead."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..numerics import NumericalEffect
from .reduce_strength import NUMBERS_THAT_MEET
from .rules import EquationsPass, Rule
from .terms import Constant, Variable

x, y = Variable("x"), Variable("y")
c = Constant("c")


def _is_not_zero(c: float) -> bool:
    """A sum of infinities of both signs is NaN; its terms divided by zero afterwards are not."""
    return c != 0


LATE_SCALES = (
    Rule((x * c) @ y, (x @ y) * c),
    Rule(x @ (y * c), (x @ y) * c),
    Rule((x / c) @ y, (x @ y) / c, when=_is_not_zero),
    Rule(x @ (y / c), (x @ y) / c, when=_is_not_zero),
    *NUMBERS_THAT_MEET,
)


@dataclass(frozen=True)
class GraphScaleLatePass(EquationsPass):
    """
    Multiply by a number after a product and not before: `(x * c) @ y` → `(x @ y) * c`; not under `fp=strict`.

    Behind a product the number is multiplied where the sum is at hand, and meets others; before it, the operand would
    be stored anew. PyTorch's exporters scale queries and keys by the root of the scale of their product.
    """

    name = "graph-scale-late"
    numerics: ClassVar[NumericalEffect] = "reassociates"
    RULES: ClassVar = LATE_SCALES
