"""The public functions by name, wherever they stand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from . import array_functions, functions
from .traceable import is_public

_TABLES: tuple[Mapping[str, Any], ...] = (vars(functions), vars(array_functions))


def public(name: str) -> Callable[..., Any] | None:
    """The public function called `name`, or None when there is none."""
    found = next((table[name] for table in _TABLES if name in table), None)
    return found if is_public(found) else None


def public_names() -> list[str]:
    """The names of all public functions."""
    return sorted({name for table in _TABLES for name in table if public(name) is not None})
