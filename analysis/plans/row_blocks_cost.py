"""The plan of a chain of statements by blocks of rows, and its predicted time."""

from __future__ import annotations

from math import log2, prod

from ...frozen import frozen
from ...lazy import cached_property
from ...targets.target import Target
from ..cost import name_cost
from ..facts import Contraction, Home, KernelFacts
from .cost import (
    Cost,
    TileSteps,
    cost_of,
    cycles_per_second,
    ending_cycles,
    kept_bytes,
    split_part,
)
from .row_chain import RowChain, row_chain


@frozen
class TilePlan:
    """
    Register tiles of MR × NR for one contraction, which is statement `number`.

    `init`, `finish` and `reduced` are the statements that run tile by tile with it: the one that sets what is summed
    up to, the one that alone reads the result, and the one that reduces each row of what comes out of it.
    """

    number: int
    nr: int
    pack_right: bool
    computed: int | None
    """the statement that makes the right operand, whose elements are computed where they are packed"""
    init: int | None
    finish: int | None
    reduced: int | None
    keep_finished: bool
    """what `finish` makes is in registers too, for `reduced`"""
    copied_lanes: int
    """elements copied at a time of the left operand's rows, where the last tile needs a padded copy; else 0"""

    @property
    def together(self) -> tuple[int, ...]:
        """The statements that run tile by tile, in order."""
        every = (self.init, self.number, self.finish, self.reduced)
        return tuple(number for number in every if number is not None)


@frozen
class RowBlocksPlan:
    """
    Blocks of `rows` rows go through the statements of `chain`, whose outer `depth` axes are the batch and the rows.

    Statements and buffers are called by their numbers in the kernel's facts. Register tiles have MR rows; the last
    one is padded where rows are left over, and so are the last columns.
    """

    rows: int
    mr: int
    depth: int
    chain: tuple[int, ...]
    tiles: tuple[TilePlan, ...]
    inlined: tuple[int, ...]
    """cheap statements, done again at each read"""
    ahead: tuple[int, ...]
    """statements that make right operands: they run for an entry of the batch, in front of its blocks"""
    near: tuple[int, ...]
    """buffers of which there is one block of rows"""
    apart: tuple[tuple[int, int], ...]
    """
    of these, left operands whose rows would evict each other from the first-level cache, and the elements from one row
    to the next with which they do not
    """
    kept: tuple[int, ...]
    """buffers made ahead, of which there is one entry of the batch"""
    groups: tuple[tuple[int, ...], ...]
    """statements apart from contractions that go row by row together"""
    merged: tuple[tuple[int, int], ...]
    """of these, sums that go element by element with what makes their elements"""
    lanes: tuple[tuple[int, int], ...]
    """
    statements whose innermost loop runs in blocks of so many lanes; of those that share it, the first one has the
    number
    """
    threads: tuple[tuple[int, int], ...]
    """statements and their axes whose loops run on threads; over the chain's rows, it is the loop over blocks"""

    def __str__(self) -> str:
        words = [f"blocks of {self.rows} rows"]
        for tile in self.tiles:
            how = "packs B" if tile.pack_right else "reads B as it is"
            if tile.computed is not None:
                how = "computes and packs B"
            words.append(f"tile {self.mr}x{tile.nr} {how}")
        words += [f"inlines {len(self.inlined)}"] if self.inlined else []
        words += [f"rows of buffer {n} {elements} elements apart" for n, elements in self.apart]
        words += [f"statement {n} in blocks of {count} lanes" for n, count in self.lanes]
        words += [f"axis {axis} of statement {n} on threads" for n, axis in self.threads]
        return ", ".join(words)


class Model:
    """The seconds of one plan, for each thing that they go to."""

    def __init__(self, plan: RowBlocksPlan, facts: KernelFacts, target: Target):
        self.plan, self.core, self.rates = plan, target.core, target.rates
        self.clock = cycles_per_second(target)
        self.steps = TileSteps.of(target)
        self.near_1, self.near_2 = (kept_bytes(self.core.cache(level)) for level in (1, 2))
        self.chain = chain_of(plan, facts)
        self.pairs = [(self.chain.contraction(tile.number), tile) for tile in plan.tiles]
        first = self.chain.contractions[0]
        self.batch, self.total = first.extent(first.batch), first.extent(first.m)

    def of(self, plan: RowBlocksPlan) -> Model:
        """That of a plan with the same tiles and blocks of another size, with what is known already."""
        made = object.__new__(Model)
        made.__dict__.update(self.__dict__, plan=plan)
        return made

    @property
    def blocks(self) -> int:
        """All blocks of rows, of all entries of the batch."""
        return self.batch * -(-self.total // self.plan.rows)

    def cost(self) -> Cost:
        return cost_of(
            [
                ("arithmetic", sum(self._arithmetic(c, tile) for c, tile in self.pairs)),
                ("functions", self._functions),
                ("streaming B", self._streaming()),
                ("packing B", self._packing),
                ("block of rows", self._between()),
                ("beginnings", self._beginnings()),
            ]
        )

    def _arithmetic(self, c: Contraction, tile: TilePlan) -> float:
        """
        The multiply-adds of all tiles, whole or not; a panel that is not in L1 comes from L2 for each tile. Arrays of
        callers may begin anywhere in a line.
        """
        lanes = self.core.lanes(c.result_bytes)
        rows, vectors = self.plan.mr, -(-tile.nr // lanes)
        # The last tiles of the blocks are as large as the others: what is beyond is padding.
        tall = self.total // self.plan.rows * -(-self.plan.rows // rows)
        tall += -(-(self.total % self.plan.rows) // rows)
        is_near = c.extent(c.k) * tile.nr * c.right_bytes <= self.near_1
        fetched = c.left_bytes, 0 if is_near else lanes * c.right_bytes
        may_split = c.facts.buffers[c.right.buffer].is_callers and not tile.pack_right
        step = self.steps.cycles(rows, vectors, fetched, split_part(self.core) if may_split else 0)
        cycles = c.extent(c.k) * step + ending_cycles(self.core, rows, vectors)
        return self.batch * tall * -(-c.extent(c.n) // tile.nr) * cycles / self.clock

    @cached_property
    def _functions(self) -> float:
        """The operations of the other statements, in vectors, one for each port in a cycle."""
        cycles = 0.0
        for number in self.chain.live:
            statement = self.chain.statement(number)
            if any(tile.number == number for tile in self.plan.tiles):
                continue
            work = sum(name_cost(name) * count for name, count in statement.operations)
            work += 1 if statement.combiner is not None else 0
            lanes = self.core.lanes(self.chain.facts.element_bytes(statement.write))
            cycles += (statement.points or 0) * work / lanes / self.core.fma_ports
        return cycles / self.clock

    def _right_bytes(self, c: Contraction) -> int:
        return c.extent(c.k) * c.extent(c.n) * c.right_bytes

    def _block_bytes(self) -> float:
        """The bytes of all that is kept of one block of rows."""
        share = self.plan.rows / self.total / self.batch
        return sum((self.chain.facts.buffers[b].bytes or 0) * share for b in self.plan.near)

    @cached_property
    def _rights(self) -> int:
        """The bytes of an entry's right operands."""
        return sum(map(self._right_bytes, self.chain.contractions))

    def _streaming(self) -> float:
        """
        Waiting for right operands, all of which stream by for each block of rows: an element is used by all rows
        of the block when it has come. They stay in L2 from block to block where there is room, beside what is kept of a block.
        """
        is_near = self._rights + self._block_bytes() <= self.near_2
        rate = self.rates.read_l2 if is_near else self.rates.beyond_l2
        blocks, seconds = self.blocks, 0.0
        for c, _ in self.pairs:
            element = c.right_bytes
            computing = 2 * self.plan.rows / (self.rates.tile_near.core * 4 / element)
            waiting = max(0.0, element / rate.core - computing)
            seconds += blocks * self._right_bytes(c) / element * waiting
        return seconds

    @cached_property
    def _packing(self) -> float:
        return sum(self._packing_of(c, tile) for c, tile in self.pairs)

    def _packing_of(self, c: Contraction, tile: TilePlan) -> float:
        """One copy for each entry of the batch, transposed in registers where that is needed."""
        if not tile.pack_right or c.facts.buffers[c.right.buffer].home is Home.CONSTANT:
            return 0.0
        size = self._right_bytes(c)
        rate = self.rates.pack_near if 2 * size <= self.near_2 else self.rates.pack_far
        seconds = size / rate.core
        if c.stride(c.right, c.n[-1]) != 1:
            lanes = self.core.lanes(c.right_bytes)
            seconds += size / c.right_bytes / lanes * log2(max(lanes, 2)) / self.clock
        return self.batch * seconds

    def _between(self) -> float:
        """Statements outside of tiles read and write what is kept of a block, from the cache that it stays in."""
        size = self._block_bytes()
        if size <= self.near_1:
            return 0.0
        rate = self.rates.read_l2 if size <= self.near_2 else self.rates.beyond_l2
        bytes_ = 0.0
        in_registers = {number for tile in self.plan.tiles for number in tile.together}
        for number in self.chain.rows:
            for access in self.chain.statement(number).accesses:
                if access.buffer in self.plan.near and number not in in_registers:
                    bytes_ += self.chain.facts.buffers[access.buffer].bytes or 0
        return bytes_ / rate.core

    def _beginnings(self) -> float:
        """
        A jump that is not foreseen, and the latency of what comes first, for each statement of a block; for a sum
        that is taken row by row also its last steps, once for each row.
        """
        once = self.core.mispredict + self.core.fma_latency
        cycles = float(self.blocks * len(self.plan.chain) * once)
        for number in (number for group in self.plan.groups for number in group):
            statement = self.chain.statement(number)
            if self.chain.is_sum(number):
                lanes = self.core.lanes(self.chain.facts.element_bytes(statement.write))
                steps = log2(max(lanes, 2)) * self.core.fma_latency
                rows = prod(statement.extents[: self.plan.depth]) if statement.extents else 0
                cycles += rows * (steps + once)
        return cycles / self.clock


def chain_of(plan: RowBlocksPlan, facts: KernelFacts) -> RowChain:
    """The chain that a plan is for, after its cheap statements are inlined."""
    chain = row_chain(facts, plan.inlined)
    assert chain is not None, "a plan of this family is for a chain"
    return chain
