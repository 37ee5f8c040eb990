"""
Public functions that write, sum up and order elements: scatter, cumsum, sort, topk. See `functions` for the rules they
all follow.

What has as many elements as the data says (`compress`, `non_zero`, `unique`) is an array that has room for the most there
can be, with 0 behind its elements, and their number, int64 without axes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dialects import graph
from ..dialects.graph.base import GraphOp
from ..dialects.graph.scatter import REDUCTIONS
from ..errors import StepwellError
from .array_functions import (
    astype,
    broadcast_to,
    concatenate,
    integers,
    iota,
    normalized,
    ravel,
    reshape,
    single_axis,
    stack,
    take,
)
from .functions import not_equal, sum, where
from .promotion import BOOL, INT64, accumulation_dtype, dtype_named
from .recording import as_tensor, cast_to, converted, record, record_all
from .tensor import Tensor, TensorLike
from .traceable import traceable

# Running sums.


def _scan(
    op: type[GraphOp], x: TensorLike, axis: int | None, dtype: Any, exclusive: bool, reverse: bool
) -> Tensor:
    x = as_tensor(x)
    x = cast_to(x, accumulation_dtype(x.dtype) if dtype is None else dtype_named(dtype))
    if axis is None:
        x, axis = ravel(x), 0
    return record(op, x, single_axis(axis), exclusive, reverse)


@traceable
def cumsum(
    x: TensorLike,
    /,
    axis: int | None = None,
    dtype: Any = None,
    *,
    exclusive: bool = False,
    reverse: bool = False,
) -> Tensor:
    """
    Running sums along an axis, or of the flattened `x`: of all elements up to each, `exclusive` of it, `reverse` from the
    end. Without a `dtype` integers are summed as by `sum`.
    """
    return _scan(graph.CumsumOp, x, axis, dtype, exclusive, reverse)


@traceable
def cumprod(
    x: TensorLike,
    /,
    axis: int | None = None,
    dtype: Any = None,
    *,
    exclusive: bool = False,
    reverse: bool = False,
) -> Tensor:
    """Running products along an axis, or of the flattened `x`. See `cumsum`."""
    return _scan(graph.CumprodOp, x, axis, dtype, exclusive, reverse)


# Scatter.


def _indices(indices: TensorLike) -> Tensor:
    tensor = as_tensor(indices)
    if tensor.dtype.kind not in "iu":
        raise StepwellError(f"found indices of {tensor.dtype}, expected integers; convert them")
    return tensor if tensor.dtype in (INT64, np.dtype(np.int32)) else astype(tensor, INT64)


def _reduction(name: str) -> str:
    if name not in REDUCTIONS:
        raise StepwellError(
            f"found reduction {name!r:.60}, expected one of {', '.join(REDUCTIONS)}; name one"
        )
    return name


@traceable
def scatter_elements(
    x: TensorLike,
    indices: TensorLike,
    updates: TensorLike,
    /,
    axis: int = 0,
    reduction: str = "none",
) -> Tensor:
    """
    A copy of `x` with `updates` written along `axis` where `indices` say (ONNX ScatterElements, `torch.scatter`):
    `y[indices[i, j], j] = updates[i, j]`. `reduction` joins an update with what is there: add, mul, min or max.

    Updates are written in row-major order. Negative indices count from the end; one out of range writes nothing.
    """
    x = as_tensor(x)
    (values,) = converted([updates], x.dtype)
    return record(
        graph.ScatterElementsOp,
        x,
        _indices(indices),
        values,
        single_axis(axis),
        _reduction(reduction),
    )


@traceable
def scatter_nd(
    x: TensorLike, indices: TensorLike, updates: TensorLike, /, reduction: str = "none"
) -> Tensor:
    """
    A copy of `x` with `updates` written at the elements, or slices, that tuples along the last axis of `indices` name (ONNX
    ScatterND). See `scatter_elements`.
    """
    x = as_tensor(x)
    (values,) = converted([updates], x.dtype)
    return record(graph.ScatterNdOp, x, _indices(indices), values, _reduction(reduction))


# Order.


def _sorted(x: TensorLike, axis: int | None, descending: bool) -> tuple[Tensor, Tensor]:
    x = as_tensor(x)
    if axis is None:
        x, axis = ravel(x), 0
    values, order = record_all(graph.SortOp, x, single_axis(axis), descending)
    return values, order


@traceable
def sort(x: TensorLike, /, axis: int | None = -1, *, descending: bool = False) -> Tensor:
    """The elements in order along an axis, or of the flattened `x`; NaN is above every number."""
    return _sorted(x, axis, descending)[0]


@traceable
def argsort(x: TensorLike, /, axis: int | None = -1, *, descending: bool = False) -> Tensor:
    """The indices that put the elements in order along an axis; equal ones keep theirs. int64."""
    return _sorted(x, axis, descending)[1]


@traceable
def topk(
    x: TensorLike, k: int, /, axis: int = -1, *, largest: bool = True, sorted: bool = True
) -> list[Tensor]:
    """
    The `k` largest, or smallest, elements along an axis in order, and their indices (ONNX TopK, `torch.topk`). Of equal
    elements the one with the lower index comes first. `sorted` is for other libraries' callers: the order always holds.
    """
    x = as_tensor(x)
    axis = normalized(single_axis(axis), x.ndim)
    (count,) = integers(k, "k")
    if not 0 <= count <= x.shape[axis]:
        raise StepwellError(
            f"found k = {count} for an axis of {x.shape[axis]} elements, expected 0 to {x.shape[axis]}"
        )
    first = (slice(None),) * axis + (slice(count),)
    return [each[first] for each in _sorted(x, axis, largest)]


# What has as many elements as the data says.


def _places(kept: Tensor) -> tuple[Tensor, Tensor]:
    """
    Where in a row without gaps each element goes that is kept, and how many these are. What is not kept goes behind the
    end, where nothing is written.
    """
    before = cumsum(astype(kept, INT64), 0, exclusive=True)
    return where(kept, before, kept.shape[0]), sum(astype(kept, INT64))


def _gathered(values: Tensor, places: Tensor, axis: int = 0) -> Tensor:
    """The slices of an axis at their places, 0 where none goes."""
    along = [1] * values.ndim
    along[axis] = -1
    index = broadcast_to(reshape(places, along), values.shape)
    zeros = broadcast_to(np.zeros((), values.dtype), values.shape)
    return record(graph.ScatterElementsOp, as_tensor(zeros), index, values, axis)


@traceable
def non_zero(x: TensorLike, /) -> list[Tensor]:
    """
    The indices of the elements that are not 0, in row-major order, as int64 of shape (axes of `x`, elements of `x`); and
    how many columns of it count (ONNX NonZero).
    """
    x = as_tensor(x)
    kept = ravel(not_equal(x, as_tensor(np.zeros((), x.dtype))))
    places, count = _places(kept)
    indices = [ravel(iota(x.shape, axis)) for axis in range(x.ndim)]
    if not indices:
        return [as_tensor(np.zeros((0, 1), np.int64)), count]
    return [stack([_gathered(each, places) for each in indices]), count]


@traceable
def compress(condition: TensorLike, x: TensorLike, /, axis: int | None = None) -> list[Tensor]:
    """
    The slices of an axis, or the elements of the flattened `x`, where `condition` holds, which may be shorter; and how
    many these are. The array has room for all that the condition speaks of.
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
    places, count = _places(kept)
    return [_gathered(x, places, axis), count]


@traceable
def unique(x: TensorLike, /, *, sorted: bool = True) -> list[Tensor]:
    """
    The different elements of the flattened `x`, in order, or as they come first; the index of the first of each; for each
    element of `x` the number of its value among them; how often each occurs; and how many they are (ONNX Unique).
    """
    flat = ravel(as_tensor(x))
    size = flat.shape[0]
    if size == 0:
        empty = as_tensor(np.zeros(0, np.int64))
        return [flat, empty, empty, empty, as_tensor(np.zeros((), np.int64))]
    values, order = _sorted(flat, 0, False)
    differs = not_equal(values[1:], values[:-1])
    starts = concatenate([as_tensor(np.ones(1, np.bool_)), differs])
    group = cumsum(astype(starts, INT64), 0) - 1
    number = group[-1] + 1
    # Of equal elements the first one comes first, so it starts their group.
    places = where(starts, group, size)
    first = _gathered(order, places)
    if not sorted:
        # The groups by where they start, those there are not behind them.
        position = iota(size)
        group_order = _sorted(where(position < number, first, size), 0, False)[1]
        rank = _gathered(position, group_order)
        group, first = take(rank, group), where(position < number, take(first, group_order), 0)
        places = where(starts, group, size)
    ones = broadcast_to(np.ones((), np.int64), (size,))
    none = broadcast_to(np.zeros((), np.int64), (size,))
    counts = record(graph.ScatterElementsOp, as_tensor(none), group, as_tensor(ones), 0, "add")
    return [_gathered(values, places), first, _gathered(group, order), counts, number]
