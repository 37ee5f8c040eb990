"""Operators that read and write elements by index, and einsum: gather, scatter, one_hot, reverse_sequence."""

from __future__ import annotations

import numpy as np

from ..numpy import arguments, elementwise, joining, manipulation, selection
from ..numpy.einsum import einsum as numpys_einsum
from ..numpy.scatter import scatter_elements as written
from ..numpy.scatter import scatter_nd as written_nd
from .indices import counting_along
from .registry import Value, integer, onnx_op


@onnx_op("GatherElements")
def gather_elements(x: Value, indices: Value, *, axis: int = 0) -> Value:
    return selection.gather_elements(x, indices, axis)


@onnx_op("GatherND")
def gather_nd(x: Value, indices: Value, *, batch_dims: int = 0) -> Value:
    return selection.gather_nd(x, indices, batch_dims)


@onnx_op("ScatterElements")
def scatter_elements(
    x: Value, indices: Value, updates: Value, *, axis: int = 0, reduction: str = "none"
) -> Value:
    return written(x, indices, updates, axis, reduction)


@onnx_op("Scatter")
def scatter(x: Value, indices: Value, updates: Value, *, axis: int = 0) -> Value:
    return written(x, indices, updates, axis)


@onnx_op("ScatterND")
def scatter_nd(x: Value, indices: Value, updates: Value, *, reduction: str = "none") -> Value:
    return written_nd(x, indices, updates, reduction)


@onnx_op("OneHot")
def one_hot(indices: Value, depth: Value, values: Value, *, axis: int = -1) -> Value:
    """The second value where the index is, the first elsewhere."""
    off, on = (manipulation.reshape(part, ()) for part in joining.split(values, 2))
    return selection.one_hot(indices, integer(depth, "the depth"), on, off, axis=axis)


@onnx_op("ReverseSequence")
def reverse_sequence(
    x: Value, sequence_lens: Value, *, batch_axis: int = 1, time_axis: int = 0
) -> Value:
    return selection.reverse_sequence(x, sequence_lens, time_axis=time_axis, batch_axis=batch_axis)


@onnx_op("Einsum")
def einsum(*operands: Value, equation: str) -> Value:
    return numpys_einsum(equation, *operands)


@onnx_op("TensorScatter")
def tensor_scatter(
    cache: Value,
    update: Value,
    write_indices: Value = None,
    *,
    axis: int = -2,
    mode: str = "linear",
) -> Value:
    """The cache with an update written along an axis, from an index of its own on for each batch."""
    shape = tuple(update.shape)
    rank = len(shape)
    along = arguments.normalized(axis, rank)
    position = counting_along(along, shape[along], rank)
    if write_indices is not None:
        starts = manipulation.reshape(write_indices, (shape[0], *[1] * (rank - 1)))
        position = elementwise.add(position, manipulation.astype(starts, np.int64))
    if mode == "circular":
        position = elementwise.mod(position, cache.shape[along])
    position = manipulation.broadcast_to(position, shape)
    return written(cache, position, update, along)
