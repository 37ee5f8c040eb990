"""`x[key]`, as NumPy has it, in terms of slice, squeeze, gather, expand_dims and transpose."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from types import EllipsisType
from typing import Any, cast

import numpy as np

from ...dialects import graph
from ...errors import StepwellError
from ..promotion import INT64, is_scalar
from ..recording import as_tensor, cast_to, record
from ..tensor import Tensor, TensorLike
from ..traceable import traceable


@dataclass(frozen=True)
class _Plan:
    """
    What to do, in order: slice every axis, drop the axes an integer chose, gather along one of those left,
    put in new axes, and move the axes of the gathered indices to the front.
    """

    slices: tuple[slice, ...]
    dropped: tuple[int, ...]
    gather_axis: int | None
    indices: Any
    new_axes: tuple[int, ...]
    to_front: tuple[int, ...]


@traceable
def getitem(x: Tensor, key: Any, /) -> Tensor:
    """
    `x[key]` for integers, slices, None, Ellipsis and one array of integers.

    Raises StepwellError for other keys, and for indices out of range.
    """
    plan = _plan(x.shape, key)
    if any(part != slice(None) for part in plan.slices):
        x = record(graph.SliceOp, x, plan.slices)
    if plan.dropped:
        x = record(graph.SqueezeOp, x, plan.dropped)
    if plan.gather_axis is not None:
        indices = index_tensor(plan.indices, x.shape[plan.gather_axis])
        x = record(graph.GatherOp, x, indices, plan.gather_axis)
    if plan.new_axes:
        x = record(graph.ExpandDimsOp, x, plan.new_axes)
    if plan.to_front:
        others = [axis for axis in range(x.ndim) if axis not in plan.to_front]
        x = record(graph.TransposeOp, x, (*plan.to_front, *others))
    return x


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
    if isinstance(indices, Tensor):
        return cast_to(indices, np.dtype(np.int32)) if dtype.itemsize == 1 else indices
    array = np.asarray(indices).astype(np.int64)
    if array.size and not (-extent <= array.min() and array.max() < extent):
        raise StepwellError(
            f"found index {array.min() if array.min() < -extent else array.max()} for an axis of extent "
            f"{extent}, expected {-extent} to {extent - 1}"
        )
    return as_tensor(indices if dtype.itemsize > 2 else array, INT64)


def _plan(shape: tuple[int, ...], key: Any) -> _Plan:
    parts = _expanded(key, len(shape))
    slices: list[slice] = []
    dropped: list[int] = []
    new_axes: list[int] = []
    kept = 0  # axes of the sliced and squeezed tensor so far
    position = 0  # axes of the result so far
    gather_axis: int | None = None
    indices: Any = None
    index_axes: tuple[int, ...] = ()
    advanced: list[int] = []  # positions in the key of what NumPy calls advanced indices
    for number, part in enumerate(parts):
        if part is None:
            new_axes.append(position)
            position += 1
            continue
        if isinstance(part, slice):
            slices.append(_integer_slice(cast("slice[Any, Any, Any]", part)))
            kept += 1
            position += 1
            continue
        advanced.append(number)
        axis = len(slices)
        if (integer := _integer(part)) is not None:
            dropped.append(axis)
            start = _in_range(integer, shape[axis], axis)
            slices.append(slice(start, start + 1))
            continue
        if gather_axis is not None:
            raise StepwellError(
                "found two arrays of indices in one subscript, expected at most one; index in two steps"
            )
        slices.append(slice(None))
        gather_axis, indices = kept, part
        rank = np.ndim(part) if not isinstance(part, Tensor) else part.ndim
        index_axes = tuple(range(position, position + rank))
        kept += 1
        position += rank
    # Advanced indices that are not side by side put their axes first.
    apart = bool(advanced) and advanced[-1] - advanced[0] != len(advanced) - 1
    return _Plan(
        tuple(slices),
        tuple(dropped),
        gather_axis,
        indices,
        tuple(new_axes),
        index_axes if apart and index_axes and index_axes[0] else (),
    )


def _expanded(key: Any, rank: int) -> list[Any]:
    """The parts of a key, the Ellipsis and what is missing at the end written as full slices."""
    parts: list[Any] = list(cast("tuple[Any, ...]", key)) if isinstance(key, tuple) else [key]
    used = sum(part is not None and part is not Ellipsis for part in parts)
    ellipses = [number for number, part in enumerate(parts) if isinstance(part, EllipsisType)]
    if used > rank or len(ellipses) > 1:
        found = "two Ellipses" if len(ellipses) > 1 else f"{used} indices"
        raise StepwellError(
            f"found {found} in a subscript of a tensor of {rank} axes, expected at most "
            f"{'one' if len(ellipses) > 1 else rank}; remove some"
        )
    full = [slice(None)] * (rank - used)
    if not ellipses:
        return [*parts, *full]
    return [*parts[: ellipses[0]], *full, *parts[ellipses[0] + 1 :]]


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
    """The slice with Python integers."""
    try:
        bounds = [
            None if bound is None else operator.index(bound)
            for bound in (part.start, part.stop, part.step)
        ]
    except TypeError:
        raise StepwellError(
            f"found {part}, expected integers or None in a slice; convert them"
        ) from None
    return slice(*bounds)
