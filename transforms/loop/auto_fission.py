"""loop-auto-fission: imperfect nests as perfect ones, for the passes that need those."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp

from ...analysis.levels import Level
from ...dialects import loop
from ...dialects.schedule.steps import Fission
from ...frozen import frozen
from ..step_support.auto import functions_with_loops, target, try_step
from ..step_support.nest import Nests
from ..step_support.rewrite import body_ops
from ..stepwell_pass import StepwellPass


@frozen
class LoopAutoFissionPass(StepwellPass):
    """
    Distribute loops that have a loop and something beside it in their body, where it is legal.

    Before: `for i: for j: (C[i, j] = 0; for k: C[i, j] += …)`. After: `for i: for j: C[i, j] = 0` then
    `for i.rest: for j.rest: for k: C[i, j] += …`, which `loop-auto-interchange` and `loop-auto-tile` can
    work on. `loop-auto-fuse` is the way back.
    """

    name = "loop-auto-fission"
    level_in = Level.LOOP
    level_out = Level.LOOP
    numerics = "reassociates"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        nests = Nests(op)
        for function in functions_with_loops(op):
            while _distribute_one(function, nests):
                pass


def _distribute_one(function: func.FuncOp, nests: Nests) -> bool:
    """Cut the first loop, innermost first, that can be; whether there was one."""
    loops = [op for op in function.walk() if isinstance(op, loop.ForOp)]
    depth = {op: sum(1 for other in loops if other.is_ancestor(op)) for op in loops}
    for for_op in sorted(loops, key=lambda op: -depth[op]):
        name = target(function, for_op.loop_name.data)
        for after in _cuts(for_op):
            if try_step(Fission(name, after), nests, function, for_op, "makes the nest perfect"):
                return True
    return False


def _cuts(for_op: loop.ForOp) -> Iterator[str]:
    """What to cut after: each loop of the body that something follows, and each store that a loop follows."""
    if for_op.mode is not None:
        return
    parts = [op for op in body_ops(for_op) if isinstance(op, loop.ForOp | loop.IfOp | loop.StoreOp)]
    for part, following in pairwise(parts):
        if isinstance(part, loop.ForOp):
            yield part.loop_name.data
        elif isinstance(part, loop.StoreOp) and isinstance(following, loop.ForOp):
            yield loop.buffer_name(part.buffer) or ""
