"""How many threads plans deal work to, and from how much work they pay."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, prod

from ...targets.target import Target
from .cost import balanced, round_up

PARALLEL_WORK = 1 << 20
"""Multiply-adds from which blocks are dealt to threads: about ten microseconds of one core, several times a team's start."""

TEAM_SECONDS = 3e-6
"""A parallel region's start and end on an idle machine where its threads have slept, about (docs/threads.md)."""

PAYING = 2
"""
Times a team's start, of one core's work, from which threads pay: two of them save half of that, as much as they cost where they have
slept. Mostly they are awake, since the loop before this one was a moment ago, and the start takes a tenth of that.
"""


def team(target: Target) -> int:
    """The threads that a schedule deals its work to; it is the same for fewer."""
    return max(target.cores, 2)


def pays(seconds: float) -> bool:
    """Whether what takes one core so long is worth a team."""
    return seconds >= PAYING * TEAM_SECONDS


def memory_seconds(bytes_: float, target: Target) -> float:
    """How long one core takes for so much memory traffic, at least."""
    return bytes_ / target.rates.bandwidth("memory")


def chosen_for_threads(
    trips: Sequence[int],
    seconds: float,
    target: Target,
    shares: Sequence[float] = (),
    fetching: Sequence[float] = (),
) -> int | None:
    """
    Which of several loops, outermost first, runs on threads, of a nest that takes one core `seconds`: that with which it
    takes least, or None where all are slower than one core.

    The thread that has most iterations is waited for: as many as there are, over the threads, rounded up. Each iteration of the
    loops around starts a team of its own. Of the nest only the part in `shares`, where they are given, is in a loop: what is beside
    it runs on one thread. What all iterations read takes one core so many seconds of `fetching` from beyond L2, where it is
    given: one thread has made its part of that before, and gets those of the others from their caches.
    """
    threads = team(target)
    found: dict[int, float] = {}
    for number, count in enumerate(trips):
        if count >= threads:
            share = shares[number] if shares else 1.0
            dealt_out = share * -(-count // threads) / count
            teams = prod(trips[:number])
            others = (1 - 1 / threads) * fetching[number] if fetching else 0.0
            found[number] = seconds * (1 - share + dealt_out) + teams * TEAM_SECONDS + others
    best = min(found, key=lambda number: (found[number], number), default=None)
    return None if best is None or found[best] >= seconds else best


def dealt(extent: int, most: int, unit: int, threads: int, cost: int) -> int:
    """
    The size of equal blocks as of `balanced`, as many for each thread.

    There are up to twice as many blocks as are needed where a thread has less to do by that: the sizes are
    multiples of `unit`, and what is left for the last thread may be little. A block costs as much as so many
    rows or columns more: for B's panels, which each block of rows fetches again.
    """
    least = round_up(-(-extent // balanced(extent, most, unit)), threads)
    best, cheapest = 0, inf
    for blocks in range(least, 2 * least + 1, threads):
        size = round_up(-(-extent // blocks), unit)
        total = blocks // threads * (size + cost)
        if total < cheapest:
            best, cheapest = size, total
    return best
