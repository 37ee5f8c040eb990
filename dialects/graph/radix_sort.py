"""
Sorting by digits, the least significant first (Knuth, The Art of Computer Programming 3, 5.2.5): the long rows of
`graph.sort`.

Elements become unsigned keys with their order. A first loop counts how often each digit of the keys has each value; then
a pass for each digit puts keys, with their places, in order by it, and keeps the order of equal ones. No step compares or
waits for a comparison. A pass over a digit that is the same in all keys is left out, so that small integers take one.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, IntegerType, i1, i8, i32, i64
from xdsl.ir import Attribute, SSAValue

from ..dtypes import bit_width
from ..te.loop_builder import Index, LoopBuilder

RADIX_BITS = 8
RADIX = 1 << RADIX_BITS

DIGITS = (8, 11)
"""The bits that digits of a row may have: a third of 32, whose counts fit into the first-level cache, for long rows."""

DIGIT_STEPS = 2
"""The steps of a pass over digits for each element, which is counted and moved, in those of a simple loop over a row."""
MERGE_STEPS = 3 * DIGIT_STEPS
"""The steps of a merge for each element, which waits for the comparison before it."""


def digit_steps(extent: int, element: Attribute) -> int:
    """How many steps sorting by digits takes, with the sums over the counts of each pass."""
    return min(_steps_by(bits, extent, element) for bits in DIGITS)


def _steps_by(bits: int, extent: int, element: Attribute) -> int:
    return DIGIT_STEPS * -(-key_type(element).width.data // bits) * (extent + (1 << bits))


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


def ordered_key(
    w: LoopBuilder,
    x: SSAValue,
    element: Attribute,
    descending: bool,
    *,
    zeros_are_equal: bool = True,
) -> SSAValue:
    """
    An integer without sign that is in order where the elements are. A float with its sign bit turned round is, if it is
    positive, and with all bits turned round if it is negative; zeros are equal, if they are to be, and NaN is above all.
    """
    b, key = w.scalar(element), key_type(element)
    k = w.scalar(key)
    sign = k.constant(-1 << (key.width.data - 1))
    if b.is_float:
        zero = b.constant(0)
        is_nan = b.compare("ne", x, x)
        is_zero = b.compare("eq", x, zero)
        number = b.select(is_zero, zero, x) if zeros_are_equal else x
        bits = k.emit(arith.BitcastOp(number, key))
        is_negative = k.compare("lt", bits, k.constant(0))
        bits = k.bit_xor(bits, k.select(is_negative, k.constant(-1), sign))
        bits = k.select(is_nan, k.constant(-1), bits)
    elif b.is_bool:
        bits = b.cast_to(x, i8)
    else:
        bits = x if b.is_unsigned else k.bit_xor(x, sign)
    return k.bit_not(bits) if descending else bits


def element_of_key(w: LoopBuilder, key: SSAValue, element: Attribute, descending: bool) -> SSAValue:
    """The element that has a key; of a NaN, another one."""
    b, k = w.scalar(element), w.scalar(key_type(element))
    bits = k.bit_not(key) if descending else key
    sign = k.constant(-1 << (k.width - 1))
    if b.is_bool:
        return k.emit(arith.TruncIOp(bits, i1))
    if not b.is_float:
        return bits if b.is_unsigned else k.bit_xor(bits, sign)
    is_positive = k.compare("lt", bits, k.constant(0))
    return b.emit(
        arith.BitcastOp(k.bit_xor(bits, k.select(is_positive, sign, k.constant(-1))), element)
    )


class RadixSort:
    """
    Writes the loops that sort one row of so many elements, with where each was if `has_places`.

    Without places keys are made elements again, of which zeros keep their signs, negative ones first.
    """

    def __init__(
        self,
        w: LoopBuilder,
        element: Attribute,
        extent: int,
        *,
        descending: bool,
        has_places: bool = True,
    ):
        self.w, self.element, self.extent, self.descending = w, element, extent, descending
        self.has_places = has_places
        self.key = key_type(element)
        self.bits = min(DIGITS, key=lambda bits: _steps_by(bits, extent, element))
        self.radix = 1 << self.bits
        self.digits = -(-self.key.width.data // self.bits)
        self.place = i32 if extent < 2**31 else i64
        self.rows = [w.scratch(self.key, (2, extent), "keys")]
        if has_places:
            self.rows.append(w.scratch(self.place, (2, extent), "places"))
        self.counts = w.scratch(i64, (self.digits, self.radix), "counts")

    @property
    def keys(self) -> SSAValue:
        return self.rows[0]

    def write(
        self,
        read: Callable[[SSAValue], SSAValue],
        write: Callable[[SSAValue, SSAValue], None],
    ) -> None:
        """
        `read` gives the element at a position; `write` takes a position in order and where its element was, or the element
        itself.
        """
        w, b = self.w, self.w.index
        source = w.cell(IndexType(), b.constant(0), "source")
        self._count(read)
        with w.loop("d", 0, self.digits) as digit:
            shift = w.scalar(self.key).emit(
                arith.IndexCastOp(b.mul(digit, b.constant(self.bits)), self.key)
            )
            with w.when("moves", self._to_starts(digit)):
                self._move(digit, shift, source.get())
                source.set(b.bit_xor(source.get(), b.constant(1)))
        with w.loop("t", 0, self.extent) as position:
            found = w.load(self.rows[-1], [source.get(), position])
            if self.has_places:
                write(position, b.emit(arith.IndexCastOp(found, IndexType())))
            else:
                write(position, element_of_key(w, found, self.element, self.descending))

    def _digit(self, key: SSAValue, shift: SSAValue) -> SSAValue:
        """A digit of a key as an index."""
        k = self.w.scalar(self.key)
        byte = k.bit_and(k.emit(arith.ShRUIOp(key, shift)), k.constant(self.radix - 1))
        if self.key != i64:
            byte = k.emit(arith.ExtUIOp(byte, i64))
        return k.emit(arith.IndexCastOp(byte, IndexType()))

    def _count(self, read: Callable[[SSAValue], SSAValue]) -> None:
        """Fill the first half of keys and places, and count the values of every digit."""
        w, k, c = self.w, self.w.scalar(self.key), self.w.scalar(i64)
        with w.loops([self.digits, self.radix], ["d", "v"]) as at:
            w.store(c.constant(0), self.counts, at)
        with w.loop("s", 0, self.extent) as position:
            key = ordered_key(
                w, read(position), self.element, self.descending, zeros_are_equal=self.has_places
            )
            w.store(key, self.keys, [0, position])
            if self.has_places:
                place = w.index.emit(arith.IndexCastOp(position, self.place))
                w.store(place, self.rows[1], [0, position])
            for digit in range(self.digits):
                at = [digit, self._digit(key, k.constant(digit * self.bits))]
                w.store(c.add(w.load(self.counts, at), c.constant(1)), self.counts, at)

    def _to_starts(self, digit: Index) -> SSAValue:
        """Replace the counts of a digit by where its values start; whether it has more than one value."""
        w, c = self.w, self.w.scalar(i64)
        total, most = (w.cell(i64, c.constant(0), name) for name in ("total", "most"))
        with w.loop("v", 0, self.radix) as value:
            count = w.load(self.counts, [digit, value])
            w.store(total.get(), self.counts, [digit, value])
            total.set(c.add(total.get(), count))
            most.set(c.maximum(most.get(), count))
        return c.compare("lt", most.get(), c.constant(self.extent))

    def _move(self, digit: Index, shift: SSAValue, source: SSAValue) -> None:
        """Put keys and places of one half into the other, in order by a digit."""
        w, b, c = self.w, self.w.index, self.w.scalar(i64)
        target = b.bit_xor(source, b.constant(1))
        with w.loop("m", 0, self.extent) as position:
            key = w.load(self.keys, [source, position])
            at = [digit, self._digit(key, shift)]
            start = w.load(self.counts, at)
            moved = b.emit(arith.IndexCastOp(start, IndexType()))
            w.store(key, self.keys, [target, moved])
            for row in self.rows[1:]:
                w.store(w.load(row, [source, position]), row, [target, moved])
            w.store(c.add(start, c.constant(1)), self.counts, at)
