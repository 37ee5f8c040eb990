"""
A process that one contestant of `stepwell bench` runs in, ours or a library: its environment is set before
any library is loaded, and should native code end it, the command goes on with another.

Reads a message a line on standard input, as JSON, and writes its answer a line. What libraries print goes to
standard error.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..analysis.call_signature import FunctionSignature
from ..analysis.cost import flops
from ..analysis.levels import Level
from ..dialects.dtypes import is_float_dtype
from ..errors import StepwellError
from ..frontend.jit import jit
from ..frontend.nn.normalization import softmax
from ..frontend.tensor import Tensor, TensorLike
from ..frozen import frozen
from ..runtime.gauge import Gauge
from ..runtime.measure import Sampler, Turn, Work, pin, touch_memory
from ..spelling import one_line
from ..targets.target import Target
from .bench_case import Prepared, Request, prepare
from .bench_peers import OURS, as_arrays, load

_TOLERANCES = {"f32": 2e-4, "f64": 1e-10}
"""Of the largest difference between two results, as a part of the largest element."""


# Messages, and below them their answers. An answer with nothing but an `error` may come to any.


@frozen
class Prepare:
    """
    Get ready to take turns with a program. Ours goes first and writes its results to the file, with which the
    others compare theirs. The answer is an Outcome from ours, an Entry from others.
    """

    request: Request
    results: str


@frozen
class Measure:
    """Take a turn of so many seconds. The answer is a Turn."""

    seconds: float


@frozen
class PrepareGauge:
    """Get ready to tell how quick the cores are, with multiply-adds of `element` as a target has them. The answer is GaugeReady."""

    element: str
    target: str


@frozen
class ReadGauge:
    """Tell how quick the cores are now. The answer is a GaugeReading."""


Message = Prepare | Measure | PrepareGauge | ReadGauge


@frozen
class Entry:
    """Whether a peer takes turns with this program, and what is to be said of it."""

    is_ready: bool
    note: str = ""


@frozen
class GaugeReady:
    """The FLOPs of the gauge's multiply-adds on a core."""

    flops: float


@frozen
class GaugeReading:
    """See `runtime.gauge`."""

    seconds: list[float]


@dataclass
class Outcome:
    """What was measured of one program, or the `error` that kept it from being so."""

    name: str
    group: str = ""
    error: str = ""
    work: dict[str, Any] = field(default_factory=dict[str, Any])
    samples: dict[str, list[float]] = field(default_factory=dict[str, list[float]])
    """seconds of a call, by contestant"""
    peak: float | None = None
    """FLOP/s of independent multiply-adds on one core, after the turns that count"""
    gauge: list[list[float]] = field(default_factory=list[list[float]])
    """what the gauge told then, see `runtime.gauge`"""
    interrupted: float = 0.0
    """the part of the samples that other processes disturbed, for the contestant with the most"""
    passes: list[tuple[str, float]] = field(default_factory=list[tuple[str, float]])
    compile_seconds: float = 0.0
    """by the clock"""
    compile_cpu_seconds: float = 0.0
    """of processors, so without what other processes took"""
    llvm_cpu_seconds: float = 0.0
    """the part of it in LLVM"""
    arena_bytes: int = 0
    """of ours: what kernels pass to each other"""
    notes: list[str] = field(default_factory=list[str])


class Contestant:
    """What the messages are for: one program at a time."""

    def __init__(self, name: str, threads: int):
        self._name = name
        self._threads = threads
        self._sampler: Sampler | None = None
        self._gauge: Gauge | None = None

    def answer(self, message: Message) -> Outcome | Entry | GaugeReady | GaugeReading | Turn:
        """Raises StepwellError for what is wrong with a program, and whatever a library raises."""
        if isinstance(message, Measure):
            assert self._sampler is not None
            return self._sampler.take_turn(message.seconds)
        if isinstance(message, ReadGauge):
            assert self._gauge is not None
            return GaugeReading(self._gauge.read())
        if isinstance(message, PrepareGauge):
            self._gauge = _gauge(message.target, message.element)
            return GaugeReady(self._gauge.flops)
        self._sampler = None  # and its arrays
        prepared = prepare(message.request)
        if self._name == OURS:
            return self._compile(prepared, Path(message.results))
        return self._load(prepared, Path(message.results))

    def _compile(self, prepared: Prepared, path: Path) -> Outcome:
        start, cpu_start = time.perf_counter(), _cpu_seconds()
        executable = prepared.lowered.compile(threads=self._threads)
        seconds, cpu_seconds = time.perf_counter() - start, _cpu_seconds() - cpu_start
        if executable.signature.convention != "inout":
            _write(path, as_arrays(executable(*prepared.arrays)))
        self._sampler = Sampler(lambda: executable(*prepared.arrays), self._threads)
        return Outcome(
            prepared.case.name,
            prepared.case.group,
            work=asdict(work_of(prepared, executable.signature)),
            passes=prepared.lowered.timings,
            compile_seconds=seconds,
            compile_cpu_seconds=cpu_seconds,
            llvm_cpu_seconds=executable.native.llvm_cpu_seconds,
            arena_bytes=executable.signature.arena_bytes,
        )

    def _load(self, prepared: Prepared, path: Path) -> Entry:
        loaded = load(self._name, prepared, self._threads)
        if loaded is None:
            return Entry(False)
        call, results = loaded
        found = results(call())
        # There are none of a function that works in place: running another after it would not be the same.
        problem = difference(found, read_arrays(path)) if path.exists() else None
        if problem:  # a time for another result is not to be compared
            return Entry(False, problem)
        self._sampler = Sampler(call, self._threads)
        return Entry(True)


@lru_cache
def _gauge(target: str, element: str) -> Gauge:
    """With the same arrays each time: it is compared with itself."""
    return Gauge(Target.parse(target), element)


def _cpu_seconds() -> float:
    """Seconds of processors that this process has used, and processes that it started and that have ended."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def _write(path: Path, arrays: Sequence[npt.NDArray[Any]]) -> None:
    with path.open("wb") as file:
        np.savez(file, *arrays)


def read_arrays(path: Path) -> list[npt.NDArray[Any]]:
    with np.load(path) as stored:
        return list(stored.values())  # in the order they were written


def work_of(prepared: Prepared, signature: FunctionSignature) -> Work:
    """FLOPs from the IR; bytes of the arguments, the weights and the results, each once."""
    level = prepared.lowered.level
    count = flops(prepared.lowered.module(level)) if level is not Level.LLVM else None
    dtypes = {array.dtype for array in (*prepared.arrays, *prepared.weights)}
    read = sum(array.nbytes for array in (*prepared.arrays, *prepared.weights))
    read += prepared.stored_bytes
    if signature.convention == "inout":
        written = sum(array.nbytes for array in prepared.arrays)  # any of them may be
    else:
        written = sum(
            int(np.prod([extent or 0 for extent in spec.shape])) * spec.dtype.itemsize
            for spec in signature.results
        )
    return Work(count, read, written, "f64" if np.dtype(np.float64) in dtypes else "f32")


def difference(found: list[npt.NDArray[Any]], expected: list[npt.NDArray[Any]]) -> str | None:
    """What is wrong with a peer's results beside ours, None when nothing is."""
    if len(found) != len(expected):
        return f"gives {len(found)} results, expected {len(expected)}"
    for theirs, ours in zip(found, expected, strict=True):
        if theirs.shape != ours.shape:
            return f"gives shape {theirs.shape}, ours {ours.shape}"
        if theirs.dtype != ours.dtype:
            return f"computes in {theirs.dtype}, not {ours.dtype}"
        if not is_float_dtype(ours.dtype) or not ours.size:
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

    def function(x: TensorLike) -> Tensor:
        return softmax(x @ x)

    jit(function).lower(np.zeros((64, 64), np.float32)).compile(threads=1)


def _message(line: str) -> Message:
    data: dict[str, Any] = json.loads(line)
    if not data:
        return ReadGauge()
    if "element" in data:
        return PrepareGauge(**data)
    if "request" not in data:
        return Measure(**data)
    return Prepare(Request(**data.pop("request")), **data)


def main() -> int:
    """Serve messages until standard input ends."""
    name, threads = sys.argv[1], int(sys.argv[2])
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    Target.host()  # with all its cores, before this process is kept on some
    if name == OURS:
        _warm_up()
    pin(threads)
    touch_memory()
    contestant = Contestant(name, threads)
    for line in sys.stdin:
        try:
            answer = asdict(contestant.answer(_message(line)))
        except StepwellError as error:
            answer = {"error": str(error)}
        except Exception as error:
            answer = {"error": one_line(f"{type(error).__name__}: {error}")}
        try:
            answers.write(json.dumps(answer) + "\n")
            answers.flush()
        except BrokenPipeError:  # the command was killed
            os._exit(1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
