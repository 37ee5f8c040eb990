"""
The rule for chains of nests with contractions among them that share their rows, such as attention.

A block of rows goes through all the nests before the next block does, so that what passes between them, the
scores of attention, is never in memory as a whole. (The idea is that of Rabe and Staats, "Self-attention Does
Not Need O(n^2) Memory", 2021, without their running maximum: a block of rows of scores fits the caches.)
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from itertools import pairwise

from xdsl.dialects import arith
from xdsl.ir import SSAValue

from ..dialects import loop
from ..dialects.schedule.steps import FuseLoops, Inline, Simplify, Split, Stage, Step
from ..dialects.shaped import memref_type
from ..targets.target import Target
from ..transforms.step_support.refusal import Refusal
from .blocking import register_tile
from .contraction import Contraction, recognise
from .facts import (
    PerfectNest,
    balanced,
    cache_bytes,
    element_bytes,
    moving_axes,
    sums_in_any_order,
    top_nests,
)
from .lanes import vectorize_innermost
from .row_ahead import Ahead, makers
from .row_tiles import Attached, RowTiles, is_ragged
from .session import Session
from .threads import parallel_outermost

CHEAP = (arith.AddfOp, arith.SubfOp, arith.MulfOp)

CHEAP_OPERATIONS = 2
"""So many additions and products are sooner done again at each read than stored and loaded."""

TILES_OF_ROWS = 4
"""
Register tiles, one above the other, of a block of rows: each panel of a right operand is used so often while it
is in L1, and the latencies between one nest and the next count for as many rows.
"""


def row_blocks(session: Session, target: Target) -> bool:
    """Block the rows that all nests share, and give each contraction a register tile."""
    found = _contractions(_top(session))
    if not found:
        return False
    _inline_cheap(session, _finished(target, _top(session), found))
    every = _top(session)
    found = _contractions(every)
    ahead = makers(every, [c.right.buffer for c in found])
    nests = [nest for nest in every if nest not in ahead]
    if len(nests) < 4 or any(c.nest in ahead for c in found):
        return False
    depth = _shared_depth(nests)
    if depth < 1 or any(len(c.batch) != depth - 1 for c in found):
        return False
    if any(c.rows is not c.nest.loops[depth - 1] for c in found):
        return False
    _Chain(session, target, every, nests, found, depth).schedule()
    return True


def _top(session: Session) -> list[PerfectNest]:
    return list(top_nests(session.nest.function))


def _contractions(nests: Sequence[PerfectNest]) -> list[Contraction]:
    return [c for nest in nests if (c := recognise(nest)) is not None]


def _shared_depth(nests: list[PerfectNest]) -> int:
    """How many outer loops of all nests are parallel and have the same trip counts."""
    depth = 0
    for level in zip(*(nest.loops for nest in nests), strict=False):
        counts = {for_op.constant_trip_count() for for_op in level}
        if len(counts) != 1 or None in counts:
            break
        if any(for_op.kind.data is not loop.LoopKind.PARALLEL for for_op in level):
            break
        depth += 1
    return depth


def _finished(
    target: Target, nests: list[PerfectNest], contractions: list[Contraction]
) -> set[SSAValue]:
    """What is computed from a contraction's result alone, and will be where that is in registers."""
    found = [(c, _finish_of(nests, c)) for c in contractions]
    tall = _tile_rows(target, contractions[0])
    return {
        store.buffer
        for update, nest in found
        if nest is not None and not is_ragged(target, update, tall)
        for store in nest.stores
    }


def _tile_rows(target: Target, first: Contraction) -> int:
    """How many rows a tile has: those of the first contraction's, if the number of rows allows."""
    loops = (first.rows, first.columns, first.reduced)
    total, columns, reduced = (f.constant_trip_count() or 0 for f in loops)
    tall, _ = register_tile(target, total, columns, reduced, element_bytes(first.store.buffer))
    # Rows beyond the last one would be copied, and cut off, in each of the nests.
    return next((n for n in range(tall, tall // 2, -1) if total % n == 0), tall)


def _finish_of(nests: list[PerfectNest], update: Contraction) -> PerfectNest | None:
    """The nest that alone reads what the contraction has summed up, element by element."""
    buffer, shape = update.store.buffer, len(moving_axes(update.store))
    readers = [
        nest
        for nest in nests
        if nest.names != update.nest.names and any(op.buffer is buffer for op in nest.loads)
    ]
    if len(readers) != 1 or not isinstance(buffer.owner, loop.AllocOp):
        return None
    (nest,) = readers
    parallel = all(f.kind.data is loop.LoopKind.PARALLEL for f in nest.loops)
    return nest if nest.is_flat and parallel and len(nest.loops) == shape else None


def _inline_cheap(session: Session, finished: set[SSAValue]) -> None:
    """Compute again what costs next to nothing, unless a contraction reads it or it is `finished` in a tile."""
    nests = _top(session)
    kept = finished | {load.buffer for c in _contractions(nests) for load in (c.left, c.right)}
    for nest in nests:
        if _is_cheap(nest) and nest.stores[0].buffer not in kept:
            with suppress(Refusal):
                session.apply(Inline(session.named(loop.buffer_name(nest.stores[0].buffer) or "")))


def _is_cheap(nest: PerfectNest) -> bool:
    operations = [
        op for op in nest.body if not isinstance(op, loop.LoadOp | loop.StoreOp | arith.ConstantOp)
    ]
    return (
        nest.is_flat
        and len(nest.stores) == 1
        and bool(nest.loads)
        and all(for_op.kind.data is loop.LoopKind.PARALLEL for for_op in nest.loops)
        and len(operations) <= CHEAP_OPERATIONS
        and all(isinstance(op, CHEAP) for op in operations)
    )


class _Chain:
    """
    The steps for one chain, which is `nests`. The others of `every` make the right operands of its
    contractions: as all of an operand is needed for the first block of rows, they run ahead of the blocks.
    """

    def __init__(
        self,
        session: Session,
        target: Target,
        every: list[PerfectNest],
        nests: list[PerfectNest],
        contractions: list[Contraction],
        depth: int,
    ):
        self.session, self.target, self.depth = session, target, depth
        self.nests = nests
        extents = [f.constant_trip_count() for f in nests[0].loops[: depth - 1]]
        self.ahead = Ahead(session, [n for n in every if n not in nests], contractions, extents)
        self.batch = [
            nest.names[: depth - 1]
            for nest in every
            if nest in nests or self.ahead.is_batched(nest)
        ]
        """the loops over the batch of each nest that has them, in order"""
        self.row = [nest.names[depth - 1] for nest in nests]
        """the loop over rows, of each nest"""
        total = nests[0].loops[depth - 1].constant_trip_count() or 0
        first = contractions[0]
        columns = first.columns.constant_trip_count() or 0
        bytes_, tall = element_bytes(first.store.buffer), _tile_rows(target, first)
        most = cache_bytes(target, 2) // 4 // max(columns * bytes_, 1)
        self.rows = balanced(total, max(min(TILES_OF_ROWS * tall, most), tall), tall)
        self.block = f"{self.row[0]}.block"
        places = [self.block, *reversed(self.batch[0])]
        self.tiles = [
            RowTiles(
                session, target, c, self._attached(c), total, tall, places,
                computed=self.ahead.computes(c.right.buffer),
            )
            for c in contractions
        ]  # fmt: skip
        self.parts = self._parts()

    def _attached(self, update: Contraction) -> Attached:
        finish = _finish_of(self.nests, update)
        return Attached(self._init_of(update), finish, self._reduced_of(update, finish))

    def _init_of(self, update: Contraction) -> PerfectNest | None:
        """The nest that initialises what the contraction sums up."""
        for nest in self.nests:
            stored = [store.buffer for store in nest.stores]
            if nest.is_flat and stored == [update.store.buffer] and nest.names != update.nest.names:
                return nest if len(nest.loops) == self.depth + 1 and not nest.loads else None
        return None

    def _reduced_of(self, update: Contraction, finish: PerfectNest | None) -> PerfectNest | None:
        """The first nest after the contraction, or what finishes that, when it reduces each row of the result."""
        last = update.nest if finish is None else finish
        if len(last.stores) != 1:
            return None
        at = next(n for n, nest in enumerate(self.nests) if nest.names == last.names)
        buffer = last.stores[0].buffer
        for nest in self.nests[at + 1 :]:
            if not any(op.buffer is buffer for op in nest.loads):
                if nest.loads:
                    return None
                continue
            is_sum = nest.loops[-1].kind.data is loop.LoopKind.REDUCTION
            return nest if nest.is_flat and is_sum and len(nest.loops) == self.depth + 1 else None
        return None

    def _parts(self) -> list[list[int]]:
        """
        The nests apart from contractions, by number, in groups that are done row by row.

        What a nest sums up is used by another group: a row's sum takes its last steps while others begin.
        """
        of_tiles = {name for tiles in self.tiles for name in tiles.row_loops}
        parts: list[list[int]] = [[]]
        summed: set[SSAValue] = set()
        for number, nest in enumerate(self.nests):
            if self.row[number] in of_tiles:
                parts.append([])
                continue
            is_sum = nest.loops[-1].kind.data is loop.LoopKind.REDUCTION
            stored = {store.buffer for store in nest.stores}
            if any(load.buffer in summed - stored for load in nest.loads):
                parts.append([])
            parts[-1].append(number)
            summed |= stored if is_sum else set()
        return [part for part in parts if part]

    def do(self, step: Step) -> None:
        self.session.apply(step)

    def schedule(self) -> None:
        at = self.session.named
        for level in zip(*self.batch, strict=True):
            for other in level[1:]:
                self.do(FuseLoops(at(level[0]), other))
        blocks = [f"{name}.block" for name in self.row]
        for name, block in zip(self.row, blocks, strict=True):
            self.do(Split(at(name), self.rows, block, f"{name}.row"))
        for block in blocks[1:]:
            self.do(FuseLoops(at(blocks[0]), block))
        self._keep_near()
        for part in self.parts:
            self._row_by_row(part)
        for tiles in self.tiles:
            tiles.tile()
        self.ahead.keep_near(self.batch[0][-1] if self.batch[0] else "")
        self.do(Simplify(self.session.name))
        for tiles in self.tiles:
            tiles.vectorize()
        vectorize_innermost(self.session, self.target)
        for tiles in self.tiles:
            tiles.write_out()
        parallel_outermost(self.session, self.target)

    def _keep_near(self) -> None:
        """Each buffer between the nests is of one block of rows."""
        buffers = [
            op
            for op in self.session.nest.function.body.block.ops
            if isinstance(op, loop.AllocOp) and op.scope.data is loop.Scope.ARENA
        ]
        for op in buffers:
            if op.buffer in self.ahead.made:
                continue
            name = loop.buffer_name(op.buffer) or ""
            pads = [1] * len(memref_type(op.buffer).get_shape())
            for tiles in self.tiles:
                if tiles.result == name:
                    pads[tiles.row_axis], pads[tiles.column_axis] = tiles.tall, tiles.wide
                if tiles.left == name:
                    pads[tiles.left_axis] = tiles.tall
            step = Stage(
                self.session.named(name), self.block, f"{name}.rows", "arena", pads=tuple(pads)
            )
            with suppress(Refusal):
                self.do(step)
                for tiles in self.tiles:
                    tiles.rename(name, f"{name}.rows")

    def _row_by_row(self, part: list[int]) -> None:
        """One loop over rows, and in it one over a row's elements where a sum is of the ones just made."""
        at = self.session.named
        rows = [f"{self.row[number]}.row" for number in part]
        with suppress(Refusal):
            for other in rows[1:]:
                self.do(FuseLoops(at(rows[0]), other))
        whole = [self.nests[n] for n in part if len(self.nests[n].loops) == self.depth + 1]
        for first, second in pairwise(whole):
            made = {store.buffer for store in first.stores}
            is_sum = second.loops[-1].kind.data is loop.LoopKind.REDUCTION
            # One element after the other would keep what is made from running in lanes.
            is_sum &= sums_in_any_order(second.stores)
            if is_sum and any(load.buffer in made for load in second.loads):
                with suppress(Refusal):
                    self.do(FuseLoops(at(first.names[-1]), second.names[-1]))
