"""Copies of large arrays that are made when it is time: what reads an array anyway copies it, too."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from threading import Condition, Lock

import numpy as np
from xxhash import xxh3_64

from ..errors import StepwellError
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


class ArrayChanged(StepwellError):
    """An array does not hold any more what it did when it was captured, and nobody has copied it before."""

    def __init__(self, name: str):
        super().__init__(
            f"found '{name}' changed while the function that captures it is traced, "
            "expected the array to stay as it is, as it is one constant; let the function capture a copy"
        )


class LateCopy:
    """A copy, to memory with no pages yet, of an array of bytes that is to stay as it is until then."""

    def __init__(self, target: np.ndarray, source: np.ndarray, checksum: int, name: str) -> None:
        """The array is called by its `name` where it has not stayed so, which its `checksum` of now tells."""
        self._left = [(target, source)]
        """empty once it is made"""
        self._about = source.ctypes.data, source.size
        self._checksum, self._name = checksum, name
        self._lock = Lock()

    def is_of(self, raw: np.ndarray) -> bool:
        """Whether it is a copy of these very bytes, where it is not made yet."""
        return self._about == (raw.ctypes.data, raw.size)

    def make(self) -> bool:
        """
        Copy the array: whether that is done now, and not before.

        Raises ArrayChanged where the copy has another checksum; it is not made then.
        """
        with _RUNNING.one(), self._lock:
            if not self._left:
                return False
            if _copied(*self._left[0]) != self._checksum:
                raise ArrayChanged(self._name)
            self._left.clear()  # where nothing has interrupted it
            return True

    def is_lost(self) -> bool:
        """Whether the array has changed before anybody has copied it."""
        try:
            self.make()
        except ArrayChanged:
            return True
        return False


def _copied(target: np.ndarray, source: np.ndarray) -> int:
    """Copy bytes part by part; xxHash's XXH3 of the copy."""
    digest = xxh3_64()
    for start in range(0, target.size, _PART):
        part = target[start : start + _PART]
        bring_pages(part)
        np.copyto(part, source[start : start + _PART])
        digest.update(part.data)
    return digest.intdigest()
