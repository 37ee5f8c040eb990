"""
New arrays with some elements replaced: `x.at[key].set(values)` and its kin, slices that start at traced indices.

The number of an element that arrays of indices name is computed from them; what other keys name is found by indexing an
array of the numbers of all elements. Known slices without steps are padded instead, which is element by element.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import takewhile
from math import prod
from types import EllipsisType
from typing import Any

import numpy as np

from ...dialects import graph
from ...dialects.dtypes import is_float_dtype
from ...errors import StepwellError
from ..promotion import INT64
from ..recording import as_tensor, cast_to, record
from ..tensor import Tensor, TensorLike
from ..traceable import traceable
from .arguments import integers
from .counting import iota
from .elementwise import add, clip, maximum, minimum, multiply, where
from .indexing import expanded, getitem, index_tensor, is_mask, parts_of
from .manipulation import broadcast_to, reshape
from .scatter import scatter_elements

_JOINS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "none": lambda before, value: value,
    "add": add,
    "mul": multiply,
    "min": minimum,
    "max": maximum,
}


@traceable
def updated(x: Tensor, key: Any, values: TensorLike, how: str, /) -> Tensor:
    """`x` with the elements that `key` names replaced, or joined with the values by add, mul, min or max."""
    x = as_tensor(x)
    value = cast_to(as_tensor(values), x.dtype)
    parts = parts_of(key)
    if len(parts) == 1 and is_mask(parts[0]) and not _is_one_each(parts[0], x, value):
        return _where(x, as_tensor(parts[0]), value, how)
    if all(isinstance(part, slice | int | EllipsisType) for part in parts):
        found = _in_slices(x, parts, value, how)
        if found is not None:
            return found
    places = _numbers(x.shape, key)
    written = broadcast_to(_fitting(value, places.shape), places.shape)
    flat = scatter_elements(reshape(x, -1), reshape(places, -1), reshape(written, -1), 0, how)
    return reshape(flat, x.shape)


def _numbers(shape: tuple[int, ...], key: Any) -> Tensor:
    """The numbers, in C order, of the elements that a key names. Raises StepwellError for what is no key."""
    parts = expanded(key, shape)
    arrays = [*takewhile(lambda part: not isinstance(part, slice | EllipsisType | None), parts)]
    rest = parts[len(arrays) :]
    indices = [
        cast_to(index_tensor(array, extent), INT64)
        for array, extent in zip(arrays, shape, strict=False)
    ]
    if (
        not indices
        or any(not isinstance(part, slice) or part != slice(None) for part in rest)
        or not _broadcast(indices)
    ):
        return getitem(reshape(iota(prod(shape)), shape), key)
    count = prod(shape[len(arrays) :])
    number = _moved_inside(indices[0], shape[0])
    for index, extent in zip(indices[1:], shape[1:], strict=False):
        number = number * extent + _moved_inside(index, extent)
    if not rest:
        return number
    behind = shape[len(arrays) :]
    ones = [1] * len(behind)
    return reshape(number * count, (*number.shape, *ones)) + reshape(iota(count), behind)


def _broadcast(tensors: Sequence[Tensor]) -> bool:
    """Whether the shapes broadcast with one another."""
    try:
        np.broadcast_shapes(*(tensor.shape for tensor in tensors))
    except ValueError:
        return False
    return True


def _moved_inside(index: Tensor, extent: int) -> Tensor:
    """Indices into an axis, of which negative ones count from its end, and others out of range are the nearest in range."""
    return clip(where(index < 0, index + extent, index), 0, max(extent - 1, 0))


def _fitting(value: Tensor, shape: tuple[int, ...]) -> Tensor:
    """The values without leading axes of extent 1 that the place has not, as NumPy has it."""
    while value.ndim > len(shape) and value.shape[0] == 1:
        value = reshape(value, value.shape[1:])
    return value


def _is_one_each(mask: Any, x: Tensor, value: Tensor) -> bool:
    """Whether values for a known mask are not the same at each place, but one after the other where it holds."""
    rest = x.ndim - (mask.ndim if isinstance(mask, Tensor) else np.ndim(mask))
    return not isinstance(mask, Tensor) and value.ndim > rest


def _where(x: Tensor, mask: Tensor, value: Tensor, how: str) -> Tensor:
    """By a mask of the leading axes, with one value, or one for each place behind these axes."""
    if mask.shape != x.shape[: mask.ndim]:
        raise StepwellError(
            f"found a mask of shape {list(mask.shape)} for a tensor of {list(x.shape)}, expected the extents of its first "
            "axes; reshape it"
        )
    rest = x.shape[mask.ndim :]
    if value.ndim > len(rest) or any(
        extent not in (1, other)
        for extent, other in zip(value.shape[::-1], rest[::-1], strict=False)
    ):
        raise StepwellError(
            f"found values of shape {list(value.shape)} for a mask, expected one number, or shape {list(rest)}; use "
            "stepwell.where for one at each element"
        )
    mask = reshape(mask, (*mask.shape, *[1] * len(rest)))
    return where(mask, _JOINS[how](x, value), x)


def _in_slices(x: Tensor, parts: Sequence[Any], value: Tensor, how: str) -> Tensor | None:
    """By integers and slices, element by element; None for several values and a slice with a step."""
    place = getitem(x, tuple(parts))  # checks the key
    written = _fitting(value, place.shape)
    if not place.size:
        broadcast_to(written, place.shape)  # checks the values
        return x
    named = _named(x.shape, parts)
    if value.size != 1 and any(along.step != 1 for along in named):
        return None
    named = [along if along.step > 0 else along[::-1] for along in named]
    if all(len(along) == extent for along, extent in zip(named, x.shape, strict=True)):
        return _JOINS[how](x, reshape(broadcast_to(written, place.shape), x.shape))
    if value.size == 1:
        return where(_is_named(x.shape, named), _JOINS[how](x, reshape(value, ())), x)
    low = [along.start for along in named]
    inner = [len(along) for along in named]
    high = [
        extent - start - count for extent, start, count in zip(x.shape, low, inner, strict=True)
    ]
    written = reshape(broadcast_to(written, place.shape), inner)
    # What x + -0.0 gives is x, also where x is -0.0.
    zero = x.dtype.type(-0.0 if is_float_dtype(x.dtype) and how == "add" else 0)
    spread = record(graph.PadOp, written, low, high, zero)
    if how == "add":
        return add(x, spread)
    return where(_is_named(x.shape, named), _JOINS[how](x, spread), x)


def _named(shape: Sequence[int], parts: Sequence[Any]) -> list[range]:
    """The indices along each axis that integers and slices name."""
    slices: list[Any] = [
        slice(part, part + 1 or None) if type(part) is int else part for part in parts
    ]
    at = slices.index(Ellipsis) if Ellipsis in slices else len(slices)
    full = len(shape) - len(slices) + (1 if Ellipsis in slices else 0)
    slices[at : at + 1] = [slice(None)] * full
    return [range(*part.indices(extent)) for part, extent in zip(slices, shape, strict=True)]


def _is_named(shape: Sequence[int], named: Sequence[range]) -> Tensor:
    """Whether each element of a tensor of this shape has such indices: computed from them, so that nothing is read."""
    holds: Tensor | None = None
    for axis, (along, extent) in enumerate(zip(named, shape, strict=True)):
        if len(along) == extent:
            continue
        index = iota(extent)
        here = (index >= along.start) & (index < along.stop)
        if along.step != 1:
            here = here & ((index - along.start) % abs(along.step) == 0)
        here = reshape(here, [-1 if one == axis else 1 for one in range(len(shape))])
        holds = here if holds is None else holds & here
    assert holds is not None
    return holds


# Slices of fixed sizes that start where a traced index says.


def _starts(
    x: Tensor, starts: Sequence[TensorLike], sizes: Sequence[int], name: str
) -> list[Tensor]:
    """The starts, moved so that the slice lies inside."""
    _require_one_for_each_axis(x, starts, sizes, name)
    tensors = [cast_to(as_tensor(start), INT64) for start in starts]
    wrapped = [
        where(start < 0, start + extent, start)
        for start, extent in zip(tensors, x.shape, strict=True)
    ]
    return [
        clip(start, 0, extent - size)
        for start, extent, size in zip(wrapped, x.shape, sizes, strict=True)
    ]


def _require_one_for_each_axis(
    x: Tensor, starts: Sequence[TensorLike], sizes: Sequence[int], name: str
) -> None:
    if len(starts) != x.ndim or len(sizes) != x.ndim:
        raise StepwellError(
            f"found {len(starts)} starts and {len(sizes)} sizes in {name}, expected {x.ndim}, one for each axis"
        )
    if any(not 0 <= size <= extent for size, extent in zip(sizes, x.shape, strict=True)):
        raise StepwellError(
            f"found sizes {list(sizes)} in {name} for shape {list(x.shape)}, expected none larger"
        )


@traceable
def dynamic_slice(x: TensorLike, starts: Sequence[TensorLike], sizes: Sequence[int], /) -> Tensor:
    """
    The slice of these sizes that starts at these indices, one for each axis, which may be traced. A negative one counts from
    the end; a slice that would reach beyond it is moved inside.

    >>> sw.dynamic_slice([1, 2, 3, 4], [1], [2])
    array([2, 3])
    """
    x = as_tensor(x)
    extents = integers(sizes, "sizes")
    for axis, start in enumerate(_starts(x, starts, extents, "dynamic_slice")):
        if extents[axis] != x.shape[axis]:
            x = record(graph.GatherOp, x, iota(extents[axis]) + start, axis)
    return x


@traceable
def dynamic_update_slice(
    x: TensorLike, update: TensorLike, starts: Sequence[TensorLike], /
) -> Tensor:
    """
    `x` with `update` written where the slice of its shape is that starts at these indices. See `dynamic_slice`.

    >>> sw.dynamic_update_slice([1, 2, 3, 4], [8, 9], [1])
    array([1, 8, 9, 4])
    """
    x = as_tensor(x)
    value = cast_to(as_tensor(update), x.dtype)
    _require_one_for_each_axis(x, starts, value.shape, "dynamic_update_slice")
    tensors = [cast_to(as_tensor(start), INT64) for start in starts]
    return record(graph.DynamicUpdateSliceOp, x, value, *tensors)
