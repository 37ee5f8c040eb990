"""Public functions that make, move, join and cut arrays. See `functions` for the rules they all follow."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from itertools import pairwise
from typing import Any
from typing import cast as cast_type

import numpy as np
from xdsl.dialects.builtin import TensorType

from ..dialects import graph
from ..dialects.dtypes import element_type
from ..errors import StepwellError
from .indexing import index_tensor
from .promotion import dtype_named, is_scalar, scalar_array
from .recording import as_tensor, cast_to, promoted, record, record_all
from .tensor import Tensor, TensorLike
from .traceable import creation, traceable

AxisLike = int | Sequence[int] | None


def integers(value: Any, what: str) -> tuple[int, ...]:
    """An integer, or several, as a tuple. Raises StepwellError for anything else."""
    try:
        is_several = isinstance(value, list | tuple | range | np.ndarray)
        items = cast_type("Sequence[Any]", value) if is_several else (value,)
        return tuple(operator.index(item) for item in items)
    except TypeError:
        raise StepwellError(
            f"found {value!r:.60} for {what}, expected an integer or a tuple of integers; convert it"
        ) from None


def axes_of(axis: AxisLike) -> tuple[int, ...] | None:
    """An `axis=` argument as a tuple; None stays."""
    return None if axis is None else integers(axis, "axis")


def single_axis(axis: Any) -> int:
    """An `axis=` argument that must be one integer."""
    axes = integers(axis, "axis")
    if len(axes) != 1:
        raise StepwellError(f"found axes {list(axes)}, expected a single axis; give one integer")
    return axes[0]


def normalized(axis: int, rank: int, what: str = "axis") -> int:
    """An axis counted from 0. Raises StepwellError when there is no such axis."""
    if -rank <= axis < rank:
        return axis % rank
    raise StepwellError(
        f"found {what} {axis} for a tensor of {rank} axes, expected {-rank} to {rank - 1}"
        if rank
        else f"found {what} {axis} for a tensor without axes, expected at least one axis; reshape it"
    )


@traceable
def astype(x: TensorLike, dtype: Any, /) -> Tensor:
    """
    `x` in another dtype. Integers wrap; floats become integers by truncation, saturating, NaN becoming 0
    (where NumPy leaves that to the machine); anything but zero becomes True.
    """
    return cast_to(as_tensor(x), dtype_named(dtype))


cast = astype


@traceable
def reshape(x: TensorLike, /, shape: int | Sequence[int]) -> Tensor:
    """The elements in row-major order under `shape`, one extent of which may be -1."""
    return record(graph.ReshapeOp, as_tensor(x), integers(shape, "shape"))


@traceable
def ravel(x: TensorLike, /) -> Tensor:
    """All elements along one axis, in row-major order."""
    return record(graph.ReshapeOp, as_tensor(x), (-1,))


@traceable
def transpose(x: TensorLike, /, axes: Sequence[int] | None = None) -> Tensor:
    """Axis i of the result is axis `axes[i]` of `x`; without `axes` they are reversed."""
    return record(graph.TransposeOp, as_tensor(x), axes_of(axes))


permute_dims = transpose


@traceable
def swapaxes(x: TensorLike, axis1: int, axis2: int, /) -> Tensor:
    """`x` with two axes in each other's place."""
    x = as_tensor(x)
    order = list(range(x.ndim))
    first = normalized(single_axis(axis1), x.ndim)
    second = normalized(single_axis(axis2), x.ndim)
    order[first], order[second] = order[second], order[first]
    return record(graph.TransposeOp, x, order)


@traceable
def moveaxis(x: TensorLike, source: AxisLike, destination: AxisLike, /) -> Tensor:
    """`x` with the axes `source` moved to the positions `destination`, the others in order."""
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
    """`x` with new axes of extent 1 at these positions of the result."""
    return record(graph.ExpandDimsOp, as_tensor(x), integers(axis, "axis"))


@traceable
def squeeze(x: TensorLike, /, axis: AxisLike = None) -> Tensor:
    """`x` without these axes, which have extent 1; without `axis`, without every such axis."""
    return record(graph.SqueezeOp, as_tensor(x), axes_of(axis))


@traceable
def broadcast_to(x: TensorLike, /, shape: int | Sequence[int]) -> Tensor:
    """`x` repeated along new axes and axes of extent 1, to `shape`."""
    return record(graph.BroadcastToOp, as_tensor(x), integers(shape, "shape"))


def _operands(arrays: Sequence[TensorLike]) -> Sequence[TensorLike]:
    if type(arrays) in (list, tuple) and len(arrays):
        return arrays
    raise StepwellError(
        f"found {'an empty' if type(arrays) in (list, tuple) else 'a'} {type(arrays).__name__} to join, "
        "expected a list or tuple of at least one tensor; put them in one"
    )


@traceable
def concatenate(arrays: Sequence[TensorLike], /, axis: int | None = 0) -> Tensor:
    """
    Arrays joined along an axis; all other extents must be equal. With `axis=None` each is flattened first.
    """
    tensors = promoted(*_operands(arrays))
    if axis is None:
        tensors = [record(graph.ReshapeOp, tensor, (-1,)) for tensor in tensors]
    return record(graph.ConcatOp, tensors, single_axis(axis or 0))


concat = concatenate


@traceable
def stack(arrays: Sequence[TensorLike], /, axis: int = 0) -> Tensor:
    """Arrays of one shape joined along a new axis."""
    tensors = promoted(*_operands(arrays))
    axis = normalized(single_axis(axis), tensors[0].ndim + 1)
    return record(
        graph.ConcatOp, [record(graph.ExpandDimsOp, tensor, axis) for tensor in tensors], axis
    )


@traceable
def split(
    x: TensorLike, indices_or_sections: int | Sequence[int], /, axis: int = 0
) -> list[Tensor]:
    """
    `x` cut along an axis: into so many equal parts, or before each of these indices.

    Raises StepwellError when it cannot be cut into equal parts.
    """
    x = as_tensor(x)
    axis = normalized(single_axis(axis), x.ndim)
    extent = x.shape[axis]
    if isinstance(indices_or_sections, list | tuple | np.ndarray):
        cuts = [slice(cut).indices(extent)[1] for cut in integers(indices_or_sections, "indices")]
        bounds = [0, *cuts, extent]
        if bounds != sorted(bounds):
            raise StepwellError(
                f"found indices {list(indices_or_sections)} to split at, expected them in order"
            )
        sizes = [end - start for start, end in pairwise(bounds)]
    else:
        (count,) = integers(indices_or_sections, "the number of parts")
        if count < 1 or extent % count:
            raise StepwellError(
                f"found {count} parts for an extent of {extent}, expected a number that divides it; give the "
                "indices to split at"
            )
        sizes = [extent // count] * count
    return list(record_all(graph.SplitOp, x, sizes, axis))


@traceable
def pad(
    x: TensorLike,
    /,
    pad_width: int | Sequence[int] | Sequence[Sequence[int]],
    mode: str = "constant",
    *,
    constant_values: Any = 0,
) -> Tensor:
    """
    `x` with a constant before and after it on each axis. `pad_width` is one number, (before, after), or such
    a pair for each axis.

    Raises StepwellError for another `mode`.
    """
    x = as_tensor(x)
    if mode != "constant":
        raise StepwellError(
            f"found mode '{mode}' in pad, expected 'constant'; concatenate slices of the tensor"
        )
    if not is_scalar(constant_values) and not isinstance(constant_values, np.generic):
        raise StepwellError(
            f"found constant_values {constant_values!r:.60}, expected a single number"
        )
    try:
        widths = np.broadcast_to(np.asarray(pad_width), (x.ndim, 2))
        if widths.dtype.kind not in "iu" and widths.size:
            raise ValueError
    except ValueError:
        raise StepwellError(
            f"found pad_width {pad_width!r:.60} for a tensor of {x.ndim} axes, expected integers: one, a pair "
            "(before, after), or a pair for each axis"
        ) from None
    is_integer = isinstance(constant_values, int)
    value = scalar_array(constant_values, x.dtype) if is_integer else np.asarray(constant_values)
    with np.errstate(invalid="ignore"):
        number = value.astype(x.dtype)[()]
    return record(graph.PadOp, x, widths[:, 0].tolist(), widths[:, 1].tolist(), number)


@traceable
def take(x: TensorLike, indices: TensorLike, /, axis: int | None = None) -> Tensor:
    """
    The slices of `axis` at `indices`; without `axis`, elements of the flattened `x`. A negative index
    counts from the end. An index out of range that is known only at run time is moved to the nearest in
    range.

    Raises StepwellError for indices that are not integers, or known and out of range.
    """
    x = as_tensor(x)
    if axis is None:
        x, axis = record(graph.ReshapeOp, x, (-1,)), 0
    axis = normalized(single_axis(axis), x.ndim)
    return record(graph.GatherOp, x, index_tensor(indices, x.shape[axis]), axis)


@creation
def iota(shape: int | Sequence[int], axis: int = 0, dtype: Any = np.int64) -> Tensor:
    """An array of `shape` that counts 0, 1, 2, … along `axis`."""
    extents = integers(shape, "shape")
    axis = normalized(single_axis(axis), len(extents))
    return record(graph.IotaOp, TensorType(element_type(dtype_named(dtype)), extents), axis)


@creation
def arange(start: float, stop: float | None = None, step: float = 1, dtype: Any = None) -> Tensor:
    """`numpy.arange`: from `start`, 0 if there is only one number, up to, without, `stop`."""
    bounds = (0, start) if stop is None else (start, stop)
    if any(isinstance(number, Tensor) for number in (*bounds, step)):
        raise StepwellError(
            "found a traced value in arange, expected Python numbers; shapes are fixed while tracing"
        )
    try:
        values = np.arange(*bounds, step, dtype=None if dtype is None else dtype_named(dtype))
    except (TypeError, ValueError, ZeroDivisionError) as error:
        raise StepwellError(
            f"found {(*bounds, step)} in arange ({error}), expected real numbers and a step other than 0"
        ) from None
    if np.array_equal(values, np.arange(values.size)):
        return iota(values.size, 0, values.dtype)
    return as_tensor(values)
