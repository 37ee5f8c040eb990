"""Square matrices as products of an orthogonal one and one whose rows are orthogonal: the core of singular values."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import TensorType, f32, f64, i1
from xdsl.ir import SSAValue
from xdsl.irdl import operand_def, result_def

from ..dtypes import numpy_dtype
from ..interfaces import Array, DefinedInTe
from ..shaped import Tensor, memref_type, shape_of, tensor_type
from ..te.builder import TeBuilder
from ..te.loop_builder import Cell, LoopBuilder
from .base import GraphOp, Value, graph_op
from .matrix_loops import (
    greatest_magnitude,
    matrix_by_matrix,
    real_of,
    rotate_rows,
    sign_of_greatest,
    signed,
    signs_of_columns,
    sort_rows,
)
from .shapes import element_count, require_square

MOST_SWEEPS = 40
"""Over all pairs of rows, of which 6 to 10 are usual: where there is NaN the rotations do not converge."""


@graph_op
class OrthogonalRowsOp(GraphOp, DefinedInTe):
    """
    Each square matrix of the last two axes as u y: u is orthogonal, and the rows of y are orthogonal to each other, in
    order of falling lengths, which are `values`: the singular values. The first element of greatest magnitude of each
    column of u is positive.

        %u, %values, %y = graph.orthogonal_rows %x : tensor<2x3x3xf32> -> tensor<2x3x3xf32>, tensor<2x3xf32>, tensor<2x3x3xf32>

    One-sided Jacobi (M. R. Hestenes, "Inversion of matrices by biorthogonalization and related results", 1958), which
    finds small singular values of scaled matrices to high relative accuracy (J. Demmel and K. Veselić, "Jacobi's method is
    more accurate than QR", 1992).
    """

    name = "graph.orthogonal_rows"
    ELEMENTS: ClassVar = (f32, f64)

    operand = operand_def()
    u = result_def()
    values = result_def()
    y = result_def()

    assembly_format = (
        "$operand attr-dict `:` type($operand) `->` type($u) `,` type($values) `,` type($y)"
    )

    def __init__(self, operand: Value):
        super().__init__(operands=[operand], result_types=list(self._types(tensor_type(operand))))

    @staticmethod
    def _types(operand: Tensor) -> Sequence[Tensor]:
        shape = require_square(operand.get_shape())
        element = operand.get_element_type()
        whole = TensorType(element, shape)
        return whole, TensorType(element, shape[:-1]), whole

    def inferred_types(self) -> Sequence[Tensor]:
        return self._types(tensor_type(self.operand))

    def numpy(self, x: Array) -> tuple[Array, ...]:
        if not np.isfinite(x).all():
            return tuple(np.full(shape_of(one), np.nan, x.dtype) for one in self.results)
        u, values, rows = np.linalg.svd(x)
        sign = signs_of_columns(u)
        y = np.swapaxes(sign, -1, -2) * values[..., None] * rows
        return u * sign, values, y

    def define(self, te: TeBuilder) -> Sequence[SSAValue]:
        return matrix_by_matrix(te, self, self._one_matrix)

    def _one_matrix(
        self,
        w: LoopBuilder,
        lane: Sequence[SSAValue],
        x: SSAValue,
        results: Sequence[SSAValue],
        size: int,
    ) -> None:
        u, values, y = results
        real = real_of(w, x)
        rows, turned = (w.scratch(real.type, (size, size), hint) for hint in ("rows", "turned"))
        lengths = w.scratch(real.type, (size,), "lengths")
        # Divided by the greatest of them, squares do not overflow.
        scale = greatest_magnitude(w, x, lane, (size, size))
        with w.loops((size, size), ("row", "column")) as at:
            w.store(real.div(w.load(x, [*lane, *at]), scale), rows, at)
            is_diagonal = w.index.compare("eq", *at)
            w.store(real.select(is_diagonal, real.constant(1), real.constant(0)), turned, at)
        _sweeps(w, rows, turned)
        with w.loop("row", 0, size) as row:
            w.store(real.sqrt(_product(w, rows, row, row)), lengths, [row])
        sort_rows(w, lengths, (rows, turned), descending=True)
        with w.loop("row", 0, size) as row:
            w.store(real.mul(scale, w.load(lengths, [row])), values, [*lane, row])
            sign = sign_of_greatest(w, turned, row)
            with w.loop("column", 0, size) as column:
                w.store(real.mul(sign, w.load(turned, [row, column])), u, [*lane, column, row])
                found = real.mul(real.mul(sign, scale), w.load(rows, [row, column]))
                w.store(found, y, [*lane, row, column])

    def flops(self) -> int | None:
        """About nine times the cube of the extent in each of eight sweeps."""
        count = element_count(shape_of(self.operand))
        return None if count is None else 72 * count * shape_of(self.operand)[-1]


def _sweeps(w: LoopBuilder, rows: SSAValue, turned: SSAValue) -> None:
    """Rotate all pairs of rows again and again until each is orthogonal, and the rows of `turned` with them."""
    boolean = w.scalar(i1)
    size = memref_type(rows).get_shape()[-1]
    is_left = w.cell(i1, boolean.constant(True), "is_left")
    with w.loop("sweep", 0, MOST_SWEEPS), w.when("going", is_left.get()):
        is_left.set(boolean.constant(False))
        with (
            w.loop("p", 0, size) as p,
            w.loop("q", w.index.add(p, w.index.constant(1)), size) as q,
        ):
            _orthogonalize(w, rows, turned, (p, q), is_left)


def _orthogonalize(
    w: LoopBuilder,
    rows: SSAValue,
    turned: SSAValue,
    pair: tuple[SSAValue, SSAValue],
    is_left: Cell,
) -> None:
    """Rotate two rows so that they are orthogonal, unless they are but for rounding; then `is_left` stays as it is."""
    real = real_of(w, rows)
    size = memref_type(rows).get_shape()[-1]
    one, two = real.constant(1), real.constant(2)
    # A sum of n products is off by √n roundings of its size, as a rule.
    tolerance = real.constant(np.finfo(numpy_dtype(real.type)).eps * sqrt(size))
    p, q = pair
    first, second, product = (_product(w, rows, *each) for each in ((p, p), (q, q), (p, q)))
    bound = real.mul(tolerance, real.mul(real.sqrt(first), real.sqrt(second)))
    with w.when("rotates", real.compare("gt", real.abs(product), bound)):
        is_left.set(w.scalar(i1).constant(True))
        zeta = real.div(real.sub(second, first), real.mul(two, product))
        root = real.sqrt(real.add(one, real.mul(zeta, zeta)))
        tangent = real.div(signed(real, one, zeta), real.add(real.abs(zeta), root))
        cosine = real.div(one, real.sqrt(real.add(one, real.mul(tangent, tangent))))
        sine = real.mul(cosine, tangent)
        for matrix in (rows, turned):
            rotate_rows(w, matrix, pair, cosine, sine)


def _product(w: LoopBuilder, rows: SSAValue, one: SSAValue, other: SSAValue) -> SSAValue:
    """The scalar product of two rows of a matrix."""
    real = real_of(w, rows)
    total = w.cell(real.type, real.constant(0), "total")
    with w.loop("along", 0, memref_type(rows).get_shape()[-1]) as at:
        part = real.mul(w.load(rows, [one, at]), w.load(rows, [other, at]))
        total.set(real.accumulate(total.get(), part))
    return total.get()
