"""Cases of a campaign checked in processes of their own, which may crash or hang."""

from __future__ import annotations

import multiprocessing
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import wait
from typing import Any, Generic, TypeVar

SECONDS = 120
"""After which a case counts as hanging."""

# Workers must be forks: a crash of one is then a result, and the parent never touches LLVM.
_processes = multiprocessing.get_context("fork")

T = TypeVar("T")


@dataclass(frozen=True)
class Lost:
    """A case that gave no result."""

    how: str


def outcomes(
    check: Callable[[int], T], indices: Sequence[int], jobs: int
) -> Iterator[tuple[int, T | Lost]]:
    """What `check` gives for each index, in the order of completion, from `jobs` processes."""
    following = _processes.Value("q", 0)
    workers = [_Worker(check, indices, following) for _ in range(jobs)]
    while workers:
        wait([worker.results for worker in workers], timeout=1)
        for worker in list(workers):
            yield from worker.take()
            if worker.is_done:
                workers.remove(worker)


def outcome_apart(check: Callable[[], T]) -> T | Lost:
    """What `check` gives in a process of its own."""
    receiver, sender = _processes.Pipe(duplex=False)
    process = _processes.Process(target=lambda: sender.send(check()))
    process.start()
    sender.close()
    result: T | Lost = Lost(f"no result after {SECONDS} s")
    if receiver.poll(SECONDS):
        try:
            result = receiver.recv()
        except EOFError:
            process.join()
            result = Lost(f"the process died ({_exit_text(process.exitcode)})")
    process.kill()
    process.join()
    return result


class _Worker(Generic[T]):
    """A process that takes the next case until there is none, replaced when it dies or hangs."""

    def __init__(self, *arguments: Any):
        self._arguments = arguments
        self._start()

    def _start(self) -> None:
        self.is_done = False
        self._index: int | None = None
        self._since = time.monotonic()
        self.results, sender = _processes.Pipe(duplex=False)
        self._process = _processes.Process(
            target=_work, args=(*self._arguments, sender), daemon=True
        )
        self._process.start()
        sender.close()

    def take(self) -> Iterator[tuple[int, T | Lost]]:
        """What has come from the process, and the case that it died of or hangs in."""
        try:
            while self.results.poll():
                message = self.results.recv()
                self._since = time.monotonic()
                if isinstance(message, tuple):
                    yield message
                    message = None
                self._index = message
        except EOFError:
            self._process.join()
            if self._index is None:
                self.is_done = True
                return
            how = f"the process died ({_exit_text(self._process.exitcode)})"
        else:
            if self._index is None or time.monotonic() - self._since < SECONDS:
                return
            self._process.kill()
            self._process.join()
            how = f"no result after {SECONDS} s"
        lost = self._index
        self._start()
        yield lost, Lost(how)


def _exit_text(code: int | None) -> str:
    return signal.Signals(-code).name if code is not None and code < 0 else f"exit status {code}"


def _work(check: Callable[[int], Any], indices: Sequence[int], following: Any, sender: Any) -> None:
    """Send the number of each case before it is checked, and its outcome after."""
    while True:
        with following.get_lock():
            position = following.value
            following.value += 1
        if position >= len(indices):
            break
        index = indices[position]
        sender.send(index)
        sender.send((index, check(index)))
