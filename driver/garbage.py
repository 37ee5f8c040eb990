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

    What was made meanwhile is collected as young objects afterwards. The collector by itself would do so at the next object,
    and take it as the time to walk all that is imported as well, whenever it has counted enough collections. Nothing is
    collected where the threshold is 0, by which a program does without collections.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            if 0 < gc.get_threshold()[0] < gc.get_count()[0]:
                collect_youngest()
            gc.enable()


MUCH = 1 << 20
"""
Objects that may refer to others, made since the last collection, that are worth a collection: some 80 MB.

Kernels leave some 40 thousand each, half of them garbage. To collect these after each kernel took a tenth as long as to
compile it.
"""


def collect_much() -> None:
    """
    Collect what has become garbage since the last collection where that may be much, and let the rest age: it is not
    walked again.

    Between pieces of work that are done while the collector is paused.
    """
    if gc.get_count()[0] >= MUCH:
        collect_youngest()


def collect_youngest() -> None:
    """Collect what has become garbage since the last collection, while there is nothing else to do."""
    gc.collect(0)
