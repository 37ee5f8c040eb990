"""Square matrices as products of triangular ones."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import IndexType, TensorType, f32, f64, i64
from xdsl.ir import SSAValue
from xdsl.irdl import operand_def, result_def

from ..interfaces import Array, DefinedInTe
from ..shaped import Tensor, memref_type, shape_of, tensor_type
from ..te.builder import TeBuilder
from ..te.loop_builder import Cell, Index, LoopBuilder
from .base import GraphOp, Value, graph_op
from .matrix_loops import LEAST_ROWS, TOGETHER, exchange, subtract_rows
from .shapes import element_count, require_square


@graph_op
class LuOp(GraphOp, DefinedInTe):
    """
    Each matrix of the last two axes, its rows exchanged, as the product of a lower triangular matrix with ones on its
    diagonal and an upper triangular one: both in one matrix, without the ones. Row i of the product is row `order[i]` of
    the matrix; `sign` is the determinant of the exchange, 1 or -1.

        %packed, %order, %sign = graph.lu %x : tensor<2x3x3xf32> -> tensor<2x3x3xf32>, tensor<2x3xi64>, tensor<2xf32>

    Elimination with partial pivoting (Golub and Van Loan, Matrix Computations, algorithm 3.4.1), a few columns at a time.
    A singular matrix has a 0 on the diagonal of the upper one.
    """

    name = "graph.lu"
    ELEMENTS: ClassVar = (f32, f64)

    operand = operand_def()
    packed = result_def()
    order = result_def()
    sign = result_def()

    assembly_format = (
        "$operand attr-dict `:` type($operand) `->` type($packed) `,` type($order) `,` type($sign)"
    )

    def __init__(self, operand: Value):
        super().__init__(operands=[operand], result_types=list(self._types(tensor_type(operand))))

    @staticmethod
    def _types(operand: Tensor) -> Sequence[Tensor]:
        shape = require_square(operand.get_shape())
        element = operand.get_element_type()
        return (
            TensorType(element, shape),
            TensorType(i64, shape[:-1]),
            TensorType(element, shape[:-2]),
        )

    def inferred_types(self) -> Sequence[Tensor]:
        return self._types(tensor_type(self.operand))

    def numpy(self, x: Array) -> tuple[Array, ...]:
        *batch, size, _ = x.shape
        lanes = np.arange(prod(batch))
        packed: Array = x.reshape(len(lanes), size, size).copy()
        order: Array = np.zeros((len(lanes), size), np.int64)
        order[:] = np.arange(size)
        sign: Array = np.ones(len(lanes), x.dtype)
        for k in range(size):
            pivot = k + np.argmax(np.abs(packed[:, k:, k]), 1)
            for rows in (packed, order):
                rows[lanes, pivot], rows[:, k] = rows[:, k].copy(), rows[lanes, pivot]
            sign[pivot != k] *= -1
            divisor = np.where(packed[:, k, k] == 0, 1, packed[:, k, k])
            packed[:, k + 1 :, k] /= divisor[:, None]
            packed[:, k + 1 :, k + 1 :] -= packed[:, k + 1 :, k, None] * packed[:, k, None, k + 1 :]
        shapes = x.shape, x.shape[:-1], x.shape[:-2]
        return tuple(map(np.reshape, (packed, order, sign), shapes))

    def define(self, te: TeBuilder) -> Sequence[SSAValue]:
        *batch, size, _ = shape_of(self.operand)

        def body(w: LoopBuilder, sources: Sequence[SSAValue], results: Sequence[SSAValue]) -> None:
            (x,), (packed, order, sign) = sources, results
            element = tensor_type(self.operand).get_element_type()
            real = w.scalar(element)
            with w.loops(batch) as lane:
                with w.loop("row", 0, size) as row:
                    w.store(w.scalar(i64).from_index(row), order, [*lane, row])
                    with w.loop("column", 0, size) as column:
                        w.store(w.load(x, [*lane, row, column]), packed, [*lane, row, column])
                exchanges = w.cell(element, real.constant(1), "sign")

                def eliminate(first: Index, last: Index) -> None:
                    with w.loop("k", first, last) as k:
                        following = w.index.add(k, w.index.constant(1))
                        pivot = self._pivot_row(w, packed, lane, k, following)
                        is_swapped = w.index.compare("ne", pivot, k)
                        with w.when("swapped", is_swapped):
                            exchanges.set(real.neg(exchanges.get()))
                            exchange(w, order, [*lane, k], [*lane, pivot])
                            with w.loop("swap", 0, size) as column:
                                exchange(w, packed, [*lane, k, column], [*lane, pivot, column])
                        _eliminate(w, packed, lane, (k, following), last)

                if size < LEAST_ROWS:
                    eliminate(0, size)
                else:
                    with w.loop("block", 0, -(-size // TOGETHER)) as block:
                        first = w.index.mul(block, w.index.constant(TOGETHER))
                        behind = w.index.add(first, w.index.constant(TOGETHER))
                        last = w.index.minimum(behind, w.index.constant(size))
                        eliminate(first, last)
                        _take_block(w, packed, lane, first, last)
                w.store(exchanges.get(), sign, lane)

        types = [tensor_type(result) for result in self.results]
        return te.loops([self.operand], types, body)

    def _pivot_row(
        self,
        w: LoopBuilder,
        matrix: SSAValue,
        lane: Sequence[SSAValue],
        k: SSAValue,
        following: SSAValue,
    ) -> SSAValue:
        """The row from `k` on with the number of the greatest magnitude in column `k`."""
        element = tensor_type(self.operand).get_element_type()
        real = w.scalar(element)
        greatest = w.cell(element, real.abs(w.load(matrix, [*lane, k, k])), "greatest")
        best: Cell = w.cell(IndexType(), k, "pivot")
        with w.loop("p", following, shape_of(self.operand)[-1]) as row:
            size = real.abs(w.load(matrix, [*lane, row, k]))
            with w.when("greater", real.compare("gt", size, greatest.get())):
                greatest.set(size)
                best.set(row)
        return best.get()

    def flops(self) -> int | None:
        """Two thirds of the cube of the extent, for each matrix."""
        count = element_count(shape_of(self.operand))
        size = shape_of(self.operand)[-1]
        return None if count is None else 2 * count * size // 3


def _eliminate(
    w: LoopBuilder,
    matrix: SSAValue,
    lane: Sequence[SSAValue],
    place: tuple[SSAValue, SSAValue],
    last: Index,
) -> None:
    """
    Take multiples of a row from those below, in the columns of its block alone, and keep the multiples in the column of
    its pivot. The place is the number of the row, and the next one.
    """
    k, following = place
    type_ = memref_type(matrix)
    size, real = type_.get_shape()[-1], w.scalar(type_.get_element_type())
    chosen = w.load(matrix, [*lane, k, k])
    # Under a pivot of 0 everything is 0, and stays so.
    is_zero = real.compare("eq", chosen, real.constant(0))
    divisor = real.select(is_zero, real.constant(1), chosen)
    with w.loop("below", following, size) as row:
        factor = real.div(w.load(matrix, [*lane, row, k]), divisor)
        w.store(factor, matrix, [*lane, row, k])
        with w.loop("right", following, last) as column:
            taken = real.mul(factor, w.load(matrix, [*lane, k, column]))
            rest = real.sub(w.load(matrix, [*lane, row, column]), taken)
            w.store(rest, matrix, [*lane, row, column])


def _take_block(
    w: LoopBuilder,
    matrix: SSAValue,
    lane: Sequence[SSAValue],
    first: SSAValue,
    last: SSAValue,
) -> None:
    """Take multiples of the rows of a block from those below, in the columns behind it."""
    size = memref_type(matrix).get_shape()[-1]
    with w.loop("below", w.index.add(first, w.index.constant(1)), size) as row:
        subtract_rows(
            w,
            (matrix, [*lane, row]),
            lambda n: (matrix, [*lane, n]),
            lambda n: w.load(matrix, [*lane, row, n]),
            (first, w.index.minimum(row, last)),
            (last, size),
        )
