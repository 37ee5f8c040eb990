"""
sin, cos and tan: |x| = n·π/2 + r.

π/2 in three parts (Cody and Waite 1980) with fused multiply-adds, of which the first is exact: Muller, "Elementary
Functions", 3rd ed., chapter 11.2. What lies beyond the range of that is left to the C library, whose
reduction is Payne and Hanek's.
"""

from __future__ import annotations

import math as numbers

from xdsl.builder import Builder
from xdsl.dialects import arith, scf, vector
from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint

from . import coefficients as table
from .lanes import Lanes, element_of

KEEP_LIBRARY = "stepwell.libm"
"""An attribute of an operation that is to stay a call of the C library."""


def sin(b: Lanes, x: SSAValue) -> SSAValue:
    quarter, sine, cosine = _quarter(b, x)
    sign = b.ixor(b.shl(quarter, b.format.width - 2), b.bits(x))
    return _signed(b, quarter, sine, cosine, sign)


def cos(b: Lanes, x: SSAValue) -> SSAValue:
    """sin(|x| + π/2)"""
    quarter, sine, cosine = _quarter(b, x)
    quarter = b.iadd(quarter, 1)
    return _signed(b, quarter, sine, cosine, b.shl(quarter, b.format.width - 2))


def tan(b: Lanes, x: SSAValue) -> SSAValue:
    """sin(r) / cos(r) in even quarters, -cos(r) / sin(r) in odd ones; f32 in f64."""
    if b.is_single:
        wide = b.widened()
        return b.narrowed(tan(wide, wide.widen(x)))
    quarter, sine, cosine = _quarter(b, x)
    odd = b.where_negative(b.shl(quarter, b.format.width - 1))
    quotient = b.div(b.select(odd, cosine, sine), b.select(odd, sine, cosine))
    sign = b.iand(b.ixor(b.bits(x), odd), b.format.sign_bit)
    return b.from_bits(b.ixor(b.bits(quotient), sign))


def reach(b: Lanes) -> float:
    """
    The largest magnitude that `sin`, `cos` and `tan` are right for. n must stay below 2**(mantissa - 2), and what is
    left of the product by 2/π, n·2**-mantissa, a small part of a quarter.
    """
    return 2.0**18 if b.is_single else 2.0**40


def _quarter(b: Lanes, x: SSAValue) -> tuple[SSAValue, SSAValue, SSAValue]:
    """n in the low bits, sin(r) and cos(r)."""
    magnitude = b.abs(x)
    magic = b.format.round_magic
    shifted = b.fma(magnitude, 2.0 / numbers.pi, magic)
    n = b.sub(shifted, magic)
    r = magnitude
    for part in table.HALF_PI_F32 if b.is_single else table.HALF_PI_F64:
        r = b.fma(n, -part, r)
    z = b.mul(r, r)
    sine = b.fma(b.mul(r, z), b.horner(z, table.SIN_F32 if b.is_single else table.SIN_F64), r)
    series = b.horner(z, table.COS_F32 if b.is_single else table.COS_F64)
    cosine = b.fma(b.mul(z, z), series, b.fma(z, -0.5, 1.0))
    return b.bits(shifted), sine, cosine


def _signed(
    b: Lanes, quarter: SSAValue, sine: SSAValue, cosine: SSAValue, sign: SSAValue
) -> SSAValue:
    odd = b.where_negative(b.shl(quarter, b.format.width - 1))
    value = b.select_bits(odd, b.bits(cosine), b.bits(sine))
    return b.from_bits(b.ixor(value, b.iand(sign, b.format.sign_bit)))


def with_library_beyond(b: Lanes, op: Operation, value: SSAValue, limit: float) -> SSAValue:
    """
    `value`, but where the operand's magnitude exceeds `limit`, the C library's result. It is asked for
    only when there is such a lane; the others keep `value`, so a result does not depend on its neighbours.
    """
    x = op.operands[0]
    result_type = b.type
    bits = b.bits(b.abs(x))
    largest = bits
    scalar = Lanes(b.builder, element_of(result_type))
    if scalar.type != result_type:
        kind = vector.CombiningKindAttr(vector.CombiningKindFlag.MAXSI)
        properties = {"kind": kind, "fastmath": arith.FastMathFlagsAttr("none")}
        reduction = vector.ReductionOp.create(
            operands=(bits,), result_types=(scalar.integers,), properties=properties
        )
        largest = b.emit(reduction)
    bound = b.format.bits(limit)
    beyond = b.emit(arith.CmpiOp(largest, scalar.integer(bound), "sgt"))
    then, otherwise = Block(), Block()
    inside = Lanes(Builder(InsertPoint.at_end(then)), b.type)
    library = op.clone()
    library.attributes[KEEP_LIBRARY] = UnitAttr()
    exact = inside.emit(library)
    mask = inside.where_negative(inside.isub(bound, bits))
    inside.builder.insert(scf.YieldOp(inside.select(mask, exact, value)))
    otherwise.add_op(scf.YieldOp(value))
    return b.emit(scf.IfOp(beyond, [result_type], Region(then), Region(otherwise)))
