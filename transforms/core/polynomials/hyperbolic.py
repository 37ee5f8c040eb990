"""
sinh and cosh from the exponential, asinh, acosh and atanh from the logarithm, as in FreeBSD's msun (Sun 1993); f32 in
f64.
"""

from __future__ import annotations

import math as numbers
from collections.abc import Callable

from xdsl.dialects import math
from xdsl.ir import SSAValue

from .exponential import quarter_expm1
from .lanes import Lanes
from .logarithm import log1p

_LARGE = 2.0**28
"""Beyond it the root of x² ± 1 is x to all digits of f64, and within x² does not overflow."""

_SMALL = 2.0**-28
"""Below it sinh(x) is x to all digits of f64."""

_OVERFLOWS = 710.5
"""Where the hyperbolic functions are more than the largest number of f64."""


def _in_double(
    function: Callable[[Lanes, SSAValue], SSAValue],
) -> Callable[[Lanes, SSAValue], SSAValue]:
    """The function with its f32 computed in f64."""

    def of(b: Lanes, x: SSAValue) -> SSAValue:
        if not b.is_single:
            return function(b, x)
        wide = b.widened()
        return b.narrowed(function(wide, wide.widen(x)))

    return of


@_in_double
def sinh(b: Lanes, x: SSAValue) -> SSAValue:
    """2q + 2q / (4q + 1), q = expm1(|x|) / 4, none of whose parts overflows before the sum does."""
    magnitude = b.abs(x)
    q = quarter_expm1(b, b.minimum(magnitude, _OVERFLOWS))
    part = b.div(q, b.fma(q, 4.0, 1.0))
    value = b.fma(part, 2.0, b.mul(q, 2.0))
    # A quarter of the smallest numbers is not a number of the format.
    small = b.where_negative(b.isub(b.bits(magnitude), b.format.bits(_SMALL)))
    return b.copysign(b.select(small, magnitude, value), x)


@_in_double
def cosh(b: Lanes, x: SSAValue) -> SSAValue:
    """2t + 1 / 8t, t = exp(|x|) / 4"""
    t = b.add(quarter_expm1(b, b.minimum(b.abs(x), _OVERFLOWS)), 0.25)
    return b.fma(t, 2.0, b.div(0.125, t))


@_in_double
def asinh(b: Lanes, x: SSAValue) -> SSAValue:
    """log(1 + |x| + x² / (1 + √(x² + 1)))"""
    magnitude = b.abs(x)
    within = b.minimum(magnitude, _LARGE)
    square = b.mul(within, within)
    root = b.emit(math.SqrtOp(b.add(square, 1.0)))
    near = b.add(magnitude, b.div(square, b.add(root, 1.0)))
    return b.copysign(_log1p_or_log_of_double(b, magnitude, near), x)


@_in_double
def acosh(b: Lanes, x: SSAValue) -> SSAValue:
    """log(1 + t + √(t (t + 2))), t = x - 1: NaN below 1"""
    t = b.sub(b.minimum(x, _LARGE), 1.0)
    near = b.add(t, b.emit(math.SqrtOp(b.mul(t, b.add(t, 2.0)))))
    value = _log1p_or_log_of_double(b, x, near)
    return b.from_bits(b.ior(b.bits(value), b.where_negative(t)))


@_in_double
def atanh(b: Lanes, x: SSAValue) -> SSAValue:
    """log(1 + 2|x| + 2x² / (1 - |x|)) / 2: NaN beyond 1"""
    magnitude = b.minimum(b.abs(x), 2.0)  # far beyond 1 the sum would be 0
    double = b.mul(magnitude, 2.0)
    part = b.div(magnitude, b.sub(1.0, magnitude))
    return b.copysign(b.mul(log1p(b, b.fma(double, part, double)), 0.5), x)


def _log1p_or_log_of_double(b: Lanes, x: SSAValue, near: SSAValue) -> SSAValue:
    """log(1 + near), and log(2x) where x is large: by log(1 + (x - 1)), which needs no other logarithm."""
    far = b.where_negative(b.isub(b.format.bits(_LARGE), b.bits(x)))
    of = log1p(b, b.select(far, b.sub(x, 1.0), near))
    return b.add(of, b.from_bits(b.iand(far, b.format.bits(numbers.log(2)))))
