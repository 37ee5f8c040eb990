"""
The steps of a contraction's plan: `for m: for n: for k` in blocks, panels and register tiles.

See `analysis/plans/contraction.py` for the plan. Each step takes the loops and buffers that earlier ones made.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from ..analysis.facts import Access, Contraction, Home, LoopFacts
from ..analysis.plans.computed_operands import (
    keeps_rows,
    lanes_of,
    order_of_rows,
    stride_of_sources,
)
from ..analysis.plans.contraction_plan import ContractionPlan
from ..analysis.plans.contraction_problem import finishing_work
from ..analysis.plans.lanes import block_lanes
from ..analysis.plans.row_nests import nests_of
from ..targets.core import LINE_BYTES
from ..targets.target import Target
from ..transforms.step_support.handles import BufferHandle, LoopHandle
from ..transforms.step_support.made import StagedBuffer
from .first_tiles import pack_in_first_tiles
from .lanes import vectorize_in_blocks
from .levels import Level, Nest, is_in, last_of
from .panels import Packing, Panels, arrange_panels, cut_into_panels, packed_order, vectorize_panels
from .register_tile import (
    Tile,
    in_lanes,
    keep_in_registers,
    pad_loops,
    result_dimensions,
    vector_span,
    write_out,
    write_out_finish,
    write_out_sum,
)
from .session import Session
from .tile_hints import Hints


def schedule_tiles(
    s: Session, plan: ContractionPlan, kernel: LoopFacts, found: Contraction, target: Target
) -> tuple[LoopHandle, ...]:
    """Carry out a plan; the loops over columns. Raises the Refusal of a step that is not legal."""
    tiles = _Tiles(s, plan, kernel, found.turned() if plan.turned else found, target)
    tiles.cut()
    # Loops that count by one are over plain sets for all questions that follow, and so are all copies that steps make. But
    # tiles beside a diagonal have to begin at multiples of their size, and blocks of terms show in their bounds how many these are.
    if not plan.mirrored and not plan.sums_in:
        s.normalize(s.name)
    tiles.pack()
    tiles.peel()
    tiles.keep_in_registers()
    tiles.vectorize()
    pairs = zip(tiles.levels, tiles.kept.levels, strict=True)
    return tuple(loop for level, loop in pairs if level.axis == "n")


class _Tiles:
    def __init__(
        self, s: Session, plan: ContractionPlan, kernel: LoopFacts, c: Contraction, target: Target
    ):
        self.s, self.plan, self.kernel, self.c = s, plan, kernel, c
        self.core, self.takes_hints_in_sums = target.core, target.takes_hints_in_sums
        self.lanes = target.core.lanes(c.result_bytes)
        self.vectors = -(-plan.nr // self.lanes)
        self.m, self.n = c.extent(c.m[-1:]), c.extent(c.n[-1:])
        self.k = c.extent(c.k)
        self.is_deep = plan.kc < self.k and not plan.k_outside
        """whether blocks of k are inside of the loop over tiles of columns"""
        self.is_blocked = plan.kc < self.k and plan.k_outside
        """whether they are outside of the loops over blocks and tiles of rows"""
        self.accumulates = self.is_blocked and c.statement.reassociates and not plan.sums_in
        """whether tiles begin with zeros and are added to the result, for which they need not wait"""
        self.finished = None if plan.mirrored else c.finished
        """the statement that finishes tiles; of a result that is mirrored, it does so after that"""
        self.by_panels = self.finished is not None or c.stride(c.result, c.n[-1]) != 1
        self.peels_tiles = not (plan.mirrored or self.is_deep or self.by_panels)
        """
        whether the last rows are a copy of tiles that are finished but for these: what is done to a tile is then done once.
        Where panels are worked on further, a part that tiles write in a copy of them has to be known to be all of it.
        """
        self.result = s.buffer(kernel.buffers[c.result.buffer])
        self.row_axis, self.column_axis, self.panel_order = result_dimensions(c)
        self.loops = [s.handle(op) for op in kernel.loops[c.number]]
        inner = (c.m[-1], c.n[-1], *c.k)
        self.batch = [axis for axis in range(len(self.loops)) if axis not in inner]
        self.levels = self._levels()
        self.row_backs: list[LoopHandle] = []
        self.column_backs: list[LoopHandle] = []
        self.packings: list[Packing] = []
        self.cut_copies: list[Panels] = []
        self.staged: list[Access] = []
        """operands that tiles read copies of"""
        self.computed: list[tuple[LoopHandle, int]] = []
        """loops along which operands are computed, and the elements of a block of lanes"""
        self.panels: BufferHandle | None = None
        """the copy of B"""
        self.sum_block: LoopHandle | None = None
        """the loop over blocks of k where it is outside of those over rows"""
        self.deep_block: LoopHandle | None = None
        """the loop over blocks of k where it is inside of that over tiles of columns"""
        self.deep_tiles: tuple[LoopHandle, ...] = ()
        """the loop over tiles of rows in such a block"""
        self.tiles: list[tuple[Tile, StagedBuffer]] = []
        self.whole_sums: list[LoopHandle] = []
        """the loops over the terms of the tiles that are not at an edge"""

    # The loops.

    def _levels(self) -> list[Level]:
        """The loops around a tile, outermost first, without those over the batch and over k."""
        plan = self.plan
        levels = [Level("n", plan.nr, "tile")]
        if plan.mc < self.m or self.is_deep:
            levels.insert(0, Level("m", plan.mc, "block"))
        if plan.nc < self.n:
            levels.insert(0, Level("n", plan.nc, "block"))
        if self.is_deep:
            return levels
        # Where tiles of columns are innermost, a block is one row of tiles.
        words = ("panel", "tile")[(not self.by_panels) + (plan.innermost == "n") :]
        return [*levels, *(Level("m", plan.mr, word) for word in words)]

    def cut(self) -> None:
        """Cut the nests' axes into blocks and tiles, and run the nests block by block and tile by tile."""
        c, plan, levels = self.c, self.plan, self.levels
        shared = levels if self.is_deep else levels[:-1]
        self.init = self.finish = None
        if c.initialised is not None:
            write = c.facts.statements[c.initialised].write
            together = self._around_sums() if self.is_blocked else levels
            self.init = self._cut(c.initialised, write, together, [], ("init", "init"))
        self.update = self._cut_update()
        if self.finished is not None:
            finishing = (c.facts.statements[number] for number in c.facts.nest(self.finished))
            reads = (read for statement in finishing for read in statement.reads)
            read = next(read for read in reads if read.buffer == c.result.buffer)
            self.finish = self._cut(self.finished, read, shared, [], ("finish", "finish"))
        nests = [nest for nest in (self.init, self.update, self.finish) if nest is not None]
        first, *others = nests
        for other in others:
            self.s.fuse_nests(self._outer(first), self._outer(other))
        self.kept = first
        if self.is_blocked:
            inner = self.update.levels[len(first.levels) :]
            self.kept = replace(self.update, batch=first.batch, levels=(*first.levels, *inner))
        *_, self.shared, self.tile = (*self.kept.levels, *self.deep_tiles)
        if plan.mirrored:
            self._mirror()

    def _mirror(self) -> None:
        """Leave out the tiles above the diagonal, and finish the matrix after it is copied to there."""
        loop_ = self.tile if self.plan.innermost == "m" else self._level("n", "tile")
        self.s.mirror(loop_)
        if self.c.finished is not None:
            nests = nests_of(self.c.facts)
            nest = next(nest for nest in nests if self.c.finished in nest.statements)
            innermost = self.s.handle(self.kernel.loops[self.c.finished][-1])
            self.computed.append((innermost, block_lanes(nest, self.core)))

    def _outer(self, nest: Nest) -> list[LoopHandle]:
        """
        The loops over the batch and those of the levels, outermost first.

        A right operand that all of the batch shares is packed by blocks of columns once for all of it.
        """
        levels, batch = list(nest.levels), list(nest.batch.values())
        is_shared = not any(map(self.c.right.moves_along, self.batch))
        if self.plan.nc < self.n and is_shared:
            return [levels[0], *batch, *levels[1:]]
        return [*batch, *levels]

    def _cut_update(self) -> Nest:
        c, s, plan = self.c, self.s, self.plan
        summed = [self.loops[axis] for axis in c.k]
        if not self.is_deep and not self.is_blocked:
            self.summed = summed[-1]
            return self._cut(c.number, c.result, self.levels, summed)
        block, step = s.cut(summed[0], plan.kc, "block", "step")
        self.summed = step
        if self.is_blocked:
            self.sum_block = block
            return self._cut(c.number, c.result, self.levels, [step])
        nest = self._cut(c.number, c.result, self.levels, [block, step])
        tile, row = s.cut(nest.row, plan.mr, "tile", "row")
        s.order(block, tile, step, row, nest.column)
        self.deep_block, self.deep_tiles = block, (tile,)
        return Nest(nest.batch, nest.levels, row, nest.column)

    def _cut(
        self,
        number: int,
        result: Access,
        levels: Sequence[Level],
        summed: Sequence[LoopHandle],
        words: tuple[str, str] = ("row", "column"),
    ) -> Nest:
        """
        Cut the loops over rows and columns of a statement, which has the result's element `result`.

        `words` are for the loops over the rows and the columns that are left inside.
        """
        c = self.c
        axes = {
            result.dimension_of(axis): self.s.handle(op)
            for axis, op in enumerate(self.kernel.loops[number])
        }
        row, column = (axes[c.result.dimension_of(axis)] for axis in (c.m[-1], c.n[-1]))
        batch = {axis: axes[c.result.dimension_of(axis)] for axis in self.batch}
        cuts, rests = list[LoopHandle](), {"m": row, "n": column}
        for n, level in enumerate(levels):
            is_last = all(later.axis != level.axis for later in levels[n + 1 :])
            word = words["mn".index(level.axis)] if is_last else "rest"
            outer, rests[level.axis] = self.s.cut(rests[level.axis], level.size, level.word, word)
            cuts.append(outer)
        nest = Nest(batch, tuple(cuts), rests["m"], rests["n"])
        around = self._outer(nest)
        if self.sum_block is not None and summed:
            first = len(batch) + len(self._around_sums())
            around.insert(first, self.sum_block)
        self.s.order(*around, *summed, nest.row, nest.column)
        return nest

    def _around_sums(self) -> list[Level]:
        """The levels outside of the blocks of k, where those are outside of the blocks of rows."""
        return [level for level in self.levels[:1] if level.axis == "n" and level.word == "block"]

    def _level(self, axis: Literal["m", "n"], word: str = "") -> LoopHandle:
        """The outermost loop of the levels along an axis, or the one that a word names."""
        pairs = zip(self.levels, self.kept.levels, strict=True)
        return next(h for level, h in pairs if level.axis == axis and word in ("", level.word))

    # The operands.

    def pack(self) -> None:
        """Copy the operands to where the tiles read them one element after the other."""
        plan, c = self.plan, self.c
        by_rows = plan.mc < self.m and (plan.innermost == "m" or plan.left_by_rows)
        if plan.left_in_rows:
            self._keep_rows(None)
        elif plan.pack_left:
            block = self._level("m", "block") if by_rows or self.is_deep else None
            at = block or self.sum_block
            self._pack("left", c.left, c.m[-1], plan.mr, block, plan.mc, at)
        elif c.maker(c.left) is not None and keeps_rows(plan, self.m, self.k):
            self._keep_rows(self._level("m", "block"))
        if plan.pack_right:
            block = self._level("n", "block") if plan.nc < self.n else None
            if block is not None and plan.peel_n and not self._is_packed_at_load(c.right):
                self._peel_columns(block)
            at = self.sum_block or block
            self.panels = self._pack("right", c.right, c.n[-1], plan.nr, block, plan.nc, at).buffer
        self._compute_operands()

    def _keep_rows(self, block: LoopHandle | None) -> None:
        """Compute or extend rows of the left operand, those of each block or all, where the tiles find them near."""
        c, core = self.c, self.core
        size = self.plan.mc * self.plan.kc * c.left_bytes
        staged = self.s.stage(
            self.s.buffer(self.kernel.buffers[c.left.buffer]),
            block or self._innermost_batch(c.left) or "",
            into="left",
            scope="stack" if size <= core.cache(1).bytes else "arena",
            order=order_of_rows(c, packed_order(c, c.left, self.batch, c.m[-1])),
            along=self.update.row,
            element=self._element(c.left),
        )
        self.staged.append(c.left)
        self.computed += [(loop, lanes_of(c, c.left, core)) for loop in staged.copy_in[-1:]]

    def _compute_operands(self) -> None:
        """Compute what is copied while that is done, and what is not where it is, in lanes."""
        c = self.c
        for number in c.computed:
            reads = [read for read in (c.left, c.right) if c.maker(read) == number]
            if all(read in self.staged for read in reads):
                self.s.inline(self.s.buffer(self.kernel.buffers[reads[0].buffer]))
            else:
                innermost = self.s.handle(self.kernel.loops[number][-1])
                self.computed.append((innermost, lanes_of(c, reads[0], self.core)))

    def _pack(
        self,
        into: Literal["left", "right"],
        access: Access,
        own: int,
        size: int,
        block: LoopHandle | None,
        block_size: int,
        at: LoopHandle | None,
        *,
        within: LoopHandle | None = None,
    ) -> StagedBuffer:
        """Stage an operand: in each iteration of `at`, of each entry of the batch that has its own, or once."""
        c = self.c
        if self._is_packed_at_load(access):
            block, place = None, None
        else:
            place = at or self._innermost_batch(access)
        order = packed_order(c, access, self.batch, own)
        row_or_column = self.update.row if into == "left" else self.update.column
        if within is not None:
            (row_or_column,) = row_or_column.copies_in(within)
        is_apart = c.left.buffer == c.right.buffer or c.maker(access) is not None
        staged = self.s.stage(
            self.s.buffer(self.kernel.buffers[access.buffer]),
            place or "",
            into=into,
            scope="arena",
            order=order,
            panel=0 if within is not None else size,
            pad=size,
            along=row_or_column if is_apart or within is not None else "",
            element=self._element(access),
        )
        extent = self.m if into == "left" else self.n
        if within is not None:
            extent = self.n % self.plan.nr
        elif into == "right" and self.column_backs:
            extent -= self.n % self.plan.nr
        along, summed = (stride_of_sources(c, access, axis) == 1 for axis in (own, c.k[-1]))
        self.packings.append(Packing(staged, order, size, extent, along, summed, block, block_size))
        if within is None:
            self.staged.append(access)
        return staged

    def _is_packed_at_load(self, access: Access) -> bool:
        """Whether all of it is copied once, when the program is loaded."""
        return self.c.facts.buffers[access.buffer].home is Home.CONSTANT

    def _element(self, access: Access) -> str:
        """The element type of a packed operand, where it is not the one that the operand is stored in."""
        if access.extension is None:
            return ""
        return self.plan.sums_in or str(access.extension.element)

    def _innermost_batch(self, access: Access) -> LoopHandle | None:
        """The innermost loop over the batch that the operand moves along."""
        moving = [loop for axis, loop in self.kept.batch.items() if access.moves_along(axis)]
        return moving[-1] if moving else None

    def peel(self) -> None:
        """Give the last columns and rows loops of their own, and the columns a copy where they need padding."""
        if self.plan.peel_n and not self.column_backs:
            self._peel_columns(self._level("n"))
        if not self.peels_tiles:
            self._peel_rows()

    def _peel_rows(self) -> None:
        """Give the last rows a loop of their own, a copy of what the loop over tiles is by then."""
        if not self.plan.peel_m:
            return
        copies = self._level("m").copies
        if self.is_deep:  # the last tiles of the last block
            blocks = (
                copies
                if self.plan.mc >= self.m
                else tuple(last_of(self.s, copy) for copy in copies)
            )
            copies = [tile for block in blocks for tile in self.tile.copies_in(block)]
        self.row_backs += [last_of(self.s, copy) for copy in copies]

    def _peel_columns(self, outermost: LoopHandle) -> None:
        """
        Peel off the last tile, or the last block where columns are in blocks, which has this tile alone.

        It has a copy of the operand of its own where the other one is made inside of the blocks, and where it needs padding.
        """
        plan, c = self.plan, self.c
        back = self.s.peel(outermost, back=1).back
        assert back is not None
        self.column_backs.append(back)
        rest = self.n % plan.nr
        span = vector_span(rest, self.lanes)
        is_left_out = plan.pack_right and c.right not in self.staged
        if is_left_out or (not plan.pack_right and span != rest):
            self._pack("right", c.right, c.n[-1], span, None, 0, None, within=back)

    # The tiles.

    def keep_in_registers(self) -> None:
        """Keep the tiles in registers; a result that is worked on further only exists by panels."""
        s, plan = self.s, self.plan
        panels: dict[LoopHandle, BufferHandle] = {}
        for handle in self.tile.copies:
            tile = self._tile(handle)
            if (tile.tall, tile.wide) == (plan.mr, plan.nr):
                self.whole_sums += self.summed.copies_in(handle)
            result, sizes = self.result, {self.row_axis: tile.tall, self.column_axis: tile.wide}
            pads = tuple(sizes.get(axis, 1) for axis in range(len(self.c.result.subscripts)))
            if self.by_panels:
                around = next(copy for copy in self.shared.copies if is_in(handle, copy))
                result = panels[around] = panels.get(around) or self._panel(around, pads)
                tile = pad_loops(s, tile)
            added = self.accumulates
            kept = keep_in_registers(s, result, tile, pads, element=plan.sums_in, accumulate=added)
            if not self.by_panels:
                tile = pad_loops(s, tile)
            self.tiles.append((tile, kept))
        self.cut_copies = [cut_into_panels(s, packing) for packing in self.packings]
        s.tidy()

    def _fetch_ahead(self) -> None:
        """While a tile is computed, ask for the next rows of A or panel of B, and for the next part of the result or of what it is finished with."""
        self.hints = hints = Hints(self.s, self.summed, self.plan, self.core, self.vectors)
        if self.panels is not None:
            blocks = () if self.deep_block is None else self.deep_block.copies
            if self.plan.prefetch:
                hints.panels(self.panels, blocks or (self._level("n", "tile"),))
            hints.terms_ahead(self.panels, self.plan.prefetch_panel_terms)
        if self.plan.prefetch_left:
            rows = self.s.buffer(self.kernel.buffers[self.c.left.buffer])
            hints.rows(rows, (loop for loop in self._level("m", "block").copies if loop.trips != 1))
        rows = self.s.buffer(self.kernel.buffers[self.c.right.buffer])
        around = self._level("n", "tile").copies if self.plan.kc >= self.k else ()
        hints.terms_ahead(rows, self.plan.prefetch_terms, around)
        if not self.plan.prefetch_result or self.is_deep:
            return
        streams = (self.c.result.buffer,) if self.plan.mirrored else self.c.streams
        results = (self.s.buffer(self.kernel.buffers[buffer]) for buffer in streams)
        # From inside: where work goes on by panels, the loop over the tiles of a panel, which is one; that over tiles.
        around = self.kept.levels[-1 - self.by_panels].copies
        lines = self.plan.mr * -(-self.plan.nr * self.c.result_bytes // LINE_BYTES)
        hints.results(results, around, lines, in_sums=self.takes_hints_in_sums)

    def _pack_in_first_tiles(self) -> tuple[LoopHandle, ...]:
        """Have the tiles of the first rows copy the panels of B that they use; the loops of their hints."""
        (panels,) = (cut for cut in self.cut_copies if cut.packing.staged.buffer == self.panels)
        rows = self.s.buffer(self.kernel.buffers[self.c.right.buffer])
        loops = self._level("m"), self._level("n", "tile"), self.summed
        return pack_in_first_tiles(self.s, panels, *loops, rows, self.plan.prefetch_terms)

    def _panel(self, around: LoopHandle, pads: tuple[int, ...]) -> BufferHandle:
        """A copy of the part of the result that is initialised, summed up and finished together."""
        scope = "arena" if self.is_deep else "stack"
        staged = self.s.stage(
            self.result, around, into="panel", scope=scope, order=self.panel_order, pads=pads
        )
        return staged.buffer

    def _tile(self, at: LoopHandle) -> Tile:
        """The tiles that are the iterations of one loop."""
        plan = self.plan
        is_last_row = any(is_in(at, back) for back in self.row_backs)
        is_last_column = any(is_in(at, back) for back in self.column_backs)
        rest_m, rest_n = self.m % plan.mr, self.n % plan.nr
        is_apart = self.is_deep or self.is_blocked
        nests = [self.init, self.update] if self.init and not is_apart else [self.update]
        wide = vector_span(rest_n, self.lanes) if is_last_column else plan.nr
        return Tile(
            at,
            tuple(copy for nest in nests for copy in nest.row.copies_in(at)),
            tuple(copy for nest in nests for copy in nest.column.copies_in(at)),
            rest_m if is_last_row else plan.mr,
            wide,
            bool(rest_m) and not plan.peel_m,
            wide != rest_n if is_last_column else bool(rest_n) and not plan.peel_n,
        )

    def vectorize(self) -> None:
        """Columns in lanes, rows written out; the copies too."""
        s = self.s
        for tile, kept in self.tiles:
            copied = kept.copy_along(self.column_axis), kept.out_along(self.column_axis)
            for loop in (*tile.columns, *copied):
                in_lanes(s, loop, tile.wide)
        if self.is_blocked and self.init is not None:
            for copy in self.init.column.copies:
                in_lanes(s, copy, self.lanes)
        for nest in (self.finish, self.init if self.is_deep else None):
            for copy in () if nest is None else nest.column.copies:
                is_last = any(is_in(copy, back) for back in self.column_backs)
                columns = self.n % self.plan.nr if is_last else min(self.n, self.plan.nr)
                in_lanes(s, copy, vector_span(columns, self.lanes))
        in_tiles = self.panels if self.plan.pack_in_tiles else None
        apart = [cut for cut in self.cut_copies if cut.packing.staged.buffer != in_tiles]
        arranged = arrange_panels(s, apart, self.lanes)
        vectorize_in_blocks(s, [(copy, n) for loop, n in self.computed for copy in loop.copies])
        if self.peels_tiles:
            self._peel_rows()
        short = [*self._pack_in_first_tiles()] if in_tiles else []
        self._fetch_ahead()
        s.tidy()
        vectorize_panels(s, arranged)
        short += self.hints.loops
        for tile, kept in self.tiles:
            copied = kept.copy_along(self.row_axis), kept.out_along(self.row_axis)
            short += [*tile.rows, *(loop for loop in copied if loop is not None)]
        for loop in dict.fromkeys(copy for each in short for copy in each.copies):
            write_out(s, loop)
        if self.finish is not None and not self.is_deep:
            write_out_finish(s, self.finish.row, finishing_work(self.c))
        for loop in self.whole_sums:  # those of tiles at the edges run seldom
            write_out_sum(s, self.hints.terms(loop), self.plan.mr, self.vectors, self.core)
