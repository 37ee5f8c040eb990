"""
The steps of a convolution's plan: a padded copy of the image, weights in panels, and register tiles along several axes.

See `analysis/plans/convolution_plan.py` for the nest that they make. Each step takes the loops and buffers that
earlier steps made.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..analysis.facts import Access, Contraction, LoopFacts
from ..analysis.plans.contraction_problem import is_finish_written_out
from ..analysis.plans.convolution_padding import Padding
from ..analysis.plans.convolution_plan import ConvolutionPlan
from ..analysis.plans.terms_written_out import terms_of_convolution
from ..targets.target import Target
from ..transforms.step_support.handles import BufferHandle, LoopHandle
from ..transforms.step_support.made import HaloBuffer, StagedBuffer
from .convolution_hints import ConvolutionHints
from .convolution_windows import put_outside, share_row
from .levels import is_in
from .panels import Packing, vectorize_packing
from .register_tile import (
    Tile,
    in_lanes,
    keep_in_registers,
    pad_loops,
    vector_span,
    write_out,
    write_out_terms,
)
from .session import Session
from .tiled_nest import TiledNest, lanes_reach


class ConvolutionTiles:
    """The tiles of one convolution, and the copies of the operands that they read."""

    def __init__(
        self, s: Session, plan: ConvolutionPlan, kernel: LoopFacts, c: Contraction, target: Target
    ):
        self.s, self.plan, self.kernel, self.c = s, plan, kernel, c
        self.core = target.core
        self.width, self.level_1 = target.core.lanes(c.result_bytes), target.core.cache(1)
        self.blocked = plan.outside[-1:] if plan.at_a_time else ()
        inside = (axis for axis in c.m if axis not in plan.outside or axis in self.blocked)
        self.order = (*c.batch, *plan.outside, *c.n, *inside)
        """the axes of the loops over tiles, outermost first; one of blocks has two"""
        self.apart = plan.outside if any(axis not in plan.outside for axis in c.m) else ()
        """those of images that all weights go by for one by one"""
        self.axes = [axis for axis, _ in plan.tile]
        self.by_panels = c.finished is not None or c.stride(c.result, plan.lanes) != 1
        """whether a tile goes to a buffer on the stack first, from which it is finished or transposed"""
        self.result = s.buffer(kernel.buffers[c.result.buffer])
        self.backs: dict[int, list[LoopHandle]] = {}
        """by axis the loops over the last tile along it, where that is smaller"""
        self.sums: LoopHandle | None = None
        """the loop over blocks of channels that is around those over tiles"""
        self.halo: HaloBuffer | None = None
        self.packing: Packing | None = None
        self.panels: list[StagedBuffer] = []
        self.tiles: list[tuple[Tile, StagedBuffer]] = []
        self.written_out: list[LoopHandle] = []
        """loops over an axis of the window of which each iteration has another tile"""
        self.leaving: list[LoopHandle] = []
        """loops over the vectors of tiles that are turned"""
        self.beside: set[LoopHandle] = set()
        """innermost loops of terms whose copies stand one after the other where a loop over the window was written out"""

    # The loops.

    def cut(self) -> None:
        """Cut the nests' axes into tiles, and run the nests tile by tile."""
        c = self.c
        self.init = self.finish = None
        if c.initialised is not None:
            write = c.facts.statements[c.initialised].write
            self.init = self._cut(c.initialised, write, "init", self.axes, ())
        summed = self._cut_sums()
        self.update = self._cut(c.number, c.result, "each", self.axes, summed)
        if c.finished is not None:
            read = finished_element(c)
            self.finish = self._cut(c.finished, read, "finish", self._in_rows(), (), is_last=True)
        nests = [nest for nest in (self.init, self.update, self.finish) if nest is not None]
        first, *others = nests
        for other in others:
            self.s.fuse_nests(first.around, other.around)
        self._go_through(first, summed)

    def _cut_sums(self) -> list[LoopHandle]:
        """Cut the loops of the sum into its blocks and parts; those inside of tiles, outermost first."""
        plan, last = self.plan, self.plan.summed[-1]
        update = [self.s.handle(op) for op in self.kernel.loops[self.c.number]]
        self.summed = {axis: update[axis] for axis in plan.summed}
        if plan.depth:
            blocks = self.s.cut(self.summed[last], plan.depth, "sums", "channel", tail="perfect")
            self.sums, self.summed[last] = blocks
        summed = list(self.summed.values())
        if plan.block:
            outer, inner = self.s.cut(summed[-1], plan.block, "block", "channel", tail="perfect")
            self.summed[last] = inner
            summed = [outer, *summed[:-1], inner]
        if plan.between_hints:
            outer, inner = self.s.cut(
                summed[-1], plan.between_hints, "part", "term", tail="perfect"
            )
            self.summed[last] = inner
            summed = [*summed[:-1], outer, inner]
        return summed

    def _go_through(self, nest: TiledNest, summed: Sequence[LoopHandle]) -> None:
        """Have the loops of a nest be those around tiles, whose sums are in others."""
        self.around = nest.around
        around = dict(zip(self.order, self.around, strict=False))
        self.hints = ConvolutionHints(self.s, self.plan, self.kernel, self.c, around, summed)
        self.tile = self.around[-1]
        self.shared = self.around[-2] if self.by_panels else self.tile

    def _in_rows(self) -> list[int]:
        """The axes of a tile in the order in which it leaves the stack: along memory, whole vectors last."""
        along = [axis for axis in self.axes if self.c.stride(self.c.result, axis) == 1]
        lanes = self.plan.lanes
        if lanes in along or not along:
            return self.axes
        return [*(axis for axis in self.axes if axis not in (lanes, along[0])), lanes, along[0]]

    def _cut(
        self,
        number: int,
        element: Access,
        word: str,
        inside: Sequence[int],
        summed: Sequence[LoopHandle],
        *,
        is_last: bool = False,
    ) -> TiledNest:
        """Cut the loops of a statement that has the result's element `element`."""
        by_dimension = {
            element.dimension_of(n): self.s.handle(op)
            for n, op in enumerate(self.kernel.loops[number])
        }
        around: list[LoopHandle] = []
        rests: dict[int, LoopHandle] = {}
        blocked = self.blocked
        for axis in self.order:
            place = self.c.result.dimension_of(axis)
            whole = by_dimension[place]
            if axis in blocked:
                blocked = ()
                whole, by_dimension[place] = self.s.cut(whole, self.plan.at_a_time, "block", word)
            if axis not in self.axes:
                around.append(whole)
                continue
            outer, rests[axis] = self.s.cut(whole, self.plan.size(axis), "tile", word)
            around.append(outer)
        if self.by_panels and not is_last:
            lanes = self.plan.lanes
            tile, rests[lanes] = self.s.cut(rests[lanes], self.plan.size(lanes), "part", word)
            around.append(tile)
        outside = [self.sums] if summed and self.sums is not None else []
        self.s.order(*outside, *around, *summed, *(rests[axis] for axis in inside))
        return TiledNest(tuple(around), rests)

    def skip_padding(self) -> None:
        """Leave out terms outside of the image: of the loop over the window, or of a tile for each element of that."""
        for axis, row in self.plan.skips:
            is_written = self.plan.is_skip_written_out(row)
            self.s.skip_padding(self.update.inside[row] if is_written else self.summed[axis])

    # The operands.

    def pad_image(self) -> None:
        """
        Copy the image with its border, so that reads need no conditions: that of each entry of the batch, and each image that
        all weights go by for, when it is used. What lanes beyond the last element read is there as well.
        """
        if not self.plan.halo:
            return
        access = self.c.left
        place = [
            n
            for n, axis in enumerate(self.order)
            if axis in (*self.c.batch, *self.apart) and access.moves_along(axis)
        ]
        image = self.s.buffer(self.kernel.buffers[access.buffer])
        extents = [self.c.extent((axis,)) for axis in range(len(self.c.statement.axes))]
        lanes = self.plan.lanes
        pads = tuple(
            lanes_reach(access.subscripts[n], extents, lanes, self.width)
            if lanes in self.c.m
            else 1
            for n in self.plan.halo
        )
        # A copy that stays in L1 with its image is small enough for the stack.
        whole = self.c.facts.buffers[access.buffer].bytes or 0
        entries = self.c.extent(tuple(self.order[n] for n in place))
        is_small = bool(place) and 2 * whole <= entries * self.level_1.bytes
        self.halo = self.s.stage_halo(
            image,
            self.around[place[-1]] if place else "",
            into="image",
            scope="stack" if is_small else "arena",
            order=self.plan.halo,
            pads=pads if max(pads) > 1 else (),
        )

    def pack(self) -> None:
        """Copy the weights into panels as wide as the tile, in the order of the sum."""
        if not self.plan.packs:
            return
        c, panel = self.c, self.plan.panel(self.c.n)
        outer = [axis for axis in (*c.batch, *c.n) if axis != panel]
        axes = [a for a in (*outer, *self.plan.summed, panel) if c.right.moves_along(a)]
        every = [n for n in (c.right.dimension_of(axis) for axis in axes) if n is not None]
        moved = [n for at, n in enumerate(every) if n not in every[at + 1 :]]
        fixed = [n for n in range(len(c.right.subscripts)) if n not in moved]
        order, size = (*fixed, *moved), self.plan.size(panel)
        is_apart = self.kernel.facts.is_part or c.left.buffer == c.right.buffer
        staged = self.s.stage(
            self.s.buffer(self.kernel.buffers[c.right.buffer]),
            "",
            into="weights",
            scope="arena",
            order=order,
            panel=size,
            pad=size,
            along=self.update.inside[panel] if is_apart else "",
        )
        last = self.plan.summed[-1]
        reads_last, reads_summed = (c.stride(c.right, axis) == 1 for axis in (panel, last))
        # Groups and their outputs may be along one dimension.
        extent = c.extent(tuple(a for a in axes if c.right.dimension_of(a) == order[-1]))
        self.packing = Packing(staged, order, size, extent, reads_last, reads_summed)

    def peel(self) -> None:
        """
        Give the last tiles along each axis, where they are smaller, loops of their own; the first and the last one where
        terms are left out there, or lanes masked.
        """
        short = {row: axis for axis, row in self.plan.skips if self.plan.is_skip_written_out(row)}
        edges: list[tuple[LoopHandle, int]] = []
        for axis in self.order:
            if axis not in self.axes:
                continue
            whole, rest = divmod(self.c.extent((axis,)), self.plan.size(axis))
            is_short = axis in short
            is_edge = is_short or (self.plan.masked and axis == self.plan.lanes)
            if whole and (rest or (is_edge and whole > 1)):
                front = int(is_edge and whole + bool(rest) > 2)
                for copy in self.around[self.order.index(axis)].copies:
                    peeled = self.s.peel(copy, front=front, back=1)
                    assert peeled.back is not None
                    self.backs.setdefault(axis, []).extend([peeled.back] if rest else [])
                    if is_short:
                        edges += [(peeled.back, 1), (peeled.front or peeled.loop, 0)]
        for row, axis in short.items():
            window, ends = self.summed[axis], Padding(self.c).short_ends((axis, row))
            loops = [copy for at, end in edges if ends[end] for copy in window.copies_in(at)]
            self.written_out += loops if edges else window.copies

    # The tiles.

    def keep_in_registers(self) -> None:
        """Keep the tiles in registers; a result that is worked on further only exists by panels."""
        rank = len(self.c.result.subscripts)
        order = tuple(range(rank))
        if self.by_panels:
            (lane,) = self._dimensions([self.plan.lanes])
            order = (*(n for n in order if n != lane), lane)
        self.places = {axis: order.index(n) for axis, n in self._by_axis().items()}
        """of each axis the dimension of the buffer that register tiles are parts of"""
        for handle in self.tile.copies:
            tile = self._tile(handle)
            place = self.places[self.plan.lanes]
            pads = tuple(tile.wide if n == place else 1 for n in range(rank))
            result: BufferHandle = self.result
            if self.by_panels:
                around = next(copy for copy in self.shared.copies if is_in(handle, copy))
                panel = self.s.stage(
                    result, around, into="panel", scope="stack", order=order, pads=pads
                )
                self.panels.append(panel)
                result = panel.buffer
                tile = pad_loops(self.s, tile)
                kept = keep_in_registers(self.s, result, tile, pads)
            else:
                kept = keep_in_registers(self.s, result, tile, pads)
                tile = pad_loops(self.s, tile)
            self.tiles.append((tile, kept))
        self.hints.results()
        self.s.tidy()

    def _by_axis(self) -> dict[int, int]:
        found = {axis: self.c.result.dimension_of(axis) for axis in self.c.parallel}
        return {axis: dimension for axis, dimension in found.items() if dimension is not None}

    def _dimensions(self, axes: Sequence[int]) -> list[int]:
        return [self._by_axis()[axis] for axis in axes]

    @property
    def _are_panels_padded(self) -> bool:
        """Whether lanes beyond the last element of the result read elements of the weights' panels."""
        return self.plan.packs and self.plan.lanes in self.c.n

    @property
    def _is_image_padded(self) -> bool:
        """Whether lanes beyond the last element of the result read elements of the image's copy, or what masks say."""
        return (self.halo is not None or self.plan.masked) and self.plan.lanes in self.c.m

    def _tile(self, at: LoopHandle) -> Tile:
        """The tiles that are the iterations of one loop: their columns are in lanes."""
        lanes = self.plan.lanes
        extent, size = self.c.extent((lanes,)), self.plan.size(lanes)
        is_last = any(is_in(at, back) for back in self.backs.get(lanes, ()))
        count = extent % size if is_last else min(size, extent)
        wide = vector_span(count, self.width)
        nests = [nest for nest in (self.init, self.update) if nest is not None]
        rows = [n.inside[axis] for n in nests for axis in self.axes if axis != lanes]
        return Tile(
            at,
            tuple(copy for row in rows for copy in row.copies_in(at)),
            tuple(copy for nest in nests for copy in nest.inside[lanes].copies_in(at)),
            0,
            wide,
            False,
            (self._are_panels_padded or self._is_image_padded) and wide != count,
        )

    def vectorize(self) -> None:
        """One axis in lanes, the others written out; the copies too."""
        s, lane = self.s, self.places[self.plan.lanes]
        for tile, kept in self.tiles:
            for loop in (*tile.columns, kept.copy_along(lane), kept.out_along(lane)):
                in_lanes(s, loop, tile.wide)
        self._vectorize_leaving()
        if self.packing is not None:
            vectorize_packing(s, self.packing, self.width)
        if self.halo is not None:
            for nest in (self.halo.copy_in, *self.halo.borders):
                if nest and not nest[-1].is_gone:
                    in_lanes(s, nest[-1], min(self.width, nest[-1].trips or self.width))
        self._write_out_windows()
        s.tidy()
        for axis in self.plan.summed if self.plan.written_out else ():
            for copy in self.summed[axis].copies:
                write_out(s, copy)
        for _, kept in self.tiles:
            copies = (kept.copy_along(n) for n in self.places.values() if n != lane)
            outs = (kept.out_along(n) for n in self.places.values() if n != lane)
            for loop in (*copies, *outs):
                write_out(s, loop)
        for loop in {
            copy: None for tile, _ in self.tiles for row in tile.rows for copy in row.copies
        }:
            write_out(s, loop)
        for loop in self.hints.loops:
            for copy in loop.copies:
                write_out(s, copy)
        self._write_out_finish()
        self._write_out_terms()

    def _write_out_windows(self) -> None:
        """Write out loops over an axis of the window, so that tiles in them have as many elements as numbers say."""
        terms = self.summed[self.plan.summed[-1]]
        if self.plan.has_whole_row:
            share_row(self.s, self.plan, self.c, terms, self.update.inside, self.written_out)
            return
        if self.plan.window_inside:
            terms = self.summed[self.plan.summed[-2]]
            put_outside(self.s, self.written_out, terms)
        before = {
            copy for loop in self.written_out if not loop.is_gone for copy in terms.copies_in(loop)
        }
        others = set(terms.copies) - before
        for loop in self.written_out:
            if not loop.is_gone:
                self.s.unroll(loop)
        if before:
            self.beside = set(terms.copies) - others

    def _write_out_finish(self) -> None:
        """As products do: tiles that are turned go there from the registers that they are in, too, and are no more code than these."""
        *_, last = self._in_rows()
        within = (self.plan.lanes, last)
        loops = self.leaving
        if self.finish is not None:
            others = (rows for axis, rows in self.finish.inside.items() if axis not in within)
            loops += [copy for rows in others for copy in rows.copies]
        elif last != self.plan.lanes:
            for panel in self.panels:
                turned = [panel.out_along(n) for n in self._dimensions(within)]
                loops += [loop for loop in panel.copy_out if loop not in turned]
        for loop in loops if is_finish_written_out(self.c) else ():
            write_out(self.s, loop)

    def _write_out_terms(self) -> None:
        """
        In the tiles that are whole, as those of products are (`contraction_tiles.py`), as many as `terms_of_convolution` says. Few channels
        share no elements of the image that LLVM might keep, unless they stand beside those of another place in the window.
        """
        plan, last = self.plan, self.plan.summed[-1]
        if plan.written_out or plan.lanes in self.c.batch:
            return
        edges = [back for backs in self.backs.values() for back in backs]
        loops = [
            loop
            for loop in self.summed[last].copies
            if not loop.is_gone and not any(is_in(loop, edge) for edge in edges)
        ]
        terms = terms_of_convolution(plan, self.c, self.core)
        if plan.has_whole_row:
            for loop in self.summed[last].copies:
                write_out(self.s, loop)
        elif terms == (plan.block or self.c.extent((last,))):
            for loop in loops:
                if loop not in self.beside:
                    write_out(self.s, loop)
        else:
            for loop in loops:
                write_out_terms(self.s, loop, terms)

    def _vectorize_leaving(self) -> None:
        """What takes tiles from the stack: in lanes, and transposed in registers where memory goes across."""
        *_, last = self._in_rows()
        pairs: list[tuple[LoopHandle | None, LoopHandle | None]] = []
        if self.finish is not None:
            lanes, inner = (self.finish.inside[axis] for axis in (self.plan.lanes, last))
            for copy in inner.copies:
                around = next((c for c in lanes.copies if copy in copy.copies_in(c)), None)
                pairs.append((around, copy))
        elif self.by_panels:
            along, lane = self._dimensions([last, self.plan.lanes])
            for panel in self.panels:
                self._order_for_leaving(panel)
                pairs.append((panel.out_along(lane), panel.out_along(along)))
        for around, inner in pairs:
            if inner is None or inner.is_gone:
                continue
            if last == self.plan.lanes:
                in_lanes(self.s, inner, vector_span(inner.trips or self.width, self.width))
                continue
            self.s.vectorize(inner)
            if around is not None and not around.is_gone:
                self.s.vectorize(self._one_vector_of(around))

    def _one_vector_of(self, lanes: LoopHandle) -> LoopHandle:
        """The loop over the lanes of one vector: its transposition is written out, and those of several vectors stand in a loop around it."""
        if lanes.trips is None or lanes.trips <= self.width or lanes.trips % self.width:
            return lanes
        vectors, inner = self.s.cut(lanes, self.width, "vector", "lane", tail="perfect")
        self.leaving.append(vectors)
        return inner

    def _order_for_leaving(self, panel: StagedBuffer) -> None:
        """Copy a panel back in the order in which tiles leave the stack."""
        loops = [panel.out_along(n) for n in self._dimensions(self._in_rows())]
        last = [loop for loop in loops if loop is not None and not loop.is_gone]
        rest = [loop for loop in panel.copy_out if not loop.is_gone and loop not in last]
        if len(last) > 1:
            self.s.order(*rest, *last)


def finished_element(c: Contraction) -> Access:
    """The element of the result that the statement which finishes it reads."""
    assert c.finished is not None, "a result that nothing is done to is read by no statement"
    statements = (c.facts.statements[number] for number in c.facts.nest(c.finished))
    reads = (read for statement in statements for read in statement.reads)
    return next(read for read in reads if read.buffer == c.result.buffer)
