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
    """What each of some kernels is predicted to take, as of `predicted`."""
    spread, asked = _spread.get(), [(facts, target) for facts in kernels]
    if spread is None or len(asked) < 2:
        return [*map(_predicted, asked)]
    return spread(_predicted, asked)


def _predicted(asked: Asked) -> Cost | None:
    return predicted(*asked)
