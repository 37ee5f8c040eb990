"""Divisions of integers by constants as shifts and products, where LLVM would divide lane by lane or more dearly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, cast, get_args

from xdsl.builder import Builder
from xdsl.dialects import arith
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, IntegerAttr, IntegerType, VectorType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import InsertPoint
from xdsl.utils.type import get_element_type_or_self

from ...analysis.floored_division import Selection, floored_division
from ...analysis.splats import number_in_all_lanes
from ...dialects.dtypes import bit_width
from ..step_support.dead import erase_dead

WORD = 64
HALF = 32


class Division(NamedTuple):
    """A division by a constant that is rewritten."""

    op: Operation
    dividend: SSAValue
    divisor: int
    rounding: str
    """`floor`, `truncate` or `unsigned`"""
    is_remainder: bool


def divide_integers(ops: Sequence[Operation]) -> None:
    """Rewrite the divisions among operations, those rounded down first: these are written by the others."""
    for kinds, find in ((_SELECTIONS, _rounded_down), (_DIVISIONS, _in_lanes)):
        for op in [op for op in ops if type(op) in kinds]:
            # What is divided may be a quotient that has just been replaced.
            division = find(op) if op.parent is not None else None
            if division is not None:
                _replace(division)


def _rounded_down(op: Operation) -> Division | None:
    """A floored division by a positive constant."""
    assert isinstance(op, Selection)
    found = floored_division(op)
    divisor = number_in_all_lanes(found.divisor) if found is not None else None
    if found is None or not isinstance(divisor, int) or divisor < 2:
        return None
    return Division(op, found.dividend, divisor, "floor", found.is_remainder)


_Division = arith.DivSIOp | arith.RemSIOp | arith.DivUIOp | arith.RemUIOp

# The kinds are looked up, as most operations are of others: classes of operations are abstract, and take long to ask.
_DIVISIONS = frozenset(get_args(_Division))
_SELECTIONS = frozenset(get_args(Selection))


def _in_lanes(op: Operation) -> Division | None:
    """A division of 64-bit integers in lanes by a constant, which no vector unit has the high half of a product for."""
    assert isinstance(op, _Division)
    if not isinstance(op.result.type, VectorType):
        return None
    if not op.result.uses or _width(op.result.type) != WORD:
        return None
    divisor = number_in_all_lanes(op.rhs)
    if not isinstance(divisor, int):
        return None
    is_unsigned = isinstance(op, arith.DivUIOp | arith.RemUIOp)
    divisor = divisor % (1 << WORD) if is_unsigned else divisor
    if divisor < 2 or _is_power_of_two(divisor):
        return None
    is_remainder = isinstance(op, arith.RemSIOp | arith.RemUIOp)
    return Division(op, op.lhs, divisor, "unsigned" if is_unsigned else "truncate", is_remainder)


def _replace(division: Division) -> None:
    op, x, c = division.op, division.dividend, division.divisor
    lanes = _Lanes(Builder(InsertPoint.before(op)), x.type)
    if division.rounding == "floor":
        result = _floored(lanes, x, c, division.is_remainder)
    else:
        quotient = (_truncated if division.rounding == "truncate" else _unsigned)(lanes, x, c)
        result = lanes.rest(x, quotient, c) if division.is_remainder else quotient
    result.name_hint = op.results[0].name_hint
    op.results[0].replace_all_uses_with(result)
    erase_dead(op)


def _floored(lanes: _Lanes, x: SSAValue, c: int, is_remainder: bool) -> SSAValue:
    """
    `x` divided by `c`, rounded down, or the rest.

    A negative x is ~y with y = -x - 1, and floor(~y / c) = ~floor(y / c), where y is not negative.
    """
    if _is_power_of_two(c):
        if is_remainder:
            return lanes.emit(arith.AndIOp, x, lanes.constant(c - 1))
        return lanes.emit(arith.ShRSIOp, x, lanes.constant(c.bit_length() - 1))
    sign = lanes.sign(x)
    positive = lanes.emit(arith.XOrIOp, x, sign)
    if lanes.are_words:
        quotient = _quotient_of_positive(lanes, positive, c)
    else:
        quotient = lanes.emit(arith.DivUIOp, positive, lanes.constant(c))
    quotient = lanes.emit(arith.XOrIOp, quotient, sign)
    return lanes.rest(x, quotient, c) if is_remainder else quotient


def _truncated(lanes: _Lanes, x: SSAValue, c: int) -> SSAValue:
    """`x` divided by `c`, rounded towards zero: the quotient of its magnitude, with its sign."""
    sign = lanes.sign(x)
    magnitude = lanes.emit(arith.SubiOp, lanes.emit(arith.XOrIOp, x, sign), sign)
    quotient = _quotient_of_positive(lanes, magnitude, c)
    return lanes.emit(arith.SubiOp, lanes.emit(arith.XOrIOp, quotient, sign), sign)


def _quotient_of_positive(lanes: _Lanes, x: SSAValue, c: int) -> SSAValue:
    """
    `x` divided by `c`, no power of two, for x from 0 to 2^63.

    With 2^s < c < 2^(s+1) and m = ceil(2^(64+s) / c), which is below 2^64, m c exceeds 2^(64+s) by less than c, so x m is
    too high by less than 2^63 · 2^(s+1) / c: less than what floor(x m / 2^(64+s)) would need to pass a whole number
    (T. Granlund, P. L. Montgomery: Division by invariant integers using multiplication, PLDI 1994, theorem 4.2).
    """
    shift = c.bit_length() - 1
    factor = -(-(1 << (WORD + shift)) // c)
    high = lanes.high_half(x, factor)
    return lanes.emit(arith.ShRUIOp, high, lanes.constant(shift)) if shift else high


def _unsigned(lanes: _Lanes, x: SSAValue, c: int) -> SSAValue:
    """
    `x` divided by `c`, no power of two, for all x: as `_quotient_of_positive`, with a factor that may need 65 bits.

    Its highest bit is x itself, which is added to the high half of the product with the others without overflow (figure
    4.1 of the same paper).
    """
    shift = c.bit_length()
    factor = -(-(1 << (WORD + shift)) // c) - (1 << WORD)
    high = lanes.high_half(x, factor)
    rest = lanes.emit(arith.ShRUIOp, lanes.emit(arith.SubiOp, x, high), lanes.constant(1))
    both = lanes.emit(arith.AddiOp, rest, high)
    return lanes.emit(arith.ShRUIOp, both, lanes.constant(shift - 1))


@dataclass
class _Lanes:
    """Operations on integers of one type, a scalar's or a vector's."""

    builder: Builder
    type: Attribute

    @property
    def are_words(self) -> bool:
        """Whether these are 64-bit integers in lanes."""
        return self.type != get_element_type_or_self(self.type) and _width(self.type) == WORD

    def emit(
        self, kind: type[arith.SignlessIntegerBinaryOperation], a: SSAValue, b: SSAValue
    ) -> SSAValue:
        return self.builder.insert(kind(a, b)).results[0]

    def constant(self, number: int) -> SSAValue:
        element = get_element_type_or_self(self.type)
        width = bit_width(element)
        number = (number + (1 << (width - 1))) % (1 << width) - (1 << (width - 1))
        value = IntegerAttr(number, cast(IntegerType, element))
        if self.type != element:
            type_ = cast("VectorType[IntegerType]", self.type)
            value = DenseIntOrFPElementsAttr.from_list(type_, [number])
        return self.builder.insert(arith.ConstantOp(value)).result

    def sign(self, x: SSAValue) -> SSAValue:
        """All ones where a number is negative, else zero."""
        return self.emit(arith.ShRSIOp, x, self.constant(_width(self.type) - 1))

    def rest(self, x: SSAValue, quotient: SSAValue, c: int) -> SSAValue:
        return self.emit(arith.SubiOp, x, self.emit(arith.MuliOp, quotient, self.constant(c)))

    def high_half(self, x: SSAValue, factor: int) -> SSAValue:
        """The upper 64 bits of a product of 128, of the products of halves: none of the sums overflows."""
        half, low_bits = self.constant(HALF), self.constant((1 << HALF) - 1)
        low, high = self.emit(arith.AndIOp, x, low_bits), self.emit(arith.ShRUIOp, x, half)
        by_low, by_high = self.constant(factor % (1 << HALF)), self.constant(factor >> HALF)
        carried = self.emit(arith.ShRUIOp, self.emit(arith.MuliOp, low, by_low), half)
        middle = self.emit(arith.AddiOp, self.emit(arith.MuliOp, high, by_low), carried)
        other = self.emit(
            arith.AddiOp,
            self.emit(arith.MuliOp, low, by_high),
            self.emit(arith.AndIOp, middle, low_bits),
        )
        top = self.emit(
            arith.AddiOp,
            self.emit(arith.MuliOp, high, by_high),
            self.emit(arith.ShRUIOp, middle, half),
        )
        return self.emit(arith.AddiOp, top, self.emit(arith.ShRUIOp, other, half))


def _width(type_: Attribute) -> int:
    """The bits of an integer, or of a vector's integers."""
    return bit_width(get_element_type_or_self(type_))


def _is_power_of_two(c: int) -> bool:
    return c & (c - 1) == 0
