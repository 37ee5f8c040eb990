"""
The functions behind the operators, the methods and NumPy's functions of a Tensor, by name.

They take and make Tensors, so that their modules import Tensor's; it finds them here, where `public.py` enters
them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

_functions: dict[str, Callable[..., Any]] = {}
_hints: dict[str, str] = {}


def enter(functions: Mapping[str, Callable[..., Any]]) -> None:
    """Let Tensors find these functions by these names."""
    _functions.update(functions)


def function_named(name: str) -> Callable[..., Any] | None:
    """The function of that name, or None when there is none."""
    return _functions.get(name)


def call(name: str, *args: Any, **kwargs: Any) -> Any:
    """What the function of that name gives for these arguments."""
    return _functions[name](*args, **kwargs)


def enter_hints(hints: Mapping[str, str]) -> None:
    """Let messages about functions that there are not say so."""
    _hints.update(hints)


def hint_of(name: str) -> str | None:
    """What to write in place of a function that there is not; None where that is not known."""
    return _hints.get(name)
