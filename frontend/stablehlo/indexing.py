"""Gathers, scatters and slices at computed places."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from ..numpy import elementwise as ew
from ..numpy import joining, manipulation, padding, scatter, selection, updates
from ..upstream.operations import Node, Value
from .operators import reducer_of
from .registry import hlo


def _clamped(start: Value, most: int) -> Value:
    """A start that keeps what begins there inside."""
    dtype = start.dtype
    return ew.minimum(ew.maximum(start, np.zeros((), dtype)), np.asarray(most, dtype))


def _counted(start: Value, count: int) -> Value:
    return ew.add(start, np.arange(count, dtype=start.dtype))


@hlo("dynamic_slice")
def dynamic_slice(x: Value, *starts: Value, node: Node) -> Value:
    """Axis by axis; what starts too late starts as late as it can."""
    for axis, (start, size) in enumerate(zip(starts, node.settings["sizes"], strict=True)):
        extent = x.shape[axis]
        if size != extent:
            x = selection.take(x, _counted(_clamped(start, extent - size), size), axis=axis)
    return x


@hlo("dynamic_update_slice")
def dynamic_update_slice(x: Value, update: Value, *starts: Value, node: Node) -> Value:
    """What starts before 0 starts there: our own function counts such an index from the end."""
    first = [ew.maximum(start, np.zeros((), start.dtype)) for start in starts]
    return updates.dynamic_update_slice(x, update, first)


@hlo("gather")
def gather(x: Value, starts: Value, *, node: Node) -> Value:
    """Slices of the operand, each from where a vector of the indices says."""
    numbers = node.settings["dimension_numbers"]
    sizes, offsets = list(node.settings["slice_sizes"]), numbers.get("offset_dims", [])
    start_map = numbers.get("start_index_map", [])
    collapsed = numbers.get("collapsed_slice_dims", [])
    batching = numbers.get("operand_batching_dims", [])
    vectors = _vectors_last(starts, numbers["index_vector_dim"])
    batch = vectors.shape[:-1]
    result_rank = len(batch) + len(offsets)
    batch_axes = [axis for axis in range(result_rank) if axis not in offsets]
    if len(start_map) == 1 and start_map == collapsed and _is_whole(sizes, x.shape, collapsed):
        return _taken(x, vectors, collapsed[0], offsets, batch_axes)
    kept = [axis for axis in range(len(sizes)) if axis not in (*collapsed, *batching)]
    columns = _places(
        x.shape, sizes, vectors, start_map, kept, offsets, batch_axes, result_rank, clamp=True
    )
    columns |= _batch_places(numbers, batching, batch, batch_axes, result_rank, vectors.dtype)
    return selection.gather_nd(x, _tuples(columns, len(sizes), node.shape))


def _vectors_last(starts: Value, axis: int) -> Value:
    """The indices with their vectors along the last axis."""
    if axis == len(starts.shape):
        return manipulation.expand_dims(starts, axis)
    return manipulation.moveaxis(starts, axis, -1)


def _is_whole(sizes: Sequence[int], shape: Sequence[int], but: Sequence[int]) -> bool:
    return all(
        size == extent or axis in but
        for axis, (size, extent) in enumerate(zip(sizes, shape, strict=True))
    )


def _taken(
    x: Value, vectors: Value, axis: int, offsets: Sequence[int], batch_axes: Sequence[int]
) -> Value:
    """Whole slices at numbers along one axis."""
    numbers = _clamped(vectors[..., 0], x.shape[axis] - 1)
    taken = selection.take(x, numbers, axis=axis)
    now = [*offsets[:axis], *batch_axes, *offsets[axis:]]
    return manipulation.transpose(taken, np.argsort(now).tolist())


def _places(
    shape: Sequence[int],
    sizes: Sequence[int],
    vectors: Value,
    start_map: Sequence[int],
    kept: Sequence[int],
    offsets: Sequence[int],
    batch_axes: Sequence[int],
    rank: int,
    *,
    clamp: bool,
) -> dict[int, Value]:
    """
    For axes of the operand the index of each element of the slices, to be broadcast to `rank` axes: where the slice
    starts, at `batch_axes`, and the place in it along the axis of `offsets` that belongs to the axis.
    """
    columns: dict[int, Value] = {}
    for axis, (extent, size) in enumerate(zip(shape, sizes, strict=True)):
        place: Value = np.zeros([1] * rank, vectors.dtype)
        if axis in kept:
            along = offsets[kept.index(axis)]
            column = [size if number == along else 1 for number in range(rank)]
            place = np.arange(size, dtype=vectors.dtype).reshape(column)
        if axis in start_map:
            start = vectors[..., start_map.index(axis)]
            start = _clamped(start, extent - size) if clamp else start
            aligned = [1] * rank
            for number, at in zip(start.shape, batch_axes, strict=True):
                aligned[at] = number
            place = ew.add(place, manipulation.reshape(start, aligned))
        columns[axis] = place
    return columns


def _batch_places(
    numbers: dict[str, Any],
    batching: Sequence[int],
    batch: Sequence[int],
    batch_axes: Sequence[int],
    rank: int,
    dtype: np.dtype,
) -> dict[int, Value]:
    """For axes of the operand that go with axes of the indices: the place along these."""
    names = ("start_indices_batching_dims", "scatter_indices_batching_dims")
    of_indices = cast(
        "list[int]", next((numbers[name] for name in names if name in numbers), list[int]())
    )
    vector: int = numbers["index_vector_dim"]
    columns: dict[int, Value] = {}
    for axis, other in zip(batching, of_indices, strict=True):
        number = other - (other > vector)
        column = [batch[number] if at == batch_axes[number] else 1 for at in range(rank)]
        columns[axis] = np.arange(batch[number], dtype=dtype).reshape(column)
    return columns


def _tuples(columns: dict[int, Value], rank: int, shape: Sequence[int]) -> Value:
    """The indices of all elements, along a last axis."""
    return joining.stack(
        [manipulation.broadcast_to(columns[axis], shape) for axis in range(rank)], axis=-1
    )


@hlo("scatter")
def scatter_(x: Value, starts: Value, updates: Value, *, node: Node) -> Value:
    """
    Updates of slices of the operand. Those that do not lie inside are left out: they go to one more slice along the
    first axis, which is cut off again.
    """
    reduction = {
        "add": "add",
        "multiply": "mul",
        "maximum": "max",
        "minimum": "min",
        None: "none",
    }.get(reducer_of(node), "")
    if not reduction or (reduction == "none" and not _is_replacing(node)):
        raise node.refuse("with this reducer", "add, multiply, maximum, minimum or the new value")
    numbers = node.settings["scatter_dimension_numbers"]
    shape, window = x.shape, numbers.get("update_window_dims", [])
    inserted, batching = (
        numbers.get("inserted_window_dims", []),
        numbers.get("input_batching_dims", []),
    )
    vectors = _vectors_last(starts, numbers["index_vector_dim"])
    kept = [axis for axis in range(len(shape)) if axis not in (*inserted, *batching)]
    sizes = [1] * len(shape)
    for axis, along in zip(kept, window, strict=True):
        sizes[axis] = updates.shape[along]
    rank = len(updates.shape)
    batch_axes = [axis for axis in range(rank) if axis not in window]
    start_map = numbers.get("scatter_dims_to_operand_dims", [])
    columns = _places(shape, sizes, vectors, start_map, kept, window, batch_axes, rank, clamp=False)
    columns |= _batch_places(numbers, batching, vectors.shape[:-1], batch_axes, rank, vectors.dtype)
    inside: Value = np.ones([1] * rank, np.bool_)
    for axis, place in columns.items():
        dtype = place.dtype
        fits = ew.logical_and(
            ew.greater_equal(place, np.zeros((), dtype)),
            ew.less(place, np.asarray(shape[axis], dtype)),
        )
        inside = ew.logical_and(inside, fits)
    for axis, place in columns.items():
        beyond = np.asarray(shape[0] if axis == 0 else 0, place.dtype)
        columns[axis] = ew.where(inside, place, beyond)
    tuples = _tuples(columns, len(shape), updates.shape)
    wide = padding.pad(x, [(0, int(axis == 0)) for axis in range(len(shape))])
    return scatter.scatter_nd(wide, tuples, updates, reduction=reduction)[: shape[0]]


def _is_replacing(node: Node) -> bool:
    block = node.op.regions[0].block
    return block.last_op is not None and list(block.last_op.operands) == [block.args[1]]
