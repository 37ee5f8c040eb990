"""Convolutions. See the package for how an operator is written."""

from __future__ import annotations

from collections.abc import Sequence

from ..nn import convolution
from ..nn.windows import Extents, Padding
from .registry import Unsupported, Value, onnx_op
from .windows import padding, pairs


@onnx_op("Conv")
def conv(
    x: Value,
    w: Value,
    b: Value = None,
    *,
    auto_pad: str = "NOTSET",
    dilations: Sequence[int] = (),
    group: int = 1,
    kernel_shape: Sequence[int] = (),
    pads: Sequence[int] = (),
    strides: Sequence[int] = (),
) -> Value:
    window = window_of(w, auto_pad, dilations, kernel_shape, pads, strides)
    return convolution.conv(x, w, b, *window, group)


def window_of(
    w: Value,
    auto_pad: str,
    dilations: Sequence[int],
    kernel_shape: Sequence[int],
    pads: Sequence[int],
    strides: Sequence[int],
) -> tuple[Extents, Padding, Extents]:
    """The stride, padding and dilation of a convolution by these weights, as its attributes say."""
    rank = len(require_kernel(w, kernel_shape))
    return strides or 1, padding(auto_pad, pads, rank), dilations or 1


@onnx_op("ConvTranspose")
def conv_transpose(
    x: Value,
    w: Value,
    b: Value = None,
    *,
    auto_pad: str = "NOTSET",
    dilations: Sequence[int] = (),
    group: int = 1,
    kernel_shape: Sequence[int] = (),
    output_padding: Sequence[int] = (),
    output_shape: Sequence[int] = (),
    pads: Sequence[int] = (),
    strides: Sequence[int] = (),
) -> Value:
    """Where the shape of the result is given, or is that of the image times the strides, pads follow from it."""
    taps = require_kernel(w, kernel_shape)
    rank = len(taps)
    strides, dilations = strides or (1,) * rank, dilations or (1,) * rank
    more = tuple(output_padding) or (0,) * rank
    around = pairs(pads, rank)
    if output_shape or auto_pad in ("SAME_UPPER", "SAME_LOWER"):
        images = x.shape[2:]
        wanted = tuple(output_shape)[-rank:] or tuple(
            size * stride for size, stride in zip(images, strides, strict=True)
        )
        sizes = zip(images, taps, strides, dilations, more, wanted, strict=True)
        surplus = [
            (size - 1) * stride + step * (count - 1) + 1 + extra - extent
            for size, count, stride, step, extra, extent in sizes
        ]
        # The odd one is at the other end than in a convolution: ONNX's formula gives the beginning the greater part.
        around = [_halves(count, upper=auto_pad == "SAME_UPPER") for count in surplus]
    return convolution.conv_transpose(
        x, w, b, tuple(strides), around, more, group, tuple(dilations)
    )


def require_kernel(w: Value, kernel_shape: Sequence[int]) -> tuple[int, ...]:
    """The extents of the window of weights. Raises Unsupported where an attribute says others."""
    taps = tuple(w.shape[2:])
    if kernel_shape and tuple(kernel_shape) != taps:
        raise Unsupported(
            f"kernel_shape {list(kernel_shape)} with weights of shape {list(w.shape)}"
        )
    return taps


def _halves(count: int, *, upper: bool) -> tuple[int, int]:
    """So many elements at the two ends of an axis, the odd one at the upper, or at the lower."""
    less = count // 2
    return (less, count - less) if upper else (count - less, less)
