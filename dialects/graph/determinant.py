"""Determinants of matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import IndexType, TensorType
from xdsl.ir import SSAValue
from xdsl.irdl import operand_def, result_def
from xdsl.utils.exceptions import VerifyException

from ..interfaces import Array, DefinedInTe
from ..shaped import Tensor, shape_of, tensor_type
from ..te.builder import TeBuilder
from ..te.loop_builder import Cell, LoopBuilder
from .base import FLOATS, GraphOp, Value, graph_op
from .shapes import element_count, is_static, shape_text


@graph_op
class DetOp(GraphOp, DefinedInTe):
    """
    The determinant of each matrix of the last two axes (`numpy.linalg.det`), by elimination with partial pivoting.

        %r = graph.det %x : tensor<2x3x3xf32> -> tensor<2xf32>
    """

    name = "graph.det"
    ELEMENTS: ClassVar = FLOATS

    operand = operand_def()
    result = result_def()

    assembly_format = "$operand attr-dict `:` type($operand) `->` type($result)"

    def __init__(self, operand: Value):
        super().__init__(operands=[operand], result_types=[self.infer_type(tensor_type(operand))])

    @classmethod
    def infer_type(cls, operand: Tensor) -> Tensor:
        """The result type. Raises VerifyException unless the last two extents are equal."""
        shape = operand.get_shape()
        if len(shape) < 2 or not is_static(shape) or shape[-1] != shape[-2]:
            raise VerifyException(
                f"found shape {shape_text(shape)}, expected square matrices of known extents along the last two "
                "axes; reshape it"
            )
        return TensorType(operand.get_element_type(), shape[:-2])

    def inferred_types(self) -> Sequence[Tensor]:
        return (self.infer_type(tensor_type(self.operand)),)

    def numpy(self, x: Array) -> Array:
        return np.asarray(np.linalg.det(x))

    def define(self, te: TeBuilder) -> SSAValue:
        *batch, size, _ = shape_of(self.operand)
        element = tensor_type(self.operand).get_element_type()

        def body(w: LoopBuilder, sources: Sequence[SSAValue], results: Sequence[SSAValue]) -> None:
            real, index = w.scalar(element), w.index
            with w.loops(batch) as lane:
                matrix = w.scratch(element, (size, size), "matrix")
                with w.loops((size, size), ("row", "column")) as at:
                    w.store(w.load(sources[0], [*lane, *at]), matrix, at)
                product = w.cell(element, real.constant(1), "product")
                with w.loop("k", 0, size) as k:
                    following = index.add(k, index.constant(1))
                    pivot = self._pivot_row(w, matrix, k, following)
                    is_swapped = index.compare("ne", pivot, k)
                    sign = real.select(is_swapped, real.constant(-1), real.constant(1))
                    with w.loop("swap", k, size) as column:
                        above, below = (w.load(matrix, [row, column]) for row in (k, pivot))
                        w.store(above, matrix, [pivot, column])
                        w.store(below, matrix, [k, column])
                    chosen = w.load(matrix, [k, k])
                    product.set(real.mul(product.get(), real.mul(sign, chosen)))
                    # Under a pivot of 0 everything is 0, and so is the product.
                    is_zero = real.compare("eq", chosen, real.constant(0))
                    divisor = real.select(is_zero, real.constant(1), chosen)
                    with w.loop("below", following, size) as row:
                        factor = real.div(w.load(matrix, [row, k]), divisor)
                        with w.loop("right", following, size) as column:
                            taken = real.mul(factor, w.load(matrix, [k, column]))
                            rest = real.sub(w.load(matrix, [row, column]), taken)
                            w.store(rest, matrix, [row, column])
                w.store(product.get(), results[0], lane)

        (value,) = te.loops([self.operand], [tensor_type(self.result)], body)
        return value

    def _pivot_row(
        self, w: LoopBuilder, matrix: SSAValue, k: SSAValue, following: SSAValue
    ) -> SSAValue:
        """The row from `k` on with the number of the greatest magnitude in column `k`."""
        element = tensor_type(self.operand).get_element_type()
        real = w.scalar(element)
        greatest = w.cell(element, real.abs(w.load(matrix, [k, k])), "greatest")
        best: Cell = w.cell(IndexType(), k, "pivot")
        with w.loop("p", following, shape_of(self.operand)[-1]) as row:
            size = real.abs(w.load(matrix, [row, k]))
            with w.when("greater", real.compare("gt", size, greatest.get())):
                greatest.set(size)
                best.set(row)
        return best.get()

    def flops(self) -> int | None:
        """Two thirds of the cube of the extent, for each matrix."""
        count = element_count(shape_of(self.operand))
        size = shape_of(self.operand)[-1]
        return None if count is None else 2 * count * size // 3
