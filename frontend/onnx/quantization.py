"""Operators of quantized numbers: quantize and dequantize, exact products of integers."""

from __future__ import annotations

from typing import Any

from ..nn import quantization
from .registry import Value, onnx_op
from .tensors import required_dtype
from .windows import WindowAttributes, with_window


@onnx_op("QuantizeLinear")
@onnx_op("QuantizeLinear", domain="com.microsoft")  # of 16 bits, before operator set 21
def quantize_linear(
    x: Value,
    y_scale: Value,
    y_zero_point: Value = None,
    *,
    axis: int = 1,
    block_size: int = 0,
    output_dtype: int = 0,
) -> Value:
    dtype: Any = required_dtype(output_dtype, "a quantized value") if output_dtype else None
    if y_zero_point is not None:
        dtype = None
    return quantization.quantize_linear(
        x, y_scale, y_zero_point, axis=axis, block_size=block_size, dtype=dtype
    )


@onnx_op("DequantizeLinear")
@onnx_op("DequantizeLinear", domain="com.microsoft")  # of 16 bits, before operator set 21
def dequantize_linear(
    x: Value,
    x_scale: Value,
    x_zero_point: Value = None,
    *,
    axis: int = 1,
    block_size: int = 0,
    output_dtype: int = 0,
) -> Value:
    dtype: Any = required_dtype(output_dtype, "a number") if output_dtype else None
    return quantization.dequantize_linear(
        x, x_scale, x_zero_point, axis=axis, block_size=block_size, dtype=dtype
    )


@onnx_op("DynamicQuantizeLinear")
def dynamic_quantize_linear(x: Value) -> list[Value]:
    return quantization.dynamic_quantize_linear(x)


@onnx_op("MatMulInteger")
def matmul_integer(
    a: Value, b: Value, a_zero_point: Value = None, b_zero_point: Value = None
) -> Value:
    return quantization.matmul_integer(a, b, a_zero_point, b_zero_point)


@onnx_op("QLinearMatMul")
def qlinear_matmul(
    a: Value,
    a_scale: Value,
    a_zero_point: Value,
    b: Value,
    b_scale: Value,
    b_zero_point: Value,
    y_scale: Value,
    y_zero_point: Value,
) -> Value:
    return quantization.qlinear_matmul(
        a, a_scale, a_zero_point, b, b_scale, b_zero_point, y_scale, y_zero_point
    )


@onnx_op("ConvInteger")
@with_window()
def conv_integer(
    x: Value,
    w: Value,
    x_zero_point: Value = None,
    w_zero_point: Value = None,
    *,
    group: int = 1,
    window: WindowAttributes,
) -> Value:
    return quantization.conv_integer(
        x, w, x_zero_point, w_zero_point, *window.of_convolution(w), group
    )


@onnx_op("QLinearConv")
@with_window()
def qlinear_conv(
    x: Value,
    x_scale: Value,
    x_zero_point: Value,
    w: Value,
    w_scale: Value,
    w_zero_point: Value,
    y_scale: Value,
    y_zero_point: Value,
    b: Value = None,
    *,
    group: int = 1,
    window: WindowAttributes,
) -> Value:
    scales = (x_scale, x_zero_point, w, w_scale, w_zero_point, y_scale, y_zero_point)
    return quantization.qlinear_conv(x, *scales, b, *window.of_convolution(w), group)
