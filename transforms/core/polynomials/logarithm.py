"""
Logarithms: x = 2**k · (1 + f), 1 + f from √½ to √2.

f32: log(1 + f) is a polynomial whose leading term is exact (Cephes' logf, Moshier 1989). f64: 2 atanh(s) with
s = f / (2 + f), as in FreeBSD's e_log.c (Sun 1993), after Tang, ACM TOMS 16 (1990).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.ir import SSAValue

from ....frozen import frozen
from . import coefficients as table
from .lanes import Lanes

_ROOT_HALF = 0.7071067811865476
_ONE = (1.0, 0.0)


@frozen
class _Base:
    """Logarithms of 2 and of e, each as the sum of two floats, and the polynomial for f32."""

    of_2: tuple[float, float]
    of_e: tuple[float, float]
    series: Sequence[float]


def log(b: Lanes, x: SSAValue) -> SSAValue:
    of_2 = table.LN2_F32 if b.is_single else table.LN2_F64
    return _logarithm(b, x, _Base(of_2, _ONE, table.LOG_F32))


def log2(b: Lanes, x: SSAValue) -> SSAValue:
    of_e = table.LOG2_E_F32 if b.is_single else table.LOG2_E_F64
    return _logarithm(b, x, _Base(_ONE, of_e, table.LOG2_F32))


def log10(b: Lanes, x: SSAValue) -> SSAValue:
    of_2 = table.LOG10_2_F32 if b.is_single else table.LOG10_2_F64
    of_e = table.LOG10_E_F32 if b.is_single else table.LOG10_E_F64
    return _logarithm(b, x, _Base(of_2, of_e, table.LOG10_F32))


def log1p(b: Lanes, x: SSAValue) -> SSAValue:
    """
    The logarithm of u = 1 + x rounded; what the rounding lost is added to f.

    While u is near 1, its f is x again, exactly.
    """
    u = b.add(x, 1.0)
    without_1 = b.sub(u, 1.0)
    lost = b.add(b.sub(1.0, b.sub(u, without_1)), b.sub(x, without_1))  # Knuth's two-sum
    base = _Base(table.LN2_F32 if b.is_single else table.LN2_F64, _ONE, table.LOG_F32)

    def of(positive: SSAValue) -> SSAValue:
        exponent, f = split(b, b.bits(positive))
        # 2**-k. The exponent of the largest numbers has no reciprocal, but then nothing was lost that counts.
        inverse = b.isub(2 * b.format.bias, b.imin(exponent, 2 * b.format.bias))
        scale = b.from_bits(b.shl(inverse, b.format.mantissa))
        return _sum(b, as_real(b, exponent), b.fma(lost, scale, f), base)

    return b.copysign(_with_limits(b, u, of), x)


def _logarithm(b: Lanes, x: SSAValue, base: _Base) -> SSAValue:
    return _with_limits(b, x, lambda positive: _sum(b, *normalised(b, positive), base))


def normalised(b: Lanes, positive: SSAValue) -> tuple[SSAValue, SSAValue]:
    """k and f. A subnormal number is scaled up first, by 2**(mantissa + 1)."""
    up = b.format.mantissa + 1
    small = b.where_negative(b.isub(b.bits(positive), b.format.smallest_normal))
    factor = b.iadd(b.iand(small, up << b.format.mantissa), b.format.bits(1.0))
    exponent, f = split(b, b.bits(b.mul(positive, b.from_bits(factor))))
    scaled = b.from_bits(b.iand(small, b.format.bits(float(up))))
    return b.sub(as_real(b, exponent), scaled), f


def split(b: Lanes, bits: SSAValue) -> tuple[SSAValue, SSAValue]:
    """k plus the bias, as an integer, and f."""
    root_half = b.format.bits(_ROOT_HALF)
    moved = b.iadd(bits, b.format.bits(1.0) - root_half)
    mantissa = b.iand(moved, (1 << b.format.mantissa) - 1)
    f = b.sub(b.from_bits(b.iadd(mantissa, root_half)), 1.0)
    return b.shift_right_zeros(moved, b.format.mantissa), f


def as_real(b: Lanes, exponent: SSAValue) -> SSAValue:
    """k of k plus the bias, which is put into the mantissa of a number of exponent 0."""
    whole = 2.0**b.format.mantissa
    return b.sub(b.from_bits(b.ior(exponent, b.format.bits(whole))), whole + b.format.bias)


def _sum(b: Lanes, k: SSAValue, f: SSAValue, base: _Base) -> SSAValue:
    """k · log 2 + log(1 + f)"""
    return (_sum_single if b.is_single else _sum_double)(b, k, f, base)


def _sum_single(b: Lanes, k: SSAValue, f: SSAValue, base: _Base) -> SSAValue:
    poly = b.horner(f, base.series)
    rest = b.mul(f, b.fma(f, poly, base.of_e[1]) if base.of_e[1] else b.mul(f, poly))
    if base.of_2[1]:
        rest = b.fma(k, base.of_2[1], rest)
    rest = b.add(f, rest) if base.of_e == _ONE else b.fma(f, base.of_e[0], rest)
    return b.add(k, rest) if base.of_2 == _ONE else b.fma(k, base.of_2[0], rest)


def _sum_double(b: Lanes, k: SSAValue, f: SSAValue, base: _Base) -> SSAValue:
    s = b.div(f, b.add(f, 2.0))
    z = b.mul(s, s)
    half_square = b.mul(b.mul(f, 0.5), f)
    product = b.mul(s, b.fma(z, b.horner(z, table.LOG_F64), half_square))
    high, low = base.of_2
    if base.of_e == _ONE:
        rest = b.sub(f, b.sub(half_square, b.fma(k, low, product)))
        return b.fma(k, high, rest)
    natural = b.sub(f, b.sub(half_square, product))
    rest = b.mul(natural, base.of_e[1])
    if low:
        rest = b.fma(k, low, rest)
    whole = b.add(k, rest) if base.of_2 == _ONE else b.fma(k, high, rest)
    return b.fma(natural, base.of_e[0], whole)


def _with_limits(b: Lanes, x: SSAValue, of: Callable[[SSAValue], SSAValue]) -> SSAValue:
    """
    `of` for positive finite numbers; -inf at both zeros, NaN below and of NaN, infinity of infinity.
    """
    x = b.add(x, 0.0)  # -0 becomes 0
    bits = b.bits(x)
    beyond = b.where_negative(b.isub(b.format.infinity - 1, bits))
    zero = b.where_negative(b.isub(bits, 1))
    minus_infinity = b.format.infinity + b.format.sign_bit
    value = b.select_bits(beyond, bits, b.bits(of(x)))
    value = b.select_bits(zero, minus_infinity, value)
    return b.from_bits(b.ior(value, b.where_negative(bits)))
