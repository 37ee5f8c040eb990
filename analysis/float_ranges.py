"""
Between which numbers the floats of level core lie, by interval arithmetic with outward rounding.

(Moore, Kearfott and Cloud, "Introduction to Interval Analysis", SIAM 2009.)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import isfinite

from xdsl.dialects import arith
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, FloatAttr
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.type import get_element_type_or_self

from ..dialects.dtypes import bit_width, significand_bits

DEEPEST = 32
"""Operations behind one another that are looked at."""


@dataclass(frozen=True)
class FloatRange:
    """The finite numbers that a value is between, both ends included."""

    low: float
    high: float


_GREATEST = {16: 2.0**15, 32: 2.0**127, 64: 2.0**1023}
"""By bits of a float: a number below its greatest one; bfloat16 has more."""

_LEAST = {16: 2.0**-14, 32: 2.0**-126, 64: 2.0**-1022}
"""By bits of a float: no result below is rounded by more than this, nor flushed to zero from further away."""


def float_range(value: SSAValue, deepest: int = DEEPEST) -> FloatRange | None:
    """The numbers between which a float is, in each lane; None where that is not known, or it may be no number."""
    op = value.owner
    if not isinstance(op, Operation) or not deepest:
        return None
    match op.name:
        case "arith.constant":
            return _of_constant(op)
        case "vector.broadcast":
            return float_range(op.operands[0], deepest - 1)
        case "arith.uitofp" | "arith.sitofp":
            return _rounded(_of_integer(op), value.type)
        case "arith.mulf" | "arith.addf" | "arith.subf" if _is_as_written(op):
            left = float_range(op.operands[0], deepest - 1)
            right = None if left is None else float_range(op.operands[1], deepest - 1)
            if left is None or right is None:
                return None
            return _rounded(_COMBINED[op.name](left, right), value.type)
        case _:
            return None


def _of_constant(op: Operation) -> FloatRange | None:
    number = op.attributes.get("value", op.properties.get("value"))
    if isinstance(number, FloatAttr):
        values = [number.value.data]
    elif isinstance(number, DenseIntOrFPElementsAttr):
        values = [float(each) for each in number.get_values()]
    else:
        return None
    return FloatRange(min(values), max(values)) if values and all(map(isfinite, values)) else None


def _of_integer(op: Operation) -> FloatRange:
    bits = bit_width(get_element_type_or_self(op.operands[0].type))
    if op.name == "arith.uitofp":
        return FloatRange(0.0, 2.0**bits - 1)
    return FloatRange(-(2.0 ** (bits - 1)), 2.0 ** (bits - 1))


def _is_as_written(op: Operation) -> bool:
    """
    Whether it is computed in the order that is written: fused with another or not, its result is in the range then. Sums
    in another order may leave it on the way.
    """
    assert isinstance(op, arith.MulfOp | arith.AddfOp | arith.SubfOp)
    return set(op.fastmath.data) <= {FastMathFlag.ALLOW_CONTRACT}


def _product(a: FloatRange, b: FloatRange) -> FloatRange:
    ends = [x * y for x in (a.low, a.high) for y in (b.low, b.high)]
    return FloatRange(min(ends), max(ends))


_COMBINED: dict[str, Callable[[FloatRange, FloatRange], FloatRange]] = {
    "arith.mulf": _product,
    "arith.addf": lambda a, b: FloatRange(a.low + b.low, a.high + b.high),
    "arith.subf": lambda a, b: FloatRange(a.low - b.high, a.high - b.low),
}


def _rounded(exact: FloatRange | None, to: Attribute) -> FloatRange | None:
    """
    What is between these numbers after it is rounded to a float of a type; None where that may be infinite. The ends
    are rounded themselves here, by half a unit in the last place of doubles at most.
    """
    type_ = get_element_type_or_self(to)
    if exact is None:
        return None
    bits = bit_width(type_)
    unit, least = 2.0 ** (2 - significand_bits(type_)), _LEAST[bits]
    low = exact.low - abs(exact.low) * unit - least
    high = exact.high + abs(exact.high) * unit + least
    return FloatRange(low, high) if -_GREATEST[bits] < low and high < _GREATEST[bits] else None
