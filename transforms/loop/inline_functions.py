"""Calls of kernels by functions that are parts of their callers, in the place of the calls."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.rewriter import Rewriter

from ...analysis.levels import Level
from ..inlining import replace_by_body
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
                replace_by_body(call, function)
            Rewriter.erase_op(function)
