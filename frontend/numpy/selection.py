"""Elements picked and marked by index."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...dialects import graph
from ...errors import StepwellError
from ..promotion import INT64, dtype_named
from ..recording import as_tensor, promoted, record
from ..tensor import Tensor, TensorLike
from ..traceable import traceable
from .arguments import integers, normalized, single_axis
from .creation import iota
from .elementwise import where
from .indexing import index_tensor
from .manipulation import astype, broadcast_to, expand_dims, reshape


@traceable
def take(x: TensorLike, indices: TensorLike, /, axis: int | None = None) -> Tensor:
    """
    The slices of `axis` at `indices`; without `axis`, elements of the flattened `x`. A negative index
    counts from the end. An index out of range that is known only at run time is moved to the nearest in
    range.

    Raises StepwellError for indices that are not integers, or known and out of range.
    """
    x = as_tensor(x)
    if axis is None:
        x, axis = record(graph.ReshapeOp, x, (-1,)), 0
    axis = normalized(single_axis(axis), x.ndim)
    return record(graph.GatherOp, x, index_tensor(indices, x.shape[axis]), axis)


@traceable
def take_along_axis(x: TensorLike, indices: TensorLike, /, axis: int | None = -1) -> Tensor:
    """
    At each position the element whose index along `axis` `indices` has there; without an axis, of the flattened `x`.
    Other axes broadcast. A negative index counts from the end; one out of range that is known only at run time is
    moved to the nearest.
    """
    x = as_tensor(x)
    if axis is None:
        x, axis = record(graph.ReshapeOp, x, (-1,)), 0
    axis = normalized(single_axis(axis), x.ndim)
    chosen = index_tensor(indices, x.shape[axis])
    if chosen.ndim != x.ndim:
        raise StepwellError(
            f"found indices of {chosen.ndim} axes for a tensor of {x.ndim}, expected as many; reshape them"
        )
    shapes = [(*each.shape[:axis], 1, *each.shape[axis + 1 :]) for each in (x, chosen)]
    try:
        around = np.broadcast_shapes(*shapes)
    except ValueError:
        raise StepwellError(
            f"found shapes {list(x.shape)} and {list(chosen.shape)}, expected extents that are equal or 1 on "
            f"every axis but {axis}; reshape an operand"
        ) from None
    x, chosen = (
        broadcast_to(each, (*around[:axis], each.shape[axis], *around[axis + 1 :]))
        for each in (x, chosen)
    )
    return record(graph.GatherElementsOp, x, chosen, axis)


@traceable
def gather_elements(x: TensorLike, indices: TensorLike, /, axis: int = 0) -> Tensor:
    """
    At each position of `indices` the element of `x` there, but for its index along `axis`, which `indices` has (ONNX
    GatherElements, `torch.gather`): `y[i, j] = x[indices[i, j], j]`. On other axes `indices` may be shorter than `x`.
    """
    x = as_tensor(x)
    axis = normalized(single_axis(axis), x.ndim)
    return record(graph.GatherElementsOp, x, index_tensor(indices, x.shape[axis]), axis)


@traceable
def gather_nd(x: TensorLike, indices: TensorLike, /, batch_dims: int = 0) -> Tensor:
    """
    The elements, or slices, named by tuples of indices along the last axis of `indices`, which index the axes of `x`
    behind the first `batch_dims` (ONNX GatherND). An index out of range is moved to the nearest.
    """
    x, chosen = as_tensor(x), as_tensor(indices)
    if chosen.dtype.kind not in "iu":
        raise StepwellError(f"found indices of {chosen.dtype}, expected integers; convert them")
    if chosen.dtype.itemsize < 4 or chosen.dtype.kind == "u":
        chosen = astype(chosen, INT64)
    return record(graph.GatherNdOp, x, chosen, batch_dims)


@traceable
def one_hot(
    indices: TensorLike,
    depth: int,
    /,
    on_value: TensorLike = 1,
    off_value: TensorLike = 0,
    *,
    axis: int = -1,
    dtype: Any = None,
) -> Tensor:
    """
    `on_value` where the position along a new axis of extent `depth` is the index, `off_value` elsewhere (ONNX OneHot).

    Indices from -depth on count from the end; one out of range marks nothing. Floats are truncated. The result has the
    dtype of the values unless `dtype` is given.
    """
    (count,) = integers(depth, "depth")
    if count < 0:
        raise StepwellError(f"found depth {count}, expected at least 0; mend it")
    chosen = astype(as_tensor(indices), INT64)
    axis = normalized(single_axis(axis), chosen.ndim + 1)
    chosen = expand_dims(chosen, axis)
    along = [1] * chosen.ndim
    along[axis] = count
    position = where(chosen < 0, chosen + count, chosen)
    marked = position == reshape(iota(count), along)
    on, off = promoted(on_value, off_value)
    if dtype is not None:
        on, off = astype(on, dtype_named(dtype)), astype(off, dtype_named(dtype))
    return where(marked, on, off)


@traceable
def diagonal(x: TensorLike, /, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor:
    """The elements whose indices on two axes differ by `offset`, along a new last axis."""
    x = as_tensor(x)
    first, second = (normalized(single_axis(axis), x.ndim) for axis in (axis1, axis2))
    if first == second:
        raise StepwellError(f"found axis {first} twice, expected two axes; name another")
    order = [axis for axis in range(x.ndim) if axis not in (first, second)]
    x = record(graph.TransposeOp, x, [*order, first, second])
    *outer, rows, columns = x.shape
    start = offset if offset >= 0 else -offset * columns
    length = max(0, min(rows + min(offset, 0), columns - max(offset, 0)))
    # A diagonal is every element behind the last by a row and one column.
    flat = reshape(x, (*outer, rows * columns))
    step = columns + 1
    end = start + (length - 1) * step + 1 if length else start
    full = [slice(None)] * len(outer)
    return record(graph.SliceOp, flat, [*full, slice(start, end, step)])


@traceable
def reverse_sequence(
    x: TensorLike, sequence_lens: TensorLike, /, *, time_axis: int = 0, batch_axis: int = 1
) -> Tensor:
    """
    The first `sequence_lens[b]` slices along `time_axis` of each slice b of `batch_axis` in reverse order, the others as
    they are (ONNX ReverseSequence).
    """
    x = as_tensor(x)
    time = normalized(single_axis(time_axis), x.ndim, "time_axis")
    batch = normalized(single_axis(batch_axis), x.ndim, "batch_axis")
    lengths = astype(as_tensor(sequence_lens), INT64)
    if time == batch or lengths.shape != (x.shape[batch],):
        raise StepwellError(
            f"found lengths of shape {list(lengths.shape)} for time axis {time} and batch axis {batch} of shape "
            f"{list(x.shape)}, expected two axes and a length for each slice of the second"
        )
    steps, slices = [1] * x.ndim, [1] * x.ndim
    steps[time], slices[batch] = x.shape[time], x.shape[batch]
    position = reshape(iota(x.shape[time]), steps)
    length = reshape(lengths, slices)
    taken = where(position < length, length - 1 - position, position)
    return record(graph.GatherElementsOp, x, broadcast_to(taken, x.shape), time)
