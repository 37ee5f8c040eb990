"""
Elements found by their values: where they are not zero, those that a condition selects, how many fall into bins.

Results of as many elements as the data says need `size=` in a traced function, where shapes are fixed: what is beyond it is
left out, and what is missing is `fill_value`. On arrays alone they have the size that NumPy gives them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...dialects import graph
from ...errors import StepwellError
from ..promotion import FLOAT64, INT64, is_scalar
from ..recording import EagerRecording, active_recording, as_tensor, cast_to, record
from ..tensor import Tensor, TensorLike
from ..traceable import traceable
from .arguments import integers
from .compaction import compress_and_count, nonzero_and_count
from .counting import iota
from .creation import linspace
from .differences import diff
from .elementwise import clip, where
from .joining import concatenate, stack
from .manipulation import astype, broadcast_to, ravel, reshape
from .reductions import max, min, sum
from .selection import take
from .sorting import searchsorted


def size_of(count: Tensor, size: int | None, name: str) -> int:
    """`size=`, or the count itself where it is known: outside of traced functions. Raises StepwellError elsewhere."""
    if size is not None:
        (given,) = integers(size, "size")
        if given < 0:
            raise StepwellError(f"found size {given} in {name}, expected at least 0; mend it")
        return given
    recording = active_recording()
    if isinstance(recording, EagerRecording):
        return int(recording.value(count))
    raise StepwellError(
        f"found {name} without size= in a traced function, whose shapes are fixed, expected the number of elements; "
        "give size=, or select with stepwell.where"
    )


def fitted(x: Tensor, count: Tensor, size: int, fill_value: TensorLike, axis: int = 0) -> Tensor:
    """The first elements of an axis, so many of which count, as `size` elements with `fill_value` in place of the rest."""
    before = (slice(None),) * axis
    x = x[(*before, slice(None, size))]
    fill = cast_to(as_tensor(fill_value), x.dtype)
    along = [-1 if one == axis else 1 for one in range(x.ndim)]
    found = where(reshape(iota(x.shape[axis]), along) < count, x, fill)
    missing = (*x.shape[:axis], size - x.shape[axis], *x.shape[axis + 1 :])
    return concatenate([found, broadcast_to(fill, missing)], axis) if missing[axis] else found


@traceable
def nonzero(
    x: TensorLike, /, *, size: int | None = None, fill_value: TensorLike = 0
) -> tuple[Tensor, ...]:
    """
    Where the elements are that are not zero, in row-major order: the indices along each axis.

    In a traced function `size` says how many are asked for: fewer are followed by `fill_value`, more are left out.

    Raises StepwellError for a tensor without axes, and in a traced function without `size`.

    >>> rows, columns = sw.nonzero([[0, 1], [2, 0]])
    >>> rows, columns
    (array([0, 1]), array([1, 0]))
    """
    x = as_tensor(x)
    if not x.ndim:
        raise StepwellError(
            "found a tensor without axes in nonzero, expected at least one; reshape it"
        )
    found, count = nonzero_and_count(x)
    size = size_of(count, size, "nonzero")
    return tuple(fitted(found[axis], count, size, fill_value) for axis in range(x.ndim))


@traceable
def argwhere(x: TensorLike, /, *, size: int | None = None, fill_value: TensorLike = 0) -> Tensor:
    """
    Where the elements are that are not zero, in row-major order: a row of indices for each.

    >>> sw.argwhere([[0, 1], [2, 0]])
    array([[0, 1],
           [1, 0]])
    """
    return stack(nonzero(x, size=size, fill_value=fill_value), 1)


@traceable
def flatnonzero(x: TensorLike, /, *, size: int | None = None, fill_value: TensorLike = 0) -> Tensor:
    """
    Where the elements of the flattened `x` are that are not zero.

    >>> sw.flatnonzero([[0, 1], [2, 0]])
    array([1, 2])
    """
    return nonzero(ravel(x), size=size, fill_value=fill_value)[0]


@traceable
def compress(
    condition: TensorLike,
    x: TensorLike,
    /,
    axis: int | None = None,
    *,
    size: int | None = None,
    fill_value: TensorLike = 0,
) -> Tensor:
    """
    The slices of an axis, or the elements of the flattened `x`, where `condition`, which may be shorter, holds.

    >>> sw.compress([True, False], [[1, 2], [3, 4]], axis=1)
    array([[1],
           [3]])
    """
    x = as_tensor(x)
    found, count = compress_and_count(condition, x, axis)
    along = 0 if axis is None else axis % x.ndim
    return fitted(found, count, size_of(count, size, "compress"), fill_value, along)


@traceable
def extract(
    condition: TensorLike, x: TensorLike, /, *, size: int | None = None, fill_value: TensorLike = 0
) -> Tensor:
    """
    The elements of `x` where `condition`, of its shape, holds.

    >>> sw.extract([True, False, True], [5, 6, 7])
    array([5, 7])
    """
    return compress(ravel(condition), x, size=size, fill_value=fill_value)


# How many there are.


@traceable
def bincount(
    x: TensorLike, /, weights: TensorLike = None, minlength: int = 0, *, length: int | None = None
) -> Tensor:
    """
    How often each number from 0 on occurs, or the sum of the `weights` there. In a traced function `length` says how many
    numbers are counted.

    Raises StepwellError for what is no vector of integers, and in a traced function without `length`.

    >>> sw.bincount([0, 2, 2], minlength=4)
    array([1, 0, 2, 0])
    """
    numbers = as_tensor(x)
    if numbers.dtype.kind not in "iu" or numbers.ndim != 1:
        raise StepwellError(
            f"found {numbers!r} in bincount, expected a vector of integers; convert it"
        )
    if length is None:
        greatest = astype(max(numbers), INT64) + 1 if numbers.size else as_tensor(np.int64(0))
        recording = active_recording()
        if not isinstance(recording, EagerRecording):
            raise StepwellError(
                "found bincount without length= in a traced function, whose shapes are fixed, expected how many numbers "
                "are counted; give length="
            )
        length = int(np.maximum(recording.value(greatest), minlength))
    return counted(astype(numbers, INT64), length, weights)


def counted(places: Tensor, length: int, weights: TensorLike) -> Tensor:
    """How often each place occurs, or the sum of the weights there; what is out of range is not counted."""
    value = as_tensor(np.ones(1, np.int64)) if weights is None else ravel(weights)
    if weights is not None:
        value = cast_to(value, FLOAT64)
    zeros = broadcast_to(as_tensor(np.zeros((), value.dtype)), (length,))
    # A negative index would count from the end.
    index = where(places < 0, np.int64(length), places)
    return record(graph.ScatterElementsOp, zeros, index, value, 0, "add")


@traceable
def histogram_bin_edges(
    x: TensorLike, /, bins: int | TensorLike = 10, range: Sequence[TensorLike] | None = None
) -> Tensor:
    """
    The edges of so many bins of equal width between the least and the greatest element, or over a range.

    Raises StepwellError for a number of bins below 1, and for NumPy's names of rules.

    >>> sw.histogram_bin_edges([0.0, 4.0], bins=4)
    array([0., 1., 2., 3., 4.])
    """
    numbers = ravel(x)
    if isinstance(bins, str):
        raise StepwellError(
            f"found bins {bins!r:.20}, expected a number, or edges; count them with NumPy"
        )
    if not is_scalar(bins) and not isinstance(bins, np.integer):
        return as_tensor(bins)
    (count,) = integers(bins, "bins")
    if count < 1:
        raise StepwellError(f"found {count} bins, expected at least 1; mend the number")
    dtype = numbers.dtype if numbers.dtype.kind == "f" else FLOAT64
    if range is None:
        lower, upper = (min(numbers), max(numbers)) if numbers.size else (0.0, 1.0)
    else:
        lower, upper = range
        if is_scalar(lower) and is_scalar(upper):
            return as_tensor(np.histogram_bin_edges(np.zeros(0, dtype), count, (lower, upper)))
    first, last = cast_to(as_tensor(lower), dtype), cast_to(as_tensor(upper), dtype)
    half = where(first == last, dtype.type(0.5), dtype.type(0))
    return linspace(first - half, last + half, count + 1)


def _equal_bin(numbers: Tensor, edges: Tensor) -> Tensor:
    """
    The bin of each number between edges of equal distance, or their count outside. Where it is computed is next to the
    right one at most, as sums round: the edges decide.
    """
    count = edges.shape[0] - 1
    first, last = edges[0], edges[-1]
    x = cast_to(numbers, edges.dtype)
    at = (x - first) * (count / (last - first))
    inside = (x >= first) & (x <= last)
    place = astype(clip(where(inside, at, 0), 0, count - 1), INT64)
    place = where(x < take(edges, place), place - 1, place)
    place = where((x >= take(edges, place + 1)) & (place < count - 1), place + 1, place)
    return where(inside, place, np.int64(count))


def _constant_bin(
    numbers: Tensor,
    count: int,
    range: Sequence[TensorLike] | None,
    dtype: np.dtype,
) -> Tensor | None:
    """`_equal_bin` where the range is known and its edges are those that `graph.equal_bins` computes again."""
    if range is None or not all(map(is_scalar, range)) or count > graph.MAX_BINS:
        return None
    low, high = map(float, range)
    edges = np.histogram_bin_edges(np.zeros(0, dtype), count, (low, high))
    first, last = map(float, np.histogram_bin_edges(np.zeros(0), 1, (low, high)))
    if not np.array_equal(edges, graph.EqualBinsOp.edges(first, last, count, dtype)):
        return None
    return record(graph.EqualBinsOp, cast_to(numbers, dtype), first, last, count)


@traceable
def histogram(
    x: TensorLike,
    /,
    bins: int | TensorLike = 10,
    range: Sequence[TensorLike] | None = None,
    density: bool | None = None,
    weights: TensorLike = None,
) -> tuple[Tensor, Tensor]:
    """
    How many elements fall into each bin, or the sum of their `weights`, and the edges of the bins; with `density` divided by
    the total and the widths. The last bin has its upper edge.

    >>> sw.histogram([1.0, 2.0, 2.5, 4.0], bins=3)
    (array([1, 2, 1]), array([1., 2., 3., 4.]))
    """
    numbers = ravel(x)
    edges = histogram_bin_edges(numbers, bins, range)
    count = edges.shape[0] - 1
    if is_scalar(bins) or isinstance(bins, np.integer):
        place = _constant_bin(numbers, count, range, edges.dtype)
        if place is None:
            place = _equal_bin(numbers, edges)
    else:
        place = searchsorted(edges, numbers, "right") - 1
        place = where(numbers == edges[-1], np.int64(count - 1), place)
    counts = counted(place, count, weights)
    if weights is not None:
        counts = cast_to(counts, as_tensor(weights).dtype)
    if density:
        width = cast_to(diff(edges), FLOAT64)
        counts = counts / width / sum(counts)
    return counts, edges
