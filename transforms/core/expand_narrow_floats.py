"""Arithmetic on f16 and bf16 as arithmetic on f32, and their conversions as operations on integers."""

from __future__ import annotations

from typing import ClassVar, cast

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import (
    BFloat16Type,
    Float64Type,
    ModuleOp,
    VectorType,
    bf16,
    f16,
    f32,
    i16,
    i32,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.type import get_element_type_or_self

from ...analysis.levels import Level
from ...analysis.operations import blocks_of, operations_in
from ...dialects.dtypes import is_narrow_float
from ...dialects.scalar import EXACT
from ...dialects.type_memo import remembered
from ...dialects.upstream.arith import VectorCmpfOp, VectorSelectOp
from ...dialects.upstream.arith_casts import CASTS
from ...frozen import frozen
from ...targets.target import Target
from ..numerics import DEFAULT_FP, NumericalEffect, fp_contract
from ..stepwell_pass import StepwellPass
from .polynomials.lanes import Lanes

_KEPT = (arith.BitcastOp, arith.ConstantOp, arith.ExtFOp, arith.SelectOp, arith.TruncFOp)
"""Operations that compute nothing with floats; a selection is of any type."""


@frozen
class CoreExpandNarrowFloatsPass(StepwellPass):
    """
    Compute with f16 and bf16 in f32, and convert from and to bf16 with arithmetic of integers.

    Before: `arith.addf %a, %b : bf16`. After: both extended, added as f32 and rounded. A bf16 is the upper half of an
    f32, so that one is extended by a shift, and rounded, to nearest and ties to even, by an addition of integers: vector
    code on every machine. (Those that have an instruction for it take denormal numbers for 0.) f64 is rounded to odd in
    f32 first, so that there is one rounding in effect. Conversions of f16 are instructions, but for a `target` that has
    none.

    `fp` is the numerical contract. Unless it is `strict` a value that is rounded and extended again stays as it was: C
    says of such contracted expressions that rounding errors implied by the source are omitted.
    """

    name = "core-expand-narrow-floats"
    level_in: ClassVar[Level] = Level.CORE
    level_out: ClassVar[Level] = Level.CORE
    numerics: ClassVar[NumericalEffect] = "reassociates"

    fp: str = DEFAULT_FP
    target: str | Target = "host"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if not _is_anything_narrow(op):
            return
        for inner in operations_in(op):
            if _has_narrow(inner) and _computes(inner):
                _in_single(inner)
        if fp_contract(self.fp) != "strict":
            for inner in operations_in(op):
                if isinstance(inner, arith.ExtFOp):
                    _forget_rounding(inner)
        conversions = [o for o in operations_in(op) if isinstance(o, arith.ExtFOp | arith.TruncFOp)]
        narrow = [o for o in conversions if _has_narrow(o)]
        expands_f16 = bool(narrow) and not Target.of(self.target).converts_f16
        for conversion in narrow:
            _expand_conversion(conversion, expands_f16)


def _is_anything_narrow(module: ModuleOp) -> bool:
    """Whether any value is: most programs have none, and each type is there once for many values."""
    types: dict[int, Attribute] = {}
    for op in operations_in(module):
        for result in op.results:
            type_ = result.type
            types[id(type_)] = type_
        for block in blocks_of(op) if op.regions else ():
            types.update((id(arg.type), arg.type) for arg in block.args)
    return any(map(_is_narrow, types.values()))


# Arithmetic.


def _has_narrow(op: Operation) -> bool:
    return any(_is_narrow(value.type) for value in (*op.operands, *op.results))


def _computes(op: Operation) -> bool:
    if isinstance(op, _KEPT) or op.name == arith.SelectOp.name:
        return False
    return op.dialect_name() in ("arith", "math") or isinstance(
        op, vector.FMAOp | vector.ReductionOp
    )


@remembered
def _is_narrow(type_: Attribute) -> bool:
    return is_narrow_float(get_element_type_or_self(type_))


def _with_element(type_: Attribute, element: Attribute) -> Attribute:
    """The element type, or the vector of it with as many lanes as another type."""
    if not isinstance(type_, VectorType):
        return element
    return VectorType(element, cast("VectorType[Attribute]", type_).get_shape())


def _single_type(type_: Attribute) -> Attribute:
    return _with_element(type_, f32) if _is_narrow(type_) else type_


def _in_single(op: Operation) -> None:
    """`r = op(a, b) : bf16` → `r = truncf(op(extf(a), extf(b)) : f32)`."""
    builder = Builder(InsertPoint.before(op))
    operands = [
        builder.insert(arith.ExtFOp(v, _single_type(v.type))).result if _is_narrow(v.type) else v
        for v in op.operands
    ]
    wide = type(op).create(
        operands=operands,
        result_types=[_single_type(result.type) for result in op.results],
        properties=op.properties,
        attributes=op.attributes,
    )
    builder.insert(wide)
    values: list[SSAValue] = []
    for old, new in zip(op.results, wide.results, strict=True):
        is_narrow = _is_narrow(old.type)
        values.append(builder.insert(arith.TruncFOp(new, old.type)).result if is_narrow else new)
        values[-1].name_hint = old.name_hint
    Rewriter.replace_op(op, [], values)


def _forget_rounding(op: arith.ExtFOp) -> None:
    """`extf(truncf(x))` → `x`"""
    rounding = op.input.owner
    if not isinstance(rounding, arith.TruncFOp) or rounding.input.type != op.result.type:
        return
    if EXACT in rounding.attributes:
        return
    Rewriter.replace_op(op, [], [rounding.input])
    if not rounding.result.uses:
        Rewriter.erase_op(rounding)


# Conversions.


def _expand_conversion(op: arith.ExtFOp | arith.TruncFOp, expands_f16: bool) -> None:
    narrow, wide = (op.input, op.result) if isinstance(op, arith.ExtFOp) else (op.result, op.input)
    is_bf16 = isinstance(get_element_type_or_self(narrow.type), BFloat16Type)
    is_double = isinstance(get_element_type_or_self(wide.type), Float64Type)
    by_bits = is_bf16 or expands_f16
    if not (by_bits or is_double):
        return
    builder = Builder(InsertPoint.before(op))
    single = Lanes(builder, _with_element(narrow.type, f32))
    value = op.input
    if isinstance(op, arith.ExtFOp):
        extend = _extended if is_bf16 else _extended_half
        value = extend(single, value) if by_bits else single.emit(arith.ExtFOp(value, single.type))
        value = single.emit(arith.ExtFOp(value, op.result.type)) if is_double else value
    else:
        value = _rounded_to_odd(single, value) if is_double else value
        to, shorten = op.result.type, _rounded if is_bf16 else _rounded_half
        value = shorten(single, value) if by_bits else single.emit(arith.TruncFOp(value, to))
    value.name_hint = op.result.name_hint
    Rewriter.replace_op(op, [], [value])


def _cast(lanes: Lanes, op: type[Operation], value: SSAValue, to: Attribute) -> SSAValue:
    """A conversion of integers, on a scalar or on vectors."""
    result_types: list[Attribute] = [to]
    kind = CASTS[op] if isinstance(to, VectorType) else op
    return lanes.emit(kind.create(operands=[value], result_types=result_types))


def _extended(lanes: Lanes, value: SSAValue) -> SSAValue:
    """A bf16 as f32: its bits are the upper half."""
    bits = lanes.emit(arith.BitcastOp(value, _with_element(lanes.type, i16)))
    low = _cast(lanes, arith.ExtUIOp, bits, _with_element(lanes.type, i32))
    return lanes.from_bits(lanes.shl(low, 16))


def _rounded(lanes: Lanes, value: SSAValue) -> SSAValue:
    """
    An f32 as bf16: to nearest, ties to even, by a carry into the upper half. A NaN stays one, and is quiet.
    """
    bits = lanes.bits(value)
    last = lanes.iand(lanes.shift_right_zeros(bits, 16), 1)
    carried = lanes.iadd(lanes.iadd(bits, 0x7FFF), last)
    chosen = _where_nan(lanes, value, lanes.ior(bits, 0x400000), carried)
    low = _cast(
        lanes,
        arith.TruncIOp,
        lanes.shift_right_zeros(chosen, 16),
        _with_element(lanes.type, i16),
    )
    return lanes.emit(arith.BitcastOp(low, _with_element(lanes.type, bf16)))


def _where_nan(lanes: Lanes, value: SSAValue, quiet: SSAValue, other: SSAValue) -> SSAValue:
    """`quiet` where the value is a NaN: a comparison, as machines have it, and a selection."""
    if isinstance(lanes.type, VectorType):
        is_nan = lanes.emit(VectorCmpfOp(value, value, "uno"))
        return lanes.emit(VectorSelectOp(is_nan, quiet, other))
    return lanes.emit(arith.SelectOp(lanes.emit(arith.CmpfOp(value, value, "uno")), quiet, other))


def _extended_half(lanes: Lanes, value: SSAValue) -> SSAValue:
    """An f16 as f32: its bits moved into place are the number times 2^-112, denormal numbers included."""
    bits = lanes.emit(arith.BitcastOp(value, _with_element(lanes.type, i16)))
    low = _cast(lanes, arith.ExtUIOp, bits, _with_element(lanes.type, i32))
    magnitude = lanes.iand(low, 0x7FFF)
    scaled = lanes.bits(lanes.mul(lanes.from_bits(lanes.shl(magnitude, 13)), 2.0**112))
    is_infinite = lanes.where_negative(lanes.isub(0x7BFF, magnitude))  # or NaN
    exponent = lanes.iand(is_infinite, lanes.format.infinity)
    sign = lanes.shl(lanes.iand(low, 0x8000), 16)
    return lanes.from_bits(lanes.ior(lanes.ior(scaled, exponent), sign))


def _rounded_half(lanes: Lanes, value: SSAValue) -> SSAValue:
    """
    An f32 as f16: to nearest, ties to even. What is denormal there is rounded by a sum with 0.5, whose last bit is
    that of the denormal numbers. (F. Giesen, "Float to half conversion", 2012: `float_to_half_fast3_rtne`.)
    """
    bits = lanes.bits(value)
    magnitude = lanes.iand(bits, 0x7FFFFFFF)
    rebiased = lanes.iadd(magnitude, ((15 - 127) << 23) + 0xFFF)
    last = lanes.iand(lanes.shift_right_zeros(magnitude, 13), 1)
    normal = lanes.shift_right_zeros(lanes.iadd(rebiased, last), 13)
    half = lanes.bits(lanes.add(lanes.from_bits(magnitude), 0.5))
    denormal = lanes.isub(half, lanes.format.bits(0.5))
    is_denormal = lanes.where_negative(lanes.isub(magnitude, lanes.format.bits(2.0**-14)))
    is_large = lanes.where_negative(lanes.isub(lanes.format.bits(65536.0) - 1, magnitude))
    is_nan = lanes.where_negative(lanes.isub(lanes.format.infinity, magnitude))
    finite = lanes.select_bits(is_denormal, denormal, normal)
    infinite = lanes.ior(0x7C00, lanes.iand(is_nan, 0x0200))
    chosen = lanes.select_bits(is_large, infinite, finite)
    sign = lanes.iand(lanes.shift_right_zeros(bits, 16), 0x8000)
    low = _cast(lanes, arith.TruncIOp, lanes.ior(chosen, sign), _with_element(lanes.type, i16))
    return lanes.emit(arith.BitcastOp(low, _with_element(lanes.type, f16)))


def _rounded_to_odd(lanes: Lanes, value: SSAValue) -> SSAValue:
    """
    An f64 as f32: of the two nearest the one whose last bit is 1, itself where it is exact.

    A second rounding, to fewer bits, is then the only one that counts: Boldo and Melquiond, "Emulation of FMA and
    correctly rounded sums: proved algorithms using rounding to odd", IEEE Trans. Computers 57(4), 2008.
    """
    double = lanes.widened()
    magnitude = double.abs(value)
    single = lanes.narrowed(magnitude)
    back = double.widen(single)
    # Of magnitudes the bits are in order: both differences are of integers, and their signs masks.
    above = _low_mask(lanes, double, double.isub(double.bits(magnitude), double.bits(back)))
    below = _low_mask(lanes, double, double.isub(double.bits(back), double.bits(magnitude)))
    toward_zero = lanes.iadd(lanes.bits(single), above)
    inexact = lanes.iand(lanes.ior(above, below), 1)
    odd = lanes.ior(toward_zero, inexact)
    # By bits: LLVM moves a rounding to f16 into copysign, and then calls a library's function for that of an f64.
    sign = lanes.iand(lanes.bits(lanes.narrowed(value)), lanes.format.bits(-0.0))
    return lanes.from_bits(lanes.ior(odd, sign))


def _low_mask(lanes: Lanes, double: Lanes, difference: SSAValue) -> SSAValue:
    """All ones where an i64 is negative, as i32."""
    return _cast(lanes, arith.TruncIOp, double.where_negative(difference), lanes.integers)
