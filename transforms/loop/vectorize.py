"""vectorize: a loop whose iterations run in vector lanes, `width` at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import islpy as isl
from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, NoneAttr, StringAttr
from xdsl.ir import Operation, Region, SSAValue
from xdsl.ir.affine import AffineExpr

from ...analysis.affine_isl import constant
from ...analysis.dependence import Dependence
from ...dialects import loop
from ...dialects.affine_bounds import linear_form
from ...dialects.loop import LoopKind, LoopKindAttr, RunMode, RunModeAttr
from ...dialects.schedule.steps import Split, Vectorize
from ...dialects.shaped import memref_type
from ..schedule.kinds import weakest
from ..schedule.modes import check_marks_around, check_marks_inside, check_unmarked
from ..schedule.nest import Nest, Nests, loops_around
from ..schedule.order import TimeSpace, agreeing, check_order
from ..schedule.planning import planner, step_pass
from ..schedule.refusal import Refusal, refuse, refuse_dependence
from ..schedule.rewrite import BoundExprs, body_ops, upper_bound
from ..schedule.trip_count import TripCount
from .split import SplitPlan, plan_split

STRIDED = "stepwell.strided"
"""Attribute of a vector loop: the buffers whose elements its lanes find apart in memory."""


@dataclass(frozen=True)
class VectorizePlan:
    """The loop, how it is split first, and what is said of the loop of lanes."""

    nest: Nest
    for_op: loop.ForOp
    split: SplitPlan | None
    guard: BoundExprs | None
    """The end that every lane is tested against, when blocks run over it."""
    kind: LoopKind
    strided: tuple[str, ...]

    def apply(self) -> None:
        """`for i: S(i)` → `for i.outer step width: for vector i.inner: S(i)`"""
        lanes = self.for_op
        if self.split is not None:
            self.split.apply()
            lanes = self.nest.loop(self.split.inner)
        lanes.kind = LoopKindAttr(self.kind)
        lanes.mode = RunModeAttr(RunMode.VECTOR)
        if self.strided:
            lanes.attributes[STRIDED] = ArrayAttr([StringAttr(name) for name in self.strided])
        if self.guard is not None:
            _guard(lanes, self.guard)


def _guard(lanes: loop.ForOp, end: BoundExprs) -> None:
    """`S(i)` → `if (end - i - 1 >= 0): S(i)`"""
    exprs, values = end
    lane = AffineExpr.dimension(len(values))
    body = Region(Block())
    for op in body_ops(lanes):
        op.detach()
        body.block.add_op(op)
    body.block.add_op(loop.YieldOp())
    test = loop.IfOp(
        [loop.at_least_zero(e - lane - 1) for e in exprs],
        [*values, lanes.induction_variable],
        body,
    )
    last = lanes.body.block.last_op
    assert last is not None
    lanes.body.block.insert_op_before(test, last)


@planner(Vectorize)
def plan_vectorize(step: Vectorize, nests: Nests) -> VectorizePlan:
    """
    Legal when nothing depends on the order of the lanes: each access of the body runs for all lanes
    before the next one.

    Width 0 makes one vector of the whole loop, whose trip count must be a constant. With tail `guard`
    each lane is tested. Loops inside run with all lanes together.
    """
    nest, name = nests.resolve(step.loop)
    for_op = nest.loop(name)
    if step.width < 0:
        raise refuse(step, f"width is {step.width}", remedy="give the number of lanes, or 0 for all")
    check_unmarked(step, for_op)
    check_marks_around(step, for_op, (RunMode.VECTOR,))
    check_marks_inside(step, for_op, (RunMode.THREADS, RunMode.VECTOR))
    varying = _varying(for_op)
    _check_body(step, for_op, varying)
    trips = TripCount(nest, for_op).constant()
    if step.width == 0 and trips is None:
        raise refuse(
            step,
            f"the trip count of '{name}' is not a constant",
            remedy="give a width to split it by",
        )
    plan = VectorizePlan(nest, for_op, None, None, LoopKind.SERIAL, _strided(for_op, varying))
    if step.width not in (0, trips):
        plan = _with_split(step, nests, plan)
    order = _lane_order(step, plan)
    check_order(step, nest, for_op, order, remedy=_remedy(nest, for_op))
    return replace(plan, kind=_check_lanes(step, plan, order, varying))


def _with_split(step: Vectorize, nests: Nests, plan: VectorizePlan) -> VectorizePlan:
    """The plan with the split it needs."""
    try:
        split = plan_split(Split(step.loop, step.width, tail=step.tail), nests)
    except Refusal as refusal:
        raise refuse(step, f"its split is not possible: {refusal.message}") from refusal
    assert isinstance(split, SplitPlan)
    if split.tail != "guard":
        return replace(plan, split=split)
    # The lanes keep a constant number: not the loop but each lane is tested.
    return replace(plan, split=replace(split, tail="whole"), guard=upper_bound(plan.for_op))


# What stands in the body.


def _varying(for_op: loop.ForOp) -> set[SSAValue]:
    """The values that may differ between lanes: all but those computed from nothing of the body."""
    found: set[SSAValue] = {for_op.induction_variable}
    for op in for_op.body.walk():
        if any(v in found for v in op.operands) or not isinstance(op, loop.ForOp) and op.regions:
            found.update(op.results)
        elif not is_side_effect_free(op):
            found.update(op.results)
    return found


def _check_body(step: Vectorize, for_op: loop.ForOp, varying: set[SSAValue]) -> None:
    """Raise the refusal for what cannot run in lanes."""
    for op in for_op.body.walk():
        if isinstance(op, loop.ForOp):
            if any(v in varying for v in op.operands):
                raise refuse(
                    step,
                    f"the bounds of loop '{op.loop_name.data}' inside of it are not the same for "
                    "all lanes",
                    remedy=f"reorder so that '{for_op.loop_name.data}' is the innermost loop",
                )
        elif isinstance(op, func.CallOp) or (op.regions and not isinstance(op, loop.IfOp)):
            raise refuse(
                step,
                f"'{op.name}' in its body cannot run in lanes",
                remedy="move it to a loop of its own with fission",
            )
"""
