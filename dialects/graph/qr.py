"""Matrices as products of one with orthonormal columns and an upper triangular one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import TensorType, UnitAttr, f32, f64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import operand_def, opt_prop_def, result_def
from xdsl.utils.exceptions import VerifyException

from ..interfaces import Array, DefinedInTe
from ..shaped import Tensor, memref_type, shape_of, tensor_type
from ..te.builder import TeBuilder
from ..te.loop_builder import LoopBuilder
from .base import GraphOp, Value, graph_op
from .shapes import element_count, is_static, shape_text


@graph_op
class QrOp(GraphOp, DefinedInTe):
    """
    Each m by n matrix of the last two axes as q r: q has min(m, n) orthonormal columns, or all m where it is `complete`,
    and r is upper triangular (`numpy.linalg.qr`).

        %q, %r = graph.qr %x : tensor<2x5x3xf32> -> tensor<2x5x3xf32>, tensor<2x3x3xf32>

    Householder's reflections (Golub and Van Loan, Matrix Computations, algorithm 5.2.1), with the signs of LAPACK's
    `dlarfg`: a diagonal element of r has the other sign than what it was made of, unless all below that is 0.
    """

    name = "graph.qr"
    ELEMENTS: ClassVar = (f32, f64)

    operand = operand_def()
    complete = opt_prop_def(UnitAttr)
    q = result_def()
    r = result_def()

    assembly_format = (
        "$operand (`complete` $complete^)? attr-dict `:` type($operand) `->` type($q) `,` type($r)"
    )

    def __init__(self, operand: Value, *, complete: bool = False):
        super().__init__(
            operands=[operand],
            properties={"complete": UnitAttr() if complete else None},
            result_types=list(self._types(tensor_type(operand), complete)),
        )

    @staticmethod
    def _types(operand: Tensor, complete: bool) -> Sequence[Tensor]:
        shape = operand.get_shape()
        if len(shape) < 2 or not is_static(shape):
            raise VerifyException(
                f"found shape {shape_text(shape)}, expected matrices of known extents along the last two axes; "
                "reshape it"
            )
        *batch, m, n = shape
        inner = m if complete else min(m, n)
        element = operand.get_element_type()
        return TensorType(element, [*batch, m, inner]), TensorType(element, [*batch, inner, n])

    def inferred_types(self) -> Sequence[Tensor]:
        return self._types(tensor_type(self.operand), self.complete is not None)

    def numpy(self, x: Array) -> tuple[Array, ...]:
        found = np.linalg.qr(x, "reduced" if self.complete is None else "complete")
        return found.Q, found.R

    def define(self, te: TeBuilder) -> Sequence[SSAValue]:
        *batch, m, n = shape_of(self.operand)
        inner = shape_of(self.q)[-1]
        element = tensor_type(self.operand).get_element_type()

        def body(w: LoopBuilder, sources: Sequence[SSAValue], results: Sequence[SSAValue]) -> None:
            (x,), (q, r) = sources, results
            real, index = w.scalar(element), w.index
            zero, one = real.constant(0), real.constant(1)
            with w.loops(batch) as lane:
                work = w.scratch(element, (m, n), "work")
                scales = w.scratch(element, (min(m, n),), "scales")
                with w.loops((m, n), ("row", "column")) as at:
                    w.store(w.load(x, [*lane, *at]), work, at)
                with w.loop("k", 0, min(m, n)) as k:
                    following = index.add(k, index.constant(1))
                    w.store(self._reflection(w, work, k, following), scales, [k])
                    with w.loop("right", following, n) as column:
                        _reflect(w, work, w.load(scales, [k]), k, work, [], column)
                with w.loops((inner, n), ("row", "column")) as at:
                    is_upper = index.compare("le", *at)
                    w.store(real.select(is_upper, w.load(work, at), zero), r, [*lane, *at])
                with w.loops((m, inner), ("row", "column")) as at:
                    is_diagonal = index.compare("eq", *at)
                    w.store(real.select(is_diagonal, one, zero), q, [*lane, *at])
                with w.loop("back", 0, min(m, n)) as step:
                    k = index.sub(index.constant(min(m, n) - 1), step)
                    with w.loop("right", k, inner) as column:
                        _reflect(w, work, w.load(scales, [k]), k, q, lane, column)

        return te.loops([self.operand], [tensor_type(one) for one in self.results], body)

    def _reflection(
        self, w: LoopBuilder, work: SSAValue, k: SSAValue, following: SSAValue
    ) -> SSAValue:
        """
        Put the reflection that leaves column `k` nothing below the diagonal into `work`: the element that is left, and
        below it the vector v, whose first element is 1; the number tau in I - tau v vᵀ, 0 where there is nothing below.
        """
        element, rows = tensor_type(self.operand).get_element_type(), shape_of(self.operand)[-2]
        real = w.scalar(element)
        zero, one = real.constant(0), real.constant(1)
        head = w.load(work, [k, k])
        greatest = w.cell(element, zero, "greatest")
        with w.loop("below", following, rows) as row:
            greatest.set(real.maximum(greatest.get(), real.abs(w.load(work, [row, k]))))
        is_done = real.compare("eq", greatest.get(), zero)
        # Divided by the greatest of them, squares neither overflow nor vanish.
        scale = real.select(is_done, one, real.maximum(greatest.get(), real.abs(head)))
        share = real.div(head, scale)
        total = w.cell(element, real.mul(share, share), "total")
        with w.loop("below", following, rows) as row:
            share = real.div(w.load(work, [row, k]), scale)
            total.set(real.accumulate(total.get(), real.mul(share, share)))
        norm = real.mul(scale, real.sqrt(total.get()))
        signed = real.select(real.compare("lt", head, zero), norm, real.neg(norm))
        left = real.select(is_done, head, signed)
        divisor = real.select(is_done, one, real.sub(head, signed))
        with w.loop("below", following, rows) as row:
            w.store(real.div(w.load(work, [row, k]), divisor), work, [row, k])
        w.store(left, work, [k, k])
        safe = real.select(is_done, one, signed)
        return real.select(is_done, zero, real.div(real.sub(signed, head), safe))

    def flops(self) -> int | None:
        """Those of the reflections of r, and as many for q."""
        count = element_count(shape_of(self.operand))
        return None if count is None else 4 * count * min(shape_of(self.operand)[-2:])


def _reflect(
    w: LoopBuilder,
    work: SSAValue,
    tau: SSAValue,
    k: SSAValue,
    target: SSAValue,
    lane: Sequence[SSAValue],
    column: SSAValue,
) -> None:
    """Apply the reflection in column `k` of `work` to a column of another matrix, from row `k` on."""
    type_ = memref_type(work)
    element: Attribute = type_.get_element_type()
    rows, real = type_.get_shape()[0], w.scalar(element)
    following = w.index.add(k, w.index.constant(1))
    product = w.cell(element, w.load(target, [*lane, k, column]), "product")
    with w.loop("below", following, rows) as row:
        part = real.mul(w.load(work, [row, k]), w.load(target, [*lane, row, column]))
        product.set(real.accumulate(product.get(), part))
    taken = real.mul(tau, product.get())
    w.store(real.sub(w.load(target, [*lane, k, column]), taken), target, [*lane, k, column])
    with w.loop("below", following, rows) as row:
        rest = real.mul(w.load(work, [row, k]), taken)
        w.store(real.sub(w.load(target, [*lane, row, column]), rest), target, [*lane, row, column])
