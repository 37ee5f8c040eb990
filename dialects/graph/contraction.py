"""Contractions: `matmul`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.irdl import operand_def, result_def

from ..interfaces import Array
from ..shaped import Tensor, shape_of, tensor_type
from .base import GraphOp, Value, graph_op
from .shapes import element_count, matmul


@graph_op
class MatmulOp(GraphOp):
    """
    `numpy.matmul`: matrices, vectors and broadcast batches; integers wrap; on i1 a disjunction of
    conjunctions.

        %r = graph.matmul %a, %b : tensor<5x2x3xf32>, tensor<3x4xf32> -> tensor<5x2x4xf32>
    """

    name = "graph.matmul"

    lhs = operand_def()
    rhs = operand_def()
    result = result_def()

    assembly_format = "$lhs `,` $rhs attr-dict `:` type($lhs) `,` type($rhs) `->` type($result)"

    def __init__(self, lhs: Value, rhs: Value):
        result_type = self.infer_type(tensor_type(lhs), tensor_type(rhs))
        super().__init__(operands=[lhs, rhs], result_types=[result_type])

    @classmethod
    def infer_type(cls, lhs: Tensor, rhs: Tensor) -> Tensor:
        """The result type. Raises VerifyException for shapes that do not multiply."""
        return TensorType(lhs.get_element_type(), matmul(lhs.get_shape(), rhs.get_shape()))

    def inferred_types(self) -> Sequence[Tensor]:
        return (self.infer_type(tensor_type(self.lhs), tensor_type(self.rhs)),)

    def numpy(self, x: Array, y: Array) -> Array:
        return np.matmul(x, y)

    def flops(self) -> int | None:
        count = element_count((*shape_of(self.result), shape_of(self.lhs)[-1]))
        return None if count is None else 2 * count
