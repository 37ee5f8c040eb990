"""Copies of large arrays that are made when it is time: what reads an array anyway copies it, too."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from threading import Condition, Lock

import numpy as np
from xxhash import xxh3_64

from ..forks import Rank, held_over_forks
from ..targets.large_memory import LARGE_BYTES, bring_pages

_PART = 2 * LARGE_BYTES
"""Bytes that the second-level cache has room for, from when the system clears their pages until their checksum is taken."""


class _Running:
    """Work that is to be done before the process is copied: the copy has no thread that would go on with it."""

    def __init__(self) -> None:
        self._changes = Condition()
        self._count = 0

    @contextmanager
    def one(self) -> Generator[None]:
        with self._changes:
            self._count += 1
        try:
            yield
        finally:
            with self._changes:
                self._count -= 1
                self._changes.notify_all()

    def acquire(self) -> None:
        """Wait for what is being done, and let nothing be begun until `release`."""
        self._changes.acquire()
        while self._count:
            self._changes.wait()

    def release(self) -> None:
        self._changes.release()


_RUNNING = held_over_forks(_Running(), Rank.COPIES)


class LateCopy:
    """A copy, to memory with no pages yet, of an array of bytes that stays as it is until then."""

    def __init__(self, target: np.ndarray, source: np.ndarray) -> None:
        self._left = [(target, source)]
        """empty once it is made"""
        self._about = source.ctypes.data, source.size
        self._lock = Lock()

    def is_of(self, raw: np.ndarray) -> bool:
        """Whether it is a copy of these very bytes, where it is not made yet."""
        return self._about == (raw.ctypes.data, raw.size)

    def make(self) -> int | None:
        """Copy the array, and take the checksum of the copy; None where it is made already, after that."""
        with _RUNNING.one(), self._lock:
            if not self._left:
                return None
            digest = _copied(*self._left[0])
            self._left.clear()  # where nothing has interrupted it
            return digest


def _copied(target: np.ndarray, source: np.ndarray) -> int:
    """Copy bytes part by part; xxHash's XXH3 of the copy."""
    digest = xxh3_64()
    for start in range(0, target.size, _PART):
        part = target[start : start + _PART]
        bring_pages(part)
        np.copyto(part, source[start : start + _PART])
        digest.update(part.data)
    return digest.intdigest()
