"""Operators of detectors of objects: non-maximum suppression."""

from __future__ import annotations

import numpy as np

from ..nn import detection
from .bounded import bounded
from .registry import Value, integer, onnx_op


@onnx_op("NonMaxSuppression")
def non_max_suppression(
    boxes: Value,
    scores: Value,
    max_output_boxes_per_class: Value = None,
    iou_threshold: Value = None,
    score_threshold: Value = None,
    *,
    center_point_box: int = 0,
) -> Value:
    """Without a number of boxes, none."""
    most = max_output_boxes_per_class
    limit = 0 if most is None else integer(most, "the number of boxes")
    rows, count = detection.non_max_suppression(
        boxes,
        scores,
        limit,
        np.float32(0) if iou_threshold is None else iou_threshold,
        np.float32(-np.inf) if score_threshold is None else score_threshold,
        center_point_box=bool(center_point_box),
    )
    return bounded(rows, count)
