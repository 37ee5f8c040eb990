"""Copies of large arrays that a thread makes, one after the other, while the program goes on."""

from __future__ import annotations

from collections import deque
from threading import Event, Lock, Thread

import numpy as np


class CopyingThread:
    """
    A thread that is there as long as there is something to copy.

    To start one for each array would let the program wait for each: Python's lock goes to a thread that starts.
    """

    def __init__(self) -> None:
        self._left: deque[tuple[np.ndarray, np.ndarray, Event]] = deque()
        self._is_running = False
        self._lock = Lock()

    def copy(self, target: np.ndarray, source: np.ndarray) -> Event:
        """Copy an array into another one of its size, which is done when the event is set."""
        done = Event()
        with self._lock:
            self._left.append((target, source, done))
            starts, self._is_running = not self._is_running, True
        if starts:
            Thread(target=self._work).start()
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
