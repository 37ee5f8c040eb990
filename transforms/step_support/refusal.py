"""Why a schedule step is refused, said in one line."""

from __future__ import annotations

from typing import cast

import islpy as isl

from ...analysis.dependence import Dependence, Dependences
from ...analysis.scop import Access
from ...dialects import loop
from ...dialects.schedule import Step
from ...errors import StepwellError, location_of


class Refusal(StepwellError):
    """
    A step that would change results, or that cannot be carried out. The IR is as it was.

    `reason` is the message without the step and the words "is refused".
    """

    def __init__(self, message: str, reason: str = ""):
        super().__init__(message)
        self.reason = reason or message


def refuse(step: Step, reason: str, *, remedy: str = "") -> Refusal:
    """The refusal of a step for a reason, with what to do instead when something is known."""
    tail = f"; {remedy}" if remedy else ""
    return Refusal(f"{describe(step)} is refused: {reason}{tail}", f"{reason}{tail}")


def refuse_dependence(
    step: Step,
    dependences: Dependences,
    dependence: Dependence,
    pairs: isl.Map,
    *,
    what: str = "swapped",
    remedy: str = "",
) -> Refusal:
    """
    The refusal because of a dependence, with a concrete pair of iterations out of `pairs`.

    `what` says what would happen to the pair (`swapped`, `run at the same time` …).
    """
    witness = dependences.witness(pairs, dependence.source, dependence.sink)
    reason = (
        f"{access_text(dependence.sink)} must come after {access_text(dependence.source)}: "
        f"{dependence.describe()}; iterations {witness} would be {what}"
    )
    source, sink = dependence.source.buffer, dependence.sink.buffer
    if source is not sink:
        remedy = f"mark '%{loop.buffer_name(sink)}' stepwell.noalias if it is memory of its own"
    return refuse(step, reason, remedy=remedy)


def describe(step: Step) -> str:
    """The step as it is written in Python: `split("f/i", factor=4)`."""
    entries = list(step.parameters.items())
    first = [repr_of(entries[0][1])] if entries else []
    rest = [f"{name}={repr_of(value)}" for name, value in entries[1:]]
    return f"{step.keyword}({', '.join([*first, *rest])})"


def repr_of(value: object) -> str:
    """A parameter's value in Python's syntax, with double quotes."""
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, tuple):
        return f"[{', '.join(map(repr_of, cast('tuple[object, ...]', value)))}]"
    return repr(value)


def access_text(access: Access) -> str:
    """An access as messages name it: `the store to '%T' (file:line:column)`."""
    verb = "the store to" if access.is_write else "the load of"
    name = loop.buffer_name(access.buffer) or "a buffer"
    where = location_of(access.op)
    return f"{verb} '%{name}'" + (f" ({where})" if where else "")
