"""Non-maximum suppression: of boxes that overlap the one with the best score."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, IntegerAttr, TensorType, i1, i64
from xdsl.ir import SSAValue
from xdsl.irdl import operand_def, prop_def, result_def
from xdsl.utils.exceptions import VerifyException

from ..interfaces import Array, DefinedInTe
from ..scalar import ScalarBuilder
from ..shaped import Tensor, shape_of, tensor_type
from ..te.builder import TeBuilder
from ..te.loop_builder import LoopBuilder
from .base import FLOATS, GraphOp, Value, graph_op
from .gather import index_in_range, nearest_in_range
from .shapes import is_static, shape_text


@graph_op
class NonMaxSuppressionOp(GraphOp, DefinedInTe):
    """
    Greedily chosen boxes (ONNX NonMaxSuppression): for each batch and class, in the order given by indices, a box is
    chosen when its score is above a threshold and its intersection over union with each box chosen before is not above
    another, until there are `limit`.

    Boxes are (batch, box, 4) corners y1, x1, y2, x2 with y1 ≤ y2 and x1 ≤ x2; scores and the order of the boxes, best
    first, which are moved into range, are (batch, class, box); the thresholds are without axes. The results are rows
    (batch, class, box), room for the most there can be with 0 behind those chosen, and their number.

        %rows, %count = graph.non_max_suppression %boxes, %scores, %order, %overlap, %least limit = 3 : ...
    """

    name = "graph.non_max_suppression"
    ELEMENTS: ClassVar = FLOATS

    boxes = operand_def()
    scores = operand_def()
    order = operand_def()
    overlap = operand_def()
    least = operand_def()
    limit = prop_def(IntegerAttr.constr(i64))
    rows = result_def()
    count = result_def()

    assembly_format = (
        "$boxes `,` $scores `,` $order `,` $overlap `,` $least `limit` `=` $limit attr-dict `:` type($boxes) `,` "
        "type($scores) `,` type($order) `,` type($overlap) `,` type($least) `->` type($rows) `,` type($count)"
    )

    def __init__(
        self,
        boxes: Value,
        scores: Value,
        order: Value,
        overlap: Value,
        least: Value,
        limit: int,
    ):
        super().__init__(
            operands=[boxes, scores, order, overlap, least],
            properties={"limit": IntegerAttr(limit, i64)},
            result_types=self.infer_types(tensor_type(boxes), tensor_type(scores), limit),
        )

    @staticmethod
    def infer_types(boxes: Tensor, scores: Tensor, limit: int) -> tuple[Tensor, Tensor]:
        """The types of the rows and their number."""
        shape, scored = boxes.get_shape(), scores.get_shape()
        if (
            not (is_static(shape) and is_static(scored))
            or len(shape) != 3
            or len(scored) != 3
            or (scored[0], scored[2], 4) != shape
        ):
            raise VerifyException(
                f"found boxes of shape {shape_text(shape)} and scores of shape {shape_text(scored)}, expected "
                "(batch, box, 4) and (batch, class, box); reshape them"
            )
        if limit < 0:
            raise VerifyException(f"found limit {limit}, expected at least 0; mend it")
        room = scored[0] * scored[1] * min(limit, scored[2])
        return TensorType(i64, [room, 3]), TensorType(i64, [])

    def inferred_types(self) -> Sequence[Tensor]:
        order = tensor_type(self.order)
        if order != TensorType(i64, shape_of(self.scores)):
            raise VerifyException(
                f"found an order of type {order}, expected i64 in the shape of the scores; sort them"
            )
        for threshold in (self.overlap, self.least):
            if shape_of(threshold):
                raise VerifyException(
                    f"found a threshold of type {threshold.type}, expected a number without axes; reshape it"
                )
        boxes, scores = tensor_type(self.boxes), tensor_type(self.scores)
        return self.infer_types(boxes, scores, self.limit.value.data)

    def checked_operands(self) -> Sequence[SSAValue]:
        return (self.boxes, self.scores, self.overlap, self.least)

    def numpy(
        self, boxes: Array, scores: Array, order: Array, overlap: Array, least: Array
    ) -> tuple[Array, Array]:
        rows = np.zeros(shape_of(self.rows), np.int64)
        count = 0
        low, high = boxes[..., :2], boxes[..., 2:]
        areas = np.prod(high - low, axis=-1)
        for batch, category in np.ndindex(*scores.shape[:2]):
            chosen: list[int] = []
            for box in map(int, nearest_in_range(order[batch, category], boxes.shape[1])):
                is_full = len(chosen) == self.limit.value.data
                if is_full or not scores[batch, category, box] > least:
                    continue
                top = np.minimum(high[batch, box], high[batch, chosen])
                sides = np.maximum(top - np.maximum(low[batch, box], low[batch, chosen]), 0)
                shared = np.prod(sides, axis=-1)
                if np.any(shared / (areas[batch, box] + areas[batch, chosen] - shared) > overlap):
                    continue
                chosen.append(box)
                rows[count] = batch, category, box
                count += 1
        return rows, np.asarray(count, np.int64)

    def define(self, te: TeBuilder) -> Sequence[SSAValue]:
        batches, classes, boxes = shape_of(self.scores)
        room, most = shape_of(self.rows)[0], min(self.limit.value.data, boxes)

        def body(w: LoopBuilder, sources: Sequence[SSAValue], results: Sequence[SSAValue]) -> None:
            corners, scores, order, overlap, least = sources
            rows, number = results
            b, wide, bit = w.index, w.scalar(i64), w.scalar(i1)
            zero, one = b.constant(0), b.constant(1)
            real = w.scalar(tensor_type(self.boxes).get_element_type())
            with w.loops([room, 3], ("r", "e")) as at:
                w.store(wide.constant(0), rows, at)
            count = w.cell(IndexType(), zero, "count")
            if most:
                chosen = w.scratch(i64, (most,), "chosen")
                with w.loops([batches, classes], ("b", "c")) as lane:
                    kept = w.cell(IndexType(), zero, "kept")
                    with w.loop("k", 0, boxes) as position:
                        box = index_in_range(b, w.load(order, [*lane, position]), boxes)
                        above = real.compare("gt", w.load(scores, [*lane, box]), w.load(least, []))
                        has_room = b.compare("lt", kept.get(), b.constant(most))
                        with w.when("candidate", bit.bit_and(above, has_room)):
                            apart = w.cell(i1, bit.constant(1), "apart")
                            with w.loop("q", 0, kept.get()) as before:
                                other = b.emit(
                                    arith.IndexCastOp(w.load(chosen, [before]), IndexType())
                                )
                                shared = _overlap(w, real, corners, lane[0], box, other)
                                is_same = real.compare("gt", shared, w.load(overlap, []))
                                apart.set(bit.bit_and(apart.get(), bit.bit_not(is_same)))
                            with w.when("choose", apart.get()):
                                w.store(wide.from_index(box), chosen, [kept.get()])
                                for column, value in enumerate((*lane, box)):
                                    w.store(wide.from_index(value), rows, [count.get(), column])
                                kept.set(b.add(kept.get(), one))
                                count.set(b.add(count.get(), one))
            w.store(wide.from_index(count.get()), number, [])

        types = self.infer_types(
            tensor_type(self.boxes), tensor_type(self.scores), self.limit.value.data
        )
        return te.loops(self.operands, types, body)

    def flops(self) -> int | None:
        """As if as many boxes were compared as can be: 12 operations for a pair."""
        batches, classes, boxes = shape_of(self.scores)
        return 12 * batches * classes * boxes * min(self.limit.value.data, boxes)


def _overlap(
    w: LoopBuilder,
    real: ScalarBuilder,
    corners: SSAValue,
    batch: SSAValue,
    one: SSAValue,
    other: SSAValue,
) -> SSAValue:
    """The intersection of two boxes over their union; NaN of two without an area."""
    first, second = (
        [w.load(corners, [batch, box, number]) for number in range(4)] for box in (one, other)
    )
    zero = real.constant(0)

    def side(axis: int) -> SSAValue:
        top = real.minimum(first[axis + 2], second[axis + 2])
        return real.maximum(real.sub(top, real.maximum(first[axis], second[axis])), zero)

    def area(box: Sequence[SSAValue]) -> SSAValue:
        return real.mul(real.sub(box[2], box[0]), real.sub(box[3], box[1]))

    shared = real.mul(side(0), side(1))
    return real.div(shared, real.sub(real.add(area(first), area(second)), shared))
