"""Numbers that operands of products are multiplied by, multiplied with the products instead."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from ...dialects.dtypes import bit_width
from ...dialects.graph.expressions import Expr
from ...dialects.shaped import tensor_type
from ...frozen import frozen
from ..numerics import NumericalEffect
from .reduce_strength import NUMBERS_THAT_MEET
from .rules import EquationsPass, Rule
from .terms import Constant, Variable

x, y = Variable("x"), Variable("y")
c = Constant("c")


def _has_room(result: Expr, c: float) -> bool:
    """
    Whether a product has room for sums that are not scaled yet. Elements of 16 bits have not: attention is scaled before
    the product so that it stays below 65504, the greatest f16.
    """
    return bool(np.isfinite(c)) and bit_width(tensor_type(result.value).get_element_type()) > 16


def _divides(result: Expr, c: float) -> bool:
    """A sum of infinities of both signs is NaN; its terms divided by zero afterwards are not."""
    return c != 0 and _has_room(result, c)


LATE_SCALES = (
    Rule((x * c) @ y, (x @ y) * c, when=_has_room),
    Rule(x @ (y * c), (x @ y) * c, when=_has_room),
    Rule((x / c) @ y, (x @ y) / c, when=_divides),
    Rule(x @ (y / c), (x @ y) / c, when=_divides),
    *NUMBERS_THAT_MEET,
)


@frozen
class GraphScaleLatePass(EquationsPass):
    """
    Multiply by a number after a product and not before: `(x * c) @ y` → `(x @ y) * c`.

    Not under `fp=strict`, nor for elements of 16 bits or fewer.

    Behind a product the number is multiplied where the sum is at hand, and meets others; before it, the operand would
    be stored anew. PyTorch's exporters scale queries and keys by the root of the scale of their product.
    """

    name = "graph-scale-late"
    numerics: ClassVar[NumericalEffect] = "reassociates"
    RULES: ClassVar = LATE_SCALES
