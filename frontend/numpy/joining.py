"""Arrays joined and cut."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, cast

import numpy as np

from ...dialects import graph
from ...errors import StepwellError
from ..promotion import dtype_named
from ..recording import as_tensor, cast_to, promoted, record, record_all
from ..tensor import Tensor, TensorLike
from ..traceable import traceable
from .arguments import integers, normalized, single_axis
from .manipulation import atleast_1d, atleast_2d, atleast_3d, broadcast_to, ravel, reshape
from .selection import take


def _operands(arrays: Sequence[TensorLike]) -> Sequence[TensorLike]:
    if type(arrays) in (list, tuple) and len(arrays):
        return arrays
    raise StepwellError(
        f"found {'an empty' if type(arrays) in (list, tuple) else 'a'} {type(arrays).__name__} to join, "
        "expected a list or tuple of at least one tensor; put them in one"
    )


@traceable
def concatenate(arrays: Sequence[TensorLike], /, axis: int | None = 0) -> Tensor:
    """
    Arrays joined along an axis; all other extents must be equal. With `axis=None` each is flattened first.

    The result has the common dtype. Raises StepwellError for no arrays, and for extents or numbers of axes that
    differ.

    >>> sw.concatenate([[[1, 2]], [[3, 4], [5, 6]]], axis=0)
    array([[1, 2],
           [3, 4],
           [5, 6]])
    """
    tensors = promoted(*_operands(arrays))
    if axis is None:
        tensors = [record(graph.ReshapeOp, tensor, (-1,)) for tensor in tensors]
    return record(graph.ConcatOp, tensors, single_axis(axis or 0))


concat = concatenate


@traceable
def stack(arrays: Sequence[TensorLike], /, axis: int = 0) -> Tensor:
    """
    Arrays of one shape joined along a new axis.

    The result has one axis more, of as many elements as there are arrays, and the common dtype.

    >>> sw.stack([[1, 2], [3, 4]], axis=1)
    array([[1, 3],
           [2, 4]])
    """
    tensors = promoted(*_operands(arrays))
    axis = normalized(single_axis(axis), tensors[0].ndim + 1)
    return record(
        graph.ConcatOp, [record(graph.ExpandDimsOp, tensor, axis) for tensor in tensors], axis
    )


@traceable
def split(
    x: TensorLike, indices_or_sections: int | Sequence[int], /, axis: int = 0
) -> list[Tensor]:
    """
    `x` cut along an axis: into so many equal parts, or before each of these indices.

    Raises StepwellError when it cannot be cut into equal parts.

    >>> sw.split([1, 2, 3, 4], 2)
    [array([1, 2]), array([3, 4])]
    """
    x = as_tensor(x)
    axis = normalized(single_axis(axis), x.ndim)
    extent = x.shape[axis]
    if isinstance(indices_or_sections, list | tuple | np.ndarray):
        cuts = [slice(cut).indices(extent)[1] for cut in integers(indices_or_sections, "indices")]
        bounds = [0, *cuts, extent]
        if bounds != sorted(bounds):
            raise StepwellError(
                f"found indices {list(indices_or_sections)} to split at, expected them in order"
            )
        sizes = [end - start for start, end in pairwise(bounds)]
    else:
        (count,) = integers(indices_or_sections, "the number of parts")
        if count < 1 or extent % count:
            raise StepwellError(
                f"found {count} parts for an extent of {extent}, expected a number that divides it; give the "
                "indices to split at"
            )
        sizes = [extent // count] * count
    return list(record_all(graph.SplitOp, x, sizes, axis))


def _each(function: Any, arrays: Sequence[TensorLike]) -> list[Tensor]:
    return [function(array) for array in _operands(arrays)]


@traceable
def vstack(arrays: Sequence[TensorLike], /, *, dtype: Any = None) -> Tensor:
    """
    Arrays one below the other: joined along the first axis, vectors as rows.

    >>> sw.vstack([[1, 2], [3, 4]])
    array([[1, 2],
           [3, 4]])
    """
    return _converted(concatenate(_each(atleast_2d, arrays), 0), dtype)


row_stack = vstack


@traceable
def hstack(arrays: Sequence[TensorLike], /, *, dtype: Any = None) -> Tensor:
    """
    Arrays side by side: joined along the second axis, vectors along their only one.

    >>> sw.hstack([[[1], [2]], [[3], [4]]])
    array([[1, 3],
           [2, 4]])
    """
    parts = _each(atleast_1d, arrays)
    return _converted(concatenate(parts, 0 if parts[0].ndim == 1 else 1), dtype)


@traceable
def dstack(arrays: Sequence[TensorLike], /) -> Tensor:
    """
    Arrays behind each other: joined along the third axis.

    >>> sw.dstack([[1, 2], [3, 4]])
    array([[[1, 3],
            [2, 4]]])
    """
    return concatenate(_each(atleast_3d, arrays), 2)


@traceable
def column_stack(arrays: Sequence[TensorLike], /) -> Tensor:
    """
    Vectors as the columns of a matrix, and matrices beside them.

    >>> sw.column_stack([[1, 2], [3, 4]])
    array([[1, 3],
           [2, 4]])
    """
    tensors = _each(as_tensor, arrays)
    return concatenate([each if each.ndim > 1 else reshape(each, (-1, 1)) for each in tensors], 1)


def _converted(x: Tensor, dtype: Any) -> Tensor:
    return x if dtype is None else cast_to(x, dtype_named(dtype))


@traceable
def block(arrays: Any, /) -> Tensor:
    """
    Arrays joined as they are nested in lists: the innermost along the last axis, the next along the one before.

    >>> sw.block([[np.eye(2, dtype=int), np.zeros((2, 1), int)]])
    array([[1, 0, 0],
           [0, 1, 0]])
    """
    depth = _depth(arrays)
    rank = max([depth, *(as_tensor(leaf).ndim for leaf in _leaves(arrays))])

    def joined(part: Any, level: int) -> Tensor:
        if not isinstance(part, list):
            tensor = as_tensor(part)
            return reshape(tensor, (*[1] * (rank - tensor.ndim), *tensor.shape))
        return concatenate(
            [joined(each, level + 1) for each in cast("list[Any]", part)], rank - depth + level
        )

    return joined(arrays, 0)


def _leaves(arrays: Any) -> list[Any]:
    if not isinstance(arrays, list):
        return [arrays]
    return [leaf for part in cast("list[Any]", arrays) for leaf in _leaves(part)]


def _depth(arrays: Any) -> int:
    if not isinstance(arrays, list):
        return 0
    depths = {_depth(part) for part in cast("list[Any]", arrays)}
    if len(depths) != 1:
        raise StepwellError(
            "found lists of different depths in block, or an empty one; nest all equally"
        )
    return 1 + depths.pop()


@traceable
def append(x: TensorLike, values: TensorLike, /, axis: int | None = None) -> Tensor:
    """
    `x` with `values` behind it along an axis; without one, both flattened.

    >>> sw.append([1, 2], [[3, 4]])
    array([1, 2, 3, 4])
    """
    return concatenate([x, values], axis)


def _positions(places: Any, extent: int, what: str) -> np.ndarray:
    """Python's index, slice or indices of an axis as numbers from 0, known while tracing."""
    if isinstance(places, Tensor):
        raise StepwellError(
            f"found traced positions to {what}, expected known ones, as the result's shape follows from them; use "
            "stepwell.where to select elements"
        )
    if isinstance(places, slice):
        return np.arange(*cast("slice[Any, Any, Any]", places).indices(extent))
    array = np.asarray(places)
    if array.dtype == np.bool_:
        return np.flatnonzero(array)
    if array.dtype.kind not in "iu" and array.size:
        raise StepwellError(f"found positions of {array.dtype} to {what}, expected integers")
    found = array.astype(np.int64)
    limit = extent if what == "insert at" else extent - 1
    if found.size and not (-extent <= found.min() and found.max() <= limit):
        raise StepwellError(
            f"found positions {found.tolist()!r:.60} to {what}, expected {-extent} to {limit} of an axis of {extent}"
        )
    return np.where(found < 0, found + extent, found)


@traceable
def delete(x: TensorLike, obj: Any, /, axis: int | None = None) -> Tensor:
    """
    `x` without these positions, known while tracing, of an axis, or of the flattened `x`.

    >>> sw.delete([1, 2, 3, 4], [0, 2])
    array([2, 4])
    """
    x = as_tensor(x)
    if axis is None:
        x, axis = ravel(x), 0
    axis = normalized(single_axis(axis), x.ndim)
    kept = np.ones(x.shape[axis], np.bool_)
    kept[_positions(obj, x.shape[axis], "delete")] = False
    return take(x, np.flatnonzero(kept), axis)


@traceable
def insert(x: TensorLike, obj: Any, values: TensorLike, /, axis: int | None = None) -> Tensor:
    """
    `x` with `values` before these positions, known while tracing, of an axis, or of the flattened `x`.

    >>> sw.insert([1, 2, 3], 1, 9)
    array([1, 9, 2, 3])
    """
    x = as_tensor(x)
    if axis is None:
        x, axis = ravel(x), 0
    axis = normalized(single_axis(axis), x.ndim)
    extent = x.shape[axis]
    places = _positions(obj, extent, "insert at")
    added = cast_to(as_tensor(values), x.dtype)
    is_number = not places.ndim
    if is_number and added.ndim:
        # As NumPy: at one position, the first axis of the values is the axis.
        added = reshape(added, (*[1] * (x.ndim - added.ndim), *added.shape))
        moved = [*range(1, axis + 1), 0, *range(axis + 1, x.ndim)]
        added = record(graph.TransposeOp, added, moved)
    count = added.shape[axis] if is_number and added.ndim else places.size
    if places.size == 1:
        places = np.repeat(places.reshape(-1), count)
    shape = (*x.shape[:axis], places.size, *x.shape[axis + 1 :])
    both = record(graph.ConcatOp, [x, broadcast_to(added, shape)], axis)
    # Where each element of the result is in x with the values behind it.
    order = np.argsort(places, kind="stable")
    source: np.ndarray = np.insert(np.arange(extent), places[order], extent + order)  # pyright: ignore[reportUnknownArgumentType]
    return take(both, source, axis)


@traceable
def array_split(
    x: TensorLike, indices_or_sections: int | Sequence[int], /, axis: int = 0
) -> list[Tensor]:
    """
    `x` cut along an axis into so many parts, the first of them longer by one where it must be. See `split`.

    Raises StepwellError for fewer parts than one.

    >>> sw.array_split([1, 2, 3, 4, 5], 2)
    [array([1, 2, 3]), array([4, 5])]
    """
    x = as_tensor(x)
    try:
        count = operator.index(cast("Any", indices_or_sections))
    except TypeError:
        return split(x, indices_or_sections, axis)
    if count < 1:
        raise StepwellError(f"found {count} parts, expected at least 1; name a number")
    axis = normalized(single_axis(axis), x.ndim)
    small, longer = divmod(x.shape[axis], count)
    sizes = [small + 1] * longer + [small] * (count - longer)
    return split(x, np.cumsum(sizes)[:-1].tolist(), axis)


@traceable
def hsplit(x: TensorLike, indices_or_sections: int | Sequence[int], /) -> list[Tensor]:
    """
    `x` cut along its second axis, a vector along its only one. See `split`.

    >>> sw.hsplit([[1, 2], [3, 4]], 2)
    [array([[1],
           [3]]), array([[2],
           [4]])]
    """
    x = as_tensor(x)
    return split(x, indices_or_sections, 0 if x.ndim == 1 else 1)


@traceable
def vsplit(x: TensorLike, indices_or_sections: int | Sequence[int], /) -> list[Tensor]:
    """
    `x` cut along its first axis. See `split`.

    >>> sw.vsplit([[1, 2], [3, 4]], 2)
    [array([[1, 2]]), array([[3, 4]])]
    """
    return split(x, indices_or_sections, 0)


@traceable
def dsplit(x: TensorLike, indices_or_sections: int | Sequence[int], /) -> list[Tensor]:
    """
    `x` cut along its third axis. See `split`.

    >>> [part.shape for part in sw.dsplit(np.zeros((2, 3, 4)), 2)]
    [(2, 3, 2), (2, 3, 2)]
    """
    return split(x, indices_or_sections, 2)


@traceable
def unstack(x: TensorLike, /, *, axis: int = 0) -> tuple[Tensor, ...]:
    """
    The slices of an axis, without it.

    >>> sw.unstack([[1, 2], [3, 4]])
    (array([1, 2]), array([3, 4]))
    """
    x = as_tensor(x)
    axis = normalized(single_axis(axis), x.ndim)
    cuts = [*range(1, x.shape[axis])]
    parts = split(x, cuts, axis) if x.shape[axis] else []
    return tuple(record(graph.SqueezeOp, part, (axis,)) for part in parts)
