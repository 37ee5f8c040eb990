"""
The steps of a plan for a reduction over windows: a copy of the image with its border, and rows of vectors in registers.

See `analysis/plans/windows_plan.py` for the nest that they make. Each step takes the loops and buffers that
earlier steps made.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..analysis.facts import Access, LoopFacts, WindowReduction
from ..analysis.plans.windows_copies import copied_along
from ..analysis.plans.windows_plan import WindowsPlan
from ..targets.target import Target
from ..transforms.step_support.handles import LoopHandle
from ..transforms.step_support.made import HaloBuffer, StagedBuffer
from .register_tile import Tile, in_lanes, pad_loops, vector_span, write_out
from .session import Session
from .tiled_nest import TiledNest, lanes_reach


def schedule_windows(
    s: Session, plan: WindowsPlan, kernel: LoopFacts, found: WindowReduction, target: Target
) -> None:
    """Carry out a plan. Raises the Refusal of a step that is not legal."""
    windows = _Windows(s, plan, kernel, found, target)
    windows.cut()
    windows.skip_padding()
    windows.pad_image()
    windows.peel()
    windows.keep_in_registers()
    windows.vectorize()


class _Windows:
    def __init__(
        self, s: Session, plan: WindowsPlan, kernel: LoopFacts, r: WindowReduction, target: Target
    ):
        self.s, self.plan, self.kernel, self.r = s, plan, kernel, r
        self.width = target.core.lanes(r.facts.element_bytes(r.result))
        self.core = target.core
        self.level_1 = target.core.cache(1)
        self.tile = plan.tile
        self.order = plan.order(r.parallel)
        self.nests: list[TiledNest] = []
        self.backs: list[LoopHandle] = []
        """the loops over the last tile along the axis in lanes, where that is smaller"""
        self.at_edges: list[LoopHandle] = []
        """loops over the window around tiles of which terms are left out by shorter tiles"""
        self.halo: HaloBuffer | None = None
        self.kept: list[tuple[Tile, StagedBuffer]] = []
        self.rows: list[list[LoopHandle]] = []
        """of each tile the loops over its rows, in order"""
        self.finishing: list[tuple[LoopHandle, int]] = []
        """the loops in lanes that finish tiles, and how many lanes these have"""

    # The loops.

    def cut(self) -> None:
        """Cut the nests' axes into tiles, and run the nests tile by tile."""
        r, plan = self.r, self.plan
        update = [self.s.handle(op) for op in self.kernel.loops[r.number]]
        self.window = {axis: update[axis] for axis in r.window}
        if r.initialised is not None:
            write = r.facts.statements[r.initialised].write
            self.nests.append(self._cut(r.initialised, write, "init"))
        before = [self.window[axis] for axis in (*plan.outer, *plan.columns)]
        inner = [self.window[axis] for axis in plan.inner]
        self.update = self._cut(r.number, r.result, "each", before, inner)
        self.nests.append(self.update)
        if r.finished is not None:
            statements = [r.facts.statements[number] for number in r.facts.nest(r.finished)]
            reads = (read for statement in statements for read in statement.reads)
            read = next(read for read in reads if read.buffer == r.result.buffer)
            self.nests.append(self._cut(r.finished, read, "finish"))
        first, *others = self.nests
        for other in others:
            self.s.fuse_nests(first.around, other.around)
        self.around = first.around

    def _cut(
        self,
        number: int,
        element: Access,
        word: str,
        before: Sequence[LoopHandle] = (),
        inner: Sequence[LoopHandle] = (),
    ) -> TiledNest:
        """
        Cut the loops of a statement that has the result's element `element`. Some loops run around a tile's rows, some
        inside of each.
        """
        loops = [self.s.handle(op) for op in self.kernel.loops[number]]
        by_dimension = {element.dimension_of(n): handle for n, handle in enumerate(loops)}
        sizes = dict(self.tile)
        around: list[LoopHandle] = []
        inside: dict[int, LoopHandle] = {}
        for axis in self.order:
            whole = by_dimension[self.r.result.dimension_of(axis)]
            if axis in sizes:
                whole, inside[axis] = self.s.cut(whole, sizes[axis], "tile", word)
            around.append(whole)
        *rows, lanes = inside.values()
        self.s.order(*around, *before, *rows, *inner, lanes)
        return TiledNest(tuple(around), inside)

    def skip_padding(self) -> None:
        """Leave out terms outside of the image: of the loop over the window, or of a tile for each element of that."""
        for axis, row in self.plan.skips:
            is_written = self.plan.is_skip_written_out(axis)
            self.s.skip_padding(self.update.inside[row] if is_written else self.window[axis])

    def peel(self) -> None:
        """
        Give the last tiles along each axis, where they are smaller, loops of their own; the first and the last ones where
        masks say which lanes are inside of the image, or terms are left out, too.
        """
        short = {row: axis for axis, row in self.plan.skips if self.plan.is_skip_written_out(axis)}
        edges: list[LoopHandle] = []
        for axis, size in self.tile:
            whole, rest = divmod(self.r.extent(axis), size)
            is_edge = axis in short or (self.plan.masked and self.r.leaves(axis))
            if not whole or not (rest or (is_edge and whole > 1)):
                continue
            front = int(is_edge and whole + bool(rest) > 2)
            for copy in self.around[self.order.index(axis)].copies:
                peeled = self.s.peel(copy, front=front, back=1)
                assert peeled.back is not None
                if axis == self.plan.lanes[0] and rest:
                    self.backs.append(peeled.back)
                edges += [peeled.back, peeled.front or peeled.loop] if axis in short else []
        for window in (self.window[axis] for axis in short.values()):
            self.at_edges += [copy for e in edges for copy in window.copies_in(e)] or window.copies

    # The image.

    def pad_image(self) -> None:
        """
        Copy the image with its border, so that reads need no conditions: the part that one iteration of the loops
        around rows and lanes reads, or a strip, which one of the loop around lanes does. What lanes beyond the last
        element read is there as well. Where lanes take every other element, rows begin so that the image's vectors are
        each in one line.
        """
        if not self.plan.halo:
            return
        image, r = self.r.image, self.r
        place = [self.order.index(axis) for axis in copied_along(self.plan, r)]
        rank = len(image.subscripts)
        entries = r.extent(*(self.order[n] for n in place))
        whole = r.facts.buffers[image.buffer].bytes or 0
        is_small = self.plan.strips or 2 * whole <= entries * self.level_1.bytes
        extents = [r.extent(axis) for axis in range(len(r.statement.axes))]
        lanes = self.plan.lanes[0]
        pads = tuple(lanes_reach(each, extents, lanes, self.width) for each in image.subscripts)
        is_strided = (r.facts.stride(image, lanes) or 0) > 1
        self.halo = self.s.stage_halo(
            self.s.buffer(self.kernel.buffers[image.buffer]),
            self.around[place[-1]] if place else "",
            into="image",
            scope="stack" if place and is_small else "arena",
            order=tuple(range(rank)),
            pads=pads if max(pads) > 1 else (),
            align=self.width if is_strided else 0,
        )

    # The tiles.

    def keep_in_registers(self) -> None:
        """Keep the tiles in registers, from the identity to what finishes them."""
        dimension = self.r.result.dimension_of(self.plan.lanes[0])
        rank = len(self.r.result.subscripts)
        order = (*(n for n in range(rank) if n != dimension), dimension or 0)
        result = self.s.buffer(self.kernel.buffers[self.r.result.buffer])
        for at in self.around[-1].copies:
            tile = self._tile(at)
            pads = tuple(tile.wide if n == dimension else 1 for n in order)
            kept = self.s.stage(result, at, into="tile", scope="register", order=order, pads=pads)
            if self.plan.rows is not None:
                row = self.plan.rows[0]
                each = [loop for nest in self.nests for loop in nest.inside[row].copies_in(at)]
                out = kept.out_along(self.r.result.dimension_of(row) or 0)
                self.rows.append([loop for loop in (*each, out) if loop is not None])
            if self.r.finished is not None:
                lanes = self.nests[-1].inside[self.plan.lanes[0]]
                self.finishing += [(copy, tile.wide) for copy in lanes.copies_in(at)]
            self.kept.append((pad_loops(self.s, tile), kept))
        self.s.tidy()

    def _tile(self, at: LoopHandle) -> Tile:
        """The tiles that are the iterations of one loop."""
        lanes, size = self.plan.lanes
        extent = self.r.extent(lanes)
        is_last = any(at == back or at in at.copies_in(back) for back in self.backs)
        count = extent % size if is_last else min(size, extent)
        wide = vector_span(count, self.width)
        columns = [nest.inside[lanes] for nest in self.nests[: 1 + self.nests.index(self.update)]]
        return Tile(
            at,
            (),
            tuple(copy for column in columns for copy in column.copies_in(at)),
            0,
            wide,
            False,
            wide != count and self._is_image_padded,
        )

    @property
    def _is_image_padded(self) -> bool:
        """Whether lanes beyond the last element of the result read something: of the image's copy, or what masks say."""
        (lanes, _), r = self.plan.lanes, self.r
        if self.plan.masked:
            return r.leaves(lanes) and not any(one.moves_along(lanes) for one in r.filters)
        return self.halo is not None

    def vectorize(self) -> None:
        """One axis in lanes, rows and terms written out; the copies of the image in lanes too."""
        s = self.s
        dimension = self.r.result.dimension_of(self.plan.lanes[0]) or 0
        for tile, kept in self.kept:
            for loop in (*tile.columns, kept.copy_along(dimension)):
                in_lanes(s, loop, tile.wide)
            self._in_lanes_to_memory(kept.out_along(dimension), tile.wide)
        for loop, wide in self.finishing:
            self._in_lanes_to_memory(loop, wide)
        if self.halo is not None:
            for nest in (self.halo.copy_in, *self.halo.borders):
                if nest and not nest[-1].is_gone:
                    in_lanes(s, nest[-1], min(self.width, nest[-1].trips or self.width))
        for loop in self.at_edges:
            if not loop.is_gone:
                s.unroll(loop)
        s.tidy()
        self._finish_by_rows()
        self._write_out_edges()
        self._write_out()

    def _finish_by_rows(self) -> None:
        """
        Begin and finish a row of a tile with its terms, where no loop runs around the rows: LLVM, which would do all that can wait
        after the last row, keeps that order.
        """
        if self.plan.columns or self.r.extent(*self.plan.outer) > 1:
            return
        for loops in self.rows:
            left = [loop for loop in loops if not loop.is_gone]
            for other in left[1:]:
                self.s.fuse_loops(left[0], other)

    def _write_out_edges(self) -> None:
        """Write out the rows of tiles of which some leave out terms that others have: then each row's loops have bounds of its own."""
        windows = [self.window[axis] for axis, _ in self.plan.skips if axis in self.plan.inner]
        for loop in (loop for loops in self.rows for loop in loops if not loop.is_gone):
            if any(copy.trips is None for window in windows for copy in window.copies_in(loop)):
                self.s.unroll(loop)
        self.s.tidy()

    def _in_lanes_to_memory(self, loop: LoopHandle | None, wide: int) -> None:
        """A loop that stores the result, of which lanes are left out, or in pieces where masked stores are slow."""
        if self.core.stores_by_masks or loop is None or loop.is_gone or loop.trips is None:
            in_lanes(self.s, loop, wide)
        else:
            self.s.vectorize(loop)

    def _write_out(self) -> None:
        """Rows and terms."""
        s, lanes = self.s, self.plan.lanes[0]
        dimension = self.r.result.dimension_of(lanes) or 0
        for axis in (*self.plan.columns, *self.plan.inner):
            for copy in self.window[axis].copies:
                write_out(s, copy)
        for nest in self.nests:
            for axis, loop in nest.inside.items():
                for copy in loop.copies if axis != lanes else ():
                    write_out(s, copy)
        for _, kept in self.kept:
            for axes, loops in ((kept.in_axes, kept.copy_in), (kept.out_axes, kept.copy_out)):
                for axis, loop in zip(axes, loops, strict=True):
                    if axis != dimension:
                        write_out(s, loop)
