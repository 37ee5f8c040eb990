"""Convolutions. See the package for how an operator is written."""

from __future__ import annotations

from collections.abc import Sequence

from ..nn import convolution
from .registry import Value, onnx_op
from .windows import WindowAttributes, pairs, with_window


@onnx_op("Conv")
@with_window()
def conv(
    x: Value,
    w: Value,
    b: Value = None,
    *,
    group: int = 1,
    window: WindowAttributes,
) -> Value:
    return convolution.conv(x, w, b, *window.of_convolution(w), group)


@onnx_op("ConvTranspose")
@with_window()
def conv_transpose(
    x: Value,
    w: Value,
    b: Value = None,
    *,
    group: int = 1,
    output_padding: Sequence[int] = (),
    output_shape: Sequence[int] = (),
    window: WindowAttributes,
) -> Value:
    """Where the shape of the result is given, or is that of the image times the strides, pads follow from it."""
    taps = window.kernel(w)
    rank = len(taps)
    strides, dilations = window.strides or (1,) * rank, window.dilations or (1,) * rank
    more = tuple(output_padding) or (0,) * rank
    around = pairs(window.pads, rank)
    if output_shape or window.auto_pad in ("SAME_UPPER", "SAME_LOWER"):
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
        around = [_halves(count, upper=window.auto_pad == "SAME_UPPER") for count in surplus]
    return convolution.conv_transpose(
        x, w, b, tuple(strides), around, more, group, tuple(dilations)
    )


def _halves(count: int, *, upper: bool) -> tuple[int, int]:
    """So many elements at the two ends of an axis, the odd one at the upper, or at the lower."""
    less = count // 2
    return (less, count - less) if upper else (count - less, less)
