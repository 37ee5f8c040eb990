"""Products of matrices and their kin."""

from __future__ import annotations

from typing import Any

from ...dialects import graph
from ..promotion import dtype_named
from ..recording import converted, promoted, record
from ..tensor import Tensor, TensorLike
from ..traceable import traceable


@traceable
def matmul(x: TensorLike, y: TensorLike, /, dtype: Any = None) -> Tensor:
    """
    `(..., m, k) @ (..., k, n)`: the batches broadcast, a vector's axis is contracted; integers wrap.

    With a `dtype` both operands are converted to it first, as in NumPy: int8 with `dtype=int32` is one kernel that
    reads int8.
    """
    operands = promoted(x, y) if dtype is None else converted([x, y], dtype_named(dtype))
    return record(graph.MatmulOp, *operands)
