"""split: a loop as an outer one over blocks and an inner one inside a block (strip-mining)."""

from __future__ import annotations

from ...analysis.operations import body_of
from ...dialects import loop
from ...dialects.affine_atoms import dim_expr
from ...dialects.affine_bounds import linear_form, simplified
from ...dialects.affine_substitution import difference, plus
from ...dialects.leaf_operations import insert_leaf_before
from ...dialects.schedule import Step
from ...dialects.schedule.steps import Split
from ...frozen import frozen
from ..step_support.copies import Copier
from ..step_support.handles import LoopHandle, loop_handle
from ..step_support.made import SplitLoops
from ..step_support.modes import check_unmarked
from ..step_support.nest import Nest, Nests
from ..step_support.padding import check_overrun, overrun_guards
from ..step_support.planning import planner, step_pass
from ..step_support.refusal import refuse
from ..step_support.rewrite import (
    BoundExprs,
    add_conditions,
    added_up,
    insert_after,
    is_sure_maximum,
    loop_like,
    lower_bound,
    replace_loop,
    set_bounds,
    shifted_to,
    upper_bound,
)
from ..step_support.tight_bounds import plain_bounds
from ..step_support.trip_count import TripCount


@frozen
class SplitPlan:
    """The loop, the iterations of a block, the names of the new loops, and how the rest is run."""

    nest: Nest
    for_op: loop.ForOp
    factor: int
    outer: str
    inner: str
    tail: str
    """`guard`, `peel` or, where blocks are whole or may run over, `whole`"""
    rest: str = ""
    """the name of the loop over the rest when the tail is peeled"""
    guards: tuple[loop.IfOp, ...] = ()
    """conditions that also ask whether an iteration is before the end, where blocks run over it"""

    def apply(self) -> SplitLoops:
        tail = None
        if self.tail == "peel":
            tail = peel_rest(self.nest, self.for_op, self.factor, self.rest)
        highs, values = upper_bound(self.for_op)
        outer, inner = self._nest(self.for_op, clip=self.tail == "guard")
        for guard in self.guards:
            before = [plus(difference(high, dim_expr(0)), -1) for high in shifted_to(highs, 1)]
            add_conditions(guard, before, [inner.induction_variable, *values])
        return SplitLoops(loop_handle(self.nest, outer), loop_handle(self.nest, inner), tail)

    def _nest(self, for_op: loop.ForOp, *, clip: bool) -> tuple[loop.ForOp, loop.ForOp]:
        """
        `for i in L..U` → `for i.outer in L..U step span: for i.inner in i.outer..min(i.outer+span, U)`

        Where `U` is a minimum, the ends in it that are whole blocks away from `L` clip no block.
        """
        span = self.factor * for_op.step.value.data
        highs, values = upper_bound(for_op)
        outer = loop_like(for_op, lower_bound(for_op), (highs, values), name=self.outer, step=span)
        outer.attributes.clear()
        start = outer.induction_variable
        end = [plus(dim_expr(0), span)]
        if clip:
            clipping = _uneven(lower_bound(for_op), (highs, values), span)
            end += shifted_to([highs[n] for n in clipping], 1)
        inner = loop_like(
            for_op,
            ([dim_expr(0)], [start]),
            (end, [start, *values]),
            name=self.inner,
            body=for_op.detach_region(0),
        )
        last = body_of(outer).last_op
        assert last is not None
        insert_leaf_before(body_of(outer), inner, last)
        replace_loop(for_op, [outer])
        return outer, inner


def peel_rest(nest: Nest, for_op: loop.ForOp, factor: int, name: str) -> LoopHandle:
    """
    `for i in L..U` → the loop over the whole blocks of `factor` iterations `L..M`, then
    `for i.tail in max(L, M)..U`, which is returned.
    """
    blocks, rest = blocks_and_rest(nest, for_op, factor * for_op.step.value.data)
    tail = Copier(nest).loop(for_op, name)
    set_bounds(tail, *rest)
    set_bounds(for_op, *blocks)
    insert_after(for_op, [tail])
    return loop_handle(nest, tail)


def blocks_and_rest(
    nest: Nest, for_op: loop.ForOp, span: int
) -> tuple[tuple[BoundExprs, BoundExprs], tuple[BoundExprs, BoundExprs]]:
    """
    The bounds of the whole blocks of a loop `L..U` and of its rest: `L..M` and `max(L, M)..U`.

    `M` is `L + (U - L + step - 1) floordiv span * span`; `check_peelable` tells whether it can be computed.
    Where `U` is a minimum, the ends in it that are whole blocks away from `L` stay as they are.
    """
    lower, upper = plain_bounds(nest.frames, for_op)
    ((low,), low_values), (highs, high_values) = lower, upper
    values = [*low_values, *high_values]
    middles = shifted_to(highs, len(low_values))
    uneven = _uneven(lower, upper, span)[0]
    length = simplified(middles[uneven] - low + (for_op.step.value.data - 1), len(values))
    middle = simplified(low + length // span * span, len(values))
    middles[uneven] = middle
    start = [middle] if is_sure_maximum(middle, low) else [low, middle]
    return (lower, (middles, values)), ((start, values), upper)


def _uneven(lower: BoundExprs, upper: BoundExprs, span: int) -> list[int]:
    """Which ends in the upper bound are not known to be a multiple of `span` away from the lower bound; one end may be so."""
    (lows, low_values), (highs, high_values) = lower, upper
    if len(highs) == 1 or len(lows) > 1:
        return [*range(len(highs))]
    (low,) = lows
    values = [*low_values, *high_values]
    lengths, _ = added_up([difference(h, low) for h in shifted_to(highs, len(low_values))], values)
    linear = [linear_form(length, len(values)) for length in lengths]
    return [
        n
        for n, form in enumerate(linear)
        if form is None or any(number % span for number in (*form[0], form[1]))
    ]


@planner(Split)
def plan_split(step: Split, nests: Nests) -> SplitPlan:
    """
    Splitting keeps the order of iterations: it is always legal, if the rest is taken care of.

    `perfect` needs a factor that divides the trip count; `pad` needs buffers that take the overrun; a load
    for which a condition has something else to give is left out beyond the end.
    """
    nest, name = nests.resolve(step.loop)
    for_op = nest.loop(name)
    if step.factor < 1:
        raise refuse(step, f"factor is {step.factor}, expected at least 1")
    check_unmarked(step, for_op)
    wanted = [step.outer or f"{name}.outer", step.inner or f"{name}.inner", f"{name}.tail"]
    chosen = nest.chosen_names([for_op], wanted)
    for given, made in zip((step.outer, step.inner), chosen, strict=False):
        if given and given != made:
            raise refuse(step, f"there is a loop '{given}' already", remedy="choose another name")
    trip_count = TripCount(nest, for_op)
    guards: tuple[loop.IfOp, ...] = ()
    if step.tail == "pad" and not trip_count.is_multiple_of(step.factor):
        tail, guards = "whole", overrun_guards(step, nest, {for_op: step.factor})
    else:
        tail = plan_tail(step, nest, for_op, trip_count, step.factor, step.tail)
    return SplitPlan(nest, for_op, step.factor, chosen[0], chosen[1], tail, chosen[2], guards)


def plan_tail(
    step: Step,
    nest: Nest,
    for_op: loop.ForOp,
    trip_count: TripCount,
    factor: int,
    tail: str,
) -> str:
    """What is done about a rest: `whole` when there is none or it may run over, `guard` or `peel`."""
    name = for_op.loop_name.data
    if trip_count.is_multiple_of(factor):
        return "whole"
    if tail == "perfect":
        raise refuse(
            step,
            f"{trip_count.text(name)}, expected a multiple of {factor}",
            remedy="choose a factor that does, or tail='guard', 'peel' or 'pad'",
        )
    if tail == "pad":
        check_overrun(step, nest, {for_op: factor})
        return "whole"
    if tail == "peel":
        check_peelable(step, nest, for_op, factor)
    return tail


def check_peelable(step: Step, nest: Nest, for_op: loop.ForOp, factor: int) -> None:
    """Raise the refusal of `step` unless the end of the loop's whole blocks is an affine expression."""
    lower, upper = plain_bounds(nest.frames, for_op)
    span = factor * for_op.step.value.data
    # Of several ends, all but one have to be ends of blocks: then the rest begins after that one's.
    if len(lower[0]) == 1 and len(_uneven(lower, upper, span)) == 1:
        return
    raise refuse(
        step,
        f"loop '{for_op.loop_name.data}' has bounds that are a maximum or minimum, so its whole blocks "
        "have no affine end",
        remedy="use tail='guard', or index_set_split the loop first",
    )


LoopSplitPass = step_pass(Split)
