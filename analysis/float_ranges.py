"""
Between which numbers the floats of level core lie, by interval arithmetic with outward rounding.

(Moore, Kearfott and Cloud, "Introduction to Interval Analysis", SIAM 2009.)
"""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite
from typing import cast

from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import ArrayAttr, DenseIntOrFPElementsAttr, FloatAttr, IntegerAttr, f64
from xdsl.dialects.utils import FastMathAttrBase, FastMathFlag
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.type import get_element_type_or_self

from ..dialects.dtypes import bit_width, significand_bits
from ..dialects.scalar import BETWEEN
from ..dialects.upstream.arith_casts import VectorExtSIOp, VectorExtUIOp
from ..frozen import frozen

DEEPEST = 32
"""Operations behind one another that are looked at."""


@frozen
class FloatRange:
    """The finite numbers that a value is between, both ends included."""

    low: float
    high: float


_GREATEST = {16: 2.0**15, 32: 2.0**127, 64: 2.0**1023}
"""By bits of a float: a number below its greatest one; bfloat16 has more."""

_LEAST = {16: 2.0**-14, 32: 2.0**-126, 64: 2.0**-1022}
"""By bits of a float: no result below is rounded by more than this, nor flushed to zero from further away."""


class FloatRanges:
    """What is found once of each value; an operation may stand for many ways to the values behind it."""

    def __init__(self) -> None:
        self._found: dict[SSAValue, FloatRange | None] = {}
        self._integers: dict[SSAValue, tuple[int, int]] = {}

    def of(self, value: SSAValue, deepest: int = DEEPEST) -> FloatRange | None:
        """The numbers between which a float is, in each lane; None where that is not known, or it may be no number."""
        if value not in self._found:
            self._found[value] = self._of(value, deepest)
        return self._found[value]

    def _of(self, value: SSAValue, deepest: int) -> FloatRange | None:
        op = value.owner
        if not isinstance(op, Operation) or not deepest:
            return None
        match op.attributes.get(BETWEEN):
            case ArrayAttr(data=(FloatAttr() as low, FloatAttr() as high)):
                return FloatRange(low.value.data, high.value.data)
            case _:
                pass
        match op.name:
            case "arith.constant":
                return constant_range(value)
            case "vector.broadcast":
                return self.of(op.operands[0], deepest - 1)
            case "arith.uitofp" | "arith.sitofp":
                return _rounded(self._of_integer(op, deepest - 1), value.type)
            case "arith.mulf" | "arith.addf" | "arith.subf" | "arith.divf" | "math.fma":
                return _rounded(self._computed(op, deepest - 1), value.type)
            case "arith.maximumf" | "arith.minimumf":
                return self._computed(op, deepest - 1)
            case _:
                return None

    def _of_integer(self, op: Operation, deepest: int) -> FloatRange:
        """The numbers between which the operand of a conversion is, in the type that it says."""
        bits = bit_width(get_element_type_or_self(op.operands[0].type))
        low, high = 0, (1 << bits) - 1
        if op.name == "arith.sitofp":
            low, high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
        least, greatest = self._whole(op.operands[0], deepest)
        if low <= least and greatest <= high:
            low, high = least, greatest
        return FloatRange(float(low), float(high))

    def _whole(self, value: SSAValue, deepest: int) -> tuple[int, int]:
        """Between which numbers one is that an integer is equal to, up to multiples of two to the number of its bits."""
        op, bits = value.owner, bit_width(get_element_type_or_self(value.type))
        unknown = 0, (1 << bits) - 1
        if not isinstance(op, Operation) or not deepest:
            return unknown
        if value not in self._integers:
            self._integers[value] = self._of_operation(op, deepest - 1) or unknown
        return self._integers[value]

    def _of_operation(self, op: Operation, deepest: int) -> tuple[int, int] | None:
        match op:
            case arith.ConstantOp(value=IntegerAttr(value=number)):
                return number.data, number.data
            case vector.BroadcastOp():
                return self._whole(op.source, deepest)
            case arith.ExtUIOp() | VectorExtUIOp():
                bits = bit_width(get_element_type_or_self(op.operands[0].type))
                low, high = self._whole(op.operands[0], deepest)
                return (low, high) if low >= 0 and high < 1 << bits else (0, (1 << bits) - 1)
            case arith.ExtSIOp() | VectorExtSIOp():
                half = 1 << (bit_width(get_element_type_or_self(op.operands[0].type)) - 1)
                low, high = self._whole(op.operands[0], deepest)
                return (low, high) if -half <= low and high < half else (-half, half - 1)
            case arith.AddiOp() | arith.SubiOp() | arith.MuliOp():
                a, b = (self._whole(operand, deepest) for operand in op.operands)
                if isinstance(op, arith.AddiOp):
                    return a[0] + b[0], a[1] + b[1]
                if isinstance(op, arith.SubiOp):
                    return a[0] - b[1], a[1] - b[0]
                ends = [x * y for x in a for y in b]
                return min(ends), max(ends)
            case _:
                return None

    def _computed(self, op: Operation, deepest: int) -> FloatRange | None:
        """Between which numbers the exact result of an operation is."""
        if not _is_as_written(op):
            return None
        operands: list[FloatRange] = []
        for operand in op.operands:
            found = self.of(operand, deepest)
            if found is None:
                return None
            operands.append(found)
        return _COMBINED[op.name](*operands)


def constant_range(value: SSAValue) -> FloatRange | None:
    """Between which numbers the lanes of a constant are; None of other values, and where one is not finite."""
    op = value.owner
    if isinstance(op, vector.BroadcastOp):
        return constant_range(op.source)
    if not isinstance(op, arith.ConstantOp):
        return None
    if isinstance(op.value, FloatAttr):
        values = [op.value.value.data]
    elif isinstance(op.value, DenseIntOrFPElementsAttr):
        values = [float(cast(float, each)) for each in op.value.get_values()]
    else:
        return None
    return FloatRange(min(values), max(values)) if values and all(map(isfinite, values)) else None


def _is_as_written(op: Operation) -> bool:
    """
    Whether it is computed in the order that is written: fused with another or not, its result is in the range then. Sums
    in another order may leave it on the way.
    """
    flags = op.properties.get("fastmath")
    return not isinstance(flags, FastMathAttrBase) or set(flags.data) <= {
        FastMathFlag.ALLOW_CONTRACT
    }


def _product(a: FloatRange, b: FloatRange) -> FloatRange:
    ends = [x * y for x in (a.low, a.high) for y in (b.low, b.high)]
    return FloatRange(min(ends), max(ends))


def _sum(a: FloatRange, b: FloatRange) -> FloatRange:
    return FloatRange(a.low + b.low, a.high + b.high)


def _quotient(a: FloatRange, b: FloatRange) -> FloatRange | None:
    if b.low <= 0 <= b.high:
        return None
    ends = [x / y for x in (a.low, a.high) for y in (b.low, b.high)]
    return FloatRange(min(ends), max(ends))


def _difference(a: FloatRange, b: FloatRange) -> FloatRange:
    return FloatRange(a.low - b.high, a.high - b.low)


def _greater(a: FloatRange, b: FloatRange) -> FloatRange:
    return FloatRange(max(a.low, b.low), max(a.high, b.high))


def _smaller(a: FloatRange, b: FloatRange) -> FloatRange:
    return FloatRange(min(a.low, b.low), min(a.high, b.high))


def _product_and_sum(a: FloatRange, b: FloatRange, c: FloatRange) -> FloatRange:
    return _sum(_outward(_product(a, b), f64), c)


_COMBINED: dict[str, Callable[..., FloatRange | None]] = {
    "arith.mulf": _product,
    "arith.addf": _sum,
    "arith.subf": _difference,
    "arith.divf": _quotient,
    "arith.maximumf": _greater,
    "arith.minimumf": _smaller,
    "math.fma": _product_and_sum,
}


def _outward(exact: FloatRange, to: Attribute) -> FloatRange:
    """
    What is between these numbers after it is rounded to a float of a type. The ends are rounded themselves here, by half
    a unit in the last place of doubles at most.
    """
    unit, least = 2.0 ** (2 - significand_bits(to)), _LEAST[bit_width(to)]
    return FloatRange(
        exact.low - abs(exact.low) * unit - least, exact.high + abs(exact.high) * unit + least
    )


def _rounded(exact: FloatRange | None, to: Attribute) -> FloatRange | None:
    """What is between these numbers after it is rounded to a float of a type; None where that may be infinite."""
    if exact is None:
        return None
    type_ = get_element_type_or_self(to)
    found, greatest = _outward(exact, type_), _GREATEST[bit_width(type_)]
    return found if -greatest < found.low and found.high < greatest else None
