"""Images read between their elements: samples at a grid, in boxes, and under the taps of a convolution."""

from __future__ import annotations

from math import ceil

import numpy as np

from ..nn.sampling import affine_grid, deform_conv, grid_sample, roi_align
from .registry import Unsupported, Value, integers, known, onnx_op
from .windows import WindowAttributes, with_window

MODES = {"bilinear": "linear", "bicubic": "cubic"}
"""What modes were called before version 20 of the operator set."""


@onnx_op("GridSample")
def grid_sample_(
    x: Value,
    grid: Value,
    *,
    align_corners: int = 0,
    mode: str = "linear",
    padding_mode: str = "zeros",
) -> Value:
    return grid_sample(x, grid, MODES.get(mode, mode), padding_mode, bool(align_corners))


@onnx_op("AffineGrid")
def affine_grid_(theta: Value, size: Value, *, align_corners: int = 0) -> Value:
    return affine_grid(theta, integers(size, "the size"), bool(align_corners))


def _roi_align(
    x: Value,
    rois: Value,
    batch_indices: Value,
    cells: tuple[int, int],
    ratio: int,
    scale: float,
    aligned: bool,
    mode: str,
) -> Value:
    """A ratio of 0 stands for as many samples as a cell has elements, which must be as many for all boxes."""
    if ratio == 0:
        boxes = known(
            rois, "the boxes, whose sizes decide how many samples there are without sampling_ratio,"
        )
        sizes = (boxes[:, 2:] - boxes[:, :2]) * scale
        sizes = sizes if aligned else np.maximum(sizes, 1)
        counts = {ceil(size / n) for box in sizes for size, n in zip(box, cells[::-1], strict=True)}
        if len(counts) != 1 or min(counts) < 1:
            raise Unsupported("sampling_ratio 0 for boxes of different sizes")
        (ratio,) = counts
    return roi_align(x, rois, batch_indices, cells, scale, ratio, aligned=aligned, mode=mode)


@onnx_op("RoiAlign", since=16)
def roi_align_(
    x: Value,
    rois: Value,
    batch_indices: Value,
    *,
    coordinate_transformation_mode: str = "half_pixel",
    mode: str = "avg",
    output_height: int = 1,
    output_width: int = 1,
    sampling_ratio: int = 0,
    spatial_scale: float = 1.0,
) -> Value:
    cells, aligned = (output_height, output_width), coordinate_transformation_mode == "half_pixel"
    return _roi_align(x, rois, batch_indices, cells, sampling_ratio, spatial_scale, aligned, mode)


@onnx_op("RoiAlign")
def roi_align_of_corners(
    x: Value,
    rois: Value,
    batch_indices: Value,
    *,
    mode: str = "avg",
    output_height: int = 1,
    output_width: int = 1,
    sampling_ratio: int = 0,
    spatial_scale: float = 1.0,
) -> Value:
    """Before version 16 boxes were not moved by half an element."""
    cells = (output_height, output_width)
    return _roi_align(x, rois, batch_indices, cells, sampling_ratio, spatial_scale, False, mode)


@onnx_op("DeformConv")
@with_window(without=("auto_pad",))
def deform_conv_(
    x: Value,
    w: Value,
    offset: Value,
    b: Value = None,
    mask: Value = None,
    *,
    group: int = 1,
    offset_group: int = 1,
    window: WindowAttributes,
) -> Value:
    return deform_conv(x, w, offset, b, mask, *window.of_convolution(w), group, offset_group)
