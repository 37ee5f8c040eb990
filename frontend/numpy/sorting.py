"""Elements in order, and where they are found."""

from __future__ import annotations

from ...dialects import graph
from ...errors import StepwellError
from ..recording import as_tensor, record_all
from ..tensor import Tensor, TensorLike
from ..traceable import traceable
from .arguments import integers, normalized, single_axis
from .manipulation import ravel


def ordered(x: TensorLike, axis: int | None, descending: bool) -> tuple[Tensor, Tensor]:
    x = as_tensor(x)
    if axis is None:
        x, axis = ravel(x), 0
    values, order = record_all(graph.SortOp, x, single_axis(axis), descending)
    return values, order


@traceable
def sort(x: TensorLike, /, axis: int | None = -1, *, descending: bool = False) -> Tensor:
    """The elements in order along an axis, or of the flattened `x`; NaN is above every number."""
    return ordered(x, axis, descending)[0]


@traceable
def argsort(x: TensorLike, /, axis: int | None = -1, *, descending: bool = False) -> Tensor:
    """The indices that put the elements in order along an axis; equal ones keep theirs. int64."""
    return ordered(x, axis, descending)[1]


@traceable
def topk(
    x: TensorLike, k: int, /, axis: int = -1, *, largest: bool = True, sorted: bool = True
) -> list[Tensor]:
    """
    The `k` largest, or smallest, elements along an axis in order, and their indices (ONNX TopK, `torch.topk`). Of equal
    elements the one with the lower index comes first. `sorted` is for other libraries' callers: the order always holds.
    """
    x = as_tensor(x)
    axis = normalized(single_axis(axis), x.ndim)
    (count,) = integers(k, "k")
    if not 0 <= count <= x.shape[axis]:
        raise StepwellError(
            f"found k = {count} for an axis of {x.shape[axis]} elements, expected 0 to {x.shape[axis]}"
        )
    first = (slice(None),) * axis + (slice(count),)
    return [each[first] for each in ordered(x, axis, largest)]
