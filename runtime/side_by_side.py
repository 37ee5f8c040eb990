"""
Work done in several processes at once: Python runs in one thread at a time, and llvmlite calls LLVM under one lock.

A process is started by its command line and not by `multiprocessing`, which would run the user's script again.
"""

from __future__ import annotations

import math
import os
import pickle
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Generic, TypeVar

from ..driver.garbage import collect_much, collect_youngest
from .worker import receive, send

_LOOKS = 4
_PAUSE_SECONDS = 1e-3

JobT = TypeVar("JobT")
AnswerT = TypeVar("AnswerT")


class Workers:
    """Processes that work for this one; they end with the block of `workers`."""

    def __init__(self, processes: Sequence[subprocess.Popen[bytes]] = ()):
        self.processes = tuple(processes)

    def run(
        self,
        function: Callable[[JobT], AnswerT],
        jobs: Sequence[JobT],
        done: Callable[[JobT, AnswerT], object],
    ) -> None:
        """
        Call a function of a module with each job, in order, here and in the processes.

        Jobs and answers can be pickled. `done` is called in this thread or in others. What a process did not answer is
        done here, where an error is one that says why. An interrupt ends all processes.
        """
        work = _Work(function, jobs, done)
        with ThreadPoolExecutor(max(1, len(self.processes))) as pool:
            try:
                for process in self.processes:
                    pool.submit(work.feed, process)
                work.do_here(work.left)
                if self.processes:
                    collect_youngest()  # the processes have work still
            except BaseException:
                work.left.clear()
                self.kill()
                raise
        work.do_here(work.failed)

    def kill(self) -> None:
        for process in self.processes:
            process.kill()


class _Work(Generic[JobT, AnswerT]):
    """Jobs that are left, and those that no process has answered."""

    def __init__(
        self,
        function: Callable[[JobT], AnswerT],
        jobs: Sequence[JobT],
        done: Callable[[JobT, AnswerT], object],
    ):
        self._function = function
        self._done = done
        self.left = deque(jobs)
        self.failed: deque[JobT] = deque()

    def do_here(self, jobs: deque[JobT]) -> None:
        while True:
            try:
                job = jobs.popleft()
            except IndexError:
                return
            self._done(job, self._function(job))
            collect_much()

    def feed(self, process: subprocess.Popen[bytes]) -> None:
        """Let a process do jobs until none are left, or it ends."""
        assert process.stdin is not None and process.stdout is not None
        while True:
            try:
                job = self.left.popleft()
            except IndexError:
                return
            try:
                send(pickle.dumps((self._function, job)), process.stdin)
                data = receive(process.stdout)
                answer: AnswerT = pickle.loads(data or b"")
            except (
                Exception
            ):  # whatever it is: the job is done here then, where its error is one to be raised
                self.failed.append(job)
                return
            self._done(job, answer)


@contextmanager
def workers(count: int, *imports: str) -> Generator[Workers]:
    """
    So many processes, or fewer where the system refuses. All have ended afterwards.

    `imports` are modules that they import at once, before there is any work.
    """
    processes: list[subprocess.Popen[bytes]] = []
    try:
        for _ in range(count):
            with suppress(OSError):
                processes.append(_started(imports))
        yield Workers(processes)
    finally:
        for process in processes:
            process.kill()
            with suppress(OSError):
                process.communicate()


def process_count(wanted: int) -> int:
    """How many of the processes that there is work for have processors to themselves."""
    if not Path(sys.executable or "").name.startswith(("python", "pypy")):
        return 0  # Python inside of another program
    return max(0, min(wanted, _free_processors()))


def _free_processors() -> int:
    """
    Those that this process may use, and on which nothing runs at the moment: not this process either.

    What runs now and not a millisecond later, as much does for an instant, takes no processor away.
    """
    if not hasattr(os, "sched_getaffinity"):
        return 0
    running = _running()
    for _ in range(_LOOKS - 1):
        if running <= 1:
            break
        time.sleep(_PAUSE_SECONDS)
        running = min(running, _running())
    return len(os.sched_getaffinity(0)) - max(1, running)


def _running() -> int:
    """
    How many threads of the machine run or wait for a processor; all of this process count as one: what others of them do, as
    joining weights, is done soon.
    """
    try:
        every = int(Path("/proc/loadavg").read_text().split()[3].split("/")[0])  # see proc(5)
    except (OSError, ValueError, IndexError):
        return math.ceil(os.getloadavg()[0])
    return max(1, every - _running_here() + 1)


def _running_here() -> int:
    """The same of this process alone."""
    states: list[str] = []
    for thread in Path("/proc/self/task").iterdir():
        with suppress(OSError):  # it has ended since
            states.append((thread / "stat").read_text().rpartition(")")[2].split()[0])
    return states.count("R")


def _started(imports: Sequence[str]) -> subprocess.Popen[bytes]:
    """A process of its own session: an interrupt from the terminal comes to this process alone, which ends it."""
    return subprocess.Popen(
        [sys.executable, "-m", f"{__package__}.worker", *imports],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        start_new_session=True,
    )


@contextmanager
def progress(what: str, count: int) -> Generator[Callable[[], None]]:
    """A function to call for each of `count` things that is done: it moves a bar, on a terminal."""
    if not sys.stderr.isatty() or count < 2:
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task(what, total=count)
        yield lambda: shown.advance(task)
