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
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from selectors import EVENT_READ, DefaultSelector
from typing import IO, Generic, TypeVar

from ..background import try_start
from ..driver.garbage import collect_much, collect_youngest
from .worker import receive, send

_LOOKS = 4
_PAUSE_SECONDS = 1e-3

_LOOK_SECONDS = 0.02
"""Between two looks whether there are jobs still for a process that is not ready: no call waits for one longer than that."""

_COLLECTING = 1 / 12
"""The part of the time of jobs that it takes about to collect what they leave."""

_PATIENCE_SECONDS = 20.0
"""After so long nobody compiles any more what was traced."""

JobT = TypeVar("JobT")
AnswerT = TypeVar("AnswerT")


class Workers:
    """Processes that work for this one; they end with the block of `workers`."""

    def __init__(self, processes: Sequence[subprocess.Popen[bytes]] = ()):
        self.processes = tuple(processes)
        self._ready: set[subprocess.Popen[bytes]] = set()

    def run(
        self,
        function: Callable[[JobT], AnswerT],
        jobs: Sequence[JobT],
        done: Callable[[JobT, AnswerT], object],
        *,
        leaves_garbage: bool = True,
        beside: Callable[[], object] = lambda: None,
    ) -> None:
        """
        Call a function of a module with each job, in order, here and in the processes, and here `beside` before.

        Jobs and answers can be pickled. `done` is called in this thread or in others. A process is given nothing before it
        has imported its modules. What a process did not answer is done here, where an error is one that says why. An
        interrupt ends all processes. Garbage that is left here is collected while processes do the last jobs.
        """
        work = _Work(function, jobs, done)
        with ThreadPoolExecutor(max(1, len(self.processes))) as pool:
            try:
                for process in self.processes:
                    with suppress(RuntimeError):  # of a system that allows no more threads
                        pool.submit(self._feed, work, process)
                beside()
                if self._ready and leaves_garbage:
                    work.do_here_until(len(self.processes), _COLLECTING)
                    collect_youngest()
                work.do_here(work.left)
            except BaseException:
                work.left.clear()
                self.kill()
                raise
        work.do_here(work.failed)

    def answers(
        self,
        function: Callable[[JobT], AnswerT],
        jobs: Sequence[JobT],
        beside: Callable[[], object] = lambda: None,
    ) -> list[AnswerT]:
        """
        What a function of a module returns for each job, none of which leaves garbage; as of `run`. `beside` is called in this
        thread first, while processes have begun.
        """
        found: dict[int, AnswerT] = {}

        def done(job: JobT, answer: AnswerT) -> None:
            found[id(job)] = answer

        self.run(function, jobs, done, leaves_garbage=False, beside=beside)
        return [found[id(job)] for job in jobs]

    def kill(self) -> None:
        for process in self.processes:
            process.kill()

    def _feed(self, work: _Work[JobT, AnswerT], process: subprocess.Popen[bytes]) -> None:
        """Let a process do jobs from when it is ready, if there are some left then."""
        assert process.stdout is not None
        while process not in self._ready:
            if not work.left:
                return
            if _has_more(process.stdout, _LOOK_SECONDS):
                if receive(process.stdout) is None:
                    return  # it has ended
                self._ready.add(process)
        work.feed(process)


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
        """Do these jobs in this thread."""
        while jobs:
            self._do_first(jobs)

    def _do_first(self, jobs: deque[JobT]) -> None:
        """Do the first of these jobs in this thread, if another one has not taken the last one meanwhile."""
        try:
            job = jobs.popleft()
        except IndexError:
            return
        self._done(job, self._function(job))
        collect_much()

    def do_here_until(self, processes: int, part: float) -> None:
        """Do jobs in this thread until others do what is left in about this part of the time that it took."""
        start = time.perf_counter()
        while len(self.left) > processes:
            before = time.perf_counter()
            self._do_first(self.left)
            now = time.perf_counter()
            # The last jobs are the small ones.
            if (now - before) * len(self.left) <= part * (now - start) * processes:
                return

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
def workers(
    count: int, *imports: str, started: Iterable[subprocess.Popen[bytes]] = ()
) -> Generator[Workers]:
    """
    So many processes, or fewer where the system refuses, besides those that have `started`. All have ended afterwards.

    `imports` are modules that they import at once, before there is any work.
    """
    processes = list(started)
    try:
        _start(processes, count, imports)
        yield Workers(processes)
    finally:
        _end(processes)


class WorkersAhead:
    """
    Processes that start before it is certain that there will be work for them: importing takes them longer than it takes to
    find out.

    They end when nobody refers to this object any more, and after some seconds in which nobody has `taken` them. A copy of
    this process has the same pipes to them, and leaves them alone.
    """

    def __init__(self, count: int, *imports: str):
        self._processes: list[subprocess.Popen[bytes]] = []
        timer = threading.Timer(_PATIENCE_SECONDS, lambda: None)
        self._finalizer = weakref.finalize(self, _end_ahead, self._processes, os.getpid(), timer)
        timer.function, timer.daemon = self._finalizer, True
        if count and try_start(timer):
            _start(self._processes, count, imports)

    def taken(self) -> list[subprocess.Popen[bytes]]:
        """
        The processes, which belong to the caller from now on; none of them if they have ended, or belong to the process of which
        this one is a copy.
        """
        detached = self._finalizer.detach()
        if detached is None:
            return []
        _, _, (processes, owner, timer), _ = detached
        timer.cancel()
        return processes if os.getpid() == owner else []


def _start(processes: list[subprocess.Popen[bytes]], count: int, imports: Sequence[str]) -> None:
    """Start so many more, or fewer where the system refuses."""
    for _ in range(count):
        with suppress(OSError):
            processes.append(_started(imports))


def _end_ahead(
    processes: Iterable[subprocess.Popen[bytes]], owner: int, timer: threading.Timer
) -> None:
    timer.cancel()
    if os.getpid() == owner:
        _end(processes)


def _end(processes: Iterable[subprocess.Popen[bytes]]) -> None:
    for process in processes:
        process.kill()
        with suppress(OSError):
            process.communicate()


def process_count(wanted: int, started: int = 0) -> int:
    """
    How many of the processes that there is work for have processors to themselves, besides those that have `started`: they
    may wait for work at the moment.
    """
    if not Path(sys.executable or "").name.startswith(("python", "pypy")):
        return 0  # Python inside of another program
    return max(0, min(wanted - started, _free_processors(1 + started)))


def _free_processors(ours: int) -> int:
    """
    Those that this process may use, and on which nothing runs at the moment: none of `ours`, which are this process and those
    that work for it.

    What runs now and not a millisecond later, as much does for an instant, takes no processor away.
    """
    if not hasattr(os, "sched_getaffinity"):
        return 0
    running = _running()
    for _ in range(_LOOKS - 1):
        if running <= ours:
            break
        time.sleep(_PAUSE_SECONDS)
        running = min(running, _running())
    return len(os.sched_getaffinity(0)) - max(ours, running)


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
    """
    A process of its own session: an interrupt from the terminal comes to this process alone, which ends it.

    Its answers come by a pipe of their own, which is its `stdout` here: modules print what they like while they are imported.
    """
    answers, other_end = os.pipe()
    try:
        process = subprocess.Popen(
            [sys.executable, "-m", f"{__package__}.worker", str(other_end), *imports],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            pass_fds=(other_end,),
            start_new_session=True,
        )
    except BaseException:
        os.close(answers)
        raise
    finally:
        os.close(other_end)
    process.stdout = os.fdopen(answers, "rb")
    return process


def _has_more(pipe: IO[bytes], seconds: float) -> bool:
    """Whether there is something to be read from a pipe, or it ends, within so long."""
    with DefaultSelector() as selector:
        selector.register(pipe, EVENT_READ)
        return bool(selector.select(seconds))


@contextmanager
def progress(what: str, count: int) -> Generator[Callable[[], None]]:
    """A function to call for each of `count` things that is done: it moves a bar, on a terminal."""
    if count < 2 or not _is_terminal(sys.stderr):
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task(what, total=count)
        yield lambda: shown.advance(task)


def _is_terminal(stream: IO[str] | None) -> bool:
    """Whether a person reads it. A process may have been started without one, or have closed it."""
    return stream is not None and not stream.closed and stream.isatty()
