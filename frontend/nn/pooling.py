"""Pooling functions, with ONNX's parameters: windows over the axes behind the batch and the channels."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from ...dialects import graph
from ...dialects.graph.windows import Window, same_pads
from ...errors import StepwellError
from ..numpy.arguments import integers
from ..numpy.elementwise import floating
from ..recording import as_tensor, record
from ..tensor import Tensor, TensorLike
from ..traceable import traceable
from .norms import lp_norm

Extents = int | Sequence[int]
"""A number for each spatial axis, or one for all of them."""


def spatial_axes(x: Tensor, channels_last: bool) -> range:
    """The axes of a batch of images, lines or volumes that are neither the batch nor the channels."""
    if x.ndim < 3:
        raise StepwellError(
            f"found a tensor of {x.ndim} axes, expected at least 3: a batch, channels and what the window moves over"
        )
    return range(1, x.ndim - 1) if channels_last else range(2, x.ndim)


def _each(value: Extents, count: int, what: str) -> tuple[int, ...]:
    values = integers(value, what)
    if isinstance(value, int):
        values = values * count
    if len(values) != count:
        raise StepwellError(
            f"found {what} {list(values)}, expected {count} numbers, one for each spatial axis, or a single one"
        )
    return values


def _pads(value: Extents, count: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """ONNX's: all the numbers before, then all those behind; or one number for each axis, or a single one."""
    values = integers(value, "pads")
    if not isinstance(value, int) and len(values) == 2 * count:
        return values[:count], values[count:]
    if not isinstance(value, int) and len(values) != count:
        raise StepwellError(
            f"found pads {list(values)}, expected {2 * count} numbers, those before each of {count} spatial axes and "
            "then those behind, or a single one"
        )
    before = _each(value, count, "pads")
    return before, before


def window_of(
    x: Tensor,
    kernel_shape: Extents,
    strides: Extents | None,
    pads: Extents,
    dilations: Extents,
    ceil_mode: bool = False,
    auto_pad: str = "NOTSET",
    channels_last: bool = False,
) -> Window:
    """The window that ONNX's attributes describe, over every axis of `x`; it moves by 1 without `strides`."""
    axes = spatial_axes(x, channels_last)
    count = len(axes)
    extents = _each(kernel_shape, count, "kernel_shape")
    steps = _each(1 if strides is None else strides, count, "strides")
    holes = _each(dilations, count, "dilations")
    if min((*extents, *steps, *holes)) < 1:
        raise StepwellError(
            f"found kernel_shape {list(extents)}, strides {list(steps)} and dilations {list(holes)}, expected "
            "numbers of at least 1"
        )
    if auto_pad in ("SAME_UPPER", "SAME_LOWER"):
        pairs = [
            same_pads(x.shape[axis], (k - 1) * d + 1, s, upper=auto_pad == "SAME_UPPER")
            for axis, k, d, s in zip(axes, extents, holes, steps, strict=True)
        ]
        low, high = tuple(a for a, _ in pairs), tuple(b for _, b in pairs)
    elif auto_pad == "VALID":
        low = high = (0,) * count
    elif auto_pad in ("NOTSET", ""):
        low, high = _pads(pads, count)
    else:
        raise StepwellError(
            f"found auto_pad '{auto_pad}', expected NOTSET, SAME_UPPER, SAME_LOWER or VALID"
        )

    def on_all(values: Sequence[int], others: int) -> tuple[int, ...]:
        return tuple(values[axis - axes[0]] if axis in axes else others for axis in range(x.ndim))

    return Window(
        on_all(extents, 1),
        on_all(steps, 1),
        on_all(holes, 1),
        on_all(low, 0),
        on_all(high, 0),
        ceil_mode,
    )


@traceable
def max_pool(
    x: TensorLike,
    /,
    kernel_shape: Extents,
    strides: Extents | None = None,
    pads: Extents = 0,
    dilations: Extents = 1,
    *,
    ceil_mode: bool = False,
    auto_pad: str = "NOTSET",
    channels_last: bool = False,
) -> Tensor:
    """
    The greatest element under a window that moves by `strides`, 1 by default, over the spatial axes of `x`: those behind
    the first two, or with `channels_last` those between the first and the last (ONNX MaxPool).

    `pads` has the elements before each spatial axis and then those behind; they are never the greatest. With
    `ceil_mode` a last window may reach beyond them. `auto_pad` is NOTSET, SAME_UPPER, SAME_LOWER or VALID.

    Raises StepwellError for a window that does not fit, or that lies in the padding.
    """
    tensor = as_tensor(x)
    window = window_of(
        tensor, kernel_shape, strides, pads, dilations, ceil_mode, auto_pad, channels_last
    )
    return record(graph.MaxPoolOp, tensor, window)


@traceable
def argmax_pool(
    x: TensorLike,
    /,
    kernel_shape: Extents,
    strides: Extents | None = None,
    pads: Extents = 0,
    dilations: Extents = 1,
    *,
    ceil_mode: bool = False,
    auto_pad: str = "NOTSET",
    storage_order: int = 0,
    channels_last: bool = False,
) -> Tensor:
    """
    Where `max_pool` finds its elements, of equal ones the first: their numbers among all elements of `x`, int64, counted
    in row-major order, or with `storage_order=1` with the spatial axes in column-major order (the second result of
    ONNX MaxPool).
    """
    tensor = as_tensor(x)
    window = window_of(
        tensor, kernel_shape, strides, pads, dilations, ceil_mode, auto_pad, channels_last
    )
    number = record(graph.ArgmaxPoolOp, tensor, window)
    return _column_major(number, tensor.shape[2:]) if storage_order else number


def _column_major(number: Tensor, spatial: Sequence[int]) -> Tensor:
    """Row-major numbers of elements as those with the spatial axes, the last ones, in column-major order."""
    whole = prod(spatial)
    rest = number % whole
    result, stride = number - rest, 1
    for axis, extent in enumerate(spatial):
        inner = prod(spatial[axis + 1 :])
        result = result + (rest // inner) % extent * stride
        stride *= extent
    return result


@traceable
def average_pool(
    x: TensorLike,
    /,
    kernel_shape: Extents,
    strides: Extents | None = None,
    pads: Extents = 0,
    dilations: Extents = 1,
    *,
    count_include_pad: bool = False,
    ceil_mode: bool = False,
    auto_pad: str = "NOTSET",
    channels_last: bool = False,
) -> Tensor:
    """
    The mean of the elements under a window, of the zeros in the padding too with `count_include_pad` (ONNX AveragePool);
    the other parameters are those of `max_pool`.
    """
    tensor = floating(x)
    window = window_of(
        tensor, kernel_shape, strides, pads, dilations, ceil_mode, auto_pad, channels_last
    )
    return record(graph.AveragePoolOp, tensor, window, bool(count_include_pad))


@traceable
def lp_pool(
    x: TensorLike,
    /,
    kernel_shape: Extents,
    strides: Extents | None = None,
    pads: Extents = 0,
    dilations: Extents = 1,
    *,
    p: float = 2,
    ceil_mode: bool = False,
    auto_pad: str = "NOTSET",
    channels_last: bool = False,
) -> Tensor:
    """
    (Σ |x|ᵖ)^(1/p) of the elements under a window (ONNX LpPool); the other parameters are those of `max_pool`.
    """
    tensor = floating(x)
    window = window_of(
        tensor, kernel_shape, strides, pads, dilations, ceil_mode, auto_pad, channels_last
    )
    return lp_norm(tensor, p, lambda powers: record(graph.SumPoolOp, powers, window))
