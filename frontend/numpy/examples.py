"""Docstrings of functions that are made by tables: what each does, and an example of it, which a test runs."""

from __future__ import annotations


def with_example(text: str, call: str, printed: str) -> str:
    """A docstring: what a function does, and, where there is one, a call of it with what that prints."""
    return text if not call else f"{text}\n\n>>> {call}\n{printed}"
