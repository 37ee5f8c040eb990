"""Work that a thread does while the program goes on: joining large arrays, and keeping them on the disk."""

from __future__ import annotations

import os
import sys
import threading
from collections import deque
from collections.abc import Callable
from threading import Event, Lock, Thread

from .forks import Rank, held_over_forks


def try_start(thread: Thread) -> bool:
    """Start a thread: whether it runs. The system may allow no more of them, and the program may be at its end."""
    try:
        thread.start()
    except RuntimeError:
        return False
    return True


class BackgroundThread:
    """
    A thread that is there as long as there is something to do, one after the other; the process ends after it.

    To start one for each piece of work would let the program wait for each: Python's lock goes to a thread that starts. A
    copy of the process has no threads but the one that made it: what is left is done before.
    """

    def __init__(self) -> None:
        self._left: deque[tuple[Callable[[], object], Event]] = deque()
        self._is_running = False
        self._last: Event | None = None
        self._lock = Lock()

    def ends_before_forks(self) -> None:
        """Let this process wait for what is left before it is copied, from now on."""
        held_over_forks(self, Rank.BACKGROUND)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._begin_in_child)

    def do(self, work: Callable[[], object]) -> Event:
        """Do this after all that is left; the event is set when it is done, or has failed."""
        done = Event()
        with self._lock:
            self._left.append((work, done))
            starts, self._is_running = not self._is_running, True
            self._last = done
        if starts and not try_start(Thread(target=self._work)):
            self._work()
        return done

    def wait(self) -> None:
        """Wait for what is left now."""
        if self._last is not None:
            self._last.wait()

    def _work(self) -> None:
        while True:
            with self._lock:
                if not self._left:
                    self._is_running = False
                    return
                work, done = self._left.popleft()
            try:
                work()
            except (
                Exception
            ):  # a fault in it: said as threads do, and the rest is done all the same
                about = threading.ExceptHookArgs((*sys.exc_info(), threading.current_thread()))
                threading.excepthook(about)
            finally:
                done.set()
            del work

    def acquire(self) -> None:
        """Wait for what is left, and let nothing be added until `release`."""
        self._lock.acquire()
        while self._last is not None and not self._last.is_set():
            self._lock.release()
            self._last.wait()
            self._lock.acquire()

    def release(self) -> None:
        self._lock.release()

    def _begin_in_child(self) -> None:
        self._is_running = False
