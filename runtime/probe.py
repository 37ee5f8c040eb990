"""
What this machine can do at most: fused multiply-adds per second, and bytes per second from each level of
its memory. Measured with kernels of our own (`probe_kernels.py`), compiled like any other.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import cast

import numpy as np
from xdsl.parser import Parser

from ..errors import StepwellError
from ..targets.core import Cache
from ..targets.machine import core_cpus
from ..targets.measurements import load, merged, store
from ..targets.rates import KINDS, Kind, Rate
from ..targets.target import Target
from ..universe import make_context
from .engine import aligned_empty
from .executable import Executable
from .jit import compile_module
from .probe_kernels import UNROLL, copy_kernel, fma_kernel, read_kernel

_REPETITIONS, _LEAST_REPETITIONS = 40, 8
_BUDGET = 0.1
"""
Seconds after which no more than the least number of repetitions are made. Where nothing else runs a few
are enough; otherwise it takes many until one is not interrupted on any core.
"""

_SECONDS = 2e-3
"""How long one repetition takes: long beside the start of a thread, short beside a time slice."""

_LARGEST = 256 << 20
"""Bytes that memory is measured with, on machines whose last cache is not larger itself."""

_FASTEST_CLOCK = 8e9
_MOST_FMAS_A_CYCLE = 4
_BITS = {"f32": 32, "f64": 64}


@dataclass(frozen=True)
class _Job:
    """A kernel, and how to make the arguments that one thread calls it with."""

    kernel: Executable
    arguments: Callable[[], Sequence[np.ndarray]]
    work: Callable[[Sequence[np.ndarray]], float]
    """FLOPs or bytes of one round"""
    check: Callable[[int, Sequence[np.ndarray]], bool]
    """whether the arrays hold what they must after so many rounds"""


def probe(target: Target | None = None) -> dict[str, Rate]:
    """
    Measure this machine; it takes 2 to 4 seconds. Nothing is stored.

    Raises StepwellError when `target` does not run here, and for results that cannot be.
    """
    target = target or Target.host()
    cores = len(core_cpus())
    rates = fma_rates(target)
    kernels: dict[Kind, Executable] = {
        "read": _compiled(read_kernel(_lanes(target, "f32")), target),
        "copy": _compiled(copy_kernel(_lanes(target, "f32")), target),
    }
    for name, alone, together in working_sets(target.caches, cores):
        for kind, kernel in kernels.items():
            rates[f"{kind}_{name.lower()}"] = _stream_rate(kernel, kind, (alone, together), cores)
    check_plausible(rates, target)
    return rates


def fma_rates(target: Target) -> dict[str, Rate]:
    """FLOP/s of independent multiply-adds in f32 and f64, with the vectors and registers of the target."""
    cores = len(core_cpus())
    return {f"fma_{element}": _fma_rate(target, element, cores) for element in ("f32", "f64")}


def probe_and_store() -> dict[str, Rate]:
    """
    Measure this machine and keep the better of this and what was measured before, which `Target.host()` has
    from then on.
    """
    target = Target.host()
    file = target.measured_file
    measured = merged(load(file), probe(target))
    try:
        store(file, measured)
    except OSError as error:
        raise StepwellError(
            f"cannot store the measurements: {error.strerror}; set XDG_CACHE_HOME to a folder that can "
            "be written",
            where=str(file),
        ) from error
    Target.forget_host()
    return measured


def working_sets(caches: Sequence[Cache], cores: int) -> list[tuple[str, int, int]]:
    """
    What each level is measured with: its name, and bytes for a core alone and for one of all cores.

    Half of a cache stays free for what else is in it, and the cores that share it use equal parts. Memory's
    are four times what the last cache holds.
    """
    sets: list[tuple[str, int, int]] = []
    inner = 0
    for cache in caches:
        alone, sharing = cache.bytes // 2, min(cores, cache.shared_by)
        # With less, the cache inside would serve them.
        if alone >= 2 * inner:
            sets.append((cache.name, alone, max(alone // sharing, 2 * inner)))
            inner = cache.bytes
    last = max(caches, key=lambda cache: cache.bytes)
    alone = max(min(4 * last.bytes, _LARGEST), 2 * last.bytes)
    return [*sets, ("memory", alone, max(alone // cores, 2 * last.bytes // last.shared_by))]


def check_plausible(rates: Mapping[str, Rate], target: Target) -> None:
    """Raises StepwellError for results that only a fault or a very busy machine explains."""
    for element, bits in _BITS.items():
        most = target.vector_bits / bits * 2 * _MOST_FMAS_A_CYCLE * _FASTEST_CLOCK
        _check_rate(f"the {element} peak", rates[f"fma_{element}"], target.cores, most)
    f32, f64 = rates["fma_f32"].core, rates["fma_f64"].core
    if not 1.3 < f32 / f64 < 3:
        raise _implausible(
            f"a peak of {f32 / 1e9:.4g} GFLOP/s for f32 and {f64 / 1e9:.4g} for f64",
            "twice as many for f32",
        )
    # Three loads or stores of a vector in a cycle, and one to spare.
    most = 4 * target.vector_bits / 8 * _FASTEST_CLOCK
    for name, rate in rates.items():
        kind, _, level = name.partition("_")
        if kind in KINDS:
            _check_rate(f"the {kind} bandwidth of {level}", rate, target.cores, most)
    first, last = rates["read_l1"].core, rates["read_memory"].core
    if first < last:
        raise _implausible(
            f"{first / 1e9:.4g} GB/s from L1 and {last / 1e9:.4g} from memory", "L1 to be faster"
        )


def _check_rate(what: str, rate: Rate, cores: int, most: float) -> None:
    if not 1e7 < rate.core < most:
        raise _implausible(f"{what} at {rate.core:.3g} per second", f"at most {most:.3g}")
    if not 0.5 * rate.core < rate.machine < 1.5 * cores * rate.core:
        raise _implausible(
            f"{what} at {rate.core:.3g} per second for one core and {rate.machine:.3g} for {cores}",
            f"between one and {cores} times as much",
        )


def _implausible(found: str, expected: str) -> StepwellError:
    return StepwellError(
        f"the probe found {found}, expected {expected}; let other programs finish and probe again"
    )


# Kernels and their arguments.


def _lanes(target: Target, element: str) -> int:
    return target.vector_bits // _BITS[element]


def _compiled(text: str, target: Target) -> Executable:
    return compile_module(Parser(make_context(), text).parse_module(), target=target)


def _fma_rate(target: Target, element: str, cores: int) -> Rate:
    """
    12 independent vectors where there are 16 registers, 24 where there are 32: more than latency times
    throughput of any core's multiply-adds (10 on Intel's), and the two operands stay in registers too.
    """
    lanes, count = _lanes(target, element), 3 * target.vector_registers // 4
    dtype = np.dtype(f"f{_BITS[element] // 8}")

    def arguments() -> list[np.ndarray]:
        # Whatever it begins with, x / 2 + 1 repeated comes to 2.
        return [np.array([0.5, 1], dtype), _aligned(count * lanes, dtype).reshape(count, lanes)]

    job = _Job(
        _compiled(fma_kernel(element, lanes, count), target),
        arguments,
        lambda arrays: 2.0 * arrays[1].size,
        lambda rounds, arrays: rounds < 100 or bool((arrays[1] == 2).all()),
    )
    return _rate(job, job, cores)


def _stream_rate(kernel: Executable, kind: Kind, sizes: tuple[int, int], cores: int) -> Rate:
    """`sizes` are the bytes of one core alone, and of one of all."""
    alone, together = (_stream_job(kernel, kind, size) for size in sizes)
    return _rate(alone, together, cores)


def _stream_job(kernel: Executable, kind: Kind, size: int) -> _Job:
    count = {"read": 1, "copy": 2}[kind]
    # The last argument of the read kernel are its sums.
    sums = cast("tuple[int, ...]", kernel.signature.inputs[-1].shape) if kind == "read" else ()
    granule = UNROLL * 64

    def arguments() -> list[np.ndarray]:
        elements = max(1, size // 4 // count // granule) * granule
        return [
            *_staggered(count, elements),
            *(np.zeros(shape, np.float32) for shape in [sums] if shape),
        ]

    def check(rounds: int, arrays: Sequence[np.ndarray]) -> bool:
        if kind == "read":  # all ones: what is added goes on until a sum no longer changes
            return bool(arrays[-1].min() >= min(rounds, 1 << 24))
        last = arrays[count - 1]
        return bool(last[0] == last[-1] == 1)

    return _Job(kernel, arguments, lambda arrays: 4.0 * count * arrays[0].size, check)


def _aligned(elements: int, dtype: np.dtype) -> np.ndarray:
    array = aligned_empty(elements * dtype.itemsize).view(dtype)
    array[...] = 0
    return array


def _staggered(count: int, elements: int) -> list[np.ndarray]:
    """
    Arrays of ones on cache lines that begin at different places of a page: loads at the address of a
    store before it, modulo 4096, would wait for that.
    """
    arrays: list[np.ndarray] = []
    for number in range(count):
        raw = aligned_empty(4 * elements + 8192)
        start = (-raw.ctypes.data + number * 1344) % 4096
        array = raw[start : start + 4 * elements].view(np.float32)
        array[...] = 1
        arrays.append(array)
    return arrays


# Timing.


def _rate(alone: _Job, together: _Job, cores: int) -> Rate:
    core = _best_rate(alone, 1)
    return Rate(core, core if cores == 1 else _best_rate(together, cores))


def _enough_rounds(job: _Job) -> int:
    """How many rounds take `_SECONDS`."""
    arguments = job.arguments()
    job.kernel(1, *arguments)
    rounds = 1
    while True:
        start = perf_counter()
        job.kernel(rounds, *arguments)
        took = perf_counter() - start
        if took > _SECONDS / 8:
            return max(1, round(rounds * _SECONDS / took))
        rounds *= 4


def _best_rate(job: _Job, threads: int) -> float:
    """The best of several repetitions, in each of which every thread works on arrays of its own."""
    race = _Race(job, threads)
    if threads == 1:
        race.run()
    else:
        workers = [threading.Thread(target=race.run, args=(cpu,)) for cpu in core_cpus()[:threads]]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    return race.best_rate()


class _Race:
    """Threads that begin each repetition together."""

    def __init__(self, job: _Job, threads: int):
        self._job = job
        self._rounds = _enough_rounds(job)
        self._barrier = threading.Barrier(threads, self._decide)
        self._repetitions = 0
        self._ends_at = 0.0
        self._spans: list[list[tuple[float, float]]] = []
        self._work: list[float] = []
        self._errors: list[BaseException] = []

    def _decide(self) -> None:
        """Whether there is another repetition: called once before each, while all threads wait."""
        if not self._repetitions:
            self._ends_at = perf_counter() + _BUDGET
        in_time = perf_counter() < self._ends_at and self._repetitions < _REPETITIONS
        self._goes_on = self._repetitions < _LEAST_REPETITIONS or in_time
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
        job, arrays = self._job, self._job.arguments()
        job.kernel(1, *arrays)
        spans: list[tuple[float, float]] = []
        while True:
            self._barrier.wait()
            if not self._goes_on:
                break
            start = perf_counter()
            job.kernel(self._rounds, *arrays)
            spans.append((start, perf_counter()))
        if not job.check(self._rounds * len(spans), arrays):
            raise _implausible("a kernel with a wrong result", "what it computes")
        self._spans.append(spans)
        self._work.append(self._rounds * job.work(arrays))

    def best_rate(self) -> float:
        """Work per second of all threads in the best repetition, of which the slowest thread counts."""
        # A thread that fails breaks the barrier for the others, whose errors say nothing.
        self._errors.sort(key=lambda error: isinstance(error, threading.BrokenBarrierError))
        for error in self._errors:
            raise error
        together = zip(*self._spans, strict=True)
        seconds = min(max(e for _, e in each) - min(s for s, _ in each) for each in together)
        return sum(self._work) / seconds
