"""Public functions that put back what windows have taken out: col2im, max_unpool."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from ...dialects import graph
from ...dialects.graph.windows import Window
from ...errors import StepwellError
from ..numpy.arguments import integers
from ..numpy.manipulation import broadcast_to, ravel, reshape, transpose
from ..numpy.padding import pad
from ..numpy.reductions import sum
from ..numpy.selection import take
from ..recording import as_tensor, record
from ..tensor import Tensor, TensorLike
from ..traceable import traceable
from .pooling import places_of, window_of
from .windows import Extents, Padding

MOST_READS = 1 << 22
"""How many elements may be added up for all places along one axis: they are numbered while the program is made."""


@traceable
def col2im(
    x: TensorLike,
    output_size: Sequence[int],
    kernel_size: Sequence[int],
    /,
    dilation: Extents = 1,
    padding: Padding = 0,
    stride: Extents = 1,
) -> Tensor:
    """
    Images of shape `output_size` from the blocks under a window that moves over them, where blocks overlap their sum (ONNX
    Col2Im, `torch.nn.functional.fold`): `x` (n, channels · elements of a block, blocks) as (n, channels, …).
    The other parameters are those of `max_pool`.

    Raises StepwellError for another number of elements or blocks than the shapes give.

    >>> blocks = np.ones((1, 2, 3), np.float32)  # three of two elements
    >>> sw.nn.col2im(blocks, (4,), (2,))
    array([[[1., 2., 2., 1.]]], dtype=float32)
    """
    x = as_tensor(x)
    image, block = integers(output_size, "output_size"), integers(kernel_size, "kernel_size")
    window = window_of((1, 1, *image), block, stride, padding, dilation)
    places = places_of(window, (1, 1, *image))[2:]
    if x.ndim != 3 or x.shape[1] % prod(block) or x.shape[2] != prod(places):
        raise StepwellError(
            f"found blocks of shape {list(x.shape)}, expected (n, a multiple of {prod(block)}, {prod(places)}) for "
            f"blocks {list(block)} of images {list(image)}; reshape them"
        )
    rank = len(image)
    apart = reshape(x, (x.shape[0], x.shape[1] // prod(block), *block, *places))
    order = [axis for n in range(rank) for axis in (2 + n, 2 + rank + n)]
    joined = [elements * count for elements, count in zip(block, places, strict=True)]
    y = reshape(transpose(apart, (0, 1, *order)), (*apart.shape[:2], *joined))
    for axis, extent in enumerate(image, 2):
        # Behind the elements of the blocks stands a 0, which is read where fewer of them meet than elsewhere.
        ends = [(0, int(n == axis)) for n in range(y.ndim)]
        y = sum(take(pad(y, ends), _meeting(window, axis, extent), axis), axis, y.dtype)
    return y


def _meeting(window: Window, axis: int, extent: int) -> np.ndarray:
    """
    The numbers of the elements, counted through a block and then through blocks, that meet at each place along an axis:
    as many rows as meet at most.
    """
    taps, stride, count = window.extents[axis], window.strides[axis], window.places_on(axis, extent)
    if taps * extent > MOST_READS:
        raise StepwellError(
            f"found blocks of {taps} elements over {extent}, expected a product of at most {MOST_READS}; fold in parts"
        )
    tap = np.arange(taps)[:, None]
    start = np.arange(extent) + window.low[axis] - tap * window.dilations[axis]
    place = start // stride
    meets = (start % stride == 0) & (place >= 0) & (place < count)
    numbers = np.sort(np.where(meets, tap * count + place, taps * count), axis=0)
    return numbers[: max(1, int(meets.sum(axis=0).max(initial=0)))]


@traceable
def max_unpool(
    x: TensorLike,
    indices: TensorLike,
    /,
    kernel_size: Extents,
    stride: Extents | None = None,
    padding: Padding = 0,
    *,
    output_size: Sequence[int] | None = None,
) -> Tensor:
    """
    The elements that `max_pool` with this window chose, `x`, where `argmax_pool` found them, `indices`, and 0 elsewhere
    (ONNX MaxUnpool, `torch.nn.functional.max_unpool2d`).

    The indices are those of an image that the window just covers; with an `output_size`, a whole shape, 0 is put behind it, or it is cut.

    Raises StepwellError for indices that are no integers or of another shape, and for an `output_size` that has other
    axes.

    >>> x = np.array([[[1.0, 3.0, 2.0, 0.0]]])
    >>> sw.nn.max_unpool(sw.nn.max_pool(x, 2), sw.nn.argmax_pool(x, 2), 2)
    array([[[0., 3., 2., 0.]]])
    """
    x, chosen = as_tensor(x), as_tensor(indices)
    if chosen.shape != x.shape or chosen.dtype.kind not in "iu":
        raise StepwellError(
            f"found indices of {chosen.dtype} and shape {list(chosen.shape)} for elements of shape {list(x.shape)}, "
            "expected integers of the same shape"
        )
    window = window_of(x.shape, kernel_size, stride, padding, 1)
    rows = zip(x.shape, window.strides, window.low, window.high, window.extents, strict=True)
    covered = tuple(
        (count - 1) * stride - low - high + extent for count, stride, low, high, extent in rows
    )
    shape = covered if output_size is None else integers(output_size, "output_size")
    if len(shape) != x.ndim or min((*covered, *shape)) < 0:
        raise StepwellError(
            f"found a window that covers {list(covered)} and output_size {list(shape)}, expected {x.ndim} extents "
            "that are not below 0; mend them"
        )
    zeros = broadcast_to(np.zeros((), x.dtype), (prod(covered),))
    flat = record(graph.ScatterElementsOp, as_tensor(zeros), ravel(chosen), ravel(x), 0)
    y = reshape(flat, covered)
    y = y[tuple(slice(min(pair)) for pair in zip(covered, shape, strict=True))]
    return pad(y, [(0, extent - found) for extent, found in zip(shape, y.shape, strict=True)])
