"""Mathematical functions of numbers, element by element."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ...dialects import graph
from ...dialects.dtypes import is_float_dtype
from ...dialects.graph.base import GraphOp
from ...errors import StepwellError
from ..promotion import BOOL, FLOAT64, INT64, division_dtype, number_dtype
from ..recording import as_tensor, cast_to, promoted, promoted_to_floats, record
from ..tensor import Tensor, TensorLike
from ..traceable import traceable
from .creation import zeros_like
from .elementwise import (
    absolute,
    clip,
    exp,
    floating,
    floor_divide,
    maximum,
    minimum,
    mod,
    power,
    rounding,
    sin,
    sqrt,
    unary,
    where,
)
from .examples import presented
from .manipulation import astype, broadcast_arrays
from .predicates import isnan

tan = unary(graph.TanOp, "sw.tan([0.0, np.pi / 4])", "array([0., 1.])")
asin = arcsin = unary(graph.AsinOp, "sw.arcsin([0.0, 1.0])", "array([0.    , 1.5708])")
acos = arccos = unary(graph.AcosOp, "sw.arccos([1.0, 0.0])", "array([0.    , 1.5708])")
atan = arctan = unary(graph.AtanOp, "sw.arctan([0.0, 1.0])", "array([0.    , 0.7854])")
sinh = unary(graph.SinhOp, "sw.sinh([0.0, 1.0])", "array([0.    , 1.1752])")
cosh = unary(graph.CoshOp, "sw.cosh([0.0, 1.0])", "array([1.    , 1.5431])")
asinh = arcsinh = unary(graph.AsinhOp, "sw.arcsinh([0.0, 1.0])", "array([0.    , 0.8814])")
acosh = arccosh = unary(graph.AcoshOp, "sw.arccosh([1.0, 2.0])", "array([0.   , 1.317])")
atanh = arctanh = unary(graph.AtanhOp, "sw.arctanh([0.0, 0.5])", "array([0.    , 0.5493])")
exp2 = unary(graph.Exp2Op, "sw.exp2([0.0, 3.0])", "array([1., 8.])")
expm1 = unary(graph.Expm1Op, "sw.expm1([0.0, 1.0])", "array([0.    , 1.7183])")
log1p = unary(graph.Log1pOp, "sw.log1p([0.0, 1.0])", "array([0.    , 0.6931])")
log2 = unary(graph.Log2Op, "sw.log2([1.0, 8.0])", "array([0., 3.])")
log10 = unary(graph.Log10Op, "sw.log10([1.0, 1000.0])", "array([0., 3.])")
cbrt = unary(graph.CbrtOp, "sw.cbrt([-8.0, 27.0])", "array([-2.,  3.])")
trunc = fix = rounding(graph.TruncOp, "sw.trunc([-1.5, 1.5])", "array([-1.,  1.])")


@traceable
def fmod(x: TensorLike, y: TensorLike, /) -> Tensor:
    """
    The remainder of a truncated quotient, with the sign of `x` (C's fmod); of integers by 0, 0.

    >>> sw.fmod([7, -7], 3)
    array([ 1, -1])
    """
    a, b = promoted(x, y, to=number_dtype)
    if not is_float_dtype(a.dtype):
        # Not by magnitudes: the least integer has none.
        remainder = a % b
        is_opposite = (remainder != 0) & ((remainder < 0) != (a < 0))
        return where(is_opposite, remainder - b, remainder)
    remainder = absolute(a) % absolute(b)
    # By subtraction from -0.0 so that a negative number's remainder 0 is -0.0, as C's is.
    return where(a < 0, -remainder, remainder)


@traceable
def fabs(x: TensorLike, /) -> Tensor:
    """
    The magnitude, as a float.

    >>> sw.fabs([-1, 2])
    array([1., 2.])
    """
    return absolute(floating(x))


@traceable
def positive(x: TensorLike, /) -> Tensor:
    """
    `x` itself.

    >>> sw.positive([1, -2])
    array([ 1, -2])
    """
    return as_tensor(x)


@traceable
def degrees(x: TensorLike, /) -> Tensor:
    """
    Radians as degrees.

    >>> sw.rad2deg([0.0, np.pi])
    array([  0., 180.])
    """
    return floating(x) * (180 / math.pi)


@traceable
def radians(x: TensorLike, /) -> Tensor:
    """
    Degrees as radians.

    >>> sw.deg2rad([0.0, 180.0])
    array([0.    , 3.1416])
    """
    return floating(x) * (math.pi / 180)


rad2deg, deg2rad = degrees, radians


@traceable
def sinc(x: TensorLike, /) -> Tensor:
    """
    sin(πx) / (πx); 1 at 0.

    >>> sw.sinc([0.0, 0.5])
    array([1.    , 0.6366])
    """
    tensor = as_tensor(x)
    angle = cast_to(tensor, division_dtype(tensor.dtype)) * math.pi
    is_zero = angle == 0
    divisor = where(is_zero, angle.dtype.type(1), angle)
    return where(is_zero, angle.dtype.type(1), sin(angle) / divisor)


# Of two operands.


def _of_floats(
    op: type[GraphOp], text: str, call: str, printed: str
) -> Callable[[TensorLike, TensorLike], Tensor]:
    def function(x: TensorLike, y: TensorLike, /) -> Tensor:
        return record(op, *promoted_to_floats(x, y))

    return presented(function, op.name.removeprefix("graph."), text, call, printed)


atan2 = arctan2 = _of_floats(
    graph.Atan2Op,
    "The angle of the point (y, x) of a plane, from -π to π.",
    "sw.arctan2([1.0, -1.0], [1.0, -1.0])",
    "array([ 0.7854, -2.3562])",
)
copysign = _of_floats(
    graph.CopysignOp,
    "The magnitude of `x` with the sign of `y`.",
    "sw.copysign([1.0, 2.0], -0.0)",
    "array([-1., -2.])",
)


@traceable
def signbit(x: TensorLike, /) -> Tensor:
    """
    Whether an element is negative, -0.0 too.

    >>> sw.signbit([-0.0, 1.0])
    array([ True, False])
    """
    tensor = floating(x)
    return record(graph.CopysignOp, as_tensor(np.ones((), tensor.dtype)), tensor) < 0


@traceable
def hypot(x: TensorLike, y: TensorLike, /) -> Tensor:
    """
    sqrt(x² + y²), of numbers scaled by powers of two where a square would overflow or lose digits.

    >>> sw.hypot([3.0, 3e300], [4.0, 4e300])
    array([5.e+000, 5.e+300])
    """
    a, b = (absolute(each) for each in promoted_to_floats(x, y))
    if a.dtype not in _SQUARED_SAFELY:
        return _hypot_of_narrow(a, b)
    great, small, less, more = (a.dtype.type(2.0**n) for n in _SQUARED_SAFELY[a.dtype])
    is_great, is_small = (a > great) | (b > great), (a < small) & (b < small)
    one = a.dtype.type(1)
    scale = where(is_great, less, where(is_small, more, one))
    back = where(is_great, 1 / less, where(is_small, 1 / more, one))
    c, d = a * scale, b * scale
    found = sqrt(c * c + d * d) * back
    return _or_infinite(a, b, found)


_SQUARED_SAFELY = {
    np.dtype(np.float32): (60, -50, -70, 90),
    np.dtype(np.float64): (500, -450, -600, 700),
}
"""
By type, powers of two: between the first two, squares neither overflow nor lose digits that count; of greater and of smaller
numbers, down to the least subnormal one, those of their products with the third and the fourth do not.
"""


def _hypot_of_narrow(a: Tensor, b: Tensor) -> Tensor:
    """By the ratio of the lesser to the greater: no power of two brings all squares into the range of 16 bits."""
    greater, lesser = maximum(a, b), minimum(a, b)
    is_usual = (greater > 0) & (greater < np.inf)
    ratio = lesser / where(is_usual, greater, greater.dtype.type(1))
    return _or_infinite(a, b, where(is_usual, greater * sqrt(ratio * ratio + 1), greater))


def _or_infinite(a: Tensor, b: Tensor, found: Tensor) -> Tensor:
    """Infinity beside NaN is infinity."""
    return where((a == np.inf) | (b == np.inf), a.dtype.type(np.inf), found)


@traceable
def fmax(x: TensorLike, y: TensorLike, /) -> Tensor:
    """
    The greater element; the other one beside NaN.

    >>> sw.fmax([1.0, np.nan], [2.0, 3.0])
    array([2., 3.])
    """
    a, b = promoted(x, y)
    return where((a >= b) | isnan(b), a, b)


@traceable
def fmin(x: TensorLike, y: TensorLike, /) -> Tensor:
    """
    The lesser element; the other one beside NaN.

    >>> sw.fmin([1.0, np.nan], [2.0, 3.0])
    array([1., 3.])
    """
    a, b = promoted(x, y)
    return where((a <= b) | isnan(b), a, b)


def _log_sum(x: TensorLike, y: TensorLike, base: str) -> Tensor:
    a, b = promoted_to_floats(x, y)
    greater = maximum(a, b)
    distance = -absolute(a - b)
    below = log1p(exp(distance)) if base == "e" else log1p(exp2(distance)) * (1 / math.log(2))
    # Two equal infinities have no distance.
    return where(a == b, greater + (math.log(2) if base == "e" else 1), greater + below)


@traceable
def logaddexp(x: TensorLike, y: TensorLike, /) -> Tensor:
    """
    log(exp(x) + exp(y)), from the greater one on, so that nothing overflows.

    >>> sw.logaddexp([1000.0], [1000.0])
    array([1000.6931])
    """
    return _log_sum(x, y, "e")


@traceable
def logaddexp2(x: TensorLike, y: TensorLike, /) -> Tensor:
    """
    log2(2ˣ + 2ʸ), from the greater one on, so that nothing overflows.

    >>> sw.logaddexp2([3.0], [3.0])
    array([4.])
    """
    return _log_sum(x, y, "2")


@traceable
def heaviside(x: TensorLike, y: TensorLike, /) -> Tensor:
    """
    0 where `x` is negative, 1 where it is positive, `y` where it is 0.

    >>> sw.heaviside([-1.0, 0.0, 2.0], 0.5)
    array([0. , 0.5, 1. ])
    """
    a, b = promoted_to_floats(x, y)
    one, zero = a.dtype.type(1), a.dtype.type(0)
    return where(isnan(a), a, where(a == 0, b, where(a < 0, zero, one)))


@traceable
def float_power(x: TensorLike, y: TensorLike, /) -> Tensor:
    """
    `x` to the power `y` in double precision.

    >>> sw.float_power([2, 3], -1)
    array([0.5   , 0.3333])
    """
    return power(astype(x, np.float64), astype(y, np.float64))


@traceable
def divmod(x: TensorLike, y: TensorLike, /) -> tuple[Tensor, Tensor]:
    """
    The quotient rounded down, and the remainder.

    >>> sw.divmod([7, -7], 3)
    (array([ 2, -3]), array([1, 2]))
    """
    return floor_divide(x, y), mod(x, y)


@traceable
def modf(x: TensorLike, /) -> tuple[Tensor, Tensor]:
    """
    The part behind the point and the one before it, both with the sign of `x`.

    >>> sw.modf([1.5, -2.25])
    (array([ 0.5 , -0.25]), array([ 1., -2.]))
    """
    tensor = floating(x)
    whole = trunc(tensor)
    is_infinite = absolute(tensor) == np.inf
    rest = where(
        is_infinite, tensor.dtype.type(0), tensor - where(is_infinite, tensor.dtype.type(0), whole)
    )
    return copysign(rest, tensor), copysign(whole, tensor)


@traceable
def ldexp(x: TensorLike, n: TensorLike, /) -> Tensor:
    """
    x · 2ⁿ of an integer n, in three steps, so that no power overflows where the result does not.

    Raises StepwellError for exponents that are no integers.

    >>> sw.ldexp([1.0, 3.0], [3, -1])
    array([8. , 1.5])
    """
    tensor, exponent = floating(x), as_tensor(n)
    if exponent.dtype.kind not in "iu":
        raise StepwellError(f"found exponents of {exponent.dtype} in ldexp, expected integers")
    wide = np.dtype(np.float64)
    # A third of the exponents of double precision; what is beyond has no finite result.
    rest = clip(astype(exponent, INT64), -2100, 2100)
    number = astype(tensor, wide)
    for _ in range(3):
        step = clip(rest, -700, 700)
        number, rest = number * exp2(astype(step, wide)), rest - step
    return astype(number, tensor.dtype)


# Of integers.


def _integers(name: str, x: TensorLike, y: TensorLike) -> list[Tensor]:
    tensors = promoted(x, y)
    if tensors[0].dtype.kind not in "iu":
        raise StepwellError(f"found {tensors[0].dtype} in {name}, expected integers; convert them")
    return list(broadcast_arrays(*tensors))


@traceable
def gcd(x: TensorLike, y: TensorLike, /) -> Tensor:
    """
    The greatest common divisor of integers.

    >>> sw.gcd([12, 18], 8)
    array([4, 2])
    """
    return record(graph.GcdOp, *_integers("gcd", x, y))


@traceable
def lcm(x: TensorLike, y: TensorLike, /) -> Tensor:
    """
    The least common multiple of integers; 0 beside 0.

    >>> sw.lcm([4, 6], 10)
    array([20, 30])
    """
    tensors = _integers("lcm", x, y)
    # The magnitude of the least integer is one without a sign alone, as in NumPy.
    dtype = tensors[0].dtype
    unsigned = np.dtype(f"u{dtype.itemsize}")
    a, b = (astype(absolute(one), unsigned) for one in tensors)
    divisor = record(graph.GcdOp, a, b)
    return astype(a // maximum(divisor, divisor.dtype.type(1)) * b, dtype)


@traceable
def bitwise_count(x: TensorLike, /) -> Tensor:
    """
    The number of bits that are 1 in the magnitude of an integer, uint8.

    >>> sw.bitwise_count([7, -8])
    array([3, 1], dtype=uint8)
    """
    tensor = as_tensor(x)
    if tensor.dtype.kind == "b":
        return astype(tensor, np.uint8)
    return astype(record(graph.BitCountOp, tensor), np.uint8)


# Of real numbers what is more of complex ones; see `complex_functions`.


@traceable
def real(x: TensorLike, /) -> Tensor:
    """
    The real part: `x` itself where it is real.

    >>> sw.real([1 + 2j, 3 - 4j])
    array([1., 3.])
    """
    return as_tensor(x)


@traceable
def conjugate(x: TensorLike, /) -> Tensor:
    """
    The complex conjugate: `x` itself where it is real; bool becomes int8, as in NumPy.

    >>> sw.conj([1 + 2j])
    array([1.-2.j])
    """
    tensor = as_tensor(x)
    return cast_to(tensor, number_dtype(tensor.dtype))


conj = conjugate


@traceable
def real_if_close(x: TensorLike, /, tol: float = 100) -> Tensor:
    """
    `x` itself where it is real. Of complex numbers the dtype would depend on the elements: it is refused.

    >>> sw.real_if_close([1.0, 2.0])
    array([1., 2.])
    """
    return as_tensor(x)


@traceable
def imag(x: TensorLike, /) -> Tensor:
    """
    The imaginary part: zeros where `x` is real.

    >>> sw.imag([1 + 2j, 3 - 4j])
    array([ 2., -4.])
    """
    return zeros_like(x)


@traceable
def angle(x: TensorLike, /, deg: bool = False) -> Tensor:
    """
    The angle of a complex number from -π to π: 0, or π where a real one is negative; in degrees if `deg`.

    >>> sw.angle([1.0, -1.0], deg=True)
    array([  0., 180.])
    """
    tensor = as_tensor(x)
    tensor = cast_to(tensor, FLOAT64) if tensor.dtype == BOOL else floating(tensor)
    half = tensor.dtype.type(180 if deg else math.pi)
    return where(isnan(tensor), tensor, where(signbit(tensor), half, tensor.dtype.type(0)))
