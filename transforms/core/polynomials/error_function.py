"""
erf and x·Φ(x).

f64: erfc(y) = exp(-y²)·t·P(v), t = 1 / (y + c), v = 1 - 2ct: Shepherd and Laframboise, Math. Comp. 36 (1981).
f32 takes the logarithm of what is beside the exponential, of their v. The rounding error of y² goes into the exponential.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from . import coefficients as table
from .exponential import exp_of_difference, exp_of_sum
from .lanes import Lanes


def erf(b: Lanes, x: SSAValue) -> SSAValue:
    """x + x·P(x²) up to 1, and 1 - erfc(x) above, which for f32 is a polynomial too."""
    a = b.minimum(b.abs(x), 3.95 if b.is_single else 6.2)
    near = table.ERF_F32 if b.is_single else table.ERF_F64
    small = b.fma(a, b.horner(b.mul(a, a), near), a)
    if b.is_single:
        large = b.sub(1.0, b.paired(b.sub(a, 2.5), table.ERFC_TAIL_F32, alone=3))
    else:
        t = b.div(1.0, b.add(a, table.ERFC_F64_SHIFT))
        p = _scaled(b, t, table.ERFC_F64, table.ERFC_F64_SHIFT)
        square, error = _product(b, a, a)
        e = exp_of_sum(b, b.neg(square), b.neg(error))
        large = b.fma(b.mul(p, t), b.mul(e, -2.0), 1.0)
    is_small = b.where_negative(b.sub(a, 1.0))
    return b.copysign(b.select(is_small, small, large), x)


def gelu(b: Lanes, x: SSAValue) -> SSAValue:
    """
    max(x, 0) - a·Φ(-a), a = |x|: below zero there is nothing to cancel.

    Of -inf it is NaN, as the product that it is defined by.
    """
    result = (_gelu_single if b.is_single else _gelu_double)(b, x)
    return b.copysign(result, x)


def _gelu_single(b: Lanes, x: SSAValue) -> SSAValue:
    """
    a·Φ(-a) = exp(L(v) - a²/2) / 4, v = (a - 1) / (a + 1): small and smooth, L adds next to no error of its own.

    Up to 3/4, where L would not be small, x/2 + x²·P(x²).
    """
    half, a = b.mul(x, 0.5), b.minimum(b.abs(x), _GELU_END)
    half_square, error = _product(b, a, b.mul(a, 0.5))
    near = b.fma(half_square, b.horner(half_square, table.NORMAL_NEAR_F32), half)
    v = b.div(b.sub(a, 1.0), b.add(a, 1.0))
    tail = b.paired(v, table.NORMAL_TAIL_F32, alone=2)
    e, scale = exp_of_difference(b, tail, half_square, error, exponent=-2)
    # This sum is max(x, 0), and NaN of -inf.
    far = b.fma(b.neg(e), scale, b.add(half, b.abs(half)))
    return b.select(b.where_negative(b.sub(a, 0.75)), near, far)


_GELU_END = 14.41
"""
Where a·Φ(-a) is below half of the smallest f32, and the exponential's scale 0: a product with a number so small would underflow,
which takes CPUs long.
"""


def _gelu_double(b: Lanes, x: SSAValue) -> SSAValue:
    a = b.minimum(b.abs(x), 39.0)
    shift = table.NORMAL_F64_SHIFT
    t, residual = b.reciprocal_of_sum(b.maximum(a, shift), b.minimum(a, shift))
    v = b.fma(b.mul(t, -2.0 * shift), residual, b.fma(t, -2.0 * shift, 1.0))
    square, error = _product(b, a, a)
    # exp(residual) is 1 + residual.
    e = exp_of_sum(b, b.mul(square, -0.5), b.fma(error, -0.5, residual))
    # The product of p, t and -a, with what its roundings lose.
    p, minus_a = b.horner(v, table.NORMAL_F64), b.neg(a)
    quotient = b.mul(p, t)
    tail = b.mul(quotient, minus_a)
    lost = b.fma(b.fma(p, t, b.neg(quotient)), minus_a, b.fma(quotient, minus_a, b.neg(tail)))
    large = b.fma(tail, e, b.fma(lost, e, b.maximum(x, 0.0)))
    small = b.fma(b.horner(square, table.NORMAL_SMALL_F64), square, b.mul(x, 0.5))
    is_small = b.where_negative(b.sub(a, 0.75))
    result = b.select(is_small, small, large)
    return b.add(result, b.mul(b.minimum(x, 0.0), 0.0))  # NaN of -inf


def _product(b: Lanes, a: SSAValue, c: SSAValue) -> tuple[SSAValue, SSAValue]:
    """a·c rounded, and what the rounding lost."""
    product = b.mul(a, c)
    return product, b.fma(a, c, b.neg(product))


def _scaled(b: Lanes, t: SSAValue, poly: Sequence[float], shift: float) -> SSAValue:
    """P(v)."""
    return b.horner(b.fma(t, -2.0 * shift, 1.0), poly)
