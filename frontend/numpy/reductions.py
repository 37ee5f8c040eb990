"""Reductions: sums, means, extremes along axes. `axis` is one axis or several; without it, all of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...dialects import graph
from ...dialects.graph.base import GraphOp
from ...errors import StepwellError
from ..promotion import BOOL, INT64, accumulation_dtype, division_dtype, dtype_named
from ..recording import as_tensor, cast_to, record
from ..tensor import Tensor, TensorLike
from ..traceable import traceable
from .arguments import AxisLike, axes_of, single_axis
from .elementwise import maximum, minimum
from .elementwise import where as chosen
from .manipulation import broadcast_to


def _accumulated(x: TensorLike, dtype: Any, default: Callable[[np.dtype], np.dtype]) -> Tensor:
    """The operand in the dtype a reduction is computed in: `dtype=`, or what is the default."""
    tensor = as_tensor(x)
    return cast_to(tensor, default(tensor.dtype) if dtype is None else dtype_named(dtype))


def only(x: Tensor, where: TensorLike, instead: int) -> Tensor:
    """The operand with a number that changes nothing in place of the elements that `where=` leaves out."""
    return x if where is None or where is True else chosen(where, x, as_tensor(instead, x.dtype))


@traceable
def sum(
    x: TensorLike,
    /,
    axis: AxisLike = None,
    dtype: Any = None,
    *,
    keepdims: bool = False,
    initial: TensorLike = None,
    where: TensorLike = None,
) -> Tensor:
    """
    The sum, of the elements where `where` holds, from `initial` on; of nothing, 0. Without a `dtype` integers are summed in
    int64, uint8 and uint64 in uint64.

    The reduced axes are left out of the shape, or have extent 1 with `keepdims`. Floats stay in their dtype; they
    are added in another order than NumPy's, so that the last digits may differ.

    >>> sw.sum([[1, 2], [3, 4]], axis=0)
    array([4, 6])
    """
    tensor = only(_accumulated(x, dtype, accumulation_dtype), where, 0)
    found = record(graph.SumOp, tensor, axes_of(axis), keepdims)
    return found if initial is None else found + cast_to(as_tensor(initial), found.dtype)


@traceable
def prod(
    x: TensorLike,
    /,
    axis: AxisLike = None,
    dtype: Any = None,
    *,
    keepdims: bool = False,
    initial: TensorLike = None,
    where: TensorLike = None,
) -> Tensor:
    """
    The product, of the elements where `where` holds, from `initial` on; of nothing, 1. Without a `dtype` integers are
    multiplied in int64, uint8 and uint64 in uint64.

    The reduced axes are left out of the shape, or have extent 1 with `keepdims`.

    >>> sw.prod([[1, 2], [3, 4]], axis=1)
    array([ 2, 12])
    """
    tensor = only(_accumulated(x, dtype, accumulation_dtype), where, 1)
    found = record(graph.ProdOp, tensor, axes_of(axis), keepdims)
    return found if initial is None else found * cast_to(as_tensor(initial), found.dtype)


@traceable
def mean(
    x: TensorLike,
    /,
    axis: AxisLike = None,
    dtype: Any = None,
    *,
    keepdims: bool = False,
    where: TensorLike = None,
) -> Tensor:
    """
    The arithmetic mean, of the elements where `where` holds; of nothing, NaN. Integers are averaged in float64.

    The reduced axes are left out of the shape, or have extent 1 with `keepdims`; floats stay in their dtype.

    >>> sw.mean([[1.0, 2.0], [3.0, 4.0]], axis=0)
    array([2., 3.])
    """
    tensor = _accumulated(x, dtype, division_dtype)
    if where is None or where is True:
        return record(graph.MeanOp, tensor, axes_of(axis), keepdims)
    total = record(graph.SumOp, only(tensor, where, 0), axes_of(axis), keepdims)
    return total / counted(where, tensor, axis, keepdims)


def counted(where: TensorLike, x: Tensor, axis: AxisLike, keepdims: bool) -> Tensor:
    """How many elements of `x` are where `where=` holds, in its dtype."""
    is_there = broadcast_to(cast_to(as_tensor(where), BOOL), x.shape)
    count = record(graph.SumOp, cast_to(is_there, INT64), axes_of(axis), keepdims)
    return cast_to(count, x.dtype)


def _extreme(
    op: type[GraphOp],
    join: Callable[[Tensor, Tensor], Tensor],
    x: TensorLike,
    axis: AxisLike,
    keepdims: bool,
    initial: TensorLike,
    where: TensorLike,
) -> Tensor:
    tensor = as_tensor(x)
    if initial is None:
        if where is None or where is True:
            return record(op, tensor, axes_of(axis), keepdims)
        raise StepwellError(
            "found where= without initial=, expected both, as nothing may be left to choose from; give initial="
        )
    start = as_tensor(initial, tensor.dtype)
    if where is not None and where is not True:
        tensor = chosen(where, tensor, start)
    if not tensor.size:  # The greatest of nothing is not defined, the sum is.
        return broadcast_to(start, record(graph.SumOp, tensor, axes_of(axis), keepdims).shape)
    return join(record(op, tensor, axes_of(axis), keepdims), start)


@traceable
def max(
    x: TensorLike,
    /,
    axis: AxisLike = None,
    *,
    keepdims: bool = False,
    initial: TensorLike = None,
    where: TensorLike = None,
) -> Tensor:
    """
    The greatest element, NaN if there is one; with `initial`, that if none is greater, and then only where `where` holds.

    Raises StepwellError for nothing to choose from.

    >>> sw.max([[1, 5], [7, 2]], axis=1)
    array([5, 7])
    """
    return _extreme(graph.MaxOp, maximum, x, axis, keepdims, initial, where)


@traceable
def min(
    x: TensorLike,
    /,
    axis: AxisLike = None,
    *,
    keepdims: bool = False,
    initial: TensorLike = None,
    where: TensorLike = None,
) -> Tensor:
    """
    The least element, NaN if there is one; with `initial`, that if none is less, and then only where `where` holds.

    Raises StepwellError for nothing to choose from.

    >>> sw.min([[1, 5], [7, 2]], axis=1)
    array([1, 2])
    """
    return _extreme(graph.MinOp, minimum, x, axis, keepdims, initial, where)


amax, amin = max, min


@traceable
def any(
    x: TensorLike,
    /,
    axis: AxisLike = None,
    *,
    keepdims: bool = False,
    where: TensorLike = None,
) -> Tensor:
    """
    Whether any element is not zero, of those where `where` holds; of nothing, False.

    >>> sw.any([[0, 1], [0, 0]], axis=1)
    array([ True, False])
    """
    tensor = only(cast_to(as_tensor(x), BOOL), where, False)
    if tensor.size:
        return record(graph.MaxOp, tensor, axes_of(axis), keepdims)
    # The maximum of nothing is not defined, the sum is.
    return cast_to(record(graph.SumOp, cast_to(tensor, INT64), axes_of(axis), keepdims), BOOL)


@traceable
def all(
    x: TensorLike,
    /,
    axis: AxisLike = None,
    *,
    keepdims: bool = False,
    where: TensorLike = None,
) -> Tensor:
    """
    Whether every element is not zero, of those where `where` holds; of nothing, True.

    >>> sw.all([[1, 1], [0, 1]], axis=1)
    array([ True, False])
    """
    tensor = only(cast_to(as_tensor(x), BOOL), where, True)
    if tensor.size:
        return record(graph.MinOp, tensor, axes_of(axis), keepdims)
    return cast_to(record(graph.ProdOp, cast_to(tensor, INT64), axes_of(axis), keepdims), BOOL)


def _arg_reduction(op: type[GraphOp], x: TensorLike, axis: int | None, keepdims: bool) -> Tensor:
    tensor = as_tensor(x)
    if axis is not None:
        return record(op, tensor, single_axis(axis), keepdims)
    flat = record(op, record(graph.ReshapeOp, tensor, (-1,)), 0)
    return record(graph.ReshapeOp, flat, (1,) * tensor.ndim) if keepdims else flat


@traceable
def argmax(x: TensorLike, /, axis: int | None = None, *, keepdims: bool = False) -> Tensor:
    """
    Where the greatest element, or the first NaN, is along `axis`, or in the flattened `x`; int64.

    Of equal elements it is the first. The axis is left out of the shape, or has extent 1 with `keepdims`.

    >>> sw.argmax([[1, 5, 5], [7, 2, 0]], axis=1)
    array([1, 0])
    """
    return _arg_reduction(graph.ArgmaxOp, x, axis, keepdims)


@traceable
def argmin(x: TensorLike, /, axis: int | None = None, *, keepdims: bool = False) -> Tensor:
    """
    Where the least element, or the first NaN, is along `axis`, or in the flattened `x`; int64.

    Of equal elements it is the first. The axis is left out of the shape, or has extent 1 with `keepdims`.

    >>> sw.argmin([[1, 5, 1], [7, 2, 0]], axis=1)
    array([0, 2])
    """
    return _arg_reduction(graph.ArgminOp, x, axis, keepdims)


@traceable
def count_nonzero(x: TensorLike, /, axis: AxisLike = None, *, keepdims: bool = False) -> Tensor:
    """
    The number of elements that are not zero, int64.

    >>> sw.count_nonzero([[0, 1], [2, 3]], axis=0)
    array([1, 2])
    """
    return record(graph.SumOp, cast_to(cast_to(as_tensor(x), BOOL), INT64), axes_of(axis), keepdims)


@traceable
def ptp(x: TensorLike, /, axis: AxisLike = None, *, keepdims: bool = False) -> Tensor:
    """
    The greatest element less the least one.

    >>> sw.ptp([[1, 5], [7, 2]], axis=1)
    array([4, 5])
    """
    return max(x, axis, keepdims=keepdims) - min(x, axis, keepdims=keepdims)
