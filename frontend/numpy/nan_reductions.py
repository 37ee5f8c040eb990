"""Reductions and running sums that leave NaN out. Of integers and bool they are those without `nan` in their names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...dialects.dtypes import is_float_dtype
from ..promotion import FLOAT64
from ..recording import as_tensor, cast_to
from ..tensor import Tensor, TensorLike
from ..traceable import traceable
from .arguments import AxisLike
from .elementwise import maximum, sqrt, where
from .predicates import isnan
from .reductions import all, argmax, argmin, count_nonzero, max, min, prod, sum
from .scans import cumprod, cumsum
from .statistics import (
    at_fractions,
    averaged,
    fraction_of,
    kept_as_ones,
    quantile,
    sorted_rows,
    var,
)


def _filled(x: TensorLike, value: float) -> Tensor:
    """The elements, with a number in place of NaN."""
    tensor = as_tensor(x)
    if not is_float_dtype(tensor.dtype):
        return tensor
    return where(isnan(tensor), tensor.dtype.type(value), tensor)


@traceable
def nansum(
    x: TensorLike, /, axis: AxisLike = None, dtype: Any = None, *, keepdims: bool = False
) -> Tensor:
    """
    The sum of the elements that are not NaN.

    >>> sw.nansum([[1.0, np.nan], [3.0, 4.0]], axis=1)
    array([1., 7.])
    """
    return sum(_filled(x, 0), axis, dtype, keepdims=keepdims)


@traceable
def nanprod(
    x: TensorLike, /, axis: AxisLike = None, dtype: Any = None, *, keepdims: bool = False
) -> Tensor:
    """
    The product of the elements that are not NaN.

    >>> sw.nanprod([2.0, np.nan, 3.0])
    array(6.)
    """
    return prod(_filled(x, 1), axis, dtype, keepdims=keepdims)


@traceable
def nancumsum(x: TensorLike, /, axis: int | None = None, dtype: Any = None) -> Tensor:
    """
    Running sums, NaN taken for 0.

    >>> sw.nancumsum([2.0, np.nan, 3.0])
    array([2., 2., 5.])
    """
    return cumsum(_filled(x, 0), axis, dtype)


@traceable
def nancumprod(x: TensorLike, /, axis: int | None = None, dtype: Any = None) -> Tensor:
    """
    Running products, NaN taken for 1.

    >>> sw.nancumprod([2.0, np.nan, 3.0])
    array([2., 2., 6.])
    """
    return cumprod(_filled(x, 1), axis, dtype)


def _extreme(
    found: Callable[..., Tensor], x: TensorLike, axis: AxisLike, keepdims: bool, beyond: float
) -> Tensor:
    tensor = as_tensor(x)
    if not is_float_dtype(tensor.dtype):
        return found(tensor, axis, keepdims=keepdims)
    is_nothing = all(isnan(tensor), axis, keepdims=keepdims)
    extreme = found(_filled(tensor, beyond), axis, keepdims=keepdims)
    return where(is_nothing, tensor.dtype.type(np.nan), extreme)


@traceable
def nanmax(x: TensorLike, /, axis: AxisLike = None, *, keepdims: bool = False) -> Tensor:
    """
    The greatest element that is not NaN; NaN where all are.

    >>> sw.nanmax([[1.0, np.nan], [np.nan, 4.0]], axis=1)
    array([1., 4.])
    """
    return _extreme(max, x, axis, keepdims, -np.inf)


@traceable
def nanmin(x: TensorLike, /, axis: AxisLike = None, *, keepdims: bool = False) -> Tensor:
    """
    The least element that is not NaN; NaN where all are.

    >>> sw.nanmin([[1.0, np.nan], [3.0, 4.0]], axis=1)
    array([1., 3.])
    """
    return _extreme(min, x, axis, keepdims, np.inf)


@traceable
def nanargmax(x: TensorLike, /, axis: int | None = None, *, keepdims: bool = False) -> Tensor:
    """
    Where the greatest element is that is not NaN; 0 where all are, for which NumPy raises an error.

    >>> sw.nanargmax([1.0, np.nan, 3.0])
    array(2)
    """
    return argmax(_filled(x, -np.inf), axis, keepdims=keepdims)


@traceable
def nanargmin(x: TensorLike, /, axis: int | None = None, *, keepdims: bool = False) -> Tensor:
    """
    Where the least element is that is not NaN; 0 where all are, for which NumPy raises an error.

    >>> sw.nanargmin([np.nan, 1.0, 3.0])
    array(1)
    """
    return argmin(_filled(x, np.inf), axis, keepdims=keepdims)


def _count(x: Tensor, axis: AxisLike, keepdims: bool) -> Tensor:
    """How many elements are not NaN."""
    return count_nonzero(~isnan(x), axis, keepdims=keepdims)


@traceable
def nanmean(
    x: TensorLike, /, axis: AxisLike = None, dtype: Any = None, *, keepdims: bool = False
) -> Tensor:
    """
    The mean of the elements that are not NaN; NaN where all are.

    >>> sw.nanmean([[1.0, np.nan], [3.0, 4.0]], axis=1)
    array([1. , 3.5])
    """
    tensor = averaged(x, dtype)
    count = cast_to(_count(tensor, axis, keepdims), tensor.dtype)
    return sum(_filled(tensor, 0), axis, keepdims=keepdims) / count


@traceable
def nanvar(
    x: TensorLike,
    /,
    axis: AxisLike = None,
    dtype: Any = None,
    *,
    ddof: float = 0,
    keepdims: bool = False,
) -> Tensor:
    """
    The variance of the elements that are not NaN; NaN where there are not more than `ddof`.

    >>> sw.nanvar([1.0, np.nan, 3.0], ddof=1)
    array(2.)
    """
    tensor = averaged(x, dtype)
    if tensor.dtype == FLOAT64 and not is_float_dtype(as_tensor(x).dtype):
        return var(tensor, axis, ddof=ddof, keepdims=keepdims)
    distance = tensor - nanmean(tensor, axis, keepdims=True)
    distance = where(isnan(tensor), tensor.dtype.type(0), distance)
    count = cast_to(_count(tensor, axis, keepdims), tensor.dtype) - float(ddof)
    total = sum(distance * distance, axis, keepdims=keepdims)
    return where(count > 0, total / count, tensor.dtype.type(np.nan))


@traceable
def nanstd(
    x: TensorLike,
    /,
    axis: AxisLike = None,
    dtype: Any = None,
    *,
    ddof: float = 0,
    keepdims: bool = False,
) -> Tensor:
    """
    The standard deviation of the elements that are not NaN. See `nanvar`.

    >>> sw.nanstd([1.0, np.nan, 3.0])
    array(1.)
    """
    return sqrt(nanvar(x, axis, dtype, ddof=ddof, keepdims=keepdims))


@traceable
def nanquantile(
    x: TensorLike,
    q: TensorLike,
    /,
    axis: AxisLike = None,
    *,
    method: str = "linear",
    keepdims: bool = False,
) -> Tensor:
    """
    The values that the fractions `q` of the elements that are not NaN are below; NaN where all are.

    >>> sw.nanquantile([1.0, np.nan, 3.0], [0.0, 0.5])
    array([1., 2.])
    """
    tensor = as_tensor(x)
    if not is_float_dtype(tensor.dtype):
        return quantile(tensor, q, axis, method=method, keepdims=keepdims)
    # NaN comes last, so that the others are a row from the first on.
    row = sorted_rows(tensor, q, axis, method)
    count = count_nonzero(~isnan(row), -1, keepdims=True)
    found = at_fractions(row, q, cast_to(maximum(count - 1, np.int64(0)), FLOAT64), method)
    return kept_as_ones(found, tensor, axis, keepdims)


@traceable
def nanpercentile(
    x: TensorLike,
    q: TensorLike,
    /,
    axis: AxisLike = None,
    *,
    method: str = "linear",
    keepdims: bool = False,
) -> Tensor:
    """
    The values that `q` percent of the elements that are not NaN are below. See `nanquantile`.

    >>> sw.nanpercentile([1.0, np.nan, 3.0], 50)
    array(2.)
    """
    return nanquantile(x, fraction_of(q), axis, method=method, keepdims=keepdims)


@traceable
def nanmedian(x: TensorLike, /, axis: AxisLike = None, *, keepdims: bool = False) -> Tensor:
    """
    The middle element of those that are not NaN, or the mean of the two in the middle; NaN where all are.

    >>> sw.nanmedian([1.0, np.nan, 3.0])
    array(2.)
    """
    return nanquantile(averaged(x), 0.5, axis, method="midpoint", keepdims=keepdims)
