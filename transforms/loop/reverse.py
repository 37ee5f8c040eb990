"""reverse: a loop run backwards."""

from __future__ import annotations

from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr

from ...dialects import loop
from ...dialects.affine_bounds import simplified
from ...dialects.schedule.steps import Reverse
from ...frozen import frozen
from ..step_support.handles import loop_handle
from ..step_support.made import OneLoop
from ..step_support.modes import check_unmarked
from ..step_support.nest import Nest, Nests
from ..step_support.order import TimeSpace, check_order
from ..step_support.planning import planner, step_pass
from ..step_support.refusal import refuse
from ..step_support.rewrite import BoundExprs, set_bounds, set_step, shifted_to, substitute
from ..step_support.tight_bounds import plain_bounds


@frozen
class ReversePlan:
    """The loop, its new bounds and step, and what to put for its variable."""

    nest: Nest
    for_op: loop.ForOp
    lower: BoundExprs
    upper: BoundExprs
    step: int
    value: AffineExpr
    """over the new variable, then `operands`"""
    operands: tuple[SSAValue, ...]

    def apply(self) -> OneLoop:
        variable = self.for_op.induction_variable
        substitute(variable, self.value, [variable, *self.operands])
        set_bounds(self.for_op, self.lower, self.upper)
        set_step(self.for_op, self.step)
        return OneLoop(loop_handle(self.nest, self.for_op))


@planner(Reverse)
def plan_reverse(step: Reverse, nests: Nests) -> ReversePlan:
    """Legal when the loop carries no dependence, reductions that may be reassociated excepted."""
    nest, name = nests.resolve(step.loop)
    for_op = nest.loop(name)
    check_unmarked(step, for_op)
    position = nest.time_position(for_op)
    space = TimeSpace(nest)
    backwards = space.map(
        lambda entries: [e.neg() if n == position else e for n, e in enumerate(entries)]
    )
    check_order(
        step,
        nest,
        for_op,
        backwards,
        remedy=f"leave the direction of '{name}', or reverse a loop that carries no dependence",
    )
    plan = _plan(nest, for_op, *plain_bounds(nest.frames, for_op))
    if plan is None:
        raise refuse(
            step,
            f"loop '{name}' starts at a maximum of several expressions and has a step other than 1, so "
            "its last iteration is no affine expression",
            remedy="simplify or index_set_split it first",
        )
    return plan


def _plan(
    nest: Nest, for_op: loop.ForOp, lower: BoundExprs, upper: BoundExprs
) -> ReversePlan | None:
    """
    With single bounds `L..U step s` these stay, and the variable `i` becomes `first + last - i`.

    Otherwise the loop counts up to 0: with step 1 `i` becomes `-i`, with a single `L` it becomes `L - s*i`.
    """
    lows, low_values = lower
    highs, high_values = upper
    span = for_op.step.value.data
    variable, one = AffineExpr.dimension(0), AffineExpr.constant(1)
    if len(lows) > 1 and span != 1:
        return None
    if len(lows) > 1 or (len(highs) > 1 and span == 1):
        lower = [simplified(one - high, len(high_values)) for high in highs], high_values
        upper = [simplified(one - low, len(low_values)) for low in lows], low_values
        return ReversePlan(nest, for_op, lower, upper, 1, variable * -1, ())
    if len(highs) > 1:
        values = [*low_values, *high_values]
        later = shifted_to(highs, len(low_values))
        counts = [simplified(high - lows[0], len(values)).ceil_div(span) for high in later]
        (first,) = shifted_to(lows, 1)
        lower = [one - count for count in counts], values
        return ReversePlan(
            nest, for_op, lower, ([one], ()), 1, first - variable * span, tuple(low_values)
        )
    (low,) = shifted_to(lows, 1)
    (high,) = shifted_to(highs, 1 + len(low_values))
    values = [*low_values, *high_values]
    ends = low + high - 1
    if span != 1:
        ends = low * 2 + (simplified(high - low, 1 + len(values)).ceil_div(span) - 1) * span
    return ReversePlan(
        nest,
        for_op,
        (lows, low_values),
        (highs, high_values),
        span,
        simplified(ends - variable, 1 + len(values)),
        tuple(values),
    )


LoopReversePass = step_pass(Reverse, numerics="reassociates")
