"""loop-auto-interchange: the order of loops in which memory is read and written consecutively."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp

from ...analysis.levels import Level
from ...analysis.locality import loop_cost, references
from ...dialects import loop
from ...dialects.schedule.steps import Reorder
from ...frozen import frozen
from ..remarks import remark
from ..step_support.auto import bands, functions_with_loops, nest_of, target, trips_inside, try_step
from ..step_support.nest import Nests
from ..stepwell_pass import StepwellPass


@frozen
class LoopAutoInterchangePass(StepwellPass):
    """
    Reorder perfectly nested loops so that the innermost one touches the fewest cache lines.

    Before: `for j: for i: B[i, j] = A[i, j]`. After: `for i: for j: B[i, j] = A[i, j]`. The order wanted
    is that of falling cost, where a loop's cost is the number of cache lines the nest would touch with
    that loop innermost; when it is not legal, the cheapest loop that can be is put innermost. What was
    chosen is noted in the function's attribute `stepwell.chosen`.
    """

    name = "loop-auto-interchange"
    level_in = Level.LOOP
    level_out = Level.LOOP
    numerics = "reassociates"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        nests = Nests(op)
        for function in functions_with_loops(op):
            for band in bands(function):
                if len(band) > 1 and all(for_op.mode is None for for_op in band):
                    _interchange(band, function, nests)


def _interchange(band: Sequence[loop.ForOp], function: func.FuncOp, nests: Nests) -> None:
    nest = nest_of(function, nests)
    trips = trips_inside(nest, band[0])
    refs = references(band[0])
    costs = {for_op: loop_cost(refs, for_op, trips) for for_op in band}
    now = costs[band[-1]]
    for order in _orders(band, costs):
        innermost = order[-1]
        if costs[innermost] > now or list(order) == list(band):
            _keep(band, costs)
            return
        names = tuple(for_op.loop_name.data for for_op in order)
        reason = (
            f"{costs[innermost]:.0f} cache lines with '{innermost.loop_name.data}' innermost, "
            f"{now:.0f} with '{band[-1].loop_name.data}'"
        )
        step = Reorder(target(function, band[0].loop_name.data), names)
        if try_step(step, nests, function, band[0], reason):
            return


def _keep(band: Sequence[loop.ForOp], costs: dict[loop.ForOp, float]) -> None:
    name = band[-1].loop_name.data
    others = ", ".join(f"{costs[op]:.0f} with '{op.loop_name.data}'" for op in band[:-1])
    remark(
        band[0],
        f"order kept: {costs[band[-1]]:.0f} cache lines with '{name}' innermost, {others}",
        missed=True,
    )


def _orders(
    band: Sequence[loop.ForOp], costs: dict[loop.ForOp, float]
) -> Iterator[tuple[loop.ForOp, ...]]:
    """Orders to try, best first; loops of equal cost stay as they are to each other."""
    yield tuple(sorted(band, key=lambda op: -costs[op]))
    # Of equally cheap loops the one that is innermost already.
    for innermost in sorted(band, key=lambda op: (costs[op], -band.index(op))):
        yield (*(op for op in band if op is not innermost), innermost)
