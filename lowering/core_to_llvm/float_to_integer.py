"""
Conversion of floats to integers of `arith` to `llvm`, defined for all floats.

LLVM leaves what the integer type does not hold undefined. Stepwell's conversions give the nearest end for it, and 0 for
NaN; where a value is proved to be in range, nothing is clamped.
"""

from __future__ import annotations

from xdsl.dialects import arith, llvm
from xdsl.dialects.builtin import IntegerAttr, IntegerType, i1, i64
from xdsl.ir import Attribute, Operation, SSAValue

from ...analysis.float_ranges import FloatRange, constant_range
from ...dialects.upstream.arith_casts import CASTS
from ...dialects.upstream.llvm import FPToSIOp, FPToUIOp, VectorFCmpOp
from .arith import bits_of, float_constant, integer_constant, result_type, select, with_element
from .emitter import Emitter, Handler
from .properties import NO_FASTMATH
from .types import is_vector

_PRECISION = {16: 11, 32: 24, 64: 53}
"""Bits of the significand, by those of the float."""


def _saturating(is_unsigned: bool) -> Handler:
    """Float to integer: values out of range give the nearest end, NaN gives 0."""

    def convert(e: Emitter, op: Operation) -> None:
        source, to = op.operands[0], result_type(op)
        bits = bits_of(to)
        if not _fits(e.ranges.of(source), bits, is_unsigned):
            source = _without_clips(source, bits, is_unsigned)
        truncated = _truncated if _fits(e.ranges.of(source), bits, is_unsigned) else _saturated
        e.bind(op.results[0], truncated(e, e.value(source), to, is_unsigned))

    return convert


def _fits(found: FloatRange | None, bits: int, unsigned: bool) -> bool:
    """Whether all that is in a range is, without its fraction, an integer of so many bits."""
    if found is None:
        return False
    low, high = _ends(bits, unsigned)
    # Where ones are far apart, nothing is between an end and what is beyond it by one.
    return low - 1 < found.low and found.high < high + 1


def _ends(bits: int, unsigned: bool) -> tuple[int, int]:
    """The least and the greatest integer of so many bits."""
    return (0, (1 << bits) - 1) if unsigned else (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)


def _without_clips(value: SSAValue, bits: int, unsigned: bool) -> SSAValue:
    """A value before maxima and minima with constants that leave to a cast what it cuts off anyway; NaN goes through all."""
    low, high = _ends(bits, unsigned)
    while isinstance(op := value.owner, arith.MaximumfOp | arith.MinimumfOp):
        bound, other = constant_range(op.rhs), op.lhs
        if bound is None:
            bound, other = constant_range(op.lhs), op.rhs
        is_maximum = isinstance(op, arith.MaximumfOp)
        if bound is None or not (bound.high <= low if is_maximum else bound.low >= high):
            return value
        value = other
    return value


def _truncated(e: Emitter, x: SSAValue, to: Attribute, unsigned: bool) -> SSAValue:
    """What is in range, by the signed conversion to 32 bits, which takes one instruction, where the result has fewer."""
    bits = bits_of(to)
    if bits < 32:
        wide = e.emit(FPToSIOp, (x,), with_element(to, IntegerType(32)))
        return e.emit(llvm.TruncOp, (wide,), to)
    return e.emit(FPToUIOp if unsigned else FPToSIOp, (x,), to)


def _saturated(e: Emitter, x: SSAValue, to: Attribute, unsigned: bool) -> SSAValue:
    """
    By clamping, as LLVM 22 takes the intrinsics `fptosi.sat` and `fptoui.sat` to pieces, lane by lane with branches, in
    vectors, and in scalars of loops that it vectorizes.

    Where the greatest integer is no float, the greatest float below it is clamped to, and what is beyond it chosen.
    """
    precision = _PRECISION[bits_of(x.type)]
    low, high = _ends(bits_of(to), unsigned)
    magnitude = high.bit_length()
    is_exact = magnitude <= precision
    greatest = high if is_exact else high + 1 - (1 << (magnitude - precision))
    lanes = with_element(to, i1)

    def chosen(
        predicate: str, compared: SSAValue, bound: float, if_true: SSAValue, if_false: SSAValue
    ) -> SSAValue:
        number = float_constant(e, float(bound), x.type)
        holds = _compared(e, predicate, compared, number, lanes)
        return select(e, holds, if_true, if_false, if_true.type)

    # Of this form each is one instruction, and what is no number becomes the lower end.
    clamped = chosen("ogt", x, low, x, float_constant(e, float(low), x.type))
    clamped = chosen("olt", clamped, greatest, clamped, float_constant(e, float(greatest), x.type))
    result = _truncated(e, clamped, to, unsigned)
    if not is_exact:
        most = integer_constant(e, high if not unsigned else -1, to)
        result = chosen("ogt", x, greatest, most, result)
    if low == 0:
        return result
    is_number = _compared(e, "ord", x, x, lanes)
    return select(e, is_number, result, integer_constant(e, 0, to), to)


def _compared(e: Emitter, predicate: str, a: SSAValue, b: SSAValue, lanes: Attribute) -> SSAValue:
    number = llvm.FCmpPredicateFlag(predicate).to_int()
    properties = {"predicate": IntegerAttr(number, i64), "fastmathFlags": NO_FASTMATH}
    compare = VectorFCmpOp if is_vector(a.type) else llvm.FCmpOp
    return e.emit(compare, (a, b), lanes, properties)


FLOAT_TO_INTEGER: dict[type[Operation], Handler] = {
    arith.FPToSIOp: _saturating(is_unsigned=False),
    arith.FPToUIOp: _saturating(is_unsigned=True),
}
FLOAT_TO_INTEGER.update({CASTS[scalar]: handler for scalar, handler in [*FLOAT_TO_INTEGER.items()]})
