"""unroll: a loop's body written out, wholly or `factor` times in a loop of larger step."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import ClassVar

from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineExpr

from ...analysis.operations import blocks_of, body_of, operations_of
from ...dialects import loop
from ...dialects.affine_bounds import simplified
from ...dialects.loop import RunMode, mode_attribute
from ...dialects.schedule import Step
from ...dialects.schedule.steps import Unroll
from ...frozen import frozen
from ..step_support.copies import Copier
from ..step_support.handles import loop_handle
from ..step_support.made import Nothing, UnrolledLoop
from ..step_support.modes import check_unmarked
from ..step_support.nest import Nest, Nests, loops_around
from ..step_support.planning import planner, step_pass
from ..step_support.refusal import refuse
from ..step_support.rewrite import (
    BoundExprs,
    body_ops,
    insert_before,
    replace_loop,
    room_for,
    set_step,
    substitute,
    upper_bound,
)
from ..step_support.trip_count import TripCount
from .split import peel_rest, plan_tail

LIMIT = 1 << 14
"""Operations that unrolling may leave: beyond, compile time grows without a gain in speed."""


@frozen
class UnrollPlan:
    """The loop written out wholly: so many iterations from the first one on."""

    nest: Nest
    for_op: loop.ForOp
    count: int
    first: BoundExprs

    def apply(self) -> Nothing:
        """`for i in L..L + 3: S(i)` → `S(L); S(L + 1); S(L + 2)`"""
        (first,), values = self.first
        span = self.for_op.step.value.data
        for number, copy in enumerate(_copies(self.nest, self.for_op, self.count)):
            value = simplified(first + number * span, len(values))
            substitute(copy.induction_variable, value, values)
            insert_before(self.for_op, _detached(copy))
            if copy is not self.for_op:
                copy.erase()
        replace_loop(self.for_op, ())
        return Nothing()


@frozen
class UnrollMarkPlan:
    """The loop that is marked."""

    only_marks: ClassVar[bool] = True

    nest: Nest
    for_op: loop.ForOp

    def apply(self) -> UnrolledLoop:
        """`for i in 0..4: S(i)` → `for unroll i in 0..4: S(i)`"""
        self.for_op.mode = mode_attribute(RunMode.UNROLL)
        return UnrolledLoop(loop_handle(self.nest, self.for_op), None)


@frozen
class PartialUnrollPlan:
    """The loop, how many copies of its body there will be, and how the rest is run."""

    nest: Nest
    for_op: loop.ForOp
    factor: int
    tail: str
    """`guard`, `peel` or, where blocks are whole or may run over, `whole`"""
    rest: str
    """the name of the loop over the rest when the tail is peeled"""

    def apply(self) -> UnrolledLoop:
        """`for i in L..U: S(i)` → `for i in L..U step 2: S(i); S(i + 1)` and the rest"""
        for_op, span = self.for_op, self.for_op.step.value.data
        tail = None
        if self.tail == "peel":
            tail = peel_rest(self.nest, for_op, self.factor, self.rest)
        variable = for_op.induction_variable
        end = body_of(for_op).last_op
        assert end is not None
        for number, copy in enumerate(_copies(self.nest, for_op, self.factor)[1:], 1):
            ahead = AffineExpr.dimension(0) + number * span
            substitute(copy.induction_variable, ahead, [variable])
            body = _detached(copy)
            copy.erase()
            if self.tail == "guard":
                body = [guarded(body, ahead, variable, upper_bound(for_op))]
            insert_before(end, body)
        set_step(for_op, span * self.factor)
        for_op.attributes[loop.UNROLLED] = loop.MARK
        return UnrolledLoop(loop_handle(self.nest, for_op), tail)


def guarded(
    body: Sequence[Operation], value: AffineExpr, variable: SSAValue, upper: BoundExprs
) -> loop.IfOp:
    """The operations where `value`, which is over the variable, is below a loop's upper bound."""
    block = Block([*body, loop.YieldOp()])
    return loop.IfOp(room_for(value, upper), [variable, *upper[1]], Region(block))


def _copies(nest: Nest, for_op: loop.ForOp, count: int) -> list[loop.ForOp]:
    """The loop itself and copies of it, `count` loops in all."""
    copier = Copier(nest)
    name = for_op.loop_name.data
    copies = [copier.loop(for_op, f"{name}.u{number}") for number in range(1, count)]
    return [for_op, *copies][:count]


def _detached(for_op: loop.ForOp) -> list[Operation]:
    body = body_ops(for_op)
    for op in body:
        op.detach()
    return body


@planner(Unroll)
def plan_unroll(step: Unroll, nests: Nests) -> UnrollPlan | UnrollMarkPlan | PartialUnrollPlan:
    """
    Always legal: the order of iterations stays.

    Without a factor the trip count must be constant; the tail says what to do with the rest otherwise.
    """
    nest, name = nests.resolve(step.loop)
    for_op = nest.loop(name)
    check_unmarked(step, for_op)
    if step.factor < 0:
        raise refuse(step, f"factor is {step.factor}, expected 0 (all iterations) or more")
    if step.mark:
        return _plan_mark(step, nest, for_op)
    trip_count = TripCount(nest, for_op)
    if step.factor == 0:
        return _plan_whole(step, nest, for_op, trip_count)
    check_size(step, for_op, step.factor)
    (rest,) = nest.chosen_names((), [f"{name}.tail"])
    tail = plan_tail(step, nest, for_op, trip_count, step.factor, step.tail)
    return PartialUnrollPlan(nest, for_op, step.factor, tail, rest)


def _plan_mark(step: Unroll, nest: Nest, for_op: loop.ForOp) -> UnrollMarkPlan:
    """Each iteration that may not run will be tested, so there must be a number that bounds them."""
    count = for_op.greatest_trip_count()
    if step.factor:
        raise refuse(step, "only whole loops are marked", remedy="leave out the factor")
    if count is None or len(for_op.lower_map.data.results) != 1:
        raise refuse(
            step,
            f"the bounds of loop '{for_op.loop_name.data}' have no number in them that limits it",
            remedy="simplify and normalize it, or split it first",
        )
    check_size(step, for_op, count)
    return UnrollMarkPlan(nest, for_op)


def _plan_whole(step: Unroll, nest: Nest, for_op: loop.ForOp, trip_count: TripCount) -> UnrollPlan:
    name = for_op.loop_name.data
    count = trip_count.constant()
    if count is None:
        raise refuse(
            step,
            trip_count.text(name) + ", so it cannot be written out",
            remedy="give a factor and a tail, or split or peel the loop first",
        )
    check_size(step, for_op, count)
    first = trip_count.first()
    if first is None:
        raise refuse(
            step,
            f"loop '{name}' starts at a maximum of several expressions, none of which is always it",
            remedy="index_set_split a loop around where that changes",
        )
    return UnrollPlan(nest, for_op, count, first)


def check_size(step: Step, for_op: loop.ForOp, copies: int) -> None:
    """
    Raise the refusal of `step` when so many copies of the loop's body are too much code.

    Loops that are marked `unroll` count as what they will be written out to, those around the loop too.
    """
    size = _written_size(body_of(for_op))
    around = [op for op in loops_around(for_op) if _is_marked(op)]
    times = prod(op.greatest_trip_count() or 1 for op in around)
    if size * copies * times > LIMIT:
        names = " and ".join(f"'{op.loop_name.data}'" for op in around)
        where = (
            f" in each of the {times} iterations of {names}, which are marked 'unroll',"
            if around
            else ""
        )
        raise refuse(
            step,
            f"{copies} copies of {size} operations{where} are more than {LIMIT}",
            remedy="mark fewer loops" if around else "give a smaller factor",
        )


def _written_size(block: Block) -> int:
    """The operations of a block when the loops in it that are marked `unroll` are written out."""
    size = 0
    for op in operations_of(block):
        size += 1
        if op.regions:
            inside = sum(map(_written_size, blocks_of(op)))
            count = op.greatest_trip_count() if type(op) is loop.ForOp and _is_marked(op) else None
            size += inside * (count or 1)
    return size


def _is_marked(for_op: loop.ForOp) -> bool:
    return for_op.mode is not None and for_op.mode.data is RunMode.UNROLL


LoopUnrollPass = step_pass(Unroll)
