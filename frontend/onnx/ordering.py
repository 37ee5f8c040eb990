"""Operators that sum up along an axis and put in order: cumsum, topk, and those with as many results as the data says."""

from __future__ import annotations

import math

import numpy as np

from ..numpy import compaction, manipulation, scans, selection, sorting
from .bounded import bounded
from .registry import Value, flag, integer, is_known, known, onnx_op


@onnx_op("CumSum")
def cumsum(x: Value, axis: Value, *, exclusive: int = 0, reverse: int = 0) -> Value:
    along, how = integer(axis, "the axis"), _how(exclusive, reverse)
    return scans.cumsum(x, along, x.dtype, **how)


@onnx_op("CumProd")
def cumprod(x: Value, axis: Value, *, exclusive: int = 0, reverse: int = 0) -> Value:
    along, how = integer(axis, "the axis"), _how(exclusive, reverse)
    return scans.cumprod(x, along, x.dtype, **how)


def _how(exclusive: int, reverse: int) -> dict[str, bool]:
    return {"exclusive": flag(exclusive, "exclusive"), "reverse": flag(reverse, "reverse")}


@onnx_op("TopK", since=10)
def topk(x: Value, k: Value, *, axis: int = -1, largest: int = 1, sorted: int = 1) -> list[Value]:
    """In order in any case, which `sorted` of 0 leaves open."""
    flag(sorted, "sorted")
    return sorting.topk(x, integer(k, "k"), axis, largest=flag(largest, "largest"))


@onnx_op("TopK")
def topk_by_attribute(x: Value, *, k: int, axis: int = -1) -> list[Value]:
    return sorting.topk(x, k, axis)


# With as many results as the data says.


@onnx_op("NonZero")
def non_zero(x: Value) -> Value:
    indices, count = compaction.nonzero_and_count(x)
    return bounded(indices, count, 1)


@onnx_op("Compress")
def compress(x: Value, condition: Value, *, axis: int | None = None) -> Value:
    """Slices where the condition holds; it may be longer than the axis, where it is cut."""
    extent = math.prod(x.shape) if axis is None else x.shape[axis]
    if is_known(condition):
        flat = manipulation.ravel(x) if axis is None else x
        return selection.take(flat, np.flatnonzero(condition[:extent]), axis or 0)
    taken, count = compaction.compress_and_count(condition[:extent], x, axis)
    return bounded(taken, count, 0 if axis is None else axis % len(x.shape))


@onnx_op("Unique")
def unique(x: Value, *, axis: int | None = None, sorted: int = 1) -> list[Value]:
    """Different elements, or slices of an axis, where each is first, which each element is, and how often it occurs."""
    if axis is not None and len(x.shape) > 1:
        return _unique_slices(known(x, "the elements"), axis, flag(sorted, "sorted"))
    values, first, inverse, counts, number = compaction.unique_and_counts(
        x, sorted=flag(sorted, "sorted")
    )
    return [
        bounded(values, number),
        bounded(first, number),
        inverse,
        bounded(counts, number),
    ]


def _unique_slices(x: np.ndarray, axis: int, is_sorted: bool) -> list[Value]:
    values, first, inverse, counts = np.unique(
        x, return_index=True, return_inverse=True, return_counts=True, axis=axis
    )
    order = np.arange(len(first)) if is_sorted else np.argsort(first)
    rank = np.argsort(order)
    taken = np.take(values, order, axis)
    return [taken, first[order], rank[inverse.reshape(-1)], counts[order]]
