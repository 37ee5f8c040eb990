"""
exp and its kin: x = n·ln 2 + r with integer n and |r| <= ln 2 / 2, and 2**n through the exponent bits.

The reduction in two steps is Cody and Waite's, "Software Manual for the Elementary Functions" (1980), chapter 6,
with fused multiply-adds as in Muller, "Elementary Functions", 3rd ed., chapter 11. Rounding to the
nearest integer by adding 1.5·2**p, whose low bits then hold it, is Tang's, ACM TOMS 15 (1989).
"""

from __future__ import annotations

from xdsl.ir import SSAValue

from . import coefficients as table
from .lanes import Lanes


def exp(b: Lanes, x: SSAValue) -> SSAValue:
    """Beyond the clamp the result is 0 or infinity, which the scaling gives."""
    x = b.clamp(x, *((-104.0, 89.0) if b.is_single else (-746.0, 710.0)))
    r, shifted = _reduce(b, x)
    return _scale(b, _exp_of_reduced(b, r), shifted)


def exp_of_nonpositive(b: Lanes, x: SSAValue) -> SSAValue:
    """exp for x <= 0 (to be exact, up to 70): the same result with four operations fewer."""
    x = b.maximum(x, -104.0 if b.is_single else -746.0)
    r, shifted = _reduce(b, x, _small_magic(b))
    return _scale_down(b, _exp_of_reduced(b, r), shifted)


def exp2(b: Lanes, x: SSAValue) -> SSAValue:
    x = b.clamp(x, *((-151.0, 129.0) if b.is_single else (-1076.0, 1025.0)))
    return exp2_of_sum(b, x)


def expm1(b: Lanes, x: SSAValue) -> SSAValue:
    """(expm1(r)·2**h + (2**h - 2**(h-n)))·2**(n-h), h about n/2: neither factor overflows."""
    clamped = b.clamp(x, *((-20.0, 89.0) if b.is_single else (-40.0, 710.0)))
    r, shifted = _reduce(b, clamped)
    first, second = _halves(b, shifted)
    inverse = b.from_bits(b.isub(2 * b.format.bits(1.0), b.bits(second)))
    sum_ = b.fma(_expm1_of_reduced(b, r), first, b.sub(first, inverse))
    return b.copysign(b.mul(sum_, second), x)


def tanh(b: Lanes, x: SSAValue) -> SSAValue:
    """m / (m + 2), m = expm1(2|x|). Where m is large, its error changes both alike, and little."""
    limit = 10.0 if b.is_single else 20.0
    magnitude = b.minimum(b.abs(x), limit)
    m = _expm1_of_small(b, b.add(magnitude, magnitude))
    total = b.add(m, 2.0)
    quotient = b.div(m, total)
    if b.is_single:  # three roundings in a row could come to more than 2 units
        lost = b.sub(b.minimum(m, 2.0), b.sub(total, b.maximum(m, 2.0)))
        residual = b.fma(b.neg(quotient), lost, b.fma(b.neg(quotient), total, m))
        # 1 / (m + 2) = (1 - quotient) / 2, which has no correct bits where it would not matter.
        reciprocal = b.maximum(b.fma(quotient, -0.5, 0.5 - 2.0**-21), 0.0)
        quotient = b.fma(residual, reciprocal, quotient)
    return b.copysign(quotient, x)


def sigmoid(b: Lanes, x: SSAValue) -> SSAValue:
    """1 / (1 + e) for x >= 0 and e / (1 + e) below, e = exp(-|x|), which cannot overflow."""
    e = exp_of_nonpositive(b, b.neg(b.abs(x)))
    reciprocal, residual = b.reciprocal_of_sum(b.real(1.0), e)
    quotient = b.mul(b.select(b.where_negative(x), e, 1.0), reciprocal)
    return b.fma(quotient, residual, quotient)


def exp_of_sum(b: Lanes, high: SSAValue, low: SSAValue) -> SSAValue:
    """exp(high + low) for high <= 0 within the clamp of `exp` and a low that is tiny beside it."""
    r, shifted = _reduce(b, high)
    return _scale(b, _exp_of_reduced(b, b.add(r, low)), shifted)


def exp2_of_sum(b: Lanes, high: SSAValue, low: SSAValue | None = None) -> SSAValue:
    """2**(high + low) for a high within the clamp of `exp2` and a low that is tiny beside it."""
    magic = _biased_magic(b)
    shifted = b.add(high, magic)
    r = b.sub(high, b.sub(shifted, magic))
    if low is not None:
        r = b.add(r, low)
    poly = table.EXP2_F32 if b.is_single else table.EXP2_F64
    return _scale(b, b.fma(b.horner(r, poly), r, 1.0), b.bits(shifted))


def exp2_near_single(b: Lanes, x: SSAValue) -> SSAValue:
    """2**x in f64 but to 28 bits only, |x| <= 1000: on the way to an f32."""
    magic = b.format.round_magic + b.format.bias
    shifted = b.add(x, magic)
    r = b.sub(x, b.sub(shifted, magic))
    scale = b.from_bits(b.shl(b.bits(shifted), b.format.mantissa))
    return b.mul(b.fma(b.horner(r, table.POWER_EXP2), r, 1.0), scale)


def _biased_magic(b: Lanes) -> float:
    """The low bits of a sum with it hold the integer and twice the exponent's bias."""
    return b.format.round_magic + 2 * b.format.bias


def _reduce(b: Lanes, x: SSAValue, magic: float | None = None) -> tuple[SSAValue, SSAValue]:
    """r = x - n·ln 2, and the bits whose low part holds n."""
    magic = _biased_magic(b) if magic is None else magic
    log2_e = (table.LOG2_E_F32 if b.is_single else table.LOG2_E_F64)[0]
    high, low = table.LN2_F32 if b.is_single else table.LN2_F64
    shifted = b.fma(x, log2_e, magic)
    n = b.sub(shifted, magic)
    return b.fma(n, -low, b.fma(n, -high, x)), b.bits(shifted)


def _exp_of_reduced(b: Lanes, r: SSAValue) -> SSAValue:
    poly = table.EXPM1_F32 if b.is_single else table.EXPM1_F64
    return b.horner(r, (1.0, 1.0, *poly))


def _expm1_of_reduced(b: Lanes, r: SSAValue) -> SSAValue:
    poly = table.EXPM1_F32 if b.is_single else table.EXPM1_F64
    return b.fma(b.mul(r, r), b.horner(r, poly), r)


def _halves(b: Lanes, shifted: SSAValue) -> tuple[SSAValue, SSAValue]:
    """
    2**h and 2**(n - h), h = ⌊n / 2⌋, from bits that end in n plus twice the bias.

    The bits of the magic number are shifted out.
    """
    first = b.shift_right(shifted, 1)
    second = b.isub(shifted, first)
    place = b.format.mantissa
    return b.from_bits(b.shl(first, place)), b.from_bits(b.shl(second, place))


def _scale(b: Lanes, value: SSAValue, shifted: SSAValue) -> SSAValue:
    """value · 2**n. The first product is exact, so a subnormal result is rounded once."""
    first, second = _halves(b, shifted)
    return b.mul(b.mul(value, first), second)


def _lifted(b: Lanes) -> int:
    """A power of two by which the smallest results, 0 but for rounding, are normal numbers."""
    return 24 if b.is_single else 54


def _small_magic(b: Lanes) -> float:
    """The low bits of a sum with it hold the integer, the exponent's bias and `_lifted`."""
    return b.format.round_magic + b.format.bias + _lifted(b)


def _scale_down(b: Lanes, value: SSAValue, shifted: SSAValue) -> SSAValue:
    """value · 2**n for n <= 0 (up to 100): by 2**(n + lifted), which is exact, then rounded once."""
    scale = b.from_bits(b.shl(shifted, b.format.mantissa))
    return b.mul(b.mul(value, scale), 2.0 ** -_lifted(b))


def _expm1_of_small(b: Lanes, x: SSAValue) -> SSAValue:
    """exp(x) - 1, x from 0 to 40."""
    r, shifted = _reduce(b, x, b.format.round_magic + b.format.bias)
    scale = b.from_bits(b.shl(shifted, b.format.mantissa))
    return b.fma(_expm1_of_reduced(b, r), scale, b.sub(scale, 1.0))
