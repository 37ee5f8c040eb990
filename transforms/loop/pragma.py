"""pragma: a note on a loop for later stages."""

from __future__ import annotations

import re

from xdsl.dialects.builtin import StringAttr, UnitAttr

from ...dialects import loop
from ...dialects.schedule.steps import Pragma
from ...frozen import frozen
from ..step_support.handles import loop_handle
from ..step_support.made import OneLoop
from ..step_support.nest import Nest, Nests
from ..step_support.planning import planner, step_pass
from ..step_support.refusal import refuse

_KEY = re.compile(r"[A-Za-z_][\w.$]*")
"""What stands for a name in the text of attributes without quotes."""


@frozen
class PragmaPlan:
    """The loop, and the attribute it gets."""

    nest: Nest
    for_op: loop.ForOp
    key: str
    value: str

    def apply(self) -> OneLoop:
        note = StringAttr(self.value) if self.value else UnitAttr()
        self.for_op.attributes[f"stepwell.pragma.{self.key}"] = note
        return OneLoop(loop_handle(self.nest, self.for_op))


@planner(Pragma)
def plan_pragma(step: Pragma, nests: Nests) -> PragmaPlan:
    """Always legal: nothing changes but the note. Without a value it is a mark."""
    nest, name = nests.resolve(step.loop)
    if _KEY.fullmatch(step.key) is None:
        raise refuse(
            step,
            f"key is '{step.key}', expected letters, digits, '.', '_' or '$', a letter or '_' first",
        )
    return PragmaPlan(nest, nest.loop(name), step.key, step.value)


LoopPragmaPass = step_pass(Pragma)
