"""Where in the user's file the call stands that is being traced, and what things are called there."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from itertools import islice
from types import CodeType, FrameType, TracebackType
from typing import Any, Generic, NamedTuple, TypeVar, cast

_PACKAGE = __name__.partition(".")[0]

MadeT = TypeVar("MadeT")

_INTERNAL = tuple(
    f"{_PACKAGE}.{part}"
    for part in ("analysis", "dialects", "frontend", "interpreters", "lowering", "runtime", "tools")
)


class Place(NamedTuple):
    """A position in a file; lines and columns are counted from 1."""

    filename: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.filename}:{self.line}:{self.column}"


def call_site() -> Place | None:
    """The position of the nearest call, up the stack, that is not in Stepwell itself."""
    frame = next(_user_frames(), None)
    return None if frame is None else _place(frame, frame.f_lasti, frame.f_lineno)


class CallSites(Generic[MadeT]):
    """
    What is made of positions as `call_site` gives them, once for each instruction of a user's function: one that is called
    again, or stands in a loop, records the same lines.
    """

    def __init__(self, make: Callable[[Place], MadeT]):
        self._make = make
        # The code is kept so that its identity is not given to another.
        self._made: dict[tuple[int, int], tuple[CodeType, MadeT]] = {}

    def __call__(self) -> MadeT | None:
        """What is made of the position of the nearest call outside of Stepwell; None where there is none."""
        frame = next(_user_frames(), None)
        if frame is None:
            return None
        key = id(frame.f_code), frame.f_lasti
        known = self._made.get(key)
        if known is None:
            made = self._make(_place(frame, frame.f_lasti, frame.f_lineno))
            known = self._made[key] = frame.f_code, made
        return known[1]


def call_site_text() -> str | None:
    """`FILE:LINE:COL` of the nearest call outside Stepwell."""
    place = call_site()
    return None if place is None else str(place)


def raise_site_text(traceback: TracebackType | None) -> str | None:
    """`FILE:LINE:COL` of the innermost call outside Stepwell that an exception went through."""
    found: Place | None = None
    while traceback is not None:
        if not _is_internal(traceback.tb_frame):
            found = _place(traceback.tb_frame, traceback.tb_lasti, traceback.tb_lineno)
        traceback = traceback.tb_next
    return None if found is None else str(found)


def name_of(value: object) -> str | None:
    """
    What the function being traced calls an object: a local, captured or global variable, an attribute or
    item of one; None when it has no name there.
    """
    for frame in _user_frames():
        variables = dict(frame.f_locals)
        for name in frame.f_code.co_names:
            if name in frame.f_globals:
                variables.setdefault(name, frame.f_globals[name])
        for name, candidate in variables.items():
            if candidate is value:
                return name
        for candidate in variables.values():
            for name, member in _members(candidate):
                if member is value:
                    return name
    return None


def _members(holder: object) -> Iterable[tuple[str, object]]:
    """The named parts of a dictionary or of an instance of a user's class."""
    if isinstance(holder, dict):
        items = list(cast("dict[Any, object]", holder).items())
        return [(key, value) for key, value in items if isinstance(key, str)]
    if type(holder).__module__ in ("builtins", "numpy"):
        return ()
    return list(cast("dict[str, object]", getattr(holder, "__dict__", {})).items())


def _user_frames() -> Iterator[FrameType]:
    """The frames of the nearest stretch of the stack that is not in Stepwell itself, innermost first."""
    frame: FrameType | None = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    while frame is not None and _is_internal(frame):
        frame = frame.f_back
    while frame is not None and not _is_internal(frame):
        yield frame
        frame = frame.f_back


def _is_internal(frame: FrameType) -> bool:
    # Asked of a dozen frames for each operation that is recorded.
    return _is_internal_module(frame.f_code.co_filename, str(frame.f_globals.get("__name__")))


@lru_cache(maxsize=4096)
def _is_internal_module(filename: str, name: str) -> bool:
    if filename.startswith("<frozen"):  # modules of Python's own
        return True
    return (
        name == _PACKAGE
        or name.startswith(_INTERNAL)
        or name.partition(".")[0] in ("numpy", "xdsl")
    )


def _place(frame: FrameType, instruction: int, line: int) -> Place:
    # co_positions has one entry per instruction, which are two bytes each.
    position = next(islice(frame.f_code.co_positions(), instruction // 2, None), None)
    found_line, _, column, _ = position or (None, None, None, None)
    return Place(frame.f_code.co_filename, found_line or line, 1 if column is None else column + 1)
