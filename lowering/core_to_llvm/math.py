"""
`math` to `llvm`: an intrinsic where LLVM has one, a call of the C library otherwise.

An intrinsic is preferred because LLVM folds it and can vectorize it; on a machine without the
instruction it becomes the same call of the C library.
"""

from __future__ import annotations

from typing import cast

from xdsl.dialects import llvm, math
from xdsl.dialects.builtin import Float32Type, Float64Type, VectorType, f32, i1, i32
from xdsl.ir import Attribute, Operation, SSAValue

from .arith import extract_lane, float_constant, intrinsic, mangled, result_type
from .emitter import Emitter, Handler, unsupported
from .properties import fastmath_of
from .types import AnyVector


def _intrinsic_op(kind: type[Operation]) -> Handler:
    """An intrinsic that xDSL's llvm dialect has an operation for."""

    def convert(e: Emitter, op: Operation) -> None:
        properties = {"fastmathFlags": fastmath_of(op)}
        e.bind(op.results[0], e.emit(kind, e.values(op.operands), result_type(op), properties))

    return convert


def _library(name: str) -> Handler:
    """A function of the C library, element by element on vectors."""

    def convert(e: Emitter, op: Operation) -> None:
        type_ = result_type(op)
        operands = e.values(op.operands)
        if isinstance(type_, VectorType):
            result = _by_lane(e, op, name, operands, cast(AnyVector, type_))
        else:
            result = _call(e, op, name, operands, type_)
        e.bind(op.results[0], result)

    return convert


def _call(
    e: Emitter, op: Operation, name: str, operands: list[SSAValue], type_: Attribute
) -> SSAValue:
    """One call; f16 goes through f32, which the C library has."""
    if not isinstance(type_, Float32Type | Float64Type):
        operands = [e.emit(llvm.FPExtOp, (value,), f32) for value in operands]
        return e.emit(llvm.FPTruncOp, (_call(e, op, name, operands, f32),), type_)
    symbol = name + ("f" if isinstance(type_, Float32Type) else "")
    e.symbols.declare(symbol, llvm.LLVMFunctionType([type_] * len(operands), type_), op)
    result = e.call(symbol, operands, type_)
    assert result is not None
    return result


def _by_lane(
    e: Emitter, op: Operation, name: str, operands: list[SSAValue], type_: AnyVector
) -> SSAValue:
    element = type_.element_type
    result = e.emit(llvm.UndefOp, (), type_)
    for lane in range(type_.get_shape()[0]):
        scalars = [extract_lane(e, value, lane) for value in operands]
        scalar = _call(e, op, name, scalars, element)
        result = e.emit(llvm.InsertElementOp, (result, scalar, e.constant(lane, i32)), type_)
    return result


def _with_flag(name: str) -> Handler:
    """An integer intrinsic with a trailing flag that makes a corner case undefined: never set."""

    def convert(e: Emitter, op: Operation) -> None:
        type_ = result_type(op)
        operands = (e.value(op.operands[0]), e.constant(0, i1))
        result = e.call_intrinsic(f"{name}.{mangled(type_)}", operands, type_)
        assert result is not None
        e.bind(op.results[0], result)

    return convert


def _convert_rsqrt(e: Emitter, op: Operation) -> None:
    type_, flags = result_type(op), {"fastmathFlags": fastmath_of(op)}
    root = e.emit(llvm.FSqrtOp, (e.value(op.operands[0]),), type_, flags)
    one = float_constant(e, 1.0, type_)
    e.bind(op.results[0], e.emit(llvm.FDivOp, (one, root), type_, flags))


def _convert_fpowi(e: Emitter, op: Operation) -> None:
    """A float to an i32 power; wider exponents have no intrinsic."""
    base, exponent = e.values(op.operands)
    type_ = result_type(op)
    if isinstance(type_, VectorType) or exponent.type != i32:
        raise unsupported(op, f"with an exponent of type {op.operands[1].type}")
    result = e.call_intrinsic(
        f"llvm.powi.{mangled(type_)}.i32", (base, exponent), type_, fastmath_of(op)
    )
    assert result is not None
    e.bind(op.results[0], result)


MATH: dict[type[Operation], Handler] = {
    **{
        source: _intrinsic_op(target)
        for source, target in {
            math.AbsFOp: llvm.FAbsOp,
            math.CeilOp: llvm.FCeilOp,
            math.CopySignOp: llvm.FCopySignOp,
            math.CosOp: llvm.FCosOp,
            math.ExpOp: llvm.FExpOp,
            math.Exp2Op: llvm.FExp2Op,
            math.FloorOp: llvm.FFloorOp,
            math.FmaOp: llvm.FMAOp,
            math.LogOp: llvm.FLogOp,
            math.Log2Op: llvm.FLog2Op,
            math.PowFOp: llvm.FPowOp,
            math.SinOp: llvm.FSinOp,
            math.SqrtOp: llvm.FSqrtOp,
        }.items()
    },
    math.Log10Op: intrinsic("llvm.log10"),
    math.TruncOp: intrinsic("llvm.trunc"),
    math.RoundOp: intrinsic("llvm.round"),
    math.RoundEvenOp: intrinsic("llvm.roundeven"),
    math.CtPopOp: intrinsic("llvm.ctpop"),
    math.AbsIOp: _with_flag("llvm.abs"),
    math.CountLeadingZerosOp: _with_flag("llvm.ctlz"),
    math.CountTrailingZerosOp: _with_flag("llvm.cttz"),
    math.RsqrtOp: _convert_rsqrt,
    math.FPowIOp: _convert_fpowi,
    math.AcosOp: _library("acos"),
    math.AcoshOp: _library("acosh"),
    math.AsinOp: _library("asin"),
    math.AsinhOp: _library("asinh"),
    math.AtanOp: _library("atan"),
    math.Atan2Op: _library("atan2"),
    math.AtanhOp: _library("atanh"),
    math.CbrtOp: _library("cbrt"),
    math.CoshOp: _library("cosh"),
    math.ErfOp: _library("erf"),
    math.ExpM1Op: _library("expm1"),
    math.Log1pOp: _library("log1p"),
    math.SinhOp: _library("sinh"),
    math.TanOp: _library("tan"),
    math.TanhOp: _library("tanh"),
}
