"""
Rows next to each other in the lanes of vectors, of transforms or of what is sorted: a block of rows, or of columns, at a time.

Elements go into a buffer with a column for each row: of rows in memory they are transposed on the way, by vectors. There
every step is the same for all lanes, and what it needs is in the caches next to the core.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, contextmanager

from xdsl.ir import Attribute, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from ...frozen import frozen
from ..loop import LoopKind, RunMode
from ..te.loop_builder import Form, LoopBuilder

LINE_BITS = 512
"""Bits of a line of the caches, of which a block of rows reads whole ones: what it has of lanes."""

MOST_BYTES = 1 << 18
"""Bytes of the buffers of a block: as second-level caches have at least."""


@frozen
class Block:
    """Rows of a tensor, one for each lane: along its last axis, or side by side along another."""

    w: LoopBuilder
    lanes: int
    is_transposed: bool
    """whether neighbours in a row are neighbours in memory, rather than those of one lane and the next"""
    at: Callable[[Form, SSAValue], list[Form]]
    """the subscripts of an element of the row in a lane"""

    @staticmethod
    @contextmanager
    def each(w: LoopBuilder, batch: int, inner: int, lanes: int) -> Generator[Block]:
        """What is written inside runs for blocks of tensors (batch, length · inner) that have each row among them."""
        if inner == 1:
            with block_starts(w, batch, lanes) as row:
                yield Block(w, lanes, True, lambda i, lane: [[*row, (1, lane)], i])
            return
        with w.loop("lane", 0, batch) as outer, block_starts(w, inner, lanes) as column:

            def at(i: Form, lane: SSAValue) -> list[Form]:
                scaled = [(factor * inner, index) for factor, index in i]
                return [[(1, outer)], [*scaled, *column, (1, lane)]]

            yield Block(w, lanes, False, at)

    def buffers(self, element: Attribute, count: int) -> tuple[SSAValue, SSAValue]:
        """Two, for so many elements of each lane."""
        shape = count, self.lanes
        return self.w.scratch(element, shape, "numbers"), self.w.scratch(element, shape, "others")

    def read(self, source: SSAValue, target: SSAValue, first: int, count: int) -> None:
        """Put so many elements of each row into a buffer, from its element `first` on."""
        w = self.w
        if not self.is_transposed:
            with w.loop("i", 0, count) as i, self.lane() as lane:
                x = w.load_at(source, self.at([(1, i)], lane))
                w.store_at(x, target, [[(1, i), (1, first)], [(1, lane)]])
            return
        for place, size in self._squares(count):
            with place as start, self._vector("i", size) as i, self.lane() as lane:
                x = w.load_at(source, self.at([*start, (1, i)], lane))
                w.store_at(x, target, [[*start, (1, i), (1, first)], [(1, lane)]])

    def write(
        self,
        source: SSAValue,
        first: int,
        count: int,
        target: SSAValue,
        made: Callable[[SSAValue], SSAValue] = lambda x: x,
    ) -> None:
        """Put so many elements of a buffer, from its element `first` on, or what is made of them, into the rows."""
        w = self.w
        if not self.is_transposed:
            with w.loop("i", 0, count) as i, self.lane() as lane:
                x = w.load_at(source, [[(1, i), (1, first)], [(1, lane)]])
                w.store_at(made(x), target, self.at([(1, i)], lane))
            return
        for place, size in self._squares(count):
            with place as start, self.lane() as lane, self._vector("i", size) as i:
                x = w.load_at(source, [[*start, (1, i), (1, first)], [(1, lane)]])
                w.store_at(made(x), target, self.at([*start, (1, i)], lane))

    def lane(self) -> AbstractContextManager[SSAValue]:
        """The loop over the lanes, which is a vector."""
        return self._vector("l", self.lanes)

    def _vector(self, name: str, count: int) -> AbstractContextManager[SSAValue]:
        return self.w.loop(name, 0, count, LoopKind.PARALLEL, mode=RunMode.VECTOR)

    def _squares(self, count: int) -> Iterator[tuple[AbstractContextManager[Form], int]]:
        """Loops over as many elements as there are lanes, and what is left."""
        whole, rest = divmod(count, self.lanes)
        if whole:
            yield self._start(whole), self.lanes
        if rest:
            yield self._start_at(whole * self.lanes), rest

    @contextmanager
    def _start(self, count: int) -> Generator[Form]:
        with self.w.loop("square", 0, count) as square:
            yield [(self.lanes, square)]

    @contextmanager
    def _start_at(self, place: int) -> Generator[Form]:
        yield [(place, 1)]


@contextmanager
def block_starts(w: LoopBuilder, extent: int, lanes: int) -> Generator[Form]:
    """Where each block of as many as there are lanes starts; the last has some of the one before where that is not even."""
    count = -(-extent // lanes)
    if extent % lanes == 0:
        with w.loop("block", 0, count) as block:
            yield [(lanes, block)]
        return
    with w.loop("block", 0, count) as block:
        # Counted from behind, so that it is the greater of two numbers; a single step is taken from there.
        last = extent - lanes
        lower = [AffineExpr.dimension(0) * -lanes + last, AffineExpr.constant(0)]
        bound = AffineMap(1, 0, tuple(lower)), [block]
        with w.loop("before", bound, last + 1, step=last + 1) as before:
            yield [(last, 1), (-1, before)]
