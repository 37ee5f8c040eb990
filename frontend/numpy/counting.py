"""Arrays that count."""

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
from ..tensor import Tensor
from ..traceable import creation
from .arguments import integers, normalized, single_axis


@creation
def iota(shape: int | Sequence[int], axis: int = 0, dtype: Any = np.int64) -> Tensor:
    """
    An array of `shape` that counts 0, 1, 2, … along `axis`.

    >>> sw.iota((2, 3), axis=1)
    array([[0, 1, 2],
           [0, 1, 2]])
    """
    extents = integers(shape, "shape")
    axis = normalized(single_axis(axis), len(extents))
    return record(graph.IotaOp, TensorType(element_type(dtype_named(dtype)), extents), axis)


@creation
def arange(start: float, stop: float | None = None, step: float = 1, dtype: Any = None) -> Tensor:
    """
    `numpy.arange`: from `start`, 0 if there is only one number, up to, without, `stop`.

    int64 of integers, else float64, unless `dtype` says otherwise; of shape (ceil((stop - start) / step),). The
    numbers are known when the function is traced.

    Raises StepwellError for traced values, as the shape depends on them, and for a step of 0.

    >>> sw.arange(2, 10, 3)
    array([2, 5, 8])
    """
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
