"""Functions that are made by tables: their names, and docstrings with an example, which a test runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar

from ..traceable import traceable

P = ParamSpec("P")
R = TypeVar("R")


def presented(
    function: Callable[P, R], name: str, text: str, call: str, printed: str
) -> Callable[P, R]:
    """The function under a public name, with a docstring as `with_example` makes it, to be called at once or traced."""
    function.__name__ = function.__qualname__ = name
    function.__doc__ = with_example(text, call, printed)
    return traceable(function)


def with_example(text: str, call: str, printed: str) -> str:
    """A docstring: what a function does, and, where there is one, a call of it with what that prints."""
    return text if not call else f"{text}\n\n>>> {call}\n{printed}"
