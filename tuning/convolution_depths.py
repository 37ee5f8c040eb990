"""
The tiles of a convolution whose sums go by blocks of channels: all tiles add up one block before any of them goes on to the next.

The sums are in a buffer from block to block, in panels as wide as a tile with whole vectors along the axis in lanes, and leave that after
the last block. (Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication", ACM TOMS 34(3), 2008, have this order of
loops for products.)
"""

from __future__ import annotations

from collections.abc import Sequence

from ..analysis.facts import Access
from ..transforms.step_support.handles import LoopHandle
from ..transforms.step_support.made import StagedBuffer
from .convolution_tiles import ConvolutionTiles, finished_element
from .register_tile import in_lanes, pad_loops, vector_span, write_out


class DeepTiles(ConvolutionTiles):
    """The tiles of one convolution in this order. What begins the sums, and what is done to them then, has loops of its own."""

    def cut(self) -> None:
        """Cut the nest of the sums into blocks and tiles."""
        self.init = self.finish = None
        self.is_staged, self.by_panels = self.by_panels, False
        self.straight: list[LoopHandle] = []
        """loops over whole vectors of sums"""
        self.turned: list[tuple[LoopHandle, LoopHandle]] = []
        """those over lanes and over rows of what is turned"""
        summed = self._cut_sums()
        self.update = self._cut(self.c.number, self.c.result, "each", self.axes, summed)
        self._go_through(self.update, summed)

    def keep_in_registers(self) -> None:
        """Keep what a block adds to a tile in registers, and the sums of all tiles in panels where they do not stay in the result."""
        c, s, lanes = self.c, self.s, self.plan.lanes
        rank = len(c.result.subscripts)
        (lane,) = self._dimensions([lanes])
        self.places = self._by_axis()
        order = (*(n for n in range(rank) if n != lane), lane)
        for handle in self.tile.copies:
            tile = self._tile(handle)
            pads = tuple(tile.wide if n == rank - 1 else 1 for n in range(rank))
            kept = s.stage(
                self.result,
                tile.at,
                into="tile",
                scope="register",
                order=order,
                pads=pads,
                accumulate=True,
            )
            self.tiles.append((pad_loops(s, tile), kept))
        staged: StagedBuffer | None = None
        if self.is_staged:
            wide = self.plan.size(lanes)
            staged = s.stage(
                self.result, "", into="sums", scope="arena", order=order, panel=wide, pad=wide
            )
        self._begin()
        self._leave(staged)
        s.tidy()

    def _begin(self) -> None:
        """Write what sums begin with, in whole vectors."""
        number = self.c.initialised
        assert number is not None, "sums by blocks of channels begin with a statement of the kernel"
        axes = self._loops(number, self.c.facts.statements[number].write)
        self._in_vectors(axes.pop(self.plan.lanes), [*axes.values()])

    def _leave(self, staged: StagedBuffer | None) -> None:
        """Take the sums to the result, or to what finishes them, turned by whole vectors where memory goes across."""
        c, s, lanes = self.c, self.s, self.plan.lanes
        if c.finished is not None:
            axes = self._loops(c.finished, finished_element(c))
        elif staged is not None:
            found = {axis: staged.out_along(n) for axis, n in self._by_axis().items()}
            axes = {axis: loop for axis, loop in found.items() if loop is not None}
        else:
            return
        inner = axes.pop(lanes)
        along = next((axis for axis in axes if c.stride(c.result, axis) == 1), None)
        if along is None:
            self._in_vectors(inner, [*axes.values()])
            return
        tile, lane = s.cut(inner, self.plan.size(lanes), "tile", "lane")
        block, row = s.cut(axes.pop(along), self.width, "block", "row")
        s.order(*axes.values(), tile, block, lane, row)
        self._peel_rest(block, along, self.width)
        self._peel_rest(tile, lanes, self.plan.size(lanes))
        self.turned.append((lane, row))

    def _in_vectors(self, inner: LoopHandle, others: Sequence[LoopHandle]) -> None:
        """Run the loop over the axis in lanes in whole vectors, tile by tile, the others between."""
        lanes = self.plan.lanes
        tile, lane = self.s.cut(inner, self.plan.size(lanes), "tile", "lane")
        self.s.order(tile, *others, lane)
        self._peel_rest(tile, lanes, self.plan.size(lanes))
        self.straight.append(lane)

    def _peel_rest(self, loop: LoopHandle, axis: int, size: int) -> None:
        """Give the last tile along an axis, if it is smaller, a loop of its own."""
        whole, rest = divmod(self.c.extent((axis,)), size)
        if whole and rest:
            for copy in loop.copies:
                self.s.peel(copy, back=1)

    def _loops(self, number: int, element: Access) -> dict[int, LoopHandle]:
        """By axis the loops of a statement that has this element of the result."""
        loops = [self.s.handle(op) for op in self.kernel.loops[number]]
        found = {element.dimension_of(n): loop for n, loop in enumerate(loops)}
        return {axis: found[dimension] for axis, dimension in self._by_axis().items()}

    def _vectorize_leaving(self) -> None:
        """What begins sums and what takes them from their panels: in lanes, and transposed in registers where memory goes across."""
        for loop in self.straight:
            for copy in loop.copies:
                if not copy.is_gone:
                    in_lanes(self.s, copy, vector_span(copy.trips or self.width, self.width))
        for lane, row in self.turned:
            for around in lane.copies:
                for copy in row.copies_in(around):  # none where one row is left
                    self.s.vectorize(copy)
                self.s.vectorize(self._one_vector_of(around))

    def _write_out_finish(self) -> None:
        for loop in self.leaving:
            write_out(self.s, loop)
