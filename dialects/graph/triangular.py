"""Triangular matrices: the factor of a positive definite matrix, and systems of equations."""

from __future__ import annotations

from collections.abc import Sequence
from math import nan
from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import TensorType, UnitAttr, f32, f64
from xdsl.ir import SSAValue
from xdsl.irdl import operand_def, opt_prop_def, result_def
from xdsl.utils.exceptions import VerifyException

from ..interfaces import Array, DefinedInTe
from ..scalar import ScalarBuilder
from ..shaped import Tensor, memref_type, shape_of, tensor_type
from ..te.builder import TeBuilder
from ..te.loop_builder import LoopBuilder
from .base import GraphOp, Value, graph_op
from .matrix_loops import LEAST_ROWS, real_of, subtract_rows
from .shapes import element_count, is_static, require_square, shape_text


@graph_op
class CholeskyOp(GraphOp, DefinedInTe):
    """
    The lower triangular matrix L with x = L Lᵀ, of each symmetric positive definite matrix of the last two axes. Elements
    above the diagonal of x are not read.

        %r = graph.cholesky %x : tensor<2x3x3xf32> -> tensor<2x3x3xf32>

    Column by column (Golub and Van Loan, Matrix Computations, algorithm 4.2.1), that of a large matrix as a row of the
    transpose, whose elements lie side by side. Where the matrix is not positive definite the column that shows it is
    NaN, and what follows from it.
    """

    name = "graph.cholesky"
    ELEMENTS: ClassVar = (f32, f64)

    operand = operand_def()
    result = result_def()

    assembly_format = "$operand attr-dict `:` type($operand) `->` type($result)"

    def __init__(self, operand: Value):
        super().__init__(operands=[operand], result_types=[tensor_type(operand)])

    def inferred_types(self) -> Sequence[Tensor]:
        require_square(shape_of(self.operand))
        return (tensor_type(self.operand),)

    def numpy(self, x: Array) -> Array:
        lower = np.tril(x)
        for k in range(x.shape[-1]):
            row = lower[..., k, :k]
            rest = lower[..., k, k] - np.sum(row * row, -1)
            lower[..., k, k] = np.sqrt(np.where(rest > 0, rest, nan))
            below = lower[..., k + 1 :, :k] @ row[..., None]
            lower[..., k + 1 :, k] -= below[..., 0]
            lower[..., k + 1 :, k] /= lower[..., k, k, None]
        return lower

    def define(self, te: TeBuilder) -> SSAValue:
        *batch, size, _ = shape_of(self.operand)
        real_type = tensor_type(self.operand).get_element_type()

        def body(w: LoopBuilder, sources: Sequence[SSAValue], results: Sequence[SSAValue]) -> None:
            (x,), (lower,) = sources, results
            by_rows = size >= LEAST_ROWS
            upper = w.scratch(real_type, (size, size), "upper") if by_rows else None
            with w.loops(batch) as lane:
                with w.loops((size, size), ("row", "column")) as at:
                    w.store(w.scalar(real_type).constant(0), lower, [*lane, *at])
                with w.loop("k", 0, size) as k:
                    if upper is None:
                        _column_by_dots(w, x, lower, lane, k)
                    else:
                        _column_by_rows(w, x, lower, upper, lane, k)

        (value,) = te.loops([self.operand], [tensor_type(self.result)], body)
        return value

    def flops(self) -> int | None:
        """A third of the cube of the extent, for each matrix."""
        count = element_count(shape_of(self.operand))
        return None if count is None else count * shape_of(self.operand)[-1] // 3


def _root(real: ScalarBuilder, rest: SSAValue) -> SSAValue:
    """The square root, NaN where there is no positive one."""
    is_positive = real.compare("gt", rest, real.constant(0))
    return real.sqrt(real.select(is_positive, rest, real.constant(nan)))


def _column_by_dots(
    w: LoopBuilder, x: SSAValue, lower: SSAValue, lane: Sequence[SSAValue], k: SSAValue
) -> None:
    """Column k of the factor, each element less the product of the parts of two rows that are known."""
    real, size = real_of(w, x), memref_type(x).get_shape()[-1]
    rest = w.cell(real.type, w.load(x, [*lane, k, k]), "rest")
    with w.loop("left", 0, k) as column:
        other = w.load(lower, [*lane, k, column])
        rest.set(real.sub(rest.get(), real.mul(other, other)))
    root = _root(real, rest.get())
    w.store(root, lower, [*lane, k, k])
    with w.loop("below", w.index.add(k, w.index.constant(1)), size) as row:
        total = w.cell(real.type, w.load(x, [*lane, row, k]), "total")
        with w.loop("left", 0, k) as column:
            pair = [w.load(lower, [*lane, at, column]) for at in (row, k)]
            total.set(real.sub(total.get(), real.mul(*pair)))
        w.store(real.div(total.get(), root), lower, [*lane, row, k])


def _column_by_rows(
    w: LoopBuilder,
    x: SSAValue,
    lower: SSAValue,
    upper: SSAValue,
    lane: Sequence[SSAValue],
    k: SSAValue,
) -> None:
    """Column k of the factor as row k of its transpose, from which multiples of the rows above are taken."""
    real, size = real_of(w, x), memref_type(x).get_shape()[-1]
    with w.loop("column", k, size) as column:
        w.store(w.load(x, [*lane, column, k]), upper, [k, column])
    subtract_rows(
        w,
        (upper, [k]),
        lambda n: (upper, [n]),
        lambda n: w.load(upper, [n, k]),
        (0, k),
        (k, size),
    )
    root = _root(real, w.load(upper, [k, k]))
    with w.loop("below", k, size) as row:
        element = real.div(w.load(upper, [k, row]), root)
        w.store(element, upper, [k, row])
        w.store(element, lower, [*lane, row, k])
    w.store(root, lower, [*lane, k, k])


@graph_op
class TriangularSolveOp(GraphOp, DefinedInTe):
    """
    x with a x = b, for each triangular matrix a of the last two axes and the columns of b: an upper triangular one, or a
    `lower` one. The other triangle is not read, nor the diagonal where it is `unit`, all ones.

        %x = graph.triangular_solve %a, %b lower unit : tensor<2x3x3xf32>, tensor<2x3x5xf32> -> tensor<2x3x5xf32>

    Substitution row by row (Golub and Van Loan, Matrix Computations, 3.1). A 0 on the diagonal is divided by.
    """

    name = "graph.triangular_solve"
    ELEMENTS: ClassVar = (f32, f64)

    matrix = operand_def()
    right = operand_def()
    lower = opt_prop_def(UnitAttr)
    unit = opt_prop_def(UnitAttr)
    result = result_def()

    assembly_format = (
        "$matrix `,` $right (`lower` $lower^)? (`unit` $unit^)? attr-dict "
        "`:` type($matrix) `,` type($right) `->` type($result)"
    )

    def __init__(self, matrix: Value, right: Value, *, lower: bool = False, unit: bool = False):
        super().__init__(
            operands=[matrix, right],
            properties={
                "lower": UnitAttr() if lower else None,
                "unit": UnitAttr() if unit else None,
            },
            result_types=[tensor_type(right)],
        )

    def inferred_types(self) -> Sequence[Tensor]:
        matrix, right = shape_of(self.matrix), shape_of(self.right)
        require_square(matrix)
        if not is_static(right) or tuple(right[:-1]) != tuple(matrix[:-1]):
            raise VerifyException(
                f"found matrices of shape {shape_text(matrix)} and right-hand sides of shape {shape_text(right)}, "
                "expected columns of as many elements in as many batches; reshape them"
            )
        return (TensorType(tensor_type(self.right).get_element_type(), right),)

    def numpy(self, matrix: Array, right: Array) -> Array:
        x = right.copy()
        size = matrix.shape[-1]
        for k in range(size) if self.lower is not None else reversed(range(size)):
            known = slice(0, k) if self.lower is not None else slice(k + 1, size)
            x[..., k, :] -= (matrix[..., k, None, known] @ x[..., known, :])[..., 0, :]
            if self.unit is None:
                x[..., k, :] /= matrix[..., k, k, None]
        return x

    def define(self, te: TeBuilder) -> SSAValue:
        *batch, size, columns = shape_of(self.right)
        type_ = tensor_type(self.right)

        def body(w: LoopBuilder, sources: Sequence[SSAValue], results: Sequence[SSAValue]) -> None:
            (matrix, right), (x,) = sources, results
            real, index = w.scalar(type_.get_element_type()), w.index
            with w.loops(batch) as lane, w.loop("step", 0, size) as step:
                if self.lower is not None:
                    row, first, last = step, 0, step
                else:
                    row = index.sub(index.constant(size - 1), step)
                    first, last = index.add(row, index.constant(1)), size
                with w.loop("column", 0, columns) as column:
                    w.store(w.load(right, [*lane, row, column]), x, [*lane, row, column])
                subtract_rows(
                    w,
                    (x, [*lane, row]),
                    lambda n: (x, [*lane, n]),
                    lambda n: w.load(matrix, [*lane, row, n]),
                    (first, last),
                    (0, columns),
                )
                if self.unit is None:
                    divisor = w.load(matrix, [*lane, row, row])
                    with w.loop("column", 0, columns) as column:
                        quotient = real.div(w.load(x, [*lane, row, column]), divisor)
                        w.store(quotient, x, [*lane, row, column])

        (value,) = te.loops([self.matrix, self.right], [type_], body)
        return value

    def flops(self) -> int | None:
        """The square of the extent for each column."""
        count = element_count(shape_of(self.right))
        return None if count is None else count * shape_of(self.matrix)[-1]
