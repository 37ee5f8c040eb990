"""
Several modules of LLVM IR compiled at once, in processes: llvmlite calls LLVM under one lock, so that threads would
take turns.

A process is started by its command line and not by `multiprocessing`, which would run the user's script again.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path

from .codegen import CodeGenerator
from .llvm_worker import receive, send

START_BYTES = 1 << 16
"""
Text that LLVM compiles in about the time that a process takes to start, about 0.2 s: both are work of one core.
There is a process for each so many bytes at most.
"""

Kept = Callable[[str, bytes], None]
"""What is done with a module and its object code."""


def compile_modules(texts: Sequence[str], generator: CodeGenerator, keep: Kept) -> None:
    """
    Compile different modules, the largest first, in this process and in others beside it where that pays.

    `keep` is called in this thread or in others, one at a time for each module. Raises StepwellError for text that
    LLVM refuses. An interrupt ends all processes.
    """
    left = deque(sorted(texts, key=len, reverse=True))
    failed: deque[str] = deque()
    with _progress(texts) as advance:

        def done(text: str, code: bytes) -> None:
            keep(text, code)
            advance()

        with _workers(process_count(texts), generator) as workers, ThreadPoolExecutor() as pool:
            try:
                for worker in workers:
                    pool.submit(_feed, worker, left, failed, done)
                _compile_here(left, generator, done)
            except BaseException:
                left.clear()
                for worker in workers:
                    worker.kill()
                raise
        # What a process did not answer is compiled here, where a refusal is an error that says why.
        _compile_here(failed, generator, done)


def process_count(texts: Sequence[str]) -> int:
    """How many processes to start: as many as have processors to themselves and enough to do."""
    if not Path(sys.executable or "").name.startswith(("python", "pypy")):
        return 0  # Python inside of another program
    worth = sum(map(len, texts)) // START_BYTES
    return max(0, min(len(texts) - 1, worth, _free_processors()))


def _free_processors() -> int:
    """Those that this process may use and that were idle in the last minute."""
    if not hasattr(os, "sched_getaffinity"):
        return 0
    return int(len(os.sched_getaffinity(0)) - os.getloadavg()[0])


def _compile_here(left: deque[str], generator: CodeGenerator, done: Kept) -> None:
    while True:
        try:
            text = left.popleft()
        except IndexError:
            return
        done(text, generator.object_code(text))


def _feed(
    worker: subprocess.Popen[bytes], left: deque[str], failed: deque[str], done: Kept
) -> None:
    """Let a process compile modules until none are left, or it ends."""
    assert worker.stdin is not None and worker.stdout is not None
    while True:
        try:
            text = left.popleft()
        except IndexError:
            return
        code = None
        with suppress(OSError, MemoryError, OverflowError):  # also of a length that is none
            send(text.encode(), worker.stdin)
            code = receive(worker.stdout)
        if code is None:
            failed.append(text)
            return
        done(text, code)


@contextmanager
def _workers(count: int, generator: CodeGenerator) -> Generator[list[subprocess.Popen[bytes]]]:
    """So many processes, or fewer where the system refuses. All have ended afterwards."""
    workers: list[subprocess.Popen[bytes]] = []
    try:
        for _ in range(count):
            with suppress(OSError):
                workers.append(_started(generator))
        yield workers
    finally:
        for worker in workers:
            worker.kill()
            with suppress(OSError):
                worker.communicate()


def _started(generator: CodeGenerator) -> subprocess.Popen[bytes]:
    """A process of its own session: an interrupt from the terminal comes to this process alone, which ends it."""
    worker = subprocess.Popen(
        [sys.executable, "-m", f"{__package__}.llvm_worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        start_new_session=True,
    )
    assert worker.stdin is not None
    worker.stdin.write(json.dumps(asdict(generator)).encode() + b"\n")
    worker.stdin.flush()
    return worker


@contextmanager
def _progress(texts: Sequence[str]) -> Generator[Callable[[], None]]:
    """A function to call for each module that is compiled: it moves a bar, on a terminal, where that takes a while."""
    if not sys.stderr.isatty() or len(texts) < 2 or sum(map(len, texts)) < START_BYTES:
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("compiling kernels", total=len(texts))
        yield lambda: progress.advance(task)
