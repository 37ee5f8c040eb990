"""A contraction inside of a block of rows: register tiles, above each other and side by side."""

from __future__ import annotations

from ..analysis.facts import Access, Contraction, Home, read_through
from ..analysis.plans.row_blocks_cost import RowBlocksPlan, TilePlan
from ..analysis.plans.row_chain import RowChain
from ..frozen import frozen
from ..targets.target import Target
from ..transforms.step_support.handles import BufferHandle, LoopHandle
from ..transforms.step_support.made import StagedBuffer
from .panels import Packing, packed_order, vectorize_packing
from .register_tile import Tile, in_lanes, keep_in_registers, pad_loops, write_out
from .session import Session


@frozen
class Blocks:
    """The loops of a chain that is cut into blocks of rows, and what its buffers are now."""

    block: LoopHandle
    batch: tuple[LoopHandle, ...]
    """around the loop over blocks, outermost first"""
    rows: dict[int, LoopHandle]
    """over the rows of a block, by statement"""
    inner: dict[int, tuple[LoopHandle, ...]]
    """inside of these, outermost first"""
    buffers: dict[int, BufferHandle]
    """what the chain reads and writes: the copy for a block of rows where there is one"""

    @property
    def around(self) -> tuple[LoopHandle, ...]:
        """Over the batch and over the blocks, outermost first."""
        return (*self.batch, self.block)


class RowTiles:
    """
    The steps for one contraction.

    The loops become, from the outside, those over column tiles, over the tiles above each other, the summation,
    and the tile. A panel of the right operand stays in L1 while all rows of the block use it.
    """

    def __init__(
        self,
        s: Session,
        plan: RowBlocksPlan,
        tile: TilePlan,
        chain: RowChain,
        blocks: Blocks,
        result_name: str,
    ):
        self.s, self.plan, self.tile, self.chain, self.blocks = s, plan, tile, chain, blocks
        self.name = result_name
        """what buffers made here are called after"""
        self.c = c = chain.contraction(tile.number)
        self.is_near = c.result.buffer in plan.near
        self.row_axis, self.column_axis = result_axes(c)
        self.ragged_rows = bool(c.extent(c.m) % plan.mr)
        self.ragged_columns = bool(c.extent(c.n) % tile.nr)
        self.packing: Packing | None = None
        self.kept: list[tuple[StagedBuffer, int, int]] = []
        """copies in registers, and their dimensions of rows and columns"""
        self.copied: list[tuple[LoopHandle, int]] = []
        """loops over elements that are copied, and how many go together"""
        self.partial: list[LoopHandle] = []
        """loops over the lanes of partial results, which initialise and combine them"""

    def cut(self) -> None:
        """A tile of columns, in it one of rows, for it the summation, and inside that rows and columns."""
        s, plan, tile, blocks = self.s, self.plan, self.tile, self.blocks
        self._stage_operands()
        kept: tuple[LoopHandle, LoopHandle] | None = None
        rows: list[LoopHandle] = []
        columns: list[LoopHandle] = []
        for number in tile.together:
            is_update = number == tile.number
            inner, word = blocks.inner[number], "" if is_update else "end"
            over = inner[self.column_loop] if is_update else inner[0]
            summed = (inner[self.summed_loop],) if is_update else ()
            down, row = s.cut(blocks.rows[number], plan.mr, "tile", f"row{word}")
            across, column = s.cut(over, tile.nr, "tile", f"column{word}")
            s.order(across, down, *summed, row, column)
            if number == tile.reduced:
                partial = s.rfactor(column)
                self.partial += [partial.initialise[-1], partial.combine[-1]]
            rows.append(row)
            columns.append(column)
            if kept is None:
                kept = across, down
            else:
                s.fuse_nests(kept, (across, down))
        assert kept is not None, "a contraction is one of the statements"
        s.normalize(s.name)  # over loops that count by one all that follows is asked of plain sets
        self._keep(
            Tile(
                kept[1],
                tuple(rows),
                tuple(columns),
                plan.mr,
                tile.nr,
                self.ragged_rows,
                self.ragged_columns,
            )
        )

    @property
    def column_loop(self) -> int:
        """Which of the loops inside of the rows is the contraction's over columns."""
        return self.c.n[-1] - self.plan.depth

    @property
    def summed_loop(self) -> int:
        return self.c.k[-1] - self.plan.depth

    def _keep(self, tile: Tile) -> None:
        """Keep the result in registers, and what is made of it for the statement that reduces that."""
        rank = len(self.c.result.subscripts)
        pads = pads_of(rank, {self.row_axis: tile.tall, self.column_axis: tile.wide})
        result = self.blocks.buffers[self.c.result.buffer]
        # The padding of what is elsewhere must not be written there; that of a block of rows is of no one.
        padded = pad_loops(self.s, tile) if self.is_near else tile
        kept = keep_in_registers(self.s, result, padded, pads, f"{self.name}.tile")
        self.kept.append((kept, self.row_axis, self.column_axis))
        self.loops = padded if self.is_near else pad_loops(self.s, padded)
        if self.tile.keep_finished and self.tile.finish is not None:
            write = self.chain.statement(self.tile.finish).write
            row, column = (
                write.dimension_of(axis) for axis in (self.plan.depth - 1, self.plan.depth)
            )
            made = self.blocks.buffers[write.buffer]
            finished = keep_in_registers(self.s, made, tile, (), f"{self.name}.finished")
            assert row is not None and column is not None, "what is reduced has rows and columns"
            self.kept.append((finished, row, column))

    # The operands.

    def _stage_operands(self) -> None:
        """The right operand in panels, and the left one with rows beyond the last one."""
        c, s, blocks = self.c, self.s, self.blocks
        if self.tile.pack_right:
            self._pack_right()
        if self.ragged_rows and c.left.buffer not in self.plan.near:
            pads = pads_of(len(c.left.subscripts), {left_row(c): self.plan.mr})
            staged = s.stage(
                blocks.buffers[c.left.buffer],
                blocks.block,
                into=f"{self.name}.left",
                scope="arena",
                pads=pads,
                along=blocks.rows[c.number] if self._is_shared(c.left) else "",
            )
            along = staged.copy_along(len(c.left.subscripts) - 1)
            if self.tile.copied_lanes and along is not None:
                self.copied.append((along, self.tile.copied_lanes))

    def _pack_right(self) -> None:
        c, blocks, nr = self.c, self.blocks, self.tile.nr
        is_constant = c.facts.buffers[c.right.buffer].home is Home.CONSTANT
        order = packed_order(c, c.right, c.batch, c.n[-1])
        staged = self.s.stage(
            blocks.buffers[c.right.buffer],
            "" if is_constant or not blocks.batch else blocks.batch[-1],
            into=f"{self.name}.right",
            scope="arena",
            order=order,
            panel=nr,
            pad=nr,
            along=blocks.inner[c.number][self.column_loop] if self._is_shared(c.right) else "",
        )
        reads = (c.right,)
        if self.tile.computed is not None:
            reads = read_through(self.chain.statement(self.tile.computed), c.right)
        near = [c.stride(read, c.n[-1]) in (0, 1) for read in reads]
        across = len(reads) == 1 and c.stride(reads[0], c.k[-1]) == 1
        self.packing = Packing(staged, order, nr, c.extent(c.n), 2 * sum(near) >= len(near), across)

    def _is_shared(self, operand: Access) -> bool:
        """Whether there are other reads and writes of the operand's buffer."""
        accesses = [
            access
            for number in self.chain.live
            for access in self.chain.statement(number).accesses
            if access.buffer == operand.buffer
        ]
        return len(accesses) > 1

    # How it runs.

    def vectorize(self, target: Target) -> None:
        """Columns in lanes, in the tile and where it is copied; operands packed in vectors."""
        if self.packing is not None:
            vectorize_packing(self.s, self.packing, target.core.lanes(self.c.result_bytes))
        copies = [
            copy(axis) for kept, _, axis in self.kept for copy in (kept.copy_along, kept.out_along)
        ]
        for loop in (*self.loops.columns, *copies, *self.partial):
            in_lanes(self.s, loop, self.tile.nr)

    def write_out(self) -> None:
        """The rows of the tile, one after the other."""
        copies = [
            copy(axis) for kept, axis, _ in self.kept for copy in (kept.copy_along, kept.out_along)
        ]
        for loop in (*self.loops.rows, *copies):
            write_out(self.s, loop)


def result_axes(c: Contraction) -> tuple[int, int]:
    """The dimensions of a contraction's result that are its rows and its columns."""
    row, column = (c.result.dimension_of(axis) for axis in (c.m[-1], c.n[-1]))
    assert row is not None and column is not None, "a contraction's subscripts are single axes"
    return row, column


def left_row(c: Contraction) -> int:
    """The dimension of the left operand that is its rows."""
    row = c.left.dimension_of(c.m[-1])
    assert row is not None, "a contraction's subscripts are single axes"
    return row


def pads_of(rank: int, sizes: dict[int, int]) -> tuple[int, ...]:
    """What each dimension is padded to a multiple of: 1 where it is not in `sizes`."""
    return tuple(sizes.get(axis, 1) for axis in range(rank))
