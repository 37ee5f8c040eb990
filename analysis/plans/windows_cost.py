"""The predicted time of a plan for a reduction over windows."""

from __future__ import annotations

from itertools import product
from math import gcd, prod
from typing import NamedTuple

from ...frozen import frozen, replaced
from ...lazy import cached_property
from ...targets.target import Target
from ..facts import Access, WindowReduction
from ..interleaved import MOST_APART
from .convolution_padding import Padding
from .cost import (
    Cost,
    cost_of,
    cycles_per_second,
    half_part,
    issued,
    issuing,
    kept_bytes,
    mixed,
    most_in_a_set,
    split_cycles,
    unhidden_part,
)
from .terms_written_out import CONTROL
from .windows_copies import ImageCopies
from .windows_plan import WindowsPlan
from .windows_streams import WindowsStreams

COMPARED = 2
"""Instructions by which the lanes of a vector are compared with a number: a broadcast, and a comparison."""

LANE_BYTES = 4
"""Of the number of a lane."""

OVERWRITING = 2
"""Instructions for a shuffle of two vectors: it takes the place of one of them, or of its lanes' numbers, of which there is a copy before."""

LANE_BY_LANE = 2
"""Instructions for each element of a vector that is not loaded at once: a load, and an insertion."""


QUEUED_PART = 0.29
"""
The part of the instructions under way that may be multiply-adds whose operands are awaited, in the schedulers from which they
begin: 60 of 192 on Haswell, 97 of 224 on Skylake, 97 of 352 on Ice Lake, 64 of 256 on Zen 3, 76 of 448 on Zen 5. (Fog, "The
microarchitecture of Intel, AMD and VIA CPUs".)
"""

HALVES_BYTES = 32
"""Of AVX's vectors, of which two are shuffled within each half, and the halves after that; those of AVX-512 are at once."""


@frozen
class _Dealt:
    """How a row takes the columns of its windows out of vectors of every element."""

    phases: int
    """vectors of every `stride`-th element, of which each is shuffled out of `stride`"""
    shifted: int
    """columns that are the same some lanes further"""
    beyond: bool
    """whether columns lie so far apart that the first vector of the next tile is needed as well"""


class Reads(NamedTuple):
    """What a tile reads of its image."""

    loads: float
    misses: float
    """what counts as some: lines that come to L1 again"""
    splits: float
    """the loads that lie across two lines"""
    shuffles: float


class Model:
    """The sizes and rates that all plans of one reduction on one target share."""

    def __init__(self, found: WindowReduction, target: Target):
        self.r, self.core, self.rates = found, target.core, target.rates
        self.width = self.core.lanes(found.facts.element_bytes(found.result))
        self.clock = cycles_per_second(target)
        self.terms = found.extent(*found.window)
        self.padding = Padding(found)
        self.copies = ImageCopies(found, self.core, self.width)
        self.streams = WindowsStreams(found, target)
        self._known_dealt: dict[tuple[int, tuple[int, ...]], _Dealt | None] = {}
        self.unhidden, self.half = unhidden_part(target), half_part(target)
        self.issued = issued(target)
        self.across = split_cycles(target)
        """cycles that a tile waits for a vector that lies across two lines; None where that was not measured"""

    def registers(self, plan: WindowsPlan) -> int:
        """
        Vectors that a tile uses: accumulators, a column of the filter, and a row of the image, which all rows of the tile use
        before the next one is loaded: LLVM orders terms that are written out so that they need few registers. Masks are
        vectors before AVX-512. Where terms of rows are written out around them, those that the next term uses for another
        row stay, too.
        """
        vectors, rows = self._tile(plan)
        taps = self.r.extent(*plan.inner)
        filters = taps * len(self.r.filters)
        dealt = self._dealt(plan)
        if dealt is None:
            whole = abs(self._stride or 0) if self.is_strided else 0  # to be shuffled
            kept = any(plan.is_skip_written_out(axis) for axis, _ in plan.skips)
            masks = 0
            if plan.masked:
                masks = vectors * (not self.core.stores_by_masks) + COMPARED * self._moves(plan)
            read = 1 + (rows if kept else 0)
            return vectors * rows + filters + read * vectors + masks + whole
        # Rows are done one after the other, unless a loop runs around them. The next one uses what has been dealt out of the
        # rows of the image that both have; and the next tile the vectors at its border. Shuffles are told lanes by a vector.
        kept = 0
        if plan.rows is not None:
            axis = plan.rows[0]
            shared = [k for k in plan.inner if k in self.r.taps(axis)]
            kept = self.r.extent(*shared) - (self.r.reach(axis, 2) - self.r.reach(axis, 1))
        sums = vectors * (rows if self.r.extent(*plan.outer) > 1 else 1)
        is_cut = plan.lanes[1] < self.r.extent(plan.lanes[0])
        border = self._read(plan, rows) if is_cut and dealt.beyond else 0
        each = dealt.phases + dealt.shifted
        return sums + filters + vectors * each * (1 + max(0, kept)) + each + border

    def fits(self, plan: WindowsPlan) -> bool:
        """Whether registers suffice. Where rows take all columns at once, filters may stay in memory."""
        needed = self.registers(plan)
        if self._dealt(plan) is not None and self.r.filters:
            needed -= self.r.extent(*plan.inner) * len(self.r.filters) - 1
        return needed <= self.core.vector_registers

    def mixes_tiles(self, plan: WindowsPlan) -> bool:
        """
        Whether two or three tiles of rows, of which the first and the last have loops of their own, follow each other with no
        loop left around or inside of them: LLVM may compute these side by side, with more sums than there are registers.
        """
        tiles = 1 if plan.rows is None else -(-self.r.extent(plan.rows[0]) // plan.rows[1])
        return 1 < tiles < 4 and bool(plan.columns) and self.r.extent(*plan.outer) == 1

    def orders(self, plan: WindowsPlan) -> list[WindowsPlan]:
        """
        A plan in the orders of its terms. Where lanes take every other element, vectors that are loaded for one column have
        the elements of the next: a row has all columns at once, or they are loops.
        """
        columns = plan.columns
        if not self.is_strided or not columns:
            return [plan]
        return [
            replaced(plan, columns=(), inner=(*plan.inner, *columns)),
            replaced(plan, columns=(), inner=columns, outer=(*plan.outer, *plan.inner)),
            replaced(plan, columns=(), outer=(*plan.outer, *columns)),
        ]

    @cached_property
    def is_strided(self) -> bool:
        """Whether vectors of every other element or so are shuffled out of whole ones."""
        return 2 <= abs(self._stride or 0) <= MOST_APART

    @cached_property
    def _stride(self) -> int | None:
        """How many elements of the image neighbouring lanes are apart."""
        return self.r.facts.stride(self.r.image, self.r.lanes)

    def _dealt(self, plan: WindowsPlan) -> _Dealt | None:
        """How a row of a tile takes its columns out of vectors that they share; None where each is loaded by itself."""
        key = (plan.lanes[0], plan.inner)
        if key not in self._known_dealt:
            self._known_dealt[key] = self._find_dealt(plan)
        return self._known_dealt[key]

    def _find_dealt(self, plan: WindowsPlan) -> _Dealt | None:
        columns, stride = self.r.taps(plan.lanes[0]), abs(self._stride or 0)
        if not self.is_strided or not columns or not set(columns) <= set(plan.inner):
            return None
        places = [0]
        for axis in columns:
            apart = self.r.facts.stride(self.r.image, axis) or 0
            places = [at + apart * n for at in places for n in range(self.r.extent(axis))]
        phases = len({at % stride for at in places})
        return _Dealt(phases, len(set(places)) - phases, max(places) - min(places) >= stride)

    def _tile(self, plan: WindowsPlan) -> tuple[int, int]:
        """Vectors and rows of a tile."""
        return -(-plan.lanes[1] // self.width), 1 if plan.rows is None else plan.rows[1]

    def cost(self, plan: WindowsPlan) -> Cost:
        computing = self._arithmetic(plan)
        return cost_of(
            [
                ("arithmetic", computing),
                ("streaming", self.streams.waiting(plan, computing)),
                ("copying the image", self._copying(plan)),
                ("from L2", self._from_l2(plan, computing)),
            ]
        )

    def _arithmetic(self, plan: WindowsPlan) -> float:
        """Seconds of all tiles, the last ones along each axis being smaller."""
        alone = self.r.extent(*(a for a in self.r.parallel if a not in dict(self._cut(plan))))
        parts = (self._parts(plan, axis, size) for axis, size in self._cut(plan))
        cycles = 0.0
        for part in product(*parts):
            count, sizes = prod(count for count, _, _ in part), [size for _, size, _ in part]
            rows = 1 if plan.rows is None else sizes[1]
            _, lanes, is_edge = part[0]
            cycles += count * self._tile_cycles(plan, lanes, rows, is_edge)
        inside = prod(self.padding.inside[axis] for axis, _ in plan.skips)
        return alone * inside * cycles / self.clock

    def _cut(self, plan: WindowsPlan) -> list[tuple[int, int]]:
        """The axes of a tile with its sizes, the one in lanes first."""
        return [plan.lanes] + ([] if plan.rows is None else [plan.rows])

    def _parts(self, plan: WindowsPlan, axis: int, size: int) -> list[tuple[int, int, bool]]:
        """Of an axis, the tiles of one kind: how many there are, their size, and whether masks say what is in the image."""
        whole, rest = divmod(self.r.extent(axis), size)
        if not (plan.masked and self.r.leaves(axis)):
            parts = [(whole, size, False), (1, rest, False)]
        elif rest:
            parts = [(min(1, whole), size, True), (max(0, whole - 1), size, False), (1, rest, True)]
        else:
            parts = [(min(2, whole), size, True), (max(0, whole - 2), size, False)]
        return [part for part in parts if part[0] and part[1]]

    def _tile_cycles(self, plan: WindowsPlan, lanes: int, rows: int, is_edge: bool) -> float:
        """
        A tile's multiply-adds, or its loads: of the image once for all rows that use them, of a filter once. Those of a tile at an
        edge may be masked.
        """
        core, vectors = self.core, -(-lanes // self.width)
        read = self._read(plan, rows)
        loads, misses, splits, shuffles = self._image(plan, read, vectors)
        begun = loads + self.terms * len(self.r.filters) + OVERWRITING * shuffles
        begun += CONTROL * self.r.extent(*plan.outer)
        loads += misses
        if self.across is None:
            loads += splits * core.split_load
        again = self.terms * (rows * vectors if self.registers(plan) > core.vector_registers else 1)
        filters = [
            (f.moves_along(plan.lanes[0]), again * self._loads(f, plan)) for f in self.r.filters
        ]
        loads += sum(count for is_whole, count in filters if is_whole)
        single = sum(count for is_whole, count in filters if not is_whole)
        part = self.half if 2 * plan.lanes[1] <= self.width else 1.0
        sums = self.terms * rows * vectors
        blends = self._blends(plan, read, lanes) if is_edge else 0.0
        adding = (sums + shuffles) / core.fma_ports
        adding = max(adding, (sums + shuffles + blends) / (core.fma_ports + core.add_ports))
        busy = max(part * adding, core.loading_cycles(part * loads, 0, part * single))
        busy = issuing(busy, sums + begun, self.issued)
        # What waits for a load by a mask is its blend, and not the multiply-adds.
        busy += part * max(0.0, splits - blends) * (self.across or 0.0)
        # Rows do not wait for each other, the terms of one do, while schedulers hold multiply-adds of the next tile as well.
        latency = self._chain * sums / (sums + self._queued)
        ending = part * rows * vectors / core.store_ports + core.fma_latency
        both = mixed(busy, latency)
        return both + ending + (self._masking(plan, vectors) if is_edge else 0.0)

    def _blends(self, plan: WindowsPlan, read: int, lanes: int) -> float:
        """
        Loads by masks of a tile at an edge of its image, each of which is a blend as well, beside multiply-adds where additions begin
        (uops.info): of a vector that has lanes beyond the last element those of all columns, and in a loop over columns, else of those
        that leave the image.
        """
        if not plan.masked:
            return 0.0
        r, axis = self.r, plan.lanes[0]
        shared = [k for k in plan.inner if plan.rows is not None and k in r.taps(plan.rows[0])]
        columns = r.extent(*r.taps(axis))
        is_whole, has_ends = lanes % self.width == 0, plan.lanes[1] >= r.extent(axis)
        leaving = columns - 1 if has_ends else columns // 2
        if not is_whole or self._moves(plan):
            leaving = columns
        each = self.terms // r.extent(*shared) * read
        if (dealt := self._dealt(plan)) is not None:
            return each / columns * (1 + dealt.beyond)
        return each * leaving / columns * (abs(self._stride or 0) if self.is_strided else 1)

    @property
    def _chain(self) -> int:
        """Cycles in which the terms of one sum follow each other."""
        return self.terms * (self.core.fma_latency + 1)

    @property
    def _queued(self) -> float:
        """Multiply-adds that wait for their operands where they can begin."""
        return QUEUED_PART * self.core.window

    def _read(self, plan: WindowsPlan, rows: int) -> int:
        """How many rows of the image a tile reads for each of the terms that rows do not share."""
        return rows if plan.rows is None or not plan.inner else self.r.reach(plan.rows[0], rows)

    def _image(self, plan: WindowsPlan, read: int, vectors: int) -> Reads:
        """What a tile reads that has so many vectors in each of so many rows of the image."""
        r, image = self.r, self.r.image
        shared = () if plan.rows is None else r.taps(plan.rows[0])
        each = self.terms // r.extent(*(axis for axis in plan.inner if axis in shared))
        stride, dealt = abs(self._stride or 0), self._dealt(plan)
        wide = min(self.width, plan.lanes[1]) * r.facts.element_bytes(image)
        two = 2 if wide == HALVES_BYTES else 1
        if dealt is None:
            shuffles = two * (stride - 1) if self.is_strided else 0
            loads = read * vectors * self._loads(image, plan)
            splits = loads * self._split_by_columns if abs(self._stride or 0) <= MOST_APART else 0.0
            misses = self._misses(plan, read, vectors)
            shuffles *= read * vectors
            return Reads(each * loads, each * misses, each * splits, float(each * shuffles))
        each //= r.extent(*r.taps(plan.lanes[0]))
        loads = stride * vectors + dealt.beyond
        shuffles = vectors * (two * dealt.phases * (stride - 1) + dealt.shifted)
        if dealt.beyond and plan.lanes[1] < r.extent(plan.lanes[0]):
            shuffles += 1  # LLVM makes two of one that takes a lane from another vector in memory
        splits = loads * self._split(plan)
        each *= read
        return Reads(each * loads, 0.0, each * splits, float(each * shuffles))

    @cached_property
    def _split_by_columns(self) -> float:
        """The part of vectors that lie across two lines: of all columns of a window but one."""
        if not self._stride or not self.r.taps(self.r.lanes):
            return 0.0
        line, element = self.core.cache(1).line_bytes, self.r.facts.element_bytes(self.r.image)
        return (self.width - 1) * element / line

    def _split(self, plan: WindowsPlan) -> float:
        """
        The part of whole vectors of an image's rows that lie across two lines: rows of the copy begin with a line, of the image
        they do as their distance has it.
        """
        if plan.halo:
            return 0.0
        line, element = self.core.cache(1).line_bytes, self.r.facts.element_bytes(self.r.image)
        step = gcd(line, self.streams.row_bytes(plan, self.r.image))
        wide = min(self.width, plan.lanes[1]) * element
        starts = range(0, line, step)
        return sum(at + wide > line for at in starts) / len(starts)

    def _masking(self, plan: WindowsPlan, vectors: int) -> float:
        """
        Cycles in which a tile's masks are worked out, where they differ between the terms of a loop: the numbers of a vector's lanes,
        in 32 bits, are compared with the end of the image, or with both where a tile has whole rows.
        """
        if not self._moves(plan):
            return 0.0
        ends = 1 if plan.lanes[1] < self.r.extent(plan.lanes[0]) else 2
        vectors *= ends * COMPARED * -(-self.width // self.core.lanes(LANE_BYTES))
        # Comparisons begin beside multiply-adds where additions do.
        return self.r.extent(*plan.outer) * vectors / (self.core.fma_ports + self.core.add_ports)

    def _moves(self, plan: WindowsPlan) -> bool:
        """Whether masks differ between the terms of a loop."""
        return any(axis in plan.outer for axis in self.r.taps(plan.lanes[0]))

    def _loads(self, access: Access, plan: WindowsPlan) -> float:
        """Instructions for one vector of an operand."""
        stride = self.r.facts.stride(access, plan.lanes[0])
        if stride == 0 or (stride == 1 and not self.r.taps(plan.lanes[0])):
            return 1
        if stride is None or abs(stride) > MOST_APART:
            return self.width * LANE_BY_LANE
        return abs(stride)  # what lies between comes too

    def _misses(self, plan: WindowsPlan, rows: int, vectors: int) -> float:
        """
        Lines of a tile's part of the image that have left L1 when its next column is read, counted as instructions of
        as many cycles as a line takes from L2: rows that are a multiple of a way apart fall into the same sets.
        """
        image, (lanes, _), cache = self.r.image, plan.lanes, self.core.cache(1)
        columns = self.r.taps(lanes)
        if plan.rows is None or self.r.extent(*(a for a in columns if a not in plan.inner)) < 2:
            return 0.0
        element = self.r.facts.element_bytes(image)
        (row, *_) = (*self.r.taps(plan.rows[0]), plan.rows[0])
        apart = abs(self.r.facts.stride(image, row) or 0) * element
        wide = vectors * self.width * max(abs(self.r.facts.stride(image, lanes) or 0), 1) * element
        is_crowded = most_in_a_set(cache, rows, apart, wide) > cache.ways
        if not is_crowded and rows * wide <= kept_bytes(cache):
            return 0.0
        line = cache.line_bytes / self.rates.read_l2.core * self.clock
        return rows * wide / cache.line_bytes * line * self.core.load_ports

    def _copying(self, plan: WindowsPlan) -> float:
        """
        Seconds in which planes or strips are copied. Tiles' loads take parts of several stores, so that they wait until these
        are in L1: multiply-adds of one plane do not begin before those of the last one have ended.
        """
        if not plan.halo:
            return 0.0
        count = self.copies.count(plan)
        if self.copies.is_near(plan):
            vectors, rows = self._tile(plan)
            begun = self._queued / (self.terms * rows * vectors + self._queued)
            waiting = self._chain * begun + self.core.mispredict
            return count * (self.copies.stores(plan) / self.core.store_ports + waiting) / self.clock
        size = self.copies.bytes(plan)
        rate = self.rates.copy_l2 if size <= kept_bytes(self.core.cache(2)) else self.rates.copy_l3
        return count * 2 * size / rate.core

    def _from_l2(self, plan: WindowsPlan, computing: float) -> float:
        """Seconds of waiting for copies that tiles read from L2, and for the image where several outputs read it one after the other."""
        if plan.halo and self.copies.is_near(plan):
            return 0.0
        times = self.streams.times_read(plan) - (not plan.halo)
        reading = times * self.streams.bytes(self.r.image) / self.rates.read_l2.core
        return max(0.0, reading - computing) + self.unhidden * reading
