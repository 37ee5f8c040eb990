"""The default order of loops for one compute: contiguous accesses innermost."""

from __future__ import annotations

from xdsl.ir.affine import AffineMap

from ..dialects import te
from ..dialects.affine_bounds import linear_form
from ..dialects.shaped import tensor_type
from ..frozen import frozen


@frozen
class LoopOrder:
    """
    Iterator numbers of a compute, outermost first.

    `outer` are the parallel loops around the reduction, `reduction` the reduction loops, `inner` the
    parallel loops inside them: with any, the accumulators are a buffer over them and not one scalar.
    """

    outer: tuple[int, ...]
    reduction: tuple[int, ...]
    inner: tuple[int, ...]


_CONTIGUOUS, _INVARIANT, _STRIDED = 1.0, 0.5, 0.0
"""How an access ranks as the innermost loop advances: next element, same element, elsewhere."""


def row_major_strides(shape: tuple[int, ...]) -> list[int]:
    """Strides in elements of a dense row-major array."""
    strides = [1] * len(shape)
    for axis in range(len(shape) - 2, -1, -1):
        strides[axis] = strides[axis + 1] * shape[axis + 1]
    return strides


def _stride_along(map_: AffineMap, shape: tuple[int, ...], iterator: int) -> int | None:
    """Elements the access moves when the iterator advances by one; None when it is not linear."""
    total = 0
    for expr, stride in zip(map_.results, row_major_strides(shape), strict=True):
        linear = linear_form(expr, map_.num_dims)
        if linear is None:
            return None
        total += linear[0][iterator] * stride
    return total


def _rank(stride: int | None) -> float:
    return {0: _INVARIANT, 1: _CONTIGUOUS}.get(-1 if stride is None else stride, _STRIDED)


def _innermost_rank(compute: te.ComputeOp, iterator: int) -> float:
    """The sum of the accesses' ranks with this iterator innermost, the store included."""
    rank = 0.0
    for read in compute.reads:
        if read.map is not None:
            shape = tensor_type(read.source).get_shape()
            rank += _rank(_stride_along(read.map, shape, iterator))
    parallel = len(compute.parallel)
    if iterator >= parallel:
        return rank + _INVARIANT
    return rank + _rank(row_major_strides(compute.result.type.get_shape())[iterator])


def choose_order(compute: te.ComputeOp, *, keep_reductions: bool = False) -> LoopOrder:
    """
    Reduction loops innermost, unless one parallel loop has strictly more contiguous accesses.

    An element-wise compute keeps the order of its result, whose stores are then contiguous. With
    `keep_reductions` the reduction loops keep their order too, and so each element the order of its sum.
    """
    parallel = tuple(range(len(compute.parallel)))
    reduction = tuple(range(len(parallel), len(compute.extents)))
    if not reduction:
        return LoopOrder(parallel, (), ())
    best_reduction = reduction[-1]
    if not keep_reductions:
        best_reduction = max(reduction, key=lambda it: (_innermost_rank(compute, it), it))
    last = (*(it for it in reduction if it != best_reduction), best_reduction)
    if any(combiner.is_arg for combiner in compute.combiners) or not parallel:
        return LoopOrder(parallel, last, ())
    best_parallel = max(parallel, key=lambda it: (_innermost_rank(compute, it), it))
    if _innermost_rank(compute, best_parallel) <= _innermost_rank(compute, best_reduction):
        return LoopOrder(parallel, last, ())
    outer = tuple(it for it in parallel if it != best_parallel)
    return LoopOrder(outer, last, (best_parallel,))
