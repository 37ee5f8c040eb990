"""
Public functions that read images, lines and volumes between their elements: grid_sample, roi_align, deform_conv.

A sample is a sum of taps, elements around it times weights, which are products of weights along the spatial axes. The
elements are gathered as rows of channels, so all channels of an element are read side by side.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from itertools import product
from math import prod

import numpy as np

from ...dialects.dtypes import is_float_dtype
from ...dialects.graph.windows import Window
from ...errors import StepwellError
from ...frozen import frozen
from ..numpy.arguments import integers
from ..numpy.creation import iota
from ..numpy.elementwise import (
    absolute,
    add,
    clip,
    floor,
    logical_and,
    maximum,
    minimum,
    multiply,
    rint,
    where,
)
from ..numpy.manipulation import astype, expand_dims, moveaxis, reshape, transpose
from ..numpy.products import matmul
from ..numpy.reductions import max as max_
from ..numpy.reductions import mean
from ..numpy.selection import take
from ..promotion import FLOAT32, INT64
from ..recording import as_tensor, converted
from ..tensor import Tensor, TensorLike
from ..traceable import traceable
from .convolution import biased
from .pooling import places_of, window_of
from .windows import Extents, Padding

MODES = ("linear", "nearest", "cubic")
PADDING_MODES = ("zeros", "border", "reflection")
CUBIC = -0.75
"""The parameter of the cubic filter, PyTorch's and ONNX's choice."""


@frozen
class _Tap:
    """An element along one axis, for each sample."""

    index: Tensor
    """Where it is, int64, moved into range."""
    weight: Tensor | None
    """None for 1."""
    inside: Tensor | None
    """Where there is such an element; None for everywhere. What is not there is 0."""


@frozen
class _Axis:
    """A spatial axis that is sampled, and what stands beyond its ends."""

    extent: int
    padding: str
    centers_at_ends: bool = True
    """Whether elements are reflected at the centre of the last one, or at its outer edge."""

    def taps(self, position: Tensor, mode: str) -> list[_Tap]:
        """The elements that samples at these positions, counted in elements, are made of."""
        if mode == "nearest":
            return [self._tap(self._folded(rint(position)), None)]
        # A cubic filter goes on beyond the border, of which each tap is moved by itself: so do PyTorch and ONNX Runtime.
        position = self._folded(position) if mode == "linear" else position
        first = floor(position)
        part = position - first
        if mode == "linear":
            return [self._tap(first, 1 - part), self._tap(first + 1, part)]
        weights = (_far(part + 1), _near(part), _near(1 - part), _far(2 - part))
        return [self._tap(first + (n - 1), weight) for n, weight in enumerate(weights)]

    def _tap(self, at: Tensor, weight: Tensor | None) -> _Tap:
        last = self.extent - 1
        inside = logical_and(at >= 0, at <= last) if self.padding == "zeros" else None
        return _Tap(astype(clip(self._folded(at), 0, last), INT64), weight, inside)

    def _folded(self, at: Tensor) -> Tensor:
        """Positions moved to where their element is taken from; for `zeros` they stay."""
        if self.padding == "zeros":
            return at
        last = self.extent - 1
        if self.padding == "border":
            return clip(at, 0, last)
        margin = 0.0 if self.centers_at_ends else 0.5
        span = last + 2 * margin
        if span == 0:
            return at * 0
        # There and back again is one period of the reflections.
        phase = absolute(at + margin) % (2 * span)
        return minimum(phase, 2 * span - phase) - margin


def _near(x: Tensor) -> Tensor:
    """Keys, "Cubic convolution interpolation for digital image processing", 1981, up to a distance of 1."""
    return ((CUBIC + 2) * x - (CUBIC + 3)) * x * x + 1


def _far(x: Tensor) -> Tensor:
    """The same for distances from 1 to 2."""
    return ((CUBIC * x - 5 * CUBIC) * x + 8 * CUBIC) * x - 4 * CUBIC


def _terms(x: Tensor, image: Tensor, taps: Sequence[Sequence[_Tap]]) -> list[Tensor]:
    """
    What is added up to samples of `x` (image, channel, …), with the channels behind the axes of the samples. `image` says
    which image a sample is of, `taps` has those along each spatial axis; they broadcast to the samples.
    """
    images, channels, *spatial = x.shape
    rows = reshape(moveaxis(x, 1, -1), (images * prod(spatial), channels))
    terms: list[Tensor] = []
    for chosen in product(*taps):
        number = image
        for tap, extent in zip(chosen, spatial, strict=True):
            number = number * extent + tap.index
        term = take(rows, number, 0)
        weights = [tap.weight for tap in chosen if tap.weight is not None]
        if weights:
            term = multiply(term, expand_dims(reduce(multiply, weights), -1))
        known = [tap.inside for tap in chosen if tap.inside is not None]
        if known:
            holds = expand_dims(reduce(logical_and, known), -1)
            term = where(holds, term, as_tensor(np.zeros((), term.dtype)))
        terms.append(term)
    return terms


def _coordinates(x: TensorLike) -> Tensor:
    """Positions in at least single precision."""
    x = as_tensor(x)
    return astype(x, FLOAT32) if not is_float_dtype(x.dtype) or x.dtype.itemsize < 4 else x


def _require(value: str, choices: Sequence[str], what: str) -> None:
    if value not in choices:
        raise StepwellError(f"found {what} '{value}', expected one of {', '.join(choices)}")


def _require_images(x: Tensor, rank: int | None = None) -> None:
    if x.ndim < 3 or rank not in (None, x.ndim) or 0 in x.shape[2:]:
        raise StepwellError(
            f"found images of shape {list(x.shape)}, expected {rank or 'at least 3'} axes, a batch, channels and "
            "spatial ones with elements; reshape them"
        )


@traceable
def grid_sample(
    x: TensorLike,
    grid: TensorLike,
    /,
    mode: str = "linear",
    padding_mode: str = "zeros",
    align_corners: bool = False,
) -> Tensor:
    """
    Samples of `x` (n, c, …) at the positions that `grid` (n, …, number of spatial axes) has, with the last axis of `x` first:
    -1 and 1 are the ends of an axis, or with `align_corners` the centres of the elements there (ONNX GridSample,
    `torch.nn.functional.grid_sample`).

    `mode` is linear, nearest or cubic. Beyond the ends there are 0 (`zeros`), the last element (`border`), or the elements
    in reverse (`reflection`). As in ONNX a cubic sample is moved to between the ends before its four elements are taken.

    Raises StepwellError for another mode, and for shapes that do not fit.

    >>> x = [[[[1.0, 2.0], [3.0, 4.0]]]]
    >>> sw.nn.grid_sample(x, [[[[0.0, 0.0]]]])
    array([[[[2.5]]]])
    """
    x, positions = as_tensor(x), _coordinates(grid)
    _require(mode, MODES, "mode")
    _require(padding_mode, PADDING_MODES, "padding_mode")
    _require_images(x)
    rank = x.ndim - 2
    if positions.ndim != x.ndim or positions.shape[0] != x.shape[0] or positions.shape[-1] != rank:
        raise StepwellError(
            f"found a grid of shape {list(positions.shape)} for images of shape {list(x.shape)}, expected "
            f"{x.shape[0]} first, {rank} numbers last, and {rank} axes between; reshape it"
        )
    if mode != "nearest" and not is_float_dtype(x.dtype):
        raise StepwellError(
            f"found images of {x.dtype} in mode '{mode}', expected floats; convert them"
        )
    taps: list[list[_Tap]] = []
    for axis, extent in enumerate(x.shape[2:]):
        part = positions[..., rank - 1 - axis]
        scaled = (part + 1) * (0.5 * (extent - 1 if align_corners else extent))
        at = scaled if align_corners else scaled - 0.5
        taps.append(_Axis(extent, padding_mode, bool(align_corners)).taps(at, mode))
    image = reshape(iota(x.shape[0]), (x.shape[0], *[1] * rank))
    return astype(moveaxis(reduce(add, _terms(x, image, taps)), -1, 1), x.dtype)


@traceable
def affine_grid(theta: TensorLike, size: Sequence[int], /, align_corners: bool = False) -> Tensor:
    """
    The positions at which `grid_sample` gives images of shape `size` (n, c, …) transformed by the matrices `theta` (n, r,
    r + 1) for r spatial axes (ONNX AffineGrid, `torch.nn.functional.affine_grid`).

    Raises StepwellError for matrices that are no floats, or of another shape.

    >>> sw.nn.affine_grid([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]], (1, 1, 1, 2))
    array([[[[-0.5,  0. ],
             [ 0.5,  0. ]]]])
    """
    matrices, extents = as_tensor(theta), integers(size, "size")
    rank = len(extents) - 2
    if rank < 1 or matrices.shape != (extents[0], rank, rank + 1) or min(extents) < 0:
        raise StepwellError(
            f"found matrices of shape {list(matrices.shape)} and size {list(extents)}, expected a size (n, c, …) and "
            "n matrices of r rows and r + 1 columns for its r spatial axes"
        )
    if not is_float_dtype(matrices.dtype):
        raise StepwellError(f"found matrices of {matrices.dtype}, expected floats; convert them")
    rows = reshape(matrices, (extents[0], *[1] * rank, rank, rank + 1))
    total = rows[..., rank]
    for axis, extent in enumerate(extents[2:]):
        steps = max(extent - 1, 1) if align_corners else extent
        first = -1.0 if align_corners else 1 / max(extent, 1) - 1
        along = astype(iota(extent), matrices.dtype) * (2 / max(steps, 1)) + first
        shape = [extent if n == axis + 1 else 1 for n in range(rank + 2)]
        total = total + rows[..., rank - 1 - axis] * reshape(along, shape)
    return total


@traceable
def roi_align(
    x: TensorLike,
    rois: TensorLike,
    batch_indices: TensorLike,
    output_size: int | Sequence[int],
    spatial_scale: float = 1.0,
    sampling_ratio: int = 2,
    *,
    aligned: bool = True,
    mode: str = "avg",
) -> Tensor:
    """
    Each box x1, y1, x2, y2 of `rois` (boxes, 4), times `spatial_scale`, of the image of `x` (n, c, h, w) that
    `batch_indices` names, as `output_size` cells: the mean of `sampling_ratio`² linear samples in each, or with mode "max"
    the greatest of the terms of their sums (ONNX RoiAlign, `torchvision.ops.roi_align`). `aligned` boxes are moved by half
    an element, and may be smaller than one.

    Raises StepwellError for boxes of another shape, and for numbers of cells or samples below 1.

    >>> x = np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4)
    >>> sw.nn.roi_align(x, [[0.0, 0.0, 4.0, 4.0]], [0], 2)[0, 0]
    array([[ 2.5,  4.5],
           [10.5, 12.5]], dtype=float32)
    """
    x, boxes = as_tensor(x), _coordinates(rois)
    _require(mode, ("avg", "max"), "mode")
    _require_images(x, 4)
    height, width = _pair(output_size, "output_size")
    (ratio,) = integers(sampling_ratio, "sampling_ratio")
    if boxes.ndim != 2 or boxes.shape[1] != 4 or min(height, width, ratio) < 1:
        raise StepwellError(
            f"found boxes of shape {list(boxes.shape)}, cells {height} by {width} and {ratio} samples along each, "
            "expected boxes (n, 4) and numbers of at least 1"
        )
    corners = boxes * spatial_scale - (0.5 if aligned else 0.0)
    taps: list[list[_Tap]] = []
    outside: list[Tensor] = []
    for axis, (cells, extent) in enumerate(zip((height, width), x.shape[2:], strict=True)):
        start, end = corners[:, 1 - axis], corners[:, 3 - axis]
        length = end - start if aligned else maximum(end - start, 1)
        # The samples lie in the middles of equal parts of the box.
        count = cells * ratio
        parts = (astype(iota(count), boxes.dtype) + 0.5) * (1 / count)
        position = expand_dims(start, 1) + expand_dims(length, 1) * parts
        shape = [boxes.shape[0], *(count if n == axis else 1 for n in range(2))]
        position = reshape(position, shape)
        taps.append(_Axis(extent, "border").taps(position, "linear"))
        outside.append((position < -1) | (position > extent))
    image = reshape(astype(as_tensor(batch_indices), INT64), (boxes.shape[0], 1, 1))
    terms = _terms(x, image, taps)
    nothing = expand_dims(outside[0] | outside[1], -1)
    join = maximum if mode == "max" else add
    samples = reduce(join, (where(nothing, as_tensor(np.zeros((), t.dtype)), t) for t in terms))
    split = reshape(samples, (boxes.shape[0], height, ratio, width, ratio, x.shape[1]))
    joined = max_(split, (2, 4)) if mode == "max" else mean(split, (2, 4))
    return astype(moveaxis(joined, -1, 1), x.dtype)


def _pair(value: int | Sequence[int], what: str) -> tuple[int, ...]:
    numbers = integers(value, what)
    numbers = numbers * 2 if len(numbers) == 1 else numbers
    if len(numbers) != 2:
        raise StepwellError(f"found {what} {list(numbers)}, expected one number, or two; mend it")
    return numbers


@traceable
def deform_conv(
    x: TensorLike,
    w: TensorLike,
    offset: TensorLike,
    /,
    b: TensorLike | None = None,
    mask: TensorLike | None = None,
    stride: Extents = 1,
    padding: Padding = 0,
    dilation: Extents = 1,
    groups: int = 1,
    offset_groups: int = 1,
) -> Tensor:
    """
    A convolution of images whose taps are read at positions of their own, moved by `offset`, by linear interpolation with 0
    beyond the ends, and multiplied by `mask` (ONNX DeformConv, `torchvision.ops.deform_conv2d`).

    `x` is (n, c, h, w) and `w` (f, c / groups, kh, kw). `offset` (n, offset_groups · kh · kw · 2, oh, ow) has the vertical
    and the horizontal part for each tap, `mask` (n, offset_groups · kh · kw, oh, ow) a factor. The other
    parameters are those of `conv`.

    Raises StepwellError for images that are no floats, and for shapes or groups that do not fit.

    >>> x, w = np.ones((1, 1, 2, 2), np.float32), np.ones((1, 1, 1, 1), np.float32)
    >>> sw.nn.deform_conv(x, w, np.full((1, 2, 2, 2), 0.5, np.float32))[0, 0]
    array([[1.  , 0.5 ],
           [0.5 , 0.25]], dtype=float32)
    """
    x, w = converted([x, w], as_tensor(x).dtype)
    _require_images(x, 4)
    if w.ndim != 4 or not is_float_dtype(x.dtype):
        raise StepwellError(
            f"found images of {x.dtype} and weights of shape {list(w.shape)}, expected floats, and weights with 4 axes"
        )
    window = window_of(x.shape, w.shape[2:], stride, padding, dilation)
    count, channels = x.shape[:2]
    kernel, places = w.shape[2:], places_of(window, x.shape)[2:]
    offsets = _coordinates(offset)
    wanted = (count, offset_groups * prod(kernel) * 2, *places)
    if (
        offsets.shape != wanted
        or channels % offset_groups
        or w.shape[0] % groups
        or w.shape[1] * groups != channels
    ):
        raise StepwellError(
            f"found offsets of shape {list(offsets.shape)} and weights of shape {list(w.shape)} for images of shape "
            f"{list(x.shape)} in {groups} groups, {offset_groups} of offsets, expected offsets of shape "
            f"{list(wanted)}, and groups that divide the channels"
        )
    # Each group of offsets is an image of its own.
    images = reshape(x, (count * offset_groups, channels // offset_groups, *x.shape[2:]))
    moved = reshape(offsets, (count * offset_groups, *kernel, 2, *places))
    along = [_taps_moved_by(moved, window, axis, extent) for axis, extent in enumerate(x.shape[2:])]
    image = reshape(iota(count * offset_groups), (count * offset_groups, 1, 1, 1, 1))
    samples = astype(reduce(add, _terms(images, image, along)), x.dtype)
    if mask is not None:
        (factors,) = converted([mask], x.dtype)
        samples = samples * reshape(factors, (*samples.shape[:-1], 1))
    # (n, offset group, tap, place, channel) as (n, group, channel · tap, place): the weights times that.
    whole = prod(places)
    spread = reshape(
        samples, (count, offset_groups, prod(kernel), whole, channels // offset_groups)
    )
    columns = reshape(transpose(spread, (0, 1, 4, 2, 3)), (count, groups, -1, whole))
    y = matmul(reshape(w, (groups, w.shape[0] // groups, -1)), columns)
    y = reshape(y, (count, w.shape[0], *places))
    return y if b is None else biased(y, b)


def _taps_moved_by(offsets: Tensor, window: Window, axis: int, extent: int) -> list[_Tap]:
    """
    What taps of a window read along an axis of the image, moved from their regular positions.

    `offsets` are (images, taps along both axes, 2, places along both axes).
    """
    taps, places = offsets.shape[1 + axis], offsets.shape[4 + axis]
    steps = astype(iota(taps) * window.dilations[axis + 2], offsets.dtype)
    starts = astype(iota(places) * window.strides[axis + 2], offsets.dtype)
    tap_shape = [taps if n == axis else 1 for n in range(4)]
    place_shape = [places if n == axis + 2 else 1 for n in range(4)]
    regular = reshape(steps, tap_shape) + reshape(starts, place_shape)
    position = offsets[:, :, :, axis] + (regular - window.low[axis + 2])
    return _Axis(extent, "zeros").taps(position, "linear")
