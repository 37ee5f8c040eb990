"""Convolutions. See the package for how an operator is written."""

from __future__ import annotations

from collections.abc import Sequence

from ..nn import convolution
from .registry import Unsupported, Value, onnx_op


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
    taps = _taps(w, kernel_shape)
    rank = len(taps)
    strides, dilations = strides or (1,) * rank, dilations or (1,) * rank
    padding = _split(pads, rank)
    if auto_pad != "NOTSET":
        sizes = zip(x.shape[2:], taps, strides, dilations, strict=True)
        missing = [
            max((-(-size // stride) - 1) * stride + step * (count - 1) + 1 - size, 0)
            for size, count, stride, step in sizes
        ]
        padding = _dealt(missing, auto_pad)
    return convolution.conv(x, w, b, tuple(strides), padding, tuple(dilations), group)


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
    taps = _taps(w, kernel_shape)
    rank = len(taps)
    strides, dilations = strides or (1,) * rank, dilations or (1,) * rank
    more = tuple(output_padding) or (0,) * rank
    padding = _split(pads, rank)
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
        padding = _dealt(surplus, "SAME_UPPER" if auto_pad == "SAME_UPPER" else "SAME_LOWER")
    return convolution.conv_transpose(
        x, w, b, tuple(strides), padding, more, group, tuple(dilations)
    )


def _taps(w: Value, kernel_shape: Sequence[int]) -> tuple[int, ...]:
    """The extents of the window, which an attribute may say again."""
    taps = tuple(w.shape[2:])
    if kernel_shape and tuple(kernel_shape) != taps:
        raise Unsupported(
            f"kernel_shape {list(kernel_shape)} with weights of shape {list(w.shape)}"
        )
    return taps


def _split(pads: Sequence[int], rank: int) -> tuple[tuple[int, int], ...]:
    """`pads` as ONNX has them, all beginnings and then all ends, as pairs."""
    if not pads:
        return ((0, 0),) * rank
    if len(pads) != 2 * rank:
        raise Unsupported(f"{len(pads)} pads for a window of {rank} axes")
    return tuple(zip(pads[:rank], pads[rank:], strict=True))


def _dealt(counts: Sequence[int], auto_pad: str) -> tuple[tuple[int, int], ...]:
    """So many elements in all along each axis at its two ends, the odd one at the end, or at the beginning."""
    if auto_pad == "VALID":
        return ((0, 0),) * len(counts)
    if auto_pad == "SAME_UPPER":
        return tuple((count // 2, count - count // 2) for count in counts)
    if auto_pad == "SAME_LOWER":
        return tuple((count - count // 2, count // 2) for count in counts)
    raise Unsupported(f"auto_pad {auto_pad}")
