"""
The public functions: NumPy's names and argument orders where NumPy has the function, ONNX's or
PyTorch's otherwise.

In a traced function they record operations. Called on NumPy arrays alone they compute at once, by the
reference semantics of the operations, and return NumPy arrays. Operands are broadcast and promoted as
NumPy 2 does; where NumPy would compute in float16 (the exponential of an int8) Stepwell takes float32.

To add an element-wise function of an operation, add a line: `tanh = unary(graph.TanhOp)`.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

import numpy as np

from ..dialects import graph
from ..dialects.dtypes import is_float_dtype
from ..dialects.graph.base import INTEGERS, GraphOp
from ..errors import StepwellError
from .array_functions import AxisLike, axes_of, single_axis
from .promotion import (
    BOOL,
    INT64,
    accumulation_dtype,
    division_dtype,
    dtype_named,
    float_dtype,
    is_scalar,
    number_dtype,
)
from .recording import as_tensor, cast_to, converted, dtype_of, promoted, record
from .tensor import Tensor, TensorLike
from .traceable import traceable

# Element by element, one operand.


def floating(x: TensorLike) -> Tensor:
    """The operand in the dtype in which functions of real numbers are computed."""
    tensor = as_tensor(x)
    return cast_to(tensor, float_dtype(tensor.dtype))


def unary(op: type[GraphOp]) -> Callable[[TensorLike], Tensor]:
    """The function of an operation of one operand. Integers become floats if it is for floats only."""

    def function(x: TensorLike, /) -> Tensor:
        takes_integers = builtins.any(element in op.ELEMENTS for element in INTEGERS)
        return record(op, as_tensor(x) if takes_integers else floating(x))

    function.__name__ = function.__qualname__ = op.name.removeprefix("graph.")
    function.__doc__ = op.__doc__ or f"Element-wise {function.__name__}."
    return traceable(function)


exp = unary(graph.ExpOp)
log = unary(graph.LogOp)
sqrt = unary(graph.SqrtOp)
rsqrt = unary(graph.RsqrtOp)
reciprocal = unary(graph.ReciprocalOp)
sin = unary(graph.SinOp)
cos = unary(graph.CosOp)
tanh = unary(graph.TanhOp)
erf = unary(graph.ErfOp)
abs = absolute = unary(graph.AbsOp)
sign = unary(graph.SignOp)
ceil = unary(graph.CeilOp)
floor = unary(graph.FloorOp)
rint = unary(graph.RoundOp)
negative = unary(graph.NegOp)
invert = bitwise_not = bitwise_invert = unary(graph.NotOp)
relu = unary(graph.ReluOp)
sigmoid = unary(graph.SigmoidOp)
silu = unary(graph.SiluOp)


@traceable
def square(x: TensorLike, /) -> Tensor:
    """x · x; of bool in int8."""
    tensor = as_tensor(x)
    tensor = cast_to(tensor, number_dtype(tensor.dtype))
    return record(graph.MulOp, tensor, tensor)


@traceable
def round(x: TensorLike, /, decimals: int = 0) -> Tensor:
    """To the nearest number of so many decimals, halves to the even one; integers stay."""
    tensor = as_tensor(x)
    if decimals == 0 or (decimals > 0 and not is_float_dtype(tensor.dtype)):
        return record(graph.RoundOp, tensor)
    if not is_float_dtype(tensor.dtype):
        raise StepwellError(
            f"found decimals={decimals} for {tensor.dtype}, expected at least 0; convert it to a float"
        )
    scale = as_tensor(tensor.dtype.type(10.0 ** (decimals if decimals > 0 else -decimals)))
    there, back = (graph.MulOp, graph.DivOp) if decimals > 0 else (graph.DivOp, graph.MulOp)
    return record(back, record(graph.RoundOp, record(there, tensor, scale)), scale)


@traceable
def leaky_relu(x: TensorLike, /, alpha: float = 0.01) -> Tensor:
    """`x` where it is at least 0, `alpha * x` elsewhere."""
    return record(graph.LeakyReluOp, floating(x), number(alpha, "alpha"))


@traceable
def hard_sigmoid(x: TensorLike, /, alpha: float = 0.2, beta: float = 0.5) -> Tensor:
    """`alpha * x + beta` between 0 and 1 (ONNX HardSigmoid)."""
    return record(graph.HardSigmoidOp, floating(x), number(alpha, "alpha"), number(beta, "beta"))


@traceable
def gelu(x: TensorLike, /, approximate: str = "none") -> Tensor:
    """x · Φ(x), with Φ by erf ("none") or approximated by tanh ("tanh")."""
    return record(graph.GeluOp, floating(x), approximate)


@traceable
def clip(x: TensorLike, /, min: TensorLike = None, max: TensorLike = None) -> Tensor:
    """`x` between two bounds, either of which may be None. Bounds may be arrays."""
    bounds = [bound for bound in (min, max) if bound is not None]
    tensor, *limits = promoted(x, *bounds)
    if builtins.all(is_scalar(bound) for bound in bounds):
        return record(graph.ClipOp, tensor, min, max)
    if min is not None:
        tensor = record(graph.MaximumOp, tensor, limits[0])
    return tensor if max is None else record(graph.MinimumOp, tensor, limits[-1])


@traceable
def logical_not(x: TensorLike, /) -> Tensor:
    """True where `x` is zero."""
    return record(graph.NotOp, cast_to(as_tensor(x), BOOL))


def number(value: Any, what: str) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise StepwellError(
            f"found {value!r:.60} for {what}, expected a Python number; convert it"
        ) from None


# Element by element, two or three operands.


def binary(
    op: type[GraphOp], dtype: Callable[[np.dtype], np.dtype] | None = None
) -> Callable[[TensorLike, TensorLike], Tensor]:
    """The function of an operation of two operands, computed in their common dtype or what `dtype` makes of it."""

    def function(x: TensorLike, y: TensorLike, /) -> Tensor:
        return record(op, *promoted(x, y, to=dtype))

    function.__name__ = function.__qualname__ = op.name.removeprefix("graph.")
    function.__doc__ = op.__doc__ or f"Element-wise {function.__name__}."
    return traceable(function)


def comparison(op: type[GraphOp]) -> Callable[[TensorLike, TensorLike], Tensor]:
    """The function of a comparison: a Python integer that the other operand's dtype does not hold is int64."""

    def function(x: TensorLike, y: TensorLike, /) -> Tensor:
        operands = (x, y)
        if builtins.any(_out_of_range(a, b) for a, b in (operands, operands[::-1])):
            return record(op, *converted(operands, INT64))
        return record(op, *promoted(x, y))

    function.__name__ = function.__qualname__ = op.name.removeprefix("graph.")
    function.__doc__ = op.__doc__
    return traceable(function)


def _out_of_range(number: TensorLike, other: TensorLike) -> bool:
    if not is_scalar(number) or not isinstance(number, int) or is_scalar(other):
        return False
    dtype = dtype_of(other)
    return dtype.kind in "iu" and not np.iinfo(dtype).min <= number <= np.iinfo(dtype).max


def logical(op: type[GraphOp]) -> Callable[[TensorLike, TensorLike], Tensor]:
    """The function of an operation on truth values: anything but zero is true."""

    def function(x: TensorLike, y: TensorLike, /) -> Tensor:
        return record(op, cast_to(as_tensor(x), BOOL), cast_to(as_tensor(y), BOOL))

    function.__name__ = function.__qualname__ = "logical_" + op.name.removeprefix("graph.")
    function.__doc__ = (
        f"{op.name.removeprefix('graph.')} of truth values: anything but zero is true."
    )
    return traceable(function)


add = binary(graph.AddOp)
subtract = binary(graph.SubOp)
multiply = binary(graph.MulOp)
divide = true_divide = binary(graph.DivOp, division_dtype)
floor_divide = binary(graph.FloorDivOp, number_dtype)
mod = remainder = binary(graph.ModOp, number_dtype)
maximum = binary(graph.MaximumOp)
minimum = binary(graph.MinimumOp)
bitwise_and = binary(graph.AndOp)
bitwise_or = binary(graph.OrOp)
bitwise_xor = binary(graph.XorOp)
left_shift = bitwise_left_shift = binary(graph.LeftShiftOp, number_dtype)
right_shift = bitwise_right_shift = binary(graph.RightShiftOp, number_dtype)
logical_and = logical(graph.AndOp)
logical_or = logical(graph.OrOp)
logical_xor = logical(graph.XorOp)
equal = comparison(graph.EqOp)
not_equal = comparison(graph.NeOp)
less = comparison(graph.LtOp)
less_equal = comparison(graph.LeOp)
greater = comparison(graph.GtOp)
greater_equal = comparison(graph.GeOp)


@traceable
def power(x: TensorLike, y: TensorLike, /) -> Tensor:
    """
    `x` to the power `y`. As in NumPy, ** 2 is a multiplication and ** 0.5 of floats a square root.

    Raises StepwellError for an integer to a negative Python integer. Elements of an integer array may be
    negative exponents: the result is then that of the exact power, truncated.
    """
    base, exponent = promoted(x, y, to=number_dtype)
    if is_scalar(y):
        if y == 2 and not isinstance(y, bool):
            return record(graph.MulOp, base, base)
        if y == 0.5 and is_float_dtype(base.dtype):
            return record(graph.SqrtOp, base)
        if y < 0 and not is_float_dtype(base.dtype):
            raise StepwellError(
                f"found {base.dtype} to the power {y}, expected an exponent of at least 0; convert the base "
                "to a float"
            )
    return record(graph.PowOp, base, exponent)


pow = power


@traceable
def where(condition: TensorLike, x: TensorLike, y: TensorLike, /) -> Tensor:
    """`x` where the condition holds, `y` elsewhere; all three broadcast."""
    return record(graph.WhereOp, cast_to(as_tensor(condition), BOOL), *promoted(x, y))


# Contractions.


@traceable
def matmul(x: TensorLike, y: TensorLike, /, dtype: Any = None) -> Tensor:
    """
    `(..., m, k) @ (..., k, n)`: the batches broadcast, a vector's axis is contracted; integers wrap.

    With a `dtype` both operands are converted to it first, as in NumPy: int8 with `dtype=int32` is one kernel that
    reads int8.
    """
    operands = promoted(x, y) if dtype is None else converted([x, y], dtype_named(dtype))
    return record(graph.MatmulOp, *operands)


# Reductions. `axis` is one axis or several; without it, all of them.


def _accumulated(x: TensorLike, dtype: Any, default: Callable[[np.dtype], np.dtype]) -> Tensor:
    """The operand in the dtype a reduction is computed in: `dtype=`, or what is the default."""
    tensor = as_tensor(x)
    return cast_to(tensor, default(tensor.dtype) if dtype is None else dtype_named(dtype))


@traceable
def sum(
    x: TensorLike, /, axis: AxisLike = None, dtype: Any = None, *, keepdims: bool = False
) -> Tensor:
    """
    The sum; of nothing, 0. Without a `dtype` integers are summed in int64, uint8 and uint64 in uint64.
    """
    tensor = _accumulated(x, dtype, accumulation_dtype)
    return record(graph.SumOp, tensor, axes_of(axis), keepdims)


@traceable
def prod(
    x: TensorLike, /, axis: AxisLike = None, dtype: Any = None, *, keepdims: bool = False
) -> Tensor:
    """
    The product; of nothing, 1. Without a `dtype` integers are multiplied in int64, uint8 and uint64 in uint64.
    """
    tensor = _accumulated(x, dtype, accumulation_dtype)
    return record(graph.ProdOp, tensor, axes_of(axis), keepdims)


@traceable
def mean(
    x: TensorLike, /, axis: AxisLike = None, dtype: Any = None, *, keepdims: bool = False
) -> Tensor:
    """The arithmetic mean; of nothing, NaN. Integers are averaged in float64."""
    tensor = _accumulated(x, dtype, division_dtype)
    return record(graph.MeanOp, tensor, axes_of(axis), keepdims)


@traceable
def max(x: TensorLike, /, axis: AxisLike = None, *, keepdims: bool = False) -> Tensor:
    """The greatest element, NaN if there is one. Raises StepwellError for nothing to choose from."""
    return record(graph.MaxOp, as_tensor(x), axes_of(axis), keepdims)


@traceable
def min(x: TensorLike, /, axis: AxisLike = None, *, keepdims: bool = False) -> Tensor:
    """The least element, NaN if there is one. Raises StepwellError for nothing to choose from."""
    return record(graph.MinOp, as_tensor(x), axes_of(axis), keepdims)


amax, amin = max, min


@traceable
def any(x: TensorLike, /, axis: AxisLike = None, *, keepdims: bool = False) -> Tensor:
    """Whether any element is not zero; of nothing, False."""
    tensor = cast_to(as_tensor(x), BOOL)
    if tensor.size:
        return record(graph.MaxOp, tensor, axes_of(axis), keepdims)
    # The maximum of nothing is not defined, the sum is.
    return cast_to(record(graph.SumOp, cast_to(tensor, INT64), axes_of(axis), keepdims), BOOL)


@traceable
def all(x: TensorLike, /, axis: AxisLike = None, *, keepdims: bool = False) -> Tensor:
    """Whether every element is not zero; of nothing, True."""
    tensor = cast_to(as_tensor(x), BOOL)
    if tensor.size:
        return record(graph.MinOp, tensor, axes_of(axis), keepdims)
    return cast_to(record(graph.ProdOp, cast_to(tensor, INT64), axes_of(axis), keepdims), BOOL)


def _arg_reduction(op: type[GraphOp], x: TensorLike, axis: int | None, keepdims: bool) -> Tensor:
    tensor = as_tensor(x)
    if axis is not None:
        return record(op, tensor, single_axis(axis), keepdims)
    flat = record(op, record(graph.ReshapeOp, tensor, (-1,)), 0)
    return record(graph.ReshapeOp, flat, (1,) * tensor.ndim) if keepdims else flat


@traceable
def argmax(x: TensorLike, /, axis: int | None = None, *, keepdims: bool = False) -> Tensor:
    """Where the greatest element, or the first NaN, is along `axis`, or in the flattened `x`; int64."""
    return _arg_reduction(graph.ArgmaxOp, x, axis, keepdims)


@traceable
def argmin(x: TensorLike, /, axis: int | None = None, *, keepdims: bool = False) -> Tensor:
    """Where the least element, or the first NaN, is along `axis`, or in the flattened `x`; int64."""
    return _arg_reduction(graph.ArgminOp, x, axis, keepdims)


# Normalization.


@traceable
def softmax(x: TensorLike, /, axis: int = -1) -> Tensor:
    """exp(x) / sum(exp(x)) along an axis, computed so that large elements do not overflow."""
    return record(graph.SoftmaxOp, floating(x), single_axis(axis))


@traceable
def log_softmax(x: TensorLike, /, axis: int = -1) -> Tensor:
    """log(softmax(x)) along an axis, computed so that large elements do not overflow."""
    return record(graph.LogSoftmaxOp, floating(x), single_axis(axis))


@traceable
def layer_norm(
    x: TensorLike,
    /,
    scale: TensorLike = None,
    bias: TensorLike = None,
    *,
    axis: int = -1,
    eps: float = 1e-5,
) -> Tensor:
    """
    (x - mean) / sqrt(variance + eps) over the axes from `axis` on, times `scale`, plus `bias` (ONNX
    LayerNormalization). Both broadcast to those axes and may be None. The result has the dtype of `x`.
    """
    tensor = floating(x)
    parameters = converted([scale if scale is not None else 1], tensor.dtype)
    if bias is not None:
        parameters += converted([bias], tensor.dtype)
    elif scale is None:
        parameters = []
    return record(
        graph.LayerNormOp, tensor, *parameters, axis=single_axis(axis), epsilon=number(eps, "eps")
    )
