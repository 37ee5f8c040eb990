"""Elements at the multiples of a number that tensors give: fill_multiples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType, i64
from xdsl.ir import SSAValue
from xdsl.irdl import operand_def, result_def
from xdsl.utils.exceptions import VerifyException

from ..interfaces import Array, DefinedInTe
from ..scalar import ScalarBuilder
from ..shaped import Tensor, shape_of, tensor_type
from ..te.builder import TeBuilder
from ..te.loop_builder import LoopBuilder
from .base import GraphOp, Value, graph_op
from .shapes import shape_text


@graph_op
class FillMultiplesOp(GraphOp, DefinedInTe):
    """
    A copy of a vector in which the elements whose indices are multiples of `step`, and not below `start`, are `value`:
    `x[i] = value where i % step == 0 and i >= start`. Every index is a multiple of 0, as `numpy.mod` by 0 is 0. Where
    nothing needs the operand afterwards, it is no copy, and only these elements are touched.

        %r = graph.fill_multiples %x, %value of %step from %start
            : tensor<9xf32>, tensor<f32> of tensor<i64> from tensor<i64> -> tensor<9xf32>
    """

    name = "graph.fill_multiples"
    COMPUTES: ClassVar = False

    operand = operand_def()
    value = operand_def()
    step = operand_def()
    start = operand_def()
    result = result_def()

    assembly_format = (
        "$operand `,` $value `of` $step `from` $start attr-dict "
        "`:` type($operand) `,` type($value) `of` type($step) `from` type($start) `->` type($result)"
    )

    def __init__(self, operand: Value, value: Value, step: Value, start: Value):
        super().__init__(
            operands=[operand, value, step, start], result_types=[tensor_type(operand)]
        )

    def checked_operands(self) -> Sequence[SSAValue]:
        return (self.operand, self.value)

    def inferred_types(self) -> Sequence[Tensor]:
        type_ = tensor_type(self.operand)
        shape = type_.get_shape()
        if len(shape) != 1 or DYNAMIC_INDEX in shape:
            raise VerifyException(
                f"found an operand of shape {shape_text(shape)}, expected one axis of known extent; reshape it"
            )
        for name in ("value", "step", "start"):
            found = getattr(self, name)
            if shape_of(found):
                raise VerifyException(
                    f"found a {name} of shape {shape_text(shape_of(found))}, expected a single number; index it"
                )
        for name in ("step", "start"):
            element = tensor_type(getattr(self, name)).get_element_type()
            if element != i64:
                raise VerifyException(f"found a {name} of {element}, expected i64; cast it")
        return (type_,)

    def numpy(self, x: Array, value: Array, step: Array, start: Array) -> Array:
        result = np.array(x)
        by = abs(int(step)) or 1
        first = -(-max(int(start), 0) // by) * by
        if first < len(result):
            result[first :: min(by, len(result))] = value
        return result

    def define(self, te: TeBuilder) -> SSAValue:
        type_ = tensor_type(self.operand)
        (extent,) = type_.get_shape()

        def body(w: LoopBuilder, sources: Sequence[SSAValue], results: Sequence[SSAValue]) -> None:
            value, step, start = (w.load(source, []) for source in sources)
            b = w.index
            by = _step(b, b.emit(arith.IndexCastOp(step, IndexType())), extent)
            least = b.emit(arith.IndexCastOp(start, IndexType()))
            least = b.minimum(b.maximum(least, b.constant(0)), b.constant(extent))
            number = _steps_up_to(b, least, by)
            with w.loop("k", number, _steps_up_to(b, b.constant(extent), by)) as k:
                w.store(value, results[0], [b.mul(k, by)])

        sources = [self.value, self.step, self.start]
        (value,) = te.loops(sources, [type_], body, inits=[self.operand])
        return value

    def flops(self) -> int:
        return 0


def _step(b: ScalarBuilder, step: SSAValue, extent: int) -> SSAValue:
    """How far the multiples of a number are apart, between 1 and the extent: further ones there are none inside."""
    zero = b.constant(0)
    down = b.maximum(b.minimum(step, b.sub(zero, step)), b.constant(-max(extent, 1)))
    return b.select(b.compare("eq", step, zero), b.constant(1), b.sub(zero, down))


def _steps_up_to(b: ScalarBuilder, end: SSAValue, step: SSAValue) -> SSAValue:
    """How many multiples of a step, which is positive, are at least 0 and below an end."""
    more = b.add(end, b.sub(step, b.constant(1)))
    return b.emit(arith.DivUIOp(more, step))
