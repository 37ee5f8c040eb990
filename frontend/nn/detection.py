"""Public functions of detectors of objects: non-maximum suppression. See `functions` for the rules they all follow."""

from __future__ import annotations

from ...dialects import graph
from ...errors import StepwellError
from ..numpy.arguments import integers
from ..numpy.elementwise import maximum, minimum
from ..numpy.joining import concatenate
from ..numpy.manipulation import astype, reshape
from ..numpy.sorting import argsort
from ..promotion import FLOAT32
from ..recording import as_tensor, record_all
from ..tensor import Tensor, TensorLike
from ..traceable import traceable


@traceable
def non_max_suppression(
    boxes: TensorLike,
    scores: TensorLike,
    max_output_boxes_per_class: int,
    iou_threshold: TensorLike = 0.0,
    score_threshold: TensorLike = float("-inf"),
    /,
    *,
    center_point_box: bool = False,
) -> list[Tensor]:
    """
    For each batch and class the boxes with the best scores that do not overlap a better one (ONNX NonMaxSuppression).

    `boxes` is (batch, box, 4): corners y1, x1, y2, x2 in any order, or, with `center_point_box`, x and y of the centre, width
    and height. `scores` is (batch, class, box). A box counts when its score is above `score_threshold`, and overlaps when
    intersection over union is above `iou_threshold`. Gives rows (batch, class, box) int64, with room for all there can be
    and 0 behind them, and how many they are.

    Raises StepwellError for boxes and scores of other shapes.

    >>> boxes = [[[0.0, 0.0, 2.0, 2.0], [0.0, 0.0, 2.0, 1.9], [5.0, 5.0, 6.0, 6.0]]]
    >>> sw.nn.non_max_suppression(boxes, [[[0.9, 0.8, 0.7]]], 3, 0.5)
    [array([[0, 0, 0],
           [0, 0, 2],
           [0, 0, 0]]), array(2)]
    """
    corners, weights = astype(as_tensor(boxes), FLOAT32), astype(as_tensor(scores), FLOAT32)
    (limit,) = integers(max_output_boxes_per_class, "max_output_boxes_per_class")
    if corners.ndim != 3 or corners.shape[-1] != 4 or weights.ndim != 3:
        raise StepwellError(
            f"found boxes of shape {list(corners.shape)} and scores of shape {list(weights.shape)}, expected "
            "(batch, box, 4) and (batch, class, box); reshape them"
        )
    one, other = corners[:, :, :2], corners[:, :, 2:]
    if center_point_box:
        half = other / 2
        one, other = one - half, one + half
    ordered = concatenate([minimum(one, other), maximum(one, other)], 2)
    order = argsort(weights, -1, descending=True)
    overlap, least = (
        reshape(astype(as_tensor(each), FLOAT32), ()) for each in (iou_threshold, score_threshold)
    )
    room = max(limit, 0)
    return list(
        record_all(graph.NonMaxSuppressionOp, ordered, weights, order, overlap, least, room)
    )
