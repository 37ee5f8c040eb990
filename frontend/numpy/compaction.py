"""
Results of as many elements as the data says. Shapes are fixed while tracing, so that each is an array that has room for
the most there can be, with 0 behind its elements, and their number, int64 without axes.
"""

from __future__ import annotations

import numpy as np

from ...dialects import graph
from ...errors import StepwellError
from ..promotion import BOOL, INT64
from ..recording import as_tensor, cast_to, record
from ..tensor import Tensor, TensorLike
from ..traceable import traceable
from .arguments import normalized, single_axis
from .counting import iota
from .elementwise import not_equal, where
from .joining import concatenate, stack
from .manipulation import astype, broadcast_to, ravel, reshape
from .reductions import sum
from .scans import cumsum
from .selection import take
from .sorting import ordered


def places_of_kept(kept: Tensor) -> tuple[Tensor, Tensor]:
    """
    Where in a row without gaps each element goes that is kept, and how many these are. What is not kept goes behind the
    end, where nothing is written.
    """
    before = cumsum(astype(kept, INT64), 0, exclusive=True)
    return where(kept, before, kept.shape[0]), sum(astype(kept, INT64))


def put_at(values: Tensor, places: Tensor, axis: int = 0) -> Tensor:
    """The slices of an axis at their places, 0 where none goes."""
    along = [1] * values.ndim
    along[axis] = -1
    index = broadcast_to(reshape(places, along), values.shape)
    zeros = broadcast_to(np.zeros((), values.dtype), values.shape)
    return record(graph.ScatterElementsOp, as_tensor(zeros), index, values, axis)


@traceable
def nonzero_and_count(x: TensorLike, /) -> list[Tensor]:
    """
    The indices of the elements that are not 0, in row-major order, as int64 of shape (axes of `x`, elements of `x`); and
    how many columns of it count (ONNX NonZero).

    >>> sw.nonzero_and_count([0, 5, 6])
    [array([[1, 2, 0]]), array(2)]
    """
    x = as_tensor(x)
    kept = ravel(not_equal(x, as_tensor(np.zeros((), x.dtype))))
    places, count = places_of_kept(kept)
    indices = [ravel(iota(x.shape, axis)) for axis in range(x.ndim)]
    if not indices:
        return [as_tensor(np.zeros((0, 1), np.int64)), count]
    return [stack([put_at(each, places) for each in indices]), count]


@traceable
def compress_and_count(
    condition: TensorLike, x: TensorLike, /, axis: int | None = None
) -> list[Tensor]:
    """
    The slices of an axis, or the elements of the flattened `x`, where `condition` holds, which may be shorter; and how
    many these are. The array has room for all that the condition speaks of.

    Raises StepwellError for a condition of more axes than one, or of more elements than the axis.

    >>> sw.compress_and_count([True, False, True], [5, 6, 7])
    [array([5, 7, 0]), array(2)]
    """
    x = as_tensor(x)
    if axis is None:
        x, axis = ravel(x), 0
    axis = normalized(single_axis(axis), x.ndim)
    kept = cast_to(as_tensor(condition), BOOL)
    if kept.ndim != 1 or kept.shape[0] > x.shape[axis]:
        raise StepwellError(
            f"found a condition of shape {list(kept.shape)} for an axis of {x.shape[axis]} elements, expected one "
            "axis of at most as many"
        )
    x = x[(slice(None),) * axis + (slice(kept.shape[0]),)]
    places, count = places_of_kept(kept)
    return [put_at(x, places, axis), count]


@traceable
def unique_and_counts(x: TensorLike, /, *, sorted: bool = True) -> list[Tensor]:
    """
    The different elements of the flattened `x`, in order, or as they come first; the index of the first of each; for each
    element of `x` the number of its value among them; how often each occurs; and how many they are (ONNX Unique).

    >>> sw.unique_and_counts([3, 1, 3])[0]
    array([1, 3, 0])
    """
    flat = ravel(as_tensor(x))
    size = flat.shape[0]
    if size == 0:
        empty = as_tensor(np.zeros(0, np.int64))
        return [flat, empty, empty, empty, as_tensor(np.zeros((), np.int64))]
    values, order = ordered(flat, 0, False)
    differs = not_equal(values[1:], values[:-1])
    starts = concatenate([as_tensor(np.ones(1, np.bool_)), differs])
    group = cumsum(astype(starts, INT64), 0) - 1
    number = group[-1] + 1
    # Of equal elements the first one comes first, so it starts their group.
    places = where(starts, group, size)
    first = put_at(order, places)
    if not sorted:
        # The groups by where they start, those there are not behind them.
        position = iota(size)
        group_order = ordered(where(position < number, first, size), 0, False)[1]
        rank = put_at(position, group_order)
        group, first = take(rank, group), where(position < number, take(first, group_order), 0)
        places = where(starts, group, size)
    ones = broadcast_to(np.ones((), np.int64), (size,))
    none = broadcast_to(np.zeros((), np.int64), (size,))
    counts = record(graph.ScatterElementsOp, as_tensor(none), group, as_tensor(ones), 0, "add")
    return [put_at(values, places), first, put_at(group, order), counts, number]
