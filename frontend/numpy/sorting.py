"""Elements in order, and where they are found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...dialects import graph
from ...dialects.dtypes import is_float_dtype
from ...errors import StepwellError
from ..promotion import INT64
from ..recording import as_tensor, promoted, record_all
from ..tensor import Tensor, TensorLike
from ..traceable import traceable
from .arguments import integers, normalized, single_axis
from .creation import full_like
from .elementwise import less, minimum, where
from .joining import unstack
from .manipulation import flip, ravel
from .predicates import isnan
from .selection import take, take_along_axis


def ordered(
    x: TensorLike, axis: int | None, descending: bool, *, values_only: bool = False
) -> tuple[Tensor, ...]:
    x = as_tensor(x)
    if axis is None:
        x, axis = ravel(x), 0
    return record_all(graph.SortOp, x, single_axis(axis), descending, None, values_only=values_only)


@traceable
def sort(
    x: TensorLike,
    /,
    axis: int | None = -1,
    kind: str | None = None,
    *,
    descending: bool = False,
    stable: bool = True,
) -> Tensor:
    """
    The elements in order along an axis, or of the flattened `x`; NaN is above every number. The order of equal elements is
    kept, whatever `kind` and `stable` are.

    >>> sw.sort([[3, 1, 2], [9, 7, 8]])
    array([[1, 2, 3],
           [7, 8, 9]])
    """
    return ordered(x, axis, descending, values_only=True)[0]


@traceable
def argsort(
    x: TensorLike,
    /,
    axis: int | None = -1,
    kind: str | None = None,
    *,
    descending: bool = False,
    stable: bool = True,
) -> Tensor:
    """
    The indices that put the elements in order along an axis; equal ones keep theirs. int64.

    >>> sw.argsort([3, 1, 2])
    array([1, 2, 0])
    """
    return ordered(x, axis, descending)[1]


@traceable
def topk(
    x: TensorLike, k: int, /, axis: int = -1, *, largest: bool = True, sorted: bool = True
) -> list[Tensor]:
    """
    The `k` largest, or smallest, elements along an axis in order, and their indices (ONNX TopK, `torch.topk`). Of equal
    elements the one with the lower index comes first. `sorted` is for other libraries' callers: the order always holds.

    Raises StepwellError for a `k` of more elements than the axis has.

    >>> sw.topk([3, 1, 4, 2], 2)
    [array([4, 3]), array([2, 0])]
    """
    x = as_tensor(x)
    axis = normalized(single_axis(axis), x.ndim)
    (count,) = integers(k, "k")
    if not 0 <= count <= x.shape[axis]:
        raise StepwellError(
            f"found k = {count} for an axis of {x.shape[axis]} elements, expected 0 to {x.shape[axis]}"
        )
    first = (slice(None),) * axis + (slice(count),)
    return [each[first] for each in ordered(x, axis, largest)]


@traceable
def partition(x: TensorLike, kth: int | Sequence[int], /, axis: int | None = -1) -> Tensor:
    """
    The elements so that the kth is where sorting puts it, lesser ones before it: all of them in order.

    >>> sw.partition([3, 1, 2], 1)
    array([1, 2, 3])
    """
    _check_kth(as_tensor(x), kth, axis)
    return sort(x, axis)


@traceable
def argpartition(x: TensorLike, kth: int | Sequence[int], /, axis: int | None = -1) -> Tensor:
    """
    The indices that put the kth element where sorting puts it, lesser ones before it: those of the sorted order.

    >>> sw.argpartition([3, 1, 2], 1)
    array([1, 2, 0])
    """
    _check_kth(as_tensor(x), kth, axis)
    return argsort(x, axis)


def _check_kth(x: Tensor, kth: Any, axis: int | None) -> None:
    extent = x.size if axis is None else x.shape[normalized(single_axis(axis), x.ndim)]
    for one in integers(kth, "kth"):
        normalized(one, extent, "kth")


@traceable
def lexsort(keys: TensorLike, /, axis: int = -1) -> Tensor:
    """
    The indices that put in order by the last key, where equal by the one before it, and so on.

    Raises StepwellError for no keys.

    >>> sw.lexsort([[2, 1, 1], [1, 1, 0]])
    array([2, 1, 0])
    """
    rows: list[Any] = [*(keys if isinstance(keys, list | tuple) else unstack(keys))]
    if not rows:
        raise StepwellError("found no keys in lexsort, expected at least one; give one")
    order = argsort(rows[0], axis)
    for row in rows[1:]:
        order = take_along_axis(order, argsort(take_along_axis(row, order, axis), axis), axis)
    return order


# Searching in sorted rows.


@traceable
def searchsorted(
    x: TensorLike, v: TensorLike, /, side: str = "left", sorter: TensorLike = None
) -> Tensor:
    """
    Where to put each `v` into the sorted vector `x` so that it stays sorted: before elements equal to it, behind them by
    side="right". int64. By halving, all `v` at once.

    Raises StepwellError for a side that is neither, and for an `x` of other axes than one.

    >>> sw.searchsorted([1, 3, 5], [3, 4], side="right")
    array([2, 2])
    """
    if side not in ("left", "right"):
        raise StepwellError(f"found side {side!r:.20}, expected 'left' or 'right'; name one")
    row, sought = promoted(x, v)
    if row.ndim != 1:
        raise StepwellError(
            f"found a tensor of {row.ndim} axes to search in, expected one; ravel it"
        )
    if sorter is not None:
        row = take(row, sorter)
    count = row.shape[0]
    found = full_like(sought, 0, INT64)
    step = 1 << max(count.bit_length() - 1, 0)
    while step and count:
        # All elements before `found` go before v; try so many more.
        place = found + step
        here = take(row, minimum(place, count) - 1)
        goes_before = _is_below(here, sought) if side == "left" else ~_is_below(sought, here)
        found = where((place <= count) & goes_before, place, found)
        step //= 2
    return found


def _is_below(x: Tensor, y: Tensor) -> Tensor:
    """Whether x is sorted before y: NaN comes last."""
    below = less(x, y)
    return below | ~isnan(x) & isnan(y) if is_float_dtype(x.dtype) else below


@traceable
def digitize(x: TensorLike, bins: TensorLike, /, right: bool = False) -> Tensor:
    """
    The number of the bin of each element, between edges that rise or fall: 0 before the first. A bin has its lower edge,
    or its upper one if `right`.

    >>> sw.digitize([0.5, 1.0, 2.5], [0, 1, 2])
    array([1, 2, 3])
    """
    edges = as_tensor(bins)
    side = "left" if right else "right"
    rising = searchsorted(edges, x, side)
    falling = edges.shape[0] - searchsorted(flip(edges), x, side)
    if edges.shape[0] < 2:
        return rising
    return where(edges[0] <= edges[-1], rising, falling)
