"""
Public functions of quantized numbers: q stands for (q - zero_point) * scale.

Products of quantized matrices are exact: (a - za) @ (b - zb) is a @ b, a product of small integers accumulated in i32,
with sums of rows and columns subtracted, and i32 wraps.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...dialects.dtypes import is_float_dtype
from ...errors import StepwellError
from ..numpy.arguments import normalized
from ..numpy.elementwise import clip, divide, maximum, minimum, rint, where
from ..numpy.manipulation import astype, expand_dims, repeat, reshape
from ..numpy.products import matmul
from ..numpy.reductions import max, min, sum
from ..promotion import FLOAT32, dtype_named
from ..recording import as_tensor
from ..tensor import Tensor, TensorLike
from ..traceable import traceable
from .convolution import conv
from .windows import Extents, Padding

INT32 = np.dtype(np.int32)
UINT8 = np.dtype(np.uint8)

QUANTIZED = tuple(map(np.dtype, (np.int8, np.uint8, np.int16, np.uint16)))
"""What numbers are quantized to."""

DEQUANTIZED = (*QUANTIZED, INT32, np.dtype(np.uint32))
"""What stands for numbers: sums of products are of 32 bits."""


def _require_quantized(dtype: np.dtype, among: tuple[np.dtype, ...]) -> None:
    if dtype not in among:
        raise StepwellError(
            f"found {dtype} for quantized numbers, expected one of {', '.join(map(str, among))}; convert them"
        )


def _spread(parameter: Tensor, x: Tensor, axis: int, block_size: int, what: str) -> Tensor:
    """A scale or zero point of a tensor, of one axis' slices, or of blocks along it, broadcastable to `x`."""
    shape = tuple(x.shape)
    if block_size:
        axis = normalized(axis, x.ndim)
        blocks = (*shape[:axis], -(-shape[axis] // block_size), *shape[axis + 1 :])
        if block_size < 0 or parameter.shape != blocks:
            raise StepwellError(
                f"found {what} of shape {list(parameter.shape)} for blocks of {block_size} along axis {axis} of "
                f"shape {list(shape)}, expected {list(blocks)}; give one number for each block"
            )
        spread = repeat(parameter, block_size, axis)
        if spread.shape[axis] == shape[axis]:
            return spread
        return spread[(slice(None),) * axis + (slice(shape[axis]),)]
    if parameter.size == 1:
        return reshape(parameter, ())
    axis = normalized(axis, x.ndim)
    if parameter.shape != (shape[axis],):
        raise StepwellError(
            f"found {what} of shape {list(parameter.shape)} for axis {axis} of shape {list(shape)}, expected one "
            f"number, or {shape[axis]}; give one for each slice of the axis"
        )
    return reshape(parameter, [shape[axis] if n == axis else 1 for n in range(x.ndim)])


def _saturated(x: Tensor, dtype: np.dtype) -> Tensor:
    """Whole numbers, as floats, in a dtype of at most 16 bits; what is out of range is the nearest in range."""
    info = np.iinfo(dtype)
    return astype(clip(x, float(info.min), float(info.max)), dtype)


@traceable
def quantize_linear(
    x: TensorLike,
    scale: TensorLike,
    zero_point: TensorLike = None,
    /,
    *,
    axis: int = 1,
    block_size: int = 0,
    dtype: Any = None,
) -> Tensor:
    """
    The nearest integer to `x / scale`, halves to the even one, plus `zero_point`, saturating (ONNX QuantizeLinear).

    `scale` and `zero_point` are one number, one for each slice of `axis`, or one for each block of `block_size` slices.
    The result has the dtype of the zero point, or `dtype`, without both uint8.

    Raises StepwellError for a zero point of another dtype than `dtype`.

    >>> sw.nn.quantize_linear([-1.0, 0.25, 300.0], 0.5, np.uint8(128))
    array([126, 128, 255], dtype=uint8)
    """
    x, scale = as_tensor(x), as_tensor(scale)
    if zero_point is not None:
        zero_point = as_tensor(zero_point)
    named = UINT8 if dtype is None else dtype_named(dtype)
    target = named if zero_point is None else zero_point.dtype
    if dtype is not None and target != named:
        raise StepwellError(
            f"found a zero point of {target} and dtype {named}, expected the same; convert one"
        )
    _require_quantized(target, QUANTIZED)
    numbers = astype(x, FLOAT32) if x.dtype.itemsize < 4 or not is_float_dtype(x.dtype) else x
    steps = _spread(astype(scale, numbers.dtype), x, axis, block_size, "scales")
    quantized = rint(divide(numbers, steps))
    if zero_point is not None:
        zeros = _spread(zero_point, x, axis, block_size, "zero points")
        quantized = quantized + astype(zeros, numbers.dtype)
    return _saturated(quantized, target)


@traceable
def dequantize_linear(
    x: TensorLike,
    scale: TensorLike,
    zero_point: TensorLike = None,
    /,
    *,
    axis: int = 1,
    block_size: int = 0,
    dtype: Any = None,
) -> Tensor:
    """
    `(x - zero_point) * scale`, in the dtype of the scale, or `dtype` (ONNX DequantizeLinear). See `quantize_linear` for
    the shapes.

    Raises StepwellError for a zero point of another dtype than `x`.

    >>> x = np.array([0, 128, 255], np.uint8)
    >>> sw.nn.dequantize_linear(x, 0.5, np.uint8(128))
    array([-64. ,   0. ,  63.5])
    """
    x, scale = as_tensor(x), as_tensor(scale)
    _require_quantized(x.dtype, DEQUANTIZED)
    wide = scale.dtype if scale.dtype.itemsize >= 4 else FLOAT32
    numbers = astype(x, wide)
    if zero_point is not None:
        zeros = as_tensor(zero_point)
        if zeros.dtype != x.dtype:
            raise StepwellError(
                f"found a zero point of {zeros.dtype} for {x.dtype}, expected the same; convert it"
            )
        numbers = numbers - astype(_spread(zeros, x, axis, block_size, "zero points"), wide)
    product = numbers * astype(_spread(scale, x, axis, block_size, "scales"), wide)
    return astype(product, scale.dtype if dtype is None else dtype_named(dtype))


@traceable
def dynamic_quantize_linear(x: TensorLike, /) -> list[Tensor]:
    """
    `x` as uint8 with the scale and the zero point that hold its range and 0, which come second and third (ONNX
    DynamicQuantizeLinear).

    >>> sw.nn.dynamic_quantize_linear(np.array([0.0, 1.0, 2.55], np.float32))
    [array([  0, 100, 255], dtype=uint8), array(0.01, dtype=float32), array(0, dtype=uint8)]
    """
    x = astype(as_tensor(x), FLOAT32)
    low, high = minimum(min(x), np.float32(0)), maximum(max(x), np.float32(0))
    span = (high - low) / np.float32(255)
    scale = where(span == 0, np.float32(1), span)
    zero_point = _saturated(rint(-low / scale), UINT8)
    return [quantize_linear(x, scale, zero_point), scale, zero_point]


@traceable
def matmul_integer(
    a: TensorLike,
    b: TensorLike,
    a_zero_point: TensorLike = None,
    b_zero_point: TensorLike = None,
    /,
) -> Tensor:
    """
    `(a - a_zero_point) @ (b - b_zero_point)` of int8 or uint8 matrices in int32, exactly (ONNX MatMulInteger).

    A zero point is one number, or one for each row of `a` or column of `b`; with batches, of a shape that broadcasts
    to the operand's.

    >>> a = np.array([[3, 4]], np.uint8)
    >>> sw.nn.matmul_integer(a, a.T, np.uint8(2))
    array([[11]], dtype=int32)
    """
    a, b = as_tensor(a), as_tensor(b)
    for operand in (a, b):
        _require_quantized(operand.dtype, QUANTIZED[:2])
    row, column = a.ndim == 1, b.ndim == 1
    a = expand_dims(a, 0) if row else a
    b = expand_dims(b, -1) if column else b
    product = matmul(a, b, dtype=INT32)
    za, zb = _rows_zero(a_zero_point, a), _columns_zero(b_zero_point)
    if za is not None:
        product = product - za * sum(b, -2, INT32, keepdims=True)
    if zb is not None:
        product = product - sum(a, -1, INT32, keepdims=True) * zb
    if za is not None and zb is not None:
        product = product + za * zb * np.int32(a.shape[-1])
    kept = [0 if n - product.ndim == -2 and row else slice(None) for n in range(product.ndim)]
    kept[-1] = 0 if column else slice(None)
    return product[tuple(kept)] if row or column else product


def _rows_zero(zero_point: TensorLike, a: Tensor) -> Tensor | None:
    """The zero points of a left operand, broadcastable to the product: along the rows."""
    if zero_point is None:
        return None
    zeros = astype(as_tensor(zero_point), INT32)
    return expand_dims(zeros, -1) if zeros.ndim == 1 and zeros.size == a.shape[-2] != 1 else zeros


def _columns_zero(zero_point: TensorLike) -> Tensor | None:
    """The zero points of a right operand, broadcastable to the product: along the columns."""
    return None if zero_point is None else astype(as_tensor(zero_point), INT32)


@traceable
def conv_integer(
    x: TensorLike,
    w: TensorLike,
    x_zero_point: TensorLike = None,
    w_zero_point: TensorLike = None,
    /,
    stride: Extents = 1,
    padding: Padding = 0,
    dilation: Extents = 1,
    groups: int = 1,
) -> Tensor:
    """
    The convolution of `x - x_zero_point` by `w - w_zero_point`, of int8 or uint8, in int32, exactly (ONNX ConvInteger). Around
    the image numbers are 0, so the quantized ones are the zero point. `w_zero_point` is one number, or one for each output
    channel; the other parameters are those of `conv`.

    >>> x, w = np.full((1, 1, 3), 7, np.uint8), np.ones((1, 1, 2), np.uint8)
    >>> sw.nn.conv_integer(x, w, np.uint8(5))
    array([[[4, 4]]], dtype=int32)
    """
    x, w = as_tensor(x), as_tensor(w)
    for operand in (x, w):
        _require_quantized(operand.dtype, QUANTIZED[:2])
    image, weights = (
        _centered(operand, zero) for operand, zero in ((x, x_zero_point), (w, w_zero_point))
    )
    return conv(image, weights, None, stride, padding, dilation, groups)


def _centered(x: Tensor, zero_point: TensorLike) -> Tensor:
    """`x - zero_point` in int32; one zero point for each slice of the first axis, or for all."""
    numbers = astype(x, INT32)
    if zero_point is None:
        return numbers
    zeros = as_tensor(zero_point)
    return numbers - astype(_spread(zeros, x, 0, 0, "zero points"), INT32)


@traceable
def qlinear_conv(
    x: TensorLike,
    x_scale: TensorLike,
    x_zero_point: TensorLike,
    w: TensorLike,
    w_scale: TensorLike,
    w_zero_point: TensorLike,
    y_scale: TensorLike,
    y_zero_point: TensorLike,
    b: TensorLike = None,
    /,
    stride: Extents = 1,
    padding: Padding = 0,
    dilation: Extents = 1,
    groups: int = 1,
) -> Tensor:
    """
    The convolution of a quantized image by quantized weights, quantized by `y_scale` and `y_zero_point`, whose dtype it has
    (ONNX QLinearConv). The sums of products are exact; the bias `b` is int32, in steps of `x_scale * w_scale`.

    >>> x, w = np.full((1, 1, 3), 7, np.uint8), np.ones((1, 1, 2), np.uint8)
    >>> zero = np.uint8(0)
    >>> sw.nn.qlinear_conv(x, 0.5, zero, w, 0.5, zero, 0.5, zero)
    array([[[7, 7]]], dtype=uint8)
    """
    zeros = as_tensor(y_zero_point)
    sums = conv_integer(x, w, x_zero_point, w_zero_point, stride, padding, dilation, groups)
    by_channel = (-1, *[1] * (sums.ndim - 2))
    if b is not None:
        sums = sums + reshape(astype(as_tensor(b), INT32), by_channel)
    steps = astype(as_tensor(w_scale), FLOAT32)
    steps = reshape(steps, by_channel) if steps.size > 1 else reshape(steps, ())
    x_steps, y_steps = (
        reshape(astype(as_tensor(scale), FLOAT32), ()) for scale in (x_scale, y_scale)
    )
    return _requantized(sums, x_steps * steps / y_steps, reshape(zeros, ()))


def _requantized(sums: Tensor, scale: Tensor, zeros: Tensor) -> Tensor:
    """Exact sums times a scale, rounded, in the dtype of the zero point that is added."""
    _require_quantized(zeros.dtype, QUANTIZED)
    quantized = rint(astype(sums, FLOAT32) * scale) + astype(zeros, FLOAT32)
    return _saturated(quantized, zeros.dtype)


@traceable
def qlinear_matmul(
    a: TensorLike,
    a_scale: TensorLike,
    a_zero_point: TensorLike,
    b: TensorLike,
    b_scale: TensorLike,
    b_zero_point: TensorLike,
    y_scale: TensorLike,
    y_zero_point: TensorLike,
    /,
) -> Tensor:
    """
    The product of two quantized matrices, quantized by `y_scale` and `y_zero_point`, whose dtype it has (ONNX
    QLinearMatMul). The sums of products are exact.

    >>> a, zero = np.array([[3, 4]], np.uint8), np.uint8(0)
    >>> sw.nn.qlinear_matmul(a, 0.5, zero, a.T, 0.5, zero, 0.5, zero)
    array([[12]], dtype=uint8)
    """
    a = as_tensor(a)
    product = matmul_integer(a, b, a_zero_point, b_zero_point)
    left = astype(as_tensor(a_scale), FLOAT32)
    if left.ndim == 1 and left.size == a.shape[-2] != 1:
        left = expand_dims(left, -1)
    scale = left * astype(as_tensor(b_scale), FLOAT32) / astype(as_tensor(y_scale), FLOAT32)
    return _requantized(product, scale, as_tensor(y_zero_point))
