"""Quotients of integers that are made floats, divided, and cut off to integers again, as divisions of integers."""

from __future__ import annotations

from math import frexp
from typing import ClassVar, cast

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, VectorType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.type import get_element_type_or_self

from ...analysis.levels import Level
from ...analysis.operations import operations_of_kinds
from ...analysis.splats import number_in_all_lanes
from ...dialects.dtypes import bit_width, significand_bits
from ...dialects.upstream.arith_casts import (
    CASTS,
    VectorFPToSIOp,
    VectorFPToUIOp,
    VectorSIToFPOp,
    VectorUIToFPOp,
)
from ...frozen import frozen
from ..stepwell_pass import StepwellPass

WIDEST_SOURCE = 16
"""Bits of the integers that are divided: vectors multiply 16 bits by a reciprocal in one instruction, and no more."""


@frozen
class CoreDivideAsIntegersPass(StepwellPass):
    """
    Divide integers as integers where the quotient is an integer again.

    Before: `arith.fptoui` to i8 of `arith.divf` of `arith.uitofp %n : i16 to f64` by 9. After: `%n` divided by 9 in i16, the
    quotient not above 255, truncated. A vector has four times as many lanes of 16 bits as of f64, and nothing is
    converted: so are means of bytes that become bytes.

    Exact: a quotient that is no integer is below the next one by 1 / 9 at least, and the float is nearer to it than that as
    long as the dividend has fewer bits than a significand; so the fraction that is cut off is that of the quotient itself.
    """

    name = "core-divide-as-integers"
    level_in: ClassVar[Level] = Level.CORE
    level_out: ClassVar[Level] = Level.CORE

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for inner in operations_of_kinds(op, _TO_INTEGER):
            found = _divided(inner)
            if found is not None:
                _rewrite(inner, *found)


_FROM_UNSIGNED = (arith.UIToFPOp, VectorUIToFPOp)
_FROM_SIGNED = (arith.SIToFPOp, VectorSIToFPOp)
_TO_UNSIGNED = (arith.FPToUIOp, VectorFPToUIOp)
_TO_INTEGER = frozenset((*_TO_UNSIGNED, arith.FPToSIOp, VectorFPToSIOp))


def _divided(op: Operation) -> tuple[Operation, int] | None:
    """The conversion of the integer that is divided, and by which whole number; None where something else is cut off."""
    division = op.operands[0].owner
    if not isinstance(division, arith.DivfOp | arith.MulfOp) or not division.result.has_one_use():
        return None
    source, divisor = division.lhs.owner, number_in_all_lanes(division.rhs)
    if isinstance(division, arith.MulfOp) and divisor:
        # The reciprocal of a power of two is one, too: the product is the quotient.
        divisor = 1 / divisor if frexp(divisor)[0] == 0.5 else None
    if not isinstance(source, (*_FROM_UNSIGNED, *_FROM_SIGNED)):
        return None
    bits = bit_width(get_element_type_or_self(source.operands[0].type))
    to = bit_width(get_element_type_or_self(op.results[0].type))
    if not 1 < bits <= WIDEST_SOURCE or to < 2:
        return None
    if bits >= significand_bits(get_element_type_or_self(division.result.type)):
        return None
    if divisor is None or not 1 < divisor < 1 << (bits - 1) or divisor != int(divisor):
        return None
    return source, int(divisor)


def _rewrite(op: Operation, source: Operation, divisor: int) -> None:
    builder = Builder(InsertPoint.before(op))
    dividend, to = source.operands[0], op.results[0].type
    bits = bit_width(get_element_type_or_self(dividend.type))
    width = bit_width(get_element_type_or_self(to))
    is_unsigned = isinstance(source, _FROM_UNSIGNED)
    divide = arith.DivUIOp if is_unsigned else arith.DivSIOp
    quotient = builder.insert(divide(dividend, _filled(builder, divisor, dividend.type))).result
    high = (1 << width - (not isinstance(op, _TO_UNSIGNED))) - 1
    low = 0 if isinstance(op, _TO_UNSIGNED) else -high - 1
    most = ((1 << bits - (not is_unsigned)) - 1) // divisor
    least = 0 if is_unsigned else -((1 << (bits - 1)) // divisor)
    if most > high:
        clip = arith.MinUIOp if is_unsigned else arith.MinSIOp
        quotient = builder.insert(clip(quotient, _filled(builder, high, dividend.type))).result
    if least < low:
        bound = _filled(builder, low, dividend.type)
        quotient = builder.insert(arith.MaxSIOp(quotient, bound)).result
    if width < bits:
        quotient = _cast(builder, arith.TruncIOp, quotient, to)
    elif width > bits:
        extension = arith.ExtUIOp if is_unsigned else arith.ExtSIOp
        quotient = _cast(builder, extension, quotient, to)
    quotient.name_hint = op.results[0].name_hint
    division = op.operands[0].owner
    Rewriter.replace_op(op, [], [quotient])
    assert isinstance(division, Operation)
    Rewriter.erase_op(division)
    if not source.results[0].uses:
        Rewriter.erase_op(source)


def _filled(builder: Builder, number: int, type_: Attribute) -> SSAValue:
    width = bit_width(get_element_type_or_self(type_))
    signed = number - (1 << width) if number >> (width - 1) > 0 else number
    constant = builder.insert(arith.ConstantOp(IntegerAttr(signed, width))).result
    if get_element_type_or_self(type_) == type_:
        return constant
    return builder.insert(vector.BroadcastOp(constant, cast("VectorType[Attribute]", type_))).vector


def _cast(builder: Builder, kind: type[Operation], value: SSAValue, to: Attribute) -> SSAValue:
    """A cast of a scalar, or that of vectors."""
    is_scalar = get_element_type_or_self(to) == to
    made = kind if is_scalar else CASTS[kind]
    return builder.insert(made.create(operands=[value], result_types=[to])).results[0]
