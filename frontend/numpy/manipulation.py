"""Arrays under other shapes: moved, joined, cut, repeated."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from ...dialects import graph
from ...errors import StepwellError
from ..promotion import dtype_named, is_scalar, scalar_array
from ..recording import as_tensor, cast_to, promoted, record, record_all
from ..tensor import Tensor, TensorLike
from ..traceable import traceable
from .arguments import AxisLike, axes_of, integers, normalized, single_axis


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
def tile(x: TensorLike, reps: int | Any, /) -> Tensor:
    """`x` repeated along each axis so many times; missing axes, and missing numbers, are added in front."""
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
def repeat(x: TensorLike, repeats: int, /, axis: int | None = None) -> Tensor:
    """Each slice of `axis` so many times in a row; without an axis, each element of the flattened `x`."""
    x = as_tensor(x)
    if axis is None:
        x, axis = reshape(x, -1), 0
    axis = normalized(single_axis(axis), x.ndim)
    (count,) = integers(repeats, "repeats")
    if count < 0:
        raise StepwellError(f"found {count} repeats, expected at least 0; mend the number")
    shape = tuple(x.shape)
    spread = broadcast_to(expand_dims(x, axis + 1), (*shape[: axis + 1], count, *shape[axis + 1 :]))
    return reshape(spread, (*shape[:axis], count * shape[axis], *shape[axis + 1 :]))
