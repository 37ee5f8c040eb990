"""
The contest of `stepwell bench`: ours and each library in a process of its own, of which one runs at a time.

The others are stopped by a signal: threads of their pools would spin for milliseconds after a parallel region,
on cores that the one whose turn it is needs.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from ..errors import StepwellError
from ..runtime.measure import Pace, Reading, TakeTurn, Turn, Work, interleaved
from ..spelling import one_line
from .bench_case import Request
from .bench_environment import process_environment
from .bench_peers import BEFORE, GAUGE, OURS
from .bench_worker import (
    Entry,
    GaugeReading,
    GaugeReady,
    Measure,
    Message,
    Outcome,
    Prepare,
    PrepareGauge,
    ReadGauge,
    difference,
    read_arrays,
)

_STOP_SECONDS = 0.1
"""How long to wait at most for a process to be stopped: somebody else may have sent it on meanwhile."""


class Contest:
    """
    Measures programs with these peers, for so many seconds each. The processes end with the context.

    `before` is the Python of another checkout of Stepwell, which takes turns too. Between turns a gauge tells how quick the
    cores are.
    """

    def __init__(
        self, peers: Sequence[str], seconds: float, threads: int, before: Path | None = None
    ):
        self._seconds = seconds
        self._threads = threads
        self._ours = Process(OURS, threads)
        self._peers = [Process(peer, threads) for peer in peers]
        self._before = before and Process(OURS, threads, str(before))
        self._gauge = Process(GAUGE, threads)
        self._pace = Pace(self._gauge.read_gauge)
        self._folder = TemporaryDirectory(prefix="stepwell-bench-")
        self._results = Path(self._folder.name) / "results.npz"
        self._results_before = Path(self._folder.name) / "before.npz"

    def __enter__(self) -> Contest:
        return self

    def __exit__(self, *_: object) -> None:
        for process in (self._ours, *self._peers, self._before, self._gauge):
            if process:
                process.end()
        self._folder.cleanup()

    def measure(self, request: Request) -> Outcome:
        """Compile and time one program. What a peer cannot do is a note; what we cannot do is the error."""
        try:
            return self._measure(request)
        except StepwellError as error:
            return Outcome(request.program, error=str(error))

    def is_slowed(self, outcome: Outcome) -> bool:
        """Whether most of its turns were slower than the cores were in other turns of this contest."""
        return not self._pace.was_quick(outcome.gauge)

    def _measure(self, request: Request) -> Outcome:
        task = Prepare(request, str(self._results))
        self._results.unlink(missing_ok=True)
        outcome = Outcome(**self._ours.ask(task))
        contestants: dict[str, TakeTurn] = {OURS: self._ours.take_turn}
        for peer in self._peers:
            entry = _entry(peer, task)
            if entry.note:
                outcome.notes.append(f"{peer.name} {entry.note}")
            if entry.is_ready:
                contestants[peer.name] = _until_it_fails(peer, outcome.notes)
        if self._before:
            entry = self._entry_before(self._before, request)
            if entry.note:
                outcome.notes.append(f"{BEFORE} {entry.note}")
            if entry.is_ready:
                contestants[BEFORE] = _until_it_fails(self._before, outcome.notes)
        ready = GaugeReady(
            **self._gauge.ask(PrepareGauge(Work(**outcome.work).dtype, request.target))
        )
        for path in (self._results, self._results_before):
            path.unlink(missing_ok=True)  # so that it is not written to a disk
        race = interleaved(
            contestants, seconds=self._seconds, threads=self._threads, pace=self._pace
        )
        outcome.gauge = [list(reading) for reading in race.readings]
        outcome.peak = ready.flops / median(x for reading in outcome.gauge for x in reading[::2])
        outcome.samples = {name: list(timing.samples) for name, timing in race.timings.items()}
        outcome.interrupted = max(timing.interrupted for timing in race.timings.values())
        return outcome

    def _entry_before(self, process: Process, request: Request) -> Entry:
        """What the other checkout compiles writes its results as ours does: they are compared here."""
        self._results_before.unlink(missing_ok=True)
        try:
            process.ask(Prepare(request, str(self._results_before)))
        except StepwellError as error:
            return Entry(False, _failure(error))
        if not (self._results.exists() and self._results_before.exists()):
            return Entry(True)
        problem = difference(read_arrays(self._results_before), read_arrays(self._results))
        return Entry(problem is None, problem or "")


def _entry(peer: Process, task: Prepare) -> Entry:
    try:
        return Entry(**peer.ask(task))
    except StepwellError as error:
        return Entry(False, _failure(error))


def _until_it_fails(peer: Process, notes: list[str]) -> TakeTurn:
    def take_turn(seconds: float) -> Turn | None:
        try:
            return peer.take_turn(seconds)
        except StepwellError as error:
            notes.append(f"{peer.name} {_failure(error)}")
            return None

    return take_turn


def _failure(error: StepwellError) -> str:
    return f"fails: {one_line(str(error), 160)}"


class Process:
    """
    What a contestant runs in: started when it is first asked, stopped whenever it is not, and made anew when
    native code has ended it.
    """

    def __init__(self, name: str, threads: int, python: str = sys.executable):
        self.name = name
        self._threads = threads
        self._python = python
        self._process: subprocess.Popen[str] | None = None

    def take_turn(self, seconds: float) -> Turn:
        return Turn(**self.ask(Measure(seconds)))

    def read_gauge(self) -> Reading:
        return GaugeReading(**self.ask(ReadGauge())).seconds

    def ask(self, message: Message) -> dict[str, Any]:
        """Its answer. Raises StepwellError with the error that it answers, and when it ends instead."""
        if self._process is None:
            self._process = self._started()
        process = self._process
        assert process.stdin is not None and process.stdout is not None
        _go_on(process)
        with suppress(BrokenPipeError):  # it has ended: so says the empty answer
            process.stdin.write(json.dumps(asdict(message)) + "\n")
            process.stdin.flush()
        answer = process.stdout.readline()
        if not answer:
            raise self._ended(process)
        _stop(process)
        data: dict[str, Any] = json.loads(answer)
        if data.get("error"):
            raise StepwellError(data["error"])
        return data

    def end(self) -> None:
        """End it, whether it runs or is stopped; nothing when there is none."""
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            with suppress(BrokenPipeError):
                assert pipe is not None
                pipe.close()

    def _ended(self, process: subprocess.Popen[str]) -> StepwellError:
        status = process.wait()
        self.end()
        how = f"signal {-status}" if status < 0 else f"exit status {status}"
        return StepwellError(f"the measuring process ended with {how}")

    def _started(self) -> subprocess.Popen[str]:
        # In a process group of its own: Ctrl-C ends the command, and the command ends these. Should it be
        # killed, the system lets stopped groups that nobody is left to wake go on, and they find their input
        # at its end.
        return subprocess.Popen(
            [self._python, "-m", f"{__package__}.bench_worker", self.name, str(self._threads)],
            env=process_environment(self.name, self._threads),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            process_group=0,
        )


def _stop(process: subprocess.Popen[str]) -> None:
    """Returns when it stands still: where others want its core too, that may take milliseconds."""
    if sys.platform == "win32":
        return
    process.send_signal(signal.SIGSTOP)
    end = time.monotonic() + _STOP_SECONDS
    while time.monotonic() < end:
        found, status = os.waitpid(process.pid, os.WNOHANG | os.WUNTRACED)
        if found and not os.WIFSTOPPED(status):
            process.returncode = os.waitstatus_to_exitcode(status)
        if found:
            return
        time.sleep(1e-4)


def _go_on(process: subprocess.Popen[str]) -> None:
    if sys.platform != "win32":
        process.send_signal(signal.SIGCONT)
