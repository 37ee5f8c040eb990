"""`x[key]`, as NumPy has it, in terms of slice, squeeze, gather, expand_dims and transpose."""

from __future__ import annotations

import operator
from types import EllipsisType
from typing import Any, cast

import numpy as np

from ...dialects import graph
from ...errors import StepwellError
from ...frozen import frozen
from ..promotion import INT64, is_scalar
from ..recording import as_tensor, cast_to, record
from ..tensor import Tensor, TensorLike
from ..traceable import traceable

_GREATEST = np.iinfo(np.int64).max


@frozen
class _Plan:
    """
    What to do, in order: slice every axis, drop the axes an integer chose, gather along those that arrays index, and put
    in new axes.
    """

    slices: tuple[slice, ...]
    dropped: tuple[int, ...]
    gathered: tuple[tuple[int, Any], ...]
    """Axes, as they are then, and their indices."""
    place: int
    """Where the axes of the indices are in the result, before the new axes are put in."""
    new_axes: tuple[int, ...]


@traceable
def getitem(x: Tensor, key: Any, /) -> Tensor:
    """
    `x[key]` for integers, slices, None, Ellipsis, arrays of integers, which broadcast, and masks that are known. An index
    out of range that is known only at run time is moved to the nearest in range.

    Raises StepwellError for other keys, and for indices known and out of range.
    """
    plan = _plan(x.shape, key)
    if any(part != slice(None) for part in plan.slices):
        x = record(graph.SliceOp, x, plan.slices)
    if plan.dropped:
        x = record(graph.SqueezeOp, x, plan.dropped)
    if plan.gathered:
        x = _gathered(x, plan)
    if plan.new_axes:
        x = record(graph.ExpandDimsOp, x, plan.new_axes)
    return x


def _gathered(x: Tensor, plan: _Plan) -> Tensor:
    """The elements along the axes that arrays index, whose own axes stand at their place."""
    axes = [axis for axis, _ in plan.gathered]
    indices = [index_tensor(index, x.shape[axis]) for axis, index in plan.gathered]
    if len(axes) == 1:
        found = record(graph.GatherOp, x, indices[0], axes[0])
        return _moved(found, axes[0], indices[0].ndim, plan.place)
    indices = [cast_to(index, INT64) for index in indices]
    try:
        shape = np.broadcast_shapes(*(index.shape for index in indices))
    except ValueError:
        shapes = " and ".join(str(list(index.shape)) for index in indices)
        raise StepwellError(
            f"found arrays of indices of shapes {shapes}, expected ones that broadcast; reshape them, or use stepwell.ix_"
        ) from None
    others = [axis for axis in range(x.ndim) if axis not in axes]
    x = record(graph.TransposeOp, x, [*axes, *others])
    tuples = [
        record(graph.ExpandDimsOp, record(graph.BroadcastToOp, index, shape), (len(shape),))
        for index in indices
    ]
    found = record(graph.GatherNdOp, x, record(graph.ConcatOp, tuples, len(shape)), 0)
    return _moved(found, 0, len(shape), plan.place)


def _moved(x: Tensor, start: int, count: int, to: int) -> Tensor:
    """So many axes from one position on moved to another."""
    if start == to or not count:
        return x
    moved = list(range(start, start + count))
    order = [axis for axis in range(x.ndim) if axis not in moved]
    order[to:to] = moved
    return record(graph.TransposeOp, x, order)


def index_tensor(indices: TensorLike, extent: int) -> Tensor:
    """Indices into an axis, in a dtype that gather takes. Raises StepwellError for others."""
    if is_scalar(indices) or isinstance(indices, list | tuple):
        array = np.asarray(cast("Any", indices))
        indices = array if array.size else array.astype(INT64)
    dtype = getattr(indices, "dtype", None)
    if not isinstance(dtype, np.dtype) or dtype.kind not in "iu":
        raise StepwellError(
            f"found indices of {dtype or type(indices).__name__}, expected integers; convert them, or select "
            "by a condition with stepwell.where"
        )
    is_taken = dtype.kind == "i" and dtype.itemsize >= 4
    if isinstance(indices, Tensor):
        wide = INT64 if dtype.itemsize >= 4 else np.dtype(np.int32)
        return indices if is_taken else cast_to(indices, wide)
    array = np.asarray(indices).astype(np.int64)
    if array.size and not (-extent <= array.min() and array.max() < extent):
        raise StepwellError(
            f"found index {array.min() if array.min() < -extent else array.max()} for an axis of extent "
            f"{extent}, expected {-extent} to {extent - 1}"
        )
    return as_tensor(indices if is_taken else array, INT64)


def _plan(shape: tuple[int, ...], key: Any) -> _Plan:
    parts = expanded(key, shape)
    slices: list[slice] = []
    dropped: list[int] = []
    arrays: list[tuple[int, Any]] = []
    kept = 0  # axes of the sliced and squeezed tensor so far
    advanced: list[int] = []  # positions in the key of what NumPy calls advanced indices
    before = 0  # axes of the result before the first array of indices, without new ones
    for number, part in enumerate(parts):
        if part is None or part is Ellipsis:
            continue
        axis = len(slices)
        if isinstance(part, slice):
            slices.append(_integer_slice(cast("slice[Any, Any, Any]", part)))
            kept += 1
            continue
        advanced.append(number)
        if (integer := _integer(part)) is not None:
            dropped.append(axis)
            start = _in_range(integer, shape[axis], axis)
            slices.append(slice(start, start + 1))
            continue
        before = before if arrays else kept
        slices.append(slice(None))
        arrays.append((kept, part))
        kept += 1
    # Advanced indices that are not side by side put their axes first.
    apart = bool(advanced) and advanced[-1] - advanced[0] != len(advanced) - 1
    rank = max((_rank(part) for _, part in arrays), default=0)
    return _Plan(
        tuple(slices),
        tuple(dropped),
        tuple(arrays),
        0 if apart else before,
        _new_axes(parts, 0 if apart else None, rank),
    )


def _new_axes(parts: list[Any], first: int | None, rank: int) -> tuple[int, ...]:
    """Where in the result the axes of None are; `rank` axes of arrays of indices are first, or where the first array is."""
    found: list[int] = []
    position, is_placed = (0, False) if first is None else (rank, True)
    for part in parts:
        if part is None:
            found.append(position)
        if part is None or isinstance(part, slice):
            position += 1
        elif part is not Ellipsis and not is_placed and _integer(part) is None:
            position, is_placed = position + rank, True
    return tuple(found)


def _rank(part: Any) -> int:
    return part.ndim if isinstance(part, Tensor) else np.ndim(part)


def is_mask(part: Any) -> bool:
    """Whether a part of a key selects by a condition."""
    if isinstance(part, list | tuple):
        part = _array_of(cast("Any", part)) if not _has_tensor(part) else None
    return getattr(part, "dtype", None) == np.bool_ and not isinstance(part, np.bool_)


def _array_of(indices: list[Any] | tuple[Any, ...]) -> np.ndarray:
    try:
        return np.asarray(indices)
    except ValueError:
        raise StepwellError(
            f"found the {type(indices).__name__} {indices!r:.60} as an index, expected rows of equal lengths; for one "
            "list for each axis write x[rows, columns]"
        ) from None


def _has_tensor(value: Any) -> bool:
    return isinstance(value, Tensor) or (
        isinstance(value, list | tuple) and any(map(_has_tensor, cast("list[Any]", value)))
    )


def _indices_of_mask(mask: Any, extents: tuple[int, ...]) -> list[np.ndarray]:
    """Where a known mask holds, along each of its axes. Raises StepwellError for a traced one, and one of other extents."""
    if isinstance(mask, Tensor):
        raise StepwellError(
            f"found the mask {mask!r} as an index, expected a known one, as the shape of what it selects follows from its "
            "elements; use stepwell.where(mask, x, y), stepwell.extract(mask, x, size=n), or x.at[mask].set(value)"
        )
    array = np.asarray(mask)
    if array.shape != extents[: array.ndim] or not array.ndim:
        raise StepwellError(
            f"found a mask of shape {list(array.shape)} for axes of {list(extents)}, expected equal extents; reshape it"
        )
    return list(np.nonzero(array))


def parts_of(key: Any) -> list[Any]:
    """A key as the list of its parts."""
    return list(cast("tuple[Any, ...]", key)) if isinstance(key, tuple) else [key]


def _axes_of(part: Any) -> int:
    """How many axes a part of a key indexes."""
    if part is None or part is Ellipsis:
        return 0
    return _rank(part) if is_mask(part) else 1


def expanded(key: Any, shape: tuple[int, ...]) -> list[Any]:
    """
    The parts of a key, with what is missing, and what the Ellipsis stands for behind it, written as full slices, and masks
    as arrays of indices.
    """
    parts, rank = parts_of(key), len(shape)
    used = sum(map(_axes_of, parts))
    ellipses = [number for number, part in enumerate(parts) if isinstance(part, EllipsisType)]
    if used > rank or len(ellipses) > 1:
        what = "two Ellipses" if len(ellipses) > 1 else f"{used} indices"
        raise StepwellError(
            f"found {what} in a subscript of a tensor of {rank} axes, expected at most "
            f"{'one' if len(ellipses) > 1 else rank}; remove some"
        )
    # The Ellipsis stays: even where it stands for no axes, the arrays around it are not side by side.
    at = ellipses[0] + 1 if ellipses else len(parts)
    parts[at:at] = [slice(None)] * (rank - used)
    found: list[Any] = []
    axis = 0
    for part in parts:
        count = _axes_of(part)
        found += _indices_of_mask(part, shape[axis:]) if is_mask(part) else [part]
        axis += count
    return found


def _integer(part: Any) -> int | None:
    """The index if it is one integer; None for an array of them."""
    if isinstance(part, bool | np.bool_):
        raise StepwellError(
            f"found {part} as an index, expected an integer, slice, None or an array of integers; select by a "
            "condition with stepwell.where"
        )
    if isinstance(part, Tensor | np.ndarray | list | tuple):
        return None
    try:
        return operator.index(part)
    except TypeError:
        raise StepwellError(
            f"found a {type(part).__name__} as an index, expected an integer, slice, None, Ellipsis or an "
            "array of integers; convert it"
        ) from None


def _in_range(index: int, extent: int, axis: int) -> int:
    if -extent <= index < extent:
        return index % extent
    raise StepwellError(
        f"found index {index} on axis {axis} of extent {extent}, expected "
        + (f"{-extent} to {extent - 1}" if extent else "a slice, as there are no elements")
    )


def _integer_slice(part: slice[Any, Any, Any]) -> slice:
    """The slice with Python integers of 64 bits: no extent is beyond these, so that greater ones say the same."""
    try:
        bounds = [
            None if bound is None else max(-_GREATEST, min(operator.index(bound), _GREATEST))
            for bound in (part.start, part.stop, part.step)
        ]
    except (TypeError, StepwellError):
        raise StepwellError(
            f"found {part}, expected integers or None in a slice, as shapes are fixed while tracing; for a start that is "
            "traced use stepwell.dynamic_slice(x, starts, sizes)"
        ) from None
    return slice(*bounds)
