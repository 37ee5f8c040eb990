"""
exp and its kin: x = n·ln 2 + r with integer n and |r| <= ln 2 / 2, and 2**n through the exponent bits.

The reduction in two steps is Cody and Waite's, "Software Manual for the Elementary Functions" (1980), chapter 6,
with fused multiply-adds as in Muller, "Elementary Functions", 3rd ed., chapter 11. Rounding to the
nearest integer by adding 1.5·2**p, whose low bits then hold it, is Tang's, ACM TOMS 15 (1989).

The polynomials are those of the result times 2**-k (see `_lifted`): what scales it back is a normal number where
the result is subnormal or 0, so that one product rounds it, once.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from . import coefficients as table
from .lanes import Lanes


def exp(b: Lanes, x: SSAValue) -> SSAValue:
    """Beyond the clamp the result is 0 or infinity, which the scaling gives."""
    x = b.clamp(x, *((-104.0, 89.0) if b.is_single else (-746.0, 710.0)))
    early, r, shifted = _reduce(b, x, _lifted_magic(b) + b.format.bias)
    return _scale(b, _exp_of_reduced(b, early, r), shifted)


def exp_of_nonpositive(b: Lanes, x: SSAValue) -> SSAValue:
    """
    exp for x <= 0 (to be exact, up to 70): the same result with five operations fewer.

    At the clamp the scale is 0, not a number whose product would underflow, which takes CPUs long.
    """
    x = b.maximum(x, -104.66 if b.is_single else -746.52)
    early, r, shifted = _reduce(b, x, _lifted_magic(b))
    return b.mul(_exp_of_reduced(b, early, r), _power_of_two(b, shifted))


def exp2(b: Lanes, x: SSAValue) -> SSAValue:
    x = b.clamp(x, *((-151.0, 129.0) if b.is_single else (-1076.0, 1025.0)))
    return exp2_of_sum(b, x)


def expm1(b: Lanes, x: SSAValue) -> SSAValue:
    """(expm1(r)·2**h + (2**h - 2**(h-n)))·2**(n-h), h about n/2: neither factor overflows."""
    clamped = b.clamp(x, *((-20.0, 89.0) if b.is_single else (-40.0, 710.0)))
    early, r, shifted = _reduce(b, clamped, b.format.round_magic + 2 * b.format.bias)
    first, second = (_power_of_two(b, half) for half in _halves(b, shifted))
    inverse = b.from_bits(b.isub(2 * b.format.bits(1.0), b.bits(second)))
    sum_ = b.fma(_expm1_of_reduced(b, early, r), first, b.sub(first, inverse))
    return b.copysign(b.mul(sum_, second), x)


def tanh(b: Lanes, x: SSAValue) -> SSAValue:
    """
    h / (h + 1), h = expm1(2|x|) / 2, as c·(1 - c / (h + 1)) with c = h up to 1 and 1 above.

    So the errors of the sum and of the quotient are made smaller by what they are subtracted from.
    """
    magnitude = b.minimum(b.abs(x), 10.0 if b.is_single else 20.0)
    h = _half_expm1_of_double(b, magnitude)
    c = b.minimum(h, 1.0)
    return b.copysign(_less_a_part(b, c, b.div(c, b.add(h, 1.0))), x)


def sigmoid(b: Lanes, x: SSAValue) -> SSAValue:
    """
    c·(1 - e / (1 + e)), c = 1 for x >= 0 and e below, e = exp(-|x|), which cannot overflow.

    The errors of the sum and of the quotient come in multiplied by c·e at most.
    """
    e = exp_of_nonpositive(b, b.neg(b.abs(x)))
    c = b.select(b.where_negative(x), e, 1.0)
    return _less_a_part(b, c, b.div(e, b.add(e, 1.0)))


def _less_a_part(b: Lanes, whole: SSAValue, part: SSAValue) -> SSAValue:
    """whole·(1 - part), rounded once."""
    return b.fma(b.neg(whole), part, whole)


def exp_of_sum(b: Lanes, high: SSAValue, low: SSAValue) -> SSAValue:
    """exp(high + low) for high <= 0, at least -150 or -1100, and a low that is tiny beside it."""
    _, r, shifted = _reduce(b, high, _lifted_magic(b) + b.format.bias)
    r = b.add(r, low)
    return _scale(b, _exp_of_reduced(b, r, r), shifted)


def exp_of_difference(
    b: Lanes, small: SSAValue, high: SSAValue, low: SSAValue, exponent: int
) -> tuple[SSAValue, SSAValue]:
    """
    exp(small - high - low)·2**exponent, as two factors whose product rounds it.

    |small| < 1, high >= 0, and a low that is tiny beside both; the exponent of 2 in all is at least -150 in f32.
    """
    ln_2, ln_2_low = _ln_2(b)
    n, shifted = _multiple(b, b.sub(small, high), _lifted_magic(b) + exponent)
    r = b.sub(b.sub(small, b.fma(n, ln_2_low, low)), b.fma(n, ln_2, high))
    return _exp_of_reduced(b, r, r), _power_of_two(b, shifted)


def exp2_of_sum(b: Lanes, high: SSAValue, low: SSAValue | None = None) -> SSAValue:
    """2**(high + low) for a high within the clamp of `exp2` and a low that is tiny beside it."""
    magic = _lifted_magic(b) + b.format.bias
    shifted = b.add(high, magic)
    r = b.sub(high, b.sub(shifted, magic))
    if low is not None:
        r = b.add(r, low)
    poly = table.EXP2_F32 if b.is_single else table.EXP2_F64
    return _scale(b, b.horner(r, _lowered(b, (1.0, *poly))), b.bits(shifted))


def exp2_near_single(b: Lanes, x: SSAValue) -> SSAValue:
    """2**x in f64 but to 28 bits only, |x| <= 1000: on the way to an f32."""
    magic = b.format.round_magic + b.format.bias
    shifted = b.add(x, magic)
    r = b.sub(x, b.sub(shifted, magic))
    return b.mul(b.fma(b.horner(r, table.POWER_EXP2), r, 1.0), _power_of_two(b, b.bits(shifted)))


def _reduce(
    b: Lanes, x: SSAValue, magic: float, times: float = 1.0
) -> tuple[SSAValue, SSAValue, SSAValue]:
    """
    Nearly r, r = x·times - n·ln 2, and the bits whose low part holds n; `times` is a power of 2.

    n·high takes up no more digits than x and the difference together, so what is nearly r is exact but for
    n·low. In f32, where low happens to be 2**-29, that is what the higher terms may do without.
    """
    high, low = _ln_2(b)
    n, shifted = _multiple(b, x, magic, times)
    early = b.fma(n, -high, x if times == 1 else b.mul(x, times))
    r = b.fma(n, -low, early)
    return early if b.is_single else r, r, shifted


def _multiple(b: Lanes, x: SSAValue, magic: float, times: float = 1.0) -> tuple[SSAValue, SSAValue]:
    """n = x·times / ln 2, rounded, and the bits whose low part holds it."""
    log2_e = (table.LOG2_E_F32 if b.is_single else table.LOG2_E_F64)[0]
    shifted = b.fma(x, times * log2_e, magic)
    return b.sub(shifted, magic), b.bits(shifted)


def _ln_2(b: Lanes) -> tuple[float, float]:
    return table.LN2_F32 if b.is_single else table.LN2_F64


def _exp_of_reduced(b: Lanes, early: SSAValue, r: SSAValue) -> SSAValue:
    """exp(r)·2**-lifted"""
    poly = table.EXPM1_F32 if b.is_single else table.EXPM1_F64
    higher = b.horner(early, _lowered(b, poly))
    return b.horner(r, (*_lowered(b, (1.0, 1.0)), higher))


def _expm1_of_reduced(b: Lanes, early: SSAValue, r: SSAValue) -> SSAValue:
    poly = table.EXPM1_F32 if b.is_single else table.EXPM1_F64
    return b.fma(b.mul(r, r), b.horner(early, poly), r)


def _half_expm1_of_double(b: Lanes, x: SSAValue) -> SSAValue:
    """(exp(2x) - 1) / 2, x from 0 to 20."""
    early, r, shifted = _reduce(b, x, b.format.round_magic + b.format.bias, times=2.0)
    scale = b.shl(shifted, b.format.mantissa)
    half = b.from_bits(b.isub(scale, b.format.smallest_normal))
    return b.fma(_expm1_of_reduced(b, early, r), half, b.sub(half, 0.5))


def quarter_expm1(b: Lanes, x: SSAValue) -> SSAValue:
    """(exp(x) - 1) / 4, x >= 0 and where the exponential is not more than four times the largest number."""
    early, r, shifted = _reduce(b, x, b.format.round_magic + b.format.bias)
    scale = b.shl(shifted, b.format.mantissa)
    quarter = b.from_bits(b.isub(scale, 2 * b.format.smallest_normal))
    return b.fma(_expm1_of_reduced(b, early, r), quarter, b.sub(quarter, 0.25))


def _lifted(b: Lanes) -> int:
    """A power of two by which the smallest results, 0 but for rounding, are normal numbers."""
    return 24 if b.is_single else 54


def _lowered(b: Lanes, series: Sequence[float]) -> list[float]:
    """The coefficients times 2**-lifted, exactly."""
    return [coefficient * 2.0 ** -_lifted(b) for coefficient in series]


def _lifted_magic(b: Lanes) -> float:
    """The low bits of a sum with it hold the integer, the exponent's bias and `_lifted`."""
    return b.format.round_magic + b.format.bias + _lifted(b)


def _power_of_two(b: Lanes, biased: SSAValue) -> SSAValue:
    """2**n of the bits that end in n and the bias; those before are shifted out."""
    return b.from_bits(b.shl(biased, b.format.mantissa))


def _halves(b: Lanes, shifted: SSAValue) -> tuple[SSAValue, SSAValue]:
    """Two integers that come to what the bits end in, the lower one first."""
    first = b.shift_right(shifted, 1)
    return first, b.isub(shifted, first)


def _scale(b: Lanes, value: SSAValue, shifted: SSAValue) -> SSAValue:
    """
    value · 2**(n + lifted) of bits that end in that exponent and twice the bias.

    The first product is exact, so a subnormal result is rounded once.
    """
    first, second = (_power_of_two(b, half) for half in _halves(b, shifted))
    return b.mul(b.mul(value, first), second)
