"""
Pages of memory that a thread asks the system for, before there is anything to be written to them.

A program's weights, packed or copied, are written once, at load, to memory that no page of is there yet: hundreds of
megabytes, which in a virtual machine take seconds. Until then one processor compiles, and others may have nothing to do.
"""

from __future__ import annotations

from threading import Thread
from typing import Self

import numpy as np

from ..background import try_start
from .large_memory import (
    ASKED_BYTES,
    HUGE_PAGE,
    POPULATE_WRITE,
    Regions,
    first_page,
    madvise,
    mapped,
)
from .machine import allowed_cpus

_WORTH_BYTES = 1 << 23
"""Less is there in a few milliseconds, in which a thread starts and ends."""

_DONT_NEED = 4
"""MADV_DONTNEED."""

_MORE_THAN_EXPECTED = 2
"""Packed weights are padded: addresses for so many times the bytes that are expected. They cost nothing."""


class PagesAhead:
    """
    Memory for about `expected` bytes, whose pages a thread asks for at once, as long as nothing is known of how many it
    will be.

    When it is (`regions`), the thread goes on from the other end, towards who writes from the start on.
    """

    def __init__(self, expected: int):
        self._ask = madvise() if expected >= _WORTH_BYTES and len(allowed_cpus()) > 1 else None
        self._expected = expected
        self._used: int | None = None
        """bytes that are going to be written; None until that is known"""
        self._there = 0
        """bytes whose pages are there, from the start on"""
        self._memory: np.ndarray | None = None
        self._thread: Thread | None = None
        if self._ask is not None:
            self._memory = mapped(expected * _MORE_THAN_EXPECTED + HUGE_PAGE)
            self._start()

    def regions(self, size: int) -> Regions:
        """Where to put arrays of `size` bytes in all, which are going to be written now in their order."""
        memory, self._memory, self._used = self._memory, None, size
        if memory is None or memory.size < size + HUGE_PAGE:
            self._used = 0
            return Regions(size)
        if self._thread is not None and not self._thread.is_alive():
            self._start(memory)
        return Regions(size, first=memory)

    def let_go(self) -> None:
        """Ask for nothing more. What nobody has taken is given back."""
        self._memory = None
        if self._used is None:
            self._used = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.let_go()

    def _start(self, memory: np.ndarray | None = None) -> None:
        memory = self._memory if memory is None else memory
        thread = Thread(target=self._work, args=(memory,), daemon=True)
        self._thread = thread if try_start(thread) else None

    def _work(self, memory: np.ndarray) -> None:
        ask, start = self._ask, memory.ctypes.data + first_page(memory)
        assert ask is not None
        while self._used is None and self._there < self._expected:
            if not ask(start + self._there, ASKED_BYTES, POPULATE_WRITE):
                return
            self._there += ASKED_BYTES
        if self._used is None:
            return  # it goes on when that is known
        end = -(-self._used // HUGE_PAGE) * HUGE_PAGE
        if end < self._there:
            ask(start + end, self._there - end, _DONT_NEED)
        while end > self._there:
            part = min(ASKED_BYTES, end - self._there)
            end -= part
            if not ask(start + end, part, POPULATE_WRITE):
                return
