"""loop-auto-unroll-and-jam: several rows at a time where they use the same elements."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp

from ...analysis.levels import Level
from ...analysis.locality import Reference, references
from ...dialects import loop
from ...dialects.schedule.steps import UnrollAndJam
from ...frozen import frozen
from ..remarks import remark
from ..step_support.auto import bands, functions_with_loops, nest_of, target, trips_inside, try_step
from ..step_support.nest import Nests
from ..stepwell_pass import StepwellPass


@frozen
class LoopAutoUnrollAndJamPass(StepwellPass):
    """
    Unroll and jam the outer loop whose iterations use the most elements in common.

    Before: `for i: for k: c[i] += A[i, k] * b[k]`. After: `for i step 4: for k: c[i] += A[i, k] * b[k]; …;
    c[i + 3] += A[i + 3, k] * b[k]`, which loads `b[k]` once for four rows. The factor is at most
    `factor`, and no more than what `registers` hold: one for each element that the copies do not share.
    """

    name = "loop-auto-unroll-and-jam"
    level_in = Level.LOOP
    level_out = Level.LOOP
    numerics = "reassociates"

    factor: int = 4
    registers: int = 16
    tail: str = "peel"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        nests = Nests(op)
        for function in functions_with_loops(op):
            for band in bands(function):
                if len(band) > 1 and all(for_op.mode is None for for_op in band):
                    self._unroll_and_jam(band, function, nests)

    def _unroll_and_jam(
        self, band: Sequence[loop.ForOp], function: func.FuncOp, nests: Nests
    ) -> None:
        trips = trips_inside(nest_of(function, nests), band[0])
        refs = references(band[-1])
        shared = {op: [r for r in refs if r.stride(op) == 0] for op in band[:-1]}
        # Of equals the innermost: its copies are nearest to each other.
        for for_op in sorted(band[:-1], key=lambda op: (-len(shared[op]), -band.index(op))):
            own = len(refs) - len(shared[for_op])
            room = (self.registers - len(shared[for_op])) // own if own else self.factor
            factor = min(self.factor, room, trips[for_op])
            if not shared[for_op] or factor < 2:
                remark(for_op, self._declined(for_op, shared[for_op], own, factor), missed=True)
                continue
            step = UnrollAndJam(target(function, for_op.loop_name.data), factor, self.tail)
            names = ", ".join(
                sorted({f"%{loop.buffer_name(r.buffer) or '?'}" for r in shared[for_op]})
            )
            reason = f"the copies share elements of {names}"
            if try_step(step, nests, function, for_op, reason):
                return

    def _declined(
        self, for_op: loop.ForOp, shared: Sequence[Reference], own: int, factor: int
    ) -> str:
        name = f"loop '{for_op.loop_name.data}' not unrolled"
        if not shared:
            return f"{name}: its iterations use no elements in common"
        return (
            f"{name}: a factor of {factor} is left by {own} elements of each copy and {len(shared)} "
            f"shared ones in {self.registers} registers, and a factor of at most {self.factor}"
        )
