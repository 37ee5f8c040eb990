"""The stages of Stockham's fast Fourier transform, in each of which sums of a few elements are written out."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import AbstractContextManager, contextmanager
from itertools import cycle
from typing import Protocol, TypeAlias

import numpy as np
from xdsl.ir import Attribute, SSAValue

from ...frozen import frozen
from ..dtypes import bit_width
from ..interfaces import Array
from ..scalar import ScalarBuilder
from ..te.loop_builder import Form, LoopBuilder
from .lane_blocks import LINE_BITS, MOST_BYTES, Block

GREATEST_RADIX = 13
"""Greater prime factors of a length would be written out as too long a piece of code."""

MOST_BYTES_OF_ROWS = 3 << 14
"""
Bytes of the two buffers of a block of rows, as first-level caches have at least: one row after the other, which longer
ones are left to, stays there, and after its first stages has runs to make vectors of.
"""

Complex: TypeAlias = tuple[SSAValue, SSAValue]
"""A real and an imaginary part."""


def radices(length: int) -> list[int] | None:
    """The factors of the stages, in order; None where a prime factor is too great. Of 1 there is one stage of 1."""
    twos, rest = 0, length
    while rest % 2 == 0:
        twos, rest = twos + 1, rest // 2
    odd: list[int] = []
    for factor in range(3, GREATEST_RADIX + 1, 2):
        while rest % factor == 0:
            odd.append(factor)
            rest //= factor
    if rest != 1:
        return None
    # The first stage is the greatest: later ones go over runs of as many elements.
    eights = 0 if twos < 3 else 1 if twos % 2 else 2 if twos > 4 else 0
    fours, one_two = divmod(twos - 3 * eights, 2)
    found = [8] * eights + [4] * fours + sorted(odd, reverse=True) + [2] * one_two
    return found or [1]


def complex_length(length: int) -> int:
    """The length of the transform of complex numbers that one of so many real numbers is made of: half, of even many."""
    return length if length % 2 else length // 2


def lanes_of(shape: tuple[int, int, int], element: Attribute) -> int | None:
    """How many of `batch` times `inner` transforms of a length are computed next to each other; None where one is."""
    batch, length, inner = shape
    lanes = LINE_BITS // bit_width(element)
    bytes_ = 2 * 2 * (length + 2) * LINE_BITS // 8
    most = MOST_BYTES_OF_ROWS if inner == 1 else MOST_BYTES
    is_block = (batch if inner == 1 else inner) >= lanes and bytes_ <= most
    return lanes if is_block else None


@frozen
class Stage:
    """One factor of the length: `count` groups of sums of `radix` elements, each over runs of `run` elements."""

    radix: int
    count: int
    run: int
    offset: int
    """where its numbers begin in the table, behind a first one"""


def stages_of(length: int, inner: int) -> list[Stage]:
    found: list[Stage] = []
    run, offset = inner, 0
    for radix in radices(length) or []:
        length //= radix
        found.append(Stage(radix, length, run, offset))
        run, offset = run * radix, offset + (radix - 1) * length
    return found


def twiddles(stages: Sequence[Stage]) -> Array:
    """The cosines and sines, in two rows, of each stage: exp(-2πi·p·k / (radix · count)) by k from 1 on, then by p."""
    rows = [np.zeros((2, 1))]
    for stage in stages:
        whole = stage.radix * stage.count
        turns = np.outer(np.arange(1, stage.radix), np.arange(stage.count)).reshape(-1) % whole
        rows.append(np.stack(unit_roots(turns, whole)))
    return np.concatenate(rows, 1)


def unit_roots(turns: Array, whole: int) -> tuple[Array, Array]:
    """The cosines and sines of -2π·t / whole for integers t from 0 on: each is exact but for rounding."""
    # By an angle of at most an eighth of a turn, where both functions are as exact as their arguments.
    eighths, rest = np.divmod(8 * (turns % whole), whole)
    is_odd = eighths % 2 == 1
    angles = np.pi / 4 * np.where(is_odd, whole - rest, rest) / whole
    cosine, sine = np.cos(angles), np.sin(angles)
    is_swapped = (eighths % 4 == 1) | (eighths % 4 == 2)
    x, y = np.where(is_swapped, sine, cosine), np.where(is_swapped, cosine, sine)
    return np.where((eighths >= 2) & (eighths < 6), -x, x), np.where(eighths < 4, -y, y)


# How elements are read and written.


@frozen
class Parts:
    """Buffers of complex numbers: part p of number q is at `q · step + offsets[p]`."""

    buffers: tuple[SSAValue, SSAValue]
    row: SSAValue | None = None
    """the first subscript, of buffers that have rows"""
    step: int = 1
    offsets: tuple[Form, Form] = ((), ())

    @staticmethod
    def one_behind_other(buffer: SSAValue, length: int) -> Parts:
        """All real parts of `length` numbers in a buffer, then all imaginary ones."""
        return Parts((buffer, buffer), offsets=((), ((1, length),)))

    def place(self, part: int, form: Form) -> Form:
        return [*((factor * self.step, index) for factor, index in form), *self.offsets[part]]


class Space(Protocol):
    """Where transforms are computed: a row at a time, or several next to each other."""

    @property
    def w(self) -> LoopBuilder: ...

    def lanes(self) -> AbstractContextManager[SSAValue | None]: ...

    def load(self, parts: Parts, part: int, form: Form, lane: SSAValue | None) -> SSAValue: ...

    def store(
        self, value: SSAValue, parts: Parts, part: int, form: Form, lane: SSAValue | None
    ) -> None: ...

    def root(self, table: SSAValue, part: int, form: Form) -> SSAValue: ...


@frozen
class OneRow:
    """A transform at a time, whose runs LLVM makes vectors of."""

    w: LoopBuilder

    @contextmanager
    def lanes(self) -> Generator[None]:
        yield None

    def load(self, parts: Parts, part: int, form: Form, lane: SSAValue | None) -> SSAValue:
        return self.w.load(parts.buffers[part], self._indices(parts, part, form))

    def store(
        self, value: SSAValue, parts: Parts, part: int, form: Form, lane: SSAValue | None
    ) -> None:
        self.w.store(value, parts.buffers[part], self._indices(parts, part, form))

    def root(self, table: SSAValue, part: int, form: Form) -> SSAValue:
        return self.w.load(table, [part, self._sum(form)])

    def _indices(self, parts: Parts, part: int, form: Form) -> list[SSAValue]:
        assert parts.row is not None
        return [parts.row, self._sum(parts.place(part, form))]

    def _sum(self, form: Form) -> SSAValue:
        b = self.w.index
        total: SSAValue | None = None
        number = 0
        for factor, index in form:
            if isinstance(index, int):
                number += factor * index
                continue
            term = index if factor == 1 else b.mul(index, b.constant(factor))
            total = term if total is None else b.add(total, term)
        if total is None:
            return b.constant(number)
        return b.add(total, b.constant(number)) if number else total


@frozen
class InLanes:
    """As many transforms as a vector has lanes, along the second axis of buffers."""

    block: Block

    @property
    def w(self) -> LoopBuilder:
        return self.block.w

    def lanes(self) -> AbstractContextManager[SSAValue]:
        return self.block.lane()

    def load(self, parts: Parts, part: int, form: Form, lane: SSAValue | None) -> SSAValue:
        assert lane is not None
        return self.w.load_at(parts.buffers[part], [parts.place(part, form), [(1, lane)]])

    def store(
        self, value: SSAValue, parts: Parts, part: int, form: Form, lane: SSAValue | None
    ) -> None:
        assert lane is not None
        self.w.store_at(value, parts.buffers[part], [parts.place(part, form), [(1, lane)]])

    def root(self, table: SSAValue, part: int, form: Form) -> SSAValue:
        return self.w.load_at(table, [[(1, part)], form])


# The code of a stage.


@frozen
class StageWriter:
    """Writes the loops of one stage, from the parts that are read to those that are written."""

    space: Space
    element: Attribute
    stage: Stage
    table: SSAValue
    """the numbers of `twiddles`"""
    read: Parts
    written: Parts

    def write(self) -> None:
        stage, w = self.stage, self.space.w
        with w.loop("group", 0, stage.count) as group:
            factors = [self._twiddle(group, k) for k in range(1, stage.radix)]
            if stage.run == 1:
                self._sums(group, factors, ())
                return
            with w.loop("run", 0, stage.run) as at:
                self._sums(group, factors, [(1, at)])

    def _twiddle(self, group: SSAValue, k: int) -> Complex | None:
        """What sum k of a group is multiplied by; None for 1."""
        if self.stage.count == 1:
            return None
        place = 1 + self.stage.offset + (k - 1) * self.stage.count
        form: Form = [(1, group), (1, place)]
        root = self.space.root
        return root(self.table, 0, form), root(self.table, 1, form)

    def _sums(self, group: SSAValue, factors: Sequence[Complex | None], at: Form) -> None:
        space, stage = self.space, self.stage
        b = space.w.scalar(self.element)
        with space.lanes() as lane:
            elements: list[Complex] = []
            for j in range(stage.radix):
                place = [(stage.run, group), (j * stage.count * stage.run, 1), *at]
                real, imag = (space.load(self.read, part, place, lane) for part in (0, 1))
                elements.append((real, imag))
            found = small_transform(b, elements)
            for k, (sum_, factor) in enumerate(zip(found, [None, *factors], strict=True)):
                result = sum_ if factor is None else times(b, sum_, factor)
                place = [(stage.radix * stage.run, group), (k * stage.run, 1), *at]
                for part, value in enumerate(result):
                    space.store(value, self.written, part, place, lane)


def write_stages(
    space: Space,
    element: Attribute,
    stages: Sequence[Stage],
    table: SSAValue,
    read: Parts,
    targets: Sequence[Parts],
) -> Parts:
    """Write the loops of all stages, which write these in turn; what the last has written."""
    for stage, written in zip(stages, cycle(targets), strict=False):
        StageWriter(space, element, stage, table, read, written).write()
        read = written
    return read


def small_transform(b: ScalarBuilder, x: Sequence[Complex]) -> list[Complex]:
    """The transform of a few numbers, written out: by halves where there are even many, else by pairs of elements."""
    count = len(x)
    if count == 1:
        return list(x)
    if count % 2:
        return _odd_transform(b, x)
    even, odd = small_transform(b, x[::2]), small_transform(b, x[1::2])
    turned = [_turned(b, z, k, count) for k, z in enumerate(odd)]
    lower = [plus(b, *pair) for pair in zip(even, turned, strict=True)]
    upper = [minus(b, *pair) for pair in zip(even, turned, strict=True)]
    return lower + upper


def _odd_transform(b: ScalarBuilder, x: Sequence[Complex]) -> list[Complex]:
    """Elements j and n - j are multiplied by numbers that are conjugate to each other."""
    count, half = len(x), len(x) // 2
    sums = [plus(b, x[j], x[count - j]) for j in range(1, half + 1)]
    differences = [minus(b, x[j], x[count - j]) for j in range(1, half + 1)]
    first = x[0]
    for each in sums:
        first = plus(b, first, each)
    found: list[Complex] = [first] * count
    for k in range(1, half + 1):
        angles = [2 * np.pi * (j * k % count) / count for j in range(1, half + 1)]
        along = _combined(b, x[0], sums, [float(np.cos(angle)) for angle in angles])
        across = _combined(b, None, differences, [float(np.sin(angle)) for angle in angles])
        turned = (across[1], b.neg(across[0]))
        found[k], found[count - k] = plus(b, along, turned), minus(b, along, turned)
    return found


def _combined(
    b: ScalarBuilder, start: Complex | None, terms: Sequence[Complex], weights: Sequence[float]
) -> Complex:
    """The sum of terms times real weights, and of what it starts with."""
    total = start
    for term, weight in zip(terms, weights, strict=True):
        factor = b.constant(weight)
        part = (b.mul(factor, term[0]), b.mul(factor, term[1]))
        total = part if total is None else plus(b, total, part)
    assert total is not None
    return total


def _turned(b: ScalarBuilder, z: Complex, k: int, count: int) -> Complex:
    """z · exp(-2πi·k / count), for k below half of the count."""
    if k == 0:
        return z
    if 4 * k == count:
        return z[1], b.neg(z[0])
    cosine, sine = unit_roots(np.array(k), count)
    return times(b, z, (b.constant(float(cosine)), b.constant(float(sine))))


def plus(b: ScalarBuilder, x: Complex, y: Complex) -> Complex:
    return b.add(x[0], y[0]), b.add(x[1], y[1])


def minus(b: ScalarBuilder, x: Complex, y: Complex) -> Complex:
    return b.sub(x[0], y[0]), b.sub(x[1], y[1])


def times(b: ScalarBuilder, x: Complex, y: Complex) -> Complex:
    real = b.sub(b.mul(x[0], y[0]), b.mul(x[1], y[1]))
    return real, b.add(b.mul(x[0], y[1]), b.mul(x[1], y[0]))
