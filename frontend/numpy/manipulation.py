"""Arrays under other shapes: moved, joined, cut, repeated."""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable, Sequence
from typing import Any
from typing import cast as cast_type

import numpy as np
from xdsl.dialects.builtin import TensorType, i64

from ...dialects import graph
from ...dialects.dtypes import element_type
from ...errors import StepwellError
from ..promotion import BOOL, dtype_named
from ..recording import as_tensor, cast_to, record
from ..tensor import Tensor, TensorLike
from ..traceable import traceable
from .arguments import AxisLike, axes_of, integers, normalized, single_axis
from .examples import presented


@traceable
def astype(x: TensorLike, dtype: Any, /) -> Tensor:
    """
    `x` in another dtype. Integers wrap; floats become integers by truncation, saturating, NaN becoming 0
    (where NumPy leaves that to the machine); anything but zero becomes True.

    >>> sw.astype([1.9, -1.9, np.nan], np.int32)
    array([ 1, -1,  0], dtype=int32)
    """
    return cast_to(as_tensor(x), dtype_named(dtype))


cast = astype


@traceable
def bitcast(x: TensorLike, dtype: Any, /) -> Tensor:
    """
    The bits of each element as one of another dtype of the same size: `x.view(dtype)` in NumPy, ONNX BitCast. True is 1.

    Raises StepwellError for a dtype of another size, and for bits as bool.

    >>> sw.bitcast(np.array([1.0], np.float32), np.int32)
    array([1065353216], dtype=int32)
    """
    x, target = as_tensor(x), dtype_named(dtype)
    if x.dtype == target:
        return x
    if x.dtype.itemsize != target.itemsize or target == BOOL:
        raise StepwellError(
            f"found the bits of {x.dtype} as {target}, expected a dtype of {x.dtype.itemsize} bytes that is not bool; "
            "convert it with astype"
        )
    if x.dtype == BOOL:
        return cast_to(x, target)
    return record(graph.BitcastOp, x, element_type(target))


@traceable
def reshape(x: TensorLike, /, shape: int | Sequence[int], order: str = "C") -> Tensor:
    """
    The elements in order under `shape`, one extent of which may be -1: the last index changes first, or with "F" the first.

    Raises StepwellError for a shape of another number of elements.

    >>> sw.reshape([1, 2, 3, 4, 5, 6], (2, -1))
    array([[1, 2, 3],
           [4, 5, 6]])
    """
    x, shape = as_tensor(x), integers(shape, "shape")
    if not is_column_major(order):
        return record(graph.ReshapeOp, x, shape)
    return transpose(record(graph.ReshapeOp, transpose(x), shape[::-1]))


def is_column_major(order: str) -> bool:
    """
    Whether elements are in the order in which the first index changes first. Traced values have no other order in memory
    than "C", which "A" and "K" ask for. Raises StepwellError for what is no order.
    """
    if order not in ("C", "F", "A", "K"):
        raise StepwellError(f"found order {order!r:.40}, expected 'C', 'F', 'A' or 'K'")
    return order == "F"


@traceable
def ravel(x: TensorLike, /, order: str = "C") -> Tensor:
    """
    All elements along one axis: the last index changes first, or with "F" the first.

    >>> sw.ravel([[1, 2], [3, 4]])
    array([1, 2, 3, 4])
    """
    return reshape(x, (-1,), order)


@traceable
def transpose(x: TensorLike, /, axes: Sequence[int] | None = None) -> Tensor:
    """
    Axis i of the result is axis `axes[i]` of `x`; without `axes` they are reversed.

    >>> sw.transpose([[1, 2, 3], [4, 5, 6]])
    array([[1, 4],
           [2, 5],
           [3, 6]])
    """
    return record(graph.TransposeOp, as_tensor(x), axes_of(axes))


permute_dims = transpose


@traceable
def swapaxes(x: TensorLike, axis1: int, axis2: int, /) -> Tensor:
    """
    `x` with two axes in each other's place.

    >>> sw.swapaxes([[1, 2], [3, 4]], 0, 1)
    array([[1, 3],
           [2, 4]])
    """
    x = as_tensor(x)
    order = list(range(x.ndim))
    first = normalized(single_axis(axis1), x.ndim)
    second = normalized(single_axis(axis2), x.ndim)
    order[first], order[second] = order[second], order[first]
    return record(graph.TransposeOp, x, order)


@traceable
def moveaxis(x: TensorLike, source: AxisLike, destination: AxisLike, /) -> Tensor:
    """
    `x` with the axes `source` moved to the positions `destination`, the others in order.

    Raises StepwellError for another number of destinations, and for an axis that is named twice.

    >>> sw.moveaxis(np.zeros((2, 3, 4)), 0, -1).shape
    (3, 4, 2)
    """
    x = as_tensor(x)
    start = [normalized(axis, x.ndim) for axis in integers(source, "source")]
    end = [normalized(axis, x.ndim) for axis in integers(destination, "destination")]
    if len(set(start)) != len(start) or len(set(end)) != len(end) or len(start) != len(end):
        raise StepwellError(
            f"found source {source} and destination {destination}, expected as many distinct axes in both"
        )
    order = [axis for axis in range(x.ndim) if axis not in start]
    for to, axis in sorted(zip(end, start, strict=True)):
        order.insert(to, axis)
    return record(graph.TransposeOp, x, order)


@traceable
def expand_dims(x: TensorLike, /, axis: int | Sequence[int]) -> Tensor:
    """
    `x` with new axes of extent 1 at these positions of the result.

    >>> sw.expand_dims([1, 2], 1)
    array([[1],
           [2]])
    """
    return record(graph.ExpandDimsOp, as_tensor(x), integers(axis, "axis"))


@traceable
def squeeze(x: TensorLike, /, axis: AxisLike = None) -> Tensor:
    """
    `x` without these axes, which have extent 1; without `axis`, without every such axis.

    Raises StepwellError for an axis of another extent than 1.

    >>> sw.squeeze([[[1], [2]]])
    array([1, 2])
    """
    return record(graph.SqueezeOp, as_tensor(x), axes_of(axis))


@traceable
def broadcast_to(x: TensorLike, /, shape: int | Sequence[int]) -> Tensor:
    """
    `x` repeated along new axes and axes of extent 1, to `shape`.

    Raises StepwellError for a shape that `x` does not broadcast to.

    >>> sw.broadcast_to([1, 2], (2, 2))
    array([[1, 2],
           [1, 2]])
    """
    return record(graph.BroadcastToOp, as_tensor(x), integers(shape, "shape"))


@traceable
def tile(x: TensorLike, reps: int | Any, /) -> Tensor:
    """
    `x` repeated along each axis so many times; missing axes, and missing numbers, are added in front.

    Raises StepwellError for a number below 0.

    >>> sw.tile([1, 2], (2, 2))
    array([[1, 2, 1, 2],
           [1, 2, 1, 2]])
    """
    x = as_tensor(x)
    counts = integers(reps, "reps")
    if any(count < 0 for count in counts):
        raise StepwellError(f"found reps {list(counts)}, expected none below 0; mend them")
    rank = max(len(counts), x.ndim)
    shape = (1,) * (rank - x.ndim) + tuple(x.shape)
    counts = (1,) * (rank - len(counts)) + counts
    pairs = [extent for pair in zip(counts, shape, strict=True) for extent in pair]
    single = [extent for each in shape for extent in (1, each)]
    joined = [count * extent for count, extent in zip(counts, shape, strict=True)]
    return reshape(broadcast_to(reshape(x, single), pairs), joined)


@traceable
def repeat(x: TensorLike, repeats: int | Any, /, axis: int | None = None) -> Tensor:
    """
    Each slice of `axis` so many times in a row, or as often as known numbers say, one for each; without an axis, each element
    of the flattened `x`.

    Raises StepwellError for numbers that are traced, as the result's shape would follow from them.

    >>> sw.repeat([1, 2], [3, 1])
    array([1, 1, 1, 2])
    """
    x = as_tensor(x)
    if axis is None:
        x, axis = reshape(x, -1), 0
    axis = normalized(single_axis(axis), x.ndim)
    if isinstance(repeats, Tensor):
        raise StepwellError(
            f"found {repeats!r} as repeats, expected known numbers, as a shape follows from them; for a known total use "
            "stepwell.take(x, stepwell.searchsorted(stepwell.cumsum(repeats), stepwell.arange(total), 'right'))"
        )
    counts, shape = integers(repeats, "repeats"), tuple(x.shape)
    if builtins.any(count < 0 for count in counts):
        raise StepwellError(
            f"found {builtins.min(counts)} repeats, expected at least 0; mend the number"
        )
    if len(counts) != 1:
        if len(counts) != shape[axis]:
            raise StepwellError(
                f"found {len(counts)} repeats for an axis of extent {shape[axis]}, expected as many, or one number"
            )
        places = [place for place, count in enumerate(counts) for _ in range(count)]
        return record(graph.GatherOp, x, as_tensor(np.array(places, np.int64)), axis)
    (count,) = counts
    spread = broadcast_to(expand_dims(x, axis + 1), (*shape[: axis + 1], count, *shape[axis + 1 :]))
    return reshape(spread, (*shape[:axis], count * shape[axis], *shape[axis + 1 :]))


@traceable
def matrix_transpose(x: TensorLike, /) -> Tensor:
    """
    `x` with its last two axes in each other's place.

    >>> sw.matrix_transpose([[1, 2], [3, 4]])
    array([[1, 3],
           [2, 4]])
    """
    return swapaxes(x, -1, -2)


@traceable
def rollaxis(x: TensorLike, axis: int, /, start: int = 0) -> Tensor:
    """
    `x` with an axis moved before the axis `start`.

    >>> sw.rollaxis(np.zeros((2, 3, 4)), 2).shape
    (4, 2, 3)
    """
    x = as_tensor(x)
    axis = normalized(single_axis(axis), x.ndim)
    (before,) = integers(start, "start")
    before = before + x.ndim if before < 0 else before
    return moveaxis(x, axis, before - 1 if axis < before else before)


def _at_least(rank: int, call: str, printed: str) -> Callable[..., Any]:
    def function(*arrays: TensorLike) -> Any:
        tensors = [with_axes(as_tensor(array)) for array in arrays]
        return tensors[0] if len(tensors) == 1 else tuple(tensors)

    def with_axes(x: Tensor) -> Tensor:
        if x.ndim >= rank:
            return x
        # As NumPy has it: a vector is a row, and of three axes the one in the middle.
        shapes = {0: (1,) * rank, 1: (1, *x.shape, 1)[:3] if rank == 3 else (1, *x.shape)}
        return record(graph.ReshapeOp, x, shapes.get(x.ndim, (*x.shape, 1)))

    axes = "1 axis" if rank == 1 else f"{rank} axes"
    text = f"Each array with at least {axes}, new ones of extent 1; several as a tuple."
    return presented(function, f"atleast_{rank}d", text, call, printed)


atleast_1d = _at_least(1, "sw.atleast_1d(5)", "array([5])")
atleast_2d = _at_least(2, "sw.atleast_2d([1, 2]).shape", "(1, 2)")
atleast_3d = _at_least(3, "sw.atleast_3d([1, 2]).shape", "(1, 2, 1)")


@traceable
def broadcast_arrays(*arrays: TensorLike) -> tuple[Tensor, ...]:
    """
    The arrays repeated to the shape they have in common.

    >>> sw.broadcast_arrays([1, 2], [[3], [4]])
    (array([[1, 2],
           [1, 2]]), array([[3, 3],
           [4, 4]]))
    """
    tensors = [as_tensor(array) for array in arrays]
    shape = broadcast_shapes(*(tensor.shape for tensor in tensors))
    return tuple(broadcast_to(tensor, shape) for tensor in tensors)


def broadcast_shapes(*shapes: Sequence[int]) -> tuple[int, ...]:
    """
    The shape that arrays of these broadcast to. Raises StepwellError where there is none.

    >>> sw.broadcast_shapes((3, 1), (4,))
    (3, 4)
    """
    try:
        return np.broadcast_shapes(*map(tuple, shapes))
    except ValueError:
        found = " and ".join(str(list(shape)) for shape in shapes)
        raise StepwellError(
            f"found shapes {found}, expected extents that are equal or 1 on each axis, from the last on; reshape them"
        ) from None


# In another order.


@traceable
def flip(x: TensorLike, /, axis: AxisLike = None) -> Tensor:
    """
    `x` with the elements in reverse order along these axes, or all.

    >>> sw.flip([[1, 2], [3, 4]])
    array([[4, 3],
           [2, 1]])
    """
    x = as_tensor(x)
    axes = (
        range(x.ndim)
        if axis is None
        else [normalized(one, x.ndim) for one in integers(axis, "axis")]
    )
    slices = [slice(None, None, -1) if one in axes else slice(None) for one in range(x.ndim)]
    return record(graph.SliceOp, x, slices) if x.ndim else x


@traceable
def flipud(x: TensorLike, /) -> Tensor:
    """
    `x` with its first axis in reverse order.

    >>> sw.flipud([[1, 2], [3, 4]])
    array([[3, 4],
           [1, 2]])
    """
    return flip(x, 0)


@traceable
def fliplr(x: TensorLike, /) -> Tensor:
    """
    `x` with its second axis in reverse order.

    >>> sw.fliplr([[1, 2], [3, 4]])
    array([[2, 1],
           [4, 3]])
    """
    return flip(x, 1)


@traceable
def rot90(x: TensorLike, /, k: int = 1, axes: Sequence[int] = (0, 1)) -> Tensor:
    """
    `x` turned by k quarters in the plane of two axes, from the first towards the second.

    Raises StepwellError for another number of axes than two.

    >>> sw.rot90([[1, 2], [3, 4]])
    array([[2, 4],
           [1, 3]])
    """
    x = as_tensor(x)
    plane = [normalized(axis, x.ndim) for axis in integers(axes, "axes")]
    if len(set(plane)) != 2:
        raise StepwellError(f"found axes {axes!r:.40} in rot90, expected two of them; name two")
    (quarters,) = integers(k, "k")
    if quarters % 4 == 2:
        return flip(x, plane)
    if quarters % 4 == 1:
        return swapaxes(flip(x, plane[1]), *plane)
    return flip(swapaxes(x, *plane), plane[1]) if quarters % 4 else x


@traceable
def roll(x: TensorLike, shift: Any, /, axis: AxisLike = None) -> Tensor:
    """
    `x` with its elements shifted along axes, those beyond the end back to the beginning; without axes, as if flattened.
    A shift may be traced.

    Raises StepwellError for another number of shifts than of axes.

    >>> sw.roll([1, 2, 3, 4], 1)
    array([4, 1, 2, 3])
    """
    x = as_tensor(x)
    if axis is None:
        return reshape(roll(reshape(x, (-1,)), shift, 0), x.shape)
    axes = [normalized(one, x.ndim) for one in integers(axis, "axis")]
    shifts = list(cast_type("Sequence[Any]", shift)) if isinstance(shift, list | tuple) else [shift]
    if len(axes) != len(shifts) and 1 not in (len(axes), len(shifts)):
        raise StepwellError(
            f"found {len(shifts)} shifts for {len(axes)} axes, expected as many, or one"
        )
    count = builtins.max(len(axes), len(shifts))
    for by, along in zip(shifts * (count // len(shifts)), axes * (count // len(axes)), strict=True):
        x = _rolled(x, by, along)
    return x


def _rolled(x: Tensor, shift: Any, axis: int) -> Tensor:
    extent = x.shape[axis]
    if isinstance(shift, Tensor):
        place = record(graph.IotaOp, TensorType(i64, [extent]), 0)
        return record(graph.GatherOp, x, (place - shift) % builtins.max(extent, 1), axis)
    (by,) = integers(shift, "shift")
    by = by % extent if extent else 0
    if not by:
        return x
    before = (slice(None),) * axis
    after = (slice(None),) * (x.ndim - axis - 1)
    ends = (slice(extent - by, None), slice(0, extent - by))
    return record(
        graph.ConcatOp, [record(graph.SliceOp, x, [*before, part, *after]) for part in ends], axis
    )


@traceable
def resize(x: TensorLike, new_shape: int | Sequence[int], /) -> Tensor:
    """
    An array of a new shape: the elements of `x` in row-major order, again from the first where there are too few.

    >>> sw.resize([1, 2, 3], (2, 2))
    array([[1, 2],
           [3, 1]])
    """
    flat, shape = reshape(x, (-1,)), integers(new_shape, "new_shape")
    size, count = math.prod(shape), flat.shape[0]
    if not count:
        return broadcast_to(as_tensor(np.zeros((), flat.dtype)), shape)
    return reshape(tile(flat, -(-size // count))[:size], shape)
