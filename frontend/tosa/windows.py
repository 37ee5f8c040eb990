"""TOSA's products, convolutions and poolings. Images have their channels last."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...dialects import graph
from ...dialects.dtypes import is_element_type, numpy_dtype
from ...dialects.graph.windows import Window
from ..nn import convolution
from ..numpy import elementwise as ew
from ..numpy import manipulation, padding, products
from ..recording import as_tensor, dtype_of, record
from ..upstream.arrays import cast_value
from ..upstream.operations import Node, Value
from .elementwise import saturated
from .registry import (
    numbers_of,
    refuse_ignored_nan,
    require_ranks,
    tosa,
    without_zero_point,
    zero_point_of,
)
from .rescaling import reciprocal, scaled


@tosa("matmul")
def matmul(x: Value, y: Value, x_zp: Value, y_zp: Value, *, node: Node) -> Value:
    """A batch of products, in the type of the result."""
    return products.matmul(
        without_zero_point(x, x_zp, node.dtype, node), without_zero_point(y, y_zp, node.dtype, node)
    )


# Convolutions


def _accumulator(node: Node) -> np.dtype:
    """The type that products are summed in. Raises StepwellError for the integers of 48 bits."""
    type_ = node.settings["acc_type"]
    if not is_element_type(type_):
        raise node.refuse(f"with acc_type = {type_}", "i32, f16 or f32")
    return numpy_dtype(type_)


def _pairs(numbers: Sequence[int]) -> list[tuple[int, int]]:
    return list(zip(numbers[::2], numbers[1::2], strict=True))


def _channels_first(x: Value) -> Value:
    rank = len(x.shape)
    return manipulation.transpose(x, [0, rank - 1, *range(1, rank - 1)])


def _channels_last(x: Value) -> Value:
    return manipulation.transpose(x, [0, *range(2, len(x.shape)), 1])


def _biased(y: Value, bias: Value, node: Node) -> Value:
    """Channels first plus a number for each channel, as the result of the operation."""
    whole = ew.add(_channels_last(y), cast_value(bias, dtype_of(y)))
    return cast_value(whole, node.dtype)


@tosa("conv2d", "conv3d")
def convolve(x: Value, w: Value, b: Value, x_zp: Value, w_zp: Value, *, node: Node) -> Value:
    """Weights are (channels out, window…, channels in)."""
    rank = 4 if node.op.name == "tosa.conv2d" else 5
    require_ranks(node, (rank, rank, 1), x, w, b)
    dtype = _accumulator(node)
    image = _channels_first(without_zero_point(x, x_zp, dtype, node))
    kernel = _channels_first(without_zero_point(w, w_zp, dtype, node))
    return _biased(_convolved(image, kernel, node), b, node)


@tosa("depthwise_conv2d")
def depthwise(x: Value, w: Value, b: Value, x_zp: Value, w_zp: Value, *, node: Node) -> Value:
    """Weights are (window…, channels in, results of each): a group for each channel in."""
    require_ranks(node, (4, 4, 1), x, w, b)
    dtype = _accumulator(node)
    image = _channels_first(without_zero_point(x, x_zp, dtype, node))
    kernel = without_zero_point(w, w_zp, dtype, node)
    height, width, channels, more = kernel.shape
    kernel = manipulation.transpose(kernel, [2, 3, 0, 1])
    kernel = manipulation.reshape(kernel, (channels * more, 1, height, width))
    return _biased(_convolved(image, kernel, node, channels), b, node)


def _convolved(image: Value, kernel: Value, node: Node, groups: int = 1) -> Value:
    return convolution.conv(
        image,
        kernel,
        stride=node.settings["stride"],
        dilation=node.settings["dilation"],
        padding=_pairs(numbers_of(node, "pad", 2 * (len(image.shape) - 2))),
        groups=groups,
    )


@tosa("transpose_conv2d")
def transposed(x: Value, w: Value, b: Value, x_zp: Value, w_zp: Value, *, node: Node) -> Value:
    """`out_pad` adds zeros around what the images spread to, and cuts where it is negative."""
    require_ranks(node, (4, 4, 1), x, w, b)
    dtype = _accumulator(node)
    image = _channels_first(without_zero_point(x, x_zp, dtype, node))
    kernel = manipulation.transpose(without_zero_point(w, w_zp, dtype, node), [3, 0, 1, 2])
    pads = _pairs(numbers_of(node, "out_pad", 4))
    cuts = [(max(0, -before), max(0, -after)) for before, after in pads]
    y = convolution.conv_transpose(image, kernel, stride=node.settings["stride"], padding=cuts)
    more = [(max(0, before), max(0, after)) for before, after in pads]
    return _biased(padding.pad(y, [(0, 0), (0, 0), *more]), b, node)


# Poolings


def _window(x: Value, node: Node) -> Window:
    require_ranks(node, (4,), x)
    top, bottom, left, right = numbers_of(node, "pad", 4)
    return Window(
        (1, *numbers_of(node, "kernel", 2), 1),
        (1, *numbers_of(node, "stride", 2), 1),
        (1, 1, 1, 1),
        (0, top, left, 0),
        (0, bottom, right, 0),
    )


@tosa("max_pool2d")
def max_pool2d(x: Value, *, node: Node) -> Value:
    refuse_ignored_nan(node)
    return record(graph.MaxPoolOp, as_tensor(x), _window(x, node))


@tosa("avg_pool2d")
def avg_pool2d(x: Value, x_zp: Value, y_zp: Value, *, node: Node) -> Value:
    """The mean of what lies inside of the image; of integers by the reciprocal that the specification gives, saturated."""
    wide = without_zero_point(x, x_zp, _accumulator(node), node)
    total = record(graph.SumPoolOp, as_tensor(wide), _window(wide, node))
    counts = _counts(x.shape, node)
    if node.dtype.kind not in "iu":
        return cast_value(ew.divide(total, counts.astype(total.dtype)), node.dtype)
    mean = cast_value(scaled(total, *reciprocal(counts)), np.dtype(np.int32))
    zero_point = np.asarray(zero_point_of(y_zp, node), np.int32)
    return saturated(ew.add(mean, zero_point), node.dtype)


def _counts(shape: Sequence[int], node: Node) -> np.ndarray:
    """How many elements of the image each window holds, (1, h, w, 1)."""
    along: list[np.ndarray] = []
    for axis, (before, _) in enumerate(_pairs(node.settings["pad"])):
        kernel, stride = node.settings["kernel"][axis], node.settings["stride"][axis]
        start = np.arange(node.shape[axis + 1]) * stride - before
        inside = np.minimum(start + kernel, shape[axis + 1]) - np.maximum(start, 0)
        along.append(np.maximum(inside, 1))
    return np.multiply.outer(*along).reshape(1, *map(len, along), 1)
