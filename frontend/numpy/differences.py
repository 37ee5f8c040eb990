"""Differences of neighbours, slopes and integrals along an axis."""

from __future__ import annotations

import builtins
from math import pi
from typing import Any

import numpy as np

from ...errors import StepwellError
from ..promotion import FLOAT64, division_dtype
from ..recording import as_tensor, cast_to
from ..tensor import Tensor, TensorLike
from ..traceable import traceable
from .arguments import AxisLike, integers, normalized, single_axis
from .elementwise import absolute, floating, mod, not_equal, where
from .joining import concatenate
from .manipulation import broadcast_to, ravel, reshape
from .reductions import sum
from .scans import cumsum


@traceable
def diff(
    x: TensorLike,
    /,
    n: int = 1,
    axis: int = -1,
    prepend: TensorLike = None,
    append: TensorLike = None,
) -> Tensor:
    """
    Each element less the one before it along an axis, n times; other elements may be put before and behind.

    Raises StepwellError for an n below 0.

    >>> sw.diff([1, 4, 9, 16])
    array([3, 5, 7])
    """
    x = as_tensor(x)
    axis = normalized(single_axis(axis), x.ndim)
    (times,) = integers(n, "n")
    if times < 0:
        raise StepwellError(f"found n = {times} in diff, expected at least 0; mend it")
    ends = [_end(part, x, axis) for part in (prepend, append)]
    parts = [ends[0], x, ends[1]]
    x = concatenate([part for part in parts if part is not None], axis)
    before = (slice(None),) * axis
    for _ in range(times):
        later, earlier = x[(*before, slice(1, None))], x[(*before, slice(None, -1))]
        x = not_equal(later, earlier) if x.dtype.kind == "b" else later - earlier
    return x


def _end(part: TensorLike, x: Tensor, axis: int) -> Tensor | None:
    if part is None:
        return None
    tensor = as_tensor(part)
    shape = [1 if one == axis else extent for one, extent in enumerate(x.shape)]
    return tensor if tensor.ndim else broadcast_to(tensor, shape)


@traceable
def ediff1d(x: TensorLike, /, to_end: TensorLike = None, to_begin: TensorLike = None) -> Tensor:
    """
    Each element of the flattened `x` less the one before it; other elements may be put before and behind.

    >>> sw.ediff1d([1, 4, 9], to_begin=[0])
    array([0, 3, 5])
    """
    differences = diff(ravel(x))
    ends = [
        None if part is None else cast_to(ravel(part), differences.dtype)
        for part in (to_begin, to_end)
    ]
    parts = [ends[0], differences, ends[1]]
    return concatenate([part for part in parts if part is not None], 0)


@traceable
def trapezoid(y: TensorLike, /, x: TensorLike = None, dx: float = 1.0, axis: int = -1) -> Tensor:
    """
    The integral of `y` along an axis by trapezoids, whose widths are the differences of `x`, or `dx`.

    >>> sw.trapezoid([1.0, 2.0, 3.0], dx=2.0)
    array(8.)
    """
    y = as_tensor(y)
    axis = normalized(single_axis(axis), y.ndim)
    before = (slice(None),) * axis
    width: TensorLike = dx
    if x is not None:
        width = diff(x, 1, axis if as_tensor(x).ndim > 1 else -1)
        if width.ndim == 1:
            width = reshape(width, [-1 if one == axis else 1 for one in range(y.ndim)])
    return sum(width * (y[(*before, slice(1, None))] + y[(*before, slice(None, -1))]) / 2.0, axis)


@traceable
def gradient(x: TensorLike, *spacing: TensorLike, axis: AxisLike = None) -> Any:
    """
    The slopes along each axis, or these: half the difference of the neighbours, of one neighbour at the ends. `spacing` is
    the distance of two elements, one number for all axes or one for each.

    Raises StepwellError for coordinates in the place of distances, and for another number of these.

    >>> sw.gradient([1.0, 4.0, 9.0])
    array([3., 4., 5.])
    """
    x = floating(x) if as_tensor(x).dtype.kind == "f" else cast_to(as_tensor(x), FLOAT64)
    axes = (
        range(x.ndim)
        if axis is None
        else [normalized(one, x.ndim) for one in integers(axis, "axis")]
    )
    steps = list(spacing) or [1.0]
    if any(np.ndim(step) if not isinstance(step, Tensor) else step.ndim for step in steps):
        raise StepwellError(
            "found coordinates in gradient, expected distances; write the quotient with diff"
        )
    if len(steps) not in (1, len(axes)):
        raise StepwellError(
            f"found {len(steps)} distances for {len(axes)} axes, expected one, or one for each"
        )
    steps = steps * len(axes) if len(steps) == 1 else steps
    found = [_slope(x, step, one) for step, one in zip(steps, axes, strict=True)]
    return found[0] if len(found) == 1 else tuple(found)


def _slope(x: Tensor, step: TensorLike, axis: int) -> Tensor:
    if x.shape[axis] < 2:
        raise StepwellError(
            f"found {x.shape[axis]} elements along axis {axis} in gradient, expected at least 2"
        )
    before = (slice(None),) * axis
    first, last = (diff(x[(*before, ends)], axis=axis) for ends in (slice(0, 2), slice(-2, None)))
    inner = (x[(*before, slice(2, None))] - x[(*before, slice(None, -2))]) / 2.0
    return concatenate([first, inner, last], axis) / step


@traceable
def unwrap(
    x: TensorLike, /, discont: float | None = None, axis: int = -1, *, period: float = 2 * pi
) -> Tensor:
    """
    Angles with multiples of the period added, so that no two neighbours are apart by more than half of it.

    >>> sw.unwrap([1.0, 350.0, 340.0], period=360)
    array([  1., -10., -20.])
    """
    x = as_tensor(x)
    wide = division_dtype(x.dtype)
    axis = normalized(single_axis(axis), x.ndim)
    half = period / 2
    step, x = cast_to(diff(x, axis=axis), wide), cast_to(x, wide)
    inside = mod(step + half, period) - half
    inside = where((inside == -half) & (step > 0), half, inside)
    change = inside - step
    change = where(
        absolute(step) < (half if discont is None else builtins.max(discont, half)), 0.0, change
    )
    before = (slice(None),) * axis
    start, rest = x[(*before, slice(None, 1))], x[(*before, slice(1, None))]
    return concatenate([start, rest + cumsum(change, axis)], axis)
