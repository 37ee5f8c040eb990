"""Copies of large arrays that a thread makes, one after the other, while the program goes on."""

from __future__ import annotations

import os
from collections import deque
from threading import Event, Lock, Thread

import numpy as np


class CopyingThread:
    """
    A thread that is there as long as there is something to copy.

    To start one for each array would let the program wait for each: Python's lock goes to a thread that starts. A copy of
    the process has no threads but the one that made it: what is left is copied before.
    """

    def __init__(self) -> None:
        self._left: deque[tuple[np.ndarray, np.ndarray, Event]] = deque()
        self._is_running = False
        self._last: Event | None = None
        self._lock = Lock()

    def ends_before_forks(self) -> None:
        """Let this process wait for what is left before it is copied, from now on."""
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(
                before=self._finish,
                after_in_parent=self._lock.release,
                after_in_child=self._go_on_in_child,
            )

    def copy(self, target: np.ndarray, source: np.ndarray) -> Event:
        """Copy an array into another one of its size, which is done when the event is set."""
        done = Event()
        with self._lock:
            self._left.append((target, source, done))
            starts, self._is_running = not self._is_running, True
            self._last = done
        if starts:
            try:
                Thread(target=self._work).start()
            except RuntimeError:  # the system allows no more of them, or the program is at its end
                self._work()
        return done

    def _work(self) -> None:
        while True:
            with self._lock:
                if not self._left:
                    self._is_running = False
                    return
                target, source, done = self._left.popleft()
            np.copyto(target, source)
            done.set()

    def _finish(self) -> None:
        """Wait for what is left, and let nothing be added until the lock is released."""
        self._lock.acquire()
        while self._last is not None and not self._last.is_set():
            self._lock.release()
            self._last.wait()
            self._lock.acquire()

    def _go_on_in_child(self) -> None:
        self._is_running = False
        self._lock.release()
