"""Arrays made of nothing: filled, counting, and parts of matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import TensorType

from ...dialects import graph
from ...dialects.dtypes import element_type
from ...errors import StepwellError
from ..promotion import dtype_named
from ..recording import as_tensor, record
from ..tensor import Tensor, TensorLike
from ..traceable import creation, traceable
from .arguments import integers, normalized, single_axis
from .elementwise import where
from .manipulation import reshape


@creation
def iota(shape: int | Sequence[int], axis: int = 0, dtype: Any = np.int64) -> Tensor:
    """An array of `shape` that counts 0, 1, 2, … along `axis`."""
    extents = integers(shape, "shape")
    axis = normalized(single_axis(axis), len(extents))
    return record(graph.IotaOp, TensorType(element_type(dtype_named(dtype)), extents), axis)


@creation
def arange(start: float, stop: float | None = None, step: float = 1, dtype: Any = None) -> Tensor:
    """`numpy.arange`: from `start`, 0 if there is only one number, up to, without, `stop`."""
    bounds = (0, start) if stop is None else (start, stop)
    if any(isinstance(number, Tensor) for number in (*bounds, step)):
        raise StepwellError(
            "found a traced value in arange, expected Python numbers; shapes are fixed while tracing"
        )
    try:
        values = np.arange(*bounds, step, dtype=None if dtype is None else dtype_named(dtype))
    except (TypeError, ValueError, ZeroDivisionError) as error:
        raise StepwellError(
            f"found {(*bounds, step)} in arange ({error}), expected real numbers and a step other than 0"
        ) from None
    if np.array_equal(values, np.arange(values.size)):
        return iota(values.size, 0, values.dtype)
    return as_tensor(values)


@traceable
def tril(x: TensorLike, /, k: int = 0) -> Tensor:
    """The elements on and below the k-th diagonal of each matrix of the last two axes, 0 above it."""
    return _triangle(x, k, lower=True)


@traceable
def triu(x: TensorLike, /, k: int = 0) -> Tensor:
    """The elements on and above the k-th diagonal of each matrix of the last two axes, 0 below it."""
    return _triangle(x, k, lower=False)


def _triangle(x: TensorLike, k: TensorLike, *, lower: bool) -> Tensor:
    x = as_tensor(x)
    if x.ndim < 2:
        raise StepwellError(
            f"found a tensor of {x.ndim} axes, expected matrices along its last two; reshape it"
        )
    rows, columns = x.shape[-2:]
    row, column = reshape(iota(rows), (rows, 1)), reshape(iota(columns), (1, columns))
    offset = column - row
    kept = offset <= k if lower else offset >= k
    return where(kept, x, as_tensor(np.zeros((), x.dtype)))
