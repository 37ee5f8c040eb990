"""skew: an inner loop whose variable runs ahead with an outer one's."""

from __future__ import annotations

from xdsl.ir.affine import AffineExpr

from ...dialects import loop
from ...dialects.loop import RunMode
from ...dialects.schedule.steps import Skew
from ...frozen import frozen
from ..step_support.handles import loop_handle
from ..step_support.made import OneLoop
from ..step_support.nest import Nest, Nests, loops_around
from ..step_support.planning import planner, step_pass
from ..step_support.refusal import refuse
from ..step_support.rewrite import (
    BoundExprs,
    added_up,
    lower_bound,
    set_bounds,
    shifted_to,
    substitute,
    upper_bound,
)


@frozen
class SkewPlan:
    """The loop, the loop around it that it is skewed by, and how many times that one's variable."""

    nest: Nest
    for_op: loop.ForOp
    by: loop.ForOp
    factor: int

    def apply(self) -> OneLoop:
        """`for j in L..U: S(j)` → `for j in L + f*i..U + f*i: S(j - f*i)`"""
        variable, outer = self.for_op.induction_variable, self.by.induction_variable
        ahead = AffineExpr.dimension(1) * self.factor
        substitute(variable, AffineExpr.dimension(0) - ahead, [variable, outer])
        set_bounds(
            self.for_op,
            self._moved(lower_bound(self.for_op)),
            self._moved(upper_bound(self.for_op)),
        )
        return OneLoop(loop_handle(self.nest, self.for_op))

    def _moved(self, bound: BoundExprs) -> BoundExprs:
        exprs, values = bound
        ahead = AffineExpr.dimension(0) * self.factor
        moved = [e + ahead for e in shifted_to(exprs, 1)]
        return added_up(moved, [self.by.induction_variable, *values])


@planner(Skew)
def plan_skew(step: Skew, nests: Nests) -> SkewPlan:
    """Always legal: every iteration runs when it did, under another number."""
    nest, name = nests.resolve(step.loop)
    for_op = nest.loop(name)
    by = nest.loop(step.by)
    if by not in loops_around(for_op):
        around = ", ".join(f"'{op.loop_name.data}'" for op in loops_around(for_op)) or "none"
        raise refuse(
            step,
            f"loop '{step.by}' is not around '{name}'",
            remedy=f"skew by one of the loops around: {around}",
        )
    if step.factor == 0:
        raise refuse(step, "factor is 0, which moves nothing", remedy="choose another factor")
    if by.mode is not None and by.mode.data is RunMode.VECTOR:
        raise refuse(
            step,
            f"loop '{step.by}' runs in vector lanes, whose bounds of '{name}' would differ",
            remedy="skew before vectorize",
        )
    return SkewPlan(nest, for_op, by, step.factor)


LoopSkewPass = step_pass(Skew)
