"""
Memory of large results, kept for those of later calls once nobody holds them.

What the system hands out afresh it fills with zeros page by page, at the first store to each: a page of 4 KiB costs more
than computing its elements, which are then written again. Libraries for tensors keep such memory for this reason
(PyTorch's caching allocators; jemalloc's decay). NumPy gives it back at once.

Of what is used again, large blocks come on huge pages, as scratch memory does: tiles of a result write to a page for each of their rows,
and of ordinary pages a core translates the addresses of few at a time. (On Intel's Granite Rapids 256 outputs of 56 x 56 took 0.92 to
0.98 of the time so, 128 0.97, 144 0.8 to 0.94, 512 of 28 x 28 0.975.) A result that is held for long is written once, and comes sooner on ordinary
pages in some virtual machines: see `mapped`.
"""

from __future__ import annotations

import sys
from threading import Lock

import numpy as np

from ..forks import Rank, held_over_forks
from ..targets.large_memory import HUGE_PAGE, mapped

MOST_KEPT = 1 << 26
"""
Bytes of all that is kept, used or not, huge pages as a whole: as much as the last caches of large servers hold, and little beside a program.
"""

ON_HUGE_PAGES = HUGE_PAGE // 2
"""Bytes of a result that is on huge pages, at least: those take no more than twice as much."""


class ResultMemory:
    """Blocks of bytes by their size, the sizes in the order of their last use."""

    def __init__(self, most: int = MOST_KEPT):
        self._most = most
        self._kept: dict[int, list[np.ndarray]] = {}
        self._bytes = 0
        self._lock = held_over_forks(Lock(), Rank.INNERMOST)

    def take(self, size: int) -> np.ndarray:
        """
        At least `size` bytes as uint8, with any contents: a block that was handed out before and that nobody else refers to
        now, or new ones. Views of an array refer to the array that has the memory, and so do buffers and DLPack capsules.
        From `ON_HUGE_PAGES` on there are so many from where a huge page may begin, too.
        """
        with self._lock:
            blocks = self._kept.get(size, [])
            block = _unused(blocks)
            if block is None:
                block = _new_block(size)  # or MemoryError, and all is as it was
                if _held(size) <= self._most:
                    blocks.append(block)
                    self._bytes += _held(size)
            elif size >= ON_HUGE_PAGES and block.base is None:
                first, block = block, _on_huge_pages(block)
                blocks[:] = [block if each is first else each for each in blocks]
            if blocks:
                self._kept.pop(size, None)
                self._kept[size] = blocks
            while self._bytes > self._most:
                self._forget_one()
        return block

    def _forget_one(self) -> None:
        """Of the size that was not asked for the longest. Whoever uses the block keeps it alive."""
        size, blocks = next(iter(self._kept.items()))
        blocks.pop(0)
        self._bytes -= _held(size)
        if not blocks:
            del self._kept[size]


def _held(size: int) -> int:
    """Bytes of memory that a block holds once it is written: those before where a huge page begins never are."""
    return size if size < ON_HUGE_PAGES else -(-size // HUGE_PAGE) * HUGE_PAGE


def _new_block(size: int) -> np.ndarray:
    return np.empty(size + (HUGE_PAGE if size >= ON_HUGE_PAGES else 0), np.uint8)


def _on_huge_pages(block: np.ndarray) -> np.ndarray:
    """What takes the place of a block of ordinary pages; itself where the system has no memory for it."""
    try:
        return mapped(block.nbytes)
    except OSError:
        return block


def _unused(blocks: list[np.ndarray]) -> np.ndarray | None:
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
