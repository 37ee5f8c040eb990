"""
`arith.remf` to `llvm`: exact, and without a call where the quotient is not large.

`llvm.frem` is a call of the C library's `fmod` on every processor, lane by lane. So it stands in a branch that is
taken when some lane needs it; else the remainder is made of a division and a fused multiply-add.
"""

from __future__ import annotations

from math import inf

from xdsl.dialects import llvm
from xdsl.dialects.builtin import Float32Type, Float64Type, IntegerAttr, i1, i64
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.utils.type import get_element_type_or_self

from ...dialects.upstream.arith import RemFOp
from ...dialects.upstream.llvm import VectorFCmpOp
from .arith import float_constant, mangled, result_type, select, with_element
from .emitter import Emitter, Handler
from .properties import NO_FASTMATH
from .types import is_vector

_OLT, _UNE = llvm.FCmpPredicateFlag("olt").to_int(), llvm.FCmpPredicateFlag("une").to_int()
_EXACT = {"fastmathFlags": NO_FASTMATH}


def _convert_remf(e: Emitter, op: Operation) -> None:
    """
    entry: cond_br every quotient is small, after(stepped), rare
    rare: br after(frem)

    The operation's fast-math flags allow nothing: its result is exact.
    """
    assert isinstance(op, RemFOp)
    type_ = result_type(op)
    a, b = e.values(op.operands)
    limit = _limit(type_)
    if limit is None:
        e.bind(op.result, e.emit(llvm.FRemOp, (a, b), type_, _EXACT))
        return
    quotient = e.emit(llvm.FDivOp, (a, b), type_, _EXACT)
    small = _compare(e, _OLT, _magnitude(e, quotient), float_constant(e, limit, type_))
    finite = _compare(e, _OLT, _magnitude(e, b), float_constant(e, inf, type_))
    simple = e.emit(llvm.AndOp, (small, finite), small.type)
    stepped = _stepped(e, a, b, quotient)
    rare, after = Block(), e.block_for((op.result,), op)
    e.branch_if(_in_all_lanes(e, simple), after, rare, (stepped,))
    e.start(rare)
    e.branch(after, (e.emit(llvm.FRemOp, (a, b), type_, _EXACT),))
    e.start(after)
    e.bind(op.result, after.args[0])


def _limit(type_: Attribute) -> float | None:
    """Quotients below it are told from the next integer after rounding; None where there is no such path."""
    match get_element_type_or_self(type_):
        case Float32Type():
            return 2.0**22
        case Float64Type():
            return 2.0**51
        case _:
            return None


def _stepped(e: Emitter, a: SSAValue, b: SSAValue, quotient: SSAValue) -> SSAValue:
    """
    a - trunc(a/b)·b, exactly, where |a/b| is below the limit and b is finite.

    Where |a| ≥ |b| all three are multiples of ulp(b) and the difference is less than |b|, so it is a float, and
    the fused multiply-add gives it; below, the quotient is 0, or 1 for neighbours of b. A quotient rounded up
    to an integer leaves a remainder of the other sign, to which b is added, exactly for the same reason. The sign of
    a zero is the dividend's.
    """
    type_ = a.type
    whole = _intrinsic(e, "llvm.trunc", quotient)
    minus = e.emit(llvm.FNegOp, (whole,), type_, _EXACT)
    left = e.emit(llvm.FMAOp, (minus, b, a), type_, _EXACT)
    mended = e.emit(llvm.FAddOp, (left, _with_sign(e, b, a)), type_, _EXACT)
    over = _compare(e, _UNE, left, _with_sign(e, left, a))
    return _with_sign(e, select(e, over, mended, left, type_), a)


def _intrinsic(e: Emitter, name: str, value: SSAValue) -> SSAValue:
    result = e.call_intrinsic(f"{name}.{mangled(value.type)}", (value,), value.type)
    assert result is not None
    return result


def _magnitude(e: Emitter, value: SSAValue) -> SSAValue:
    return e.emit(llvm.FAbsOp, (value,), value.type, _EXACT)


def _with_sign(e: Emitter, value: SSAValue, of: SSAValue) -> SSAValue:
    return e.emit(llvm.FCopySignOp, (value, of), value.type, _EXACT)


def _compare(e: Emitter, predicate: int, a: SSAValue, b: SSAValue) -> SSAValue:
    compare = VectorFCmpOp if is_vector(a.type) else llvm.FCmpOp
    properties = {"predicate": IntegerAttr(predicate, i64), **_EXACT}
    return e.emit(compare, (a, b), with_element(a.type, i1), properties)


def _in_all_lanes(e: Emitter, condition: SSAValue) -> SSAValue:
    if not is_vector(condition.type):
        return condition
    name = f"llvm.vector.reduce.and.{mangled(condition.type)}"
    result = e.call_intrinsic(name, (condition,), i1)
    assert result is not None
    return result


REMAINDER: dict[type[Operation], Handler] = {RemFOp: _convert_remf}
