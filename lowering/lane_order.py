"""Whether the lanes of vector loops may run in any order."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from xdsl.dialects import func
from xdsl.ir import Operation

from ..analysis.dependence import Dependences
from ..analysis.recurrences import is_recurrence, recurrences
from ..analysis.reductions import ReductionUpdate
from ..dialects import loop
from ..errors import StepwellError


def check_lanes(
    function: func.FuncOp,
    updates: Mapping[Operation, ReductionUpdate],
    running: Mapping[loop.ForOp, Collection[ReductionUpdate]],
) -> None:
    """
    Check that the lanes of the vector loops of a function do not have to run one after the other.

    loop-vectorize has refused such loops, but what it took for a reduction may no longer be one to see.

    Raises StepwellError.
    """
    dependences: Dependences | None = None
    for for_op, prefixes in running.items():
        own = {op for update in prefixes for op in (update.load, update.store)}
        for pair in recurrences(for_op, updates.keys() | own if own else updates):
            if len(function.body.blocks) == 1:
                dependences = dependences or Dependences(function)
                if not is_recurrence(pair, for_op, dependences):
                    continue
            load, store = pair
            name = loop.buffer_name(load.buffer) or "a buffer"
            raise StepwellError(
                f"found a vector loop '{for_op.loop_name.data}' whose lanes load the element of '{name}' that the lane before "
                "stores, by what is no reduction that may be reordered, expected lanes in any order; mark another loop",
                op=store,
            )
