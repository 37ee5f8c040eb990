"""Averages, deviations, quantiles and correlations. Integers are averaged in double precision."""

from __future__ import annotations

import builtins
from math import prod
from typing import Any

import numpy as np

from ...dialects import graph
from ...dialects.dtypes import is_float_dtype
from ...errors import StepwellError
from ..promotion import FLOAT64, INT64, division_dtype, dtype_named, is_scalar, result_dtype
from ..recording import as_tensor, cast_to, dtype_of, promoted, record
from ..tensor import Tensor, TensorLike
from ..traceable import traceable
from .arguments import AxisLike, integers, normalized
from .elementwise import maximum, minimum, sqrt, where
from .joining import concatenate, unstack
from .manipulation import broadcast_to, expand_dims, moveaxis, ravel, reshape
from .predicates import isnan
from .products import matmul
from .reductions import counted, mean, only, sum
from .reductions import mean as mean_of
from .selection import take, take_along_axis
from .sorting import sort
from .sorting_networks import MOST_IN_NETWORK, in_order


def reduced_axes(x: Tensor, axis: AxisLike) -> tuple[int, ...]:
    """The axes that are reduced, counted from 0."""
    if axis is None:
        return tuple(range(x.ndim))
    return tuple(normalized(one, x.ndim) for one in integers(axis, "axis"))


def averaged(x: TensorLike, dtype: Any = None) -> Tensor:
    """The operand in the dtype in which it is averaged."""
    tensor = as_tensor(x)
    return cast_to(tensor, division_dtype(tensor.dtype) if dtype is None else dtype_named(dtype))


@traceable
def var(
    x: TensorLike,
    /,
    axis: AxisLike = None,
    dtype: Any = None,
    *,
    ddof: float = 0,
    keepdims: bool = False,
    mean: TensorLike = None,
    correction: float | None = None,
    where: TensorLike = None,
) -> Tensor:
    """
    The variance: the sum of the squared distances from the mean, divided by their number less `ddof` (`correction` in the
    array API), of the elements where `where` holds. A `mean` that is known already has extent 1 on the reduced axes.

    Floats stay in their dtype, integers are computed in float64; the reduced axes are left out of the shape, or
    have extent 1 with `keepdims`.

    >>> sw.var([1.0, 3.0], ddof=1)
    array(2.)
    """
    tensor = averaged(x, dtype)
    axes = reduced_axes(tensor, axis)
    center = mean_of(tensor, axes, keepdims=True, where=where) if mean is None else mean
    distance = tensor - center
    total = record(graph.SumOp, only(distance * distance, where, 0), axes, keepdims)
    less = ddof if correction is None else correction
    if where is not None and where is not True:
        return total / maximum(counted(where, tensor, axes, keepdims) - float(less), 0)
    count = prod(tensor.shape[one] for one in axes) - less
    return total / tensor.dtype.type(builtins.max(count, 0))


@traceable
def std(
    x: TensorLike,
    /,
    axis: AxisLike = None,
    dtype: Any = None,
    *,
    ddof: float = 0,
    keepdims: bool = False,
    mean: TensorLike = None,
    correction: float | None = None,
    where: TensorLike = None,
) -> Tensor:
    """
    The standard deviation: the square root of the variance. See `var`.

    >>> sw.std([1.0, 3.0])
    array(1.)
    """
    less = ddof if correction is None else correction
    return sqrt(var(x, axis, dtype, ddof=less, keepdims=keepdims, mean=mean, where=where))


@traceable
def average(
    x: TensorLike,
    /,
    axis: AxisLike = None,
    weights: TensorLike = None,
    returned: bool = False,
    *,
    keepdims: bool = False,
) -> Any:
    """
    The mean, with `weights` of the shape of `x`, or along the one axis; if `returned`, the sum of the weights too.

    Raises StepwellError for weights of another shape.

    >>> sw.average([1.0, 2.0], weights=[3, 1])
    array(1.25)
    """
    if weights is None:
        tensor = averaged(x)
        found = mean(tensor, axis, keepdims=keepdims)
        count = prod(tensor.shape[one] for one in reduced_axes(tensor, axis))
        total = broadcast_to(as_tensor(found.dtype.type(count)), found.shape)
        return (found, total) if returned else found
    tensor, weight = promoted(x, weights, to=division_dtype)
    if weight.shape != tensor.shape:
        if axis is None or weight.ndim != 1 or len(reduced_axes(tensor, axis)) != 1:
            raise StepwellError(
                f"found weights of shape {list(weight.shape)} for {list(tensor.shape)}, expected the same shape, or a "
                "vector and one axis; broadcast them"
            )
        (along,) = reduced_axes(tensor, axis)
        weight = reshape(weight, [-1 if one == along else 1 for one in range(tensor.ndim)])
    weight = broadcast_to(weight, tensor.shape)
    total = sum(weight, axis, keepdims=keepdims)
    found = sum(tensor * weight, axis, keepdims=keepdims) / total
    return (found, total) if returned else found


# Quantiles.

_METHODS = ("linear", "lower", "higher", "nearest", "midpoint")


def last_of(x: Tensor, axis: AxisLike) -> Tensor:
    """The reduced axes as one, the last."""
    axes = reduced_axes(x, axis)
    kept = [one for one in range(x.ndim) if one not in axes]
    moved = record(graph.TransposeOp, x, [*kept, *axes])
    return reshape(moved, (*(x.shape[one] for one in kept), prod(x.shape[one] for one in axes)))


def kept_as_ones(found: Tensor, x: Tensor, axis: AxisLike, keepdims: bool) -> Tensor:
    """The result with extents of 1 in place of the reduced axes, if they are kept."""
    if not keepdims:
        return found
    axes = reduced_axes(x, axis)
    shape = [1 if one in axes else extent for one, extent in enumerate(x.shape)]
    return reshape(found, (*found.shape[: found.ndim - x.ndim + len(axes)], *shape))


def _at(position: Any, method: str) -> tuple[Any, Any, Any]:
    """
    The two neighbours of a position in a row, and how far it is from the first, if not at it; of a known position NumPy's
    functions compute arrays, of a traced one Tensors.
    """
    below, above = np.floor(position), np.ceil(position)
    if method in ("lower", "higher"):
        return (below, below, None) if method == "lower" else (above, above, None)
    if method == "nearest":
        # Halves to the even one, as NumPy.
        one = np.rint(position)
        return one, one, None
    if method == "midpoint":
        return below, above, (below != above) * 0.5
    return below, above, position - below


_FEW = 8
"""Known places of a sorted row, at most, that are read one by one, so that the rest of the row need not be sorted."""


def _elements(row: Tensor, places: Any) -> Tensor:
    """Those of sorted rows at places, which are the same for all rows if they are known."""
    if isinstance(places, Tensor):
        return take_along_axis(row, cast_to(places, INT64), -1)
    known = [int(place) for place in places]
    if len(known) > _FEW:
        return take(row, np.asarray(known), -1)
    return concatenate([row[..., place : place + 1] for place in known], -1)


def _between(row: Tensor, position: Tensor | np.ndarray, method: str) -> Tensor:
    """The elements of sorted rows at positions, which have the rows' axes but the last, or are known and those of all rows."""
    below, above, part = _at(position, method)
    low = _elements(row, below)
    if part is None:
        return low
    high = _elements(row, above)
    part = cast_to(as_tensor(part), row.dtype)
    # From the nearer end, as NumPy, so that the upper one is met exactly.
    distance = high - low
    return where(part >= 0.5, high - distance * (1 - part), low + distance * part)


def interpolated(x: Tensor, q: TensorLike, method: str) -> Tensor:
    """The elements in the dtype of their quantiles: that of elements and fractions, or of the elements if these are chosen."""
    if method in ("lower", "higher", "nearest"):
        return x
    return cast_to(x, result_dtype([averaged(x).dtype, q if is_scalar(q) else dtype_of(q)]))


def sorted_rows(x: Tensor, q: TensorLike, axis: AxisLike, method: str) -> Tensor:
    """
    The reduced axes as one, the last, sorted, in the dtype of the quantiles.

    Raises StepwellError for other methods, and for fractions `q` that are known and not from 0 to 1.
    """
    if method not in _METHODS:
        raise StepwellError(
            f"found method {method!r:.30}, expected one of {', '.join(_METHODS)}; name one"
        )
    if not isinstance(q, Tensor) and not all(0 <= one <= 1 for one in np.ravel(q)):
        raise StepwellError(
            "found a fraction below 0 or above 1, expected quantiles of 0 to 1 (percentiles of 0 to 100); give another q"
        )
    return sort(last_of(interpolated(x, q, method), axis), -1)


def at_fractions(row: Tensor, q: TensorLike, last: TensorLike, method: str) -> Tensor:
    """The values at fractions `q` of the way to the position `last` of sorted rows, with the axes of `q` in front."""
    if not isinstance(q, Tensor) and isinstance(last, float):
        known = np.asarray(q, np.float64)
        found = moveaxis(_between(row, known.ravel() * last, method), -1, 0)
        return reshape(found, (*known.shape, *found.shape[1:]))
    fractions = cast_to(as_tensor(q), FLOAT64)
    flat = reshape(fractions, (-1,))
    position = broadcast_to(flat * last, (*row.shape[:-1], flat.shape[0]))
    found = moveaxis(_between(row, position, method), -1, 0)
    return reshape(found, (*fractions.shape, *found.shape[1:]))


@traceable
def quantile(
    x: TensorLike,
    q: TensorLike,
    /,
    axis: AxisLike = None,
    *,
    method: str = "linear",
    keepdims: bool = False,
) -> Tensor:
    """
    The values that the fractions `q` of the elements are below, the axes of `q` in front; NaN where an element is NaN.
    `method` is one of linear, lower, higher, nearest and midpoint.

    Raises StepwellError for no elements, and for a method that is none of these.

    >>> sw.quantile([1.0, 2.0, 3.0], 0.25)
    array(1.5)
    """
    tensor = as_tensor(x)
    row = sorted_rows(tensor, q, axis, method)
    if not row.shape[-1]:
        raise StepwellError("found no elements to take a quantile of, expected at least one")
    found = at_fractions(row, q, float(row.shape[-1] - 1), method)
    if is_float_dtype(row.dtype):
        last = row[..., -1]
        found = where(isnan(last), last, found)
    return kept_as_ones(found, tensor, axis, keepdims)


@traceable
def percentile(
    x: TensorLike,
    q: TensorLike,
    /,
    axis: AxisLike = None,
    *,
    method: str = "linear",
    keepdims: bool = False,
) -> Tensor:
    """
    The values that `q` percent of the elements are below. See `quantile`.

    >>> sw.percentile([1.0, 2.0, 3.0], [50, 75])
    array([2. , 2.5])
    """
    return quantile(x, fraction_of(q), axis, method=method, keepdims=keepdims)


def fraction_of(percent: TensorLike) -> TensorLike:
    """Percent as a fraction; a Python number stays one, and an array one."""
    if is_scalar(percent):
        return float(percent) / 100
    if isinstance(percent, Tensor):
        return cast_to(percent, FLOAT64) / 100
    return np.asarray(percent, np.float64) / 100


@traceable
def median(x: TensorLike, /, axis: AxisLike = None, *, keepdims: bool = False) -> Tensor:
    """
    The middle element, or the mean of the two in the middle; NaN where an element is NaN.

    Raises StepwellError for no elements.

    >>> sw.median([[3, 1, 2], [9, 7, 8]], axis=1)
    array([2., 8.])
    """
    tensor = averaged(x)
    row = last_of(tensor, axis)
    count = row.shape[-1]
    if not count:
        raise StepwellError("found no elements to take a median of, expected at least one")
    if count <= MOST_IN_NETWORK:
        parts = in_order(unstack(row, axis=-1))
        half = row.dtype.type(0.5)
        both = parts[(count - 1) // 2] * half + parts[count // 2] * half
        return kept_as_ones(parts[count // 2] if count % 2 else both, tensor, axis, keepdims)
    row = sort(row, -1)
    found = mean(row[..., (count - 1) // 2 : count // 2 + 1], -1)
    last = row[..., -1]
    return kept_as_ones(where(isnan(last), last, found), tensor, axis, keepdims)


# Correlations.


@traceable
def cov(
    x: TensorLike,
    y: TensorLike = None,
    /,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
) -> Tensor:
    """
    The covariances of the rows of `x`, and of `y`, or of the columns unless `rowvar`; in double precision, as NumPy's.

    >>> sw.cov([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]])
    array([[ 1., -1.],
           [-1.,  1.]])
    """
    rows = _rows(averaged(x, FLOAT64), rowvar)
    if y is not None:
        rows = concatenate([rows, _rows(averaged(y, FLOAT64), rowvar)], 0)
    count = rows.shape[1] - (ddof if ddof is not None else 0 if bias else 1)
    distance = rows - mean(rows, 1, keepdims=True)
    found = matmul(distance, record(graph.TransposeOp, distance, None)) / builtins.max(count, 0)
    return reshape(found, ()) if found.shape == (1, 1) else found


def _rows(x: Tensor, rowvar: bool) -> Tensor:
    if x.ndim < 2:
        return reshape(x, (1, -1))
    return x if rowvar else record(graph.TransposeOp, x, None)


@traceable
def corrcoef(x: TensorLike, y: TensorLike = None, /, rowvar: bool = True) -> Tensor:
    """
    The correlation coefficients of the rows of `x`, and of `y`, or of the columns unless `rowvar`.

    >>> sw.corrcoef([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]])
    array([[ 1., -1.],
           [-1.,  1.]])
    """
    found = cov(x, y, rowvar)
    if not found.ndim:
        return found / found
    deviation = sqrt(take_diagonal(found))
    quotient = found / expand_dims(deviation, 1) / expand_dims(deviation, 0)
    return maximum(minimum(quotient, quotient.dtype.type(1)), quotient.dtype.type(-1))


def take_diagonal(x: Tensor) -> Tensor:
    """The diagonal of a square matrix."""
    return take(ravel(x), np.arange(x.shape[0]) * (x.shape[0] + 1))
