"""
Sorting by digits, the least significant first (Knuth, The Art of Computer Programming 3, 5.2.5): the long rows of
`graph.sort`.

Elements become unsigned keys with their order. A first loop counts how often each digit of the keys has each value; then
a pass for each digit puts keys, with their places, in order by it, and keeps the order of equal ones. No step compares or
waits for a comparison. A pass over a digit that is the same in all keys is left out, so that small integers take one.

Of wide keys the digits below the highest bit in which any of them differ are enough to tell most of a row apart: half as
many passes put it in order but for a few neighbours, which are then inserted among those that have the same digits
(MacLaren, Internal sorting by radix plus sifting, 1966). Only where that would take longer than the other passes all
digits are sorted by.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, IntegerType, i1, i8, i32, i64
from xdsl.ir import Attribute, SSAValue

from ..dtypes import bit_width
from ..te.loop_builder import Cell, Index, LoopBuilder

RADIX_BITS = 8
RADIX = 1 << RADIX_BITS

DIGITS = (8, 11)
"""The bits that digits of a row may have: a third of 32, whose counts fit into the first-level cache, for long rows."""

EXPONENT_BITS = 12
"""Bits of a float that tell few numbers apart: the sign and the exponent of float64."""

MOST_INSERTED = 4
"""Steps of insertion for each element, at most, in the place of passes over further digits."""

DIGIT_STEPS = 2
"""The steps of a pass over digits for each element, which is counted and moved, in those of a simple loop over a row."""
MERGE_STEPS = 3 * DIGIT_STEPS
"""The steps of a merge for each element, which waits for the comparison before it."""


def digit_steps(extent: int, element: Attribute) -> int:
    """How many steps sorting by digits takes, with the sums over the counts of each pass."""
    return min(_steps_by(bits, extent, element) for bits in DIGITS)


def _steps_by(bits: int, extent: int, element: Attribute) -> int:
    passes, width = _digits(bits, extent, element), key_type(element).width.data
    others = 2 * DIGIT_STEPS * extent if passes * bits < width else 0
    return DIGIT_STEPS * passes * (extent + (1 << bits)) + others


def _digits(bits: int, extent: int, element: Attribute) -> int:
    """How many digits a row is sorted by first: those that tell most of so many elements apart, or all that there are."""
    enough = -(-(extent.bit_length() + EXPONENT_BITS) // bits)
    return min(-(-key_type(element).width.data // bits), enough)


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
        self.digits = _digits(self.bits, extent, element)
        self.is_partial = self.digits * self.bits < self.key.width.data
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
        low = self._lowest(self._keys(read))
        again = w.cell(IndexType(), b.constant(0), "again")
        inserts = w.cell(IndexType(), b.constant(0), "inserts")
        # By the highest digits; where these leave too much to insert, by the lowest ones and so on up to the highest.
        at_once = self.digits * self.bits
        rest = -(-(self.key.width.data - at_once) // at_once) + 1 if self.is_partial else 0
        with w.loop("r", 0, 1 + rest) as number:
            is_first = b.compare("eq", number, b.constant(0))
            bit = b.mul(b.sub(number, b.constant(1)), b.constant(at_once))
            is_new = b.compare("lt", bit, b.add(low, b.constant(at_once)))
            is_again = b.compare("ne", again.get(), b.constant(0))
            is_round = w.scalar(i1).bit_or(is_first, w.scalar(i1).bit_and(is_again, is_new))
            with w.when("round", is_round):
                self._sort(b.select(is_first, low, b.minimum(bit, low)), source)
            if self.is_partial:
                is_left = b.compare("ne", low, b.constant(0))
                with w.when("judged", w.scalar(i1).bit_and(is_first, is_left)):
                    self._judge(low, source.get(), again, inserts)
        if self.is_partial:
            with w.when("inserted", b.compare("ne", inserts.get(), b.constant(0))):
                self._insert(low, source.get())
        with w.loop("t", 0, self.extent) as position:
            found = w.load(self.rows[-1], [source.get(), position])
            if self.has_places:
                write(position, b.emit(arith.IndexCastOp(found, IndexType())))
            else:
                write(position, element_of_key(w, found, self.element, self.descending))

    def _keys(self, read: Callable[[SSAValue], SSAValue]) -> SSAValue:
        """Fill the first half of keys and places; the bits in which any two keys differ."""
        w, k = self.w, self.w.scalar(self.key)
        differing = w.cell(self.key, k.constant(0), "differing")

        def key_at(position: SSAValue) -> SSAValue:
            element, is_equal = read(position), self.has_places
            return ordered_key(w, element, self.element, self.descending, zeros_are_equal=is_equal)

        first = key_at(w.index.constant(0)) if self.is_partial else None
        with w.loop("s", 0, self.extent) as position:
            key = key_at(position)
            w.store(key, self.keys, [0, position])
            if self.has_places:
                place = w.index.emit(arith.IndexCastOp(position, self.place))
                w.store(place, self.rows[1], [0, position])
            if first is not None:
                differing.set(k.bit_or(differing.get(), k.bit_xor(key, first)))
        return differing.get()

    def _lowest(self, differing: SSAValue) -> SSAValue:
        """The lowest bit of the digits that a row is sorted by first: they begin with the highest bit that differs."""
        w, b, k = self.w, self.w.index, self.w.scalar(self.key)
        if not self.is_partial:
            return b.constant(0)
        bits = w.cell(IndexType(), b.constant(0), "bits")
        with w.loop("bit", 0, self.key.width.data) as bit:
            rest = k.emit(arith.ShRUIOp(differing, self._as_key(bit)))
            is_above = k.compare("ne", rest, k.constant(0))
            one = b.select(is_above, b.constant(1), b.constant(0))
            bits.set(b.add(bits.get(), one))
        most = b.constant(self.digits * self.bits)
        return b.sub(b.maximum(bits.get(), most), most)

    def _as_key(self, number: SSAValue) -> SSAValue:
        """An index as an integer of the keys' type."""
        return self.w.scalar(self.key).emit(arith.IndexCastOp(number, self.key))

    def _digit(self, key: SSAValue, shift: SSAValue) -> SSAValue:
        """A digit of a key as an index."""
        k = self.w.scalar(self.key)
        byte = k.bit_and(k.emit(arith.ShRUIOp(key, shift)), k.constant(self.radix - 1))
        if self.key != i64:
            byte = k.emit(arith.ExtUIOp(byte, i64))
        return k.emit(arith.IndexCastOp(byte, IndexType()))

    def _sort(self, low: SSAValue, source: Cell) -> None:
        """Put the row in order by the digits from a bit on, the lowest first."""
        w, b = self.w, self.w.index
        self._count(low, source.get())
        with w.loop("d", 0, self.digits) as digit:
            shift = self._as_key(b.add(low, b.mul(digit, b.constant(self.bits))))
            with w.when("moves", self._to_starts(digit)):
                self._move(digit, shift, source.get())
                source.set(b.bit_xor(source.get(), b.constant(1)))

    def _count(self, low: SSAValue, source: SSAValue) -> None:
        """Count the values of every digit."""
        w, b, c = self.w, self.w.index, self.w.scalar(i64)
        with w.loops([self.digits, self.radix], ["d", "v"]) as at:
            w.store(c.constant(0), self.counts, at)
        shifts = [
            self._as_key(b.add(low, b.constant(digit * self.bits))) for digit in range(self.digits)
        ]
        with w.loop("c", 0, self.extent) as position:
            key = w.load(self.keys, [source, position])
            for digit, shift in enumerate(shifts):
                at = [digit, self._digit(key, shift)]
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

    def _judge(self, low: SSAValue, source: SSAValue, again: Cell, inserts: Cell) -> None:
        """Whether keys with the same digits are in order, and if not, whether to insert them or to sort by all digits."""
        w, b, k = self.w, self.w.index, self.w.scalar(self.key)
        zero, one, shift = b.constant(0), b.constant(1), self._as_key(low)
        start, steps, wrong = (w.cell(IndexType(), zero, n) for n in ("start", "steps", "wrong"))
        with w.loop("j", 1, self.extent) as position:
            key = w.load(self.keys, [source, position])
            before = w.load(self.keys, [source, b.sub(position, one)])
            is_less = k.emit(arith.CmpiOp(key, before, "ult"))
            wrong.set(b.select(is_less, one, wrong.get()))
            start.set(b.select(self._are_alike(key, before, shift), start.get(), position))
            steps.set(b.add(steps.get(), b.sub(position, start.get())))
        most = b.constant(MOST_INSERTED * self.extent)
        is_quick = b.compare("le", steps.get(), most)
        inserts.set(b.select(is_quick, wrong.get(), zero))
        again.set(b.select(is_quick, zero, wrong.get()))

    def _are_alike(self, key: SSAValue, other: SSAValue, shift: SSAValue) -> SSAValue:
        """Whether two keys have the same bits from one on."""
        k = self.w.scalar(self.key)
        differing = k.emit(arith.ShRUIOp(k.bit_xor(key, other), shift))
        return k.compare("eq", differing, k.constant(0))

    def _insert(self, low: SSAValue, source: SSAValue) -> None:
        """Insert each key, with its place, among those before it that have the same digits and are greater."""
        w, b, k = self.w, self.w.index, self.w.scalar(self.key)
        shift = self._as_key(low)
        start = w.cell(IndexType(), b.constant(0), "start")
        types = [self.key, self.place][: len(self.rows)]
        zeros = [w.scalar(type_).constant(0) for type_ in types]
        names = ["key", "place"]
        moved = [w.cell(*each) for each in zip(types, zeros, names, strict=False)]
        with w.loop("i", 1, self.extent) as position:
            key = w.load(self.keys, [source, position])
            before = w.load(self.keys, [source, b.sub(position, b.constant(1))])
            start.set(b.select(self._are_alike(key, before, shift), start.get(), position))
            for cell, row in zip(moved, self.rows, strict=True):
                cell.set(w.load(row, [source, position]))
            with w.loop("n", start.get(), position) as number:
                heads = [w.load(row, [source, number]) for row in self.rows]
                held = [cell.get() for cell in moved]
                # All behind the first greater one move on by a place, equal ones in their order.
                is_less = k.emit(arith.CmpiOp(key, heads[0], "ult"))
                each = zip(self.rows, types, moved, heads, held, strict=True)
                for row, type_, cell, head, one in each:
                    scalar = w.scalar(type_)
                    w.store(scalar.select(is_less, one, head), row, [source, number])
                    cell.set(scalar.select(is_less, head, one))
            for cell, row in zip(moved, self.rows, strict=True):
                w.store(cell.get(), row, [source, position])
