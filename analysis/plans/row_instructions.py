"""
How many instructions the nests of a rows plan are, and how long the ports of a core take for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log2

from xdsl.dialects import arith

from ...dialects.combiner import Combiner
from ...dialects.dtypes import is_float
from ...targets.target import Target
from ..cost import name_cost
from ..facts import Access, KernelFacts, Role
from .cost import cycles_per_second, half_part
from .lanes import coefficients, registers
from .row_nests import Nest, are_near, is_sum_around_results, linear_place
from .rows_plan import NestPlan, RowsPlan

JUMP_INSTRUCTIONS, ISSUED = 2, 4
"""What goes on to the next block beside its work, an addition and a jump; and what cores issue in a cycle, at least."""

ADDITIONS = (arith.AddfOp.name, arith.SubfOp.name, Combiner.ADD.value)
"""What the ports for additions take, where a core has such."""

TESTED = (Combiner.MAX.value, Combiner.MIN.value)
"""Combiners that keep a NaN: what comes out is chosen after a comparison, so that one waits for two operations."""

KEPT = 3
"""Instructions that join floats by such a combiner: the extreme itself, the comparison that finds a NaN, and the choice."""

FORWARDED = 7
"""
Cycles from a store to a load of what it stored: 5 to 8 for the vectors of Intel's and AMD's cores. (Fog, "Instruction
tables".)
"""


class RowInstructions:
    """What a core does for the nests of a kernel, wherever its data are."""

    def __init__(self, facts: KernelFacts, target: Target):
        self.facts, self.core = facts, target.core
        self.clock = cycles_per_second(target)
        self.half = half_part(target)
        self._together: dict[tuple[Access, Access], bool] = {}
        """of pairs of the kernel's accesses whether they are together"""

    def vector(self, nest: Nest, plan: NestPlan) -> int:
        """Elements of an instruction."""
        if plan.square is not None:
            return plan.square.side
        width = self.core.lanes(nest.element_bytes)
        return min(width, plan.lanes) if plan.lanes else 1

    def _blocks(self, nest: Nest, plan: NestPlan) -> tuple[float, int]:
        """How often a row of blocks begins, and its blocks; the last one is as long as the others, but for masks."""
        if plan.square is not None or not plan.lanes or not plan.order:
            return 1.0, max(-(-nest.points // self.vector(nest, plan)), 1)
        extent = max(nest.extent(plan.order[-1]), 1)
        return nest.points / extent, -(-extent // plan.lanes)

    def instructions(
        self, nest: Nest, plan: NestPlan, kept: frozenset[int]
    ) -> tuple[float, float, float]:
        """
        Seconds for arithmetic, jumps between blocks included, and for loads or stores, whichever have more to do; and the
        instructions of all. The buffers `kept` are in registers, or in the order of the lanes.
        """
        core, together = self.core, self.vector(nest, plan)
        additions, operations = self._operations(nest, plan)
        if plan.square is not None:
            # A square of n vectors is transposed by log2(n) shuffles of each.
            operations += log2(max(plan.square.side, 2))
        loads = self._accesses(nest, plan, nest.reads, nest.distinct_reads, kept)
        stores = self._accesses(nest, plan, nest.writes, nest.distinct_writes, kept)
        operations += self._shuffles(nest, plan, kept)
        part = self._part(nest, together)
        computing = part * core.arithmetic_cycles(additions, operations)
        accessing = part * max(loads / core.load_ports, stores / core.store_ports)
        rows, blocks = self._blocks(nest, plan)
        vectors = self._vectors(nest, plan, together)
        # Values that are in flight together and do not fit the registers are stored and loaded again.
        spilled = max(0.0, self._live(nest, plan) - core.vector_registers)
        spilling = part * 2 * spilled / core.store_ports
        jumping = JUMP_INSTRUCTIONS / ISSUED if blocks > 1 else 0.0
        jumping /= 1 if plan.square is None else plan.square.side
        issued = (
            vectors * (additions + operations + loads + stores) + 2 * spilled + JUMP_INSTRUCTIONS
        )
        adding, shuffling = self._halves(nest, plan, vectors, together)
        ending = core.arithmetic_cycles(adding, shuffling)
        return (
            rows * (blocks * (vectors * computing + jumping) + ending) / self.clock,
            rows * blocks * (vectors * accessing + spilling) / self.clock,
            rows * (blocks * issued + adding + shuffling),
        )

    def _part(self, nest: Nest, together: int) -> float:
        """
        The part of the time of an instruction on a full vector that one on so many elements takes. Scalar ones take as long:
        most are divisions, for which there is one unit.
        """
        return self.half if 1 < together <= self.core.lanes(nest.element_bytes) / 2 else 1.0

    def _operations(self, nest: Nest, plan: NestPlan) -> tuple[float, float]:
        """
        The additions of one iteration, and its other operations, in additions. A division by what is the same in all lanes is a
        product with its reciprocal.
        """
        costs = {
            name: count * name_cost(name) * self._joined_by(nest, name)
            for name, count in nest.operations.items()
        }
        division = arith.DivfOp.name
        if division in costs and plan.lanes and plan.order:
            divisors = sum(nest.stride(read, plan.order[-1]) == 0 for read in nest.reads)
            shared = min(divisors, nest.operations[division])
            costs[division] -= shared * (name_cost(division) - 1)
        additions = sum(cost for name, cost in costs.items() if name in ADDITIONS)
        return additions, sum(costs.values()) - additions

    def _halves(
        self, nest: Nest, plan: NestPlan, vectors: float, together: int
    ) -> tuple[float, float]:
        """
        Instructions that add up the lanes of a row's sum, vectors and then halves of one, and those that bring each half
        to its place.
        """
        if not plan.lanes or not plan.order or nest.role(plan.order[-1]) is not Role.REDUCTION:
            return 0.0, 0.0
        shuffling = log2(max(together, 1))
        most = max(self._joined_by(nest, name) for name in ("", *nest.operations))
        return most * (vectors - 1 + shuffling), shuffling

    def _joined_by(self, nest: Nest, name: str) -> int:
        """The instructions of an operation on a vector: of extremes of floats those of `KEPT`."""
        is_extreme = name in TESTED and nest.writes
        is_kept = is_extreme and is_float(self.facts.buffers[nest.writes[0].buffer].element)
        return KEPT if is_kept else 1

    def _vectors(self, nest: Nest, plan: NestPlan, together: int) -> float:
        """Vectors of a block: the lanes beyond the end of a row that is no whole block are masked, or left out."""
        if plan.square is not None or not plan.lanes:
            return 1.0
        return max(-(-min(nest.extent(plan.order[-1]), plan.lanes) // together), 1)

    def _live(self, nest: Nest, plan: NestPlan) -> float:
        """Vectors that a block has under way at once: of each of its reads, and those that a function needs."""
        if plan.square is not None:
            return plan.square.side * len(nest.reads)
        vectors = self._vectors(nest, plan, self.vector(nest, plan)) * plan.rows
        return vectors * registers(nest) + coefficients(nest) + plan.jam

    def _accesses(
        self,
        nest: Nest,
        plan: NestPlan,
        accesses: Sequence[Access],
        distinct: Sequence[Access],
        kept: frozenset[int],
    ) -> float:
        """Instructions for the accesses of one vector of iterations, but those of the buffers `kept`."""
        if not plan.order:
            return sum(access.buffer not in kept for access in accesses)
        total, every = 0.0, [access for access in distinct if access.buffer not in kept]
        for access in every:
            stride = nest.stride(access, plan.order[-1])
            is_sum = not nest.is_parallel and access in nest.writes
            if plan.square is not None or stride == 1:
                shared = 1 if self.is_of_rows(plan, access) else plan.rows
                total += 1 / plan.jam if is_sum else 1 / shared
            elif stride != 0:
                apart = self.apart(nest, plan, access)
                if not apart:
                    total += self.vector(nest, plan)
                    continue
                # What lies between comes too: once for all accesses that use it.
                together = sum(self._are_together(nest, access, each) for each in every)
                total += apart / min(together, apart)
        return total

    def apart(self, nest: Nest, plan: NestPlan, access: Access) -> int:
        """How many elements are from one lane to the next where these are in vectors with what is between; else 0."""
        stride = nest.stride(access, plan.order[-1]) if plan.lanes and plan.order else None
        is_near = plan.square is None and stride is not None and are_near(stride)
        return abs(stride or 0) if is_near else 0

    def _are_together(self, nest: Nest, one: Access, other: Access) -> bool:
        """Whether accesses are of elements that are a few apart in all iterations."""
        known = self._together.get((one, other))
        if known is None:
            known = self._together[one, other] = self._find_together(nest, one, other)
        return known

    def _find_together(self, nest: Nest, one: Access, other: Access) -> bool:
        if one.buffer != other.buffer or not (one.is_affine and other.is_affine):
            return False
        if any(
            a and b and a.coefficients != b.coefficients
            for a, b in zip(one.subscripts, other.subscripts, strict=True)
        ):
            return False
        first, second = linear_place(nest, one), linear_place(nest, other)
        line = self.core.caches[0].line_bytes // self.facts.element_bytes(one)
        return first is not None and second is not None and abs(first - second) < line

    def first_ones(self, nest: Nest, accesses: Sequence[Access]) -> list[Access]:
        """One access of each group of those that are together."""
        found: list[Access] = []
        for access in dict.fromkeys(accesses):
            if not any(self._are_together(nest, access, other) for other in found):
                found.append(access)
        return found

    def held(self, nests: Sequence[Nest], plan: RowsPlan, number: int) -> frozenset[int]:
        """
        The buffers of which fused nests before this one have loaded the row that it reads, each row being one block of
        lanes: its vectors are in registers still, where all of them have room beside the work on one.
        """
        if not plan.fused:
            return frozenset()
        loaded, vectors = set[int](), 0.0
        for nest, own in zip(nests[:number], plan.nests, strict=False):
            if self._is_one_block(nest, own):
                rows = {read.buffer for read in nest.reads if nest.stride(read, own.order[-1]) == 1}
                vectors += len(rows - loaded) * self._vectors(nest, own, self.vector(nest, own))
                loaded |= rows
        is_held = self._is_one_block(nests[number], plan.nests[number])
        return frozenset(loaded if is_held and 2 * vectors <= self.core.vector_registers else ())

    def _is_one_block(self, nest: Nest, plan: NestPlan) -> bool:
        return 0 < nest.extent(plan.order[-1]) <= plan.lanes if plan.order else False

    def _shuffles(self, nest: Nest, plan: NestPlan, kept: frozenset[int]) -> float:
        """Instructions that bring elements from vectors of neighbours to the lanes, and back, but those of the buffers `kept`."""
        moved = (access for access in nest.distinct_places if access.buffer not in kept)
        apart = [self.apart(nest, plan, access) for access in moved]
        return sum(count - 1 for count in apart if count > 1)

    def chained(self, nest: Nest, plan: NestPlan) -> float:
        """
        Seconds of sums whose terms wait for each other: one block of lanes, of each row, after the other.

        Sums around their results wait for what was stored before it can be loaded again.
        """
        if not plan.order:
            return 0.0
        if is_sum_around_results(nest, plan.order):
            results = plan.results or nest.extent(plan.order[-1])
            groups = nest.points / max(results, 1) / plan.jam
            return groups * (FORWARDED + plan.jam * self._latency(nest)) / self.clock
        if nest.role(plan.order[-1]) is not Role.REDUCTION:
            return 0.0
        rows, blocks = self._blocks(nest, plan)
        chain = blocks * (1 if plan.lanes else nest.extent(plan.order[-1]))
        return rows * chain * self._latency(nest) / plan.rows / self.clock

    def ended(self, nest: Nest, plan: NestPlan) -> float:
        """
        Seconds at the ends of rows, when all of a row has come: its lanes are added up by halves, in vectors and then within
        one, where each half is first brought to its place.
        """
        if not plan.lanes or not plan.order or nest.role(plan.order[-1]) is not Role.REDUCTION:
            return 0.0
        if is_sum_around_results(nest, plan.order):
            return 0.0
        rows, _ = self._blocks(nest, plan)
        halves = log2(plan.lanes) + log2(max(self.vector(nest, plan), 1))
        return rows * halves * self.core.fma_latency / plan.rows / self.clock

    def _latency(self, nest: Nest) -> int:
        """
        Cycles from one term of a sum to the next. Additions on ports of their own are done a cycle before multiply-adds
        would be. (Fog, "Instruction tables": on AMD's Zen cores.)
        """
        if any(name in nest.operations for name in TESTED):
            return 2 * self.core.fma_latency
        adds = Combiner.ADD.value in nest.operations and self.core.add_ports
        return self.core.fma_latency - 1 if adds else self.core.fma_latency

    def is_of_rows(self, own: NestPlan, access: Access) -> bool:
        """Whether each of the rows that are summed up side by side has elements of its own."""
        return len(own.order) > 1 and access.moves_along(own.order[-2])
