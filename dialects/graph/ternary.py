"""Element-wise operations of three operands: `where`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import TensorType, i1
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import operand_def, result_def
from xdsl.utils.exceptions import VerifyException

from ..interfaces import Array
from ..scalar import ScalarBuilder
from ..shaped import Tensor, tensor_type
from .base import Value, graph_op, splat_number
from .elementwise import ElementwiseOp
from .shapes import broadcast


@graph_op
class WhereOp(ElementwiseOp):
    """
    `numpy.where`: x where the condition holds, y elsewhere; all three broadcast.

        %r = graph.where %c, %x, %y : tensor<2x3xi1>, tensor<3xf32>, tensor<f32> -> tensor<2x3xf32>
    """

    name = "graph.where"
    COMPUTES: ClassVar = False

    condition = operand_def()
    x = operand_def()
    y = operand_def()
    result = result_def()

    assembly_format = (
        "$condition `,` $x `,` $y attr-dict "
        "`:` type($condition) `,` type($x) `,` type($y) `->` type($result)"
    )

    def __init__(self, condition: Value, x: Value, y: Value):
        types = (tensor_type(condition), tensor_type(x), tensor_type(y))
        super().__init__(operands=[condition, x, y], result_types=[self.infer_type(*types)])

    @classmethod
    def infer_type(cls, condition: Tensor, x: Tensor, y: Tensor) -> Tensor:
        """The result type. Raises VerifyException for shapes that do not broadcast."""
        shape = broadcast(condition.get_shape(), x.get_shape(), y.get_shape())
        return TensorType(x.get_element_type(), shape)

    def inferred_types(self) -> Sequence[Tensor]:
        condition = tensor_type(self.condition)
        if condition.get_element_type() != i1:
            raise VerifyException(
                f"found a condition of element type {condition.get_element_type()}, expected i1; compare it "
                "with 0 by graph.ne"
            )
        return (self.infer_type(condition, tensor_type(self.x), tensor_type(self.y)),)

    def checked_operands(self) -> Sequence[SSAValue]:
        return (self.x, self.y)

    @property
    def body_type(self) -> Attribute:
        return tensor_type(self.x).get_element_type()

    def numpy(self, condition: Array, x: Array, y: Array) -> Array:
        return np.where(condition, x, y)

    def scalar(self, b: ScalarBuilder, condition: SSAValue, x: SSAValue, y: SSAValue) -> SSAValue:
        return b.select(condition, x, y)

    def simplified(self) -> SSAValue | None:
        """where(c, x, x) → x; where(true, x, y) → x; where(false, x, y) → y"""
        if self.x is self.y:
            return self.x
        decided = splat_number(self.condition)
        return None if decided is None else self.x if decided else self.y
