"""set_scope: where a scratch buffer lives."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects import memref
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import SSAValue

from ...dialects import loop
from ...dialects.loop import RunMode, Scope, ScopeAttr
from ...dialects.schedule.steps import SetScope
from ...dialects.shaped import memref_type
from ...frozen import frozen
from ..step_support.handles import buffer_handle
from ..step_support.made import OneBuffer
from ..step_support.nest import Nest, Nests, loops_around
from ..step_support.planning import planner, step_pass
from ..step_support.refusal import refuse
from ..step_support.scopes import LIMITS, check_room


@frozen
class SetScopePlan:
    """The buffer's operation and where it is to live."""

    nest: Nest
    alloc: loop.AllocOp
    scope: Scope

    def apply(self) -> OneBuffer:
        self.alloc.scope = ScopeAttr(self.scope)
        return OneBuffer(buffer_handle(self.nest, self.alloc.buffer))


@planner(SetScope)
def plan_set_scope(step: SetScope, nests: Nests) -> SetScopePlan:
    """Legal when the memory is large enough there, and every thread that uses the buffer reaches it."""
    nest, name = nests.resolve(step.buffer)
    buffer = nest.buffer(name)
    alloc = buffer.owner
    if not isinstance(alloc, loop.AllocOp):
        raise refuse(
            step,
            f"'%{name}' is not a scratch buffer of this function, so it lives where its maker put it",
            remedy="stage it first",
        )
    if step.scope not in tuple(Scope):
        raise refuse(step, f"scope is '{step.scope}', expected one of {', '.join(Scope)}")
    scope = Scope(step.scope)
    type_ = memref_type(buffer)
    if scope in LIMITS and not type_.has_static_shape():
        raise refuse(
            step,
            f"the size of '%{name}' is not constant",
            remedy="choose 'thread' or 'arena', or give it a static shape",
        )
    check_room(step, name, type_, scope)
    if scope in (Scope.REGISTER, Scope.THREAD):
        _check_threads(step, name, alloc)
    if scope is Scope.REGISTER:
        for use in buffer.uses:
            if not isinstance(
                use.operation, loop.LoadOp | loop.StoreOp | memref.LoadOp | memref.StoreOp
            ):
                raise refuse(step, f"'{use.operation.name}' needs the address of '%{name}'")
    return SetScopePlan(nest, alloc, scope)


def _check_threads(step: SetScope, name: str, alloc: loop.AllocOp) -> None:
    around = loops_around(alloc)
    for for_op in _loops_using(alloc.buffer):
        if for_op.mode is not None and for_op.mode.data is RunMode.THREADS and for_op not in around:
            raise refuse(
                step,
                f"the threads of loop '{for_op.loop_name.data}' share '%{name}'",
                remedy="stage it inside of that loop, or choose 'stack' or 'arena'",
            )


def _loops_using(buffer: SSAValue) -> Iterator[loop.ForOp]:
    """The loops around uses of a buffer and of views of it."""
    for use in buffer.uses:
        yield from loops_around(use.operation)
        for result in use.operation.results:
            if isinstance(result.type, MemRefType):
                yield from _loops_using(result)


LoopSetScopePass = step_pass(SetScope)
