"""How many threads plans deal work to, and from how much work they pay."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf, prod

from ...targets.target import Target
from ..facts import Home, KernelFacts, Statement
from ..partitioning import bytes_of_others
from .cost import balanced, kept_bytes, round_up

PARALLEL_WORK = 1 << 20
"""Multiply-adds from which blocks are dealt to threads: about ten microseconds of one core, several times a team's start."""

TEAM_SECONDS = 3e-6
"""A parallel region's start and end on an idle machine where its threads have slept, about (docs/threads.md)."""

AWAKE_SECONDS = TEAM_SECONDS / 3
"""The same where the threads are awake, as between kernels of a program: until they have come, and the last one is done."""

CLAIMS = 16
"""
How often each thread claims iterations, if there are enough of them and all threads are equally fast. At the end a
thread waits for one claim of another at most; a claim itself takes about a tenth of a microsecond.
"""

PAYING = 2
"""
Times a team's start, of one core's work, from which threads pay: two of them save half of that, as much as they cost where they have
slept. Mostly they are awake, since the loop before this one was a moment ago, and the start takes a tenth of that.
"""


def team(target: Target) -> int:
    """The threads that a schedule deals its work to; it is the same for any number of them from two on."""
    return max(target.cores, 2)


def pays(seconds: float) -> bool:
    """Whether what takes one core so long is worth a team."""
    return seconds >= PAYING * TEAM_SECONDS


def memory_seconds(bytes_: float, target: Target) -> float:
    """How long one core takes for so much memory traffic, at least."""
    return bytes_ / target.rates.bandwidth("memory")


def line_seconds(bytes_: float, target: Target) -> float:
    """
    How long one core takes for so many bytes that another one has written last, and not long ago: each line leaves that
    one's caches and comes to this one's, as it does twice where an array beyond L2 is copied.
    """
    return 2 * bytes_ / target.rates.copy_l3.core


def others_seconds(bytes_: float, target: Target) -> float:
    """
    How long each thread takes to get its part of so many bytes where threads have had other parts before: all of it but what it
    has had itself.
    """
    threads = team(target)
    return line_seconds(bytes_ * (1 - 1 / threads) / threads, target)


def waiting_along(
    facts: KernelFacts, statement: Statement, axis: int, most: float, seconds: float, target: Target
) -> float:
    """
    How long each thread waits where a statement, which takes one core `seconds`, is dealt out along an axis, and one thread has a part
    `most` of it: for that one, and for lines of buffers that the program's threads share another way, as long as all arguments stay in their L2.
    """
    threads = team(target)
    arguments = (one.bytes or 0 for one in facts.buffers if one.home is not Home.SCRATCH)
    stays = sum(arguments) <= threads * kept_bytes(target.core.cache(2))
    others = bytes_of_others(facts, statement, axis) if stays else 0
    return seconds * (most - 1 / threads) + others_seconds(others, target)


def chosen_for_threads(trips: Sequence[int], seconds: float, target: Target) -> int | None:
    """
    Which of several loops, outermost first, runs on threads, of a nest that takes one core `seconds`: that with which it
    takes least, or None where all are slower than one core.
    """
    return least_seconds(seconds_on_threads(trips, seconds, target), seconds)


def least_seconds(found: Mapping[int, float], seconds: float) -> int | None:
    """Which of several numbers has the fewest seconds, the first of those; None where it is not less than `seconds`."""
    best = min(found, key=lambda number: (found[number], number), default=None)
    return None if best is None or found[best] >= seconds else best


def seconds_on_threads(
    trips: Sequence[int],
    seconds: float,
    target: Target,
    shares: Sequence[float] = (),
    waiting: Sequence[float] = (),
    start: float = TEAM_SECONDS,
) -> dict[int, float]:
    """
    What a nest that takes one core `seconds` takes with each of several loops, outermost first, on threads; none of too few
    iterations.

    The thread that has most iterations is waited for: as many as there are, over the threads, rounded up. Each iteration of the
    loops around starts a team of its own, which takes `start`. Of the nest only the part in `shares`, where they are given, is
    in a loop: what is beside it runs on one thread. Where `waiting` is given, each thread waits for so many seconds for what it
    reads and others have made, or writes and others have had.
    """
    threads = team(target)
    found: dict[int, float] = {}
    for number, count in enumerate(trips):
        if count >= threads:
            share = shares[number] if shares else 1.0
            dealt_out = share * -(-count // threads) / count
            others = waiting[number] if waiting else 0.0
            teams = prod(trips[:number])
            found[number] = seconds * (1 - share + dealt_out) + teams * start + others
    return found


def seconds_outermost(
    trips: int, seconds: float, target: Target, share: float, waiting: float, beside: int
) -> float:
    """
    The same with a loop that is made the outermost one for this, where threads are awake: there is one team for it, and one for
    each of the nests that come to stand beside it, as far as they are worth one.
    """
    threads = team(target)
    rest = seconds * (1 - share)
    rest = rest / threads if beside and pays(rest / beside) else rest
    starts = (1 + beside) * AWAKE_SECONDS
    return seconds * share * -(-trips // threads) / trips + rest + starts + waiting


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
