"""
Sorting of as many rows as a vector has lanes at once: no step depends on what was found, as the places that are compared are
known (K. E. Batcher, "Sorting networks and their applications", 1968).

Runs of 16 elements are sorted in registers. Then each two sorted runs are merged: elements are compared with those as far
from the end of both runs as they are from the start, and then at halves of the distance, the last four of them in registers
again. All comparisons put the lesser element first, so that any number of elements will do: those that would be behind the
last are greater than all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, IntegerType, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from ...frozen import frozen
from ..dtypes import bit_width, is_float, is_unsigned
from ..te.loop_builder import Bound, Form, LoopBuilder
from .comparators import comparators
from .lane_blocks import LINE_BITS, MOST_BYTES, Block
from .radix_sort import key_type, ordered_key

RUN = 16
"""Elements that are sorted in registers."""


def lanes_of(rows: int, extent: int, element: Attribute) -> int | None:
    """How many rows are sorted at once; None where they are too few, too long, or of another type."""
    width = bit_width(element)
    lanes = LINE_BITS // width
    if width not in (32, 64) or rows < lanes or extent < 2:
        return None
    return lanes if _padded(extent) * LINE_BITS // 8 <= MOST_BYTES else None


def network_steps(extent: int, lanes: int, *, has_places: bool) -> int:
    """
    The steps that a row takes, in those of a simple loop over a row: two of all lanes for each element and pass, or five
    with places.
    """
    merges = max(-(-extent // RUN) - 1, 0).bit_length()
    passes = 1 + merges * (merges + 3) // 2
    return -(-(5 if has_places else 2) * passes * extent // lanes)


def _padded(extent: int) -> int:
    return extent if extent <= RUN else -(-extent // RUN) * RUN


@frozen
class LaneSort:
    """Writes the loops that sort the rows of a block."""

    w: LoopBuilder
    element: Attribute
    extent: int
    descending: bool
    block: Block

    @property
    def count(self) -> int:
        """Elements with those behind the last, of which whole runs are made."""
        return _padded(self.extent)

    def values(self, x: SSAValue, result: SSAValue) -> None:
        """Write the sorted elements."""
        w = self.w
        keys = w.scratch(self.element, (self.count, self.block.lanes), "keys")
        self.block.read(x, keys, 0, self.extent)
        nans = self._without_nans(keys) if is_float(self.element) else None
        self._fill(keys, self._last)
        b = w.scalar(self.element)

        def swaps(one: Sequence[SSAValue], other: Sequence[SSAValue]) -> SSAValue:
            pair = (one[0], other[0]) if self.descending else (other[0], one[0])
            return b.compare("lt", *pair)

        Network(self, (keys,), swaps).write()
        if nans is not None:
            self._with_nans(keys, nans)
        self.block.write(keys, 0, self.extent, result)

    def places(self, x: SSAValue, values: SSAValue, order: SSAValue) -> None:
        """Write the sorted elements and where they were; equal ones stay as they were, by their places."""
        w, lanes = self.w, self.block.lanes
        key = key_type(self.element)
        elements = w.scratch(self.element, (self.extent, lanes), "elements")
        keys, places = (w.scratch(key, (self.count, lanes), hint) for hint in ("keys", "places"))
        self.block.read(x, elements, 0, self.extent)
        k = w.scalar(key)
        with w.loop("i", 0, self.count) as i, self.block.lane() as lane:
            w.store_at(k.from_index(i), places, [[(1, i)], [(1, lane)]])
        with w.loop("i", 0, self.extent) as i, self.block.lane() as lane:
            element = w.load_at(elements, [[(1, i)], [(1, lane)]])
            bits = ordered_key(w, element, self.element, self.descending)
            w.store_at(bits, keys, [[(1, i)], [(1, lane)]])
        self._fill(keys, -1, key)

        def swaps(one: Sequence[SSAValue], other: Sequence[SSAValue]) -> SSAValue:
            is_below = k.emit(arith.CmpiOp(other[0], one[0], "ult"))
            is_equal = k.emit(arith.CmpiOp(other[0], one[0], "eq"))
            was_before = k.compare("lt", other[1], one[1])
            return k.emit(arith.OrIOp(is_below, k.emit(arith.AndIOp(is_equal, was_before))))

        Network(self, (keys, places), swaps).write()
        self.block.write(places, 0, self.extent, order, _as_i64(w, key))
        self._gather(elements, places)
        self.block.write(elements, 0, self.extent, values)

    def _gather(self, elements: SSAValue, places: SSAValue) -> None:
        """Put the elements in order, by way of a column for one lane."""
        w = self.w
        column = w.scratch(self.element, (self.extent,), "column")
        with w.loop("l", 0, self.block.lanes) as lane:
            with w.loop("i", 0, self.extent) as i:
                place = w.load_at(places, [[(1, i)], [(1, lane)]])
                at = w.index.emit(arith.IndexCastOp(place, IndexType()))
                w.store(w.load(elements, [at, lane]), column, [i])
            with w.loop("i", 0, self.extent) as i:
                w.store(w.load(column, [i]), elements, [i, lane])

    @property
    def _last(self) -> float | int:
        """What comes behind all elements."""
        if is_float(self.element):
            return -np.inf if self.descending else np.inf
        width = bit_width(self.element)
        if is_unsigned(self.element):
            return 0 if self.descending else (1 << width) - 1
        return -(1 << (width - 1)) if self.descending else (1 << (width - 1)) - 1

    def _fill(self, keys: SSAValue, number: float | int, element: Attribute | None = None) -> None:
        if self.count == self.extent:
            return
        w = self.w
        last = w.scalar(element or self.element).constant(number)
        with w.loop("i", self.extent, self.count) as i, self.block.lane() as lane:
            w.store_at(last, keys, [[(1, i)], [(1, lane)]])

    def _without_nans(self, keys: SSAValue) -> SSAValue:
        """Put infinity in the place of each NaN; how many there were in each lane."""
        w, b = self.w, self.w.scalar(self.element)
        counter = w.scalar(IntegerType(bit_width(self.element)))
        nans = w.scratch(counter.type, (1, self.block.lanes), "nans")
        with self.block.lane() as lane:
            w.store_at(counter.constant(0), nans, [[], [(1, lane)]])
        infinity, one, zero = b.constant(np.inf), counter.constant(1), counter.constant(0)
        with w.loop("i", 0, self.extent) as i, self.block.lane() as lane:
            x = w.load_at(keys, [[(1, i)], [(1, lane)]])
            is_nan = b.compare("ne", x, x)
            w.store_at(b.select(is_nan, infinity, x), keys, [[(1, i)], [(1, lane)]])
            count = counter.add(
                w.load_at(nans, [[], [(1, lane)]]), counter.select(is_nan, one, zero)
            )
            w.store_at(count, nans, [[], [(1, lane)]])
        return nans

    def _with_nans(self, keys: SSAValue, nans: SSAValue) -> None:
        """Put as many NaN as there were at the end where they belong."""
        w, b = self.w, self.w.scalar(self.element)
        counter = w.scalar(IntegerType(bit_width(self.element)))
        nan = b.constant(np.nan)
        with w.loop("i", 0, self.extent) as i:
            place = counter.from_index(i)
            from_end = counter.sub(counter.constant(self.extent - 1), place)
            with self.block.lane() as lane:
                count = w.load_at(nans, [[], [(1, lane)]])
                x = w.load_at(keys, [[(1, i)], [(1, lane)]])
                is_nan = counter.compare("lt", place if self.descending else from_end, count)
                w.store_at(b.select(is_nan, nan, x), keys, [[(1, i)], [(1, lane)]])


@frozen
class Network:
    """Writes the loops that sort the columns of buffers: keys, and what goes with them."""

    sort: LaneSort
    buffers: tuple[SSAValue, ...]
    swaps: Callable[[Sequence[SSAValue], Sequence[SSAValue]], SSAValue]
    """whether the second of two comes before the first"""

    def write(self) -> None:
        count = self.sort.count
        if count <= RUN:
            self._in_registers((), count, list(comparators(count)))
            return
        self._each_run(list(comparators(RUN)))
        half = RUN
        while half < count:
            self._across(half)
            distance = half // 2
            while distance >= RUN:
                self._at(distance)
                distance //= 2
            self._each_run(list(_cleaning()))
            half *= 2

    def _each_run(self, pairs: Sequence[tuple[int, int]]) -> None:
        with self.sort.w.loop("run", 0, self.sort.count // RUN) as run:
            self._in_registers([(RUN, run)], RUN, pairs)

    def _in_registers(self, start: Form, count: int, pairs: Sequence[tuple[int, int]]) -> None:
        with self.sort.block.lane() as lane:
            rows = [self._load([*start, (i, 1)], lane) for i in range(count)]
            for low, high in pairs:
                rows[low], rows[high] = self._ordered(rows[low], rows[high])
            for i, row in enumerate(rows):
                self._store(row, [*start, (i, 1)], lane)

    def _across(self, half: int) -> None:
        """Compare elements that are as far from the start of two runs as from their end."""
        w, count = self.sort.w, self.sort.count
        with w.loop("pair", 0, -(-(count - half) // (2 * half))) as pair:
            lower: Bound = 0
            if count % (2 * half):
                first = AffineExpr.dimension(0) * (2 * half) + (2 * half - count)
                lower = AffineMap(1, 0, (first, AffineExpr.constant(0))), [pair]
            with w.loop("i", lower, half) as i:
                self._compare(
                    [(2 * half, pair), (1, i)], [(2 * half, pair), (2 * half - 1, 1), (-1, i)]
                )

    def _at(self, distance: int) -> None:
        """Compare elements with those at a distance, the second half of as many again."""
        w, count = self.sort.w, self.sort.count
        with w.loop("pair", 0, -(-(count - distance) // (2 * distance))) as pair:
            upper: Bound = distance
            if count % (2 * distance):
                rest = AffineExpr.dimension(0) * (-2 * distance) + (count - distance)
                upper = AffineMap(1, 0, (rest, AffineExpr.constant(distance))), [pair]
            with w.loop("i", 0, upper) as i:
                place: Form = [(2 * distance, pair), (1, i)]
                self._compare(place, [*place, (distance, 1)])

    def _compare(self, low: Form, high: Form) -> None:
        with self.sort.block.lane() as lane:
            found = self._ordered(self._load(low, lane), self._load(high, lane))
            for row, place in zip(found, (low, high), strict=True):
                self._store(row, place, lane)

    def _load(self, place: Form, lane: SSAValue) -> list[SSAValue]:
        return [self.sort.w.load_at(buffer, [place, [(1, lane)]]) for buffer in self.buffers]

    def _store(self, row: Sequence[SSAValue], place: Form, lane: SSAValue) -> None:
        for value, buffer in zip(row, self.buffers, strict=True):
            self.sort.w.store_at(value, buffer, [place, [(1, lane)]])

    def _ordered(
        self, one: Sequence[SSAValue], other: Sequence[SSAValue]
    ) -> tuple[list[SSAValue], list[SSAValue]]:
        """Two elements, the one that comes first first."""
        b, swaps = self.sort.w.index, self.swaps(one, other)
        low = [b.emit(arith.SelectOp(swaps, y, x)) for x, y in zip(one, other, strict=True)]
        high = [b.emit(arith.SelectOp(swaps, x, y)) for x, y in zip(one, other, strict=True)]
        return low, high


def _as_i64(w: LoopBuilder, type_: Attribute) -> Callable[[SSAValue], SSAValue]:
    """How places become elements of an order."""
    return lambda place: place if type_ == i64 else w.index.emit(arith.ExtUIOp(place, i64))


def _cleaning() -> Iterator[tuple[int, int]]:
    """The last comparisons of a merge, within a run."""
    distance = RUN // 2
    while distance:
        for low in range(RUN):
            if not low & distance:
                yield low, low + distance
        distance //= 2
