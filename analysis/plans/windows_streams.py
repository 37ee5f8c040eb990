"""What reductions over windows read and write beyond L2, and how long plans wait for it."""

from __future__ import annotations

from ...targets.estimates import OUTSTANDING_LINES
from ...targets.rates import ROWS_IN_TURNS
from ...targets.target import Target
from ..facts import Access, WindowReduction
from .cost import kept_bytes, unhidden_part
from .windows_plan import WindowsPlan


class WindowsStreams:
    """The image and the result of one reduction, and the rates at which they come and go on one target."""

    def __init__(self, found: WindowReduction, target: Target):
        self.r, self.core, self.rates = found, target.core, target.rates
        self.unhidden = unhidden_part(target)
        self._image, self._result = self.bytes(found.image), self.bytes(found.result)

    def bytes(self, access: Access) -> float:
        return float(self.r.facts.buffers[access.buffer].bytes or 0)

    def times_read(self, plan: WindowsPlan) -> int:
        """How often all of the image comes to L1: once, or for each output of a group where its part of the image does not stay there."""
        r, again = self.r, 1
        part = self._image
        for axis in plan.order(r.parallel):
            if not r.image.moves_along(axis):
                again *= r.extent(axis)
            elif again == 1 and axis not in dict(plan.tile):
                part *= self._share(axis)
        return again if part > kept_bytes(self.core.cache(1)) else 1

    def _share(self, axis: int) -> float:
        """The part of the image along the dimension that an axis of the result moves which an iteration of it reads."""
        dimension = self.r.image.dimension_of(axis)
        size = self.r.facts.buffers[self.r.image.buffer].shape[dimension or 0]
        if dimension is None or not isinstance(size, int) or size == 0:
            return 1.0
        return min(self.r.reach(axis, 1) / size, 1.0)

    def row_bytes(self, plan: WindowsPlan, access: Access) -> int:
        """The size of a row of an array as it is."""
        dimension = access.dimension_of(plan.lanes[0]) or 0
        size = self.r.facts.buffers[access.buffer].shape[dimension]
        return (size if isinstance(size, int) else 1) * self.r.facts.element_bytes(access)

    def waiting(self, plan: WindowsPlan, computing: float) -> float:
        """
        Seconds of waiting for what streams. Where it comes from beyond L2, a part is not hidden by any arithmetic, as of contractions, of
        the image and of lines of the result, which come and go. Where a tile's rows are inside of the loops over the window, the first
        terms read all of the image that a tile needs, and have only their own multiply-adds to hide beneath how that comes.
        """
        streaming, kept = self._streaming(plan), kept_bytes(self.core.cache(2))
        is_in_bursts = plan.rows is not None and plan.rows[1] > 1 and not plan.inner
        if is_in_bursts and self._image > kept:
            return max(0.0, streaming - computing) + self.unhidden * streaming
        unhidden = 0.0
        if self._image + self._result > kept:
            unhidden = self.unhidden * (self._image + 2 * self._result) / self._rate
        return max(streaming - computing, unhidden)

    def _streaming(self, plan: WindowsPlan) -> float:
        """Seconds in which the image comes from beyond L2, and the result goes there, where they do not fit."""
        both = self._image + self._result
        if both <= kept_bytes(self.core.cache(2)):
            return both / self.rates.read_l2.core
        rate = self._rate
        alone = self._alone(is_cached=self._is_cached) * rate
        image = self._image * (1 if plan.halo else self._in_turns(plan, self.r.image, alone))
        return (image + self._result * self._in_turns(plan, self.r.result, alone)) / rate

    @property
    def _is_cached(self) -> bool:
        """Whether the last cache keeps image and result."""
        last = self.core.caches[-1]
        return last.level > 2 and self._image + self._result <= last.bytes // last.shared_by

    @property
    def _rate(self) -> float:
        """Bytes/s at which they come from beyond L2."""
        return (self.rates.beyond_l2 if self._is_cached else self.rates.read_memory).core

    def _alone(self, *, is_cached: bool) -> float:
        """
        Seconds for each byte of lines that the core does not look ahead to: as many as are under way at once come in one latency. Those
        that L1 waits for are fewer than those of L2, but what is asked for in memory is no further than the last cache when L1 asks.
        None where that is a guess: it is not to be set against a stream that was measured.
        """
        near, far = self.rates.chase_l3, self.rates.chase_memory
        from_memory = 0.0
        if not is_cached and far.source != "estimated":
            from_memory = 1 / (OUTSTANDING_LINES * far.core)
        if near.source == "estimated":
            return from_memory
        return max(from_memory, 1 / (self.core.l1_misses * near.core))

    def _in_turns(self, plan: WindowsPlan, access: Access, alone: float) -> float:
        """
        How many times as long an array takes to come or go as one stream: where tiles are narrower than its rows, pieces of these
        take turns. Rows on one page are one stream, as they are of row plans: those of a tile begin anywhere in a page, and are on
        two the more often the further they reach.

        The core looks ahead to the lines of a piece, but not to its first one, which takes `alone` times as long. (Of 3 x 3 windows at
        112 x 112 on Sapphire Rapids, where a line streams in 3.5 ns and comes alone in 160, tiles of pieces of 1 to 4 lines took 267, 218, 200
        and 190 us, where this comes to 251, 213, 193 and 187. At 56 x 56, from an L3 that streams one in 2.3 ns and gives one alone in 40,
        tiles of 26 and 14 rows of 1 line, of 7 and 4 rows of 2, and of whole rows took 168, 155, 138, 130 and 122 us.)
        """
        if plan.rows is None or plan.lanes[1] >= self.r.extent(plan.lanes[0]):
            return 1.0
        axis, rows = plan.rows
        streams = self.r.reach(axis, rows) if access is self.r.image else rows
        across = min(streams * self.row_bytes(plan, access) / self.core.page_bytes, 1.0)
        line = self.core.cache(1).line_bytes
        apart = abs(self.r.facts.stride(access, plan.lanes[0]) or 1)
        piece = max(plan.lanes[1] * apart * self.r.facts.element_bytes(access), line)
        first = (alone - 1) * line / piece
        more = 0.0
        if access is self.r.image:
            more = self.rates.beyond_l2.core / self.rates.rows_beyond_l2.core - 1
            more *= min((1 - 1 / streams) / (1 - 1 / ROWS_IN_TURNS), 1.0)
        return 1 + across * (max(more, first) if first > 0 else more)
