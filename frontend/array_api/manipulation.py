"""The standard's functions that move, join, repeat and select elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...errors import StepwellError
from ..operators import call
from ..tensor import TensorLike
from .calls import at_once, standard

Axes = int | Sequence[int] | None


@standard
def broadcast_arrays(*arrays: TensorLike) -> Any:
    return list(call("broadcast_arrays", *arrays))


@standard
def broadcast_to(x: TensorLike, /, shape: Sequence[int]) -> Any:
    return call("broadcast_to", x, shape)


@standard
def concat(arrays: Sequence[TensorLike], /, *, axis: int | None = 0) -> Any:
    return call("concat", arrays, axis)


@standard
def _expanded(x: TensorLike, axis: int, /) -> Any:
    return call("expand_dims", x, axis)


def expand_dims(x: TensorLike, /, axis: int) -> Any:
    """
    `x` with a new axis of extent 1 at this position of the result.

    Raises IndexError for a position that the result does not have, as the standard says.
    """
    try:
        return _expanded(x, axis)
    except StepwellError as error:
        raise IndexError(str(error)) from None


@standard
def flip(x: TensorLike, /, *, axis: Axes = None) -> Any:
    return call("flip", x, axis)


@standard
def moveaxis(x: TensorLike, source: Axes, destination: Axes, /) -> Any:
    return call("moveaxis", x, source, destination)


@standard
def permute_dims(x: TensorLike, /, axes: Sequence[int]) -> Any:
    return call("permute_dims", x, axes)


@at_once
def repeat(x: TensorLike, repeats: TensorLike, /, *, axis: int | None = None) -> Any:
    return call("repeat", x, repeats, axis)


@standard
def reshape(x: TensorLike, /, shape: Sequence[int], *, copy: bool | None = None) -> Any:
    return call("reshape", x, shape)


@standard
def roll(x: TensorLike, /, shift: int | Sequence[int], *, axis: Axes = None) -> Any:
    return call("roll", x, shift, axis)


@standard
def _squeezed(x: TensorLike, axis: int | Sequence[int], /) -> Any:
    return call("squeeze", x, axis)


def squeeze(x: TensorLike, /, axis: int | Sequence[int]) -> Any:
    """
    `x` without these axes, which have extent 1.

    Raises ValueError for an axis of another extent, as the standard says.
    """
    try:
        return _squeezed(x, axis)
    except StepwellError as error:
        raise ValueError(str(error)) from None


@standard
def stack(arrays: Sequence[TensorLike], /, *, axis: int = 0) -> Any:
    return call("stack", arrays, axis)


@standard
def tile(x: TensorLike, repetitions: Sequence[int], /) -> Any:
    return call("tile", x, repetitions)


@standard
def _unstacked(x: TensorLike, axis: int, /) -> Any:
    return call("unstack", x, axis=axis)


def unstack(x: TensorLike, /, *, axis: int = 0) -> Any:
    """The slices of an axis, without it: none of an axis of extent 0, so that there is nothing to compile."""
    extents = x.shape
    is_empty = -len(extents) <= axis < len(extents) and not extents[axis]
    return () if is_empty else _unstacked(x, axis)


@standard
def take(x: TensorLike, indices: TensorLike, /, *, axis: int | None = None) -> Any:
    return call("take", x, indices, axis)


@standard
def take_along_axis(x: TensorLike, indices: TensorLike, /, *, axis: int = -1) -> Any:
    return call("take_along_axis", x, indices, axis)


@standard
def getitem(x: TensorLike, key: Any, /) -> Any:
    """`x[key]` for a key with arrays of indices."""
    return call("__getitem__", x, key)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    function.__name__: function
    for function in (
        *(broadcast_arrays, broadcast_to, concat, expand_dims, flip, moveaxis, permute_dims),
        *(repeat, reshape, roll, squeeze, stack, take, take_along_axis, tile, unstack),
    )
}
