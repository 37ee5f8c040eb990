"""Calls of kernels by functions that are parts of their callers, in the place of the calls."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from ...analysis.levels import Level
from ...dialects.copies import copy_of
from ..stepwell_pass import StepwellPass
from ..te.inline_functions import repeated_functions


class LoopInlineFunctionsPass(StepwellPass):
    """
    Put copies of functions that are repeated parts of their callers in the place of the calls.

    Before: `@main` calls `@layer(%x, %w1, %y)` and `@layer(%y, %w2, %z)`, each of which calls two kernels, with a buffer
    between them. After: it calls these itself, and has the buffers, whose memory is planned as that of its others.
    """

    name = "loop-inline-functions"
    level_in = Level.LOOP
    level_out = Level.LOOP

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function, calls in repeated_functions(op):
            for call in calls:
                inline(call, function)
            Rewriter.erase_op(function)


def inline(call: func.CallOp, function: func.FuncOp) -> None:
    """Put a copy of the body of a function over buffers in the place of a call of it."""
    block = function.body.block
    inside: dict[SSAValue, SSAValue] = dict(zip(block.args, call.arguments, strict=True))
    for op in block.ops:
        if not isinstance(op, func.ReturnOp):
            Rewriter.insert_op(copy_of(op, inside), InsertPoint.before(call))
            continue
        for old, value in zip(call.results, op.arguments, strict=True):
            old.replace_all_uses_with(inside[value])
    Rewriter.erase_op(call)
