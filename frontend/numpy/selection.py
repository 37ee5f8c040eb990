"""Elements picked and marked by index."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...dialects import graph
from ...errors import StepwellError
from ..promotion import INT64, dtype_named
from ..recording import as_tensor, cast_to, promoted, record
from ..tensor import Tensor, TensorLike
from ..traceable import traceable
from .arguments import integers, normalized, single_axis
from .counting import iota
from .elementwise import where
from .indexing import index_tensor
from .manipulation import astype, broadcast_to, expand_dims, reshape, resize
from .scatter import scatter_elements


@traceable
def take(x: TensorLike, indices: TensorLike, /, axis: int | None = None) -> Tensor:
    """
    The slices of `axis` at `indices`; without `axis`, elements of the flattened `x`. A negative index
    counts from the end. An index out of range that is known only at run time is moved to the nearest in
    range.

    Raises StepwellError for indices that are not integers, or known and out of range.

    >>> sw.take([[1, 2], [3, 4]], [1, 0], axis=1)
    array([[2, 1],
           [4, 3]])
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

    Raises StepwellError for indices of other axes, or of extents that do not broadcast.

    >>> x = np.array([[3, 1], [2, 4]])
    >>> sw.take_along_axis(x, sw.argsort(x), axis=1)
    array([[1, 3],
           [2, 4]])
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

    >>> sw.gather_elements([[1, 2], [3, 4]], [[1, 0]])
    array([[3, 2]])
    """
    x = as_tensor(x)
    axis = normalized(single_axis(axis), x.ndim)
    return record(graph.GatherElementsOp, x, index_tensor(indices, x.shape[axis]), axis)


@traceable
def gather_nd(x: TensorLike, indices: TensorLike, /, batch_dims: int = 0) -> Tensor:
    """
    The elements, or slices, named by tuples of indices along the last axis of `indices`, which index the axes of `x`
    behind the first `batch_dims` (ONNX GatherND). An index out of range is moved to the nearest.

    Raises StepwellError for indices that are no integers.

    >>> sw.gather_nd([[1, 2], [3, 4]], [[0, 1], [1, 0]])
    array([2, 3])
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

    Raises StepwellError for a depth below 0.

    >>> sw.one_hot([0, 2], 3)
    array([[1, 0, 0],
           [0, 0, 1]])
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
def reverse_sequence(
    x: TensorLike, sequence_lens: TensorLike, /, *, time_axis: int = 0, batch_axis: int = 1
) -> Tensor:
    """
    The first `sequence_lens[b]` slices along `time_axis` of each slice b of `batch_axis` in reverse order, the others as
    they are (ONNX ReverseSequence).

    Raises StepwellError for lengths of another shape than the batch axis, and for one axis twice.

    >>> sw.reverse_sequence([[1, 4], [2, 5], [3, 6]], [2, 3])
    array([[2, 6],
           [1, 5],
           [3, 4]])
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


@traceable
def put_along_axis(
    x: TensorLike, indices: TensorLike, values: TensorLike, /, axis: int | None = -1
) -> Tensor:
    """
    A copy of `x` with `values` at the indices along an axis, of the flattened `x` without one. Other axes broadcast.
    NumPy's writes into `x`.

    Raises StepwellError for indices of other axes.

    >>> sw.put_along_axis([[1, 2], [3, 4]], [[0], [1]], 9, axis=1)
    array([[9, 2],
           [3, 9]])
    """
    x, chosen = as_tensor(x), as_tensor(indices)
    shape = x.shape
    if axis is None:
        x, axis = reshape(x, (-1,)), 0
    axis = normalized(single_axis(axis), x.ndim)
    if chosen.ndim != x.ndim:
        raise StepwellError(
            f"found indices of {chosen.ndim} axes for a tensor of {x.ndim}, expected as many; reshape them"
        )
    around = (*x.shape[:axis], chosen.shape[axis], *x.shape[axis + 1 :])
    written = broadcast_to(cast_to(as_tensor(values), x.dtype), around)
    return reshape(scatter_elements(x, broadcast_to(chosen, around), written, axis), shape)


@traceable
def put(x: TensorLike, ind: TensorLike, v: TensorLike, /) -> Tensor:
    """
    A copy of `x` with the values `v`, repeated as often as needed, at these indices of the flattened `x`.

    >>> sw.put([1, 2, 3], [0, -1], [10, 20])
    array([10,  2, 20])
    """
    x, chosen = as_tensor(x), reshape(ind, (-1,))
    values = resize(cast_to(as_tensor(v), x.dtype), chosen.shape)
    return reshape(scatter_elements(reshape(x, (-1,)), chosen, values), x.shape)


def _rows(x: TensorLike) -> list[Tensor]:
    x = as_tensor(x)
    return [x[number] for number in range(x.shape[0])]


@traceable
def choose(a: TensorLike, choices: TensorLike, /, mode: str = "raise") -> Tensor:
    """
    At each element the one of the `choices` that `a` says; by "wrap" modulo their number, else from 0 to the last.

    >>> sw.choose([1, 0, 1], [[1, 2, 3], [10, 20, 30]])
    array([10,  2, 30])
    """
    chosen = as_tensor(a)
    parts = promoted(*(choices if isinstance(choices, list | tuple) else _rows(choices)))
    if mode == "wrap":
        chosen = chosen % len(parts)
    found = parts[0]
    for number, part in enumerate(parts[1:], 1):
        found = where(chosen >= number, part, found)
    return broadcast_to(found, np.broadcast_shapes(chosen.shape, *(part.shape for part in parts)))


@traceable
def select(
    condlist: Sequence[TensorLike], choicelist: Sequence[TensorLike], default: TensorLike = 0, /
) -> Tensor:
    """
    At each element the choice of the first condition that holds, the default where none does.

    Raises StepwellError for another number of choices than of conditions, and for none.

    >>> sw.select([np.array([True, False]), np.array([True, False])], [[1, 2], [3, 4]], 9)
    array([1, 9])
    """
    if len(condlist) != len(choicelist) or not condlist:
        raise StepwellError(
            f"found {len(condlist)} conditions and {len(choicelist)} choices, expected as many, at least one"
        )
    *choices, found = promoted(*choicelist, default)
    for condition, choice in reversed(list(zip(condlist, choices, strict=True))):
        found = where(condition, choice, found)
    return found


@traceable
def piecewise(x: TensorLike, condlist: Sequence[TensorLike], funclist: Sequence[Any], /) -> Tensor:
    """
    At each element the function, or number, of the last condition that holds; one more is for the rest, which is 0
    otherwise. Every function is computed for all elements.

    Raises StepwellError for another number of functions than of conditions, or one more.

    >>> sw.piecewise([-2, 3], [np.array([True, False])], [lambda x: -x, lambda x: 10 * x])
    array([ 2, 30])
    """
    x = as_tensor(x)
    conditions = condlist if isinstance(condlist, list | tuple) else [condlist]
    if len(funclist) not in (len(conditions), len(conditions) + 1):
        raise StepwellError(
            f"found {len(funclist)} functions for {len(conditions)} conditions, expected as many, or one more"
        )
    results = [cast_to(as_tensor(one(x) if callable(one) else one), x.dtype) for one in funclist]
    found = as_tensor(x.dtype.type(0)) if len(results) == len(conditions) else results[-1]
    for condition, result in zip(conditions, results, strict=False):
        found = where(condition, result, found)
    return broadcast_to(found, x.shape)


@traceable
def unravel_index(indices: TensorLike, shape: int | Sequence[int], /) -> tuple[Tensor, ...]:
    """
    The indices along each axis of elements of the flattened array of a shape.

    >>> sw.unravel_index([2, 3], (2, 3))
    (array([0, 1]), array([2, 0]))
    """
    rest, found = astype(indices, INT64), list[Tensor]()
    for extent in reversed(integers(shape, "shape")):
        found.append(rest % extent)
        rest = rest // extent
    return tuple(reversed(found))


@traceable
def ravel_multi_index(multi_index: Sequence[TensorLike], dims: Sequence[int], /) -> Tensor:
    """
    The index in the flattened array of these extents, of elements by their indices along each axis.

    Raises StepwellError for another number of indices than of extents.

    >>> sw.ravel_multi_index(([0, 1], [2, 0]), (2, 3))
    array([2, 3])
    """
    found: Any = 0
    extents = integers(dims, "dims")
    if len(extents) != len(multi_index):
        raise StepwellError(
            f"found {len(multi_index)} indices for {len(extents)} axes, expected as many"
        )
    for index, extent in zip(multi_index, extents, strict=True):
        found = found * extent + astype(index, INT64)
    return found


@traceable
def ix_(*vectors: TensorLike) -> tuple[Tensor, ...]:
    """
    Vectors of indices, each along an axis of its own, so that they index the grid of all their combinations.

    >>> np.arange(9).reshape(3, 3)[sw.ix_([0, 2], [0, 1])]
    array([[0, 1],
           [6, 7]])
    """
    rank = len(vectors)
    return tuple(
        reshape(vector, [-1 if other == axis else 1 for other in range(rank)])
        for axis, vector in enumerate(vectors)
    )
