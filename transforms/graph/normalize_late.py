"""`softmax(x) @ v` normalised after the product, where that is of fewer elements than the softmax."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from ...analysis.levels import Level
from ...dialects.graph import MatmulOp, MulOp, ReciprocalOp, SoftmaxOp, SumOp
from ...dialects.graph.shapes import element_count
from ...dialects.shaped import shape_of
from ..numerics import DEFAULT_FP, fp_contract
from ..stepwell_pass import StepwellPass


def normalize_late(softmax: SoftmaxOp) -> bool:
    """
    `softmax(x) @ v` → `(e @ v) * (1 / sum(e))` with `e = exp(x - max(x))`; whether that was done.

    The distributive law: each element of the product is rounded once more, and each of its terms once less. No
    element of `e` is above 1, so no sum overflows that did not before by a factor of the row's length. (Milakov
    and Gimelshein, "Online normalizer calculation for softmax", 2018; every fused attention does it.)
    """
    matmul = softmax.result.get_user_of_unique_use()
    if not isinstance(matmul, MatmulOp) or not _pays(softmax, matmul):
        return False
    before_product = Builder(InsertPoint.before(softmax))
    exp = softmax.exponential(before_product, softmax.shifted(before_product))
    total = SumOp(exp, softmax.axis.value.data, keepdims=True)
    total = _inserted(before_product, total, "sum", softmax)
    inverse = _inserted(before_product, ReciprocalOp(total), "inverse", softmax)
    after = Builder(InsertPoint.before(matmul))
    product = _inserted(after, MatmulOp(exp, matmul.rhs), matmul.result.name_hint, matmul)
    result = _inserted(after, MulOp(product, inverse), matmul.result.name_hint, matmul)
    Rewriter.replace_op(matmul, [], [result])
    Rewriter.erase_op(softmax)
    return True


def _pays(softmax: SoftmaxOp, matmul: MatmulOp) -> bool:
    """Whether rows of the left factor are what is normalised, and the product has fewer elements."""
    shape = shape_of(softmax.result)
    if matmul.lhs is not softmax.result or len(shape_of(matmul.rhs)) < 2:
        return False
    if softmax.axis.value.data != len(shape) - 1 or softmax.is_empty():
        return False
    before, after = element_count(shape), element_count(shape_of(matmul.result))
    return before is not None and after is not None and after < before


def _inserted(builder: Builder, op: Operation, hint: str | None, source: Operation) -> SSAValue:
    builder.insert(op)
    op.results[0].name_hint = hint
    op.location = source.location
    return op.results[0]


@dataclass(frozen=True)
class GraphNormalizeLatePass(StepwellPass):
    """
    Normalise `softmax(x) @ v` after the product, where that is of fewer elements.

    `fp` is the numerical contract: `strict` leaves everything as it is.
    """

    name = "graph-normalize-late"
    level_in: ClassVar[Level] = Level.GRAPH
    level_out: ClassVar[Level] = Level.GRAPH
    numerics = "reassociates"

    fp: str = DEFAULT_FP

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if fp_contract(self.fp) == "strict":
            return
        for softmax in list(op.walk()):
            if isinstance(softmax, SoftmaxOp):
                normalize_late(softmax)
