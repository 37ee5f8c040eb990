"""peel: iterations taken off the front or the back of a loop."""

from __future__ import annotations

from collections.abc import Sequence

from ...dialects import loop
from ...dialects.affine_bounds import simplified
from ...dialects.schedule.steps import Peel
from ...frozen import frozen
from ..step_support.copies import Copier
from ..step_support.handles import loop_handle
from ..step_support.made import PeeledLoops
from ..step_support.modes import check_unmarked
from ..step_support.nest import Nest, Nests
from ..step_support.planning import planner, step_pass
from ..step_support.refusal import Refusal, refuse
from ..step_support.rewrite import (
    BoundExprs,
    insert_after,
    insert_before,
    joined_bounds,
    set_bounds,
    shifted_to,
)
from ..step_support.tight_bounds import plain_bounds


@frozen
class PeelPlan:
    """The loop, how many iterations go where, and the names of the loops made for them."""

    nest: Nest
    for_op: loop.ForOp
    front: int
    back: int
    front_name: str
    back_name: str
    lower: BoundExprs
    upper: BoundExprs

    def apply(self) -> PeeledLoops:
        """
        `for i in L..U step s` → `for i.front in L..min(L + f*s, U)`, `for i in L + f*s..B` and
        `for i.back in max(L + f*s, B)..U`, where `B` is `b` iterations before the end.
        """
        for_op, copier = self.for_op, Copier(self.nest)
        front = copier.loop(for_op, self.front_name) if self.front else None
        back = copier.loop(for_op, self.back_name) if self.back else None
        lower, upper = self.lower, self.upper
        start = _moved(lower, self.front * for_op.step.value.data)
        end = self._back_start() if self.back else upper
        if front is not None:
            set_bounds(front, lower, joined_bounds(start, upper, smallest=True))
            insert_before(for_op, [front])
        if back is not None:
            set_bounds(back, joined_bounds(start, end, smallest=False), upper)
            insert_after(for_op, [back])
        set_bounds(for_op, start, end)
        parts = [op and loop_handle(self.nest, op) for op in (front, back)]
        return PeeledLoops(parts[0], loop_handle(self.nest, for_op), parts[1])

    def _back_start(self) -> BoundExprs:
        """Where the iterations at the back begin."""
        step = self.for_op.step.value.data
        highs, high_values = self.upper
        if step == 1:
            return _moved((highs, high_values), -self.back)
        (low,), low_values = self.lower
        (high,) = shifted_to(highs, len(low_values))
        values = [*low_values, *high_values]
        count = simplified(high - low, len(values)).ceil_div(step)
        return [simplified(low + (count - self.back) * step, len(values))], values


def _moved(bound: BoundExprs, amount: int) -> BoundExprs:
    exprs, values = bound
    return [simplified(expr + amount, len(values)) for expr in exprs], values


@planner(Peel)
def plan_peel(step: Peel, nests: Nests) -> PeelPlan:
    """Always legal: the order of iterations stays."""
    nest, name = nests.resolve(step.loop)
    for_op = nest.loop(name)
    check_unmarked(step, for_op)
    if step.front < 0 or step.back < 0:
        raise refuse(step, "a number of iterations is negative", remedy="give 0 or more")
    if step.front == step.back == 0:
        raise refuse(step, "there is nothing to peel", remedy="give front=1, back=1 or both")
    lower, upper = plain_bounds(nest.frames, for_op)
    lows, highs = lower[0], upper[0]
    if step.front and len(lows) > 1:
        raise _no_such_point(step, f"loop '{name}' starts at a maximum of several expressions")
    if step.back and len(highs) > 1:
        raise _no_such_point(step, f"loop '{name}' ends at a minimum of several expressions")
    if step.back and for_op.step.value.data != 1 and len(lows) > 1:
        raise _no_such_point(
            step, f"loop '{name}' starts at a maximum of several expressions and its step is not 1"
        )
    front_name, back_name = nest.chosen_names((), _names(name, ("front", "back")))
    return PeelPlan(nest, for_op, step.front, step.back, front_name, back_name, lower, upper)


def _names(name: str, parts: Sequence[str]) -> list[str]:
    return [f"{name}.{part}" for part in parts]


def _no_such_point(step: Peel, reason: str) -> Refusal:
    return refuse(
        step,
        f"{reason}, so the point to peel at is no affine expression",
        remedy="simplify or index_set_split it first",
    )


LoopPeelPass = step_pass(Peel)
