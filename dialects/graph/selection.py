"""
A few elements of a sorted row without sorting the row: what `graph.sort` writes where it gives some places alone.

The first or last places are kept in order in a buffer of as many, into which an element is inserted if it comes before the
last of them. Other places are found by digits, the most significant first: the elements that share their digits so far
with the one that is sought are counted by the next digit, and those stay that share it too.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, i64
from xdsl.ir import Attribute, SSAValue

from ...frozen import frozen
from ..te.loop_builder import LoopBuilder
from .radix_sort import DIGIT_STEPS, RADIX, RADIX_BITS, key_type, ordered_key

Read = Callable[[SSAValue], SSAValue]
"""The element at a position."""
Write = Callable[[SSAValue, SSAValue], None]
"""Takes a place of the result and the position of the element that belongs there."""
IsBefore = Callable[[SSAValue, SSAValue], SSAValue]
"""Whether the first of two elements comes before the second; of equal ones none does."""


def inserted_steps(extent: int, start: int, stop: int) -> int:
    """The most steps that keeping the first or the last places takes: each element may go through all of them."""
    return extent * min(stop, extent - start)


def digit_steps(extent: int, element: Attribute, start: int, stop: int) -> int:
    """
    The steps of a search by digits: all elements are counted once, those that are left are taken to be no more than that
    in all later turns, and a loop over the row finds each further place.
    """
    digits = key_type(element).width.data // RADIX_BITS
    return DIGIT_STEPS * (2 * extent + digits * RADIX) + (stop - start - 1) * extent


def selection_steps(extent: int, element: Attribute, start: int, stop: int) -> int:
    """How many steps the elements at these places of a sorted row take, in steps of a simple loop over a row."""
    places = extent, start, stop
    return min(inserted_steps(*places), digit_steps(extent, element, start, stop))


@frozen
class Insertion:
    """Writes the loops that keep the first places of a row in order, or with `from_end` its last."""

    w: LoopBuilder
    element: Attribute
    extent: int
    start: int
    stop: int
    is_before: IsBefore

    @property
    def from_end(self) -> bool:
        return self.extent - self.start < self.stop

    @property
    def kept(self) -> int:
        return self.extent - self.start if self.from_end else self.stop

    def write(self, read: Read, write: Write) -> None:
        w, b = self.w, self.w.index
        best = w.scratch(self.element, (self.kept,), "best")
        places = w.scratch(i64, (self.kept,), "places")
        count = self.stop - self.start
        with w.loop("f", 0, self.kept) as step:
            position = self._position(step)
            self._insert((best, places), read(position), position, step)
        with w.loop("s", self.kept, self.extent) as step:
            position = self._position(step)
            x = read(position)
            with w.when("enters", self._comes_before(x, w.load(best, [self.kept - 1]))):
                self._insert((best, places), x, position, b.constant(self.kept - 1))
        with w.loop("t", 0, count) as number:
            # The places that are wanted are the last of those that are kept.
            at = b.add(number, b.constant(self.kept - count))
            place = b.emit(arith.IndexCastOp(w.load(places, [at]), IndexType()))
            write(b.sub(b.constant(count - 1), number) if self.from_end else number, place)

    def _position(self, step: SSAValue) -> SSAValue:
        """Elements are seen from the end for the last places, so that of equal ones the last is the first there."""
        b = self.w.index
        return b.sub(b.constant(self.extent - 1), step) if self.from_end else step

    def _comes_before(self, x: SSAValue, y: SSAValue) -> SSAValue:
        return self.is_before(y, x) if self.from_end else self.is_before(x, y)

    def _insert(
        self, kept: tuple[SSAValue, SSAValue], x: SSAValue, position: SSAValue, filled: SSAValue
    ) -> None:
        """Move the elements that come behind x, of the first `filled`, by one place, and put x before them."""
        w, b = self.w, self.w.index
        best, places = kept
        hole = w.cell(IndexType(), filled, "hole")
        with w.loop("shift", 0, filled) as step:
            target = b.sub(filled, step)
            source = b.sub(target, b.constant(1))
            moves = self._comes_before(x, w.load(best, [source]))
            for buffer in (best, places):
                old, other = w.load(buffer, [target]), w.load(buffer, [source])
                w.store(b.select(moves, other, old), buffer, [target])
            hole.set(b.select(moves, source, hole.get()))
        w.store(x, best, [hole.get()])
        w.store(w.scalar(i64).from_index(position), places, [hole.get()])


class DigitSearch:
    """Writes the loops that find consecutive places of one sorted row of so many elements."""

    def __init__(self, w: LoopBuilder, element: Attribute, extent: int, *, descending: bool):
        self.w, self.element, self.extent, self.descending = w, element, extent, descending
        self.key = key_type(element)
        self.digits = self.key.width.data // RADIX_BITS
        self.keys = w.scratch(self.key, (extent,), "keys")
        self.places = w.scratch(i64, (extent,), "places")
        self.counts = w.scratch(i64, (RADIX,), "counts")

    def write(self, start: int, stop: int, read: Read, write: Write) -> None:
        w, b = self.w, self.w.index
        with w.loop("s", 0, self.extent) as position:
            w.store(self._key(read, position), self.keys, [position])
            w.store(w.scalar(i64).from_index(position), self.places, [position])
        left = w.cell(IndexType(), b.constant(self.extent), "left")
        rank = w.cell(IndexType(), b.constant(start), "rank")
        with (
            w.loop("d", 0, self.digits) as number,
            w.when("several", b.compare("lt", b.constant(1), left.get())),
        ):
            bits = b.mul(b.sub(b.constant(self.digits - 1), number), b.constant(RADIX_BITS))
            shift = w.scalar(self.key).emit(arith.IndexCastOp(bits, self.key))
            self._narrow(shift, left.get(), rank.get(), left.set, rank.set)
        # What is left is equal, and in the order of the row.
        key = w.cell(self.key, w.load(self.keys, [rank.get()]), "key")
        place = w.cell(i64, w.load(self.places, [rank.get()]), "place")
        with w.loop("t", 0, stop - start) as number:
            with w.when("follows", b.compare("lt", b.constant(0), number)):
                found = self._next(read, key.get(), place.get())
                key.set(found[0])
                place.set(found[1])
            write(number, b.emit(arith.IndexCastOp(place.get(), IndexType())))

    def _key(self, read: Read, position: SSAValue) -> SSAValue:
        return ordered_key(self.w, read(position), self.element, self.descending)

    def _digit(self, key: SSAValue, shift: SSAValue) -> SSAValue:
        k = self.w.scalar(self.key)
        byte = k.bit_and(k.emit(arith.ShRUIOp(key, shift)), k.constant(RADIX - 1))
        byte = byte if self.key == i64 else k.emit(arith.ExtUIOp(byte, i64))
        return k.emit(arith.IndexCastOp(byte, IndexType()))

    def _narrow(
        self,
        shift: SSAValue,
        left: SSAValue,
        rank: SSAValue,
        set_left: Callable[[SSAValue], None],
        set_rank: Callable[[SSAValue], None],
    ) -> None:
        """Leave those of the first `left` keys that have the digit which the one of this rank among them has."""
        w, b, c = self.w, self.w.index, self.w.scalar(i64)
        with w.loop("v", 0, RADIX) as value:
            w.store(c.constant(0), self.counts, [value])
        with w.loop("c", 0, left) as position:
            at = [self._digit(w.load(self.keys, [position]), shift)]
            w.store(c.add(w.load(self.counts, at), c.constant(1)), self.counts, at)
        total, before, wanted = (
            w.cell(IndexType(), b.constant(0), name) for name in ("total", "before", "wanted")
        )
        with w.loop("v", 0, RADIX) as value:
            below = total.get()
            is_reached = b.compare("le", below, rank)
            wanted.set(b.select(is_reached, value, wanted.get()))
            before.set(b.select(is_reached, below, before.get()))
            count = b.emit(arith.IndexCastOp(w.load(self.counts, [value]), IndexType()))
            total.set(b.add(below, count))
        stays = w.cell(IndexType(), b.constant(0), "stays")
        with w.loop("m", 0, left) as position:
            key = w.load(self.keys, [position])
            place, slot = w.load(self.places, [position]), stays.get()
            w.store(key, self.keys, [slot])
            w.store(place, self.places, [slot])
            is_wanted = b.compare("eq", self._digit(key, shift), wanted.get())
            stays.set(b.select(is_wanted, b.add(slot, b.constant(1)), slot))
        set_left(stays.get())
        set_rank(b.sub(rank, before.get()))

    def _next(self, read: Read, key: SSAValue, place: SSAValue) -> tuple[SSAValue, SSAValue]:
        """Key and place of the element that comes behind this one: the least of those behind, the first of equal ones."""
        w, b, k, c = self.w, self.w.index, self.w.scalar(self.key), self.w.scalar(i64)
        bit = k.emit
        least = w.cell(self.key, k.constant(-1), "least")
        found = w.cell(i64, place, "found")
        with w.loop("n", 0, self.extent) as step:
            # From the end, as an element that is equal to the least so far comes before it.
            position = b.sub(b.constant(self.extent - 1), step)
            other, there = self._key(read, position), c.from_index(position)
            is_later = bit(
                arith.AndIOp(bit(arith.CmpiOp(other, key, "eq")), c.compare("lt", place, there))
            )
            is_behind = bit(arith.OrIOp(bit(arith.CmpiOp(other, key, "ugt")), is_later))
            is_least = bit(arith.CmpiOp(other, least.get(), "ule"))
            is_next = bit(arith.AndIOp(is_behind, is_least))
            least.set(k.select(is_next, other, least.get()))
            found.set(c.select(is_next, there, found.get()))
        return least.get(), found.get()
