"""Operators element by element: activations, arithmetic, comparisons, casts."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np

from ...dialects.dtypes import is_float_dtype
from .. import array_functions as arrays
from .. import elementary_functions as elementary
from .. import functions as f
from .movement import axis_of
from .registry import Unsupported, Value, known, onnx_op, onnx_ops
from .tensors import required_dtype

UNARY: dict[str, Any] = {
    "Abs": f.absolute,
    "Acos": elementary.acos,
    "Acosh": elementary.acosh,
    "Asin": elementary.asin,
    "Asinh": elementary.asinh,
    "Atan": elementary.atan,
    "Atanh": elementary.atanh,
    "BitwiseNot": f.invert,
    "Ceil": f.ceil,
    "Cos": f.cos,
    "Cosh": elementary.cosh,
    "Erf": f.erf,
    "Exp": f.exp,
    "Floor": f.floor,
    "Log": f.log,
    "Neg": f.negative,
    "Not": f.logical_not,
    "Reciprocal": f.reciprocal,
    "Relu": f.relu,
    "Round": f.rint,
    "Sigmoid": f.sigmoid,
    "Sign": f.sign,
    "Sin": f.sin,
    "Sinh": elementary.sinh,
    "Sqrt": f.sqrt,
    "Tan": elementary.tan,
    "Tanh": f.tanh,
}
"""Operators of one input that are functions of ours."""

BINARY: dict[str, Any] = {
    "Add": f.add,
    "And": f.logical_and,
    "BitwiseAnd": f.bitwise_and,
    "BitwiseOr": f.bitwise_or,
    "BitwiseXor": f.bitwise_xor,
    "Equal": f.equal,
    "Greater": f.greater,
    "GreaterOrEqual": f.greater_equal,
    "Less": f.less,
    "LessOrEqual": f.less_equal,
    "Mul": f.multiply,
    "Or": f.logical_or,
    "Sub": f.subtract,
    "Xor": f.logical_xor,
}
"""Operators of two inputs that are functions of ours."""


onnx_ops(UNARY, inputs=1)
onnx_ops(BINARY, inputs=2, since=7)


onnx_ops({"Where": f.where}, inputs=3)

# Arithmetic.


@onnx_op("Div", since=7)
def div(x: Value, y: Value) -> Value:
    """The quotient; of integers it is truncated, as in C."""
    if is_float_dtype(x.dtype):
        return f.divide(x, y)
    quotient = f.floor_divide(x, y)
    if x.dtype.kind == "u":
        return quotient
    is_between = f.logical_and(f.less(quotient, 0), f.not_equal(f.multiply(quotient, y), x))
    return f.where(is_between, f.add(quotient, 1), quotient)


@onnx_op("Mod")
def mod(x: Value, y: Value, *, fmod: int = 0) -> Value:
    """The remainder with the sign of `y`; that of `x` with fmod=1, as C's fmod."""
    if not fmod or x.dtype.kind == "u":
        return f.mod(x, y)
    remainder = f.mod(f.absolute(x), f.absolute(y))
    return f.where(f.less(x, 0), f.negative(remainder), remainder)


@onnx_op("Pow")
def pow_(x: Value, y: Value) -> Value:
    """x to the power y, in the dtype of x."""
    if x.dtype == y.dtype:
        return f.power(x, y)
    return arrays.astype(f.power(*_common(x, y)), x.dtype)


def _common(x: Value, y: Value) -> tuple[Value, Value]:
    """A base and an exponent in the dtype in which neither loses much: that of the base where it is a float."""
    dtype = x.dtype if is_float_dtype(x.dtype) else np.result_type(x.dtype, y.dtype)
    return arrays.astype(x, dtype), arrays.astype(y, dtype)


@onnx_op("Max")
def max_(*xs: Value) -> Value:
    return reduce(f.maximum, xs)


@onnx_op("Min")
def min_(*xs: Value) -> Value:
    return reduce(f.minimum, xs)


@onnx_op("Sum")
def sum_(*xs: Value) -> Value:
    return reduce(f.add, xs)


@onnx_op("Mean")
def mean(*xs: Value) -> Value:
    return f.divide(reduce(f.add, xs), _like(len(xs), xs[0]))


@onnx_op("BitShift")
def bit_shift(x: Value, y: Value, *, direction: str) -> Value:
    """The bits of x moved by y; those that leave the type are lost."""
    return (f.left_shift if direction == "LEFT" else f.right_shift)(x, y)


@onnx_op("IsNaN")
def is_nan(x: Value) -> Value:
    return f.not_equal(x, x)


@onnx_op("IsInf")
def is_inf(x: Value, *, detect_negative: int = 1, detect_positive: int = 1) -> Value:
    infinity = _like(np.inf, x)
    above = f.logical_and(f.equal(x, infinity), np.bool_(detect_positive))
    below = f.logical_and(f.equal(x, f.negative(infinity)), np.bool_(detect_negative))
    return f.logical_or(above, below)


@onnx_op("Identity")
def identity(x: Value) -> Value:
    return x


@onnx_op("Cast")
def cast(x: Value, *, to: int, saturate: int = 1, round_mode: str = "up") -> Value:
    """The values in another type; `saturate` and `round_mode` are about types of 8 bits, which are refused."""
    return arrays.astype(x, required_dtype(to, "a cast to a value"))


@onnx_op("CastLike")
def cast_like(x: Value, y: Value, *, saturate: int = 1, round_mode: str = "up") -> Value:
    return arrays.astype(x, y.dtype)


@onnx_op("Dropout")
def dropout(
    x: Value,
    ratio: Value = None,
    training_mode: Value = None,
    *,
    seed: int = 0,
    is_test: int = 1,
) -> tuple[Value, Value]:
    """The input as it is, as in inference, and a mask that keeps everything."""
    is_training = training_mode is not None and bool(known(training_mode, "training_mode"))
    drops_none = ratio is not None and known(ratio, "ratio") == 0
    if is_training and not drops_none:
        raise Unsupported("training_mode")
    return x, arrays.broadcast_to(np.bool_(True), x.shape)


# Activations.


def _like(number: float, x: Value) -> np.ndarray:
    """A number in the dtype of x."""
    return np.asarray(number).astype(x.dtype)


@onnx_op("Clip", since=11)
def clip(x: Value, low: Value = None, high: Value = None) -> Value:
    return f.clip(x, low, high)


@onnx_op("Clip")
def clip_to_attributes(
    x: Value, *, min: float = -np.inf, max: float = np.inf, consumed_inputs: Any = None
) -> Value:
    return f.clip(x, _like(min, x), _like(max, x))


@onnx_op("LeakyRelu")
def leaky_relu(x: Value, *, alpha: float = 0.01) -> Value:
    return f.leaky_relu(x, alpha)


@onnx_op("HardSigmoid")
def hard_sigmoid(x: Value, *, alpha: float = 0.2, beta: float = 0.5) -> Value:
    return f.hard_sigmoid(x, alpha, beta)


@onnx_op("HardSwish")
def hard_swish(x: Value) -> Value:
    return f.multiply(x, f.hard_sigmoid(x, 1 / 6, 0.5))


@onnx_op("PRelu", since=7)
def p_relu(x: Value, slope: Value) -> Value:
    return f.where(f.less(x, _like(0, x)), f.multiply(x, slope), x)


@onnx_op("Gelu")
@onnx_op("Gelu", domain="com.microsoft")
def gelu(x: Value, *, approximate: str = "none") -> Value:
    return f.gelu(x, approximate)


@onnx_op("Swish")
def swish(x: Value, *, alpha: float = 1.0) -> Value:
    return f.multiply(x, f.sigmoid(f.multiply(x, alpha)))


@onnx_op("Softplus")
def softplus(x: Value) -> Value:
    """log(1 + exp(x)), without overflow."""
    return f.add(f.relu(x), f.log(f.add(1.0, f.exp(f.negative(f.absolute(x))))))


@onnx_op("Mish")
def mish(x: Value) -> Value:
    return f.multiply(x, f.tanh(softplus(x)))


@onnx_op("Softsign")
def softsign(x: Value) -> Value:
    return f.divide(x, f.add(1.0, f.absolute(x)))


def expm1_below(x: Value) -> Value:
    """exp(x) - 1 where x is negative, 0 elsewhere."""
    return f.subtract(f.exp(f.minimum(x, _like(0, x))), 1.0)


@onnx_op("Elu")
def elu(x: Value, *, alpha: float = 1.0) -> Value:
    return f.where(f.less(x, _like(0, x)), f.multiply(alpha, expm1_below(x)), x)


@onnx_op("Celu")
def celu(x: Value, *, alpha: float = 1.0) -> Value:
    return f.add(f.relu(x), f.multiply(alpha, expm1_below(f.divide(x, alpha))))


@onnx_op("Selu")
def selu(
    x: Value, *, alpha: float = 1.67326319217681884765625, gamma: float = 1.05070102214813232421875
) -> Value:
    return f.multiply(gamma, elu(x, alpha=alpha))


@onnx_op("ThresholdedRelu")
def thresholded_relu(x: Value, *, alpha: float = 1.0) -> Value:
    return f.where(f.greater(x, _like(alpha, x)), x, _like(0, x))


@onnx_op("Shrink")
def shrink(x: Value, *, bias: float = 0.0, lambd: float = 0.5) -> Value:
    """x drawn towards 0 by `bias` outside of ±lambd, 0 inside."""
    below = f.less(x, _like(-lambd, x))
    above = f.greater(x, _like(lambd, x))
    shift = _like(bias, x)
    return f.where(below, f.add(x, shift), f.where(above, f.subtract(x, shift), _like(0, x)))


# Old forms.


def _enter_old_form(name: str) -> None:
    """Before version 7 the second operand was broadcast on request only, and from an axis on."""
    function: Any = BINARY.get(name) or div

    @onnx_op(name, since=1)
    def old(
        x: Value,
        y: Value,
        *,
        broadcast: int = 0,
        axis: int | None = None,
        consumed_inputs: Any = None,
    ) -> Value:
        return function(x, aligned(y, len(x.shape), axis) if broadcast else y)


def aligned(y: Value, rank: int, axis: int | None) -> Value:
    """`y` whose first axis stands at `axis` of a tensor of this rank; at its end without one."""
    if axis is None:
        return y
    after = rank - axis_of(axis, rank) - len(y.shape)
    return arrays.reshape(y, (*y.shape, *[1] * after))


for _name in (*BINARY, "Div"):
    _enter_old_form(_name)


@onnx_op("PRelu")
def p_relu_by_channels(x: Value, slope: Value, *, consumed_inputs: Any = None) -> Value:
    """Before version 7 a vector of slopes was one for each channel, which is the second axis."""
    return p_relu(x, aligned(slope, len(x.shape), 1) if len(slope.shape) == 1 else slope)
