"""
Remarks: what a pass decided about something, and by which numbers, or why it left it as it was.

They are what LLVM calls optimization remarks. A pass says them with `remark`; who wants to know listens
(`stepwell-opt --remarks` does), and without a listener they cost nothing but their text.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar

from xdsl.ir import Operation

from ..errors import location_of
from ..frozen import frozen


@frozen
class Remark:
    """One decision, in one line."""

    message: str
    """What was done and why, or what was not done and why not."""
    where: str | None
    """`FILE:LINE:COL` of what it is about, None when it is not from a file."""
    missed: bool = False
    """Whether it says why nothing was done."""

    def __str__(self) -> str:
        return f"{self.where}: {self.message}" if self.where else self.message


Listener = Callable[[Remark], object]

_listener: ContextVar[Listener | None] = ContextVar("_listener", default=None)


def remark(op: Operation, message: str, *, missed: bool = False) -> None:
    """Tell whoever listens what was decided about an operation."""
    listener = _listener.get()
    if listener is not None:
        listener(Remark(message, location_of(op), missed))


def is_listening() -> bool:
    """Whether anybody is told what passes decide."""
    return _listener.get() is not None


def listen(listener: Listener | None) -> None:
    """Hand all further remarks to `listener`, or to nobody."""
    _listener.set(listener)


@contextmanager
def listening(listener: Listener) -> Generator[None]:
    """Hand the remarks made inside to `listener`: `with listening(found.append): …`."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)
