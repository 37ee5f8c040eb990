"""
The functions behind the operators, the methods and NumPy's functions of a Tensor, by name.

They take and make Tensors, so that their modules import Tensor's; it finds them here, where `public.py` enters
them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

_functions: dict[str, Callable[..., Any]] = {}


def enter(functions: Mapping[str, Callable[..., Any]]) -> None:
    """Let Tensors find these functions by these names."""
    _functions.update(functions)


def function_named(name: str) -> Callable[..., Any] | None:
    """The function of that name, or None when there is none."""
    return _functions.get(name)


def call(name: str, *args: Any, **kwargs: Any) -> Any:
    """What the function of that name gives for these arguments."""
    return _functions[name](*args, **kwargs)
