"""
Memory for large arrays, on huge pages where that is asked for and the system has them.

A new page costs more than to write it: the system is entered, finds it and fills it with zeros, and inside of a
virtual machine the host does so too. A huge page is one such entry for 512 of them. Linux gives them to what asks for
them (`madvise`), from addresses that are multiples of their size on: arrays that are allocated one by one rarely have
one whole, and so share regions here.
"""

from __future__ import annotations

import ctypes
import mmap
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from threading import Lock

import numpy as np

HUGE_PAGE = 1 << 21
"""Bytes: on x86-64, and on AArch64 with pages of 4 KiB."""

LARGE_BYTES = 1 << 18
"""An array from here on is worth a place in a region."""

_LINE = 64

ASKED_BYTES = HUGE_PAGE
"""
What the system is asked for at a time. While it answers no other thread can map memory, as Python does for many new
objects.
"""

POPULATE_WRITE = 23
"""MADV_POPULATE_WRITE, of Linux 5.14: Python has no name for it."""


def empty_region(size: int, *, huge_pages: bool = True) -> np.ndarray:
    """`size` bytes as uint8 that begin with a huge page: not touched, and with any contents."""
    raw = mapped(size + HUGE_PAGE, huge_pages=huge_pages)
    start = first_page(raw)
    return raw[start : start + size]


def mapped(size: int, *, huge_pages: bool = True) -> np.ndarray:
    """
    New memory, as uint8: its views refer to this array.

    Ordinary pages are sooner there in a virtual machine that gives its free huge pages back to the host (Linux's free
    page reporting): the host then has to find every one anew, and ordinary ones are mostly those used before.
    """
    if not hasattr(mmap, "MAP_PRIVATE"):
        return np.frombuffer(mmap.mmap(-1, size), np.uint8)
    memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if huge_pages and hasattr(mmap, "MADV_HUGEPAGE"):
        with suppress(OSError):  # of a system without them
            memory.madvise(mmap.MADV_HUGEPAGE)
    return np.frombuffer(memory, np.uint8)


def first_page(raw: np.ndarray) -> int:
    return -raw.ctypes.data % HUGE_PAGE


def bring_pages(memory: np.ndarray) -> None:
    """
    Let all pages of new memory be there, before there is anything written to it: to be interrupted for each by itself takes
    a processor half as long again.
    """
    ask = madvise() if memory.nbytes >= LARGE_BYTES else None
    start = memory.ctypes.data
    end = start + memory.nbytes
    start -= start % mmap.PAGESIZE
    while (
        ask is not None
        and start < end
        and ask(start, min(ASKED_BYTES, end - start), POPULATE_WRITE)
    ):
        start += ASKED_BYTES


@cache
def madvise() -> Callable[[int, int, int], bool] | None:
    """
    Give the system advice on so many bytes from an address on: whether it takes it. Not all systems do.

    Python's own `madvise` keeps its lock while the system answers.
    """
    if sys.platform != "linux":
        return None
    function = ctypes.CDLL(None).madvise
    function.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    return lambda address, size, advice: function(address, size, advice) == 0


class Regions:
    """
    Arrays one after the other in regions of memory; a region is given back when nobody refers to an array in it.

    Safe to share between threads.
    """

    def __init__(
        self,
        region_bytes: int = 1 << 25,
        *,
        huge_pages: bool = True,
        first: np.ndarray | None = None,
    ):
        """`huge_pages` are for what is read often: see `mapped`, which has made the `first` region, where there is one."""
        self._region_bytes = region_bytes
        self._huge_pages = huge_pages
        self._region = first
        """the one that is being filled"""
        self._end = 0 if first is None else first_page(first)
        """where the last array in it ends"""
        self._lock = Lock()

    def empty(self, size: int) -> np.ndarray:
        """`size` bytes as uint8, aligned to a cache line, with any contents."""
        if size < LARGE_BYTES:
            raw = np.empty(size + _LINE, np.uint8)
            start = -raw.ctypes.data % _LINE
            return raw[start : start + size]
        with self._lock:
            region = self._region
            if region is not None and sys.getrefcount(region) == _OF_UNUSED:
                self._end = first_page(region)
            if region is None or self._end + size > region.size:
                if size >= self._region_bytes:
                    return empty_region(size, huge_pages=self._huge_pages)
                region = self._region = mapped(
                    self._region_bytes + HUGE_PAGE, huge_pages=self._huge_pages
                )
                self._end = first_page(region)
            start = self._end
            self._end += -(-size // _LINE) * _LINE
            return region[start : start + size]


class _Holder:
    """What holds an array as `Regions` does."""

    def __init__(self) -> None:
        self.region = np.empty(1, np.uint8)

    def references(self) -> int:
        region = self.region
        return sys.getrefcount(region)


_OF_UNUSED = _Holder().references()
"""References that `Regions.empty` counts for a region with no array in it; that differs between versions of Python."""
