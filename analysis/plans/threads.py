"""How many threads plans deal work to, and from how much work they pay."""

from __future__ import annotations

from collections.abc import Sequence

from ...targets.target import Target
from .cost import balanced, round_up

PARALLEL_WORK = 1 << 20
"""Multiply-adds from which threads pay: about ten microseconds of one core, several times a team's start."""

TEAM_SECONDS = 5e-6
"""A parallel region's start and end on an idle machine, about (docs/threads.md)."""

PAYING = 4
"""Times a team's start, of one core's work, from which threads pay: two of them save half of that, twice the start."""

MANY = 8
"""Iterations for each thread from which it matters little that one has one more."""


def team(target: Target) -> int:
    """The threads that a schedule deals its work to; it is the same for fewer."""
    return max(target.cores, 2)


def paying_bytes(target: Target) -> float:
    """Memory traffic from which threads pay."""
    return PAYING * TEAM_SECONDS * target.rates.bandwidth("memory")


def chosen_for_threads(trips: Sequence[int], target: Target) -> int | None:
    """
    Which of several loops, outermost first, runs on threads: the first that has many iterations for each thread,
    or as many for all; without one, the first that has one for each.
    """
    threads = team(target)
    enough = [n for n, count in enumerate(trips) if count >= threads]
    even = [n for n in enough if trips[n] >= MANY * threads or trips[n] % threads == 0]
    return next(iter(even or enough), None)


def dealt(extent: int, most: int, unit: int, threads: int, cost: int) -> int:
    """
    The size of equal blocks as of `balanced`, as many for each thread.

    There are up to twice as many blocks as are needed where a thread has less to do by that: the sizes are
    multiples of `unit`, and what is left for the last thread may be little. A block costs as much as so many
    rows or columns more: for B's panels, which each block of rows fetches again.
    """
    least = round_up(-(-extent // balanced(extent, most, unit)), threads)
    sizes = {
        blocks: round_up(-(-extent // blocks), unit)
        for blocks in range(least, 2 * least + 1, threads)
    }
    return min(sizes.items(), key=lambda pair: (pair[0] // threads * (pair[1] + cost), pair[0]))[1]
