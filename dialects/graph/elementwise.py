"""The bases of element-wise operations: one operand, or two that are broadcast."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import TensorType, i1
from xdsl.ir import Attribute
from xdsl.irdl import AnyAttr, VarConstraint, operand_def, result_def

from ..interfaces import Elementwise
from ..shaped import Tensor, tensor_type
from .base import GraphOp, Value
from .shapes import broadcast


class UnaryElementwiseOp(GraphOp, Elementwise, ABC):
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


class BinaryElementwiseOp(GraphOp, Elementwise, ABC):
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
        return TensorType(element, broadcast(lhs.get_shape(), rhs.get_shape()))

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
