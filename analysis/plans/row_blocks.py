"""
Plans for chains of statements with contractions among them that share their rows, such as attention.

A block of rows goes through all the statements before the next block does, so that what passes between them, the
scores of attention, is never in memory as a whole. (The idea is that of Rabe and Staats, "Self-attention Does
Not Need O(n^2) Memory", 2021, without their running maximum: a block of rows of scores fits the caches.)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from heapq import nsmallest

from ...frozen import replaced
from ...lazy import cached_property
from ...targets.target import Target
from ..facts import Contraction, Home, KernelFacts
from .cost import (
    RESOLUTION,
    Cost,
    balanced,
    ending_cycles,
    round_up,
    rows_apart,
    step_cycles,
)
from .lanes import hiding_vectors
from .row_blocks_cost import Model, RowBlocksPlan, TilePlan
from .row_blocks_loops import lanes_outside_tiles, loops_on_threads
from .row_chain import RowChain, finishing, reducing, row_chain

TILES_OF_ROWS = (4, 2, 8, 1, 6, 3, 16)
"""
Register tiles, one above the other, of a block of rows: each panel of a right operand is used so often while it
is in L1, and the latencies between one statement and the next count for as many rows.
"""

TILES_TRIED = 5
"""Register tiles, the best ones by arithmetic, that plans are proposed with."""


def propose(facts: KernelFacts, target: Target, n: int = 1) -> list[RowBlocksPlan]:
    """Up to `n` plans, cheapest first by prediction; none where the kernel is no such chain."""
    return list(_proposed(facts, target)[:n])


@lru_cache(maxsize=256)
def _proposed(facts: KernelFacts, target: Target) -> tuple[RowBlocksPlan, ...]:
    seconds: dict[RowBlocksPlan, float] = {}
    model: Model | None = None
    for plan in _plans(facts, target):
        is_like = model is not None and plan.tiles is model.plan.tiles
        model = model.of(plan) if model is not None and is_like else Model(plan, facts, target)
        seconds[plan] = model.cost().seconds
    if not seconds:
        return ()
    most = min(seconds.values()) * RESOLUTION
    # Of times that are too near each other to tell them apart, the one that was thought of first.
    best = next(plan for plan in seconds if seconds[plan] <= most)
    others = sorted(seconds, key=lambda plan: seconds[plan])
    return (best, *(plan for plan in others if plan != best))


def cost(plan: RowBlocksPlan, facts: KernelFacts, target: Target) -> Cost:
    """The predicted time of one call on one thread."""
    return Model(plan, facts, target).cost()


def _plans(facts: KernelFacts, target: Target) -> Iterator[RowBlocksPlan]:
    """The register tiles with blocks of several sizes, and right operands packed or not."""
    chain = row_chain(facts, ())
    if chain is None or not chain.contractions:
        return
    best = nsmallest(
        TILES_TRIED, _tiles(target), key=lambda tile: _tile_cycles(chain, target, *tile)
    )
    for rows, vectors in best:
        maker = _Maker(facts, target, chain, rows, vectors)
        if maker.chain is None:
            return
        for count in TILES_OF_ROWS:
            plan = maker.plan(count)
            yield plan
            yield from _other_packing(plan, maker.chain)


def _tiles(target: Target) -> Iterator[tuple[int, int]]:
    """
    Rows and vectors of register tiles: the registers hold the accumulators, a row of the right operand, a broadcast
    element, and a row of what finishes or reduces the result.
    """
    core = target.core
    for rows in range(2, core.vector_registers):
        for vectors in (1, 2, 4):
            if vectors * (rows + 2) + 1 <= core.vector_registers:
                yield rows, vectors


def _tile_cycles(chain: RowChain, target: Target, rows: int, vectors: int) -> float:
    """Cycles of all tiles of this size, whole or not, of all contractions."""
    core, cycles = target.core, 0.0
    for c in chain.contractions:
        width = core.lanes(c.result_bytes)
        wide = min(vectors, -(-c.extent(c.n) // width))
        tiles = -(-c.extent(c.m) // rows) * -(-c.extent(c.n) // (wide * width))
        step = step_cycles(core, rows, wide)
        cycles += tiles * (c.extent(c.k) * step + ending_cycles(core, rows, wide))
    return cycles


def _other_packing(plan: RowBlocksPlan, chain: RowChain) -> Iterator[RowBlocksPlan]:
    """The plan with another choice of which right operands are packed, one changed at a time."""
    for n, tile in enumerate(plan.tiles):
        c = chain.contraction(tile.number)
        if not _must_pack(c, tile):
            other = replaced(tile, pack_right=not tile.pack_right)
            yield replaced(plan, tiles=(*plan.tiles[:n], other, *plan.tiles[n + 1 :]))


def _must_pack(c: Contraction, tile: TilePlan) -> bool:
    """Whether a tile cannot read the right operand as it is, or a copy of it costs nothing."""
    return (
        tile.computed is not None
        or c.facts.buffers[c.right.buffer].home is Home.CONSTANT
        or bool(c.extent(c.n) % tile.nr)
        or c.stride(c.right, c.n[-1]) != 1
    )


class _Maker:
    """Makes the plans of one kernel with one size of register tiles, at most."""

    def __init__(
        self, facts: KernelFacts, target: Target, whole: RowChain, rows: int, vectors: int
    ):
        self.target, self.mr, self.vectors = target, rows, vectors
        first = whole.contractions[0]
        self.total = first.extent(first.m)
        self.inlined = whole.cheap(self._finished(whole))
        self.chain = row_chain(facts, self.inlined)
        if self.chain is not None and not self.chain.is_complete:
            self.chain = None

    def _finished(self, whole: RowChain) -> set[int]:
        """What is computed from a contraction's result alone, and will be where that is in registers."""
        found: set[int] = set()
        for c in whole.contractions:
            number = finishing(whole, c)
            if number is not None and not self._is_ragged(c):
                found.add(whole.facts.statements[number].write.buffer)
        return found

    def _is_ragged(self, c: Contraction) -> bool:
        """Whether the last tile of rows or columns is not whole."""
        return bool(c.extent(c.m) % self.mr or c.extent(c.n) % self._columns(c))

    def _columns(self, c: Contraction) -> int:
        """NR: so many vectors. Where there are few columns it is the power of two that holds them."""
        wide, columns = self.target.core.lanes(c.result_bytes) * self.vectors, c.extent(c.n)
        while wide // 2 >= columns:
            wide //= 2
        return wide

    def rows(self, tiles: int) -> int:
        """Rows of a block of at most so many tiles, of whose scores a quarter of L2 has room."""
        assert self.chain is not None
        first = self.chain.contractions[0]
        row = max(first.extent(first.n) * first.result_bytes, 1)
        most = self.target.core.cache(2).bytes // 4 // row
        return balanced(self.total, max(min(tiles * self.mr, most), self.mr), self.mr)

    def plan(self, tiles_of_rows: int) -> RowBlocksPlan:
        """The plan with blocks of so many tiles, one above the other."""
        assert self.chain is not None
        rows = self.rows(tiles_of_rows)
        gone = {tile.computed for tile in self._plan.tiles}
        ahead = [number for number in self.chain.ahead if number not in gone]
        threads = loops_on_threads(self.chain, rows, ahead, self.target)
        return replaced(self._plan, rows=rows, threads=threads)

    @cached_property
    def _plan(self) -> RowBlocksPlan:
        """What does not depend on the size of blocks."""
        chain = self.chain
        assert chain is not None
        tiles = tuple(self._tile(chain, c) for c in chain.contractions)
        gone = {tile.computed for tile in tiles}
        batched = [number for number in chain.ahead if chain.is_batched(number)]
        made = dict.fromkeys(chain.buffer(number) for number in batched if number not in gone)
        groups = chain.groups({number for tile in tiles for number in tile.together})
        merged = chain.merged(groups)
        ahead = [number for number in chain.ahead if number not in gone]
        return RowBlocksPlan(
            self.mr,
            self.mr,
            chain.depth,
            chain.rows,
            tiles,
            self.inlined,
            tuple(batched),
            chain.near,
            tuple(dict.fromkeys(self._apart(chain, tiles))),
            tuple(b for b in made if chain.is_scratch(b)) if chain.depth > 1 else (),
            groups,
            merged,
            lanes_outside_tiles(chain, groups, merged, ahead, self.target),
            (),
        )

    def _apart(self, chain: RowChain, tiles: Sequence[TilePlan]) -> Iterator[tuple[int, int]]:
        """The left operands that are kept near and whose rows collide, each with a distance at which they do not."""
        columns = {chain.contraction(tile.number).result.buffer: tile.nr for tile in tiles}
        near, level_1 = chain.near, self.target.core.cache(1)
        for c in chain.contractions:
            buffer = c.left.buffer
            row, extents = c.left.dimension_of(c.m[-1]), c.facts.buffers[buffer].shape
            if buffer not in near or row != len(extents) - 2:
                continue
            dense = round_up(c.extent(c.k), columns.get(buffer, 1))
            elements = rows_apart(level_1, self.mr, dense, c.left_bytes)
            if elements != dense:
                yield buffer, elements

    def _tile(self, chain: RowChain, c: Contraction) -> TilePlan:
        finish = reduced = None
        if not self._is_ragged(c):
            # What is beyond the last row or column would be seen by others than the one that initialises.
            finish = finishing(chain, c)
            reduced = reducing(chain, c, finish)
        tile = TilePlan(
            c.number,
            self._columns(c),
            False,
            chain.computed(c),
            chain.initialising(c),
            finish,
            reduced,
            finish is not None and reduced is not None,
            self._copied_lanes(chain, c),
        )
        return replaced(tile, pack_right=_must_pack(c, tile))

    def _copied_lanes(self, chain: RowChain, c: Contraction) -> int:
        """For the rows of the left operand that are copied, unless what passes between statements is padded itself."""
        last = c.facts.buffers[c.left.buffer].strides[-1]
        is_copied = self.total % self.mr and c.left.buffer not in chain.near
        core = self.target.core
        return hiding_vectors(core) * core.lanes(c.left_bytes) if is_copied and last == 1 else 0
