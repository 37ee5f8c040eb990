"""
Sorting by digits, the least significant first (Knuth, The Art of Computer Programming 3, 5.2.5): the long rows of
`graph.sort`.

Elements become unsigned keys with their order. A first loop counts how often each byte of the keys has each value; then a
pass for each byte puts keys, with their places, in order by it, and keeps the order of equal ones. No step compares or
waits for a comparison. A pass over a byte that is the same in all keys is left out, so that small integers take one.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, IntegerType, i8, i32, i64
from xdsl.ir import Attribute, SSAValue

from ..dtypes import bit_width
from ..te.loop_builder import Index, LoopBuilder

RADIX_BITS = 8
RADIX = 1 << RADIX_BITS

DIGIT_STEPS = 2
"""The steps of a pass over digits for each element, which is counted and moved, in those of a simple loop over a row."""
MERGE_STEPS = 3 * DIGIT_STEPS
"""The steps of a merge for each element, which waits for the comparison before it."""


def digit_steps(extent: int, element: Attribute) -> int:
    """How many steps sorting by digits takes, with the sums over the counts of each pass."""
    return DIGIT_STEPS * (key_type(element).width.data // RADIX_BITS) * (extent + RADIX)


def merge_steps(extent: int) -> int:
    """How many steps merging runs takes."""
    return MERGE_STEPS * extent * max(extent - 1, 0).bit_length()


def sort_steps(extent: int, element: Attribute) -> int:
    """How many steps sorting a row takes, by digits or by merging."""
    return min(merge_steps(extent), digit_steps(extent, element))


def is_faster(extent: int, element: Attribute) -> bool:
    """Whether sorting by digits takes fewer steps than merging runs."""
    return merge_steps(extent) > digit_steps(extent, element)


def key_type(element: Attribute) -> IntegerType:
    """The integer that has the bits of an element; a byte for i1."""
    return IntegerType(max(bit_width(element), RADIX_BITS))


def ordered_key(w: LoopBuilder, x: SSAValue, element: Attribute, descending: bool) -> SSAValue:
    """
    An integer without sign that is in order where the elements are. A float with its sign bit turned round is, if it is
    positive, and with all bits turned round if it is negative; zeros are equal and NaN is above all.
    """
    b, key = w.scalar(element), key_type(element)
    k = w.scalar(key)
    sign = k.constant(-1 << (key.width.data - 1))
    if b.is_float:
        zero = b.constant(0)
        is_nan = b.compare("ne", x, x)
        is_zero = b.compare("eq", x, zero)
        bits = k.emit(arith.BitcastOp(b.select(is_zero, zero, x), key))
        is_negative = k.compare("lt", bits, k.constant(0))
        bits = k.bit_xor(bits, k.select(is_negative, k.constant(-1), sign))
        bits = k.select(is_nan, k.constant(-1), bits)
    elif b.is_bool:
        bits = b.cast_to(x, i8)
    else:
        bits = x if b.is_unsigned else k.bit_xor(x, sign)
    return k.bit_not(bits) if descending else bits


class RadixSort:
    """Writes the loops that sort one row of so many elements."""

    def __init__(self, w: LoopBuilder, element: Attribute, extent: int, *, descending: bool):
        self.w, self.element, self.extent, self.descending = w, element, extent, descending
        self.key = key_type(element)
        self.digits = self.key.width.data // RADIX_BITS
        self.place = i32 if extent < 2**31 else i64
        self.keys = w.scratch(self.key, (2, extent), "keys")
        self.places = w.scratch(self.place, (2, extent), "places")
        self.counts = w.scratch(i64, (self.digits, RADIX), "counts")

    def write(
        self,
        read: Callable[[SSAValue], SSAValue],
        write: Callable[[SSAValue, SSAValue], None],
    ) -> None:
        """`read` gives the element at a position; `write` takes a position in order and where its element was."""
        w, b = self.w, self.w.index
        source = w.cell(IndexType(), b.constant(0), "source")
        self._count(read)
        with w.loop("d", 0, self.digits) as digit:
            shift = w.scalar(self.key).emit(
                arith.IndexCastOp(b.mul(digit, b.constant(RADIX_BITS)), self.key)
            )
            with w.when("moves", self._to_starts(digit)):
                self._move(digit, shift, source.get())
                source.set(b.bit_xor(source.get(), b.constant(1)))
        with w.loop("t", 0, self.extent) as position:
            place = w.load(self.places, [source.get(), position])
            write(position, b.emit(arith.IndexCastOp(place, IndexType())))

    def _digit(self, key: SSAValue, shift: SSAValue) -> SSAValue:
        """A byte of a key as an index."""
        k = self.w.scalar(self.key)
        byte = k.bit_and(k.emit(arith.ShRUIOp(key, shift)), k.constant(RADIX - 1))
        if self.key != i64:
            byte = k.emit(arith.ExtUIOp(byte, i64))
        return k.emit(arith.IndexCastOp(byte, IndexType()))

    def _count(self, read: Callable[[SSAValue], SSAValue]) -> None:
        """Fill the first half of keys and places, and count the values of every byte."""
        w, k, c = self.w, self.w.scalar(self.key), self.w.scalar(i64)
        with w.loops([self.digits, RADIX], ["d", "v"]) as at:
            w.store(c.constant(0), self.counts, at)
        with w.loop("s", 0, self.extent) as position:
            key = ordered_key(w, read(position), self.element, self.descending)
            w.store(key, self.keys, [0, position])
            place = w.index.emit(arith.IndexCastOp(position, self.place))
            w.store(place, self.places, [0, position])
            for digit in range(self.digits):
                at = [digit, self._digit(key, k.constant(digit * RADIX_BITS))]
                w.store(c.add(w.load(self.counts, at), c.constant(1)), self.counts, at)

    def _to_starts(self, digit: Index) -> SSAValue:
        """Replace the counts of a byte by where its values start; whether it has more than one value."""
        w, c = self.w, self.w.scalar(i64)
        total, most = (w.cell(i64, c.constant(0), name) for name in ("total", "most"))
        with w.loop("v", 0, RADIX) as value:
            count = w.load(self.counts, [digit, value])
            w.store(total.get(), self.counts, [digit, value])
            total.set(c.add(total.get(), count))
            most.set(c.maximum(most.get(), count))
        return c.compare("lt", most.get(), c.constant(self.extent))

    def _move(self, digit: Index, shift: SSAValue, source: SSAValue) -> None:
        """Put keys and places of one half into the other, in order by a byte."""
        w, b, c = self.w, self.w.index, self.w.scalar(i64)
        target = b.bit_xor(source, b.constant(1))
        with w.loop("m", 0, self.extent) as position:
            key = w.load(self.keys, [source, position])
            at = [digit, self._digit(key, shift)]
            start = w.load(self.counts, at)
            moved = b.emit(arith.IndexCastOp(start, IndexType()))
            w.store(key, self.keys, [target, moved])
            w.store(w.load(self.places, [source, position]), self.places, [target, moved])
            w.store(c.add(start, c.constant(1)), self.counts, at)
