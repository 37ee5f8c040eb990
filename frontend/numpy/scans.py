"""Running sums and their kin along an axis."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...dialects import graph
from ...dialects.graph.base import GraphOp
from ...errors import StepwellError
from ..promotion import BOOL, accumulation_dtype, dtype_named
from ..recording import as_tensor, cast_to, record
from ..tensor import Tensor, TensorLike
from ..traceable import traceable
from .arguments import normalized, single_axis
from .creation import full_like
from .joining import concatenate
from .manipulation import astype, ravel


def _scan(
    op: type[GraphOp], x: TensorLike, axis: int | None, dtype: Any, exclusive: bool, reverse: bool
) -> Tensor:
    x = as_tensor(x)
    x = cast_to(x, accumulation_dtype(x.dtype) if dtype is None else dtype_named(dtype))
    if axis is None:
        x, axis = ravel(x), 0
    return record(op, x, single_axis(axis), exclusive, reverse)


@traceable
def cumsum(
    x: TensorLike,
    /,
    axis: int | None = None,
    dtype: Any = None,
    *,
    exclusive: bool = False,
    reverse: bool = False,
) -> Tensor:
    """
    Running sums along an axis, or of the flattened `x`: of all elements up to each, `exclusive` of it, `reverse` from the
    end. Without a `dtype` integers are summed as by `sum`.

    >>> sw.cumsum([[1, 2], [3, 4]], axis=1)
    array([[1, 3],
           [3, 7]])
    """
    return _scan(graph.CumsumOp, x, axis, dtype, exclusive, reverse)


@traceable
def cumprod(
    x: TensorLike,
    /,
    axis: int | None = None,
    dtype: Any = None,
    *,
    exclusive: bool = False,
    reverse: bool = False,
) -> Tensor:
    """
    Running products along an axis, or of the flattened `x`. See `cumsum`.

    >>> sw.cumprod([1, 2, 3, 4])
    array([ 1,  2,  6, 24])
    """
    return _scan(graph.CumprodOp, x, axis, dtype, exclusive, reverse)


@traceable
def cummax(x: TensorLike, /, axis: int | None = None, *, reverse: bool = False) -> Tensor:
    """
    The greatest element up to each along an axis, or of the flattened `x`: `numpy.maximum.accumulate`.

    >>> sw.cummax([1, 3, 2, 5])
    array([1, 3, 3, 5])
    """
    return _extreme_so_far(graph.CummaxOp, x, axis, reverse)


@traceable
def cummin(x: TensorLike, /, axis: int | None = None, *, reverse: bool = False) -> Tensor:
    """
    The least element up to each along an axis, or of the flattened `x`: `numpy.minimum.accumulate`.

    >>> sw.cummin([4, 3, 5, 1])
    array([4, 3, 3, 1])
    """
    return _extreme_so_far(graph.CumminOp, x, axis, reverse)


def _extreme_so_far(
    op: type[graph.CumulativeOp], x: TensorLike, axis: int | None, reverse: bool
) -> Tensor:
    x = as_tensor(x)
    if axis is None:
        x, axis = ravel(x), 0
    axis = normalized(single_axis(axis), x.ndim)
    if x.dtype == BOOL:
        return astype(record(op, astype(x, np.uint8), axis, False, reverse), BOOL)
    return record(op, x, axis, False, reverse)


def _with_initial(
    scan: Callable[..., Tensor], x: TensorLike, axis: Any, dtype: Any, first: int | None
) -> Tensor:
    tensor = as_tensor(x)
    if axis is None and tensor.ndim != 1:
        raise StepwellError(
            f"found a tensor of {tensor.ndim} axes and no axis, expected axis=; name one"
        )
    found = scan(tensor, 0 if axis is None else axis, dtype)
    if first is None:
        return found
    along = normalized(single_axis(0 if axis is None else axis), tensor.ndim)
    shape = [1 if one == along else extent for one, extent in enumerate(found.shape)]
    return concatenate([full_like(found, first, shape=shape), found], along)


@traceable
def cumulative_sum(
    x: TensorLike, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> Tensor:
    """
    Running sums along an axis, from 0 on if `include_initial`. See `cumsum`.

    >>> sw.cumulative_sum([1, 2, 3], include_initial=True)
    array([0, 1, 3, 6])
    """
    return _with_initial(cumsum, x, axis, dtype, 0 if include_initial else None)


@traceable
def cumulative_prod(
    x: TensorLike, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> Tensor:
    """
    Running products along an axis, from 1 on if `include_initial`. See `cumprod`.

    >>> sw.cumulative_prod([2, 3], include_initial=True)
    array([1, 2, 6])
    """
    return _with_initial(cumprod, x, axis, dtype, 1 if include_initial else None)
