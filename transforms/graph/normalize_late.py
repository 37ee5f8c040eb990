"""`softmax(x) @ v` normalised after the product, where that is of fewer elements than the softmax."""

from __future__ import annotations

from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.rewriter import Rewriter

from ...analysis.levels import Level
from ...analysis.operations import operations_in
from ...dialects.graph import MatmulOp, SoftmaxOp
from ...dialects.graph.expressions import Expr, built_before, reciprocal
from ...dialects.graph.shapes import element_count
from ...dialects.shaped import shape_of
from ...frozen import frozen
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
    name = matmul.result.name_hint or "product"
    with_softmax, with_product = built_before(softmax), built_before(matmul)
    e = softmax.exponential(softmax.shifted(Expr(softmax.operand, with_softmax)))
    inverse = reciprocal(e.sum(softmax.axis.value.data, keepdims=True)).named("inverse")
    product = (Expr(e.value, with_product) @ Expr(matmul.rhs, with_product)).named(name)
    Rewriter.replace_op(matmul, [], [(product * inverse).named(name).value])
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


@frozen
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
        for softmax in operations_in(op):
            if isinstance(softmax, SoftmaxOp):
                normalize_late(softmax)
