"""strict-fp: floating-point operations without leave to reassociate or contract."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.arith import FastMathFlagsAttr
from xdsl.dialects.builtin import ModuleOp

from ...analysis.levels import Level
from ..stepwell_pass import StepwellPass


class StrictFpPass(StepwellPass):
    """
    Drops the fast-math flags of all operations: sums then run in the order that is written, and products
    are rounded before they are added.

    Before: `arith.addf %c, %p fastmath<reassoc,contract> : f32`. After: `arith.addf %c, %p : f32`.
    """

    name = "strict-fp"
    level_in = Level.LOOP
    level_out = Level.LOOP

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        none = FastMathFlagsAttr("none")
        for inner in op.walk():
            if isinstance(inner.properties.get("fastmath"), FastMathFlagsAttr):
                inner.properties["fastmath"] = none
