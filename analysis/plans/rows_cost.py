"""
The predicted time of a rows plan.

Each nest computes and moves data at the same time, and takes as long as the slower of the two. What it reads comes from
the nearest memory that holds all that was touched since it was there before: the reuse distance. (Beyls and D'Hollander,
"Reuse Distance as a Metric for Cache Behavior", PDCS 2001.)
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log2, prod

from ...targets.estimates import L3_SECONDS
from ...targets.rates import Kind
from ...targets.target import Target
from ..cost import name_cost
from ..facts import Access, Home, KernelFacts, Role
from .cost import Cost, cost_of, cycles_per_second, kept_bytes
from .row_nests import Nest, nests_of
from .rows_plan import NestPlan, RowsPlan

FUNCTION_REGISTERS = 3
"""Further vectors that an exponential or its like holds: its argument, its scale and the polynomial's value."""


def cost(plan: RowsPlan, facts: KernelFacts, target: Target) -> Cost:
    """The predicted time of one call on one thread."""
    return _Model(plan, facts, target).cost()


class _Model:
    def __init__(self, plan: RowsPlan, facts: KernelFacts, target: Target):
        self.plan, self.facts, self.core, self.rates = plan, facts, target.core, target.rates
        self.nests = nests_of(facts)
        self.clock = cycles_per_second(target)
        self.arrays = sum(
            buffer.bytes or 0 for buffer in facts.buffers if buffer.home is not Home.SCRATCH
        )

    def cost(self) -> Cost:
        arithmetic = waiting = latency = 0.0
        touched: set[int] = set()
        pairs: Sequence[tuple[Nest, NestPlan]] = list(zip(self.nests, self.plan.nests, strict=True))
        for nest, own in pairs:
            computing, chained = self._computing(nest, own), self._chained(nest, own)
            moving = self._reading(nest, own, touched)
            arithmetic += computing
            latency += max(0.0, chained - computing)
            waiting += max(0.0, moving - max(computing, chained))
            touched |= {access.buffer for access in nest.accesses}
        return cost_of(
            [
                ("arithmetic", arithmetic),
                ("latency of sums", latency),
                ("waiting for data", waiting),
                ("starting rows", self._starting()),
                ("writing", sum(self._writing(*pair) for pair in pairs)),
            ]
        )

    # What the ports do.

    def _vector(self, nest: Nest, plan: NestPlan) -> int:
        """Elements of an instruction."""
        if plan.square is not None:
            return plan.square.side
        width = self.core.lanes(nest.element_bytes)
        return min(width, plan.lanes) if plan.lanes else 1

    def _computing(self, nest: Nest, plan: NestPlan) -> float:
        """Seconds for instructions, of loads, stores or arithmetic, whichever has most to do."""
        core, together = self.core, self._vector(nest, plan)
        operations = sum(count * name_cost(name) for name, count in nest.operations.items())
        if plan.square is not None:
            # A square of n vectors is transposed by log2(n) shuffles of each.
            operations += log2(max(plan.square.side, 2))
        loads, stores = (
            self._accesses(nest, plan, nest.reads),
            self._accesses(nest, plan, nest.writes),
        )
        cycles = max(
            operations / core.fma_ports, loads / core.load_ports, stores / core.store_ports
        )
        # A jump for each block, which is foreseen, takes a place among the instructions.
        per_block = together / max(plan.lanes, together) / core.fma_ports
        # Values that are in flight together and do not fit the registers are stored and loaded again.
        spilled = max(0, self._live(nest, plan) - core.vector_registers)
        per_block += 2 * spilled * together / max(plan.lanes, together) / core.store_ports
        return nest.points / together * (cycles + per_block) / self.clock

    def _live(self, nest: Nest, plan: NestPlan) -> int:
        """Vectors that a block has under way at once: of each of its reads, and those that a function needs."""
        width = self.core.lanes(nest.element_bytes)
        functions = sum(name.startswith("math.") for name in nest.operations)
        vectors = max(plan.lanes // width, 1) * plan.rows
        return vectors * (1 + FUNCTION_REGISTERS * min(functions, 1)) + plan.jam

    def _accesses(self, nest: Nest, plan: NestPlan, accesses: Sequence[Access]) -> float:
        """Instructions for the accesses of one vector of iterations."""
        if not plan.order:
            return len(accesses)
        total = 0.0
        for access in accesses:
            stride = nest.stride(access, plan.order[-1])
            is_sum = any(access == write for write in nest.writes) and not nest.is_parallel
            if plan.square is not None or stride == 1:
                total += 1 / plan.jam if is_sum else 1
            elif stride != 0:
                total += self._vector(nest, plan)  # one by one
        return total

    def _chained(self, nest: Nest, plan: NestPlan) -> float:
        """Seconds of a sum whose terms wait for each other: one block of lanes, of each row, after the other."""
        if not plan.order or nest.role(plan.order[-1]) is not Role.REDUCTION:
            return 0.0
        together = max(plan.lanes, 1) * plan.rows
        return nest.points / together * self.core.fma_latency / self.clock

    # What comes from where.

    def _rate(self, distance: float, kind: Kind = "read") -> float:
        """Bytes/s of data that were used when so many bytes ago."""
        for cache in self.core.caches:
            if distance <= kept_bytes(cache) // cache.shared_by:
                return self.rates.bandwidth(cache.name, kind)
        return self.rates.bandwidth("memory", kind)

    def _reading(self, nest: Nest, plan: NestPlan, touched: set[int]) -> float:
        """Seconds for what is read. Each array comes once, and again where what lies between uses is too much."""
        seconds = 0.0
        for access in dict.fromkeys(nest.reads):
            buffer = self.facts.buffers[access.buffer]
            size = buffer.bytes or 0
            is_known = access.buffer in touched or buffer.home is Home.SCRATCH
            distance = self._row_bytes() if is_known and self.plan.fused else self._all_bytes()
            seconds += size * self._line_share(nest, plan, access) / self._rate(distance)
            again = self._again(nest, plan, access)
            seconds += size * again / self._rate(self._between(nest, plan, size))
        return seconds

    def _all_bytes(self) -> float:
        return sum(buffer.bytes or 0 for buffer in self.facts.buffers)

    def _row_bytes(self) -> float:
        """What one iteration of the fused loops touches, of everything that moves along them."""
        rows = prod(
            self.nests[0].extent(axis) for axis in self.plan.nests[0].order[: self.plan.fused]
        )
        return self._all_bytes() / max(rows, 1)

    def _again(self, nest: Nest, plan: NestPlan, access: Access) -> float:
        """How often more an array is gone through: by sums around their results."""
        if len(plan.order) < 2 or access not in nest.writes:
            return 0.0
        if (
            nest.role(plan.order[-2]) is not Role.REDUCTION
            or nest.stride(access, plan.order[-1]) != 1
        ):
            return 0.0
        return nest.extent(plan.order[-2]) / plan.jam

    def _between(self, nest: Nest, plan: NestPlan, size: float) -> float:
        """What lies between two uses of a result of such a sum: so many results, and as many terms of each row."""
        if plan.results:
            size = plan.results * nest.element_bytes
        return size * (1 + plan.jam)

    def _line_share(self, nest: Nest, plan: NestPlan, access: Access) -> float:
        """How much of the array comes for each element that is used: whole lines, where these leave too early."""
        if not plan.order or plan.square is not None:
            return self._square_share(nest, plan)
        stride = nest.stride(access, plan.order[-1])
        if stride in (0, 1, -1):
            return 1.0
        line = self.core.caches[0].line_bytes
        lines = nest.extent(plan.order[-1]) * line
        if lines <= kept_bytes(self.core.caches[0]):
            return 1.0
        return line / nest.element_bytes

    def _square_share(self, nest: Nest, plan: NestPlan) -> float:
        """Lines of a row of squares are used by the next one, unless they have left L2 by then."""
        square = plan.square
        if square is None or square.across:
            return 1.0
        line = self.core.caches[0].line_bytes
        if nest.extent(square.written) * line <= kept_bytes(self.core.cache(2)):
            return 1.0
        return max(1.0, line / (square.side * nest.element_bytes))

    def _starting(self) -> float:
        """Each row of an array from beyond L2 begins with a miss, unless it was asked for before."""
        fetched = {fetch.buffer for fetch in self.plan.fetched}
        if not self.plan.fused or self.arrays <= kept_bytes(self.core.cache(2)):
            return 0.0
        rows = prod(
            self.nests[0].extent(axis) for axis in self.plan.nests[0].order[: self.plan.fused]
        )
        first = {
            read.buffer
            for nest, own in zip(self.nests, self.plan.nests, strict=True)
            for read in nest.reads
            if self.facts.buffers[read.buffer].home is Home.ARGUMENT
            and any(read.moves_along(axis) for axis in own.order[: self.plan.fused])
        }
        return rows * len(first - fetched) * L3_SECONDS

    def _writing(self, nest: Nest, plan: NestPlan) -> float:
        """A line that is written is read before, unless it is stored past the caches: then it goes to memory."""
        seconds = 0.0
        for write in dict.fromkeys(nest.writes):
            buffer = self.facts.buffers[write.buffer]
            size = (buffer.bytes or 0) * (1 if plan.square else self._line_share(nest, plan, write))
            if write.buffer in self.plan.nontemporal:
                seconds += size / self.rates.bandwidth("memory", "copy")
                continue
            is_near = buffer.home is Home.SCRATCH and self.plan.fused
            distance = self._row_bytes() if is_near else self._all_bytes()
            seconds += 2 * size / self._rate(distance, "copy")
        return seconds
