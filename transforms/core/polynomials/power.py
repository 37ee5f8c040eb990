"""
pow: exp2(y · log2|x|), with the special cases of C's Annex F, F.10.4.4, put in afterwards.

f32 is computed in f64, where short polynomials do, and rounded once at the end, which is the way of Arm's powf
(Nagy, optimized-routines, 2017) without its tables. f64 needs 11 more bits of the logarithm than it has: the
leading terms of the atanh series are sums of two numbers (Dekker, Numer. Math. 18, 1971), as in SLEEF's pow.
"""

from __future__ import annotations

from math import inf

from xdsl.builder import Builder
from xdsl.dialects import arith, scf
from xdsl.ir import Block, Region, SSAValue
from xdsl.rewriter import InsertPoint

from . import coefficients as table
from .exponential import exp2_near_single, exp2_of_sum
from .lanes import Lanes
from .logarithm import as_real, normalised, split


def powf(b: Lanes, x: SSAValue, y: SSAValue) -> SSAValue:
    return with_special_cases(b, x, y, power_of_magnitude(b, x, y))


def power_of_magnitude(b: Lanes, x: SSAValue, y: SSAValue) -> SSAValue:
    """|x|**y for finite x other than 0, and for a y that is NaN and x other than 1 and -1 NaN."""
    return (_power_single if b.is_single else _power_double)(b, b.abs(x), y)


def powf_of_one_base(b: Lanes, base: SSAValue, x: SSAValue, y: SSAValue) -> SSAValue:
    """
    x**y where x has the number `base` in all lanes: special cases are put in where that is one, or has some.

    Positive finite numbers but 1 have none: what is computed is 1 for an exponent of 0, infinity or 0 for infinite ones, and
    NaN for NaN. A base that a loop does not change is looked at once.
    """
    one = Lanes(b.builder, base.type)
    power = power_of_magnitude(b, x, y)
    is_positive = one.emit(arith.CmpfOp(base, one.real(0.0), "ogt"))
    is_finite = one.emit(arith.CmpfOp(base, one.real(inf), "olt"))
    is_not_1 = one.emit(arith.CmpfOp(base, one.real(1.0), "one"))
    is_plain = one.emit(arith.AndIOp(one.emit(arith.AndIOp(is_positive, is_finite)), is_not_1))
    plain, special = Block([scf.YieldOp(power)]), Block()
    inside = Lanes(Builder(InsertPoint.at_end(special)), b.type)
    inside.builder.insert(scf.YieldOp(with_special_cases(inside, x, y, power)))
    return b.emit(scf.IfOp(is_plain, [b.type], Region(plain), Region(special)))


def _power_single(b: Lanes, x: SSAValue, y: SSAValue) -> SSAValue:
    """x**y for positive finite x."""
    wide = b.widened()
    exponent, f = split(wide, wide.bits(wide.widen(x)))
    s = wide.div(f, wide.add(f, 2.0))
    z = wide.mul(s, s)
    natural = wide.mul(s, wide.horner(z, (2.0, *table.POWER_LOG)))
    log2 = wide.fma(natural, table.LOG2_E_F64[0], as_real(wide, exponent))
    product = wide.mul(_bounded(wide, wide.widen(y)), log2)
    return b.narrowed(exp2_near_single(wide, wide.clamp(product, -200.0, 200.0)))


def _power_double(b: Lanes, x: SSAValue, y: SSAValue) -> SSAValue:
    """x**y for positive finite x."""
    high, low = _log2_double(b, *normalised(b, x))
    y = _bounded(b, y)
    product = b.mul(y, high)
    rest = b.fma(y, low, b.fma(y, high, b.neg(product)))
    # Only beside a product beyond the clamp is the rest not tiny.
    rest = b.clamp(rest, -(2.0**-30), 2.0**-30)
    return exp2_of_sum(b, b.clamp(product, -1076.0, 1025.0), rest)


def _bounded(b: Lanes, y: SSAValue) -> SSAValue:
    """
    An infinite exponent of 1 would give NaN; this does what infinity does elsewhere, log2 x being at
    least 2**-53.
    """
    return b.clamp(y, -(2.0**65), 2.0**65)


def _log2_double(b: Lanes, k: SSAValue, f: SSAValue) -> tuple[SSAValue, SSAValue]:
    """k + log2(1 + f) to about 64 bits: c1·s + c3·s³ + s⁵·Q(s²), s = f / (2 + f)."""
    s, s_low = _quotient(b, f)
    z = b.mul(s, s)
    z_low = b.fma(b.mul(s, 2.0), s_low, b.fma(s, s, b.neg(z)))
    cube = b.mul(s, z)
    cube_low = b.fma(s_low, z, b.fma(s, z_low, b.fma(s, z, b.neg(cube))))
    first, first_low = _times(b, s, s_low, table.ATANH_1_F64)
    third, third_low = _times(b, cube, cube_low, table.ATANH_3_F64)
    rest = b.mul(b.mul(cube, z), b.horner(z, table.POWER_LOG2_F64))
    # Dekker's fast two-sums: k is 0 or larger than the first term, and that than the third.
    sum_1 = b.add(k, first)
    lost = b.sub(first, b.sub(sum_1, k))
    sum_2 = b.add(sum_1, third)
    lost = b.add(lost, b.sub(third, b.sub(sum_2, sum_1)))
    low = b.add(lost, b.add(rest, b.add(first_low, third_low)))
    high = b.add(sum_2, low)
    return high, b.sub(low, b.sub(high, sum_2))


def _quotient(b: Lanes, f: SSAValue) -> tuple[SSAValue, SSAValue]:
    """f / (2 + f), rounded, and what is missing."""
    divisor = b.add(f, 2.0)
    lost = b.sub(f, b.sub(divisor, 2.0))
    s = b.div(f, divisor)
    minus_s = b.neg(s)
    missing = b.fma(minus_s, lost, b.fma(minus_s, divisor, f))
    return s, b.div(missing, divisor)


def _times(
    b: Lanes, a: SSAValue, a_low: SSAValue, constant: tuple[float, float]
) -> tuple[SSAValue, SSAValue]:
    product = b.mul(a, constant[0])
    low = b.fma(a, constant[1], b.fma(a, constant[0], b.neg(product)))
    return product, b.fma(a_low, constant[0], low)


def with_special_cases(b: Lanes, x: SSAValue, y: SSAValue, magnitude: SSAValue) -> SSAValue:
    """x**y from |x|**y, which is right for finite |x| above 0."""
    return b.from_bits(_bits_with_special_cases(b, x, y, b.bits(magnitude)))


def _bits_with_special_cases(b: Lanes, x: SSAValue, y: SSAValue, power: SSAValue) -> SSAValue:
    """The bits of x**y from those of |x|**y for finite |x| above 0."""
    magnitude = b.iand(b.bits(x), ~b.format.sign_bit)
    exponent = b.iand(b.bits(y), ~b.format.sign_bit)
    negative = b.where_negative(x)
    zero = b.where_negative(b.isub(magnitude, 1))
    finite = b.where_negative(b.isub(magnitude, b.format.infinity))

    # Of 0 and infinity, by the exponent's sign: infinity or 0.
    flipped = b.ixor(b.where_negative(y), zero)
    limit = b.iand(b.ixor(flipped, -1), b.format.infinity)
    power = b.select_bits(b.ior(zero, b.ixor(finite, -1)), limit, power)

    fraction = b.where_nonzero(b.ixor(b.bits(y), b.bits(b.trunc(y))))
    half = b.mul(y, 0.5)
    odd = b.where_nonzero(b.ixor(b.bits(half), b.bits(b.trunc(half))))
    odd = b.iand(odd, b.ixor(fraction, -1))
    power = b.ior(power, b.iand(b.iand(odd, negative), b.format.sign_bit))

    # NaN: a negative finite number has only whole powers.
    undefined = b.iand(b.iand(negative, fraction), b.iand(finite, b.ixor(zero, -1)))
    largest = b.imax(magnitude, exponent)
    power = b.ior(power, b.ior(undefined, b.where_negative(b.isub(b.format.infinity, largest))))

    # The power 0, and the powers of 1, are 1 even where the other operand is NaN.
    one = b.format.bits(1.0)
    not_1 = b.iand(b.where_nonzero(exponent), b.where_nonzero(b.ixor(b.bits(x), one)))
    return b.select_bits(not_1, power, one)
