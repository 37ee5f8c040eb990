"""Slices that start where tensors say: dynamic_update_slice."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType
from xdsl.ir import SSAValue
from xdsl.irdl import operand_def, result_def, var_operand_def
from xdsl.utils.exceptions import VerifyException

from ..interfaces import Array, DefinedInTe
from ..shaped import Tensor, shape_of, tensor_type
from ..te.builder import TeBuilder
from ..te.loop_builder import LoopBuilder
from .base import GraphOp, Value, graph_op
from .gather import require_indices
from .shapes import shape_text


@graph_op
class DynamicUpdateSliceOp(GraphOp, DefinedInTe):
    """
    A copy of the operand with a smaller tensor written into it, where one index for each axis says (StableHLO's and XLA's
    operation of this name). A negative index counts from the end; a slice that would reach beyond the operand is moved
    inside. Where nothing needs the operand afterwards, as the keys of the tokens before in a decoder, it is no copy.

        %r = graph.dynamic_update_slice %x, %u at %i, %j
            : tensor<5x3xf32>, tensor<1x3xf32> at tensor<i64>, tensor<i64> -> tensor<5x3xf32>
    """

    name = "graph.dynamic_update_slice"
    COMPUTES: ClassVar = False

    operand = operand_def()
    update = operand_def()
    starts = var_operand_def()
    result = result_def()

    assembly_format = (
        "$operand `,` $update `at` $starts attr-dict "
        "`:` type($operand) `,` type($update) `at` type($starts) `->` type($result)"
    )

    def __init__(self, operand: Value, update: Value, *starts: Value):
        super().__init__(operands=[operand, update, starts], result_types=[tensor_type(operand)])

    def checked_operands(self) -> Sequence[SSAValue]:
        return (self.operand, self.update)

    def inferred_types(self) -> Sequence[Tensor]:
        type_ = tensor_type(self.operand)
        shape, update = type_.get_shape(), shape_of(self.update)
        if len(update) != len(shape) or any(
            size > extent
            for size, extent in zip(update, shape, strict=True)
            if DYNAMIC_INDEX not in (size, extent)
        ):
            raise VerifyException(
                f"found an update of shape {shape_text(update)} for {shape_text(shape)}, expected the same rank and no "
                "axis that is longer; slice or reshape it"
            )
        if len(self.starts) != len(shape):
            raise VerifyException(
                f"found {len(self.starts)} indices for {len(shape)} axes, expected one for each; name that many"
            )
        for start in self.starts:
            require_indices(tensor_type(start))
            if shape_of(start):
                raise VerifyException(
                    f"found an index of shape {shape_text(shape_of(start))}, expected a single number; index it"
                )
        return (type_,)

    def numpy(self, x: Array, update: Array, *starts: Array) -> Array:
        result = np.array(x)
        first = [
            int(np.clip(start + extent if start < 0 else start, 0, extent - size))
            for start, extent, size in zip(starts, x.shape, update.shape, strict=True)
        ]
        parts = zip(first, update.shape, strict=True)
        result[tuple(slice(start, start + size) for start, size in parts)] = update
        return result

    def define(self, te: TeBuilder) -> SSAValue:
        type_, sizes = tensor_type(self.operand), shape_of(self.update)
        pairs = list(zip(type_.get_shape(), sizes, strict=True))
        moving = [axis for axis, (extent, size) in enumerate(pairs) if extent != size]

        def body(w: LoopBuilder, sources: Sequence[SSAValue], results: Sequence[SSAValue]) -> None:
            update, *starts = sources
            first = {
                axis: _first(w, w.load(start, []), *pairs[axis])
                for axis, start in zip(moving, starts, strict=True)
            }
            with w.loops(sizes) as at:
                index = [
                    w.index.add(at[axis], first[axis]) if axis in first else at[axis]
                    for axis in range(len(at))
                ]
                w.store(w.load(update, at), results[0], index)

        sources = [self.update, *(self.starts[axis] for axis in moving)]
        (value,) = te.loops(sources, [type_], body, inits=[self.operand])
        return value

    def flops(self) -> int:
        return 0


def _first(w: LoopBuilder, start: SSAValue, extent: int, size: int) -> SSAValue:
    """Where a slice of an axis starts that is moved inside of it."""
    b = w.index
    number = b.emit(arith.IndexCastOp(start, IndexType()))
    zero = b.constant(0)
    counted = b.select(b.compare("lt", number, zero), b.add(number, b.constant(extent)), number)
    return b.minimum(b.maximum(counted, zero), b.constant(extent - size))
