"""The bases of element-wise operations: any operands that are broadcast, one operand, or two."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import i1
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import AnyAttr, VarConstraint, operand_def, result_def

from ..interfaces import DefinedInTe, Elementwise
from ..scalar import ScalarBuilder
from ..shaped import Tensor, dense_tensor, shape_of, tensor_type
from ..te.builder import Access, TeBuilder
from ..te.index_maps import broadcast_indices, dims
from .base import GraphOp, Value, splat_number
from .rows import RowWise, is_parameter
from .shapes import broadcast


class ElementwiseOp(GraphOp, Elementwise, DefinedInTe, RowWise, ABC):
    """Operands that are broadcast to the shape of the only result. A subclass gives `scalar`."""

    def define(self, te: TeBuilder) -> SSAValue:
        """A constant whose elements are all equal is a number in the body, not a tensor that is read."""
        result = tensor_type(self.results[0])
        shape = result.get_shape()
        own = dims(len(shape))
        numbers = [splat_number(value) for value in self.operands]
        accesses = [
            Access(value, broadcast_indices(shape_of(value), shape, own))
            for value, number in zip(self.operands, numbers, strict=True)
            if number is None
        ]

        def body(
            b: ScalarBuilder, iterators: Sequence[SSAValue], elements: Sequence[SSAValue]
        ) -> SSAValue:
            remaining = iter(elements)
            args = [
                next(remaining)
                if number is None
                else b.of_type(tensor_type(value).get_element_type()).constant(number)
                for value, number in zip(self.operands, numbers, strict=True)
            ]
            return self.scalar(b.of_type(self.body_type), *args)

        return te.compute(result, accesses, body)

    def row_operands(self) -> Sequence[SSAValue] | None:
        leading = shape_of(self.results[0])[:-1]
        rows = [value for value in self.operands if shape_of(value)[:-1] == leading]
        others = [value for value in self.operands if shape_of(value)[:-1] != leading]
        return rows if rows and all(map(is_parameter, others)) else None


class UnaryElementwiseOp(ElementwiseOp, ABC):
    """
    One operand, and a result of the same type. A subclass gives a name, `numpy(x)` and `scalar(b, x)`.

        %r = graph.exp %x : tensor<2x3xf32>
    """

    T: ClassVar = VarConstraint("T", AnyAttr())
    operand = operand_def(T)
    result = result_def(T)

    assembly_format = "$operand attr-dict `:` type($operand)"

    def __init__(self, operand: Value):
        super().__init__(operands=[operand], result_types=[tensor_type(operand)])

    @classmethod
    def infer_type(cls, operand: Tensor) -> Tensor:
        return operand

    def inferred_types(self) -> Sequence[Tensor]:
        return (self.infer_type(tensor_type(self.operand)),)

    @property
    def body_type(self) -> Attribute:
        return tensor_type(self.operand).get_element_type()


class BinaryElementwiseOp(ElementwiseOp, ABC):
    """
    Two operands of one element type, broadcast as NumPy does. A subclass gives a name, `numpy(x, y)` and
    `scalar(b, x, y)`.

        %r = graph.add %a, %b : tensor<2x3xf32>, tensor<3xf32> -> tensor<2x3xf32>
    """

    lhs = operand_def()
    rhs = operand_def()
    result = result_def()

    assembly_format = "$lhs `,` $rhs attr-dict `:` type($lhs) `,` type($rhs) `->` type($result)"

    def __init__(self, lhs: Value, rhs: Value):
        result_type = self.infer_type(tensor_type(lhs), tensor_type(rhs))
        super().__init__(operands=[lhs, rhs], result_types=[result_type])

    @classmethod
    def result_element(cls, element: Attribute) -> Attribute:
        """The result's element type for operands of this one."""
        return element

    @classmethod
    def infer_type(cls, lhs: Tensor, rhs: Tensor) -> Tensor:
        """The result type. Raises VerifyException for shapes that do not broadcast."""
        element = cls.result_element(lhs.get_element_type())
        return dense_tensor(element, broadcast(lhs.get_shape(), rhs.get_shape()))

    def inferred_types(self) -> Sequence[Tensor]:
        return (self.infer_type(tensor_type(self.lhs), tensor_type(self.rhs)),)

    @property
    def body_type(self) -> Attribute:
        return tensor_type(self.lhs).get_element_type()


class ComparisonOp(BinaryElementwiseOp, ABC):
    """A binary operation with an i1 result."""

    @classmethod
    def result_element(cls, element: Attribute) -> Attribute:
        return i1
