"""Reductions: sums, means, extremes along axes. `axis` is one axis or several; without it, all of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...dialects import graph
from ...dialects.graph.base import GraphOp
from ..promotion import BOOL, INT64, accumulation_dtype, division_dtype, dtype_named
from ..recording import as_tensor, cast_to, record
from ..tensor import Tensor, TensorLike
from ..traceable import traceable
from .arguments import AxisLike, axes_of, single_axis


def _accumulated(x: TensorLike, dtype: Any, default: Callable[[np.dtype], np.dtype]) -> Tensor:
    """The operand in the dtype a reduction is computed in: `dtype=`, or what is the default."""
    tensor = as_tensor(x)
    return cast_to(tensor, default(tensor.dtype) if dtype is None else dtype_named(dtype))


@traceable
def sum(
    x: TensorLike, /, axis: AxisLike = None, dtype: Any = None, *, keepdims: bool = False
) -> Tensor:
    """
    The sum; of nothing, 0. Without a `dtype` integers are summed in int64, uint8 and uint64 in uint64.
    """
    tensor = _accumulated(x, dtype, accumulation_dtype)
    return record(graph.SumOp, tensor, axes_of(axis), keepdims)


@traceable
def prod(
    x: TensorLike, /, axis: AxisLike = None, dtype: Any = None, *, keepdims: bool = False
) -> Tensor:
    """
    The product; of nothing, 1. Without a `dtype` integers are multiplied in int64, uint8 and uint64 in uint64.
    """
    tensor = _accumulated(x, dtype, accumulation_dtype)
    return record(graph.ProdOp, tensor, axes_of(axis), keepdims)


@traceable
def mean(
    x: TensorLike, /, axis: AxisLike = None, dtype: Any = None, *, keepdims: bool = False
) -> Tensor:
    """The arithmetic mean; of nothing, NaN. Integers are averaged in float64."""
    tensor = _accumulated(x, dtype, division_dtype)
    return record(graph.MeanOp, tensor, axes_of(axis), keepdims)


@traceable
def max(x: TensorLike, /, axis: AxisLike = None, *, keepdims: bool = False) -> Tensor:
    """The greatest element, NaN if there is one. Raises StepwellError for nothing to choose from."""
    return record(graph.MaxOp, as_tensor(x), axes_of(axis), keepdims)


@traceable
def min(x: TensorLike, /, axis: AxisLike = None, *, keepdims: bool = False) -> Tensor:
    """The least element, NaN if there is one. Raises StepwellError for nothing to choose from."""
    return record(graph.MinOp, as_tensor(x), axes_of(axis), keepdims)


amax, amin = max, min


@traceable
def any(x: TensorLike, /, axis: AxisLike = None, *, keepdims: bool = False) -> Tensor:
    """Whether any element is not zero; of nothing, False."""
    tensor = cast_to(as_tensor(x), BOOL)
    if tensor.size:
        return record(graph.MaxOp, tensor, axes_of(axis), keepdims)
    # The maximum of nothing is not defined, the sum is.
    return cast_to(record(graph.SumOp, cast_to(tensor, INT64), axes_of(axis), keepdims), BOOL)


@traceable
def all(x: TensorLike, /, axis: AxisLike = None, *, keepdims: bool = False) -> Tensor:
    """Whether every element is not zero; of nothing, True."""
    tensor = cast_to(as_tensor(x), BOOL)
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
    """Where the greatest element, or the first NaN, is along `axis`, or in the flattened `x`; int64."""
    return _arg_reduction(graph.ArgmaxOp, x, axis, keepdims)


@traceable
def argmin(x: TensorLike, /, axis: int | None = None, *, keepdims: bool = False) -> Tensor:
    """Where the least element, or the first NaN, is along `axis`, or in the flattened `x`; int64."""
    return _arg_reduction(graph.ArgminOp, x, axis, keepdims)


@traceable
def count_nonzero(x: TensorLike, /, axis: AxisLike = None, *, keepdims: bool = False) -> Tensor:
    """The number of elements that are not zero, int64."""
    return record(graph.SumOp, cast_to(cast_to(as_tensor(x), BOOL), INT64), axes_of(axis), keepdims)


@traceable
def ptp(x: TensorLike, /, axis: AxisLike = None, *, keepdims: bool = False) -> Tensor:
    """The greatest element less the least one."""
    return max(x, axis, keepdims=keepdims) - min(x, axis, keepdims=keepdims)
