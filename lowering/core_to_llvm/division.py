"""
Integer division of `arith` to `llvm`, defined for all operands.

LLVM leaves division by zero and of the least integer by -1 undefined, and processors trap. Stepwell's
integers do not: x / 0 is 0, x rem 0 is 0, and the quotient of the least integer by -1 wraps to itself. A
divisor that is a constant other than 0 and -1 needs no care.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects import arith, llvm
from xdsl.dialects.builtin import IntegerAttr, i1
from xdsl.ir import Operation, SSAValue

from .arith import add_flag, integer_constant, select, with_element
from .emitter import Emitter, Handler
from .properties import NO_OVERFLOW

Divided = tuple[SSAValue, SSAValue]
"""Quotient, rounded towards zero, and remainder. What is not used is removed by LLVM."""


def _is_safe(divisor: SSAValue) -> bool:
    """Whether the divisor, a value of core, is a number that no dividend traps with."""
    owner = divisor.owner
    if not isinstance(owner, arith.ConstantOp) or not isinstance(owner.value, IntegerAttr):
        return False
    return owner.value.value.data not in (0, -1)


def _signed(e: Emitter, op: Operation) -> Divided:
    a, b = e.values(op.operands)
    type_, boolean = a.type, with_element(a.type, i1)
    if _is_safe(op.operands[1]):
        return e.emit(llvm.SDivOp, (a, b), type_), e.emit(llvm.SRemOp, (a, b), type_)
    zero, one = integer_constant(e, 0, type_), integer_constant(e, 1, type_)
    is_zero = e.compare("eq", b, zero, boolean)
    is_minus_one = e.compare("eq", b, integer_constant(e, -1, type_), boolean)
    traps = e.emit(llvm.OrOp, (is_zero, is_minus_one), boolean)
    divisor = select(e, traps, one, b, type_)
    negated = e.emit(llvm.SubOp, (zero, a), type_, {"overflowFlags": NO_OVERFLOW})
    quotient = e.emit(llvm.SDivOp, (a, divisor), type_)
    quotient = select(e, is_minus_one, negated, quotient, type_)
    quotient = select(e, is_zero, zero, quotient, type_)
    return quotient, e.emit(llvm.SRemOp, (a, divisor), type_)


def _unsigned(e: Emitter, op: Operation) -> Divided:
    a, b = e.values(op.operands)
    type_, boolean = a.type, with_element(a.type, i1)
    if _is_safe(op.operands[1]):
        return e.emit(llvm.UDivOp, (a, b), type_), e.emit(llvm.URemOp, (a, b), type_)
    zero, one = integer_constant(e, 0, type_), integer_constant(e, 1, type_)
    is_zero = e.compare("eq", b, zero, boolean)
    divisor = select(e, is_zero, one, b, type_)
    quotient = e.emit(llvm.UDivOp, (a, divisor), type_)
    quotient = select(e, is_zero, zero, quotient, type_)
    return quotient, e.emit(llvm.URemOp, (a, divisor), type_)


def _part(divide: Callable[[Emitter, Operation], Divided], number: int) -> Handler:
    def convert(e: Emitter, op: Operation) -> None:
        e.bind(op.results[0], divide(e, op)[number])

    return convert


def _is_inexact(e: Emitter, remainder: SSAValue) -> SSAValue:
    zero = integer_constant(e, 0, remainder.type)
    return e.compare("ne", remainder, zero, with_element(remainder.type, i1))


def _has_sign_of(e: Emitter, predicate: str, remainder: SSAValue, b: SSAValue) -> SSAValue:
    """Whether the signs of remainder and divisor are the same (`sge`) or not (`slt`)."""
    type_ = remainder.type
    signs = e.emit(llvm.XOrOp, (remainder, b), type_)
    return e.compare(predicate, signs, integer_constant(e, 0, type_), with_element(type_, i1))


def _convert_floordivsi(e: Emitter, op: Operation) -> None:
    """q = a / b; q - 1 where there is a remainder and its sign is not b's."""
    quotient, remainder = _signed(e, op)
    opposite = _has_sign_of(e, "slt", remainder, e.value(op.operands[1]))
    boolean = with_element(remainder.type, i1)
    adjust = e.emit(llvm.AndOp, (_is_inexact(e, remainder), opposite), boolean)
    e.bind(op.results[0], add_flag(e, quotient, adjust, llvm.SExtOp))


def _convert_ceildivsi(e: Emitter, op: Operation) -> None:
    """q = a / b; q + 1 where there is a remainder and its sign is b's."""
    quotient, remainder = _signed(e, op)
    same = _has_sign_of(e, "sge", remainder, e.value(op.operands[1]))
    boolean = with_element(remainder.type, i1)
    adjust = e.emit(llvm.AndOp, (_is_inexact(e, remainder), same), boolean)
    e.bind(op.results[0], add_flag(e, quotient, adjust, llvm.ZExtOp))


def _convert_ceildivui(e: Emitter, op: Operation) -> None:
    """q = a / b; q + 1 where there is a remainder."""
    quotient, remainder = _unsigned(e, op)
    inexact = _is_inexact(e, remainder)
    e.bind(op.results[0], add_flag(e, quotient, inexact, llvm.ZExtOp))


DIVISION: dict[type[Operation], Handler] = {
    arith.DivSIOp: _part(_signed, 0),
    arith.DivUIOp: _part(_unsigned, 0),
    arith.RemSIOp: _part(_signed, 1),
    arith.RemUIOp: _part(_unsigned, 1),
    arith.FloorDivSIOp: _convert_floordivsi,
    arith.CeilDivSIOp: _convert_ceildivsi,
    arith.CeilDivUIOp: _convert_ceildivui,
}
