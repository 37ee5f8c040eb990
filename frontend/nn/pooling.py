"""Pooling functions: windows over the axes behind the batch and the channels."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.utils.exceptions import VerifyException

from ...dialects import graph
from ...dialects.graph.windows import Window
from ...errors import StepwellError
from ..numpy.elementwise import floating
from ..recording import as_tensor, record
from ..tensor import Tensor, TensorLike
from ..traceable import traceable
from .norms import lp_norm
from .windows import Extents, Padding, numbers, pads


def spatial_axes(rank: int, channels_last: bool) -> range:
    """The axes of a batch of images, lines or volumes that are neither the batch nor the channels."""
    if rank < 3:
        raise StepwellError(
            f"found a tensor of {rank} axes, expected at least 3: a batch, channels and what the window moves over"
        )
    return range(1, rank - 1) if channels_last else range(2, rank)


def window_of(
    shape: Sequence[int],
    kernel_size: Extents,
    stride: Extents | None,
    padding: Padding,
    dilation: Extents,
    ceil_mode: bool = False,
    channels_last: bool = False,
) -> Window:
    """The window that these parameters describe, over every axis of a shape; without `stride` it moves by its extents."""
    axes = spatial_axes(len(shape), channels_last)
    count = len(axes)
    extents = numbers(kernel_size, count, "kernel_size")
    steps = extents if stride is None else numbers(stride, count, "stride")
    holes = numbers(dilation, count, "dilation")
    if min((*extents, *steps, *holes)) < 1:
        raise StepwellError(
            f"found kernel_size {list(extents)}, stride {list(steps)} and dilation {list(holes)}, expected numbers of "
            "at least 1"
        )
    reaches = [(k - 1) * d + 1 for k, d in zip(extents, holes, strict=True)]
    low, high = pads(padding, [shape[axis] for axis in axes], reaches, steps)

    def on_all(values: Sequence[int], others: int) -> tuple[int, ...]:
        return tuple(
            values[axis - axes[0]] if axis in axes else others for axis in range(len(shape))
        )

    try:
        return Window(
            on_all(extents, 1),
            on_all(steps, 1),
            on_all(holes, 1),
            on_all(low, 0),
            on_all(high, 0),
            ceil_mode,
        )
    except VerifyException as error:
        raise StepwellError(str(error)) from error


def places_of(window: Window, shape: Sequence[int]) -> tuple[int, ...]:
    """How many places a window has along each axis of a shape. Raises StepwellError where it does not fit."""
    try:
        return tuple(window.places(shape))
    except VerifyException as error:
        raise StepwellError(str(error)) from error


@traceable
def max_pool(
    x: TensorLike,
    /,
    kernel_size: Extents,
    stride: Extents | None = None,
    padding: Padding = 0,
    dilation: Extents = 1,
    *,
    ceil_mode: bool = False,
    channels_last: bool = False,
) -> Tensor:
    """
    The greatest element under a window that moves by `stride`, its own extents by default, over the spatial axes of `x`:
    those behind the first two, or with `channels_last` those between the first and the last
    (`torch.nn.functional.max_pool2d`, ONNX MaxPool).

    `stride`, `padding` and `dilation` are those of `conv`; elements of the padding are never the greatest. With
    `ceil_mode` a last window may reach beyond the padding.

    Raises StepwellError for a window that does not fit, or that lies in the padding.

    >>> x = [[[1.0, 3.0, 2.0, 0.0]]]
    >>> sw.nn.max_pool(x, 2)
    array([[[3., 2.]]])
    """
    tensor = as_tensor(x)
    window = window_of(
        tensor.shape, kernel_size, stride, padding, dilation, ceil_mode, channels_last
    )
    return record(graph.MaxPoolOp, tensor, window)


@traceable
def argmax_pool(
    x: TensorLike,
    /,
    kernel_size: Extents,
    stride: Extents | None = None,
    padding: Padding = 0,
    dilation: Extents = 1,
    *,
    ceil_mode: bool = False,
    storage_order: int = 0,
    channels_last: bool = False,
) -> Tensor:
    """
    Where `max_pool` finds its elements, of equal ones the first: their numbers among all elements of `x`, int64, counted
    in row-major order, or with `storage_order=1` with the spatial axes in column-major order (the second result of
    ONNX MaxPool).

    >>> x = [[[1.0, 3.0, 2.0, 0.0]]]
    >>> sw.nn.argmax_pool(x, 2)
    array([[[1, 2]]])
    """
    tensor = as_tensor(x)
    window = window_of(
        tensor.shape, kernel_size, stride, padding, dilation, ceil_mode, channels_last
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
    kernel_size: Extents,
    stride: Extents | None = None,
    padding: Padding = 0,
    dilation: Extents = 1,
    *,
    count_include_pad: bool = True,
    ceil_mode: bool = False,
    channels_last: bool = False,
) -> Tensor:
    """
    The mean of the elements under a window, of the zeros in the padding too unless `count_include_pad` is False
    (`torch.nn.functional.avg_pool2d`, ONNX AveragePool); the other parameters are those of `max_pool`.

    >>> x = [[[1.0, 3.0, 2.0, 0.0]]]
    >>> sw.nn.average_pool(x, 2)
    array([[[2., 1.]]])
    """
    tensor = floating(x)
    window = window_of(
        tensor.shape, kernel_size, stride, padding, dilation, ceil_mode, channels_last
    )
    return record(graph.AveragePoolOp, tensor, window, bool(count_include_pad))


@traceable
def lp_pool(
    x: TensorLike,
    /,
    kernel_size: Extents,
    stride: Extents | None = None,
    padding: Padding = 0,
    dilation: Extents = 1,
    *,
    p: float = 2,
    ceil_mode: bool = False,
    channels_last: bool = False,
) -> Tensor:
    """
    (Σ |x|ᵖ)^(1/p) of the elements under a window (ONNX LpPool); the other parameters are those of `max_pool`.

    >>> x = [[[3.0, 4.0, 5.0, 12.0]]]
    >>> sw.nn.lp_pool(x, 2)
    array([[[ 5., 13.]]])
    """
    tensor = floating(x)
    window = window_of(
        tensor.shape, kernel_size, stride, padding, dilation, ceil_mode, channels_last
    )
    return lp_norm(tensor, p, lambda powers: record(graph.SumPoolOp, powers, window))
