"""fuse: two perfectly nested loops as one (collapse)."""

from __future__ import annotations

from itertools import product

from xdsl.ir.affine import AffineExpr
from xdsl.traits import is_side_effect_free

from ...dialects import loop
from ...dialects.affine_bounds import simplified
from ...dialects.schedule.steps import Fuse
from ...frozen import frozen
from ..step_support.handles import loop_handle
from ..step_support.kinds import weakest
from ..step_support.made import OneLoop
from ..step_support.modes import check_unmarked
from ..step_support.nest import Nest, Nests
from ..step_support.planning import planner, step_pass
from ..step_support.refusal import refuse
from ..step_support.rewrite import (
    BoundExprs,
    as_bound,
    body_ops,
    lower_bound,
    move_body,
    replace_loop,
    shifted_to,
    substitute,
    upper_bound,
)
from ..step_support.trip_count import TripCount

_NUMBER = AffineExpr.dimension(0)
"""The fused loop's variable, where it is the only operand or the first."""


@frozen
class FusePlan:
    """The two loops, the name of what they become, the iterations of the inner one, where both start."""

    nest: Nest
    outer: loop.ForOp
    inner: loop.ForOp
    name: str
    extent: int
    outer_start: BoundExprs | None
    """None when it is a maximum that no one expression gives."""
    inner_start: BoundExprs

    def apply(self) -> OneLoop:
        """
        `for i in Li..Ui step s: for j in Lj..Uj step t`, the inner one of `M` iterations, →
        `for i.j in 0..ceil((Ui - Li) / s) * M`, where `i = Li + s * (i.j floordiv M)` and
        `j = Lj + t * (i.j mod M)`.
        """
        lower, upper, outer_start = self._range()
        fused = loop.ForOp(
            self.name,
            as_bound(lower),
            as_bound(upper),
            kind=weakest(self.outer.kind.data, self.inner.kind.data),
        )
        self._sink()
        divisor = max(self.extent, 1)
        inner_number = _NUMBER % divisor if divisor > 1 else AffineExpr.constant(0)
        outer_number = _NUMBER // divisor if divisor > 1 else _NUMBER
        # The inner variable's first value may use the outer variable: that one goes last.
        _recover(self.inner, fused, inner_number, self.inner_start)
        _recover(self.outer, fused, outer_number, outer_start)
        move_body(self.inner, fused.body.block)
        replace_loop(self.outer, [fused])
        return OneLoop(loop_handle(self.nest, fused))

    def _range(self) -> tuple[BoundExprs, BoundExprs, BoundExprs]:
        """The fused loop's bounds, and what to add to the outer loop's part of its variable."""
        lows, low_values = lower_bound(self.outer)
        highs, high_values = upper_bound(self.outer)
        zero = AffineExpr.constant(0)
        if self.outer_start is None:
            # Nothing affine adds a maximum to the variable: run from there, not from 0.
            lower = [low * self.extent for low in lows], low_values
            return lower, ([high * self.extent for high in highs], high_values), ([zero], ())
        values = [*low_values, *high_values]
        spans = [
            simplified(high - low, len(values))
            for low, high in product(lows, shifted_to(highs, len(low_values)))
        ]
        step = self.outer.step.value.data
        counts = [span if step == 1 else span.ceil_div(step) for span in spans]
        upper = [count * self.extent for count in counts], values
        return ([zero], ()), upper, self.outer_start

    def _sink(self) -> None:
        """Move index arithmetic from between the two loops into the inner one."""
        block = self.inner.body.block
        first = block.first_op
        assert first is not None
        for op in body_ops(self.outer):
            if op is not self.inner:
                op.detach()
                block.insert_op_before(op, first)


def _recover(old: loop.ForOp, fused: loop.ForOp, number: AffineExpr, start: BoundExprs) -> None:
    """Put `start + step * number` for the variable of a loop, `number` being over the fused one's."""
    (first,), values = start
    (first,) = shifted_to([first], 1)
    operands = [fused.induction_variable, *values]
    substitute(old.induction_variable, first + number * old.step.value.data, operands)


@planner(Fuse)
def plan_fuse(step: Fuse, nests: Nests) -> FusePlan:
    """Always legal: the order of iterations stays. The inner loop must have a constant trip count."""
    nest, name = nests.resolve(step.loop)
    outer, inner = nest.loop(name), nest.loop(step.inner)
    _check_nested(step, outer, inner)
    check_unmarked(step, outer)
    check_unmarked(step, inner)
    outer_trips, inner_trips = TripCount(nest, outer), TripCount(nest, inner)
    extent = inner_trips.constant()
    if extent is None:
        raise refuse(
            step,
            f"the trip count of '{step.inner}' is not a constant, so '{name}' is no affine function "
            "of the fused variable",
            remedy=(
                f"reorder the two, so that '{name}' is the inner one"
                if outer_trips.constant() is not None
                else "leave the two loops as they are"
            ),
        )
    outer_start, inner_start = outer_trips.first(), inner_trips.first()
    if inner_start is None or (outer_start is None and outer.step.value.data != 1):
        which = step.inner if inner_start is None else name
        raise refuse(
            step,
            f"loop '{which}' starts at a maximum of several expressions, which no affine expression gives",
            remedy=f"simplify or index_set_split '{which}' first",
        )
    if any(v.owner in body_ops(outer) for v in inner_start[1]):
        raise refuse(
            step,
            f"the bounds of '{step.inner}' are computed inside of '{name}'",
            remedy="write them as affine bounds, with simplify",
        )
    (fused_name,) = nest.chosen_names([outer, inner], [step.into or f"{name}.{step.inner}"])
    if step.into and fused_name != step.into:
        raise refuse(step, f"there is a loop '{step.into}' already", remedy="choose another name")
    return FusePlan(nest, outer, inner, fused_name, extent, outer_start, inner_start)


def _check_nested(step: Fuse, outer: loop.ForOp, inner: loop.ForOp) -> None:
    if inner.parent_op() is not outer:
        raise refuse(
            step,
            f"loop '{step.inner}' does not stand directly in '{outer.loop_name.data}'",
            remedy="name a loop and the only loop in its body, outer one first",
        )
    between = [op for op in body_ops(outer) if op is not inner and not is_side_effect_free(op)]
    if between:
        raise refuse(
            step,
            f"'{between[0].name}' stands in '{outer.loop_name.data}' beside '{step.inner}', so the "
            "nest is not perfect",
            remedy="make the nest perfect with fission first",
        )


LoopFusePass = step_pass(Fuse)
