"""Timing for the probe: repetitions on one core or on all at once, and whether the machine was its own meanwhile."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from time import perf_counter, process_time, sleep, thread_time

import numpy as np

from ..errors import StepwellError
from ..frozen import frozen
from ..targets.machine import core_cpus
from .executable import Executable

_REPETITIONS, _LEAST_REPETITIONS = 60, 8
_BUDGET = 0.1
"""
Seconds after which no more than the least number of repetitions are made. Where nothing else runs a few
are enough; otherwise it takes many until some are not interrupted on any core.
"""

_TURNS = 3
"""How often jobs that are compared take turns: a core's clock changes from one tenth of a second to the next."""

_SECONDS = 2e-3
"""How long one repetition takes: long beside the start of a thread, short beside a time slice."""

_LEAST_UNDISTURBED = 3
"""So many repetitions must have run without interruption for the others to be left out."""

_INTERRUPTED = 1.03
"""A repetition was interrupted when it took this much longer than the processor time that its thread got."""

_SPREAD = 1.15
"""Repetitions that differ by more than this from the best one, in the median, had a neighbour."""

_MOST_OTHER_LOAD, _MOST_STOLEN = 0.1, 0.02
"""Parts of all cores' time: of other programs, and of other virtual machines. With more a measurement is busy."""

_STAT = Path("/proc/stat")


@frozen
class Job:
    """A kernel, and how to make the arguments that one thread calls it with."""

    kernel: Executable
    arguments: Callable[[], Sequence[np.ndarray]]
    work: Callable[[Sequence[np.ndarray]], float]
    """FLOPs or bytes of one round"""
    check: Callable[[int, Sequence[np.ndarray]], bool]
    """whether the arrays hold what they must after so many rounds"""


@frozen
class Sampled:
    """Work per second in each repetition that counts, and whether the machine was too busy to believe them."""

    rates: tuple[float, ...]
    is_busy: bool

    @property
    def best(self) -> float:
        return max(self.rates)

    @property
    def median(self) -> float:
        return median(self.rates)

    @property
    def low(self) -> float:
        """A quarter of the repetitions were slower."""
        return sorted(self.rates)[len(self.rates) // 4]


@frozen
class Load:
    """Parts of all cores' time: what other programs had, and what the hypervisor gave to other machines."""

    others: float
    stolen: float

    @property
    def is_busy(self) -> bool:
        return self.others > _MOST_OTHER_LOAD or self.stolen > _MOST_STOLEN


class LoadWatch:
    """Tells the load since it was made, from Linux's `/proc/stat`; none where there is no such file."""

    def __init__(self):
        self._ticks, self._own = _ticks(), process_time()

    def load(self) -> Load:
        spent = [now - then for now, then in zip(_ticks(), self._ticks, strict=False)]
        total = sum(spent)
        if not total:
            return Load(0, 0)
        user, nice, system, _, _, irq, softirq, stolen = spent
        own = (process_time() - self._own) * os.sysconf("SC_CLK_TCK")
        others = max(user + nice + system + irq + softirq - own, 0)
        return Load(others / total, stolen / total)


def _ticks() -> list[int]:
    """Ticks of all CPUs together: user, nice, system, idle, iowait, irq, softirq, steal."""
    try:
        words = _STAT.read_text().splitlines()[0].split()[1:9]
        return [int(word) for word in words] if len(words) == 8 else []
    except (OSError, ValueError, IndexError):
        return []


def implausible(found: str, expected: str) -> StepwellError:
    return StepwellError(
        f"the probe found {found}, expected {expected}; let other programs finish and probe again"
    )


def sample(
    job: Job,
    threads: int = 1,
    *,
    pause: float = 0.0,
    repetitions: int = _REPETITIONS,
    least: int = _LEAST_REPETITIONS,
    rounds: int | None = None,
    budget: float | None = None,
) -> Sampled:
    """
    At most so many repetitions, and at `least` so many, in each of which every thread works on arrays of its own.
    `pause` seconds come before each. A repetition has so many `rounds`, or as many as take its time; after `budget` seconds there
    are no more than the least.

    Raises StepwellError for a kernel that did not do its work.
    """
    warm = _Warm(job, rounds or 1)
    if rounds is None:
        warm.find_rounds()
    ends = _BUDGET if budget is None else budget
    race, watch = _Race(warm, threads, pause, repetitions, least, ends), LoadWatch()
    if threads == 1:
        race.run()
    else:
        workers = [threading.Thread(target=race.run, args=(cpu,)) for cpu in core_cpus()[:threads]]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    return race.sampled(watch.load())


def in_turns(
    jobs: Sequence[Job], turns: int = _TURNS, budget: float | None = None
) -> list[list[Sampled]]:
    """Jobs on one core whose rates are compared: in each turn every one has a part of its repetitions, and of its `budget` of seconds."""
    budget = _BUDGET if budget is None else budget
    part, least = _REPETITIONS // turns, _LEAST_REPETITIONS * _TURNS // turns
    rounds = [_Warm(job).find_rounds() for job in jobs]
    return [
        [
            sample(job, repetitions=part, least=least, rounds=count, budget=budget / turns)
            for job, count in zip(jobs, rounds, strict=True)
        ]
        for _ in range(turns)
    ]


def agree(ratios: Sequence[float]) -> bool:
    """Whether how two rates compare is nearly the same in all turns but the least and the greatest: the median is to be believed then."""
    _, *inner, _ = sorted(ratios)
    return inner[-1] <= _SPREAD * inner[0]


def joined(sampled: Sequence[Sampled]) -> Sampled:
    """The repetitions of several turns."""
    rates = (rate for each in sampled for rate in each.rates)
    return Sampled(tuple(rates), any(each.is_busy for each in sampled))


def _seconds(spans: Sequence[tuple[float, float, float]]) -> float:
    """From the first start to the last end; of one thread the processor time, if it got the core for less."""
    wall = max(end for _, end, _ in spans) - min(start for start, _, _ in spans)
    return max(min(wall, spans[0][2]), 1e-9) if len(spans) == 1 else wall


class _Warm:
    """A job with arrays that it has been called with; `done` is how many rounds that were, and `rounds` are those of a repetition."""

    def __init__(self, job: Job, rounds: int = 1):
        self.job, self.rounds = job, rounds
        self.arrays = job.arguments()
        self.done = 0
        self.call(1)

    def call(self, rounds: int) -> None:
        self.job.kernel(rounds, *self.arrays)
        self.done += rounds

    def find_rounds(self) -> int:
        """As many as take `_SECONDS`."""
        rounds = 1
        while (took := self._seconds(rounds)) <= _SECONDS / 8:
            rounds *= 4
        self.rounds = max(1, round(rounds * _SECONDS / took))
        return self.rounds

    def _seconds(self, rounds: int) -> float:
        """What so many rounds take, the lesser of two times: after an interruption alone, fewer would be made that all begin anew."""
        took: list[float] = []
        for _ in range(2):
            start = thread_time()
            self.call(rounds)
            took.append(thread_time() - start)
        return min(took)

    @property
    def is_right(self) -> bool:
        """Whether the arrays hold what they must after what was done; the first round is not counted."""
        return self.job.check(self.done - 1, self.arrays)


class _Race:
    """Threads that begin each repetition together."""

    def __init__(
        self, warm: _Warm, threads: int, pause: float, repetitions: int, least: int, budget: float
    ):
        self._job, self._rounds = warm.job, warm.rounds
        self._warm = warm if threads == 1 else None
        self._budget = budget
        self._most, self._least = repetitions, least
        self._pause = pause
        self._barrier = threading.Barrier(threads, self._decide)
        self._repetitions = 0
        self._ends_at = 0.0
        self._spans: list[list[tuple[float, float, float]]] = []
        self._work: list[float] = []
        self._errors: list[BaseException] = []

    def _decide(self) -> None:
        """Whether there is another repetition: called once before each, while all threads wait."""
        if not self._repetitions:
            self._ends_at = perf_counter() + self._budget
        in_time = perf_counter() < self._ends_at and self._repetitions < self._most
        self._goes_on = self._repetitions < self._least or in_time
        self._repetitions += self._goes_on

    def run(self, cpu: int | None = None) -> None:
        """What each thread does, on one CPU if it is told which and the system allows it."""
        try:
            if cpu is not None and hasattr(os, "sched_setaffinity"):
                os.sched_setaffinity(0, {cpu})  # of this thread alone
            self._run()
        except BaseException as error:
            self._errors.append(error)
            self._barrier.abort()

    def _run(self) -> None:
        warm = self._warm or _Warm(self._job)
        spans: list[tuple[float, float, float]] = []
        while True:
            self._barrier.wait()
            if not self._goes_on:
                break
            if self._pause:
                sleep(self._pause)
            start, processor = perf_counter(), thread_time()
            warm.call(self._rounds)
            processor = thread_time() - processor
            spans.append((start, perf_counter(), processor))
        if not warm.is_right:
            raise implausible("a kernel with a wrong result", "what it computes")
        self._spans.append(spans)
        self._work.append(self._rounds * self._job.work(warm.arrays))

    def sampled(self, load: Load) -> Sampled:
        """
        Work per second of all threads, of which the slowest counts. Repetitions in which the system gave a core to
        another thread are left out when there are enough others; if not, one thread's are with its processor time:
        the caches may have suffered, but waiting for the core does not count.
        """
        # A thread that fails breaks the barrier for the others, whose errors say nothing.
        self._errors.sort(key=lambda error: isinstance(error, threading.BrokenBarrierError))
        for error in self._errors:
            raise error
        together = list(zip(*self._spans, strict=True))
        work = sum(self._work)
        rates = [work / _seconds(each) for each in together]
        calm = [all(e - s < _INTERRUPTED * cpu for s, e, cpu in each) for each in together]
        undisturbed = [rate for rate, is_calm in zip(rates, calm, strict=True) if is_calm]
        enough = len(undisturbed) >= _LEAST_UNDISTURBED
        counting = undisturbed if enough else rates
        is_spread = max(counting) > _SPREAD * median(counting)
        return Sampled(tuple(counting), not enough or is_spread or load.is_busy)
