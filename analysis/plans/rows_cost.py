"""
The predicted time of a rows plan.

Each nest does its arithmetic while data move, but loads and stores and what moves between caches take turns. (Stengel,
Treibig, Hager and Wellein, "Quantifying Performance Bottlenecks of Stencil Computations Using the
Execution-Cache-Memory Model", ICS 2015.) What it reads comes from the nearest memory that holds all that was touched
since it was there before: the reuse distance. (Beyls and D'Hollander, "Reuse Distance as a Metric for Cache Behavior",
PDCS 2001.)
"""

from __future__ import annotations

from functools import lru_cache
from math import gcd, inf, prod

from ...targets.estimates import L3_SECONDS, MEMORY_SECONDS
from ...targets.rates import ROWS_IN_TURNS
from ...targets.target import Target
from ..facts import Access, Home, KernelFacts, Role, written_out
from .cost import Cost, kept_bytes
from .row_instructions import RowInstructions
from .row_nests import Nest, nests_of
from .rows_plan import Fetch, NestPlan, RowsPlan, Square
from .rows_waiting import Times, passing

FOLLOWED = 24
"""
Memory instructions of a loop that a prefetcher tells apart by their addresses in the program, each of which it follows
with a stride of its own. (Chen, Pei and Carlson, "AfterImage: Leaking Control Flow Data and Tracking Load Operations
via the Hardware Prefetcher", ASPLOS 2023, count 24 on Intel's cores; others are not known to have many more.)
"""


SAME_WITHIN = 1 / 10
"""
By so much rates of reading from beyond L2 differ from one process to the next, with the pages that each has: what is measured between two ways
of reading is known to be so where it is more. (On a Zen 5 core eight rows in turns were between 0.96 and 1.09 of one in six runs.)
"""

MEMORY = "memory"
"""What is behind the last cache, as rates call it."""

FILLED = 3 / 4
"""The part of the time that data take which chains of sums may fill without delaying the loads behind them."""


class Model(RowInstructions):
    """The predicted times of a kernel's plans."""

    def __init__(self, facts: KernelFacts, target: Target):
        super().__init__(facts, target)
        self.rates = target.rates
        self.nests = nests_of(facts)
        self._caches = [(cache.name, kept_bytes(cache)) for cache in target.core.caches]
        self._read_from: dict[str, float] = {}
        """seconds in which a byte comes from a cache or from memory, by its name"""
        self._written_to: dict[str, float] = {}
        """likewise for a byte that is written to lines there"""
        self.all_bytes = sum(buffer.bytes or 0 for buffer in facts.buffers)
        used = [{access.buffer for access in nest.accesses} for nest in self.nests]
        self.touched = [set[int]().union(*used[:n]) for n in range(len(used))]
        """the buffers that nests before one have used"""
        self._come = [self.first_ones(nest, nest.reads) for nest in self.nests]
        """of the reads of each nest the first ones of those that are of the same lines"""
        self._gone = [self.first_ones(nest, nest.writes) for nest in self.nests]
        self._rows: dict[tuple[tuple[int, ...], ...], float] = {}
        self._known: dict[tuple[object, ...], Times] = {}
        self._worked: dict[
            tuple[int, NestPlan, frozenset[int], bool], tuple[float, float, float, float, float]
        ] = {}

    def cost(self, plan: RowsPlan) -> Cost:
        """The predicted time of one call on one thread."""
        return self.cost_and_moving(plan)[0]

    def cost_and_moving(self, plan: RowsPlan) -> tuple[Cost, float]:
        """
        The predicted time, and the seconds in which data move between caches and memory, whatever goes on meanwhile.
        """
        times = self._all_times(plan)
        rows = prod(self.nests[0].extent(axis) for axis in plan.nests[0].order[: plan.fused])
        groups = max(rows, 1) / max(own.rows for own in plan.nests)
        cost = passing(times, groups if plan.fused else None, self.core.window)
        return cost, sum(each.moving for each in times)

    def followed(self, plan: RowsPlan) -> float:
        """
        The memory instructions of loops that sum up rows of data from beyond L2: a prefetcher learns to follow each of them
        by itself, page by page. Infinity where chains of sums leave no time to run ahead, of that which their data take.
        """
        found = 0.0
        for number, times in enumerate(self._all_times(plan)):
            nest, own = self.nests[number], plan.nests[number]
            in_lanes = own.lanes and nest.role(own.order[-1]) is Role.REDUCTION
            if in_lanes and any(self._is_far(number, plan, read) for read in self._come[number]):
                is_quick = times.chained <= FILLED * times.unchained
                found += self._followed(nest, own) if is_quick else inf
        return found

    def _is_far(self, number: int, plan: RowsPlan, access: Access) -> bool:
        return self._distance(number, plan, access) > kept_bytes(self.core.cache(2))

    def _all_times(self, plan: RowsPlan) -> list[Times]:
        fused = tuple(each.order[: plan.fused] for each in plan.nests)
        kept = frozenset(n for n, _ in plan.staged) if plan.blocks else frozenset[int]()
        return [self._times(number, plan, fused, kept) for number in range(len(self.nests))]

    def _times(
        self,
        number: int,
        plan: RowsPlan,
        fused: tuple[tuple[int, ...], ...],
        kept: frozenset[int],
    ) -> Times:
        """What one nest takes, beside the others as they are: `fused` are their fused loops, `kept` the buffers of blocks."""
        nest, own = self.nests[number], plan.nests[number]
        fetched = tuple(fetch for fetch in plan.fetched if fetch.nest == number)
        kept |= self.held(self.nests, plan, number)
        key = (number, own, fused, plan.staged, plan.fetched, plan.nontemporal, kept)
        known = self._known.get(key)
        if known is None:
            work = self._work(number, own, kept, plan.fused > 0)
            computing, accessing, issued, chained, ended = work
            accessing += sum(self._asking(nest, plan, fetch) for fetch in fetched)
            moving = self._reading(number, plan) + self._writing(number, plan)
            moving += sum(self._fetching(plan, fetch) for fetch in fetched)
            known = Times(computing, accessing, chained, ended, moving, issued)
            self._known[key] = known
        return known

    # What the ports do.

    def _work(
        self, number: int, own: NestPlan, kept: frozenset[int], is_fused: bool
    ) -> tuple[float, float, float, float, float]:
        """
        Seconds of a nest's arithmetic and of its loads and stores, how many instructions it is, and seconds of its chains of
        sums and of the ends of rows: whatever moves meanwhile, and so once for many plans. Where a sum is awaited
        nothing else is done at the end of its row; otherwise the next row begins meanwhile.
        """
        key = (number, own, kept, is_fused)
        known = self._worked.get(key)
        if known is None:
            nest, awaited = self.nests[number], is_fused and self._is_awaited(number)
            waits = self.chained(nest, own), self.ended(nest, own) if awaited else 0.0
            known = self._worked[key] = (*self.instructions(nest, own, kept), *waits)
        return known

    def _is_awaited(self, number: int) -> bool:
        """Whether a later nest reads what this one makes."""
        made = {write.buffer for write in self.nests[number].writes}
        later = self.nests[number + 1 :]
        return any(read.buffer in made for nest in later for read in nest.reads)

    # What comes from where.

    def _level(self, distance: float) -> str:
        """The name of the nearest cache that holds so many bytes, or of memory."""
        for name, kept in self._caches:
            if distance <= kept:
                return name
        return MEMORY

    def _reading_rate(self, distance: float) -> float:
        """Bytes/s of data that were used when so many bytes ago."""
        return self.rates.bandwidth(self._level(distance))

    def _reading_seconds(self, distance: float) -> float:
        """
        Seconds in which each byte comes that was used when so many bytes ago. Loads from the first-level cache are
        counted with the instructions.
        """
        level = self._level(distance)
        found = self._read_from.get(level)
        if found is None:
            rate = self.rates.bandwidth(level)
            found = self._read_from[level] = self.rates.arriving(rate)
        return found

    def _writing_seconds(self, distance: float) -> float:
        """Likewise for each byte that is written to lines last used so many bytes ago."""
        level = self._level(distance)
        found = self._written_to.get(level)
        if found is None:
            seconds = self._storing_seconds(level) - self._storing_seconds("L1")
            found = self._written_to[level] = max(seconds, 0.0)
        return found

    def _storing_seconds(self, name: str) -> float:
        """What a copy in such a memory takes, which counts a byte read and one written, less the reading."""
        read, copy = self.rates.bandwidth(name), self.rates.bandwidth(name, "copy")
        return max(2 / copy - 1 / read, 1 / (2 * read))

    def _past_caches(self, distance: float) -> float:
        """
        Seconds for each byte stored past the caches: as `_writing_seconds`. Whoever reads it next finds it in memory,
        and not where it would be otherwise.
        """
        read, copy = self.rates.bandwidth(MEMORY), self.rates.copy_past.core
        writing = max(2 / copy - 1 / read, 1 / (2 * read)) - self._storing_seconds("L1")
        return writing + 1 / read - 1 / self._reading_rate(distance)

    def _distance(self, number: int, plan: RowsPlan, access: Access) -> float:
        """The bytes between a use of an element that is read, and the one before."""
        buffer = self.facts.buffers[access.buffer]
        is_known = access.buffer in self.touched[number] or buffer.home is Home.SCRATCH
        # What all iterations read is there from the one before.
        moves = any(access.moves_along(axis) for axis in plan.nests[number].order[: plan.fused])
        is_near = plan.fused and (is_known or not moves)
        return self._row_bytes(plan) if is_near else self._bytes_of_a_call(plan)

    def _bytes_of_a_call(self, plan: RowsPlan) -> float:
        """What goes through the caches in a call: not what is stored past them, nor more than a row of what is kept for one."""
        without = {*plan.nontemporal, *(number for number, _ in plan.staged)}
        return self.all_bytes - sum(self.facts.buffers[number].bytes or 0 for number in without)

    def _row_bytes(self, plan: RowsPlan) -> float:
        """What one iteration of the fused loops touches: its part of what moves along them, and all of the rest."""
        axes = tuple(own.order[: plan.fused] for own in plan.nests)
        if axes not in self._rows:
            rows = prod(self.nests[0].extent(axis) for axis in axes[0])
            moving = {
                access.buffer
                for nest, own in zip(self.nests, axes, strict=True)
                for access in nest.accesses
                if any(access.moves_along(axis) for axis in own)
            }
            self._rows[axes] = sum(
                (buffer.bytes or 0) / (max(rows, 1) if number in moving else 1)
                for number, buffer in enumerate(self.facts.buffers)
            )
        return self._rows[axes]

    def _reading(self, number: int, plan: RowsPlan) -> float:
        """Seconds for what is read. Each array comes once, and again where what lies between uses is too much."""
        nest, own = self.nests[number], plan.nests[number]
        fetched = {fetch.buffer for fetch in plan.fetched} - self.touched[number]
        seconds = 0.0
        for access in self._come[number]:
            size = self._size(access)
            if access.buffer not in fetched:
                distance = self._distance(number, plan, access)
                coming = self._reading_seconds(distance)
                if access.buffer not in self.touched[number]:
                    # It was another kernel's, since which the first-level cache has had other data.
                    coming = max(coming, self.rates.arriving(self.rates.read_l2.core))
                seconds += size * self._line_share(nest, own, access) * coming
                seconds += size * self._restarting(nest, own, access, distance)
            if own.square is not None and not own.square.turned:
                seconds += size * self._parted(nest, own.square, access, own.square.read)
            again = self._again(nest, own, access)
            seconds += size * again * self._reading_seconds(self._between(nest, own, size))
            rows = self._rows_beside(nest, own, access)
            if rows > 1:
                seconds += (
                    size * (rows - 1) * self._reading_seconds(self._bytes_of_rows(number, plan))
                )
        return seconds

    def _rows_beside(self, nest: Nest, own: NestPlan, access: Access) -> float:
        """How often all of an array is read that lies along the innermost loop alone: beside each group of rows."""
        if len(own.order) < 2 or own.square is not None or access in nest.writes:
            return 1.0
        if not access.moves_along(own.order[-1]) or own.results:
            return 1.0
        if any(access.moves_along(axis) for axis in own.order[:-1]):
            return 1.0
        return prod(nest.extent(axis) for axis in own.order[:-1]) / max(own.rows, own.jam)

    def _bytes_of_rows(self, number: int, plan: RowsPlan) -> float:
        """What is used for one iteration of the loops around the innermost one, or for rows side by side."""
        nest, own = self.nests[number], plan.nests[number]
        if plan.fused:
            return self._row_bytes(plan)
        size = 0.0
        for access in nest.distinct:
            rows = own.rows if self.is_of_rows(own, access) else 1
            along = nest.extent(own.order[-1]) if access.moves_along(own.order[-1]) else 1
            size += rows * along * self.facts.element_bytes(access)
        return size

    def _restarting(self, nest: Nest, own: NestPlan, access: Access, distance: float) -> float:
        """
        Seconds for each byte from beyond L2 that prefetchers make more, or less, than the bandwidth of one stream says.

        They stop at the end of a page, and begin again after a miss. Of rows that are read in turns some cores have the first lines
        of pages under way together, and others lose the stream: that was measured for so many rows, and the part of each stream's own
        is the smaller the more there are. A piece of a row waits for its first line where there are more memory instructions than a
        prefetcher follows. Rows on one page are one stream where each is one piece, so that lines follow each other. Pieces of longer
        rows jump to and fro on the page, of which the prefetcher that reaches as far as memory knows one place: the first of each
        round is waited for. The prefetcher that follows single instructions knows them all, and reaches as far as the last cache.
        (Matrices of 900 KB from memory, times vectors: 31 GB/s for rows of 960 bytes one by one, 11 for four of them in turns on a
        page; 12 for two rows of 2 KiB on a page, 29 for four on two pages. Of 2 MB from L3, on Zen 4: 64 for rows of 1240 bytes one
        by one, 72 for two, four or eight of them in turns.)
        """
        if distance <= kept_bytes(self.core.cache(2)) or own.square is not None or not own.lanes:
            return 0.0
        axis = own.order[-1]
        if nest.stride(access, axis) != 1:
            return 0.0
        streams = self._streams(nest, own, access)
        piece = own.lanes * self.facts.element_bytes(access)
        if streams > 1 and self._are_on_a_page(nest, own, access, streams):
            if nest.extent(axis) > own.lanes and self._level(distance) == MEMORY:
                return L3_SECONDS / (streams * piece)
            streams = 1
        if self._followed(nest, own) >= FOLLOWED:
            return L3_SECONDS / (streams * piece)
        in_turns = self.rates.beyond_l2.core / self.rates.rows_beyond_l2.core - 1
        if abs(in_turns) < SAME_WITHIN:
            return 0.0
        share = (1 - 1 / streams) / (1 - 1 / ROWS_IN_TURNS)
        return in_turns * min(share, 1.0) / self._reading_rate(distance)

    def _followed(self, nest: Nest, own: NestPlan) -> float:
        """The memory instructions of a nest's innermost loop, in lanes, each of which goes along its rows by itself."""
        used = [each for each in nest.distinct if nest.stride(each, own.order[-1])]
        rows = sum(own.rows if self.is_of_rows(own, each) else 1 for each in used)
        return rows * own.lanes / self.vector(nest, own)

    def _streams(self, nest: Nest, own: NestPlan, access: Access) -> int:
        """How many rows of an access are read in turns."""
        is_read = access in nest.reads and access not in nest.writes
        rows = own.rows if self.is_of_rows(own, access) else 1
        return max(rows, own.jam, own.turns) if is_read else 1

    def _are_on_a_page(self, nest: Nest, own: NestPlan, access: Access, rows: int) -> bool:
        """Whether rows that are read in turns are so near each other that most of them share a page."""
        apart = nest.stride(access, own.order[-2]) if len(own.order) > 1 else None
        bytes_ = rows * abs(apart or 0) * self.facts.element_bytes(access)
        return apart is not None and bytes_ <= self.core.page_bytes

    def _size(self, access: Access) -> float:
        """The bytes of the buffer that is accessed."""
        return self.facts.buffers[access.buffer].bytes or 0

    def _fetching(self, plan: RowsPlan, fetch: Fetch) -> float:
        """
        Seconds in which a buffer comes that is asked for ahead: as if it was read where it is asked for, since a core has as
        few lines under way of those as of others.
        """
        size = self.facts.buffers[fetch.buffer].bytes or 0
        return size * self._reading_seconds(self._bytes_of_a_call(plan))

    def _asking(self, nest: Nest, plan: RowsPlan, fetch: Fetch) -> float:
        """
        Seconds of asking for each line of a buffer ahead. Where these lines and a row are more than L1 holds, they have
        left it again when they are used, and come from L2.
        """
        read = next(read for read in nest.reads if read.buffer == fetch.buffer)
        size = self._size(read)
        seconds = size / self.core.caches[0].line_bytes / self.core.load_ports / self.clock
        ahead = fetch.distance * plan.nests[fetch.nest].lanes * self.facts.element_bytes(read)
        if self._row_bytes(plan) + ahead > kept_bytes(self.core.cache(1)):
            seconds += size * self.rates.arriving(self.rates.read_l2.core)
        return seconds

    def _again(self, nest: Nest, plan: NestPlan, access: Access) -> float:
        """How often more an array is gone through: by sums around their results."""
        if len(plan.order) < 2 or access not in nest.writes:
            return 0.0
        if (
            nest.role(plan.order[-2]) is not Role.REDUCTION
            or nest.stride(access, plan.order[-1]) != 1
        ):
            return 0.0
        return nest.extent(plan.order[-2]) / plan.jam

    def _between(self, nest: Nest, plan: NestPlan, size: float) -> float:
        """What lies between two uses of a result of such a sum: so many results, and as many terms of each row."""
        if plan.results:
            size = plan.results * nest.element_bytes
        return size * (1 + plan.jam)

    def _line_share(self, nest: Nest, plan: NestPlan, access: Access) -> float:
        """How much of the array comes for each element that is used: whole lines, where these leave too early."""
        if not plan.order or plan.square is not None:
            return self._square_share(nest, plan)
        stride = nest.stride(access, plan.order[-1])
        if stride in (0, 1, -1) or self.apart(nest, plan, access):
            return 1.0
        line = self.core.caches[0].line_bytes
        lines = nest.extent(plan.order[-1]) * line
        if lines <= kept_bytes(self.core.caches[0]):
            return 1.0
        return line / nest.element_bytes

    def _square_share(self, nest: Nest, plan: NestPlan) -> float:
        """Lines of a row of squares are used by the next one, unless they have left L2 by then."""
        square = plan.square
        if square is None or square.across:
            return 1.0
        line = self.core.caches[0].line_bytes
        if nest.extent(square.written) * line <= kept_bytes(self.core.cache(2)):
            return 1.0
        return max(1.0, line / (square.side * nest.element_bytes))

    def _one_by_one(self, own: NestPlan, distance: float) -> float:
        """
        Seconds for each byte beyond L2 that squares store, a line of each row: the line is read before, and waited for, as many at
        once as L1 has under way, since stores leave in order.
        """
        if own.square is None or distance <= kept_bytes(self.core.cache(2)):
            return 0.0
        latency = MEMORY_SECONDS if self._level(distance) == MEMORY else L3_SECONDS
        return latency / (self.core.caches[0].line_bytes * self.core.l1_misses)

    def _parted(self, nest: Nest, square: Square, access: Access, along: int) -> float:
        """
        Seconds for each byte of an array whose lines squares share that are not done one after the other: those that are
        neighbours along an axis. An array of a caller may begin anywhere in a line, so that each row of a square is of two
        lines; the second comes again with the next square, from where it is when a row of squares across was done.
        """
        if nest.stride(access, along) != 1:
            return 0.0
        other = square.written if along == square.read else square.read
        across = nest.extent(other)
        if square.across:
            across = min(across, square.side * square.across)
        apart = abs(nest.stride(access, other) or 0) * self.facts.element_bytes(access)
        used = self.core.caches[0].line_bytes + square.side * nest.element_bytes
        # Rows that begin at a few places of a page, modulo its size, share the few sets of L1 that these are in.
        crowded = max(gcd(apart, self.core.page_bytes) / used, 1.0)
        return self._reading_seconds(across * used * crowded)

    def _writing(self, number: int, plan: RowsPlan) -> float:
        """A line that is written is read before, unless it is stored past the caches: then it goes to memory."""
        nest, own = self.nests[number], plan.nests[number]
        seconds = 0.0
        for write in self._gone[number]:
            buffer = self.facts.buffers[write.buffer]
            size = (buffer.bytes or 0) * (1 if own.square else self._line_share(nest, own, write))
            is_near = buffer.home is Home.SCRATCH and plan.fused
            distance = self._row_bytes(plan) if is_near else self._bytes_of_a_call(plan)
            if write.buffer in plan.nontemporal:
                seconds += size * self._past_caches(distance + size)
            else:
                seconds += size * self._writing_seconds(distance)
                seconds += size * self._restarting(nest, own, write, distance)
                seconds += size * self._one_by_one(own, distance)
                if (
                    own.square is not None
                    and own.square.turned
                    and not self._has_rows_of_lines(nest, write)
                ):
                    seconds += 2 * size * self._parted(nest, own.square, write, own.square.written)
        return seconds

    def _has_rows_of_lines(self, nest: Nest, access: Access) -> bool:
        """Whether each row of an array is whole lines; results begin with one."""
        line = self.core.caches[0].line_bytes // self.facts.element_bytes(access)
        strides = [
            nest.stride(access, axis) for axis in range(len(nest.axes)) if nest.extent(axis) > 1
        ]
        return all(stride is not None and (stride == 1 or stride % line == 0) for stride in strides)


@lru_cache(maxsize=256)
def model(facts: KernelFacts, target: Target) -> Model:
    """The predicted times of a kernel's plans, with what is known of them already."""
    return Model(facts, target)


def cost(plan: RowsPlan, facts: KernelFacts, target: Target) -> Cost:
    """The predicted time of one call on one thread."""
    left = written_out(facts, dict(plan.written)) if plan.written else facts
    return model(left, target).cost(plan)
