"""Pooling: the greatest, the mean or the norm of what lies under a window, or of everything."""

from __future__ import annotations

from collections.abc import Sequence

from ..nn import pooling
from ..numpy import reductions
from .node import Node
from .registry import Value, onnx_op


@onnx_op("MaxPool")
def max_pool(
    x: Value,
    *,
    kernel_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    pads: Sequence[int] | None = None,
    dilations: Sequence[int] | None = None,
    ceil_mode: int = 0,
    auto_pad: str = "NOTSET",
    storage_order: int = 0,
    node: Node,
) -> list[Value]:
    """The greatest elements and, where they are used, their numbers among all elements."""
    window = (kernel_shape, strides, pads or 0, dilations or 1)
    ceil = bool(ceil_mode)
    results = [pooling.max_pool(x, *window, ceil_mode=ceil, auto_pad=auto_pad)]
    if node.uses(1):
        results.append(
            pooling.argmax_pool(
                x, *window, ceil_mode=ceil, auto_pad=auto_pad, storage_order=storage_order
            )
        )
    return results


@onnx_op("AveragePool")
def average_pool(
    x: Value,
    *,
    kernel_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    pads: Sequence[int] | None = None,
    dilations: Sequence[int] | None = None,
    ceil_mode: int = 0,
    auto_pad: str = "NOTSET",
    count_include_pad: int = 0,
) -> Value:
    return pooling.average_pool(
        x,
        kernel_shape,
        strides,
        pads or 0,
        dilations or 1,
        ceil_mode=bool(ceil_mode),
        auto_pad=auto_pad,
        count_include_pad=bool(count_include_pad),
    )


@onnx_op("LpPool")
def lp_pool(
    x: Value,
    *,
    kernel_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    pads: Sequence[int] | None = None,
    dilations: Sequence[int] | None = None,
    ceil_mode: int = 0,
    auto_pad: str = "NOTSET",
    p: float = 2,
) -> Value:
    return pooling.lp_pool(
        x,
        kernel_shape,
        strides,
        pads or 0,
        dilations or 1,
        ceil_mode=bool(ceil_mode),
        auto_pad=auto_pad,
        p=p,
    )


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
