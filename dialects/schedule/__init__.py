"""Level S, `schedule`: what to do to a level-3 function, as a list of named steps."""

from __future__ import annotations

from .ops import STEP_OPS, Schedule, ScriptOp, StepOp, op_for
from .step import TAILS, Named, Step
from .steps import STEPS

__all__ = [
    "STEPS",
    "STEP_OPS",
    "TAILS",
    "Named",
    "Schedule",
    "ScriptOp",
    "Step",
    "StepOp",
    "op_for",
]
