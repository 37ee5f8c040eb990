"""
erf and x·Φ(x).

erfc(y) = exp(-y²)·t·P(v), t = 1 / (y + c), v = 1 - 2ct: Shepherd and Laframboise, Math. Comp. 36 (1981). The
rounding error of y² goes into the exponential.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from . import coefficients as table
from .exponential import exp2_near_single, exp_of_sum
from .lanes import Lanes


def erf(b: Lanes, x: SSAValue) -> SSAValue:
    """x + x·P(x²) up to 1, and 1 - erfc(x) above, which for f32 is a polynomial too."""
    a = b.minimum(b.abs(x), 3.95 if b.is_single else 6.2)
    near = table.ERF_F32 if b.is_single else table.ERF_F64
    small = b.fma(a, b.horner(b.mul(a, a), near), a)
    if b.is_single:
        large = b.sub(1.0, b.horner(b.sub(a, 2.5), table.ERFC_TAIL_F32))
    else:
        t = b.div(1.0, b.add(a, table.ERFC_F64_SHIFT))
        p = _scaled(b, t, table.ERFC_F64, table.ERFC_F64_SHIFT)
        square, error = _square(b, a)
        e = exp_of_sum(b, b.neg(square), b.neg(error))
        large = b.fma(b.mul(p, t), b.mul(e, -2.0), 1.0)
    is_small = b.where_negative(b.sub(a, 1.0))
    return b.copysign(b.select(is_small, small, large), x)


def gelu(b: Lanes, x: SSAValue) -> SSAValue:
    """
    max(x, 0) - a·Φ(-a), a = |x|: below zero there is nothing to cancel.

    f32 is computed in f64, where a² is exact and the polynomials are short; only the division is f32's, of
    which one Newton step makes twice as many digits. Of -inf it is NaN, as the product that it is defined by.
    """
    result = _gelu_single(b, x) if b.is_single else _gelu_double(b, x)
    return b.add(b.copysign(result, x), b.mul(b.minimum(x, 0.0), 0.0))


def _gelu_single(b: Lanes, x: SSAValue) -> SSAValue:
    wide, shift = b.widened(), table.NORMAL_F32_SHIFT
    near = b.minimum(b.abs(x), 14.5)
    a, first = wide.widen(near), wide.widen(b.div(1.0, b.add(near, shift)))
    e = exp2_near_single(wide, wide.mul(wide.mul(a, a), -0.5 * table.LOG2_E_F64[0]))
    left = wide.fma(wide.neg(wide.add(a, shift)), first, 1.0)
    t = wide.fma(first, left, first)
    p = _scaled(wide, t, table.NORMAL_F32, shift)
    tail = wide.mul(wide.mul(p, t), wide.mul(a, -1.0))
    return b.narrowed(wide.fma(tail, e, wide.widen(b.maximum(x, 0.0))))


def _gelu_double(b: Lanes, x: SSAValue) -> SSAValue:
    a = b.minimum(b.abs(x), 39.0)
    shift = table.NORMAL_F64_SHIFT
    t, residual = b.reciprocal_of_sum(b.maximum(a, shift), b.minimum(a, shift))
    v = b.fma(b.mul(t, -2.0 * shift), residual, b.fma(t, -2.0 * shift, 1.0))
    square, error = _square(b, a)
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
    return b.select(is_small, small, large)


def _square(b: Lanes, a: SSAValue) -> tuple[SSAValue, SSAValue]:
    """a² rounded, and what the rounding lost."""
    square = b.mul(a, a)
    return square, b.fma(a, a, b.neg(square))


def _scaled(b: Lanes, t: SSAValue, poly: Sequence[float], shift: float) -> SSAValue:
    """P(v)."""
    return b.horner(b.fma(t, -2.0 * shift, 1.0), poly)
