"""`stepwell-opt --why-not`: whether schedule steps are legal, without applying them."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp

from ..dialects.schedule.call_syntax import parse_call
from ..transforms.step_support.nest import Nests
from ..transforms.step_support.planning import plan
from ..transforms.step_support.refusal import Refusal


def answers(module: ModuleOp, calls: Sequence[str]) -> str:
    """
    For each step, written as a call, one line: `legal` or its refusal. The module is left as it is.

    Raises StepwellError for what is no step, or one about loops and buffers that are not there.
    """
    nests = Nests(module)
    return "".join(f"{_answer(call, nests)}\n" for call in calls)


def _answer(call: str, nests: Nests) -> str:
    try:
        plan(parse_call(call), nests)
    except Refusal as refusal:
        return str(refusal)
    return "legal"
