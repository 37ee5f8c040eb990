"""nontemporal: a hint that what is stored in a buffer is not used soon."""

from __future__ import annotations

from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import SSAValue

from ...dialects import loop
from ...dialects.loop import NONTEMPORAL, Scope
from ...dialects.schedule.steps import Nontemporal
from ...frozen import frozen
from ..step_support.handles import buffer_handle
from ..step_support.made import OneBuffer
from ..step_support.nest import Nest, Nests
from ..step_support.planning import planner, step_pass
from ..step_support.refusal import refuse

_KEPT_NEAR = (Scope.REGISTER, Scope.STACK)


@frozen
class NontemporalPlan:
    """The buffer, and the stores that get the hint."""

    nest: Nest
    buffer: SSAValue
    stores: tuple[loop.StoreOp, ...]

    def apply(self) -> OneBuffer:
        """`loop.store %v, %A[%i]` → `loop.store %v, %A[%i] {nontemporal}`."""
        for store in self.stores:
            store.attributes[NONTEMPORAL] = UnitAttr()
        return OneBuffer(buffer_handle(self.nest, self.buffer))


@planner(Nontemporal)
def plan_nontemporal(step: Nontemporal, nests: Nests) -> NontemporalPlan:
    """Legal for any buffer in memory that the function stores to: a hint changes nothing."""
    nest, name = nests.resolve(step.buffer)
    buffer = nest.buffer(name)
    alloc = buffer.owner
    if isinstance(alloc, loop.AllocOp) and alloc.scope.data in _KEPT_NEAR:
        raise refuse(
            step,
            f"'%{name}' has scope '{alloc.scope.data.value}', and is to stay near",
            remedy="choose a buffer in memory",
        )
    stores = [u.operation for u in buffer.uses if isinstance(u.operation, loop.StoreOp)]
    if not stores:
        raise refuse(
            step, f"nothing is stored to '%{name}'", remedy="choose a buffer that is written"
        )
    return NontemporalPlan(nest, buffer, tuple(stores))


LoopNontemporalPass = step_pass(Nontemporal)
