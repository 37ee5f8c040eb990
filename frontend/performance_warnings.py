"""Warnings about programs that are right and slow: loops that are unrolled, functions that are compiled again and again."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from xdsl.dialects.builtin import FileLineColLoc

from ..errors import PerformanceWarning
from .active import active
from .call_site import call_site

MOST_REPEATS = 200
"""So many operations of one line are taken for a loop of Python's."""

MOST_COMPILATIONS = 10


class RepeatedLines:
    """Counts how often each of the user's lines is recorded while a function is traced."""

    def __init__(self) -> None:
        self._calls: dict[FileLineColLoc, tuple[int, int]] = {}
        """By line, the number of the call that was recorded last, and how many there were."""
        self._warned = False

    def count(self, line: FileLineColLoc) -> None:
        """Count a line, once for each call of a public function there: such a call may record many operations."""
        last, number = self._calls.get(line, (-1, 0))
        if last == active.calls:
            return
        self._calls[line] = active.calls, number + 1
        if number + 1 == MOST_REPEATS and not self._warned:
            self._warned = True
            _warn(
                f"found a line that is traced {MOST_REPEATS} times and more, expected a loop that is compiled as one: a "
                "Python loop is unrolled, and takes long to compile; write stepwell.fori_loop, or stepwell.scan over "
                "arrays",
                (line.filename.data, line.line.data),
            )


class Compilations:
    """What a function was compiled for."""

    def __init__(self, name: str):
        self._name = name
        self._keys: list[dict[str, tuple[Any, ...]]] = []

    def add(self, names: Sequence[str], keys: Sequence[tuple[Any, ...]]) -> None:
        """Add what its arguments were; keys are (dtype, shape) of arrays and (type, value) of plain values."""
        self._keys.append(dict(zip(names, keys, strict=True)))
        if len(self._keys) == MOST_COMPILATIONS:
            found, remedy = self._reason()
            place = call_site()
            _warn(
                f"found '{self._name}' compiled {MOST_COMPILATIONS} times{found}, expected few times; {remedy}",
                None if place is None else (place.filename, place.line),
            )

    def _reason(self) -> tuple[str, str]:
        """What differs from call to call, and what to do."""
        differing = {
            name: kinds
            for name in self._keys[-1]
            if len(kinds := {key.get(name) for key in self._keys}) > 1
        }
        if not differing:
            return ", for other nesting of its arguments each time", "give them one nesting"
        name = max(differing, key=lambda one: len(differing[one]))
        if isinstance(self._keys[-1][name][0], type):
            return (
                f", for {len(differing[name])} values of '{name}'",
                f"pass it as an array, numpy.asarray({name}), unless shapes depend on it",
            )
        return (
            f", for {len(differing[name])} shapes and dtypes of '{name}'",
            "pad it to few shapes, or loop over pieces of one shape",
        )


def _warn(message: str, place: tuple[str, int] | None) -> None:
    """Warn, at a file and a line of it where they are known."""
    if place is None:
        warnings.warn(message, PerformanceWarning, stacklevel=3)
        return
    warnings.warn_explicit(message, PerformanceWarning, *place)
