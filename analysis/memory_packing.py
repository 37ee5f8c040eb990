"""
Offsets in one arena for buffers whose lives are known: dynamic storage allocation, which is NP-hard.

Buffers that are alive at the same time must not overlap. No arena is smaller than the most bytes alive at one time
(`lower_bound`), and mostly one of that size exists. Two heuristics are tried, and where both miss the bound a search of
limited length. All place one buffer after the other, each at the lowest place that is
free while it lives (or, for best fit, in the narrowest gap), and differ in the order. For every arena there is an order that leads
to one as small, that of the offsets in it, so that the search would find the best if it were not cut off.

Greedy by size: Pisarchyk and Lee, Efficient Memory Management for Deep Neural Net Inference, 2020. Best fit in the
order of time is what allocators do: Wilson et al., Dynamic Storage Allocation: A Survey and Critical Review, 1995.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from ..frozen import frozen
from .liveness import LiveRange

ALIGNMENT = 64
"""Every offset is a multiple of this: a cache line, and the widest vector's natural alignment."""

SEARCH_LIMIT = 100_000
"""Pairs of buffers that the search compares: about a tenth of a second."""


@frozen
class Placement:
    """Byte offsets for buffers in one arena of `total` bytes."""

    offsets: dict[SSAValue, int]
    total: int


@frozen
class Packing:
    """The smallest placement that was found, by which method, and how small any could be."""

    placement: Placement
    method: str
    lower_bound: int
    totals: dict[str, int]
    """what each method that was tried came to"""


_Placed = dict[LiveRange, int]


def pack(ranges: Sequence[LiveRange], limit: int = SEARCH_LIMIT) -> Packing:
    """Place the buffers by each method, until one reaches the lower bound; the best."""
    bound = lower_bound(ranges)
    totals: dict[str, int] = {}
    found: dict[str, _Placed] = {}
    methods: tuple[tuple[str, Callable[[], _Placed | None]], ...] = (
        ("greedy by size", lambda: greedy_by_size(ranges)),
        ("best fit", lambda: best_fit(ranges)),
        ("search", lambda: search(ranges, min(totals.values()), bound, limit)),
    )
    for name, method in methods:
        placed = method()
        if placed is None:
            continue
        found[name], totals[name] = placed, _total(placed)
        if totals[name] == bound:
            break
    best = min(totals, key=totals.__getitem__)
    offsets = {each.buffer: offset for each, offset in found[best].items()}
    return Packing(Placement(offsets, totals[best]), best, bound, totals)


def lower_bound(ranges: Sequence[LiveRange]) -> int:
    """The most bytes that are alive at one time, each buffer in whole units of the alignment."""
    return max(
        (sum(aligned(r.size) for r in ranges if r.first <= at.first <= r.last) for at in ranges),
        default=0,
    )


def greedy_by_size(ranges: Sequence[LiveRange]) -> _Placed:
    """The largest buffer first, each as low as it can be."""
    placed: _Placed = {}
    for candidate in sorted(ranges, key=lambda r: (-r.size, r.first)):
        placed[candidate] = _lowest(candidate, placed)
    return placed


def best_fit(ranges: Sequence[LiveRange]) -> _Placed:
    """In the order in which they come to life, each in the narrowest gap that is wide enough, or else on top."""
    placed: _Placed = {}
    for candidate in sorted(ranges, key=lambda r: (r.first, -r.size)):
        gaps = _gaps(candidate, placed)
        size = aligned(candidate.size)
        fitting = [(end - start, start) for start, end in gaps[:-1] if end - start >= size]
        placed[candidate] = min(fitting)[1] if fitting else gaps[-1][0]
    return placed


def search(ranges: Sequence[LiveRange], known: int, bound: int, limit: int) -> _Placed | None:
    """
    Branch and bound over the orders, for an arena smaller than `known` bytes; None when none is found.

    A partial placement is given up when a buffer that is left cannot end below the best total any more: the lowest
    place for it only rises. It ends at the bound, or after `limit` comparisons of two buffers.
    """
    return _Search(known, bound, limit).run(sorted(ranges, key=lambda r: (-r.size, r.first)))


@dataclass
class _Search:
    best: int
    bound: int
    left: int
    found: _Placed | None = None

    def run(self, ranges: Sequence[LiveRange]) -> _Placed | None:
        self._extend({}, list(ranges))
        return self.found

    def _extend(self, placed: _Placed, rest: list[LiveRange]) -> None:
        if not rest:
            self.best, self.found = _total(placed), dict(placed)
            return
        self.left -= len(rest) * (1 + len(placed))
        places = {each: _lowest(each, placed) for each in rest}
        if any(offset + aligned(each.size) >= self.best for each, offset in places.items()):
            return
        for each in sorted(rest, key=lambda r: (places[r], -r.size)):
            if self.left <= 0 or self.best <= self.bound:
                return
            placed[each] = places[each]
            self._extend(placed, [other for other in rest if other is not each])
            del placed[each]


def _lowest(candidate: LiveRange, placed: _Placed) -> int:
    size = aligned(candidate.size)
    return next(start for start, end in _gaps(candidate, placed) if end - start >= size)


def _gaps(candidate: LiveRange, placed: _Placed) -> list[tuple[int, int]]:
    """Where nothing lies during a buffer's life, from below; the last has no end."""
    gaps: list[tuple[int, int]] = []
    top = 0
    for offset, other in sorted(
        ((offset, other) for other, offset in placed.items() if other.overlaps(candidate)),
        key=lambda pair: pair[0],
    ):
        if offset > top:
            gaps.append((top, offset))
        top = max(top, offset + aligned(other.size))
    return [*gaps, (top, 1 << 62)]


def _total(placed: _Placed) -> int:
    return max((offset + aligned(each.size) for each, offset in placed.items()), default=0)


def aligned(size: int) -> int:
    """So many bytes in whole units of the alignment."""
    return -(-size // ALIGNMENT) * ALIGNMENT
