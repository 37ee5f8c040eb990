"""normalize: loops that run from 0 by one, so that what they count is iterations."""

from __future__ import annotations

from xdsl.ir.affine import AffineConstantExpr

from ...dialects import loop
from ...dialects.leaf_operations import map_of
from ...dialects.schedule.steps import Normalize
from ...frozen import frozen
from ..step_support.made import Nothing
from ..step_support.nest import Nest, Nests
from ..step_support.planning import planner, step_pass
from ..step_support.rewrite import normalise_step
from ..step_support.tidy import tidy_expressions, tidy_loops
from ..step_support.tight_bounds import tighten


@frozen
class NormalizePlan:
    """The loops that begin elsewhere or leave numbers out, those around others first."""

    nest: Nest
    loops: tuple[loop.ForOp, ...]
    is_tidy: bool
    """whether nothing is to be worked out but in these loops"""

    def apply(self) -> Nothing:
        """`for i in L..U step s: S(i)` → `for i in 0..(U - L) ceildiv s: S(L + s * i)`"""
        for for_op in self.loops:
            normalise_step(for_op)
        if self.is_tidy:
            tidy_loops(self.nest, self.loops)
        else:
            tidy_expressions(self.nest)
        for for_op in self.loops:
            tighten(self.nest.frames, for_op)
        return Nothing()


@planner(Normalize)
def plan_normalize(step: Normalize, nests: Nests) -> NormalizePlan:
    """Always legal: the same iterations run in the same order. A loop from the largest of several bounds stays."""
    nest, _ = nests.resolve(f"{step.function}/" if step.function else "")
    loops = tuple([op for op in nest.loops() if _is_to_be_counted(op)])
    return NormalizePlan(nest, loops, nest.is_tidy)


def _is_to_be_counted(for_op: loop.ForOp) -> bool:
    lows = map_of(for_op, "lower_map").results
    if len(lows) != 1:
        return False
    is_zero = type(lows[0]) is AffineConstantExpr and lows[0].value == 0
    return not is_zero or for_op.step.value.data != 1


LoopNormalizePass = step_pass(Normalize)
