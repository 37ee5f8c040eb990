"""Operations that pick elements by tensors of indices: gather."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import IndexType, IntegerAttr, TensorType, i32, i64
from xdsl.ir import SSAValue
from xdsl.irdl import operand_def, prop_def, result_def
from xdsl.utils.exceptions import VerifyException

from ..interfaces import Array, DefinedInTe
from ..scalar import ScalarBuilder
from ..shaped import Tensor, shape_of, tensor_type
from ..te.builder import Access, TeBuilder
from ..te.index_maps import dims
from .base import GraphOp, Value, graph_op
from .shapes import element_count, normalized_axis, require_canonical_axis, shape_text


def index_in_range(b: ScalarBuilder, chosen: SSAValue, extent: int) -> SSAValue:
    """A number as an `index` of an axis: a negative one counts from the end, one out of range is the nearest."""
    index = b.of_type(IndexType())
    number = index.emit(arith.IndexCastOp(chosen, IndexType()))
    zero = index.constant(0)
    from_end = index.add(number, index.constant(extent))
    counted = index.select(index.compare("lt", number, zero), from_end, number)
    return index.minimum(index.maximum(counted, zero), index.constant(max(extent - 1, 0)))


def element_at(b: ScalarBuilder, whole: SSAValue, position: Sequence[SSAValue]) -> SSAValue:
    """The element of a tensor, of the builder's type, at computed indices."""
    return b.emit(tensor.ExtractOp(whole, position, b.signless))


@graph_op
class GatherOp(GraphOp, DefinedInTe):
    """
    The slices of an axis named by a tensor of indices (`numpy.take` along an axis). A negative index
    counts from the end; one out of range is moved to the nearest in range, where NumPy raises.

        %r = graph.gather %x, %i axis = 0 : tensor<9x4xf32>, tensor<2x3xi64> -> tensor<2x3x4xf32>
    """

    name = "graph.gather"
    COMPUTES: ClassVar = False

    operand = operand_def()
    indices = operand_def()
    axis = prop_def(IntegerAttr.constr(i64))
    result = result_def()

    assembly_format = (
        "$operand `,` $indices `axis` `=` $axis attr-dict "
        "`:` type($operand) `,` type($indices) `->` type($result)"
    )

    def __init__(self, operand: Value, indices: Value, axis: int = 0):
        type_ = tensor_type(operand)
        axis = normalized_axis(axis, type_.get_num_dims())
        super().__init__(
            operands=[operand, indices],
            properties={"axis": IntegerAttr(axis, i64)},
            result_types=[self.infer_type(type_, tensor_type(indices), axis)],
        )

    @classmethod
    def infer_type(cls, operand: Tensor, indices: Tensor, axis: int) -> Tensor:
        """The result type: the operand's shape with that of the indices in place of the axis."""
        if indices.get_element_type() not in (i32, i64):
            raise VerifyException(
                f"found indices of element type {indices.get_element_type()}, expected i32 or i64; cast them "
                "with graph.cast"
            )
        shape = operand.get_shape()
        result = (*shape[:axis], *indices.get_shape(), *shape[axis + 1 :])
        if shape[axis] == 0 and element_count(result) != 0:
            raise VerifyException(
                f"found no elements on axis {axis} of shape {shape_text(shape)}, expected some to take "
                "from; give the axis elements"
            )
        return TensorType(operand.get_element_type(), result)

    def inferred_types(self) -> Sequence[Tensor]:
        type_ = tensor_type(self.operand)
        require_canonical_axis(self.axis.value.data, type_.get_num_dims())
        return (self.infer_type(type_, tensor_type(self.indices), self.axis.value.data),)

    def checked_operands(self) -> Sequence[SSAValue]:
        return (self.operand,)

    def numpy(self, x: Array, indices: Array) -> Array:
        axis = self.axis.value.data
        extent = x.shape[axis]
        if extent == 0:
            return np.empty((*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :]), x.dtype)
        from_end = np.where(indices < 0, indices + extent, indices)
        return np.take(x, np.clip(from_end, 0, extent - 1), axis=axis)

    def define(self, te: TeBuilder) -> SSAValue:
        result, axis = tensor_type(self.result), self.axis.value.data
        extent = shape_of(self.operand)[axis]
        width = tensor_type(self.indices).get_num_dims()

        def body(
            b: ScalarBuilder, iterators: Sequence[SSAValue], elements: Sequence[SSAValue]
        ) -> SSAValue:
            whole, chosen = elements
            inside = index_in_range(b, chosen, extent)
            return element_at(b, whole, [*iterators[:axis], inside, *iterators[axis + width :]])

        return te.compute(
            result, [Access(self.operand), Access(self.indices, dims(width, axis))], body
        )

    def flops(self) -> int:
        return 0
