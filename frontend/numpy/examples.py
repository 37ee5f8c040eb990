"""Docstrings of functions that are made by tables: what each does, and an example of it, which a test runs."""

from __future__ import annotations


def with_example(text: str, call: str, printed: str) -> str:
    """A docstring: what a function does, a call of it, and what that prints."""
    return f"{text}\n\n>>> {call}\n{printed}"
