"""
Memory of large results, kept for those of later calls once nobody holds them.

What the system hands out afresh it fills with zeros page by page, at the first store to each: a page of 4 KiB costs more
than computing its elements, which are then written again. Libraries for tensors keep such memory for this reason
(PyTorch's caching allocators; jemalloc's decay). NumPy gives it back at once.
"""

from __future__ import annotations

import sys
from collections import OrderedDict
from collections.abc import Sequence
from threading import Lock

import numpy as np

from ..forks import Rank, held_over_forks

MOST_KEPT = 1 << 26
"""Bytes of all that is kept, used or not: as much as the last caches of large servers hold, and little beside a program."""


class ResultMemory:
    """Blocks of bytes by their size, the sizes in the order of their last use."""

    def __init__(self, most: int = MOST_KEPT):
        self._most = most
        self._kept: OrderedDict[int, list[np.ndarray]] = OrderedDict()
        self._bytes = 0
        self._lock = held_over_forks(Lock(), Rank.INNERMOST)

    def take(self, size: int) -> np.ndarray:
        """
        `size` bytes as uint8, with any contents: a block that was handed out before and that nobody else refers to
        now, or new ones. Views of an array refer to the array that has the memory, and so do buffers and DLPack capsules.
        """
        with self._lock:
            block = _unused(self._kept.get(size, ()))
            if block is None:
                block = np.empty(size, np.uint8)  # or MemoryError, and all is as it was
                if size <= self._most:
                    self._kept.setdefault(size, []).append(block)
                    self._bytes += size
            if size in self._kept:
                self._kept.move_to_end(size)
            while self._bytes > self._most:
                self._forget_one()
        return block

    def _forget_one(self) -> None:
        """Of the size that was not asked for the longest. Whoever uses the block keeps it alive."""
        size, blocks = next(iter(self._kept.items()))
        blocks.pop(0)
        self._bytes -= size
        if not blocks:
            del self._kept[size]


def _unused(blocks: Sequence[np.ndarray]) -> np.ndarray | None:
    """One to which nothing refers but the list."""
    for block in blocks:
        if sys.getrefcount(block) == _OF_UNUSED:
            return block
    return None


def _references(blocks: list[np.ndarray]) -> int:
    """As many as `_unused` counts for a block to which nothing else refers; that differs between versions of Python."""
    for block in blocks:
        return sys.getrefcount(block)
    return 0


_OF_UNUSED = _references([np.empty(1, np.uint8)])
