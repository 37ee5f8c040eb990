"""Where the loop or buffer stands that a step is about, for its errors."""

from __future__ import annotations

from xdsl.ir import Operation

from ...dialects.schedule import Step
from ...errors import StepwellError, location_of
from .nest import Nests


def place_of(step: Step, nests: Nests) -> str | None:
    """`FILE:LINE:COL` of the loop, the buffer or the function that the step names; None without one."""
    op = _subject(step, nests)
    return None if op is None else location_of(op)


def _subject(step: Step, nests: Nests) -> Operation | None:
    parameters = step.parameters
    target = parameters.get("loop", parameters.get("buffer", parameters.get("function")))
    try:
        if not isinstance(target, str):
            return None
        if "function" in parameters:
            return nests.resolve(f"{target}/")[0].function
        nest, name = nests.resolve(target)
        if "loop" in parameters:
            return nest.loop(name)
        at = parameters.get("at")  # the loop at which something is done to the buffer
        if isinstance(at, str):
            return nest.loop(at)
        owner = nest.buffer(name).owner
        return owner if isinstance(owner, Operation) else nest.function
    except StepwellError:
        return None
