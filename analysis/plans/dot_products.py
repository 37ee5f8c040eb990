"""Plans for contractions of few columns: dot products with the summed axis in vector lanes."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from math import log2

from ...frozen import frozen
from ...targets.target import Target
from ..facts import Contraction
from .contraction_problem import Problem, problem_of
from .contraction_rates import ContractionRates
from .contraction_result import least_writing
from .cost import Cost, cost_of, mixed, restart_seconds


@frozen
class DotProductPlan:
    """
    Tiles of MR rows × NR columns, each element of which is a vector of `kr` partial sums.

    `prefetch` is how many blocks of the sum ahead the next tile's rows are asked for, 0 for not at all.
    """

    mr: int
    nr: int
    kr: int
    prefetch: int
    locality: int

    def __str__(self) -> str:
        ahead = f", prefetches A {self.prefetch} blocks ahead" if self.prefetch else ""
        return f"dot products, tile {self.mr}x{self.nr}, K in {self.kr} lanes{ahead}"


def propose(contraction: Contraction, target: Target, n: int = 1) -> list[DotProductPlan]:
    """The `n` plans of least predicted time, cheapest first; none where lanes of K do not fit the contraction."""
    return list(_proposed(problem_of(contraction), target, n))


def cost(plan: DotProductPlan, contraction: Contraction, target: Target) -> Cost:
    """The predicted time of one call on one thread."""
    return _Model(problem_of(contraction), target).cost(plan)


def least_seconds(contraction: Contraction, target: Target) -> float:
    """What each plan takes at least: its multiply-adds, what is left of each sum when they are done, and waiting for columns."""
    return _Model(problem_of(contraction), target).least_seconds()


@lru_cache(maxsize=1024)
def _proposed(problem: Problem, target: Target, n: int) -> tuple[DotProductPlan, ...]:
    left, right = problem.left, problem.right
    width = target.core.lanes(problem.result_bytes)
    if left.summed != 1 or not problem.reassociates or problem.sums != 1:
        return ()
    if left.is_extended or right.is_extended or left.computing or right.computing:
        return ()
    if problem.k < 2 * width or {left.element_bytes, right.element_bytes} != {problem.result_bytes}:
        return ()
    model = _Model(problem, target)
    return tuple(sorted(model.plans(), key=lambda plan: model.cost(plan).seconds)[:n])


class _Model(ContractionRates):
    def __init__(self, problem: Problem, target: Target):
        super().__init__(problem, target)
        self.width = self.core.lanes(problem.result_bytes)
        # Each sum is halved log2(lanes) times, by a shuffle and an addition.
        self.ending = 2 * log2(max(self.width, 2))
        self.near_load = 1 / self.core.load_ports
        vector = self.width * problem.result_bytes
        self.far_load = vector / (self.rates.read_l2.core / self.clock)
        # Columns are packed; rows are read as they are, and vectors of a caller's lie across two lines.
        split = problem.left.split_part(self.core, is_packed=False)
        self.near_row_load = (1 + split) / self.core.load_ports
        self.far_row_load = max(self.far_load, self.near_row_load) + split * self.core.split_load

    def rows_stay(self, rows: int) -> bool:
        """Whether so many rows of either operand stay in L1."""
        row = self.problem.k * self.problem.result_bytes
        return rows * row <= self.near_1

    def plans(self) -> Iterator[DotProductPlan]:
        """Tiles whose sums, the vectors of the axis written out inside, and one more fit the registers."""
        problem, registers = self.problem, self.core.vector_registers
        for nr in range(2, min(problem.n, registers) + 1):
            for mr in range(2, min(problem.m, registers) + 1):
                if mr * nr + min(mr, nr) + 1 > registers:
                    break
                yield self._fetching(mr, nr)

    def _fetching(self, mr: int, nr: int) -> DotProductPlan:
        """The rows of the next tile are asked for, as each is a stream that begins anew: to L1 if they fit."""
        problem, row = self.problem, self.problem.left.along or 0
        if problem.m * row * problem.left.element_bytes <= self.near_2:
            return DotProductPlan(mr, nr, self.width, 0, 0)
        tile = 2 * mr * row * problem.left.element_bytes
        locality = 3 if tile <= self.core.cache(1).bytes else 2
        return DotProductPlan(mr, nr, self.width, max(mr * row // self.width, 1), locality)

    def least_seconds(self) -> float:
        """See above."""
        problem = self.problem
        steps = -(-problem.k // self.width) / self.core.fma_ports
        each = steps + self.ending
        # Of tiles at least two columns wide that fit the registers, as of `plans`, the tallest wait least for columns.
        tallest = max(min(problem.m, (self.core.vector_registers - 3) // 2), 2)
        computing = problem.m * problem.n * each / self.clock
        return problem.batch * (computing + self._waiting_for_columns(tallest))

    def _waiting_for_columns(self, tall: int) -> float:
        """
        Seconds that tiles of so many rows wait for B in an entry of the batch: each reads all of its copy, the first one as the entries
        before it have left it.
        """
        problem, element = self.problem, self.problem.right.element_bytes
        copied = problem.n * problem.k
        is_kept = copied * element <= self.near_2
        fetched = copied * (self.far_share(problem.right) if is_kept else -(-problem.m // tall))
        if not fetched:
            return 0.0
        peak = self.rates.fma_f32.core * 4 / element
        stall = max(0.0, element / self.beyond_l2.rate - 2 * tall / peak)
        page = self.core.page_bytes
        restart = restart_seconds(page, page, self.beyond_l2.begun)
        return fetched * (stall + element * restart)

    def cost(self, plan: DotProductPlan) -> Cost:
        """
        A step of the sum loads a vector for each row and column of the tile. Columns come from L1 where all of
        them stay there; rows come from beyond it for the first tile of columns, and for all where they do not stay
        beside one tile of columns and the next rows, if these are asked for to L1. Hints stand beside the vectors of rows. A part of what comes
        from beyond L1 is not hidden by arithmetic, as of what tiles of other products bring.
        """
        problem, core, batch = self.problem, self.core, self.problem.batch
        wide, tall = plan.nr, plan.mr
        others = -(-problem.n // wide) - 1
        column_stays = self.rows_stay(problem.n)
        column_load = self.near_load if column_stays else self.far_load
        asked_for = tall if plan.prefetch and plan.locality == 3 else 0
        far_part = 1 / (others + 1) if self.rows_stay(tall + asked_for + wide) else 1.0
        row_load = far_part * self.far_row_load + (1 - far_part) * self.near_row_load
        from_l2 = far_part * self.far_row_load, 0.0 if column_stays else self.far_load
        parts = [
            (problem.m // tall * (problem.n // wide), tall, wide),
            (problem.n // wide, problem.m % tall, wide),
            (problem.m // tall, tall, problem.n % wide),
            (1, problem.m % tall, problem.n % wide),
        ]
        # A hint takes a port of L1, whichever level a load waits for.
        hint = 1 / max(core.l1_ports, core.load_ports) if plan.prefetch else 0.0
        steps = -(-problem.k // self.width)
        cycles = 0.0
        for count, rows, columns in parts:
            if not rows or not columns:
                continue
            loads = rows * row_load + columns * column_load
            near = rows * (self.near_row_load + hint) + columns * self.near_load
            step = max(rows * columns / core.fma_ports, loads, near, core.fma_latency + 1)
            step += self.unhidden * (rows * from_l2[0] + columns * from_l2[1])
            ending = rows * columns * self.ending + core.mispredict
            cycles += count * (steps * step + ending)
        copied = problem.n * problem.k
        reading = problem.m * problem.k * problem.left.element_bytes
        computing, waiting = cycles / self.clock, 0.0
        share = self.far_share(problem.left)
        if share:  # tiles compute while rows come, for a part of the time
            coming = share * reading / self.beyond_l2.rate
            waiting = mixed(computing, coming) - computing
        waiting += self._waiting_for_columns(tall)
        packing = 0.0 if problem.right.is_constant else copied / self.clock
        return cost_of(
            [
                ("arithmetic", batch * computing),
                ("streaming", batch * waiting),
                ("packing B", packing * (1 if problem.right.is_everybodys else batch)),
                ("writing C", batch * least_writing(self)),
            ]
        )
