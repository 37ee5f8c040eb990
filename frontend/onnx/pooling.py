"""Pooling: the greatest, the mean or the norm of what lies under a window, or of everything."""

from __future__ import annotations

from collections.abc import Sequence

from ..nn import pooling, unpooling
from ..numpy import reductions
from .node import Node
from .registry import Value, integers, onnx_op
from .windows import WindowAttributes, pairs, with_window


@onnx_op("MaxPool")
@with_window("kernel_shape")
def max_pool(
    x: Value,
    *,
    ceil_mode: int = 0,
    window: WindowAttributes,
    storage_order: int = 0,
    node: Node,
) -> list[Value]:
    """The greatest elements and, where they are used, their numbers among all elements."""
    moved, ceil = window.of_pooling(), bool(ceil_mode)
    results = [pooling.max_pool(x, *moved, ceil_mode=ceil)]
    if node.uses(1):
        results.append(pooling.argmax_pool(x, *moved, ceil_mode=ceil, storage_order=storage_order))
    return results


@onnx_op("MaxUnpool")
@with_window("kernel_shape", without=("auto_pad", "dilations"))
def max_unpool(
    x: Value,
    indices: Value,
    output_shape: Value = None,
    *,
    window: WindowAttributes,
) -> Value:
    shape = None if output_shape is None else integers(output_shape, "the shape")
    return unpooling.max_unpool(x, indices, *window.of_pooling()[:3], output_size=shape)


@onnx_op("Col2Im")
def col2im(
    x: Value,
    image_shape: Value,
    block_shape: Value,
    *,
    dilations: Sequence[int] = (),
    pads: Sequence[int] = (),
    strides: Sequence[int] = (),
) -> Value:
    image, block = integers(image_shape, "the shape"), integers(block_shape, "the block")
    around = pairs(pads, len(block))
    return unpooling.col2im(x, image, block, dilations or 1, around, strides or 1)


@onnx_op("AveragePool")
@with_window("kernel_shape")
def average_pool(
    x: Value,
    *,
    ceil_mode: int = 0,
    window: WindowAttributes,
    count_include_pad: int = 0,
) -> Value:
    moved = window.of_pooling()
    whole = bool(count_include_pad)
    return pooling.average_pool(x, *moved, ceil_mode=bool(ceil_mode), count_include_pad=whole)


@onnx_op("LpPool")
@with_window("kernel_shape")
def lp_pool(
    x: Value,
    *,
    ceil_mode: int = 0,
    window: WindowAttributes,
    p: float = 2,
) -> Value:
    moved = window.of_pooling()
    return pooling.lp_pool(x, *moved, ceil_mode=bool(ceil_mode), p=p)


def _spatial(x: Value) -> tuple[int, ...]:
    return tuple(range(2, len(x.shape)))


@onnx_op("GlobalMaxPool")
def global_max_pool(x: Value) -> Value:
    return reductions.max(x, _spatial(x), keepdims=True)


@onnx_op("GlobalAveragePool")
def global_average_pool(x: Value) -> Value:
    return reductions.mean(x, _spatial(x), keepdims=True)


@onnx_op("GlobalLpPool")
def global_lp_pool(x: Value, *, p: float = 2) -> Value:
    return pooling.lp_pool(x, x.shape[2:], p=p)
