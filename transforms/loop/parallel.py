"""parallel: a loop whose iterations run on several threads."""

from __future__ import annotations

from typing import ClassVar

from ...analysis.alias import is_allocation
from ...analysis.dependence import Dependence, DependenceKind
from ...dialects import loop
from ...dialects.loop import LoopKind, LoopKindAttr, RunMode, RunModeAttr
from ...dialects.schedule.steps import Parallel
from ...frozen import frozen
from ..step_support.handles import loop_handle
from ..step_support.kinds import parallel_loops
from ..step_support.made import OneLoop
from ..step_support.modes import check_marks_around, check_marks_inside, check_unmarked
from ..step_support.nest import Nest, Nests
from ..step_support.order import check_effects, check_structured
from ..step_support.planning import planner, step_pass
from ..step_support.refusal import refuse_dependence


@frozen
class ParallelPlan:
    """The loop to mark."""

    only_marks: ClassVar[bool] = True

    nest: Nest
    for_op: loop.ForOp

    def apply(self) -> OneLoop:
        self.for_op.kind = LoopKindAttr(LoopKind.PARALLEL)
        self.for_op.mode = RunModeAttr(RunMode.THREADS)
        return OneLoop(loop_handle(self.nest, self.for_op))


@planner(Parallel)
def plan_parallel(step: Parallel, nests: Nests) -> ParallelPlan:
    """
    Legal when no iteration depends on another: the threads run them in any order, and at once.

    Reductions are refused too: the threads would lose each other's updates.
    """
    nest, name = nests.resolve(step.loop)
    for_op = nest.loop(name)
    check_unmarked(step, for_op)
    check_marks_around(step, for_op, (RunMode.THREADS, RunMode.VECTOR))
    check_marks_inside(step, for_op, (RunMode.THREADS,))
    check_structured(step, for_op)
    check_effects(step, for_op)
    # What rfactor would not help against comes first.
    carried = sorted(nest.dependences.carried_by(for_op), key=lambda d: d.reduction is not None)
    if carried:
        raise refuse_dependence(
            step,
            nest.dependences,
            carried[0],
            carried[0].carried_by(for_op),
            what="raced",
            remedy=_remedy(nest, carried[0], for_op),
        )
    return ParallelPlan(nest, for_op)


def _remedy(nest: Nest, dependence: Dependence, for_op: loop.ForOp) -> str:
    name = for_op.loop_name.data
    buffer = dependence.source.buffer
    if dependence.reduction is not None:
        others = parallel_loops(nest, for_op)
        return f"rfactor '{name}'" + (f", or choose {others}" if others else "")
    if is_allocation(buffer) and not _passes_values(dependence, for_op):
        return f"give each iteration a buffer of its own: stage '{loop.buffer_name(buffer)}' at '{name}'"
    others = parallel_loops(nest, for_op)
    return f"choose {others}" if others else "skew the nest, or leave this loop serial"


def _passes_values(dependence: Dependence, for_op: loop.ForOp) -> bool:
    """Whether an iteration reads what another one wrote, always so many iterations before."""
    position = dependence.common_loops.index(for_op)
    is_flow = dependence.kind is DependenceKind.FLOW
    return is_flow and dependence.distance_vector[position] is not None


LoopParallelPass = step_pass(Parallel)
