"""Eigenvalues and eigenvectors of symmetric matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import IndexType, TensorType, UnitAttr, f32, f64, i1
from xdsl.ir import SSAValue
from xdsl.irdl import operand_def, opt_prop_def, opt_result_def, result_def

from ..dtypes import numpy_dtype
from ..interfaces import Array, DefinedInTe
from ..scalar import ScalarBuilder
from ..shaped import Tensor, memref_type, shape_of, tensor_type
from ..te.builder import TeBuilder
from ..te.loop_builder import LoopBuilder
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

MOST_STEPS = 50
"""Of the iteration for one eigenvalue, of which two are usual: where there is NaN it does not converge."""


@graph_op
class EighOp(GraphOp, DefinedInTe):
    """
    The eigenvalues of each symmetric matrix of the last two axes, of which the elements above the diagonal are not read,
    rising; and, unless `values_only`, their eigenvectors of length 1 as columns. The first element of greatest magnitude
    of each vector is positive.

        %values, %vectors = graph.eigh %x : tensor<2x3x3xf32> -> tensor<2x3xf32>, tensor<2x3x3xf32>

    Householder's reflections to a tridiagonal matrix, then the implicit QL iteration with Wilkinson's shifts (Golub and Van
    Loan, Matrix Computations, algorithms 8.3.1 to 8.3.3, from the last row up as EISPACK's tql2).
    """

    name = "graph.eigh"
    ELEMENTS: ClassVar = (f32, f64)

    operand = operand_def()
    values_only = opt_prop_def(UnitAttr)
    values = result_def()
    vectors = opt_result_def()

    assembly_format = (
        "$operand (`values_only` $values_only^)? attr-dict `:` type($operand) `->` type($values) "
        "(`,` type($vectors)^)?"
    )

    def __init__(self, operand: Value, *, values_only: bool = False):
        values, *vectors = self._types(tensor_type(operand), values_only)
        super().__init__(
            operands=[operand],
            properties={"values_only": UnitAttr() if values_only else None},
            result_types=[values, vectors],
        )

    @staticmethod
    def _types(operand: Tensor, values_only: bool) -> Sequence[Tensor]:
        shape = require_square(operand.get_shape())
        values = TensorType(operand.get_element_type(), shape[:-1])
        return (values,) if values_only else (values, TensorType(operand.get_element_type(), shape))

    def inferred_types(self) -> Sequence[Tensor]:
        return self._types(tensor_type(self.operand), self.values_only is not None)

    def numpy(self, x: Array) -> tuple[Array, ...]:
        if not np.isfinite(x).all():
            return tuple(np.full(shape_of(one), np.nan, x.dtype) for one in self.results)
        if self.values_only is not None:
            return (np.linalg.eigvalsh(x),)
        values, vectors = np.linalg.eigh(x)
        return values, vectors * signs_of_columns(vectors)

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
        element = tensor_type(self.operand).get_element_type()
        real = w.scalar(element)
        work = w.scratch(element, (size, size), "work")
        diagonal, beside = (w.scratch(element, (size,), hint) for hint in ("diagonal", "beside"))
        with w.loops((size, size), ("row", "column")) as (row, column):
            is_read = w.index.compare("ge", row, column)
            below, above = w.load(x, [*lane, row, column]), w.load(x, [*lane, column, row])
            w.store(real.select(is_read, below, above), work, [row, column])
        # Divided by the greatest of them, squares neither overflow nor vanish.
        scale = greatest_magnitude(w, work, [], (size, size))
        with w.loops((size, size), ("row", "column")) as at:
            w.store(real.div(w.load(work, at), scale), work, at)
        vectors = [] if self.values_only is not None else [w.scratch(element, (size, size), "rows")]
        _tridiagonalize(w, work, diagonal, beside, vectors)
        _iterate(w, diagonal, beside, vectors)
        sort_rows(w, diagonal, vectors)
        with w.loop("row", 0, size) as row:
            w.store(real.mul(scale, w.load(diagonal, [row])), results[0], [*lane, row])
            for rows in vectors:
                sign = sign_of_greatest(w, rows, row)
                with w.loop("column", 0, size) as column:
                    found = real.mul(sign, w.load(rows, [row, column]))
                    w.store(found, results[1], [*lane, column, row])

    def flops(self) -> int | None:
        """Four thirds of the cube of the extent for the values, about nine times the cube with vectors."""
        count = element_count(shape_of(self.operand))
        size = shape_of(self.operand)[-1]
        if count is None:
            return None
        return 4 * count * size // 3 if self.values_only is not None else 9 * count * size


def _tridiagonalize(
    w: LoopBuilder,
    work: SSAValue,
    diagonal: SSAValue,
    beside: SSAValue,
    vectors: Sequence[SSAValue],
) -> None:
    """
    The symmetric matrix `work` as Q t Qᵀ, with the diagonal of the tridiagonal matrix t and what is beside it; the
    columns of Q go into the rows of `vectors`. `work` keeps the reflections: row k what column k had below the diagonal.
    """
    real, index = real_of(w, work), w.index
    (size,) = memref_type(diagonal).get_shape()
    scales, product = (w.scratch(real.type, (size,), hint) for hint in ("scales", "product"))
    with w.loop("k", 0, size) as k:
        following = index.add(k, index.constant(1))
        w.store(w.load(work, [k, k]), diagonal, [k])
        w.store(real.constant(0), beside, [k])
        with w.when("reflects", index.compare("lt", following, index.constant(size))):
            _reflection(w, work, k, beside, scales)
            _update(w, work, k, w.load(scales, [k]), product)
    for rows in vectors:
        _columns_of_reflections(w, work, scales, rows, product)


def _reflection(
    w: LoopBuilder, work: SSAValue, k: SSAValue, beside: SSAValue, scales: SSAValue
) -> None:
    """The vector v of the reflection I - tau v vᵀ into row k of `work`, whose first element is 1, and tau into `scales`."""
    real, index = real_of(w, work), w.index
    size = memref_type(work).get_shape()[-1]
    zero, one = real.constant(0), real.constant(1)
    first, second = (index.add(k, index.constant(by)) for by in (1, 2))
    head = w.load(work, [k, first])
    greatest = w.cell(real.type, zero, "greatest")
    with w.loop("behind", second, size) as at:
        greatest.set(real.maximum(greatest.get(), real.abs(w.load(work, [k, at]))))
    is_done = real.compare("eq", greatest.get(), zero)
    scale = real.select(is_done, one, real.maximum(greatest.get(), real.abs(head)))
    share = real.div(head, scale)
    total = w.cell(real.type, real.mul(share, share), "total")
    with w.loop("behind", second, size) as at:
        share = real.div(w.load(work, [k, at]), scale)
        total.set(real.accumulate(total.get(), real.mul(share, share)))
    norm = real.neg(signed(real, real.mul(scale, real.sqrt(total.get())), head))
    left = real.select(is_done, head, norm)
    w.store(left, beside, [k])
    divisor = real.select(is_done, one, real.sub(head, norm))
    with w.loop("behind", second, size) as at:
        w.store(real.div(w.load(work, [k, at]), divisor), work, [k, at])
    w.store(one, work, [k, first])
    safe = real.select(is_done, one, norm)
    w.store(real.select(is_done, zero, real.div(real.sub(norm, head), safe)), scales, [k])


def _update(w: LoopBuilder, work: SSAValue, k: SSAValue, tau: SSAValue, product: SSAValue) -> None:
    """The reflection in row k from both sides of the matrix behind it: a - v wᵀ - w vᵀ with w = tau (a v - tau/2 (vᵀ a v) v)."""
    real, index = real_of(w, work), w.index
    size = memref_type(work).get_shape()[-1]
    following = index.add(k, index.constant(1))
    with w.loop("clear", following, size) as at:
        w.store(real.constant(0), product, [at])
    with w.loop("row", following, size) as row:
        factor = real.mul(tau, w.load(work, [k, row]))
        with w.loop("column", following, size) as at:
            part = real.mul(factor, w.load(work, [row, at]))
            w.store(real.add(w.load(product, [at]), part), product, [at])
    total = w.cell(real.type, real.constant(0), "total")
    with w.loop("row", following, size) as at:
        part = real.mul(w.load(work, [k, at]), w.load(product, [at]))
        total.set(real.accumulate(total.get(), part))
    half = real.mul(real.mul(real.constant(0.5), tau), total.get())
    with w.loop("row", following, size) as at:
        taken = real.mul(half, w.load(work, [k, at]))
        w.store(real.sub(w.load(product, [at]), taken), product, [at])
    with w.loop("row", following, size) as row:
        v, p = w.load(work, [k, row]), w.load(product, [row])
        with w.loop("column", following, size) as at:
            taken = real.add(real.mul(v, w.load(product, [at])), real.mul(p, w.load(work, [k, at])))
            w.store(real.sub(w.load(work, [row, at]), taken), work, [row, at])


def _columns_of_reflections(
    w: LoopBuilder, work: SSAValue, scales: SSAValue, rows: SSAValue, product: SSAValue
) -> None:
    """The product of all reflections, transposed, so that later rotations are of rows."""
    real, index = real_of(w, work), w.index
    size = memref_type(work).get_shape()[-1]
    columns = w.scratch(real.type, (size, size), "columns")
    with w.loops((size, size), ("row", "column")) as at:
        is_diagonal = index.compare("eq", *at)
        w.store(real.select(is_diagonal, real.constant(1), real.constant(0)), columns, at)
    with w.loop("back", 0, max(size - 1, 0)) as step:
        k = index.sub(index.constant(size - 2), step)
        following = index.add(k, index.constant(1))
        with w.loop("clear", following, size) as at:
            w.store(real.constant(0), product, [at])
        for is_update in (False, True):
            with w.loop("row", following, size) as row:
                factor = real.mul(w.load(scales, [k]), w.load(work, [k, row]))
                with w.loop("column", following, size) as at:
                    element, sum_ = w.load(columns, [row, at]), w.load(product, [at])
                    if is_update:
                        part = real.mul(w.load(work, [k, row]), sum_)
                        w.store(real.sub(element, part), columns, [row, at])
                    else:
                        w.store(real.add(sum_, real.mul(factor, element)), product, [at])
    with w.loops((size, size), ("row", "column")) as (row, column):
        w.store(w.load(columns, [column, row]), rows, [row, column])


def _iterate(
    w: LoopBuilder, diagonal: SSAValue, beside: SSAValue, vectors: Sequence[SSAValue]
) -> None:
    """Leave nothing beside the diagonal, by rotations that the rows of `vectors` are given too."""
    index = w.index
    (size,) = memref_type(diagonal).get_shape()
    with w.loop("value", 0, size) as start:
        is_left = w.cell(i1, w.scalar(i1).constant(True), "is_left")
        with w.loop("step", 0, MOST_STEPS), w.when("going", is_left.get()):
            end = _end_of_block(w, diagonal, beside, start)
            is_left.set(index.compare("ne", end, start))
            with w.when("coupled", is_left.get()):
                _sweep(w, diagonal, beside, vectors, start, end)


def _end_of_block(
    w: LoopBuilder, diagonal: SSAValue, beside: SSAValue, start: SSAValue
) -> SSAValue:
    """The first row from `start` on behind which nothing is beside the diagonal but what rounding would lose."""
    real, index = real_of(w, diagonal), w.index
    (size,) = memref_type(diagonal).get_shape()
    epsilon = real.constant(np.finfo(numpy_dtype(real.type)).eps)
    last = index.constant(size - 1)
    end = w.cell(IndexType(), last, "end")
    with w.loop("candidate", start, last) as row:
        following = index.add(row, index.constant(1))
        around = [real.abs(w.load(diagonal, [at])) for at in (row, following)]
        bound = real.mul(epsilon, real.add(*around))
        is_small = real.compare("le", real.abs(w.load(beside, [row])), bound)
        is_first = index.compare("eq", end.get(), last)
        both = w.scalar(i1).mul(is_small, is_first)
        end.set(index.select(both, row, end.get()))
    return end.get()


def _sweep(
    w: LoopBuilder,
    diagonal: SSAValue,
    beside: SSAValue,
    vectors: Sequence[SSAValue],
    start: SSAValue,
    end: SSAValue,
) -> None:
    """One step of the QL iteration on the rows from `start` to `end`: rotations chase an element up out of the matrix."""
    real, index = real_of(w, diagonal), w.index
    zero, one, two = (real.constant(number) for number in (0, 1, 2))
    sine, cosine = w.cell(real.type, one, "sine"), w.cell(real.type, one, "cosine")
    shift = w.cell(real.type, zero, "shift")
    bulge = w.cell(real.type, _first_bulge(w, diagonal, beside, start, end), "bulge")
    with w.loop("rotation", start, end) as step:
        row = index.sub(index.add(start, index.sub(end, step)), index.constant(1))
        following = index.add(row, index.constant(1))
        f = real.mul(sine.get(), w.load(beside, [row]))
        b = real.mul(cosine.get(), w.load(beside, [row]))
        g = bulge.get()
        length = _hypotenuse(real, f, g)
        w.store(length, beside, [following])
        is_zero = real.compare("eq", length, zero)
        divisor = real.select(is_zero, one, length)
        s = real.div(f, divisor)
        c = real.select(is_zero, one, real.div(g, divisor))
        base = real.sub(w.load(diagonal, [following]), shift.get())
        cross = real.mul(two, real.mul(c, b))
        r = real.add(real.mul(real.sub(w.load(diagonal, [row]), base), s), cross)
        sine.set(s)
        cosine.set(c)
        shift.set(real.mul(s, r))
        w.store(real.add(base, real.mul(s, r)), diagonal, [following])
        bulge.set(real.sub(real.mul(c, r), b))
        for rows in vectors:
            rotate_rows(w, rows, (row, following), c, s)
    w.store(real.sub(w.load(diagonal, [start]), shift.get()), diagonal, [start])
    w.store(bulge.get(), beside, [start])
    w.store(zero, beside, [end])


def _first_bulge(
    w: LoopBuilder, diagonal: SSAValue, beside: SSAValue, start: SSAValue, end: SSAValue
) -> SSAValue:
    """The last element of the diagonal less Wilkinson's shift: the eigenvalue, nearest to the first, of the first two rows."""
    real, index = real_of(w, diagonal), w.index
    first, second = (w.load(diagonal, [at]) for at in (start, index.add(start, index.constant(1))))
    coupling = w.load(beside, [start])
    ratio = real.div(real.sub(second, first), real.mul(real.constant(2), coupling))
    root = signed(real, _hypotenuse(real, ratio, real.constant(1)), ratio)
    taken = real.div(coupling, real.add(ratio, root))
    return real.add(real.sub(w.load(diagonal, [end]), first), taken)


def _hypotenuse(real: ScalarBuilder, x: SSAValue, y: SSAValue) -> SSAValue:
    """sqrt(x² + y²), by the ratio of the lesser to the greater, so that no square overflows or vanishes."""
    x, y = real.abs(x), real.abs(y)
    greater, lesser = real.maximum(x, y), real.minimum(x, y)
    is_zero = real.compare("eq", greater, real.constant(0))
    ratio = real.div(lesser, real.select(is_zero, real.constant(1), greater))
    root = real.sqrt(real.add(real.constant(1), real.mul(ratio, ratio)))
    return real.mul(greater, root)
