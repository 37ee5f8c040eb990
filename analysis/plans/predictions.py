"""Predictions of many kernels, which whoever has processes for that may make side by side."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeAlias

from ...targets.target import Target
from ..facts import KernelFacts
from .cost import Cost
from .kernel_cost import predicted

Asked: TypeAlias = tuple[KernelFacts, Target]

Spread: TypeAlias = Callable[
    [Callable[[Asked], "Cost | None"], Sequence[Asked]], "list[Cost | None]"
]
"""What calls a function of a module with each of many arguments that can be pickled, and gives the answers."""

MOST_KNOWN = 1024
"""Kernels whose predictions are remembered: several passes ask for the same ones."""

_known: dict[Asked, Cost | None] = {}

_spread: ContextVar[Spread | None] = ContextVar("_spread", default=None)


@contextmanager
def predicting_by(spread: Spread) -> Generator[None]:
    """Let passes inside make predictions so: `with predicting_by(workers.answers): …`."""
    token = _spread.set(spread)
    try:
        yield
    finally:
        _spread.reset(token)


def predicted_each(kernels: Sequence[KernelFacts], target: Target) -> list[Cost | None]:
    """What each of some kernels is predicted to take, as of `predicted`; of equal ones once."""
    asked, known = [(facts, target) for facts in kernels], dict(_known)
    missing = [one for one in dict.fromkeys(asked) if one not in known]
    spread = _spread.get()
    if spread is None or len(missing) < 2:
        costs = [*map(_predicted, missing)]
    else:
        costs = spread(_predicted, missing)
    found = dict(zip(missing, costs, strict=True))
    known |= found
    if len(_known) + len(found) > MOST_KNOWN:
        _known.clear()
    _known.update(found)
    return [known[one] for one in asked]


def _predicted(asked: Asked) -> Cost | None:
    return predicted(*asked)
