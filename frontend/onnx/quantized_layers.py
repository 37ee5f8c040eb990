"""
Operators of `com.microsoft` on quantized numbers, which ONNX Runtime's quantizer writes.

Most are a function of numbers between dequantize and quantize. Products of matrices are exact sums of integers, scaled
once at the end.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..nn import activations, normalization, pooling
from ..nn.quantization import (
    dequantize_linear,
    dynamic_quantize_linear,
    matmul_integer,
    quantize_linear,
)
from ..numpy import elementwise, joining, manipulation, products, reductions
from .reductions import flattened
from .registry import Maybe, Unsupported, Value, onnx_op
from .windows import WindowAttributes, with_window

DOMAIN = "com.microsoft"


# Element by element.


def _one_input(name: str, function: Callable[[Value], Value]) -> None:
    """Enter the operator that computes the function of a dequantized tensor, and quantizes what it gives."""

    def quantized(
        x: Value, x_scale: Value, x_zero_point: Maybe, y_scale: Value, y_zero_point: Value = None
    ) -> Value:
        y = function(dequantize_linear(x, x_scale, x_zero_point))
        return _quantized_as(y, y_scale, y_zero_point, x)

    onnx_op(name, domain=DOMAIN)(quantized)


def _two_inputs(name: str, function: Callable[[Value, Value], Value]) -> None:
    """Enter the operator that computes the function of two dequantized tensors, and quantizes what it gives."""

    def quantized(
        a: Value,
        a_scale: Value,
        a_zero_point: Maybe,
        b: Value,
        b_scale: Value,
        b_zero_point: Maybe,
        c_scale: Value,
        c_zero_point: Value = None,
    ) -> Value:
        c = function(
            dequantize_linear(a, a_scale, a_zero_point), dequantize_linear(b, b_scale, b_zero_point)
        )
        return _quantized_as(c, c_scale, c_zero_point, a)

    onnx_op(name, domain=DOMAIN)(quantized)


def _quantized_as(y: Value, scale: Value, zero_point: Value, x: Value) -> Value:
    """`y` quantized to the dtype of `x`; a zero point that is left out is 0."""
    return quantize_linear(y, scale, np.zeros((), x.dtype) if zero_point is None else zero_point)


_one_input("QLinearSigmoid", activations.sigmoid)
_two_inputs("QLinearAdd", elementwise.add)
_two_inputs("QLinearMul", elementwise.multiply)


@onnx_op("QLinearLeakyRelu", domain=DOMAIN)
def qlinear_leaky_relu(
    x: Value,
    x_scale: Value,
    x_zero_point: Maybe,
    y_scale: Value,
    y_zero_point: Value = None,
    *,
    alpha: float = 0.01,
) -> Value:
    y = activations.leaky_relu(dequantize_linear(x, x_scale, x_zero_point), alpha)
    return _quantized_as(y, y_scale, y_zero_point, x)


@onnx_op("QLinearWhere", domain=DOMAIN)
def qlinear_where(
    condition: Value,
    x: Value,
    x_scale: Value,
    x_zero_point: Value,
    y: Value,
    y_scale: Value,
    y_zero_point: Value,
    z_scale: Value,
    z_zero_point: Value,
) -> Value:
    z = elementwise.where(
        condition,
        dequantize_linear(x, x_scale, x_zero_point),
        dequantize_linear(y, y_scale, y_zero_point),
    )
    return quantize_linear(z, z_scale, z_zero_point)


@onnx_op("QLinearConcat", domain=DOMAIN)
def qlinear_concat(y_scale: Value, y_zero_point: Value, *inputs: Value, axis: int) -> Value:
    """Tensors, each followed by its scale and its zero point, one behind the other along an axis."""
    parts = [dequantize_linear(*inputs[start : start + 3]) for start in range(0, len(inputs), 3)]
    return quantize_linear(joining.concatenate(parts, axis), y_scale, y_zero_point)


@onnx_op("QLinearSoftmax", domain=DOMAIN)
def qlinear_softmax(
    x: Value,
    x_scale: Value,
    x_zero_point: Maybe,
    y_scale: Value,
    y_zero_point: Value,
    *,
    opset: int,
    axis: int = -1,
) -> Value:
    """The softmax of that operator set: before 13 it is taken over all axes from `axis` on."""
    numbers = dequantize_linear(x, x_scale, x_zero_point)
    y = (
        normalization.softmax(numbers, axis)
        if opset >= 13
        else flattened(normalization.softmax, numbers, axis)
    )
    return quantize_linear(y, y_scale, y_zero_point)


# Pooling.


@onnx_op("QLinearAveragePool", domain=DOMAIN)
@with_window("kernel_shape", without=("dilations",))
def qlinear_average_pool(
    x: Value,
    x_scale: Value,
    x_zero_point: Maybe,
    y_scale: Value,
    y_zero_point: Value = None,
    *,
    ceil_mode: int = 0,
    count_include_pad: int = 0,
    channels_last: int = 0,
    window: WindowAttributes,
) -> Value:
    y = pooling.average_pool(
        dequantize_linear(x, x_scale, x_zero_point),
        *window.of_pooling(),
        count_include_pad=bool(count_include_pad),
        ceil_mode=bool(ceil_mode),
        channels_last=bool(channels_last),
    )
    return _quantized_as(y, y_scale, y_zero_point, x)


@onnx_op("QLinearGlobalAveragePool", domain=DOMAIN)
def qlinear_global_average_pool(
    x: Value,
    x_scale: Value,
    x_zero_point: Value,
    y_scale: Value,
    y_zero_point: Value,
    *,
    channels_last: int = 0,
) -> Value:
    spatial = pooling.spatial_axes(len(x.shape), bool(channels_last))
    numbers = dequantize_linear(x, x_scale, x_zero_point)
    return quantize_linear(
        reductions.mean(numbers, tuple(spatial), keepdims=True), y_scale, y_zero_point
    )


# Products of matrices.


@onnx_op("MatMulIntegerToFloat", domain=DOMAIN)
def matmul_integer_to_float(
    a: Value,
    b: Value,
    a_scale: Value,
    b_scale: Value,
    a_zero_point: Value = None,
    b_zero_point: Value = None,
    bias: Value = None,
) -> Value:
    """(a - a_zero_point) @ (b - b_zero_point) · a_scale · b_scale + bias"""
    sums = matmul_integer(a, b, a_zero_point, b_zero_point)
    scale = elementwise.multiply(a_scale, b_scale)
    product = elementwise.multiply(manipulation.astype(sums, scale.dtype), scale)
    return product if bias is None else elementwise.add(product, bias)


@onnx_op("DynamicQuantizeMatMul", domain=DOMAIN)
def dynamic_quantize_matmul(
    a: Value, b: Value, b_scale: Value, b_zero_point: Value = None, bias: Value = None
) -> Value:
    """The product of `a`, quantized to 8 bits by its own range, and quantized weights."""
    quantized, a_scale, a_zero_point = dynamic_quantize_linear(a)
    return matmul_integer_to_float(quantized, b, a_scale, b_scale, a_zero_point, b_zero_point, bias)


@onnx_op("QGemm", domain=DOMAIN)
def qgemm(
    a: Value,
    a_scale: Value,
    a_zero_point: Value,
    b: Value,
    b_scale: Value,
    b_zero_point: Value,
    c: Value = None,
    y_scale: Value = None,
    y_zero_point: Value = None,
    *,
    alpha: float = 1.0,
    transA: int = 0,
    transB: int = 0,
) -> Value:
    """
    alpha · a_scale · b_scale · (a @ b + c), quantized where there is a scale of the result. The sums, to which the int32
    `c` is added, are exact.
    """
    a = manipulation.transpose(a) if transA else a
    b = manipulation.transpose(b) if transB else b
    sums = matmul_integer(a, b, a_zero_point, b_zero_point)
    sums = sums if c is None else elementwise.add(sums, c)
    scale = elementwise.multiply(elementwise.multiply(a_scale, b_scale), np.float32(alpha))
    y = elementwise.multiply(manipulation.astype(sums, np.float32), scale)
    if y_scale is None:
        return y
    return quantize_linear(y, y_scale, y_zero_point)


@onnx_op("MatMulNBits", domain=DOMAIN)
def matmul_nbits(
    a: Value,
    b: Value,
    scales: Value,
    zero_points: Value = None,
    g_idx: Value = None,
    bias: Value = None,
    *,
    K: int,
    N: int,
    block_size: int,
    bits: int = 4,
    accuracy_level: int = 0,
    weight_prepacked: int = 0,
) -> Value:
    """
    a @ wᵀ + bias, where row n of `w` [N, K] stands in `b` [N, blocks, block_size · bits / 8] as codes of 2, 4 or 8 bits,
    the first in the lowest bits. A code c is the number (c - zero point) · scale of its block of the row; zero points are
    packed as the codes are, or numbers of the dtype of `a`, or half the range where there are none.

    `accuracy_level` allows to round `a`; the product is of `a` as it is, which every level allows.
    """
    if bits not in (2, 4, 8):
        raise Unsupported(f"bits={bits}")
    if g_idx is not None:
        raise Unsupported("input 'g_idx'")
    if weight_prepacked:
        raise Unsupported(f"weight_prepacked={weight_prepacked}")
    blocks = -(-K // block_size)
    codes = manipulation.reshape(_unpacked(b, bits), (N, blocks, block_size))
    if zero_points is None:
        zeros = np.asarray(1 << (bits - 1))
    elif zero_points.dtype == np.uint8:
        rows = _unpacked(manipulation.reshape(zero_points, (N, -1)), bits)
        zeros = manipulation.expand_dims(rows[:, :blocks], -1)
    else:
        zeros = manipulation.reshape(zero_points, (N, blocks, 1))
    steps = manipulation.reshape(scales, (N, blocks, 1))
    centered = elementwise.subtract(
        manipulation.astype(codes, a.dtype), manipulation.astype(zeros, a.dtype)
    )
    w = manipulation.reshape(elementwise.multiply(centered, steps), (N, blocks * block_size))
    product = products.matmul(a, manipulation.transpose(w[:, :K]))
    return product if bias is None else elementwise.add(product, bias)


def _unpacked(packed: Value, bits: int) -> Value:
    """The codes of so many bits in bytes, along the last axis: the first is the lowest bits of the first byte."""
    if bits == 8:
        return packed
    mask = np.uint8((1 << bits) - 1)
    codes = [
        elementwise.bitwise_and(elementwise.right_shift(packed, np.uint8(shift)), mask)
        for shift in range(0, 8, bits)
    ]
    return manipulation.reshape(joining.stack(codes, -1), (*packed.shape[:-1], -1))
