"""Resizing of images, lines and volumes: nearest, linear and cubic, with ONNX's parameters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import floor
from typing import Any

import numpy as np

from ...dialects.dtypes import is_float_dtype
from ...errors import StepwellError
from ...frozen import frozen
from ..numpy.arguments import normalized
from ..numpy.elementwise import rint, where
from ..numpy.manipulation import astype, broadcast_to, expand_dims, reshape
from ..numpy.selection import take
from ..promotion import FLOAT32
from ..recording import as_tensor
from ..tensor import Tensor, TensorLike
from ..traceable import traceable

Array = np.ndarray[Any, Any]

COORDINATES = (
    "half_pixel",
    "half_pixel_symmetric",
    "pytorch_half_pixel",
    "align_corners",
    "asymmetric",
    "tf_crop_and_resize",
)
MODES = ("nearest", "linear", "cubic")
POLICIES = ("stretch", "not_larger", "not_smaller")

MOST_ELEMENTS = 1 << 24
"""
Along an axis of the result: where each lies is worked out beforehand, and a number in a file must not decide how much
memory that takes.
"""

_NEAREST: dict[str, Callable[[Array], Array]] = {
    "round_prefer_floor": lambda x: np.ceil(x - 0.5),
    "round_prefer_ceil": lambda x: np.floor(x + 0.5),
    "floor": np.floor,
    "ceil": np.ceil,
}


@frozen
class _Axis:
    """One axis that is resized: from how many elements, to how many, by which factor, of which part."""

    number: int
    extent: int
    size: int
    scale: float
    part: tuple[float, float]
    """Where what is resized begins and ends, as parts of the axis (for tf_crop_and_resize)."""


@frozen
class _Taps:
    """Which elements each new one is made of, and their weights: both of as many rows as there are new elements."""

    indices: Array
    weights: Array
    outside: Array
    """Where a new element lies outside of the old ones, if that counts."""


def _coordinates(axis: _Axis, how: str) -> Array:
    """Where on the old axis each new element lies, by ONNX's formulas of coordinate_transformation_mode."""
    new = np.arange(axis.size, dtype=np.float64)
    last, width = axis.extent - 1, axis.scale * axis.extent
    if how == "asymmetric":
        return new / axis.scale
    if how == "align_corners":
        return new * (last / (width - 1)) if width != 1 else new * 0
    if how == "tf_crop_and_resize":
        begin, end = axis.part
        if axis.size == 1:
            return new * 0 + 0.5 * (begin + end) * last
        return begin * last + new * ((end - begin) * last / (width - 1))
    if how == "pytorch_half_pixel" and axis.size == 1:
        return new - 0.5
    half_pixel = (new + 0.5) / axis.scale - 0.5
    if how == "half_pixel_symmetric":
        # The centre of the old axis stays that of the new one, also where the factor gives no whole number.
        half_pixel += axis.extent / 2 * (1 - axis.size / width)
    return half_pixel


def _triangle(x: Array) -> Array:
    return np.maximum(1 - np.abs(x), 0)


def _cubic(x: Array, a: float) -> Array:
    """Keys, "Cubic convolution interpolation for digital image processing", 1981."""
    x = np.abs(x)
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    return np.where(x <= 1, near, np.where(x < 2, far, 0))


@frozen
class _Filter:
    """How new elements are made of old ones."""

    mode: str
    coordinates: str
    nearest_mode: str
    cubic_coeff_a: float
    exclude_outside: bool
    antialias: bool

    def taps(self, axis: _Axis) -> _Taps:
        x, last = _coordinates(axis, self.coordinates), axis.extent - 1
        crops = self.coordinates == "tf_crop_and_resize"
        outside = ((x < 0) | (x > last)) if crops else np.zeros(axis.size, np.bool_)
        if self.mode == "nearest":
            indices = np.clip(_NEAREST[self.nearest_mode](x), 0, last).astype(np.int64)[:, None]
            return _Taps(indices, np.ones(indices.shape), outside)
        reach = 1 if self.mode == "linear" else 2
        # Against aliasing the filter is as wide as the old elements that a new one stands for.
        narrowing = min(axis.scale, 1.0) if self.antialias else 1.0
        before = floor(-reach / narrowing) + 1
        whole = np.floor(x)[:, None]
        offsets = np.arange(before, 2 - before) - (x[:, None] - whole)
        indices = (whole + np.arange(before, 2 - before)).astype(np.int64)
        scaled = offsets * narrowing
        linear = self.mode == "linear"
        weights = _triangle(scaled) if linear else _cubic(scaled, self.cubic_coeff_a)
        if self.exclude_outside:
            weights = np.where((indices >= 0) & (indices <= last), weights, 0)
        if self.exclude_outside or narrowing != 1:
            weights = weights / weights.sum(axis=1, keepdims=True)
        return _Taps(np.clip(indices, 0, last), weights, outside)


def _picked(x: Tensor, axis: int, indices: Array) -> Tensor:
    """The elements at these indices; repeats of each without a gather."""
    extent = x.shape[axis]
    times = len(indices) // max(extent, 1)
    if np.array_equal(indices, np.arange(extent)):
        return x
    if times > 1 and np.array_equal(indices, np.arange(extent * times) // times):
        shape = (*x.shape[: axis + 1], times, *x.shape[axis + 1 :])
        repeated = broadcast_to(expand_dims(x, axis + 1), shape)
        return reshape(repeated, (*x.shape[:axis], extent * times, *x.shape[axis + 1 :]))
    step = int(indices[1] - indices[0]) if len(indices) > 1 else 1
    if step > 0 and np.array_equal(indices, indices[0] + step * np.arange(len(indices))):
        part = slice(int(indices[0]), int(indices[-1]) + 1, step)
        return x[tuple(part if i == axis else slice(None) for i in range(x.ndim))]
    return take(x, indices, axis)


def _along(values: Array, axis: int, rank: int) -> Array:
    return values.reshape([-1 if i == axis else 1 for i in range(rank)])


def _resampled(x: Tensor, axis: int, taps: _Taps) -> Tensor:
    """The sum of the taps, each an element times a weight, along one axis."""
    if taps.weights.shape[1] == 1:
        return _picked(x, axis, taps.indices[:, 0])
    total: Tensor | None = None
    for indices, weights in zip(taps.indices.T, taps.weights.T, strict=True):
        if not weights.any():
            continue
        term = _picked(x, axis, indices)
        if (weights != 1).any():
            term = term * _along(weights, axis, x.ndim).astype(x.dtype)
        total = term if total is None else total + term
    assert total is not None, "the weights of each new element add up to 1"
    return total


def _axes_of(
    x: Tensor,
    sizes: Sequence[int] | None,
    scales: Sequence[float] | None,
    axes: Sequence[int] | None,
    roi: Sequence[float] | None,
    policy: str,
) -> list[_Axis]:
    numbers = range(x.ndim) if axes is None else [normalized(axis, x.ndim) for axis in axes]
    count, given = len(numbers), sizes if scales is None else scales
    if given is None or (sizes is not None and scales is not None) or len(given) != count:
        raise StepwellError(
            f"found sizes={sizes} and scales={scales}, expected one of them with {count} numbers, one for each axis"
        )
    extents = [x.shape[number] for number in numbers]
    if not all(number > 0 for number in given) or 0 in extents:
        raise StepwellError(
            f"found shape {x.shape} and {'sizes' if scales is None else 'scales'} {list(given)}, expected "
            "numbers above 0"
        )
    part = [0.0] * count + [1.0] * count if roi is None else list(roi)
    if len(part) != 2 * count:
        raise StepwellError(
            f"found roi {part}, expected {2 * count} numbers: where each axis begins, then where each ends"
        )
    if scales is not None:
        factors = list(map(float, scales))
        new = [floor(extent * factor) for extent, factor in zip(extents, factors, strict=True)]
    else:
        assert sizes is not None
        factors = [size / extent for size, extent in zip(sizes, extents, strict=True)]
        new = list(map(int, sizes))
        if policy != "stretch":
            factors = [(min if policy == "not_larger" else max)(factors)] * count
            new = [floor(factors[0] * extent + 0.5) for extent in extents]
    if max(new, default=0) > MOST_ELEMENTS:
        raise StepwellError(
            f"found an axis of {max(new)} elements to make, expected at most {MOST_ELEMENTS}; resize it less"
        )
    parts = zip(part[:count], part[count:], strict=True)
    return [_Axis(*one) for one in zip(numbers, extents, new, factors, parts, strict=True)]


def _require(value: str, choices: Sequence[str], what: str) -> None:
    if value not in choices:
        raise StepwellError(f"found {what} '{value}', expected one of {', '.join(choices)}")


@traceable
def resize(
    x: TensorLike,
    /,
    sizes: Sequence[int] | None = None,
    scales: Sequence[float] | None = None,
    *,
    axes: Sequence[int] | None = None,
    mode: str = "nearest",
    coordinate_transformation_mode: str = "half_pixel",
    nearest_mode: str = "round_prefer_floor",
    cubic_coeff_a: float = -0.75,
    exclude_outside: bool = False,
    antialias: bool = False,
    extrapolation_value: float = 0.0,
    keep_aspect_ratio_policy: str = "stretch",
    roi: Sequence[float] | None = None,
) -> Tensor:
    """
    `x` with other extents: `sizes`, or its own times `scales`, rounded down, for `axes` or all of them (ONNX Resize).

    `mode` is nearest, linear or cubic; axes are resampled one after another. Elements of integers are computed in
    float32 and rounded.

    Raises StepwellError for unknown modes, and for numbers of sizes that are not those of the axes.

    >>> sw.nn.resize([1.0, 2.0], scales=[2.0])
    array([1., 1., 2., 2.])
    """
    tensor = as_tensor(x)
    _require(mode, MODES, "mode")
    _require(coordinate_transformation_mode, COORDINATES, "coordinate_transformation_mode")
    _require(nearest_mode, tuple(_NEAREST), "nearest_mode")
    _require(keep_aspect_ratio_policy, POLICIES, "keep_aspect_ratio_policy")
    resized = _axes_of(tensor, sizes, scales, axes, roi, keep_aspect_ratio_policy)
    how = _Filter(
        mode,
        coordinate_transformation_mode,
        nearest_mode,
        cubic_coeff_a,
        exclude_outside,
        antialias,
    )
    is_exact = mode == "nearest" or is_float_dtype(tensor.dtype)
    result = tensor if is_exact else astype(tensor, FLOAT32)
    outside = np.zeros((1,) * tensor.ndim, np.bool_)
    for axis in resized:
        if axis.size == axis.extent and axis.scale == 1 and axis.part == (0.0, 1.0):
            continue
        if not axis.size:
            result = result[(slice(None),) * axis.number + (slice(0),)]
            continue
        taps = how.taps(axis)
        result = _resampled(result, axis.number, taps)
        if taps.outside.any():
            outside = outside | _along(taps.outside, axis.number, tensor.ndim)
    if outside.any():
        result = where(outside, result.dtype.type(extrapolation_value), result)
    return result if is_exact else astype(rint(result), tensor.dtype)
