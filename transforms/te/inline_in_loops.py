"""Small kernels of the steps of a loop, which stand in the loop instead of being called at each step."""

from __future__ import annotations

from math import prod

from xdsl.context import Context
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp, UnitAttr

from ...analysis.cost import body_cost
from ...analysis.levels import Level
from ...analysis.operations import operations_in
from ...dialects import te
from ..remarks import remark
from ..stepwell_pass import StepwellPass

INLINED = 64.0
"""
The most that all elements of a kernel cost where it is inlined, in additions.

A core does two to four additions of scalars a cycle, so that these take 16 to 32 cycles. A call takes as long: it saves
registers, and what the one kernel stored and the next one loads goes through the store buffer, for some five cycles.
A longer kernel gains more from a schedule of its own, which it has only as a function.
"""


class TeInlineInLoopsPass(StepwellPass):
    """
    Mark small kernels over buffers `inline` where steps of `scf.for` or `scf.while` would call them.

    Before: `scf.for ... { te.kernel "next" ... }`. After: `scf.for ... { te.kernel inline "next" ... }`, whose nests
    convert-te-to-loop writes into the loop. What one such kernel writes for another can then stay in registers.
    """

    name = "te-inline-in-loops"
    level_in = Level.TE
    level_out = Level.TE

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        loops = [inner for inner in operations_in(op) if isinstance(inner, scf.ForOp | scf.WhileOp)]
        kernels = {k: None for each in loops for k in operations_in(each)}
        for kernel in kernels:
            if isinstance(kernel, te.KernelOp) and kernel.inline is None and kernel.destinations:
                _inline(kernel)


def _inline(kernel: te.KernelOp) -> None:
    cost, name = _cost(kernel), kernel.kernel_name.data
    if cost is None:
        return
    if cost > INLINED:
        reason = f"costs {cost:g} additions, more than {INLINED:g}"
        remark(kernel, f"'{name}' is called at each step: it {reason}", missed=True)
        return
    kernel.inline = UnitAttr()
    remark(kernel, f"'{name}' stands in the loop: it costs {cost:g} additions")


def _cost(kernel: te.KernelOp) -> float | None:
    """What all elements of a kernel's computes cost, in additions; None where that is not known."""
    cost = 0.0
    for op in kernel.body.block.ops:
        if isinstance(op, te.ComputeOp):
            extents = op.static_extents
            if DYNAMIC_INDEX in extents:
                return None
            # Each element is stored at least, or added up.
            cost += prod(extents) * max(body_cost(op) + (op.combining is not None), 1.0)
        elif not isinstance(op, arith.ConstantOp | te.YieldOp):
            return None
    return cost
