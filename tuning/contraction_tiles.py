"""
The steps of a contraction's plan: `for m: for n: for k` in blocks, panels and register tiles.

See `analysis/plans/contraction.py` for the plan. Each step takes the loops and buffers that earlier ones made.
"""

from __future__ import annotations

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
from ..analysis.plans.lanes import block_lanes
from ..analysis.plans.row_nests import nests_of
from ..analysis.plans.terms_written_out import terms_of_product
from ..targets.core import LINE_BYTES
from ..targets.target import Target
from ..transforms.step_support.handles import BufferHandle, LoopHandle
from ..transforms.step_support.made import StagedBuffer
from .contraction_loops import ContractionLoops
from .first_tiles import pack_in_first_tiles
from .lanes import vectorize_in_blocks
from .levels import is_in, last_of
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
    write_out_terms,
)
from .session import Session
from .tile_hints import Hints


def schedule_tiles(
    s: Session, plan: ContractionPlan, kernel: LoopFacts, found: Contraction, target: Target
) -> tuple[LoopHandle, ...]:
    """Carry out a plan; the loops over columns. Raises the Refusal of a step that is not legal."""
    tiles = _Tiles(s, plan, kernel, found.turned() if plan.turned else found, target)
    tiles.cut()
    if plan.mirrored:
        tiles.mirror()
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


class _Tiles(ContractionLoops):
    """The tiles in these loops, and the copies of the operands that they read."""

    def __init__(
        self, s: Session, plan: ContractionPlan, kernel: LoopFacts, c: Contraction, target: Target
    ):
        super().__init__(s, plan, kernel, c)
        self.core, self.takes_hints_in_sums = target.core, target.takes_hints_in_sums
        self.lanes = target.core.lanes(c.result_bytes)
        self.vectors = -(-plan.nr // self.lanes)
        in_pairs, own = plan.has_pairs(self.k, is_fused=c.is_fused), target.rates.own_loads_are_free
        self.terms, self.fewest_terms = (
            terms_of_product(target.core, plan.mr, self.vectors, in_pairs=pairs, own_loads=own)
            for pairs in (in_pairs, False)
        )
        """of a tile's sum in an iteration, and those that it has whatever stands between them"""
        self.accumulates = self.is_blocked and c.statement.reassociates and not plan.sums_in
        """whether tiles begin with zeros and are added to the result, for which they need not wait"""
        self.peels_tiles = not (plan.mirrored or self.is_deep or self.by_panels)
        """
        whether the last rows are a copy of tiles that are finished but for these: what is done to a tile is then done once.
        Where panels are worked on further, a part that tiles write in a copy of them has to be known to be all of it.
        """
        self.peels_in_block = plan.peels_in_block(self.n)
        self.result = self._buffer(c.result.buffer)
        self.row_axis, self.column_axis, self.panel_order = result_dimensions(c)
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
        self.tiles: list[tuple[Tile, StagedBuffer]] = []
        self.whole_sums: list[LoopHandle] = []
        """the loops over the terms of the tiles that are not at an edge"""

    def mirror(self) -> None:
        """Leave out the tiles above the diagonal, and finish the matrix after it is copied to there."""
        loop_ = self.tile if self.plan.innermost == "m" else self.level("n", "tile")
        self.s.mirror(loop_)
        if self.c.finished is not None:
            nests = nests_of(self.c.facts)
            nest = next(nest for nest in nests if self.c.finished in nest.statements)
            innermost = self.s.handle(self.kernel.loops[self.c.finished][-1])
            self.computed.append((innermost, block_lanes(nest, self.core)))

    # The operands.

    def pack(self) -> None:
        """Copy the operands to where the tiles read them one element after the other."""
        plan, c = self.plan, self.c
        by_rows = plan.mc < self.m and (plan.innermost == "m" or plan.left_by_rows)
        if plan.left_in_rows:
            self._keep_rows(None)
        elif plan.pack_left:
            block = self.level("m", "block") if by_rows or self.is_deep else None
            self._pack("left", block, block or self.sum_block)
        elif c.maker(c.left) is not None and keeps_rows(plan, self.m, self.k):
            self._keep_rows(self.level("m", "block"))
        if plan.pack_right:
            block = self.level("n", "block") if plan.nc < self.n else None
            is_alone = plan.peel_n and not self.peels_in_block
            if block is not None and is_alone and not self._is_packed_at_load(c.right):
                self._peel_columns(block)
            self.panels = self._pack("right", block, self.sum_block or block).buffer
        self._compute_operands()

    def _keep_rows(self, block: LoopHandle | None) -> None:
        """Compute or extend rows of the left operand, those of each block or all, where the tiles find them near."""
        c, core = self.c, self.core
        size = self.plan.mc * self.plan.kc * c.left_bytes
        staged = self.s.stage(
            self._buffer(c.left.buffer),
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
                self.s.inline(self._buffer(reads[0].buffer))
            else:
                innermost = self.s.handle(self.kernel.loops[number][-1])
                self.computed.append((innermost, lanes_of(c, reads[0], self.core)))

    def _pack(
        self, into: Literal["left", "right"], block: LoopHandle | None, at: LoopHandle | None
    ) -> StagedBuffer:
        """
        Copy an operand into panels as wide as the tile; `at` is as for `_copied`.

        `block` is the loop over blocks of its rows or columns in which the copy is made, if there is one.
        """
        c, plan = self.c, self.plan
        if into == "left":
            access, own, along = c.left, c.m[-1], self.update.row
            size, block_size, extent = plan.mr, plan.mc, self.m
        else:
            access, own, along = c.right, c.n[-1], self.update.column
            size, block_size, extent = plan.nr, plan.nc, self.n
            if self.column_backs:
                extent -= self.n % size
        is_apart = self.kernel.facts.is_part or c.left.buffer == c.right.buffer
        is_apart = is_apart or c.maker(access) is not None
        packing = self._copied(own, at, along if is_apart else "", size, extent, panel=size)
        if block is not None and not self._is_packed_at_load(access):
            packing = replace(packing, block=block, block_size=block_size)
        self.packings.append(packing)
        self.staged.append(access)
        return packing.staged

    def _copied(
        self,
        own: int,
        at: LoopHandle | None,
        along: LoopHandle | str,
        size: int,
        extent: int,
        panel: int = 0,
    ) -> Packing:
        """
        Copy the operand whose rows or columns are the axis `own`, `extent` of them, padded to a multiple of `size`: in each
        iteration of `at`, of each entry of the batch that has its own, or once. `along` is as for `stage`.
        """
        c = self.c
        into, access = ("left", c.left) if own == c.m[-1] else ("right", c.right)
        at = None if self._is_packed_at_load(access) else at or self._innermost_batch(access)
        order = packed_order(c, access, self.batch, own)
        staged = self.s.stage(
            self._buffer(access.buffer),
            at or "",
            into=into,
            scope="arena",
            order=order,
            panel=panel,
            pad=size,
            along=along,
            element=self._element(access),
        )
        reads_own, reads_summed = (stride_of_sources(c, access, n) == 1 for n in (own, c.k[-1]))
        return Packing(staged, order, size, extent, reads_own, reads_summed)

    def _buffer(self, number: int) -> BufferHandle:
        """The buffer that has this number in the kernel's facts."""
        return self.s.buffer(self.kernel.buffers[number])

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
        if self.peels_in_block:
            self._split_off_columns()
        elif self.plan.peel_n and not self.column_backs:
            self._peel_columns(self.level("n"))
        if not self.peels_tiles:
            self._peel_rows()

    def _peel_rows(self) -> None:
        """Give the last rows a loop of their own, a copy of what the loop over tiles is by then."""
        if not self.plan.peel_m:
            return
        copies = self.level("m").copies
        if self.is_deep:  # the last tiles of the last block
            blocks = (
                copies
                if self.plan.mc >= self.m
                else tuple(last_of(self.s, copy) for copy in copies)
            )
            copies = [tile for block in blocks for tile in self.tile.copies_in(block)]
        self.row_backs += [last_of(self.s, copy) for copy in copies]

    def _split_off_columns(self) -> None:
        """Give the last tile, which has fewer columns, a loop of its own, which stands in each block and runs in the last one alone."""
        block, tile = self.level("n", "block"), self.level("n", "tile")
        before = f"{self.plan.nc} * {block.name} - {self.plan.nr} * {tile.name}"
        _, rest = self.s.index_set_split(tile, f"{self.n - self.plan.nr} - {before} >= 0")
        self.column_backs.append(rest)

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
            (column,) = self.update.column.copies_in(back)
            self.packings.append(self._copied(c.n[-1], None, column, span, rest))

    # The tiles.

    def keep_in_registers(self) -> None:
        """Keep the tiles in registers; a result that is worked on further only exists by panels."""
        s, plan = self.s, self.plan
        panels: dict[LoopHandle, BufferHandle] = {}
        for handle in self.tile.copies:
            tile = self._tile(handle)
            is_last = any(is_in(handle, back) for back in self.column_backs)
            if (tile.tall, tile.wide) == (plan.mr, plan.nr) and not is_last:
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
        self.hints = hints = Hints(
            self.s, self.summed, self.plan, written_out=self.fewest_terms > 1
        )
        if self.panels is not None:
            blocks = () if self.deep_block is None else self.deep_block.copies
            if self.plan.prefetch:
                hints.panels(self.panels, blocks or (self.level("n", "tile"),))
            hints.terms_ahead(self.panels, self.plan.prefetch_panel_terms)
        if self.plan.prefetch_left:
            rows = self._buffer(self.c.left.buffer)
            hints.rows(rows, (loop for loop in self.level("m", "block").copies if loop.trips != 1))
        rows = self._buffer(self.c.right.buffer)
        around = self.level("n", "tile").copies if self.plan.kc >= self.k else ()
        hints.terms_ahead(rows, self.plan.prefetch_terms, around)
        if not self.plan.prefetch_result or self.is_deep:
            return
        streams = (self.c.result.buffer,) if self.plan.mirrored else self.c.streams
        results = map(self._buffer, streams)
        # From inside: where work goes on by panels, the loop over the tiles of a panel, which is one; that over tiles.
        around = self.kept.levels[-1 - self.by_panels].copies
        lines = self.plan.mr * -(-self.plan.nr * self.c.result_bytes // LINE_BYTES)
        hints.results(results, around, lines, in_sums=self.takes_hints_in_sums)

    def _pack_in_first_tiles(self) -> tuple[LoopHandle, ...]:
        """Have the tiles of the first rows copy the panels of B that they use; the loops of their hints."""
        (panels,) = (cut for cut in self.cut_copies if cut.packing.staged.buffer == self.panels)
        rows = self._buffer(self.c.right.buffer)
        loops = self.level("m"), self.level("n", "tile"), self.summed
        locality = 3 if self.plan.packs_from_l2 else 2
        return pack_in_first_tiles(self.s, panels, *loops, rows, self.plan.prefetch_terms, locality)

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
            write_out_finish(s, self.finish.row, self.c)
        for loop in self.whole_sums:  # those of tiles at the edges run seldom
            write_out_terms(s, self.hints.terms(loop), self.terms)
