"""
What `math` operations mean, on NumPy scalars and arrays.

Functions with no exact result are computed in double precision and rounded once, so for f32 they are
correctly rounded but for rare ties; for f64 they are as good as NumPy's. `fma` rounds once.
"""

# The values an evaluator is called with are dynamic, so lambdas over them have no types to infer.
# pyright: reportUnknownLambdaType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import math
import operator
import struct
from collections.abc import Callable
from typing import Any

import numpy as np
from xdsl.dialects import math as math_dialect
from xdsl.interpreter import InterpreterFunctions
from xdsl.ir import Operation

from .arith import integer_evaluator, python_int, wrapper
from .evaluators import (
    Evaluator,
    EvaluatorMaker,
    integer_info,
    value_dtype,
    with_evaluators,
)

_SMALLEST_NORMAL_SINGLE = 2.0**-126

_erf = np.vectorize(math.erf, otypes=[np.float64])


def _rounded_once(function: Callable[..., Any]) -> EvaluatorMaker:
    """A function evaluated in double precision."""

    def make(op: Operation) -> Evaluator:
        dtype = value_dtype(op.results[0].type, op)
        scalar: Any = dtype.type

        def unary(x: Any) -> Any:
            if type(x) is np.ndarray:
                return function(x.astype(np.float64)).astype(dtype)
            return scalar(function(float(x)))

        def binary(x: Any, y: Any) -> Any:
            if type(x) is np.ndarray or type(y) is np.ndarray:
                return function(np.asarray(x, np.float64), np.asarray(y, np.float64)).astype(dtype)
            return scalar(function(float(x), float(y)))

        return unary if len(op.operands) == 1 else binary

    return make


def _exact(function: Evaluator) -> EvaluatorMaker:
    """A function whose result NumPy gives correctly rounded in the type itself."""
    return lambda op: function


def _erf_of(x: Any) -> Any:
    return _erf(x) if type(x) is np.ndarray else math.erf(x)


def _reciprocal_root(x: Any) -> Any:
    return 1.0 / np.sqrt(np.asarray(x))


def _powf(x: Any, y: Any) -> Any:
    """C's pow: NumPy takes the square root for an exponent of 0.5, which differs at -0 and -inf."""
    if type(x) is float:
        return np.power(abs(x) if y == 0.5 and x in (0.0, -math.inf) else x, y)
    root_of_magnitude = (y == 0.5) & ((x == 0) | (x == -np.inf))
    return np.power(np.where(root_of_magnitude, np.abs(x), x), y)


def round_half_away(x: Any) -> Any:
    """To the nearest integer, halves away from zero; keeps the sign of zero."""
    if type(x) is not np.ndarray:
        number = float(x)
        if number == math.inf or number == -math.inf or number != number:
            return x
        distance = math.trunc(number) - number
        whole = number + distance + (math.copysign(1.0, number) if abs(distance) >= 0.5 else 0.0)
        return x.dtype.type(math.copysign(whole, number))
    whole = np.trunc(x)
    return np.copysign(whole + (np.abs(x - whole) >= 0.5) * np.copysign(x.dtype.type(1), x), x)


def _power_by_integer(op: math_dialect.FPowIOp) -> Evaluator:
    dtype = value_dtype(op.result.type, op)

    def evaluate(x: Any, n: Any) -> Any:
        return np.float_power(np.asarray(x, np.float64), n).astype(dtype)[()]

    return evaluate


# region: fused multiply-add


def fma(dtype: np.dtype) -> Evaluator:
    """a * b + c with one rounding."""
    scalar: Any = dtype.type
    narrow = dtype.itemsize < 8
    fused = _fma_of_doubles if not narrow else _fma_in_double
    if dtype == np.float32:
        fused = _fma_of_singles

    def evaluate(a: Any, b: Any, c: Any) -> Any:
        if narrow and not any(type(value) is np.ndarray for value in (a, b, c)):
            return scalar(_fma_of_floats(float(a), float(b), float(c)))
        a, b, c = (np.asarray(value, np.float64) for value in (a, b, c))
        return fused(a, b, c).astype(dtype)[()]

    return evaluate


def _fma_of_floats(a: float, b: float, c: float) -> float:
    """As `_fma_in_double`, on Python floats."""
    total, error = _two_sum(a * b, c)
    if error == 0 or error != error or struct.unpack("<q", struct.pack("<d", total))[0] & 1:
        return total
    return math.nextafter(total, math.inf if error > 0 else -math.inf)


def _fma_of_singles(a: Any, b: Any, c: Any) -> Any:
    """As `_fma_in_double`, where it matters: when a sum lies half way between two singles, or is tiny."""
    total = np.asarray(a * b + c)
    halfway = total.view(np.int64) & 0x1FFFFFFF == 0x10000000
    if (halfway | (np.abs(total) < _SMALLEST_NORMAL_SINGLE)).any():
        return _fma_in_double(a, b, c)
    return total


def _two_sum(a: Any, b: Any) -> tuple[Any, Any]:
    """Knuth: the rounded sum and its error, exactly."""
    total = a + b
    b_part = total - a
    return total, (a - (total - b_part)) + (b - b_part)


def _two_product(a: Any, b: Any) -> tuple[Any, Any]:
    """Dekker: the rounded product and its error, exactly unless it overflows or underflows."""
    product = a * b
    a_high, a_low = _split(a)
    b_high, b_low = _split(b)
    error = a_low * b_low - (((product - a_high * b_high) - a_low * b_high) - a_high * b_low)
    return product, error


def _split(a: Any) -> tuple[Any, Any]:
    scaled = 134217729.0 * a  # 2**27 + 1
    high = scaled - (scaled - a)
    return high, a - high


def _sum_to_odd(a: Any, b: Any) -> Any:
    """a + b rounded to odd: when inexact, the neighbour whose last bit is 1."""
    total, error = _two_sum(a, b)
    total = np.asarray(total)
    even = total.view(np.int64) & 1 == 0
    towards = np.nextafter(total, np.copysign(np.inf, error))
    return np.where((error != 0) & even & np.isfinite(total), towards, total)


def _fma_in_double(a: Any, b: Any, c: Any) -> Any:
    """
    For f32 and narrower: the product is exact in double; rounding the sum to odd makes the second
    rounding, to the narrow type, the only one that counts (Boldo and Melquiond 2008).
    """
    return _sum_to_odd(a * b, c)


def _fma_of_doubles(a: Any, b: Any, c: Any) -> Any:
    """
    Boldo and Melquiond, "Emulation of FMA and correctly rounded sums: proved algorithms using rounding
    to odd", IEEE Trans. Computers 57(4), 2008. Where an intermediate value overflows or is not
    finite, the result is a * b + c rounded twice.
    """
    high, low = _two_product(a, b)
    sum_high, sum_low = _two_sum(c, low)
    total_high, total_low = _two_sum(high, sum_high)
    exact = total_high + _sum_to_odd(total_low, sum_low)
    return np.where(np.isfinite(exact), exact, a * b + c)


def _fma(op: math_dialect.FmaOp) -> Evaluator:
    return fma(value_dtype(op.result.type, op))


# endregion
# region: integers


def _power(op: math_dialect.IPowIOp) -> Evaluator:
    """Wraps; a negative exponent gives 0 unless the base is 1 or -1."""
    info = integer_info(op.result.type, op)
    modulus = 1 << info.width

    def on_ints(base: int, exponent: int) -> int:
        if exponent >= 0:
            return pow(base, exponent, modulus)
        return 0 if abs(base) != 1 else base if exponent % 2 else 1

    def on_arrays(base: np.ndarray, exponent: np.ndarray) -> np.ndarray:
        sign = np.where(exponent % 2 == 0, base * base, base)
        inverse = np.where(np.abs(base) == 1, sign, np.zeros((), base.dtype))
        return np.where(exponent < 0, inverse, np.power(base, np.maximum(exponent, 0)))

    return integer_evaluator(info, on_ints, on_arrays, unsigned=False)


def _bit_count(count: Callable[[int, int], int]) -> EvaluatorMaker:
    """A count over the bits of (the value read unsigned, its width)."""

    def make(op: Operation) -> Evaluator:
        info = integer_info(op.results[0].type, op)
        to_int, wrap = python_int(info, True), wrapper(info)

        def on_scalar(x: Any) -> Any:
            return wrap(count(to_int(x), info.width))

        on_array = np.vectorize(on_scalar, otypes=[info.dtype])
        return lambda x: on_array(x) if type(x) is np.ndarray else on_scalar(x)

    return make


def _trailing_zeros(value: int, width: int) -> int:
    return (value & -value).bit_length() - 1 if value else width


def _absolute(op: math_dialect.AbsIOp) -> Evaluator:
    info = integer_info(op.result.type, op)
    return operator.pos if info.width == 1 else _wrapping_abs if info.is_index else abs


def _wrapping_abs(x: Any) -> Any:
    return np.abs(np.int64(x)) if type(x) is not np.ndarray else np.abs(x)


# endregion

EVALUATORS: dict[type[Operation], EvaluatorMaker] = {
    math_dialect.AbsFOp: _exact(abs),
    math_dialect.AbsIOp: _absolute,
    math_dialect.AcosOp: _rounded_once(np.arccos),
    math_dialect.AcoshOp: _rounded_once(np.arccosh),
    math_dialect.AsinOp: _rounded_once(np.arcsin),
    math_dialect.AsinhOp: _rounded_once(np.arcsinh),
    math_dialect.AtanhOp: _rounded_once(np.arctanh),
    math_dialect.Atan2Op: _rounded_once(np.arctan2),
    math_dialect.AtanOp: _rounded_once(np.arctan),
    math_dialect.CbrtOp: _rounded_once(np.cbrt),
    math_dialect.CeilOp: _exact(np.ceil),
    math_dialect.CopySignOp: _exact(np.copysign),
    math_dialect.CosOp: _rounded_once(np.cos),
    math_dialect.CoshOp: _rounded_once(np.cosh),
    math_dialect.CountLeadingZerosOp: _bit_count(lambda value, width: width - value.bit_length()),
    math_dialect.CountTrailingZerosOp: _bit_count(_trailing_zeros),
    math_dialect.CtPopOp: _bit_count(lambda value, width: value.bit_count()),
    math_dialect.ErfOp: _rounded_once(_erf_of),
    math_dialect.Exp2Op: _rounded_once(np.exp2),
    math_dialect.ExpM1Op: _rounded_once(np.expm1),
    math_dialect.ExpOp: _rounded_once(np.exp),
    math_dialect.FPowIOp: _power_by_integer,
    math_dialect.FloorOp: _exact(np.floor),
    math_dialect.FmaOp: _fma,
    math_dialect.IPowIOp: _power,
    math_dialect.Log10Op: _rounded_once(np.log10),
    math_dialect.Log1pOp: _rounded_once(np.log1p),
    math_dialect.Log2Op: _rounded_once(np.log2),
    math_dialect.LogOp: _rounded_once(np.log),
    math_dialect.PowFOp: _rounded_once(_powf),
    math_dialect.RoundEvenOp: _exact(np.rint),
    math_dialect.RoundOp: _exact(round_half_away),
    math_dialect.RsqrtOp: _rounded_once(_reciprocal_root),
    math_dialect.SinOp: _rounded_once(np.sin),
    math_dialect.SinhOp: _rounded_once(np.sinh),
    math_dialect.SqrtOp: _exact(np.sqrt),
    math_dialect.TanOp: _rounded_once(np.tan),
    math_dialect.TanhOp: _rounded_once(np.tanh),
    math_dialect.TruncOp: _exact(np.trunc),
}


@with_evaluators(EVALUATORS)
class MathFunctions(InterpreterFunctions):
    """Every operation of `math`."""
