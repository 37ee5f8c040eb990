"""
atan and atan2, asin and acos.

The angle of a point is that of the quotient of its smaller by its larger coordinate, from 0 to π/4, turned into its
octant. Beyond 1/2 asin is found from that of half of what is missing to 1: asin(x) = π/2 - 2 asin √((1 - x) / 2). Muller,
"Elementary Functions", 3rd ed., chapter 11.
"""

from __future__ import annotations

from xdsl.dialects import math
from xdsl.ir import SSAValue

from . import coefficients as table
from .lanes import Lanes


def atan(b: Lanes, x: SSAValue) -> SSAValue:
    magnitude = b.abs(x)
    quotient = b.div(b.minimum(magnitude, 1.0), b.maximum(magnitude, 1.0))
    angle = _arc_tangent(b, quotient)
    high, low = _half_pi(b)
    steep = b.where_negative(b.isub(b.format.bits(1.0), b.bits(magnitude)))
    return b.copysign(b.select(steep, b.sub(high, b.sub(angle, low)), angle), x)


def atan2(b: Lanes, y: SSAValue, x: SSAValue) -> SSAValue:
    """The angle of the point (x, y), with the signs of zeros and the infinities of C's Annex F."""
    across, up = b.abs(x), b.abs(y)
    least, most = b.minimum(up, across), b.maximum(up, across)
    quotient = b.div(least, most)
    infinite = b.where_negative(b.isub(b.format.infinity - 1, b.bits(least)))
    is_number = b.where_negative(b.isub(b.bits(most), b.format.infinity + 1))
    quotient = b.select(b.iand(infinite, is_number), 1.0, quotient)
    quotient = b.select(b.where_nonzero(b.bits(most)), quotient, 0.0)
    angle = b.bits(_arc_tangent(b, quotient))
    steep = b.where_negative(b.isub(b.bits(across), b.bits(up)))
    left = b.where_negative(x)
    # 0 + angle, π/2 - angle, π/2 + angle or π - angle
    turned = b.iand(b.ixor(steep, left), b.format.sign_bit)
    high, low = _half_pi(b)
    parts: list[SSAValue] = []
    for quarter in (high, low):
        half_turn = b.iand(left, b.format.bits(2 * quarter))
        parts.append(b.from_bits(b.select_bits(steep, b.format.bits(quarter), half_turn)))
    signed = b.from_bits(b.ixor(angle, turned))
    return b.copysign(b.add(parts[0], b.add(signed, parts[1])), y)


def asin(b: Lanes, x: SSAValue) -> SSAValue:
    """Beyond 1/2 with what the square root lost, of which the result would have a whole unit in the last place."""
    far, missing, s, higher = _arc_sine(b, x)
    high, low = _half_pi(b)
    lost = b.div(b.fma(b.neg(s), s, missing), b.maximum(s, 2.0**-32))
    beyond_root = b.add(b.mul(higher, 2.0), b.sub(lost, low))
    rest = b.sub(b.sub(high, b.mul(s, 2.0)), beyond_root)
    return b.copysign(b.select(far, rest, b.add(s, higher)), x)


def acos(b: Lanes, x: SSAValue) -> SSAValue:
    far, _, s, higher = _arc_sine(b, x)
    high, low = _half_pi(b)
    part = b.add(s, higher)
    near = b.sub(high, b.sub(b.copysign(part, x), low))
    double = b.mul(part, 2.0)
    behind = b.sub(2 * high, b.sub(double, 2 * low))
    return b.select(far, b.select(b.where_negative(x), behind, double), near)


def _arc_tangent(b: Lanes, a: SSAValue) -> SSAValue:
    """atan(a), a from 0 to 1."""
    z = b.mul(a, a)
    series = b.horner(z, table.ATAN_F32 if b.is_single else table.ATAN_F64)
    return b.fma(b.mul(a, z), series, a)


def _arc_sine(b: Lanes, x: SSAValue) -> tuple[SSAValue, SSAValue, SSAValue, SSAValue]:
    """
    Where |x| > 1/2, (1 - |x|) / 2, and two parts of the asin of |x| or, there, of the root of that: NaN beyond 1. The
    first is its argument.
    """
    magnitude = b.abs(x)
    far = b.where_negative(b.isub(b.format.bits(0.5), b.bits(magnitude)))
    missing = b.fma(magnitude, -0.5, 0.5)
    z = b.select(far, missing, b.mul(magnitude, magnitude))
    s = b.select(far, b.emit(math.SqrtOp(missing)), magnitude)
    series = b.horner(z, table.ASIN_F32 if b.is_single else table.ASIN_F64)
    return far, missing, s, b.mul(b.mul(s, z), series)


def _half_pi(b: Lanes) -> tuple[float, float]:
    """π/2 as the sum of two numbers."""
    high, low, *_ = table.HALF_PI_F32 if b.is_single else table.HALF_PI_F64
    return high, low
