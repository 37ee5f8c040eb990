"""Operators that move, join and cut: reshape, transpose, concat, split, slice, pad, gather, tile."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from ...errors import StepwellError
from ..numpy import arguments, elementwise, joining, manipulation, padding, selection
from .indices import counting_along, padded_indices
from .registry import Unsupported, Value, integer, integers, known, onnx_op


def axis_of(axis: int, rank: int) -> int:
    """An axis counted from 0. Raises StepwellError when there is no such axis."""
    return arguments.normalized(axis, rank)


@onnx_op("Shape")
def shape_(x: Value, *, start: int = 0, end: int | None = None) -> Value:
    return np.asarray(x.shape[slice(start, end)], np.int64)


@onnx_op("Size")
def size(x: Value) -> Value:
    return np.asarray(math.prod(x.shape), np.int64)


@onnx_op("Reshape")
def reshape(x: Value, shape_value: Value = None, *, shape: Any = None, allowzero: int = 0) -> Value:
    """`x` under another shape: an extent of 0 is that of `x` unless `allowzero`; one of -1 is what is left."""
    wanted = integers(shape if shape_value is None else shape_value, "the shape")
    if not allowzero:
        if any(extent == 0 and axis >= len(x.shape) for axis, extent in enumerate(wanted)):
            raise StepwellError(
                f"found an extent of 0 in shape {list(wanted)} past the {len(x.shape)} axes of the operand, "
                "expected one that it has"
            )
        wanted = tuple(extent or x.shape[axis] for axis, extent in enumerate(wanted))
    return manipulation.reshape(x, wanted)


@onnx_op("Flatten")
def flatten(x: Value, *, axis: int = 1) -> Value:
    rank = len(x.shape)
    axis = axis if axis == rank else axis_of(axis, rank)
    return manipulation.reshape(x, (math.prod(x.shape[:axis]), math.prod(x.shape[axis:])))


@onnx_op("Transpose")
def transpose(x: Value, *, perm: Sequence[int] | None = None) -> Value:
    return manipulation.transpose(x, perm)


@onnx_op("Squeeze")
def squeeze(x: Value, axes_value: Value = None, *, axes: Any = None) -> Value:
    wanted = axes if axes_value is None else axes_value
    return manipulation.squeeze(x, None if wanted is None else integers(wanted, "the axes"))


@onnx_op("Unsqueeze")
def unsqueeze(x: Value, axes_value: Value = None, *, axes: Any = None) -> Value:
    return manipulation.expand_dims(
        x, integers(axes if axes_value is None else axes_value, "the axes")
    )


@onnx_op("Expand")
def expand(x: Value, shape: Value) -> Value:
    wanted = np.broadcast_shapes(tuple(x.shape), integers(shape, "the shape"))
    return manipulation.broadcast_to(x, wanted)


@onnx_op("Concat", since=4)
def concat(*xs: Value, axis: int) -> Value:
    return joining.concatenate(list(xs), axis)


@onnx_op("Concat")
def concat_with_default(*xs: Value, axis: int = 1) -> Value:
    return joining.concatenate(list(xs), axis)


@onnx_op("Split")
def split(
    x: Value,
    sizes: Value = None,
    *,
    axis: int = 0,
    split: Any = None,
    num_outputs: int | None = None,
    node: Any,
) -> list[Value]:
    """Parts of the given sizes, or of equal ones, where the last part may be smaller."""
    axis = axis_of(axis, len(x.shape))
    given = split if sizes is None else sizes
    if given is None:
        count = len(node.outputs)
        if num_outputs not in (None, count):
            raise StepwellError(
                f"found num_outputs {num_outputs} and {count} outputs of Split, expected as many; export the model again"
            )
        part = -(-x.shape[axis] // count)
        ends = [min(part * number, x.shape[axis]) for number in range(1, count)]
    else:
        *ends, total = accumulate(integers(given, "the sizes of the parts"))
        if total != x.shape[axis]:
            raise StepwellError(
                f"found parts of {total} elements in all for an extent of {x.shape[axis]}, expected as many"
            )
    return joining.split(x, ends, axis)


@onnx_op("Slice", since=10)
def slice_(x: Value, starts: Value, ends: Value, axes: Value = None, steps: Value = None) -> Value:
    first = integers(starts, "the starts")
    axes_known = range(len(first)) if axes is None else integers(axes, "the axes")
    steps_known = [1] * len(first) if steps is None else integers(steps, "the steps")
    parts = [slice(None)] * len(x.shape)
    for start, end, axis, step in zip(
        first, integers(ends, "the ends"), axes_known, steps_known, strict=True
    ):
        axis = axis_of(axis, len(x.shape))
        # For Python a stop of -1 is the last element; ONNX means the one before the first by what is below -extent.
        before_first = step < 0 and end < -x.shape[axis]
        # And a start before the first element is the first one, also on the way back.
        start = max(start, -x.shape[axis]) if step < 0 else start
        parts[axis] = slice(start, None if before_first else end, step)
    return x[tuple(parts)]


@onnx_op("Slice")
def slice_by_attributes(
    x: Value, *, starts: Sequence[int], ends: Sequence[int], axes: Sequence[int] | None = None
) -> Value:
    return slice_(x, starts, ends, axes)


@onnx_op("Pad", since=11)
def pad(
    x: Value,
    pads: Value,
    constant_value: Value = None,
    axes: Value = None,
    *,
    mode: str = "constant",
) -> Value:
    """A constant, or elements of `x`, around it; what is negative cuts off."""
    rank = len(x.shape)
    around = (
        [axis_of(axis, rank) for axis in integers(axes, "the axes")]
        if axes is not None
        else range(rank)
    )
    amounts = integers(pads, "the pads")
    if len(amounts) != 2 * len(around):
        raise StepwellError(
            f"found {len(amounts)} pads for {len(around)} axes, expected two for each"
        )
    widths = [(0, 0)] * rank
    for position, axis in enumerate(around):
        widths[axis] = (amounts[position], amounts[position + len(around)])
    if mode == "constant":
        value = known(0 if constant_value is None else constant_value, "the constant").reshape(-1)
        return padding.pad_or_cut(x, widths, value[0].astype(x.dtype))
    if mode not in ("edge", "reflect", "wrap"):
        raise Unsupported(f"mode '{mode}'")
    x = padding.pad_or_cut(x, [(min(low, 0), min(high, 0)) for low, high in widths], 0)
    for axis, (low, high) in enumerate((max(low, 0), max(high, 0)) for low, high in widths):
        if low or high:
            x = selection.take(x, padded_indices(x.shape[axis], low, high, mode), axis)
    return x


@onnx_op("Pad", since=2)
def pad_by_attributes(
    x: Value, *, pads: Sequence[int], mode: str = "constant", value: float = 0.0
) -> Value:
    return pad(x, np.asarray(pads), np.asarray(value), mode=mode)


@onnx_op("Pad")
def pad_by_paddings(
    x: Value, *, paddings: Sequence[int], mode: str = "constant", value: float = 0.0
) -> Value:
    return pad(x, np.asarray(paddings), np.asarray(value), mode=mode)


@onnx_op("Gather")
def gather(x: Value, indices: Value, *, axis: int = 0) -> Value:
    return selection.take(x, indices, axis)


@onnx_op("Tile")
def tile(x: Value, repeats: Value) -> Value:
    """`x` repeated along each axis: a new axis before each, repeated, and the two joined."""
    counts = integers(repeats, "the repeats")
    if len(counts) != len(x.shape):
        raise StepwellError(
            f"found {len(counts)} repeats for {len(x.shape)} axes, expected one for each"
        )
    pairs = [
        pair for count, extent in zip(counts, x.shape, strict=True) for pair in (count, extent)
    ]
    spread = manipulation.expand_dims(x, tuple(range(0, 2 * len(counts), 2)))
    joined = [count * extent for count, extent in zip(counts, x.shape, strict=True)]
    return manipulation.reshape(manipulation.broadcast_to(spread, pairs), joined)


@onnx_op("DepthToSpace")
def depth_to_space(x: Value, *, blocksize: int, mode: str = "DCR") -> Value:
    n, c, h, w = x.shape
    b = blocksize
    if mode == "DCR":
        blocks = manipulation.transpose(
            manipulation.reshape(x, (n, b, b, c // b**2, h, w)), (0, 3, 4, 1, 5, 2)
        )
    else:
        blocks = manipulation.transpose(
            manipulation.reshape(x, (n, c // b**2, b, b, h, w)), (0, 1, 4, 2, 5, 3)
        )
    return manipulation.reshape(blocks, (n, c // b**2, h * b, w * b))


@onnx_op("SpaceToDepth")
def space_to_depth(x: Value, *, blocksize: int, mode: str = "DCR") -> Value:
    n, c, h, w = x.shape
    b = blocksize
    order = (0, 3, 5, 1, 2, 4) if mode == "DCR" else (0, 1, 3, 5, 2, 4)
    blocks = manipulation.transpose(manipulation.reshape(x, (n, c, h // b, b, w // b, b)), order)
    return manipulation.reshape(blocks, (n, c * b**2, h // b, w // b))


@onnx_op("Trilu")
def trilu(x: Value, k: Value = None, *, upper: int = 1) -> Value:
    """The elements on and above the k-th diagonal of each matrix, or on and below it; 0 elsewhere."""
    if len(x.shape) < 2:
        raise StepwellError(
            f"found Trilu of {len(x.shape)} axes, expected matrices; reshape the tensor"
        )
    offset = 0 if k is None else integer(k, "the diagonal")
    rows, columns = (counting_along(axis, x.shape[axis - 2], 2) for axis in (0, 1))
    diagonal = elementwise.add(rows, offset)
    keep = (
        elementwise.greater_equal(columns, diagonal)
        if upper
        else elementwise.less_equal(columns, diagonal)
    )
    return elementwise.where(keep, x, np.zeros((), x.dtype))
