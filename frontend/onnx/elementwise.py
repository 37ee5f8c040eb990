"""Operators element by element: activations, arithmetic, comparisons, casts."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np

from ...dialects.dtypes import is_float_dtype
from ..nn import activations
from ..numpy import elementwise, manipulation, mathematics
from .movement import axis_of
from .registry import Value, onnx_op, onnx_ops
from .tensors import required_dtype

UNARY: dict[str, Any] = {
    "Abs": elementwise.absolute,
    "Acos": mathematics.acos,
    "Acosh": mathematics.acosh,
    "Asin": mathematics.asin,
    "Asinh": mathematics.asinh,
    "Atan": mathematics.atan,
    "Atanh": mathematics.atanh,
    "BitwiseNot": elementwise.invert,
    "Ceil": elementwise.ceil,
    "Cos": elementwise.cos,
    "Cosh": mathematics.cosh,
    "Erf": elementwise.erf,
    "Exp": elementwise.exp,
    "Floor": elementwise.floor,
    "Log": elementwise.log,
    "Neg": elementwise.negative,
    "Not": elementwise.logical_not,
    "Reciprocal": elementwise.reciprocal,
    "Relu": activations.relu,
    "Round": elementwise.rint,
    "Sigmoid": activations.sigmoid,
    "Sign": elementwise.sign,
    "Sin": elementwise.sin,
    "Sinh": mathematics.sinh,
    "Sqrt": elementwise.sqrt,
    "Tan": mathematics.tan,
    "Tanh": elementwise.tanh,
}
"""Operators of one input that are functions of ours."""

BINARY: dict[str, Any] = {
    "Add": elementwise.add,
    "And": elementwise.logical_and,
    "BitwiseAnd": elementwise.bitwise_and,
    "BitwiseOr": elementwise.bitwise_or,
    "BitwiseXor": elementwise.bitwise_xor,
    "Equal": elementwise.equal,
    "Greater": elementwise.greater,
    "GreaterOrEqual": elementwise.greater_equal,
    "Less": elementwise.less,
    "LessOrEqual": elementwise.less_equal,
    "Mul": elementwise.multiply,
    "Or": elementwise.logical_or,
    "Sub": elementwise.subtract,
    "Xor": elementwise.logical_xor,
}
"""Operators of two inputs that are functions of ours."""


onnx_ops(UNARY, inputs=1)
onnx_ops(BINARY, inputs=2, since=7)


onnx_ops({"Where": elementwise.where}, inputs=3)

# Arithmetic.


@onnx_op("Div", since=7)
def div(x: Value, y: Value) -> Value:
    """The quotient; of integers it is truncated, as in C."""
    if is_float_dtype(x.dtype):
        return elementwise.divide(x, y)
    quotient = elementwise.floor_divide(x, y)
    if x.dtype.kind == "u":
        return quotient
    is_between = elementwise.logical_and(
        elementwise.less(quotient, 0), elementwise.not_equal(elementwise.multiply(quotient, y), x)
    )
    return elementwise.where(is_between, elementwise.add(quotient, 1), quotient)


@onnx_op("Mod")
def mod(x: Value, y: Value, *, fmod: int = 0) -> Value:
    """The remainder with the sign of `y`; that of `x` with fmod=1, as C's fmod."""
    if not fmod or x.dtype.kind == "u":
        return elementwise.mod(x, y)
    return mathematics.fmod(x, y)


@onnx_op("Pow")
def pow_(x: Value, y: Value) -> Value:
    """x to the power y, in the dtype of x."""
    if x.dtype == y.dtype:
        return elementwise.power(x, y)
    return manipulation.astype(elementwise.power(*_common(x, y)), x.dtype)


def _common(x: Value, y: Value) -> tuple[Value, Value]:
    """A base and an exponent in the dtype in which neither loses much: that of the base where it is a float."""
    dtype = x.dtype if is_float_dtype(x.dtype) else np.result_type(x.dtype, y.dtype)
    return manipulation.astype(x, dtype), manipulation.astype(y, dtype)


@onnx_op("Max")
def max_(*xs: Value) -> Value:
    return reduce(elementwise.maximum, xs)


@onnx_op("Min")
def min_(*xs: Value) -> Value:
    return reduce(elementwise.minimum, xs)


@onnx_op("Sum")
def sum_(*xs: Value) -> Value:
    return reduce(elementwise.add, xs)


@onnx_op("Mean")
def mean(*xs: Value) -> Value:
    return elementwise.divide(reduce(elementwise.add, xs), _like(len(xs), xs[0]))


@onnx_op("BitShift")
def bit_shift(x: Value, y: Value, *, direction: str) -> Value:
    """The bits of x moved by y; those that leave the type are lost."""
    return (elementwise.left_shift if direction == "LEFT" else elementwise.right_shift)(x, y)


@onnx_op("IsNaN")
def is_nan(x: Value) -> Value:
    return elementwise.not_equal(x, x)


@onnx_op("IsInf")
def is_inf(x: Value, *, detect_negative: int = 1, detect_positive: int = 1) -> Value:
    infinity = _like(np.inf, x)
    above = elementwise.logical_and(elementwise.equal(x, infinity), np.bool_(detect_positive))
    below = elementwise.logical_and(
        elementwise.equal(x, elementwise.negative(infinity)), np.bool_(detect_negative)
    )
    return elementwise.logical_or(above, below)


@onnx_op("Identity")
def identity(x: Value) -> Value:
    return x


@onnx_op("Cast")
def cast(x: Value, *, to: int, saturate: int = 1, round_mode: str = "up") -> Value:
    """The values in another type; `saturate` and `round_mode` are about types of 8 bits, which are refused."""
    return manipulation.astype(x, required_dtype(to, "a cast to a value"))


@onnx_op("BitCast")
def bit_cast(x: Value, *, to: int) -> Value:
    return manipulation.bitcast(x, required_dtype(to, "bits as a value"))


@onnx_op("CastLike")
def cast_like(x: Value, y: Value, *, saturate: int = 1, round_mode: str = "up") -> Value:
    return manipulation.astype(x, y.dtype)


# Activations.


def _like(number: float, x: Value) -> np.ndarray:
    """A number in the dtype of x."""
    return np.asarray(number).astype(x.dtype)


@onnx_op("Clip", since=11)
def clip(x: Value, low: Value = None, high: Value = None) -> Value:
    return elementwise.clip(x, low, high)


@onnx_op("Clip")
def clip_to_attributes(
    x: Value, *, min: float = -np.inf, max: float = np.inf, consumed_inputs: Any = None
) -> Value:
    return elementwise.clip(x, _like(min, x), _like(max, x))


@onnx_op("LeakyRelu")
def leaky_relu(x: Value, *, alpha: float = 0.01) -> Value:
    return activations.leaky_relu(x, alpha)


@onnx_op("HardSigmoid")
def hard_sigmoid(x: Value, *, alpha: float = 0.2, beta: float = 0.5) -> Value:
    return activations.hard_sigmoid(x, alpha, beta)


@onnx_op("HardSwish")
def hard_swish(x: Value) -> Value:
    return elementwise.multiply(x, activations.hard_sigmoid(x, 1 / 6, 0.5))


@onnx_op("PRelu", since=7)
def p_relu(x: Value, slope: Value) -> Value:
    return elementwise.where(elementwise.less(x, _like(0, x)), elementwise.multiply(x, slope), x)


@onnx_op("Gelu")
@onnx_op("Gelu", domain="com.microsoft")
def gelu(x: Value, *, approximate: str = "none") -> Value:
    return activations.gelu(x, approximate)


@onnx_op("Swish")
def swish(x: Value, *, alpha: float = 1.0) -> Value:
    return elementwise.multiply(x, activations.sigmoid(elementwise.multiply(x, alpha)))


@onnx_op("Softplus")
def softplus(x: Value) -> Value:
    """log(1 + exp(x)), without overflow."""
    return elementwise.add(
        activations.relu(x),
        elementwise.log(
            elementwise.add(1.0, elementwise.exp(elementwise.negative(elementwise.absolute(x))))
        ),
    )


@onnx_op("Mish")
def mish(x: Value) -> Value:
    return activations.mish(x)


@onnx_op("Softsign")
def softsign(x: Value) -> Value:
    return elementwise.divide(x, elementwise.add(1.0, elementwise.absolute(x)))


def expm1_below(x: Value) -> Value:
    """exp(x) - 1 where x is negative, 0 elsewhere."""
    return elementwise.subtract(elementwise.exp(elementwise.minimum(x, _like(0, x))), 1.0)


@onnx_op("Elu")
def elu(x: Value, *, alpha: float = 1.0) -> Value:
    return elementwise.where(
        elementwise.less(x, _like(0, x)), elementwise.multiply(alpha, expm1_below(x)), x
    )


@onnx_op("Celu")
def celu(x: Value, *, alpha: float = 1.0) -> Value:
    return elementwise.add(
        activations.relu(x), elementwise.multiply(alpha, expm1_below(elementwise.divide(x, alpha)))
    )


@onnx_op("Selu")
def selu(
    x: Value, *, alpha: float = 1.67326319217681884765625, gamma: float = 1.05070102214813232421875
) -> Value:
    return elementwise.multiply(gamma, elu(x, alpha=alpha))


@onnx_op("ThresholdedRelu")
def thresholded_relu(x: Value, *, alpha: float = 1.0) -> Value:
    return elementwise.where(elementwise.greater(x, _like(alpha, x)), x, _like(0, x))


@onnx_op("Shrink")
def shrink(x: Value, *, bias: float = 0.0, lambd: float = 0.5) -> Value:
    """x drawn towards 0 by `bias` outside of ±lambd, 0 inside."""
    below = elementwise.less(x, _like(-lambd, x))
    above = elementwise.greater(x, _like(lambd, x))
    shift = _like(bias, x)
    return elementwise.where(
        below,
        elementwise.add(x, shift),
        elementwise.where(above, elementwise.subtract(x, shift), _like(0, x)),
    )


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
    return manipulation.reshape(y, (*y.shape, *[1] * after))


for _name in (*BINARY, "Div"):
    _enter_old_form(_name)


@onnx_op("PRelu")
def p_relu_by_channels(x: Value, slope: Value, *, consumed_inputs: Any = None) -> Value:
    """Before version 7 a vector of slopes was one for each channel, which is the second axis."""
    return p_relu(x, aligned(slope, len(x.shape), 1) if len(slope.shape) == 1 else slope)
