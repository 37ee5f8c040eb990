"""
The process that `stepwell bench` measures in: its environment is set before any library is loaded, and
should native code end it, the command goes on with another.

Reads one job a line on standard input, as JSON, and writes one outcome a line. What libraries print goes to
standard error.
"""

from __future__ import annotations

import json
import os
import sys
import time
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from ..analysis.cost import flops
from ..analysis.levels import Level
from ..analysis.signature import FunctionSignature
from ..errors import StepwellError
from ..frontend.functions import softmax
from ..frontend.jit import jit
from ..frontend.tensor import Tensor
from ..runtime.executable import Executable
from ..runtime.measure import Work, interleaved, pin
from ..spelling import one_line
from ..targets.target import Target
from .bench_case import Prepared, Request, prepare
from .bench_peers import OURS, Call, Results, as_arrays, load

_TOLERANCES = {"f32": 2e-4, "f64": 1e-10}
"""Of the largest difference between two results, as a part of the largest element."""


@dataclass(frozen=True)
class Job:
    """A program to measure, against which peers, for how many seconds each."""

    request: Request
    peers: tuple[str, ...]
    seconds: float
    threads: int


@dataclass
class Outcome:
    """What was measured of one program, or the `error` that kept it from being so."""

    name: str
    group: str = ""
    error: str = ""
    work: dict[str, Any] = field(default_factory=dict[str, Any])
    samples: dict[str, list[float]] = field(default_factory=dict[str, list[float]])
    """seconds of a call, by contestant"""
    interrupted: float = 0.0
    """the part of the samples that other processes disturbed, for the contestant with the most"""
    passes: list[tuple[str, float]] = field(default_factory=list[tuple[str, float]])
    compile_cpu_seconds: float = 0.0
    """without what other processes took"""
    arena_bytes: int = 0
    """of ours: what kernels pass to each other"""
    notes: list[str] = field(default_factory=list[str])


def measure(job: Job) -> Outcome:
    """Compile and time one program. What a peer cannot do is a note; what we cannot do is the error."""
    outcome = Outcome(job.request.program)
    try:
        prepared = prepare(job.request)
        outcome.name, outcome.group = prepared.case.name, prepared.case.group
        start = time.process_time()
        executable = prepared.lowered.compile(threads=job.threads)
        outcome.compile_cpu_seconds = time.process_time() - start
        outcome.passes = prepared.lowered.timings
        outcome.arena_bytes = executable.signature.arena_bytes
        outcome.work = asdict(work_of(prepared, executable.signature))
        contestants: dict[str, tuple[Call, Results]] = {
            OURS: (lambda: executable(*prepared.arrays), as_arrays)
        }
        expected = _expected(executable, prepared)
        for peer in job.peers:
            _add_peer(peer, prepared, job.threads, expected, contestants, outcome)
        calls = {name: call for name, (call, _) in contestants.items()}
        timings = interleaved(calls, seconds=job.seconds, threads=job.threads)
        outcome.samples = {name: list(timing.samples) for name, timing in timings.items()}
        outcome.interrupted = max(timing.interrupted for timing in timings.values())
    except StepwellError as error:
        outcome.error = str(error)
    except Exception as error:
        outcome.error = one_line(f"{type(error).__name__}: {error}")
    return outcome


def work_of(prepared: Prepared, signature: FunctionSignature) -> Work:
    """FLOPs from the IR; bytes of the arguments, the weights and the results, each once."""
    level = prepared.lowered.level
    count = flops(prepared.lowered.module(level)) if level is not Level.LLVM else None
    dtypes = {array.dtype for array in (*prepared.arrays, *prepared.weights)}
    read = sum(array.nbytes for array in (*prepared.arrays, *prepared.weights))
    if signature.convention == "inout":
        written = sum(array.nbytes for array in prepared.arrays)  # any of them may be
    else:
        written = sum(
            int(np.prod([extent or 0 for extent in spec.shape])) * spec.dtype.itemsize
            for spec in signature.results
        )
    return Work(count, read, written, "f64" if np.dtype(np.float64) in dtypes else "f32")


def _expected(executable: Executable, prepared: Prepared) -> list[npt.NDArray[Any]] | None:
    """Our result. None for a function that works in place: running a peer after it would not be the same."""
    if executable.signature.convention == "inout":
        return None
    return [np.array(array) for array in as_arrays(executable(*prepared.arrays))]


def _add_peer(
    peer: str,
    prepared: Prepared,
    threads: int,
    expected: list[npt.NDArray[Any]] | None,
    contestants: dict[str, tuple[Call, Results]],
    outcome: Outcome,
) -> None:
    try:
        loaded = load(peer, prepared, threads)
        if loaded is None:
            return
        call, results = loaded
        found = results(call())
    except Exception as error:
        outcome.notes.append(f"{peer} fails: {one_line(f'{type(error).__name__}: {error}', 160)}")
        return
    problem = None if expected is None else _difference(found, expected)
    if problem:
        outcome.notes.append(f"{peer} {problem}")
    if problem and "computes in" in problem:
        return
    contestants[peer] = loaded


def _difference(found: list[npt.NDArray[Any]], expected: list[npt.NDArray[Any]]) -> str | None:
    """What is wrong with a peer's results beside ours, None when nothing is."""
    if len(found) != len(expected):
        return f"gives {len(found)} results, expected {len(expected)}"
    for theirs, ours in zip(found, expected, strict=True):
        if theirs.shape != ours.shape:
            return f"gives shape {theirs.shape}, ours {ours.shape}"
        if theirs.dtype != ours.dtype:
            return f"computes in {theirs.dtype}, not {ours.dtype}"
        if ours.dtype.kind != "f" or not ours.size:
            continue
        scale = max(1e-30, float(np.max(np.abs(theirs))))
        error = float(np.max(np.abs(theirs - ours))) / scale
        limit = _TOLERANCES["f64" if ours.dtype == np.float64 else "f32"]
        if not error <= limit:
            if ours.dtype == np.float64 and error < 1e-3:
                return f"computes in less than f64: its result is off by {error:.1e}"
            return f"gives another result: off by {error:.1e} of the largest element"
    return None


def _warm_up() -> None:
    """Import what compiling needs, which is not to be part of the first program's time."""

    def function(x: Tensor) -> Tensor:
        return softmax(x @ x)

    jit(function).lower(np.zeros((64, 64), np.float32)).compile(threads=1)


def main() -> int:
    """Serve jobs until standard input ends."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    Target.host()  # with all its cores, before this process is kept on some
    _warm_up()
    for line in sys.stdin:
        data: dict[str, Any] = json.loads(line)
        request = Request(**data.pop("request"))
        job = Job(request=request, **data)
        pin(job.threads)
        answers.write(json.dumps(asdict(measure(job))) + "\n")
        answers.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
