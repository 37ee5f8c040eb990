"""
How quick the cores are at this moment, told by work that stays the same.

A virtual machine does not see its neighbours. One on the same physical core takes a part of the instructions that the core
starts, and one that reads much takes a part of the bandwidth of memory, for milliseconds or for minutes. What is measured
meanwhile says more of the neighbour than of what is measured.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from time import perf_counter

from ..targets.machine import core_cpus
from ..targets.target import Target
from .probe_jobs import fma_job, stream_job, stream_kernel
from .probe_timing import Job

_ROUNDS = 100_000
"""Of multiply-adds in a piece: a few tenths of a millisecond, beside which the call is nothing."""

_FAR = 8
"""What is read is so many times as large as L2."""

_TIMES = 2
"""Of as many times the least counts, since the system's own interrupts are in all samples of what is measured."""


class Gauge:
    """
    Two pieces of work on each of the cores that this process may use: independent multiply-adds of `element` with the
    vectors of a target, and a read of an array from beyond L2.
    """

    def __init__(self, target: Target, element: str = "f32"):
        multiply = fma_job(target, element, target.vector_bits)
        read = stream_job(stream_kernel(target, "read"), "read", _FAR * target.cache(2).bytes)
        self._pieces = [_Piece(multiply, _ROUNDS), _Piece(read, 1)]
        self.flops = self._pieces[0].work
        """of the multiply-adds, on one core"""

    def read(self) -> list[float]:
        """The seconds of the multiply-adds and of the read on each core: two numbers a core."""
        return [piece.seconds() for _ in _each_core() for piece in self._pieces]


class _Piece:
    def __init__(self, job: Job, rounds: int):
        self._kernel, self._rounds, self._arrays = job.kernel, rounds, job.arguments()
        self.work = rounds * job.work(self._arrays)

    def seconds(self) -> float:
        return min(self._once() for _ in range(_TIMES))

    def _once(self) -> float:
        start = perf_counter()
        self._kernel(self._rounds, *self._arrays)
        return perf_counter() - start


def _each_core() -> Iterator[None]:
    """Keeps the calling thread on each core that it may use in turn, and lets it go at the end."""
    cores = core_cpus()
    if len(cores) == 1 or not hasattr(os, "sched_setaffinity"):
        yield
        return
    allowed = os.sched_getaffinity(0)
    try:
        for core in cores:
            os.sched_setaffinity(0, {core})
            yield
    finally:
        os.sched_setaffinity(0, allowed)
