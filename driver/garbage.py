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
