"""
Shape inference: what NumPy says the result's shape is, with `?` where an extent is not known.

Every function raises VerifyException saying what was found and what was expected.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.utils.exceptions import VerifyException

Shape = tuple[int, ...]
"""Extents; DYNAMIC_INDEX stands for `?`."""


def shape_text(shape: Sequence[int]) -> str:
    """A shape as it stands in a type, `2x?`; `()` for a scalar."""
    return "x".join("?" if extent == DYNAMIC_INDEX else str(extent) for extent in shape) or "()"


def is_static(shape: Sequence[int]) -> bool:
    return DYNAMIC_INDEX not in shape


def element_count(shape: Sequence[int]) -> int | None:
    """The number of elements, or None when it is not known."""
    if 0 in shape:
        return 0
    return prod(shape) if is_static(shape) else None


def is_compatible(found: Sequence[int], expected: Sequence[int]) -> bool:
    """Whether the shapes can be the same one: equal ranks, and equal extents where both are known."""
    return len(found) == len(expected) and all(
        f == e or DYNAMIC_INDEX in (f, e) for f, e in zip(found, expected, strict=True)
    )


def _broadcast_extent(lhs: int, rhs: int) -> int | None:
    if lhs == rhs or rhs == 1:
        return lhs
    if lhs == 1 or lhs == DYNAMIC_INDEX:
        return rhs
    return lhs if rhs == DYNAMIC_INDEX else None


def broadcast(*shapes: Sequence[int]) -> Shape:
    """NumPy's broadcast shape. An extent that is `?` beside one greater than 1 must equal it."""
    rank = max(map(len, shapes))
    result = [1] * rank
    for shape in shapes:
        offset = rank - len(shape)
        for axis, extent in enumerate(shape, offset):
            joined = _broadcast_extent(result[axis], extent)
            if joined is None:
                texts = " and ".join(map(shape_text, shapes))
                raise VerifyException(
                    f"found shapes {texts}, expected extents that are equal or 1 counted from the last "
                    f"axis, but axis {axis - rank} has {result[axis]} and {extent}; reshape an operand"
                )
            result[axis] = joined
    return tuple(result)


def broadcasts_to(shape: Sequence[int], target: Sequence[int]) -> bool:
    """Whether a tensor of `shape` can be repeated along new axes and those of extent 1 to `target`."""
    offset = len(target) - len(shape)
    return offset >= 0 and all(
        found in (1, DYNAMIC_INDEX, expected) or expected == DYNAMIC_INDEX
        for found, expected in zip(shape, target[offset:], strict=True)
    )


def normalized_axis(axis: int, rank: int) -> int:
    """The axis counted from 0; negative ones count from the end."""
    if not -rank <= axis < rank:
        raise VerifyException(
            f"found axis {axis} for a tensor of rank {rank}, expected "
            + (f"{-rank} to {rank - 1}; name" if rank else "at least one axis; reshape it to have")
            + " an axis of the tensor"
        )
    return axis % rank


def normalized_axes(axes: int | Sequence[int] | None, rank: int) -> Shape:
    """The axes counted from 0, in order; None means all."""
    if axes is None:
        return tuple(range(rank))
    if isinstance(axes, int):
        axes = (axes,)
    result = sorted(normalized_axis(axis, rank) for axis in axes)
    if len(set(result)) != len(result):
        raise VerifyException(
            f"found axes {list(axes)}, expected each axis once; remove the repeats"
        )
    return tuple(result)


def require_canonical_axes(axes: Sequence[int], rank: int) -> None:
    """Raise VerifyException unless the axes are what `normalized_axes` makes of them."""
    if normalized_axes(axes, rank) != tuple(axes):
        raise VerifyException(
            f"found axes {list(axes)}, expected them counted from 0 and in order; write "
            f"{list(normalized_axes(axes, rank))}"
        )


def require_canonical_axis(axis: int, rank: int) -> None:
    """Raise VerifyException unless `axis` is counted from 0 and there."""
    if normalized_axis(axis, rank) != axis:
        raise VerifyException(f"found axis {axis}, expected it counted from 0; write {axis % rank}")


def reduced(shape: Sequence[int], axes: Sequence[int], keepdims: bool) -> Shape:
    """The shape after reducing over canonical `axes`."""
    if keepdims:
        return tuple(1 if axis in axes else extent for axis, extent in enumerate(shape))
    return tuple(extent for axis, extent in enumerate(shape) if axis not in axes)


def matmul(lhs: Sequence[int], rhs: Sequence[int]) -> Shape:
    """
    `numpy.matmul`'s shape: `(..., m, k) @ (..., k, n)`, the batches broadcast; a vector has its axis
    contracted and leaves none.
    """
    if not lhs or not rhs:
        raise VerifyException(
            f"found shapes {shape_text(lhs)} and {shape_text(rhs)}, expected at least one axis each; "
            "multiply by a scalar with graph.mul"
        )
    inner = (lhs[-1], rhs[-2] if len(rhs) > 1 else rhs[0])
    if inner[0] != inner[1] and DYNAMIC_INDEX not in inner:
        raise VerifyException(
            f"found shapes {shape_text(lhs)} and {shape_text(rhs)}, expected the last axis of the first to "
            f"equal the {'second to last' if len(rhs) > 1 else 'only'} axis of the second, but they are "
            f"{inner[0]} and {inner[1]}; transpose or reshape an operand"
        )
    return (*broadcast(lhs[:-2], rhs[:-2]), *lhs[-2:-1], *(rhs[-1:] if len(rhs) > 1 else ()))


def require_square(shape: Sequence[int]) -> Sequence[int]:
    """The shape. Raises VerifyException unless it is that of square matrices along the last two axes."""
    if len(shape) < 2 or not is_static(shape) or shape[-1] != shape[-2]:
        raise VerifyException(
            f"found shape {shape_text(shape)}, expected square matrices of known extents along the last two "
            "axes; reshape it"
        )
    return shape


def concatenated(shapes: Sequence[Sequence[int]], axis: int) -> Shape:
    """The shape of tensors joined along `axis`; all other extents must agree."""
    first = tuple(shapes[0])
    total = 0
    result = list(first)
    for shape in shapes:
        others = list(shape)
        if len(shape) == len(first):
            others[axis] = first[axis]
        if not is_compatible(others, first):
            raise VerifyException(
                f"found shapes {' and '.join(map(shape_text, shapes))}, expected equal ranks and equal "
                f"extents on every axis but {axis}; pad or reshape an operand"
            )
        result = [e if r == DYNAMIC_INDEX else r for r, e in zip(result, shape, strict=True)]
        total = DYNAMIC_INDEX if DYNAMIC_INDEX in (total, shape[axis]) else total + shape[axis]
    result[axis] = total
    return tuple(result)


def reshaped(shape: Sequence[int], target: Sequence[int]) -> Shape:
    """
    `target` with a -1 in it replaced by the extent that keeps the number of elements (`?` when that is
    not known).
    """
    holes = [axis for axis, extent in enumerate(target) if extent == -1]
    if any(extent < -1 and extent != DYNAMIC_INDEX for extent in target) or len(holes) > 1:
        raise VerifyException(
            f"found shape {list(target)}, expected extents of at least 0 and at most one -1; mend it"
        )
    count = element_count(shape)
    rest = element_count([extent for extent in target if extent != -1])
    if count is None or rest is None:
        return tuple(DYNAMIC_INDEX if extent == -1 else extent for extent in target)
    if holes and rest and count % rest == 0:
        return tuple(count // rest if extent == -1 else extent for extent in target)
    if holes or count != rest:
        raise VerifyException(
            f"found shape {shape_text(shape)} of {count} elements and target {list(target)}, expected the "
            "same number of elements; mend the target"
        )
    return tuple(target)
