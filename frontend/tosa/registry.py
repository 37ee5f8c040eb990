"""The operations of TOSA that are known; `@tosa("add")` enters a function for one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np

from ...dialects.upstream.tosa import ShapeType
from ..numpy import elementwise as ew
from ..upstream.arrays import cast_value
from ..upstream.operations import Node, Operations, Value, known

tosa = Operations("TOSA", ("tosa",), other_types=(ShapeType,))


def without_zero_point(x: Value, zero_point: Value, dtype: np.dtype, node: Node) -> Value:
    """`x` in the type of an accumulator, less the zero point of its quantization, which is one number."""
    number = zero_point_of(zero_point, node)
    wide = cast_value(x, dtype)
    return ew.subtract(wide, np.asarray(number, dtype)) if number else wide


def zero_point_of(value: Value, node: Node) -> int | float:
    numbers = known(value, node, "a zero point")
    if numbers.size != 1:
        raise node.refuse(f"with {numbers.size} zero points", "one; mend the constant")
    return numbers.reshape(-1)[0].item()


def refuse_ignored_nan(node: Node) -> None:
    """Raises StepwellError where NaN is to be left out: reductions propagate it here, as in NumPy."""
    if node.settings.get("nan_mode") == "IGNORE":
        raise node.refuse("with nan_mode = IGNORE", "PROPAGATE; replace NaN before")


def require_ranks(node: Node, ranks: Sequence[int], *values: Value) -> None:
    """Raises StepwellError where operands have other numbers of axes than these."""
    found = [len(value.shape) for value in values]
    if found != list(ranks):
        raise node.refuse(f"of operands of ranks {found}", f"ranks {list(ranks)}; mend the types")


def numbers_of(node: Node, name: str, count: int) -> list[int]:
    """A list among the attributes. Raises StepwellError where it has another length."""
    numbers = node.settings[name]
    if not isinstance(numbers, list) or len(cast("list[int]", numbers)) != count:
        raise node.refuse(f"with {name} = {numbers}", f"{count} numbers; mend the list")
    return cast("list[int]", numbers)
