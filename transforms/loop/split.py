"""split: a loop as an outer one over blocks and an inner one inside a block (strip-mining)."""

from __future__ import annotations

from dataclasses import dataclass, replace

from xdsl.dialects.builtin import StringAttr
from xdsl.ir.affine import AffineExpr

from ...dialects import loop
from ...dialects.affine_bounds import linear_form
from ...dialects.affine_text import compact
from ...dialects.schedule.steps import Split
from ..schedule.nest import Nest, Nests
from ..schedule.padding import check_overrun
from ..schedule.planning import planner, step_pass
from ..schedule.refusal import refuse
from ..schedule.rewrite import (
    as_bound,
    erase_body,
    lower_bound,
    move_body,
    rename_inside,
    replace_loop,
    set_bounds,
    shifted_to,
    upper_bound,
)


@dataclass(frozen=True)
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

    def apply(self) -> None:
        if self.tail == "peel":
            self._apply_peeled()
        else:
            self._apply_nested(self.for_op, clip=self.tail == "guard")

    def _block_span(self) -> int:
        return self.factor * self.for_op.step.value.data

    def _apply_nested(self, for_op: loop.ForOp, *, clip: bool) -> None:
        """
        `for i in L..U` → `for i.outer in L..U step span: for i.inner in i.outer..min(i.outer+span, U)`
        """
        span = self._block_span()
        upper, values = upper_bound(for_op)
        outer = loop.ForOp(
            self.outer,
            as_bound(lower_bound(for_op)),
            as_bound((upper, values)),
            step=span,
            kind=for_op.kind.data,
        )
        start = outer.induction_variable
        end = [AffineExpr.dimension(0) + span]
        if clip:
            end += shifted_to(upper, 1)
        inner = loop.ForOp(
            self.inner,
            start,
            as_bound((end, [start, *values])),
            step=for_op.step.value.data,
            kind=for_op.kind.data,
            mode=for_op.mode.data if for_op.mode is not None else None,
        )
        inner.induction_variable.name_hint = for_op.induction_variable.name_hint
        last = outer.body.block.last_op
        assert last is not None
        outer.body.block.insert_op_before(inner, last)
        for_op.induction_variable.replace_all_uses_with(inner.induction_variable)
        move_body(for_op, inner.body.block)
        replace_loop(for_op, [outer])

    def _apply_peeled(self) -> None:
        """
        `for i in L..U` → the split loop over the whole blocks `L..M`, then `for i.tail in max(L, M)..U`
        with `M = L + (U - L) floordiv span * span`.
        """
        for_op, span = self.for_op, self._block_span()
        (low,), low_values = lower_bound(for_op)
        (high,), high_values = upper_bound(for_op)
        (high,) = shifted_to([high], len(low_values))
        values = [*low_values, *high_values]
        middle = low + (high - low) // span * span

        main, rest = for_op.clone(), for_op.clone()
        rest.loop_name = StringAttr(self.rest)
        rename_inside(rest, ".tail", {op.loop_name.data for op in self.nest.loops()})
        rest.induction_variable.name_hint = for_op.induction_variable.name_hint
        set_bounds(main, lower_bound(for_op), ([middle], values))
        set_bounds(rest, ([low, middle], values), upper_bound(for_op))
        erase_body(for_op)
        replace_loop(for_op, [main, rest])
        self._apply_nested(main, clip=False)


@planner(Split)
def plan_split(step: Split, nests: Nests) -> SplitPlan:
    """
    Splitting keeps the order of iterations: it is always legal, if the rest is taken care of.

    `perfect` needs a factor that divides the trip count; `pad` needs buffers that take the overrun.
    """
    nest, name = nests.resolve(step.loop)
    for_op = nest.loop(name)
    if step.factor < 1:
        raise refuse(step, f"factor is {step.factor}, expected at least 1")
    plan = SplitPlan(
        nest,
        for_op,
        step.factor,
        nest.fresh_loop_name(step.outer or f"{name}.outer"),
        nest.fresh_loop_name(step.inner or f"{name}.inner"),
        step.tail,
        nest.fresh_loop_name(f"{name}.tail"),
    )
    if divides(nest, for_op, step.factor):
        return replace(plan, tail="whole")
    if step.tail == "perfect":
        raise refuse(
            step,
            f"{step.factor} does not divide {_trip_text(for_op)}",
            remedy="choose a factor that does, or tail='guard', 'peel' or 'pad'",
        )
    if step.tail == "pad":
        check_overrun(step, nest, for_op, step.factor)
        return replace(plan, tail="whole")
    if step.tail == "peel" and not _has_single_bounds(for_op):
        raise refuse(
            step,
            f"loop '{name}' has bounds that are a maximum or minimum, so its whole blocks have no "
            "affine end",
            remedy="use tail='guard', or index_set_split the loop first",
        )
    return plan


def divides(nest: Nest, for_op: loop.ForOp, factor: int) -> bool:
    """Whether the loop's trip count is a multiple of `factor` in every execution, as far as is known."""
    count = for_op.constant_trip_count()
    if count is not None:
        return count % factor == 0
    if not _has_single_bounds(for_op):
        return False
    (low,), low_values = lower_bound(for_op)
    (high,), high_values = upper_bound(for_op)
    (high,) = shifted_to([high], len(low_values))
    exprs, values = compact([high - low], [*low_values, *high_values])
    linear = linear_form(exprs[0], len(values))
    if linear is None:
        return False
    span = factor * for_op.step.value.data
    return all(c % span == 0 for c in (*linear[0], linear[1]))


def _has_single_bounds(for_op: loop.ForOp) -> bool:
    return len(for_op.lower_map.data.results) == len(for_op.upper_map.data.results) == 1


def _trip_text(for_op: loop.ForOp) -> str:
    count = for_op.constant_trip_count()
    name = for_op.loop_name.data
    if count is None:
        return f"the trip count of '{name}' for all values of its bounds"
    return f"the {count} iterations of '{name}'"


LoopSplitPass = step_pass(Split)
