"""`arith` to `llvm`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import cast

from xdsl.dialects import arith, llvm
from xdsl.dialects.builtin import (
    AnyFloat,
    BFloat16Type,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    Float16Type,
    Float32Type,
    Float64Type,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    VectorType,
    i1,
    i16,
    i32,
)
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.type import get_element_type_or_self

from ...analysis.operations import operands_of
from ...dialects.leaf_operations import numbers_attribute, vector_of
from ...dialects.type_memo import remembered
from ...dialects.upstream.arith import VectorCmpfOp, VectorCmpiOp, VectorSelectOp
from ...dialects.upstream.arith_casts import CASTS
from ...dialects.upstream.llvm import (
    ExtractElementOp,
    UIToFPOp,
    VectorFCmpOp,
    VectorLlvmSelectOp,
)
from ...errors import StepwellError
from .emitter import Emitter, Handler, unsupported
from .properties import NO_FASTMATH, NO_OVERFLOW, fastmath_of
from .types import AnyVector, checked, is_vector

_OVERFLOW_BITS = {arith.IntegerOverflowFlag.NSW: 1, arith.IntegerOverflowFlag.NUW: 2}


def result_type(op: Operation) -> Attribute:
    """The LLVM type of an operation's first result, a scalar or vector."""
    (result,) = op.results
    return checked(result.type, op)[0]


@remembered
def mangled(type_: Attribute) -> str:
    """The suffix of an overloaded intrinsic's name for a type: `f32`, `i64`, `v8f32`."""
    match type_:
        case IntegerType():
            return f"i{type_.width.data}"
        case Float16Type():
            return "f16"
        case Float32Type():
            return "f32"
        case Float64Type():
            return "f64"
        case VectorType():
            return f"v{type_.get_shape()[0]}{mangled(type_.element_type)}"
        case _:
            raise ValueError(f"{type_} has no intrinsic suffix")


def with_element(type_: Attribute, element: Attribute) -> Attribute:
    """`element`, or the vector of it with as many elements as `type_`."""
    return VectorType(element, type_.get_shape()) if is_vector(type_) else element


def integer_constant(e: Emitter, value: int, type_: Attribute) -> SSAValue:
    """An integer, or the vector with it in every element."""
    if not is_vector(type_):
        return e.constant(value, type_)
    return e.emit(llvm.ConstantOp, (), type_, {"value": dense_vector(type_, [value])})


def float_constant(e: Emitter, value: float, type_: Attribute) -> SSAValue:
    """A float, or the vector with it in every element."""
    if is_vector(type_):
        attr: Attribute = dense_vector(type_, [value])
    else:
        attr = FloatAttr(value, cast(AnyFloat, type_))
    return e.emit(llvm.ConstantOp, (), type_, {"value": attr})


def dense_vector(type_: AnyVector, values: Sequence[int | float]) -> Attribute:
    """The elements of a vector, or one value for all of them."""
    return DenseIntOrFPElementsAttr.from_list(
        cast("VectorType[IntegerType] | VectorType[AnyFloat]", type_),
        cast("Sequence[int]", values),
    )


def bits_of(type_: Attribute) -> int:
    """The width of an integer or float, or of a vector's elements."""
    element = get_element_type_or_self(type_)
    return int(mangled(element)[1:])


def convert_constant(e: Emitter, op: Operation) -> None:
    assert isinstance(op, arith.ConstantOp)
    type_ = result_type(op)
    value = op.value
    if isinstance(value, IntegerAttr):
        (result,) = op.results
        e.set_number(result, value.value.data)
        e.bind(result, e.constant(value.value.data, type_))
    elif isinstance(value, FloatAttr):
        if isinstance(value.type, BFloat16Type):
            bits = int.from_bytes(value.type.pack((value.value.data,)), "little", signed=True)
            value = IntegerAttr(bits, i16)
        e.bind(op.result, e.emit(llvm.ConstantOp, (), type_, {"value": value}))
    elif isinstance(value, DenseIntOrFPElementsAttr) and is_vector(type_):
        dense = value
        if value.type != type_:  # index elements become i64
            dense = DenseIntOrFPElementsAttr(
                cast("VectorType[IntegerType | AnyFloat]", type_), value.data
            )
        e.bind(op.result, e.emit(llvm.ConstantOp, (), type_, {"value": dense}))
    else:
        raise unsupported(op, f"of type {op.result.type}")


def _overflow(op: Operation) -> IntegerAttr:
    flags = op.properties.get("overflowFlags")
    if type(flags) is not arith.IntegerOverflowAttr or not flags.data:
        return NO_OVERFLOW
    return IntegerAttr(sum(_OVERFLOW_BITS[flag] for flag in flags.data), i32)


def _wrapping(kind: type[Operation]) -> Handler:
    """Integer operations with overflow flags."""

    def convert(e: Emitter, op: Operation) -> None:
        (result,) = op.results
        properties = {"overflowFlags": _overflow(op)}
        e.bind(result, e.emit(kind, e.values(operands_of(op)), result_type(op), properties))

    return convert


def _integer(kind: type[Operation]) -> Handler:
    def convert(e: Emitter, op: Operation) -> None:
        e.bind(op.results[0], e.emit(kind, e.values(operands_of(op)), result_type(op)))

    return convert


@remembered
def _is_bf16(type_: Attribute) -> bool:
    return isinstance(get_element_type_or_self(type_), BFloat16Type)


def check_floats(op: Operation) -> None:
    """Raise the error of an operation that computes with bf16, which is only bits here."""
    for value in (*operands_of(op), *op.results):
        if _is_bf16(value.type):
            raise StepwellError(
                f"found '{op.name}' on {value.type}, expected no arithmetic on bf16 at this level; run "
                "core-expand-narrow-floats before",
                op=op,
            )


def _floating(kind: type[Operation]) -> Handler:
    def convert(e: Emitter, op: Operation) -> None:
        (result,) = op.results
        if _is_bf16(result.type):  # as the operands are
            check_floats(op)
        properties = {"fastmathFlags": fastmath_of(op)}
        e.bind(result, e.emit(kind, e.values(operands_of(op)), result_type(op), properties))

    return convert


def intrinsic(name: str) -> Handler:
    """An operation that is one intrinsic overloaded on its result's type."""

    def convert(e: Emitter, op: Operation) -> None:
        type_ = result_type(op)
        result = e.call_intrinsic(
            f"{name}.{mangled(type_)}", e.values(operands_of(op)), type_, fastmath_of(op)
        )
        assert result is not None
        e.bind(op.results[0], result)

    return convert


def _extreme(name: str) -> Handler:
    """The greater or the smaller of two floats, NaN where one is; that takes more instructions, and is not asked where neither can be."""

    def convert(e: Emitter, op: Operation) -> None:
        type_ = result_type(op)
        flags = fastmath_of(op)
        if FastMathFlag.NO_NANS not in flags.data and e.ranges.of(op.results[0]) is not None:
            flags = llvm.FastMathAttr([*flags.data, FastMathFlag.NO_NANS])
        result = e.call_intrinsic(
            f"{name}.{mangled(type_)}", e.values(operands_of(op)), type_, flags
        )
        assert result is not None
        e.bind(op.results[0], result)

    return convert


def _convert_cmpi(e: Emitter, op: Operation) -> None:
    assert isinstance(op, arith.CmpiOp | VectorCmpiOp)
    properties = {"predicate": op.predicate}
    e.bind(op.result, e.emit(llvm.ICmpOp, e.values(operands_of(op)), result_type(op), properties))


def _convert_cmpf(e: Emitter, op: Operation) -> None:
    """xDSL does not print the fast-math flags of a comparison: permissions that are not taken here."""
    assert isinstance(op, arith.CmpfOp | VectorCmpfOp)
    check_floats(op)
    properties = {"predicate": op.predicate, "fastmathFlags": NO_FASTMATH}
    a, b = e.values(operands_of(op))
    compare = VectorFCmpOp if is_vector(a.type) else llvm.FCmpOp
    e.bind(op.result, e.emit(compare, (a, b), result_type(op), properties))


def extract_lane(e: Emitter, vector: SSAValue, lane: int) -> SSAValue:
    """One element of a vector."""
    element = cast(AnyVector, vector.type).element_type
    return e.emit(ExtractElementOp, (vector, e.constant(lane, i32)), element)


def shuffle(e: Emitter, a: SSAValue, b: SSAValue, mask: Sequence[int]) -> SSAValue:
    """The lanes of two vectors that `mask` numbers, those of `b` after those of `a`."""
    result = vector_of(cast(AnyVector, a.type).element_type, len(mask))
    return e.emit(llvm.ShuffleVectorOp, (a, b), result, {"mask": _mask(tuple(mask))})


@lru_cache(maxsize=1024)
def _mask(lanes: tuple[int, ...]) -> DenseArrayBase[IntegerType]:
    """Transpositions in registers repeat a few masks again and again."""
    return numbers_attribute(i32, lanes)


def select(
    e: Emitter, condition: SSAValue, if_true: SSAValue, if_false: SSAValue, type_: Attribute
) -> SSAValue:
    """One of two values, by one condition or lane by lane."""
    choose = VectorLlvmSelectOp if is_vector(condition.type) else llvm.SelectOp
    return e.emit(choose, (condition, if_true, if_false), type_, {"fastmathFlags": NO_FASTMATH})


def _convert_select(e: Emitter, op: Operation) -> None:
    assert isinstance(op, arith.SelectOp | VectorSelectOp)
    types = checked(op.result.type, op)
    condition = e.value(op.cond)
    pairs = zip(e.flatten((op.lhs,)), e.flatten((op.rhs,)), types, strict=True)
    e.unflatten((op.result,), [select(e, condition, *pair) for pair in pairs])


def resize(e: Emitter, value: SSAValue, to: Attribute, extension: type[Operation]) -> SSAValue:
    """An integer in another width."""
    have, want = bits_of(value.type), bits_of(to)
    if have == want:
        return value
    if have > want:
        return e.emit(llvm.TruncOp, (value,), to)
    return e.emit(extension, (value,), to)


def _resizing(extension: type[Operation]) -> Handler:
    def convert(e: Emitter, op: Operation) -> None:
        e.bind(op.results[0], resize(e, e.value(op.operands[0]), result_type(op), extension))

    return convert


def _convert_sitofp(e: Emitter, op: Operation) -> None:
    e.bind(op.results[0], e.emit(llvm.SIToFPOp, (e.value(op.operands[0]),), result_type(op)))


def _convert_uitofp(e: Emitter, op: Operation) -> None:
    """What is narrower than a register is made a signed value of more bits, which takes one instruction everywhere."""
    source = e.value(op.operands[0])
    bits = bits_of(source.type)
    wider = next((width for width in (32, 64) if width > bits), None)
    if wider is None:
        e.bind(op.results[0], e.emit(UIToFPOp, (source,), result_type(op)))
        return
    wide = e.emit(llvm.ZExtOp, (source,), with_element(source.type, IntegerType(wider)))
    e.bind(op.results[0], e.emit(llvm.SIToFPOp, (wide,), result_type(op)))


def _cast(kind: type[Operation]) -> Handler:
    def convert(e: Emitter, op: Operation) -> None:
        check_floats(op)
        e.bind(op.results[0], e.emit(kind, (e.value(op.operands[0]),), result_type(op)))

    return convert


def _convert_bitcast(e: Emitter, op: Operation) -> None:
    source, type_ = e.value(op.operands[0]), result_type(op)
    e.bind(
        op.results[0],
        source if source.type == type_ else e.emit(llvm.BitcastOp, (source,), type_),
    )


def add_flag(e: Emitter, value: SSAValue, flag: SSAValue, extension: type[Operation]) -> SSAValue:
    """value + flag; the flag counts 1 zero-extended and -1 sign-extended."""
    step = resize(e, flag, value.type, extension)
    return e.emit(llvm.AddOp, (value, step), value.type, {"overflowFlags": NO_OVERFLOW})


def _convert_addui_extended(e: Emitter, op: Operation) -> None:
    a, b = e.values(operands_of(op))
    total = e.emit(llvm.AddOp, (a, b), a.type, {"overflowFlags": NO_OVERFLOW})
    e.bind(op.results[0], total)
    e.bind(op.results[1], e.compare("ult", total, a, with_element(a.type, i1)))


def _extended_product(extension: type[Operation]) -> Handler:
    """The low and high halves of a product, made in twice the width."""

    def convert(e: Emitter, op: Operation) -> None:
        a, b = e.values(operands_of(op))
        bits = bits_of(a.type)
        wide = with_element(a.type, IntegerType(2 * bits))
        product = e.emit(
            llvm.MulOp,
            (e.emit(extension, (a,), wide), e.emit(extension, (b,), wide)),
            wide,
            {"overflowFlags": NO_OVERFLOW},
        )
        shift = integer_constant(e, bits, wide)
        high = e.emit(llvm.LShrOp, (product, shift), wide)
        e.bind(op.results[0], e.emit(llvm.TruncOp, (product,), a.type))
        e.bind(op.results[1], e.emit(llvm.TruncOp, (high,), a.type))

    return convert


_Table = dict[type[Operation], Handler]
_Make = Callable[[type[Operation]], Handler]


def _rows(make: _Make, kinds: dict[type[Operation], type[Operation]]) -> _Table:
    return {source: make(target) for source, target in kinds.items()}


ARITH: _Table = {
    arith.ConstantOp: convert_constant,
    **_rows(
        _wrapping,
        {
            arith.AddiOp: llvm.AddOp,
            arith.SubiOp: llvm.SubOp,
            arith.MuliOp: llvm.MulOp,
            arith.ShLIOp: llvm.ShlOp,
        },
    ),
    **_rows(
        _integer,
        {
            arith.AndIOp: llvm.AndOp,
            arith.OrIOp: llvm.OrOp,
            arith.XOrIOp: llvm.XOrOp,
            arith.ShRSIOp: llvm.AShrOp,
            arith.ShRUIOp: llvm.LShrOp,
        },
    ),
    **_rows(
        _floating,
        {
            arith.AddfOp: llvm.FAddOp,
            arith.SubfOp: llvm.FSubOp,
            arith.MulfOp: llvm.FMulOp,
            arith.DivfOp: llvm.FDivOp,
            arith.NegfOp: llvm.FNegOp,
        },
    ),
    arith.MaxSIOp: intrinsic("llvm.smax"),
    arith.MinSIOp: intrinsic("llvm.smin"),
    arith.MaxUIOp: intrinsic("llvm.umax"),
    arith.MinUIOp: intrinsic("llvm.umin"),
    arith.MaximumfOp: _extreme("llvm.maximum"),
    arith.MinimumfOp: _extreme("llvm.minimum"),
    arith.MaxnumfOp: intrinsic("llvm.maxnum"),
    arith.MinnumfOp: intrinsic("llvm.minnum"),
    arith.CmpiOp: _convert_cmpi,
    arith.CmpfOp: _convert_cmpf,
    arith.SelectOp: _convert_select,
    VectorCmpiOp: _convert_cmpi,
    VectorCmpfOp: _convert_cmpf,
    VectorSelectOp: _convert_select,
    arith.AddUIExtendedOp: _convert_addui_extended,
    arith.MulSIExtendedOp: _extended_product(llvm.SExtOp),
    arith.MulUIExtendedOp: _extended_product(llvm.ZExtOp),
    arith.IndexCastOp: _resizing(llvm.SExtOp),
    arith.ExtSIOp: _resizing(llvm.SExtOp),
    arith.ExtUIOp: _resizing(llvm.ZExtOp),
    arith.TruncIOp: _resizing(llvm.ZExtOp),
    arith.SIToFPOp: _convert_sitofp,
    arith.UIToFPOp: _convert_uitofp,
    arith.ExtFOp: _cast(llvm.FPExtOp),
    arith.TruncFOp: _cast(llvm.FPTruncOp),
    arith.BitcastOp: _convert_bitcast,
}
ARITH.update({vector: ARITH[scalar] for scalar, vector in CASTS.items() if scalar in ARITH})
