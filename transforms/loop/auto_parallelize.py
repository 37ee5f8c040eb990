"""loop-auto-parallelize: the outermost loop whose iterations are independent, on threads."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from ...analysis.levels import Level
from ...analysis.locality import Trips
from ...dialects import loop
from ...dialects.schedule.steps import Parallel
from ...frozen import frozen
from ..remarks import remark
from ..step_support.auto import functions_with_loops, nest_of, target, trips_inside, try_step
from ..step_support.nest import Nests
from ..stepwell_pass import StepwellPass


@frozen
class LoopAutoParallelizePass(StepwellPass):
    """
    Mark the outermost parallel loop of each nest to run on threads.

    Before: `for i: for j: C[i, j] = …`. After: `for threads i: for j: C[i, j] = …`. A loop must have at
    least two iterations and, each time it runs, at least `grain` loads and stores inside: starting the
    threads takes microseconds. Where the outer loop is not parallel, or too small, the loops inside of
    it are looked at.
    """

    name = "loop-auto-parallelize"
    level_in = Level.LOOP
    level_out = Level.LOOP

    zero_has_meaning = frozenset({"grain"})

    grain: int = 16384

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        nests = Nests(op)
        for function in functions_with_loops(op):
            _parallelize(list(function.body.block.ops), self.grain, function, nests)


def _parallelize(ops: Sequence[Operation], grain: int, function: func.FuncOp, nests: Nests) -> None:
    for op in ops:
        if isinstance(op, loop.ForOp) and _is_marked(op, grain, function, nests):
            continue
        for region in op.regions:
            for block in region.blocks:
                _parallelize(list(block.ops), grain, function, nests)


def _is_marked(for_op: loop.ForOp, grain: int, function: func.FuncOp, nests: Nests) -> bool:
    """Mark the loop if it is worth it; whether it runs on threads now (or did before)."""
    if for_op.mode is not None:
        return True
    trips = trips_inside(nest_of(function, nests), for_op)
    work = _work(for_op, trips)
    if trips[for_op] < 2 or work < grain:
        remark(
            for_op,
            f"loop '{for_op.loop_name.data}' not on threads: {trips[for_op]} iterations, {work} "
            f"loads and stores, expected at least 2 and {grain}",
            missed=True,
        )
        return False
    step = Parallel(target(function, for_op.loop_name.data))
    reason = f"the outermost parallel loop, {trips[for_op]} iterations, {work} loads and stores"
    return try_step(step, nests, function, for_op, reason)


def _work(for_op: loop.ForOp, trips: Trips) -> int:
    """How many loads and stores the loop runs."""
    total = 0
    for op in for_op.walk():
        if isinstance(op, loop.LoadOp | loop.StoreOp):
            total += prod(trips[around] for around in trips if around.is_ancestor(op))
    return total
