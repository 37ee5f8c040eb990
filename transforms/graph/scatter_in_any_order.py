"""Updates of floats whose order is left open."""

from __future__ import annotations

from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, UnitAttr

from ...analysis.levels import Level
from ...analysis.operations import operations_in
from ...dialects.dtypes import is_float
from ...dialects.graph import ScatterElementsOp
from ...dialects.shaped import tensor_type
from ...frozen import frozen
from ..numerics import DEFAULT_FP, NumericalEffect, fp_contract
from ..stepwell_pass import StepwellPass


@frozen
class GraphScatterInAnyOrderPass(StepwellPass):
    """
    Let updates that add up or multiply floats be made in any order, as the attribute `any_order` says then.

    Those that follow one another may take turns between partial results, and need not wait for one another. `fp=strict`
    leaves everything as it is.
    """

    name = "graph-scatter-in-any-order"
    level_in: ClassVar[Level] = Level.GRAPH
    level_out: ClassVar[Level] = Level.GRAPH
    numerics: ClassVar[NumericalEffect] = "reassociates"

    fp: str = DEFAULT_FP

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if fp_contract(self.fp) == "strict":
            return
        for inner in operations_in(op):
            if isinstance(inner, ScatterElementsOp) and _is_rounded(inner):
                inner.any_order = UnitAttr()


def _is_rounded(op: ScatterElementsOp) -> bool:
    """Whether results depend on the order of updates."""
    is_sum = op.reduction.data in ("add", "mul")
    return is_sum and is_float(tensor_type(op.operand).get_element_type())
