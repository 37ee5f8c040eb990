"""
Timing of several implementations of a kernel beside each other, and what the machine allows at most.

Samples are interleaved: the contestants take turns, so that what else happens on the machine, and what its
clock does, happens to all of them. Each turn begins with calls that are not timed, since the caches and the
branch predictors hold what the contestant before left there, and the threads of a pool sleep.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from statistics import median

import numpy as np

from ..errors import StepwellError
from ..frozen import frozen
from ..targets.machine import core_cpus
from ..targets.rates import LEVELS, Kind
from ..targets.target import Target

try:
    import resource
except ImportError:  # Windows has none
    resource = None

_SAMPLE_SECONDS = 1e-3
"""A sample repeats short calls until it takes this long: the clock's own cost is then below 0.1 %."""

_WARM_UP_SECONDS = 5e-3
"""How long a turn begins with calls that are not timed: tens of megabytes are read again in that time."""

_TURNS = 8
_LEAST_TURN_SECONDS = 20e-3
"""The seconds of a contestant are shared out to so many turns, but none is shorter."""

_LEAST_TURNS = 5
_LEAST_SLOW_TURNS = 3
_LEAST_UNDISTURBED = 3

_TOUCHED_BYTES = 256 << 20
"""More than the arrays of most kernels."""

_WRITES_LITTLE = 8
"""A kernel is held against the bandwidth of reads when it writes less than one byte in so many."""


@frozen
class Timing:
    """
    Seconds of one call in each sample that counts.

    A sample during which the system gave the core to another process does not, as long as there are enough
    others: `interrupted` is the part of all that were so. Where one counts, it is with the processor's time if
    there is one thread: the caches may suffer still, but waiting for the core does not count.
    """

    samples: tuple[float, ...]
    interrupted: float = 0.0

    @property
    def median(self) -> float:
        return median(self.samples)

    @property
    def least(self) -> float:
        return min(self.samples)


@frozen
class Work:
    """What a kernel must do: floating-point operations, None where they are not known, and bytes."""

    flops: int | None
    bytes_read: int
    bytes_written: int
    dtype: str = "f32"
    """the floats it computes with, `f32` or `f64`"""

    @property
    def bytes(self) -> int:
        return self.bytes_read + self.bytes_written

    @property
    def intensity(self) -> float:
        """FLOP per byte."""
        return (self.flops or 0) / max(1, self.bytes)


@frozen
class Roof:
    """The least time that the machine allows, and what sets it: `compute` or a level of memory."""

    seconds: float
    bound: str


def environment(threads: int) -> dict[str, str]:
    """
    Environment variables for a process that measures with so many threads.

    Libraries read them when they are loaded, so that they must be set before. Memory that is given back is
    kept by the process: otherwise every large result costs page faults, in some libraries and not in others.
    """
    libraries = ("OMP", "OPENBLAS", "MKL", "NUMEXPR", "VECLIB_MAXIMUM", "BLIS", "TBB")
    return {
        **{f"{library}_NUM_THREADS": str(threads) for library in libraries},
        "OMP_DYNAMIC": "false",
        "MALLOC_MMAP_MAX_": "0",
        "MALLOC_TRIM_THRESHOLD_": str(1 << 40),
        "MALLOC_TOP_PAD_": str(64 << 20),
    }


def touch_memory() -> None:
    """
    Have the heap of this process, under the `environment` above, hold memory that the system has given it.

    Otherwise the first calls of a library have page faults, each time that its memory comes from another place.
    NumPy asks for huge pages for large arrays; here it does for what other libraries will allocate too.
    """
    np.ones(_TOUCHED_BYTES, np.uint8)


def check_cores(threads: int) -> None:
    """Raises StepwellError when there are fewer cores than threads: times would say little."""
    cores = len(core_cpus())
    if not 1 <= threads <= cores:
        raise StepwellError(
            f"found {threads} threads to measure with, expected 1 to {cores}, the cores that this process "
            "may use; choose one of these"
        )


def pin(threads: int) -> None:
    """
    Keep this process, and the threads it starts, on as many cores: the last ones, since the first serves
    most interrupts. Nothing happens on systems without affinities.
    """
    check_cores(threads)
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, set(core_cpus()[-threads:]))


@frozen
class Turn:
    """Seconds of one call in each sample of a turn, by whether another process took the core; of the turn."""

    undisturbed: Sequence[float]
    interrupted: Sequence[float]
    seconds: float


TakeTurn = Callable[[float], Turn | None]
"""Measures for so many seconds, wherever that is. None from a contestant that is out of the race."""


def interleaved(
    contestants: Mapping[str, TakeTurn], *, seconds: float, threads: int = 1
) -> dict[str, Timing]:
    """
    Time the contestants in turns, each until it has run for so many `seconds` but a few times at least.

    Raises what a contestant raises. Those that are out of the race have no timing.
    """
    records = {name: _Record() for name in contestants}
    length = max(_LEAST_TURN_SECONDS, seconds / _TURNS)
    running = list(contestants)
    while running:
        for name in running:
            turn = contestants[name](length)
            if turn is None:
                del records[name]
            else:
                records[name].add(turn)
        running = [
            name
            for name in running
            if name in records and not records[name].is_done(seconds, threads)
        ]
        running = [*running[1:], *running[:1]]  # nobody always follows the same one
    return {name: record.timing() for name, record in records.items()}


class _Record:
    """What a contestant measured in its turns."""

    def __init__(self):
        self._turns = 0
        self._spent = 0.0
        self._undisturbed: list[float] = []
        self._interrupted: list[float] = []

    def add(self, turn: Turn) -> None:
        self._turns += 1
        self._spent += turn.seconds
        self._undisturbed += turn.undisturbed
        self._interrupted += turn.interrupted

    def is_done(self, seconds: float, threads: int) -> bool:
        """Long enough, and often enough; several threads that are interrupted try for three times as long."""
        least = _LEAST_SLOW_TURNS if self._spent > 2 * seconds else _LEAST_TURNS
        if self._turns < least or self._spent < seconds:
            return False
        is_quiet = threads == 1 or len(self._undisturbed) >= least
        return is_quiet or self._spent >= 3 * seconds

    def timing(self) -> Timing:
        enough = len(self._undisturbed) >= _LEAST_UNDISTURBED
        counting = self._undisturbed if enough else [*self._undisturbed, *self._interrupted]
        taken = len(self._undisturbed) + len(self._interrupted)
        return Timing(tuple(counting), len(self._interrupted) / taken)


class Sampler:
    """A contestant where it runs: takes turns at timing a call."""

    def __init__(self, call: Callable[[], object], threads: int):
        self._call = call
        self._threads = threads
        self._calls: int | None = None  # of a sample; the first turn finds out

    def take_turn(self, seconds: float) -> Turn:
        """Samples until this much time has passed, the warm-up included; one at least."""
        start = time.perf_counter()
        self._warm_up()
        if self._calls is None:
            self._calls = self._calls_for_a_sample()
        undisturbed: list[float] = []
        interrupted: list[float] = []
        while True:
            took, is_interrupted = self._sample(self._calls)
            (interrupted if is_interrupted else undisturbed).append(took)
            spent = time.perf_counter() - start
            if spent >= seconds:
                return Turn(undisturbed, interrupted, spent)

    def _warm_up(self) -> None:
        start = time.perf_counter()
        self._call()
        while time.perf_counter() - start < _WARM_UP_SECONDS:
            self._call()

    def _sample(self, calls: int) -> tuple[float, bool]:
        """With one thread, an interrupted sample takes what it took of the processor."""
        switches, processor = _involuntary_switches(), time.process_time()
        took = self._time(calls)
        processor = (time.process_time() - processor) / calls
        if _involuntary_switches() == switches:
            return took, False
        return min(took, processor) if self._threads == 1 else took, True

    def _calls_for_a_sample(self) -> int:
        calls = 1
        while True:
            took = self._time(calls)
            if took * calls >= _SAMPLE_SECONDS / 2:
                return max(1, round(_SAMPLE_SECONDS / took))
            calls *= 4

    def _time(self, calls: int) -> float:
        """Seconds of one call."""
        call = self._call
        start = time.perf_counter()
        for _ in range(calls):
            call()
        return max(1e-9, (time.perf_counter() - start) / calls)


def _involuntary_switches() -> int:
    """How often the system has taken a core from this process; 0 where it does not tell."""
    return 0 if resource is None else resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw


def roof(work: Work, target: Target, threads: int) -> Roof:
    """
    The roofline model: the time of the arithmetic at the FMA peak or of the bytes at the bandwidth of the
    innermost level that holds them all, whichever is longer.

    (Williams, Waterman and Patterson, "Roofline: An Insightful Visual Performance Model for Multicore
    Architectures", CACM 2009.)
    """
    kind: Kind = "read" if work.bytes_written * _WRITES_LITTLE < work.bytes else "copy"
    level = _level_holding(work.bytes, target, threads)
    moving = work.bytes / target.bandwidth(level, kind, threads)
    computing = (work.flops or 0) / target.peak(work.dtype, threads)
    return Roof(computing, "compute") if computing > moving else Roof(moving, level)


def _level_holding(size: int, target: Target, threads: int) -> str:
    """The first level with room for so many bytes in three quarters of it: code and stacks are there too."""
    for cache in target.caches:
        together = cache.bytes * -(-threads // cache.shared_by)
        if cache.name in LEVELS and size <= together * 3 // 4:
            return cache.name
    return "memory"
