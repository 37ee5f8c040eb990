"""Operations that pick elements by tensors of indices: gather, gather_elements, gather_nd."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType, IntegerAttr, TensorType, i32, i64
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr
from xdsl.irdl import operand_def, prop_def, result_def
from xdsl.utils.exceptions import VerifyException

from ...frozen import frozen
from ..interfaces import Array, DefinedInTe
from ..scalar import ScalarBuilder
from ..shaped import Tensor, shape_of, tensor_type
from ..te.builder import Access, TeBuilder
from ..te.index_maps import dims
from .base import GraphOp, Value, graph_op
from .shapes import (
    Shape,
    element_count,
    is_compatible,
    normalized_axis,
    require_canonical_axis,
    shape_text,
)


def index_in_range(b: ScalarBuilder, chosen: SSAValue, extent: int) -> SSAValue:
    """A number as an `index` of an axis: a negative one counts from the end, one out of range is the nearest."""
    index = b.of_type(IndexType())
    number = index.emit(arith.IndexCastOp(chosen, IndexType()))
    zero = index.constant(0)
    from_end = index.add(number, index.constant(extent))
    counted = index.select(index.compare("lt", number, zero), from_end, number)
    return index.minimum(index.maximum(counted, zero), index.constant(max(extent - 1, 0)))


def require_indices(indices: Tensor) -> None:
    """Raise VerifyException for indices that are not i32 or i64."""
    if indices.get_element_type() not in (i32, i64):
        raise VerifyException(
            f"found indices of element type {indices.get_element_type()}, expected i32 or i64; cast them "
            "with graph.cast"
        )


def nearest_in_range(indices: Array, extent: int) -> Array:
    """Indices of an axis: negative ones count from the end, those out of range are the nearest."""
    return np.clip(np.where(indices < 0, indices + extent, indices), 0, max(extent - 1, 0))


def element_at(b: ScalarBuilder, whole: SSAValue, position: Sequence[SSAValue]) -> SSAValue:
    """The element of a tensor, of the builder's type, at computed indices."""
    return b.emit(tensor.ExtractOp(whole, position, b.signless))


class _AlongAxisGatherOp(GraphOp, DefinedInTe, ABC):
    """Elements of a tensor chosen along one axis by a tensor of indices. A subclass says the shape of the result."""

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
    @abstractmethod
    def result_shape(cls, shape: Shape, chosen: Shape, axis: int) -> Shape:
        """The shape of the result for those of the operand and the indices. Raises VerifyException."""

    @classmethod
    def infer_type(cls, operand: Tensor, indices: Tensor, axis: int) -> Tensor:
        """The result type. Raises VerifyException for indices of another type, and where there is nothing to take."""
        require_indices(indices)
        shape = tuple(operand.get_shape())
        result = cls.result_shape(shape, tuple(indices.get_shape()), axis)
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

    def flops(self) -> int:
        return 0


@graph_op
class GatherOp(_AlongAxisGatherOp):
    """
    The slices of an axis named by a tensor of indices (`numpy.take` along an axis). A negative index
    counts from the end; one out of range is moved to the nearest in range, where NumPy raises.

        %r = graph.gather %x, %i axis = 0 : tensor<9x4xf32>, tensor<2x3xi64> -> tensor<2x3x4xf32>
    """

    name = "graph.gather"

    @classmethod
    def result_shape(cls, shape: Shape, chosen: Shape, axis: int) -> Shape:
        """The operand's shape with that of the indices in place of the axis."""
        return (*shape[:axis], *chosen, *shape[axis + 1 :])

    def numpy(self, x: Array, indices: Array) -> Array:
        axis = self.axis.value.data
        extent = x.shape[axis]
        if extent == 0:
            return np.empty((*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :]), x.dtype)
        return np.take(x, nearest_in_range(indices, extent), axis=axis)

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


@graph_op
class GatherElementsOp(_AlongAxisGatherOp):
    """
    At each position the element whose index along an axis a tensor of indices has there (ONNX GatherElements,
    `numpy.take_along_axis`). A negative index counts from the end; one out of range is moved to the nearest.

        %r = graph.gather_elements %x, %i axis = 1 : tensor<2x9xf32>, tensor<2x4xi64> -> tensor<2x4xf32>
    """

    name = "graph.gather_elements"

    @classmethod
    def result_shape(cls, shape: Shape, chosen: Shape, axis: int) -> Shape:
        """The shape of the indices, which on other axes are at most the operand's extents."""
        require_within(shape, chosen, axis)
        return chosen

    def numpy(self, x: Array, indices: Array) -> Array:
        axis = self.axis.value.data
        if indices.size == 0:
            return np.empty(indices.shape, x.dtype)
        position: list[Array] = [*np.indices(indices.shape)]
        position[axis] = nearest_in_range(indices, x.shape[axis])
        return x[tuple(position)]

    def define(self, te: TeBuilder) -> SSAValue:
        result, axis = tensor_type(self.result), self.axis.value.data
        extent = shape_of(self.operand)[axis]

        def body(
            b: ScalarBuilder, iterators: Sequence[SSAValue], elements: Sequence[SSAValue]
        ) -> SSAValue:
            whole, chosen = elements
            position = list(iterators)
            position[axis] = index_in_range(b, chosen, extent)
            return element_at(b, whole, position)

        own = dims(result.get_num_dims())
        return te.compute(result, [Access(self.operand), Access(self.indices, own)], body)


def require_within(shape: Sequence[int], chosen: Sequence[int], axis: int) -> None:
    """Raise VerifyException unless indices have a tensor's rank and fit in it on every axis but one."""
    if len(chosen) != len(shape) or any(
        DYNAMIC_INDEX not in (part, whole) and part > whole
        for number, (part, whole) in enumerate(zip(chosen, shape, strict=True))
        if number != axis
    ):
        raise VerifyException(
            f"found indices of shape {shape_text(chosen)} for a tensor of shape {shape_text(shape)}, expected "
            f"the same rank, and at most its extents on every axis but {axis}; slice or reshape the indices"
        )


@frozen
class TupleIndexing:
    """
    How a tensor is indexed by tuples that lie along the last axis of a tensor of indices.

    The first `batch_dims` axes of both are the same; a tuple of `depth` names an element of the axes behind them, or a
    slice of what is left. `found` is the shape of all that is named.
    """

    depth: int
    found: tuple[int, ...]

    @staticmethod
    def of(operand: Tensor, indices: Tensor, batch_dims: int) -> TupleIndexing:
        """Raises VerifyException for shapes that do not go together."""
        require_indices(indices)
        shape, chosen = operand.get_shape(), indices.get_shape()
        if not chosen or chosen[-1] == DYNAMIC_INDEX:
            raise VerifyException(
                f"found indices of shape {shape_text(chosen)}, expected tuples of known length along their last "
                "axis; reshape them"
            )
        depth = chosen[-1]
        if not 0 <= batch_dims < len(chosen) or batch_dims + depth > len(shape):
            raise VerifyException(
                f"found tuples of {depth} indices behind {batch_dims} batch axes for a tensor of shape "
                f"{shape_text(shape)}, expected at most its {len(shape)} axes; shorten the tuples"
            )
        if not is_compatible(chosen[:batch_dims], shape[:batch_dims]):
            raise VerifyException(
                f"found shapes {shape_text(shape)} and {shape_text(chosen)}, expected the first {batch_dims} "
                "extents to be equal; reshape an operand"
            )
        found = (*chosen[:-1], *shape[batch_dims + depth :])
        if 0 in shape[batch_dims : batch_dims + depth] and element_count(found) != 0:
            raise VerifyException(
                f"found shape {shape_text(shape)} without elements to take from, expected some on the axes "
                "that are indexed; give them elements"
            )
        return TupleIndexing(depth, found)


@graph_op
class GatherNdOp(GraphOp, DefinedInTe):
    """
    The elements, or slices, that tuples of indices name (ONNX GatherND). The tuples lie along the last axis of the
    indices and index the axes behind the first `batch_dims`, which both operands have. A negative index counts from the
    end; one out of range is moved to the nearest in range.

        %r = graph.gather_nd %x, %i batch_dims = 0 : tensor<5x4x3xf32>, tensor<7x2xi64> -> tensor<7x3xf32>
    """

    name = "graph.gather_nd"
    COMPUTES: ClassVar = False

    operand = operand_def()
    indices = operand_def()
    batch_dims = prop_def(IntegerAttr.constr(i64))
    result = result_def()

    assembly_format = (
        "$operand `,` $indices `batch_dims` `=` $batch_dims attr-dict "
        "`:` type($operand) `,` type($indices) `->` type($result)"
    )

    def __init__(self, operand: Value, indices: Value, batch_dims: int = 0):
        type_ = tensor_type(operand)
        indexing = TupleIndexing.of(type_, tensor_type(indices), batch_dims)
        super().__init__(
            operands=[operand, indices],
            properties={"batch_dims": IntegerAttr(batch_dims, i64)},
            result_types=[TensorType(type_.get_element_type(), indexing.found)],
        )

    @property
    def indexing(self) -> TupleIndexing:
        batch = self.batch_dims.value.data
        return TupleIndexing.of(tensor_type(self.operand), tensor_type(self.indices), batch)

    def inferred_types(self) -> Sequence[Tensor]:
        element = tensor_type(self.operand).get_element_type()
        return (TensorType(element, self.indexing.found),)

    def checked_operands(self) -> Sequence[SSAValue]:
        return (self.operand,)

    def numpy(self, x: Array, indices: Array) -> Array:
        batch, depth, outer = self.batch_dims.value.data, indices.shape[-1], indices.shape[:-1]
        found = (*outer, *x.shape[batch + depth :])
        if 0 in found:
            return np.empty(found, x.dtype)
        if batch + depth == 0:
            return np.broadcast_to(x, found)
        position: list[Array] = [*np.indices(outer)[:batch]]
        for number, extent in enumerate(x.shape[batch : batch + depth]):
            position.append(nearest_in_range(indices[..., number], extent))
        return x[tuple(position)]

    def define(self, te: TeBuilder) -> SSAValue:
        result, batch = tensor_type(self.result), self.batch_dims.value.data
        extents = shape_of(self.operand)[batch : batch + self.indexing.depth]
        outer = tensor_type(self.indices).get_num_dims() - 1
        own = dims(outer)
        tuples = [
            Access(self.indices, [*own, AffineExpr.constant(number)])
            for number in range(len(extents))
        ]

        def body(
            b: ScalarBuilder, iterators: Sequence[SSAValue], elements: Sequence[SSAValue]
        ) -> SSAValue:
            whole, *chosen = elements
            inside = [index_in_range(b, *pair) for pair in zip(chosen, extents, strict=True)]
            return element_at(b, whole, [*iterators[:batch], *inside, *iterators[outer:]])

        return te.compute(result, [Access(self.operand), *tuples], body)

    def flops(self) -> int:
        return 0
