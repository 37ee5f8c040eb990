"""Contractions: `matmul`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.ir import SSAValue
from xdsl.irdl import operand_def, result_def

from ..combiner import Combiner
from ..dtypes import is_bool
from ..interfaces import Array, DefinedInTe
from ..leaf_operations import fill
from ..scalar import ScalarBuilder
from ..shaped import Tensor, dense_tensor, shape_of, tensor_type
from ..te.builder import Access, TeBuilder
from ..te.index_maps import broadcast_indices, dims
from ..te.reads import Iterator
from .base import GraphOp, Value, graph_op
from .rows import RowWise
from .shapes import element_count, matmul


def product(
    b: ScalarBuilder, iterators: Sequence[SSAValue], elements: Sequence[SSAValue]
) -> SSAValue:
    """The body of a contraction."""
    return b.mul(*elements)


@graph_op
class MatmulOp(GraphOp, DefinedInTe, RowWise):
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
        lhs, rhs = SSAValue.get(lhs), SSAValue.get(rhs)
        fill(self, (lhs, rhs), (self.infer_type(tensor_type(lhs), tensor_type(rhs)),))

    @classmethod
    def infer_type(cls, lhs: Tensor, rhs: Tensor) -> Tensor:
        """The result type. Raises VerifyException for shapes that do not multiply."""
        return dense_tensor(lhs.get_element_type(), matmul(lhs.get_shape(), rhs.get_shape()))

    def inferred_types(self) -> Sequence[Tensor]:
        return (self.infer_type(tensor_type(self.lhs), tensor_type(self.rhs)),)

    def numpy(self, x: Array, y: Array) -> Array:
        return np.matmul(x, y)

    def define(self, te: TeBuilder) -> SSAValue:
        """r[…, i, j] = sum over k of x[…, i, k] · y[…, k, j]; a vector has no i or j."""
        lhs, rhs, result = shape_of(self.lhs), shape_of(self.rhs), tensor_type(self.result)
        shape = result.get_shape()
        has_row, has_column = len(lhs) > 1, len(rhs) > 1
        batch_rank = len(shape) - has_row - has_column
        batch_names = ["b"] if batch_rank == 1 else [f"b{axis}" for axis in range(batch_rank)]
        exprs = dims(len(shape) + 1)
        batch, inner = exprs[:batch_rank], exprs[-1]
        row = [exprs[batch_rank]] if has_row else []
        column = [exprs[-2]] if has_column else []
        x = [*broadcast_indices(lhs[:-2], shape[:batch_rank], batch), *row, inner]
        y = [*broadcast_indices(rhs[:-2], shape[:batch_rank], batch), inner, *column]
        return te.compute(
            result,
            [Access(self.lhs, x), Access(self.rhs, y)],
            product,
            names=[*batch_names, *(["i"] if has_row else []), *(["j"] if has_column else [])],
            reduction=[Iterator("k", lhs[-1])],
            combiner=Combiner.OR if is_bool(result.get_element_type()) else Combiner.ADD,
        )

    def row_operands(self) -> Sequence[SSAValue] | None:
        return [self.lhs] if len(shape_of(self.rhs)) == 2 else None

    def multiply_adds(self) -> int | None:
        return element_count((*shape_of(self.result), shape_of(self.lhs)[-1]))

    def flops(self) -> int | None:
        count = self.multiply_adds()
        return None if count is None else 2 * count
