"""pragma: a note on a loop for later stages."""

from __future__ import annotations

import re
from dataclasses import dataclass

from xdsl.dialects.builtin import StringAttr, UnitAttr

from ...dialects import loop
from ...dialects.schedule.steps import Pragma
from ..step_support.nest import Nests
from ..step_support.planning import planner, step_pass
from ..step_support.refusal import refuse

_KEY = re.compile(r"[A-Za-z_][\w.$]*")
"""What stands for a name in the text of attributes without quotes."""


@dataclass(frozen=True)
class PragmaPlan:
    """The loop, and the attribute it gets."""

    for_op: loop.ForOp
    key: str
    value: str

    def apply(self) -> None:
        note = StringAttr(self.value) if self.value else UnitAttr()
        self.for_op.attributes[f"stepwell.pragma.{self.key}"] = note


@planner(Pragma)
def plan_pragma(step: Pragma, nests: Nests) -> PragmaPlan:
    """Always legal: nothing changes but the note. Without a value it is a mark."""
    nest, name = nests.resolve(step.loop)
    if _KEY.fullmatch(step.key) is None:
        raise refuse(
            step,
            f"key is '{step.key}', expected letters, digits, '.', '_' or '$', a letter or '_' first",
        )
    return PragmaPlan(nest.loop(name), step.key, step.value)


LoopPragmaPass = step_pass(Pragma)
