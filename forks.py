"""
Locks at the moment when the process is copied.

The copy has only the thread that made it: what another thread has locked stays locked there for ever, and what it was in
the middle of stays half done. So locks are taken before, which waits for those threads, and given back in both processes.
"""

from __future__ import annotations

import os
from enum import IntEnum
from typing import Protocol, TypeVar


class Lock(Protocol):
    def acquire(self) -> object: ...

    def release(self) -> object: ...


LockT = TypeVar("LockT", bound=Lock)


class Rank(IntEnum):
    """The order in which a thread takes locks that it holds at the same time."""

    PROGRAMS = 0
    """under which programs are made"""
    BACKGROUND = 1
    """of what threads are given to do"""
    COPIES = 2
    """of copies of arrays that are being made, which such threads wait for"""
    THREAD_POOL = 3
    LINKER = 4
    INNERMOST = 5
    """under which no other is taken"""


_held: list[tuple[Rank, Lock]] = []
_taken: list[Lock] = []


def held_over_forks(lock: LockT, rank: Rank) -> LockT:
    """The lock, which no other thread has when the process is copied from now on."""
    _held.append((rank, lock))
    return lock


def _acquire() -> None:
    for _, lock in sorted(_held, key=lambda entry: entry[0]):
        lock.acquire()
        _taken.append(lock)


def _release() -> None:
    while _taken:
        _taken.pop().release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_acquire, after_in_parent=_release, after_in_child=_release)
