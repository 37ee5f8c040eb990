"""TOSA's constants, movement of data, reductions and choices by index."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..numpy import elementwise as ew
from ..numpy import joining, manipulation, padding, reductions, scatter, selection
from ..upstream.arrays import cast_value, flipped
from ..upstream.operations import Node, Value, known
from .registry import refuse_ignored_nan, require_ranks, tosa


@tosa("const", "const_shape")
def constant(*, node: Node) -> Value:
    return np.asarray(node.settings["values"])


def _extents(value: Value, node: Node) -> list[int]:
    return known(value, node, "extents").reshape(-1).tolist()


# Movement


@tosa("reshape")
def reshape(x: Value, shape: Value, *, node: Node) -> Value:
    return manipulation.reshape(x, node.shape)


@tosa("transpose")
def transpose(x: Value, *, node: Node) -> Value:
    return manipulation.transpose(x, node.settings["perms"])


@tosa("reverse")
def reverse(x: Value, *, node: Node) -> Value:
    axis, rank = node.settings["axis"], len(x.shape)
    if not 0 <= axis < rank:
        raise node.refuse(f"with axis = {axis}", f"one of the {rank} axes; mend the number")
    return flipped(x, [axis])


@tosa("concat")
def concat(*values: Value, node: Node) -> Value:
    return joining.concatenate(list(values), axis=node.settings["axis"])


@tosa("slice")
def slice_(x: Value, start: Value, size: Value, *, node: Node) -> Value:
    starts = _extents(start, node)
    if len(starts) != len(x.shape) or len(node.shape) != len(x.shape):
        raise node.refuse(f"with starts {starts}", f"{len(x.shape)} of them; mend the constant")
    for first, count, extent in zip(starts, node.shape, x.shape, strict=True):
        if first < 0 or first + count > extent:
            raise node.refuse(
                f"of {count} elements from {first} on", f"some of the {extent} there are"
            )
    return x[tuple(slice(a, a + count) for a, count in zip(starts, node.shape, strict=True))]


@tosa("tile")
def tile(x: Value, multiples: Value, *, node: Node) -> Value:
    return manipulation.tile(x, _extents(multiples, node))


@tosa("pad")
def pad(x: Value, widths: Value, value: Value, *, node: Node) -> Value:
    numbers, number = _extents(widths, node), known(value, node, "a value")
    if len(numbers) != 2 * len(x.shape) or number.size != 1:
        raise node.refuse(f"by {numbers}", "two extents for each axis, and one value")
    pairs = list(zip(numbers[::2], numbers[1::2], strict=True))
    return padding.pad(x, pairs, constant_values=number.reshape(-1)[0])


# Reductions

_REDUCTIONS: dict[str, Callable[..., Any]] = {
    "tosa.reduce_all": reductions.all,
    "tosa.reduce_any": reductions.any,
    "tosa.reduce_max": reductions.max,
    "tosa.reduce_min": reductions.min,
    "tosa.reduce_product": reductions.prod,
    "tosa.reduce_sum": reductions.sum,
}


@tosa(*_REDUCTIONS)
def reduce(x: Value, *, node: Node) -> Value:
    """The axis stays, with one element."""
    refuse_ignored_nan(node)
    whole = _REDUCTIONS[node.op.name]
    return cast_value(whole(x, axis=node.settings["axis"], keepdims=True), node.dtype)


@tosa("argmax")
def argmax(x: Value, *, node: Node) -> Value:
    refuse_ignored_nan(node)
    return cast_value(reductions.argmax(x, axis=node.settings["axis"]), node.dtype)


# By index


def _of_rows(indices: Value, channels: int) -> Value:
    """Indices (n, w) of rows as indices (n, w, c) of elements."""
    n, w = indices.shape
    return manipulation.broadcast_to(manipulation.reshape(indices, (n, w, 1)), (n, w, channels))


@tosa("gather")
def gather(x: Value, indices: Value, *, node: Node) -> Value:
    """Of rows (n, k, c) those that the indices (n, w) name."""
    require_ranks(node, (3, 2), x, indices)
    return selection.take_along_axis(x, _of_rows(indices, x.shape[2]), axis=1)


@tosa("scatter")
def scatter_(x: Value, indices: Value, updates: Value, *, node: Node) -> Value:
    """Rows (n, k, c) with those that the indices (n, w) name replaced."""
    require_ranks(node, (3, 2, 3), x, indices, updates)
    return scatter.scatter_elements(x, _of_rows(indices, x.shape[2]), updates, axis=1)


@tosa("resize")
def resize(x: Value, scale: Value, offset: Value, border: Value, *, node: Node) -> Value:
    """Images (n, h, w, c), first their rows and then their columns. Integers keep the sum of the weights as a factor."""
    require_ranks(node, (4,), x)
    scales, offsets = _extents(scale, node), _extents(offset, node)
    if len(scales) != 4 or len(offsets) != 2 or min(scales) < 1 or len(node.shape) != 4:
        raise node.refuse(
            f"with scale {scales} and offset {offsets}", "four numbers above 0, and two"
        )
    mode = node.settings["mode"]
    if mode == "BILINEAR":
        x = cast_value(x, node.dtype)
    for axis in (1, 2):
        up, down = scales[2 * axis - 2 : 2 * axis]
        position = np.arange(node.shape[axis]) * down + offsets[axis - 1]
        x = _resized(x, axis, position, up, mode == "BILINEAR")
    return x


def _resized(x: Value, axis: int, position: np.ndarray, up: int, is_bilinear: bool) -> Value:
    """The elements at these positions, in 1 / `up` of an element, along an axis; places outside are clamped."""
    last = x.shape[axis] - 1
    before, rest = np.floor_divide(position, up), np.mod(position, up)
    low, high = np.clip(before, 0, last), np.clip(before + 1, 0, last)
    if not is_bilinear:
        return selection.take(x, np.where(2 * rest >= up, high, low), axis=axis)
    dtype = x.dtype
    column = [-1 if number == axis else 1 for number in range(len(x.shape))]
    whole = 1 if dtype.kind not in "iu" else up
    weight = (rest * whole / up).astype(dtype).reshape(column)
    near = ew.multiply(selection.take(x, low, axis=axis), np.asarray(whole, dtype) - weight)
    return ew.add(near, ew.multiply(selection.take(x, high, axis=axis), weight))
