"""
Timing of several implementations of a kernel beside each other, and what the machine allows at most.

Samples are interleaved: the contestants take turns, so that what else happens on the machine, and what its
clock does, happens to all of them. Each turn begins with calls that are not timed, since the caches and the
branch predictors hold what the contestant before left there, and the threads of a pool sleep. Between turns a gauge
may tell how quick the machine is: turns in which a neighbour slowed it do not count, whoever's they are.
"""

from __future__ import annotations

import os
import time
from bisect import insort
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

_SLOWED, _QUICK = 1.15, 0.1
"""
A turn was slowed when the gauge took so many times as long, before or after it, as it does in the quickest part of all its readings. Clocks
alone change by 1.1 from one second to the next, and a neighbour on the same physical core takes 1.3 to 1.6.
"""

_PATIENCE = 3
"""So many times as long, and as often, a contestant tries at most until enough turns were neither slowed nor interrupted."""

_TOUCHED_BYTES = 256 << 20
"""More than the arrays of most kernels."""

_WRITES_LITTLE = 8
"""A kernel is held against the bandwidth of reads when it writes less than one byte in so many."""


@frozen
class Timing:
    """
    Seconds of one call in each sample that counts.

    A sample during which the system gave the core to another process does not, as long as there are enough
    others: `interrupted` is the part that were so. Where one counts, it is with the processor's time if
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

Reading = Sequence[float]
"""Seconds of pieces of work that stay the same, see `runtime.gauge`."""


class Pace:
    """How quick the machine is beside what it was at its best since this was made, told by a gauge."""

    def __init__(self, read: Callable[[], Reading]):
        self._read = read
        self._known: list[list[float]] = []
        """what was read of each piece of work, in order of size"""

    def read(self) -> Reading:
        reading = tuple(self._read())
        self._known = self._known or [[] for _ in reading]
        for known, seconds in zip(self._known, reading, strict=True):
            insort(known, seconds)
        return reading

    def is_quick(self, reading: Reading) -> bool:
        return all(
            seconds <= _SLOWED * known[int(_QUICK * len(known))]
            for seconds, known in zip(reading, self._known, strict=True)
        )

    def was_quick(self, readings: Sequence[Reading]) -> bool:
        """In most of these, by what quick has turned out to be since."""
        return 2 * sum(map(self.is_quick, readings)) >= len(readings)


@frozen
class Race:
    """What a race gave: the timings of those who did not drop out, and what the gauge told after the turns that count."""

    timings: Mapping[str, Timing]
    readings: Sequence[Reading] = ()


def interleaved(
    contestants: Mapping[str, TakeTurn],
    *,
    seconds: float,
    threads: int = 1,
    pace: Pace | None = None,
) -> Race:
    """
    Time the contestants in turns, each until it has run for so many `seconds` but a few times at least.

    With a `pace`, turns in which the machine was slowed do not count, for as long as everybody has enough others.
    Raises what a contestant raises. Those that are out of the race have no timing.
    """
    records = {name: _Record(seconds, threads, pace) for name in contestants}
    length = max(_LEAST_TURN_SECONDS, seconds / _TURNS)
    running = list(contestants)
    before = pace.read() if pace else ()
    while running:
        for name in running:
            turn = contestants[name](length)
            after = pace.read() if pace else ()
            if turn is None:
                del records[name]
            else:
                records[name].turns.append(_Taken(turn, before, after))
            before = after
        running = [name for name in running if name in records and not records[name].is_done]
        running = [*running[1:], *running[:1]]  # nobody always follows the same one
    all_have = all(record.has_quick_turns for record in records.values())
    counting = {
        name: record.quick_turns if all_have else record.turns for name, record in records.items()
    }
    timings = {name: _timing([taken.turn for taken in turns]) for name, turns in counting.items()}
    readings = [taken.after for turns in counting.values() for taken in turns if pace]
    return Race(timings, readings)


@frozen
class _Taken:
    """A turn, with what the gauge told before and after it."""

    turn: Turn
    before: Reading
    after: Reading


class _Record:
    """The turns of one contestant."""

    def __init__(self, seconds: float, threads: int, pace: Pace | None):
        self._seconds, self._threads, self._pace = seconds, threads, pace
        self.turns: list[_Taken] = []

    @property
    def quick_turns(self) -> list[_Taken]:
        """Those that were not slowed; all of them where there is no gauge."""
        pace = self._pace
        if pace is None:
            return self.turns
        return [t for t in self.turns if pace.is_quick(t.before) and pace.is_quick(t.after)]

    @property
    def has_quick_turns(self) -> bool:
        return len(self.quick_turns) >= self._least_turns

    @property
    def is_done(self) -> bool:
        """Long enough, and often enough. Who was slowed, or had threads that were interrupted, tries three times as long."""
        turns, spent, least = len(self.turns), self._spent, self._least_turns
        if turns < least or spent < self._seconds:
            return False
        undisturbed = sum(len(taken.turn.undisturbed) for taken in self.turns)
        is_quiet = self._threads == 1 or undisturbed >= least
        has_tried = turns >= _PATIENCE * least and spent >= _PATIENCE * self._seconds
        return has_tried or (is_quiet and self.has_quick_turns)

    @property
    def _spent(self) -> float:
        return sum(taken.turn.seconds for taken in self.turns)

    @property
    def _least_turns(self) -> int:
        return _LEAST_SLOW_TURNS if self._spent > 2 * self._seconds else _LEAST_TURNS


def _timing(turns: Sequence[Turn]) -> Timing:
    undisturbed = [sample for turn in turns for sample in turn.undisturbed]
    interrupted = [sample for turn in turns for sample in turn.interrupted]
    counting = (
        undisturbed if len(undisturbed) >= _LEAST_UNDISTURBED else [*undisturbed, *interrupted]
    )
    return Timing(tuple(counting), len(interrupted) / (len(undisturbed) + len(interrupted)))


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
