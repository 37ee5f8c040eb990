"""Whether what loops read is computed in them, instead of being stored: what `te-compute-in-loops` asks."""

from __future__ import annotations

from math import prod

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineConstantExpr

from ...dialects import loop, te
from ...dialects.shaped import tensor_type
from ...frozen import frozen
from ..cost import CHEAP, body_cost
from ..operations import used_from_above

BLOCK = 64
"""
Steps of a block, where elements are computed ahead of these: a vector of bytes on any target. So few, of three operations
each, wait for one another in a core's reorder buffer, which has 224 entries and more (Intel since Skylake, AMD since Zen:
Fog, "The microarchitecture of Intel, AMD and VIA CPUs"), while the next block's elements are computed.
"""

LEAST_STEPS = 2048
"""Steps from which a loop is cut into blocks."""

WAITING = 2 * CHEAP
"""What a step may do while it waits for the one before, in additions: a sum of floats takes four cycles, of as many operations each."""


@frozen
class ComputedOperand:
    """An operand of loops that is computed in them: at its loads, or, with `ahead`, a block of that loop ahead of them."""

    source: SSAValue
    """the operand, as the loops see it"""
    loads: tuple[loop.LoadOp, ...]
    ahead: loop.ForOp | None = None


def plan_operand(
    loops: te.LoopsOp, number: int, compute: te.ComputeOp, *, most: float = CHEAP
) -> ComputedOperand | str:
    """
    How the elements that `compute` defines are computed in the loops that read them as their source of this number, or why
    they are not.

    Each is to be computed once at most. One that costs at most `most` additions is computed where it is read; others a block at a time, in
    loops of their own, where vectors may compute many at once though the steps that read them wait for one another.
    """
    argument = loops.source_args[number]
    reason = _why_not_element(compute)
    if reason is not None:
        return reason
    loads = [use.operation for use in argument.uses]
    if not all(isinstance(op, loop.LoadOp) for op in loads):
        return "the loops read it at computed indices"
    found = tuple(op for op in loads if isinstance(op, loop.LoadOp))
    times = [runs_in(op, loops) for op in found]
    known = [count for count in times if count is not None]
    elements = prod(tensor_type(loops.sources[number]).get_shape())
    if len(known) < len(times) or sum(known) > elements:
        return "the loops read its elements more than once"
    if body_cost(compute) <= most:
        return ComputedOperand(argument, found)
    ahead = _streaming_loop(found)
    if isinstance(ahead, str):
        return ahead
    return ComputedOperand(argument, found, ahead)


def _why_not_element(compute: te.ComputeOp) -> str | None:
    """Why no element of a compute can be made by itself."""
    if compute.combiners or DYNAMIC_INDEX in compute.static_extents:
        return "it is a reduction, or has extents that are values"
    if len(compute.outputs) > 1:
        return "others need results that are computed with it"
    if used_from_above(compute.body):
        return "it needs values that the loops have not"
    return None


def runs_in(op: Operation, loops: te.LoopsOp) -> int | None:
    """How often an operation of loops runs; None where that depends on values."""
    count, around = 1, op.parent_op()
    while around is not loops:
        trips = around.constant_trip_count() if isinstance(around, loop.ForOp) else None
        if trips is None or around is None:
            return None
        count *= trips
        around = around.parent_op()
    return count


def _streaming_loop(loads: tuple[loop.LoadOp, ...]) -> loop.ForOp | str:
    """The loop around a single load, whose steps are enough for blocks of them."""
    if len(loads) != 1:
        return "the loops read it in several places"
    around = loads[0].parent_op()
    if not isinstance(around, loop.ForOp):
        return "the loops read one element"
    trips, lower = around.constant_trip_count(), around.lower_map.data.results
    starts_at_0 = lower == (AffineConstantExpr(0),) and around.step.value.data == 1
    if trips is None or trips < LEAST_STEPS or not starts_at_0:
        return "the loop that reads it is short"
    return around
