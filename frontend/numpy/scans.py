"""Running sums and their kin along an axis."""

from __future__ import annotations

from typing import Any

from ...dialects import graph
from ...dialects.graph.base import GraphOp
from ..promotion import accumulation_dtype, dtype_named
from ..recording import as_tensor, cast_to, record
from ..tensor import Tensor, TensorLike
from ..traceable import traceable
from .arguments import single_axis
from .manipulation import ravel


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
    """Running products along an axis, or of the flattened `x`. See `cumsum`."""
    return _scan(graph.CumprodOp, x, axis, dtype, exclusive, reverse)
