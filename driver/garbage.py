"""Python's garbage collector, kept out of the way of passes."""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def collector_paused() -> Generator[None]:
    """
    Without collections of cyclic garbage. IR is cyclic and made by the hundred thousand: the collector would
    walk a module again and again while a pass builds it, and find nothing.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def collect_youngest() -> None:
    """
    Collect what has become garbage since the last collection, and let the rest age: it is not walked again.

    Between pieces of work that are done while the collector is paused. To collect everything after each kernel took a
    tenth as long as to compile it.
    """
    gc.collect(0)
