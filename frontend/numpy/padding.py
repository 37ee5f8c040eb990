"""`pad`: arrays with elements before and after them."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np

from ...dialects import graph
from ...errors import StepwellError
from ..promotion import is_scalar, scalar_array
from ..recording import as_tensor, cast_to, record
from ..tensor import Tensor, TensorLike
from ..traceable import traceable
from .elementwise import rint
from .manipulation import broadcast_to
from .reductions import max, mean, min
from .selection import take

_BY_INDEX = ("edge", "reflect", "symmetric", "wrap")
"""Modes whose new elements are elements of the array, at indices that NumPy's own pad gives."""

_STATISTICS: dict[str, Callable[..., Tensor]] = {"maximum": max, "minimum": min, "mean": mean}

MOST_RUNS = 8
"""Of more slices than this the indices cost less."""

_MODES = ("constant", "empty", *_BY_INDEX, *_STATISTICS)


@traceable
def pad(
    x: TensorLike,
    /,
    pad_width: int | Sequence[int] | Sequence[Sequence[int]],
    mode: str = "constant",
    *,
    constant_values: Any = 0,
) -> Tensor:
    """
    `x` with elements before and after it on each axis. `pad_width` is one number, (before, after), or such a pair for each
    axis; so is `constant_values`. `mode` is one of NumPy's but `linear_ramp` and `median`; statistics are those of the
    whole axis.

    Raises StepwellError for another `mode`.

    >>> sw.pad([1, 2, 3], (2, 1), mode="edge")
    array([1, 1, 1, 2, 3, 3])
    """
    x = as_tensor(x)
    if mode not in _MODES:
        raise StepwellError(
            f"found mode {mode!r:.30} in pad, expected one of {', '.join(_MODES)}; concatenate slices of the tensor"
        )
    widths = _widths(pad_width, x.ndim)
    if mode in ("constant", "empty"):
        return _with_constants(x, widths, constant_values)
    for axis, (before, after) in enumerate(widths.tolist()):
        if not before and not after:
            continue
        if mode in _STATISTICS:
            x = _with_statistic(x, axis, before, after, mode)
            continue
        if not x.shape[axis]:
            raise StepwellError(f"found an axis of no elements to pad by '{mode}', expected some")
        extent = x.shape[axis]
        found = np.pad(np.arange(extent), (before, after), mode)  # pyright: ignore[reportArgumentType, reportCallIssue, reportUnknownVariableType]
        indices = cast("np.ndarray", found)
        x = _by_index(x, axis, indices[:before], indices[before + extent :])
    return x


def pad_or_cut(x: TensorLike, widths: Sequence[tuple[int, int]], value: Any) -> Tensor:
    """
    `x` with `value` around it, so many before and after it on each axis; less than 0 cuts elements off, where no others are left
    those that the other end would have.

    Raises StepwellError where more is cut off than there is.
    """
    x = as_tensor(x)
    kept: list[slice] = []
    more: list[tuple[int, int]] = []
    for extent, (before, after) in zip(x.shape, widths, strict=True):
        count = extent + before + after
        if count < 0:
            raise StepwellError(
                f"found padding of {before} and {after} on an axis of {extent}, expected at least {-extent} together; cut "
                "less off"
            )
        first, last = builtins.max(0, -before), extent + builtins.min(0, after)
        is_gone = first > last
        kept.append(slice(0) if is_gone else slice(first, last))
        more.append((count, 0) if is_gone else (builtins.max(0, before), builtins.max(0, after)))
    if any(one != slice(0, extent) for one, extent in zip(kept, x.shape, strict=True)):
        x = x[tuple(kept)]
    return pad(x, more, constant_values=value)


def _by_index(x: Tensor, axis: int, before: np.ndarray, after: np.ndarray) -> Tensor:
    """
    `x` between its elements at indices along an axis: joined of slices, where the indices are few runs with one step.

    A slice is copied to its place whole; what is gathered is an element at a time.
    """
    first, last = _runs(before), _runs(after)
    if len(first) + len(last) > MOST_RUNS:
        return take(x, np.concatenate([before, np.arange(x.shape[axis]), after]), axis)
    return record(
        graph.ConcatOp,
        [
            *(_slice_at(x, axis, run) for run in first),
            x,
            *(_slice_at(x, axis, run) for run in last),
        ],
        axis,
    )


def _slice_at(x: Tensor, axis: int, indices: np.ndarray) -> Tensor:
    """The elements at indices that are all as far from one another."""
    first, last = int(indices[0]), int(indices[-1])
    step = int(indices[1]) - first if len(indices) > 1 else 1
    if not step:
        shape = (*x.shape[:axis], len(indices), *x.shape[axis + 1 :])
        return broadcast_to(_slice_at(x, axis, indices[:1]), shape)
    stop = last + step
    whole = (slice(None),) * axis
    return x[(*whole, slice(first, None if stop < 0 else stop, step))]


def _runs(indices: np.ndarray) -> list[np.ndarray]:
    """The indices in runs of which each is as far from the one before it as the second from the first."""
    runs: list[np.ndarray] = []
    while len(indices):
        turns = np.flatnonzero(np.diff(indices, 2))
        count = int(turns[0]) + 2 if len(turns) else len(indices)
        runs.append(indices[:count])
        indices = indices[count:]
    return runs


def _widths(pad_width: Any, rank: int) -> np.ndarray:
    """(before, after) of each axis. Raises StepwellError for what is not so."""
    try:
        widths = np.broadcast_to(np.asarray(pad_width), (rank, 2))
        if widths.dtype.kind not in "iu" and widths.size:
            raise ValueError
    except ValueError:
        raise StepwellError(
            f"found pad_width {pad_width!r:.60} for a tensor of {rank} axes, expected integers: one, a pair "
            "(before, after), or a pair for each axis"
        ) from None
    return widths


def _with_constants(x: Tensor, widths: np.ndarray, constant_values: Any) -> Tensor:
    if is_scalar(constant_values) or isinstance(constant_values, np.generic):
        number = _number(constant_values, x.dtype)
        return record(graph.PadOp, x, widths[:, 0].tolist(), widths[:, 1].tolist(), number)
    try:
        values = np.broadcast_to(np.asarray(constant_values), (x.ndim, 2))
    except ValueError:
        values = None
    if values is None or values.dtype.kind not in "biuf":
        raise StepwellError(
            f"found constant_values {constant_values!r:.60}, expected a number, a pair (before, after), or a pair for "
            "each axis"
        )
    zeros = np.zeros(x.ndim, np.int64)
    for axis, pair in enumerate(values):
        for side, value in enumerate(pair):
            sides = [zeros.copy(), zeros.copy()]
            sides[side][axis] = widths[axis, side]
            number = _number(value, x.dtype)
            x = record(graph.PadOp, x, sides[0].tolist(), sides[1].tolist(), number)
    return x


def _number(value: Any, dtype: np.dtype) -> Any:
    array = scalar_array(value, dtype) if type(value) is int else np.asarray(value)
    with np.errstate(invalid="ignore"):
        return array.astype(dtype)[()]


def _with_statistic(x: Tensor, axis: int, before: int, after: int, mode: str) -> Tensor:
    value = _STATISTICS[mode](x, axis, keepdims=True)
    if value.dtype != x.dtype:
        # The mean of integers: NumPy rounds it, halves to the even one.
        value = cast_to(rint(value), x.dtype)

    def repeated(count: int) -> Tensor:
        return broadcast_to(value, (*x.shape[:axis], count, *x.shape[axis + 1 :]))

    return record(graph.ConcatOp, [repeated(before), x, repeated(after)], axis)
