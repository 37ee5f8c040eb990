"""Writing at indices: a copy of an array with some of its elements replaced."""

from __future__ import annotations

import numpy as np

from ...dialects import graph
from ...dialects.graph.scatter import REDUCTIONS
from ...errors import StepwellError
from ..promotion import INT64
from ..recording import as_tensor, converted, record
from ..tensor import Tensor, TensorLike
from ..traceable import traceable
from .arguments import single_axis
from .manipulation import astype


def _indices(indices: TensorLike) -> Tensor:
    tensor = as_tensor(indices)
    if tensor.dtype.kind not in "iu":
        raise StepwellError(f"found indices of {tensor.dtype}, expected integers; convert them")
    return tensor if tensor.dtype in (INT64, np.dtype(np.int32)) else astype(tensor, INT64)


def _reduction(name: str) -> str:
    if name not in REDUCTIONS:
        raise StepwellError(
            f"found reduction {name!r:.60}, expected one of {', '.join(REDUCTIONS)}; name one"
        )
    return name


@traceable
def scatter_elements(
    x: TensorLike,
    indices: TensorLike,
    updates: TensorLike,
    /,
    axis: int = 0,
    reduction: str = "none",
) -> Tensor:
    """
    A copy of `x` with `updates` written along `axis` where `indices` say (ONNX ScatterElements, `torch.scatter`):
    `y[indices[i, j], j] = updates[i, j]`. `reduction` joins an update with what is there: add, mul, min or max.

    Updates are written in row-major order. Negative indices count from the end; one out of range writes nothing.

    >>> sw.scatter_elements([1, 2, 3], [2, 2], [10, 20], reduction="add")
    array([ 1,  2, 33])
    """
    x = as_tensor(x)
    (values,) = converted([updates], x.dtype)
    return record(
        graph.ScatterElementsOp,
        x,
        _indices(indices),
        values,
        single_axis(axis),
        _reduction(reduction),
    )


@traceable
def scatter_nd(
    x: TensorLike, indices: TensorLike, updates: TensorLike, /, reduction: str = "none"
) -> Tensor:
    """
    A copy of `x` with `updates` written at the elements, or slices, that tuples along the last axis of `indices` name (ONNX
    ScatterND). See `scatter_elements`.

    >>> sw.scatter_nd([1, 2, 3], [[0], [-1]], [10, 20])
    array([10,  2, 20])
    """
    x = as_tensor(x)
    (values,) = converted([updates], x.dtype)
    return record(graph.ScatterNdOp, x, _indices(indices), values, _reduction(reduction))
