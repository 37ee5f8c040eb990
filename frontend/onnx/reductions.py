"""Operators that reduce along axes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...dialects.dtypes import is_float_dtype
from ..numpy import elementwise, manipulation, reductions
from .elementwise import div
from .indices import counting_along
from .movement import axis_of
from .registry import Value, integers, onnx_op

Axes = tuple[int, ...]
Reduction = Callable[[Value, Axes], Value]
"""What is computed along axes, which are kept with an extent of 1."""


def total(x: Value, axes: Axes) -> Value:
    return reductions.sum(x, axes, x.dtype, keepdims=True)


def mean(x: Value, axes: Axes) -> Value:
    """The mean; of integers it is truncated, as the quotients of Div are."""
    count = int(np.prod([x.shape[axis] for axis in axes], dtype=np.int64))
    if is_float_dtype(x.dtype):
        return reductions.mean(x, axes, keepdims=True)
    return div(total(x, axes), np.asarray(count).astype(x.dtype))


def product(x: Value, axes: Axes) -> Value:
    return reductions.prod(x, axes, x.dtype, keepdims=True)


def lowest(dtype: np.dtype) -> Any:
    """The least number of a dtype, which is the maximum of nothing."""
    if dtype.kind == "b":
        return np.False_
    return dtype.type(-np.inf) if is_float_dtype(dtype) else np.iinfo(dtype).min


def highest(dtype: np.dtype) -> Any:
    """The greatest number of a dtype, which is the minimum of nothing."""
    if dtype.kind == "b":
        return np.True_
    return dtype.type(np.inf) if is_float_dtype(dtype) else np.iinfo(dtype).max


def _extreme(reduction: Callable[..., Value], of_nothing: Callable[[np.dtype], Any]) -> Reduction:
    def reduce(x: Value, axes: Axes) -> Value:
        if any(x.shape[axis] == 0 for axis in axes):
            shape = [1 if axis in axes else extent for axis, extent in enumerate(x.shape)]
            return manipulation.broadcast_to(np.asarray(of_nothing(x.dtype), x.dtype), shape)
        return reduction(x, axes, keepdims=True)

    return reduce


def log_sum(x: Value, axes: Axes) -> Value:
    return elementwise.log(total(x, axes))


def log_sum_exp(x: Value, axes: Axes) -> Value:
    """log(sum(exp(x))), shifted by the greatest finite element so that nothing overflows."""
    if any(x.shape[axis] == 0 for axis in axes):
        return log_sum(x, axes)
    if not is_float_dtype(x.dtype):
        return log_sum_exp(manipulation.astype(x, np.float64), axes)
    greatest = REDUCTIONS["ReduceMax"](x, axes)
    is_finite = elementwise.less(elementwise.absolute(greatest), np.asarray(np.inf, x.dtype))
    shift = elementwise.where(is_finite, greatest, np.zeros((), x.dtype))
    return elementwise.add(
        elementwise.log(total(elementwise.exp(elementwise.subtract(x, shift)), axes)), shift
    )


REDUCTIONS: dict[str, Reduction] = {
    "ReduceMax": _extreme(reductions.max, lowest),
    "ReduceMin": _extreme(reductions.min, highest),
    "ReduceMean": mean,
    "ReduceProd": product,
    "ReduceSum": total,
    "ReduceL1": lambda x, axes: total(elementwise.absolute(x), axes),
    "ReduceL2": lambda x, axes: elementwise.sqrt(total(elementwise.square(x), axes)),
    "ReduceLogSum": log_sum,
    "ReduceLogSumExp": log_sum_exp,
    "ReduceSumSquare": lambda x, axes: total(elementwise.square(x), axes),
}
"""Logarithms and roots of integers are floats, which become integers again at the end."""


def _enter(name: str, reduction: Reduction) -> None:
    @onnx_op(name)
    def reduce(
        x: Value,
        axes_value: Value = None,
        *,
        axes: Sequence[int] | None = None,
        keepdims: int = 1,
        noop_with_empty_axes: int = 0,
    ) -> Value:
        """Along axes that are an attribute in old models, an input in new ones, all of them when left out."""
        given = axes if axes_value is None else axes_value
        chosen = () if given is None else integers(given, "the axes")
        rank = len(x.shape)
        if not chosen and not noop_with_empty_axes:
            chosen = tuple(range(rank))
        chosen = tuple(axis_of(axis, rank) for axis in chosen)
        result = manipulation.astype(reduction(x, chosen), x.dtype)
        return result if keepdims or not chosen else manipulation.squeeze(result, chosen)


for _name, _reduction in REDUCTIONS.items():
    _enter(_name, _reduction)


def _arg_extreme(
    find: Callable[..., Value], x: Value, axis: int, keepdims: int, last: int
) -> Value:
    """Where the extreme is along an axis: of equal ones the first, or the last, found in reverse."""
    axis = axis_of(axis, len(x.shape))
    if not last:
        return find(x, axis, keepdims=bool(keepdims))
    reverse = tuple(
        slice(None, None, -1) if one == axis else slice(None) for one in range(len(x.shape))
    )
    return elementwise.subtract(x.shape[axis] - 1, find(x[reverse], axis, keepdims=bool(keepdims)))


@onnx_op("ArgMax")
def arg_max(x: Value, *, axis: int = 0, keepdims: int = 1, select_last_index: int = 0) -> Value:
    return _arg_extreme(reductions.argmax, x, axis, keepdims, select_last_index)


@onnx_op("ArgMin")
def arg_min(x: Value, *, axis: int = 0, keepdims: int = 1, select_last_index: int = 0) -> Value:
    return _arg_extreme(reductions.argmin, x, axis, keepdims, select_last_index)


@onnx_op("Hardmax", since=13)
def hardmax(x: Value, *, axis: int = -1) -> Value:
    """1 where the first of the greatest elements is along an axis, 0 elsewhere."""
    axis = axis_of(axis, len(x.shape))
    positions = counting_along(axis, x.shape[axis], len(x.shape))
    return manipulation.astype(
        elementwise.equal(reductions.argmax(x, axis, keepdims=True), positions), x.dtype
    )


@onnx_op("Hardmax")
def hardmax_flattened(x: Value, *, axis: int = 1) -> Value:
    return flattened(hardmax, x, axis)


def flattened(function: Callable[..., Value], x: Value, axis: int) -> Value:
    """A function of rows on the matrix that x is when its axes from `axis` on are joined to rows."""
    axis = axis_of(axis, len(x.shape))
    rows = int(np.prod(x.shape[:axis], dtype=np.int64))
    columns = int(np.prod(x.shape[axis:], dtype=np.int64))
    return manipulation.reshape(
        function(manipulation.reshape(x, (rows, columns)), axis=-1), x.shape
    )
