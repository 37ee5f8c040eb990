"""
Plans for contractions: register tile, cache blocks, order and packing, as BLIS and the literature name them.

The plan that `propose` finds cheapest is what the rule takes; a tuner may measure the others. The model follows
what was found with the real tile kernel: it runs at a rate of its own where both operands are near, and
otherwise waits for the operand that streams. An element of the wide operand (B, of NR columns) takes part in
2·MR operations when it arrives, one of the narrow operand (A, of MR rows) in 2·NR: so long it may take to come
for nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from heapq import nsmallest
from math import log2
from typing import Literal

from ...targets.estimates import L3_SECONDS
from ...targets.target import Target
from ..facts import Access, Contraction, Home
from .cost import (
    Cost,
    balanced,
    cost_of,
    cycles_per_second,
    kept_bytes,
    most_in_a_set,
    round_up,
)
from .threads import PARALLEL_WORK, dealt, team

MOST_VECTORS = 4
"""Vectors of a row of the register tile at most: wider ones leave too few registers for rows."""

TILES_TRIED = 5
"""Register tiles, the best ones by arithmetic alone, for which blocks and orders are worked out."""

Innermost = Literal["m", "n"]


@dataclass(frozen=True)
class ContractionPlan:
    """
    C[M, N] += A[M, K] · B[K, N] in register tiles of MR × NR, whose sums stay in registers over KC terms.

    Around a tile, outermost first:

    - `innermost="m"`: blocks of NC columns (if fewer than N), blocks of MC rows (if fewer than M), tiles of NR
      columns, tiles of MR rows. A panel of B (KC × NR) stays near while all tiles of a block of rows use it.
      This is Goto and van de Geijn's order ("Anatomy of High-Performance Matrix Multiplication", 2008).
    - `innermost="n"`: blocks of NC columns, tiles of MR rows, tiles of NR columns. A sliver of A (MR × K) stays in
      L1 while all tiles of a block of B, which stays in L2, use it.

    Where KC < K, blocks of KC terms are between the tiles of columns and those of rows, and C is read and written
    once for each.
    """

    turned: bool
    """Cᵀ = Bᵀ Aᵀ is computed: rows in vector lanes"""
    mr: int
    nr: int
    mc: int
    nc: int
    kc: int
    innermost: Innermost
    pack_left: bool
    pack_right: bool
    peel_m: bool
    """the last rows, fewer than MR, have a tile of their own"""
    peel_n: bool
    """the last columns, fewer than NR, have a tile of their own"""
    prefetch: bool
    """the next panel of B is asked for while one is used"""

    def __str__(self) -> str:
        packed = [name for name, on in (("A", self.pack_left), ("B", self.pack_right)) if on]
        peeled = [name for name, on in (("M", self.peel_m), ("N", self.peel_n)) if on]
        words = [
            f"tile {self.mr}x{self.nr}",
            f"MC {self.mc}",
            f"NC {self.nc}",
            f"KC {self.kc}",
            f"{self.innermost.upper()} tiles innermost",
            f"packs {' and '.join(packed)}" if packed else "packs nothing",
        ]
        words += [f"peels {' and '.join(peeled)}"] if peeled else []
        words += ["prefetches B"] if self.prefetch else []
        words += ["rows in lanes"] if self.turned else []
        return ", ".join(words)


@dataclass(frozen=True)
class Operand:
    """What the model asks of an operand: bytes, strides along its rows' or columns' axis and along K."""

    element_bytes: int
    along: int | None
    """elements from one row (of A) or column (of B) to the next"""
    summed: int | None
    """elements from one term to the next"""
    is_constant: bool
    is_everybodys: bool
    """whether all entries of the batch read the same elements"""


@dataclass(frozen=True)
class Problem:
    """A contraction as the model sees it; equal problems have equal plans."""

    m: int
    n: int
    k: int
    batch: int
    left: Operand
    right: Operand
    result_bytes: int
    result_along_n: int | None
    sums: int
    """the axes that are summed over"""
    is_finished: bool
    """whether another statement works on the result tile by tile"""
    reassociates: bool


def problem_of(contraction: Contraction) -> Problem:
    """What the plan of a contraction depends on. Tiles are of the innermost axes of M and of N."""
    outer = (*contraction.batch, *contraction.m[:-1], *contraction.n[:-1])
    m, n = contraction.m[-1:], contraction.n[-1:]
    return Problem(
        contraction.extent(m),
        contraction.extent(n),
        contraction.extent(contraction.k),
        contraction.extent(outer),
        _operand(contraction, contraction.left, m[0], outer),
        _operand(contraction, contraction.right, n[0], outer),
        contraction.result_bytes,
        contraction.stride(contraction.result, n[0]),
        len(contraction.k),
        contraction.finished is not None,
        contraction.statement.reassociates,
    )


def _operand(contraction: Contraction, access: Access, own: int, outer: tuple[int, ...]) -> Operand:
    return Operand(
        contraction.facts.element_bytes(access),
        contraction.stride(access, own),
        contraction.stride(access, contraction.k[-1]),
        contraction.facts.buffers[access.buffer].home is Home.CONSTANT,
        not any(access.moves_along(axis) for axis in outer),
    )


def propose(contraction: Contraction, target: Target, n: int = 1) -> list[ContractionPlan]:
    """The `n` plans of least predicted time, cheapest first."""
    return list(_proposed(problem_of(contraction), target, n))


def cost(plan: ContractionPlan, contraction: Contraction, target: Target) -> Cost:
    """The predicted time of one call on one thread."""
    return _Model(problem_of(contraction), target).cost(plan)


@lru_cache(maxsize=1024)
def _proposed(problem: Problem, target: Target, n: int) -> tuple[ContractionPlan, ...]:
    found = list(_plans(problem, target, False))
    if not problem.is_finished and problem.left.along == 1:
        turned = replace(problem, m=problem.n, n=problem.m, left=problem.right, right=problem.left)
        turned = replace(turned, result_along_n=None)
        found += _plans(turned, target, True)
    found.sort(key=lambda pair: (pair[0], pair[1].pack_left + pair[1].pack_right, -pair[1].mc))
    return tuple(dict.fromkeys(plan for _, plan in found))[:n]


def _plans(
    problem: Problem, target: Target, turned: bool
) -> Iterator[tuple[float, ContractionPlan]]:
    model = _Model(problem, target)
    tiles = nsmallest(
        TILES_TRIED, model.tiles(), key=lambda tile: model.arithmetic(*tile, True, True)
    )
    for mr, nr in tiles:
        for plan in model.completed(mr, nr, turned):
            yield model.cost(plan).seconds, plan


class _Model:
    """The sizes and rates that all plans of one problem on one target share."""

    def __init__(self, problem: Problem, target: Target):
        self.problem, self.target = problem, target
        self.core, self.rates = target.core, target.rates
        element = problem.right.element_bytes
        self.lanes = self.core.lanes(max(problem.result_bytes, element))
        self.clock = cycles_per_second(target)
        self.level_1, self.level_2 = self.core.cache(1), self.core.cache(2)
        self.near_1, self.near_2 = kept_bytes(self.level_1), kept_bytes(self.level_2)
        rows, vectors = self.core.probe_tile
        expected = 2 * rows * vectors * self.core.lanes(4) / self.step_cycles(rows, vectors)
        self.efficiency = self.rates.tile_near.core / (expected * self.clock)
        """of the probed tile kernel against its count of cycles"""
        self.left_bytes = problem.m * problem.k * problem.left.element_bytes
        self.right_bytes = problem.k * problem.n * problem.right.element_bytes
        self.threads = team(target) if self._work() >= PARALLEL_WORK else 1

    def _work(self) -> int:
        return self.problem.m * self.problem.n * self.problem.k * self.problem.batch

    # Parameter domains.

    def tiles(self) -> Iterator[tuple[int, int]]:
        """
        MR and NR of tiles whose accumulators, a row of B and a broadcast element of A fit the registers.

        Where N is less than a vector, NR is the power of two that holds it.
        """
        problem, registers = self.problem, self.core.vector_registers
        width = self.lanes
        while width > 1 and width // 2 >= problem.n:
            width //= 2
        # LLVM loads A's elements by pairs on AArch64, the next pair while the last is in use.
        broadcast = 4 if self.target.triple.startswith("aarch64") else 1
        for vectors in range(1, MOST_VECTORS + 1):
            if vectors > 1 and (vectors - 1) * width >= problem.n:
                return
            for mr in range(1, min(problem.m, registers) + 1):
                if mr * vectors + vectors + broadcast > registers:
                    break
                yield mr, vectors * width

    def completed(self, mr: int, nr: int, turned: bool) -> Iterator[ContractionPlan]:
        """The plans with this register tile that can be carried out: blocks are worked out from the caches."""
        problem = self.problem
        for mc, nc, kc, innermost in dict.fromkeys(self._blocks(mr, nr)):
            deep = kc < problem.k
            one_block = mc >= problem.m or mc == mr
            for pack_left in self._left_choices(mr, nr, one_loop=one_block and not deep):
                peel_m = bool(problem.m % mr) and not pack_left
                for pack_right, peel_n in self._right_choices(mr, nr, nc, deep=deep):
                    if nc < problem.n and not pack_right:
                        continue
                    tiles = min(problem.m, mc) // mr
                    far = innermost == "m" and pack_right and nc >= problem.n
                    prefetch = far and tiles > 1 and self.right_bytes > self._packed_near()
                    yield ContractionPlan(
                        turned, mr, nr, min(mc, problem.m), min(nc, problem.n), kc,
                        innermost, pack_left, pack_right, peel_m, peel_n, prefetch,
                    )  # fmt: skip

    def _packed_near(self) -> int:
        """The bytes of a packed B that need not be asked for: those in L2 still."""
        if self.problem.right.is_constant:
            last = self.core.caches[-1]
            return last.bytes // last.shared_by
        return self.near_2

    def _blocks(self, mr: int, nr: int) -> Iterator[tuple[int, int, int, Innermost]]:
        """MC, NC and KC for each order."""
        problem, near = self.problem, self.near_2
        depth = problem.k * problem.right.element_bytes
        columns = round_up(problem.n, nr)
        most_k = max(near // (nr * problem.right.element_bytes), 64)
        for part in (1, 2):  # of L2, for what is used again: all that stays, or half of that
            if problem.sums == 1:
                kc = balanced(problem.k, max(most_k // part // 2, 64))
            else:
                kc = problem.k
            tall = near // part // (kc * problem.left.element_bytes)
            yield problem.m, columns, kc, "m"
            mc = balanced(problem.m, max(tall, mr), mr)
            if mc < problem.m:
                mc = dealt(problem.m, max(tall, mr), mr, self.threads, mr)
            yield mc, columns, kc, "m"
            wide = near // part // max(depth, 1)
            nc = balanced(problem.n, max(wide, nr), nr)
            if nc < problem.n:
                yield (
                    problem.m,
                    dealt(problem.n, max(wide, nr), nr, self.threads, 0),
                    problem.k,
                    "m",
                )
            if nc >= min(2 * nr, columns) and problem.m > mr:
                yield mr, nc, problem.k, "n"

    def _left_choices(self, mr: int, nr: int, *, one_loop: bool) -> list[bool]:
        """Whether A may be read as it is, and whether it may be packed."""
        left = self.problem.left
        if left.is_constant:
            return [True]
        is_ragged = bool(self.problem.m % mr)
        choices = [True] if self.problem.m > 1 else []
        if (left.summed == 1 and (one_loop or not is_ragged)) or not is_ragged or one_loop:
            choices.insert(0, False)
        return choices

    def _right_choices(self, mr: int, nr: int, nc: int, *, deep: bool) -> list[tuple[bool, bool]]:
        """Whether B is packed, with whether the last columns are peeled off."""
        right, rest = self.problem.right, self.problem.n % nr
        can_peel = 0 < rest < self.problem.n and not deep and nc >= self.problem.n
        choices = [(True, False)] + ([(True, True)] if can_peel else [])
        if right.is_constant or right.along != 1 or (rest and not can_peel):
            return choices
        return [(False, can_peel), *choices]

    # Costs.

    def step_cycles(self, rows: int, vectors: float) -> float:
        """
        Cycles of one term of the sum in a tile: multiply-adds, loads, or the latency of one accumulator.

        A term has a multiply-add for each accumulator, a load for each vector of B and a broadcast load for
        each row of A. An accumulator's next multiply-add begins a cycle after the last one ended, rather than in
        the same: other multiply-adds that are ready have taken the port.
        """
        core = self.core
        return max(
            rows * vectors / core.fma_ports,
            (rows + vectors) / core.load_ports,
            core.fma_latency + 1,
        )

    def arithmetic(self, mr: int, nr: int, peel_m: bool, peel_n: bool) -> float:
        """Seconds of all tiles of one entry of the batch, with their operands near."""
        problem = self.problem
        wide = -(-nr // self.lanes)
        rest = problem.n % nr
        heights = [(problem.m // mr, mr)]
        if problem.m % mr:
            heights.append((1, problem.m % mr if peel_m else mr))
        widths = [(problem.n // nr, wide)]
        if rest:
            widths.append((1, -(-rest // self.lanes) if peel_n else wide))
        cycles = 0.0
        for tall, rows in heights:
            for across, vectors in widths:
                # Written once, after the last multiply-adds have come out, and a jump that was not foreseen.
                ending = rows * vectors / self.core.store_ports + 2 * self.core.fma_latency
                steps = problem.k * self.step_cycles(rows, vectors) / self.efficiency
                cycles += tall * across * (steps + ending + self.core.mispredict)
        return cycles / self.clock

    def cost(self, plan: ContractionPlan) -> Cost:
        """The seconds of a plan by term; see the module's docstring for the model."""
        batch = self.problem.batch
        shared = 1 if self.problem.right.is_everybodys else batch
        return cost_of(
            [
                ("arithmetic", batch * self.arithmetic(plan.mr, plan.nr, plan.peel_m, plan.peel_n)),
                ("streaming A", batch * self._streaming_left(plan)),
                ("streaming B", batch * self._streaming_right(plan)),
                ("packing A", batch * self._packing(plan, "left")),
                ("packing B", shared * self._packing(plan, "right")),
                ("writing C", batch * self._writing(plan)),
            ]
        )

    def _beyond_l2(self) -> float:
        """Bytes/s of what is not in L2: from the last cache where the operands stay there between calls."""
        problem = self.problem
        result = problem.m * problem.n * problem.result_bytes
        last = self.core.caches[-1]
        total = problem.batch * (self.left_bytes + self.right_bytes + result)
        if last.level > 2 and total <= last.bytes // last.shared_by:
            return self.rates.beyond_l2.core
        return min(self.rates.beyond_l2.core, self.rates.read_memory.core)

    def _stall(self, elements: float, bytes_: float, rate: float, uses: int) -> float:
        """Seconds of waiting for so many elements, each of which takes part in `uses` multiply-adds at first."""
        return elements * max(0.0, bytes_ / rate - self._computing(uses))

    def _streamed(self, elements: float, bytes_: float, uses: int) -> float:
        """
        The same for a stream from beyond L2, with what it takes to start anew on each page.

        Hardware prefetchers stop at the end of a page, as they do not know where the next one is, and begin again
        after the second miss. (Intel 64 and IA-32 Architectures Optimization Reference Manual, "Data Prefetching".)
        """
        restart = 2 * L3_SECONDS / self.core.page_bytes
        return self._stall(elements, bytes_, self._beyond_l2(), uses) + elements * bytes_ * restart

    def _is_near(self, size: float) -> bool:
        """Whether all operands and so much more are in L2 from one call to the next."""
        return size <= self.near_2

    def _streaming_right(self, plan: ContractionPlan) -> float:
        problem = self.problem
        bytes_ = problem.right.element_bytes
        elements = problem.k * problem.n
        if self._is_near(self.left_bytes + self.right_bytes):
            return 0.0
        panel = self._right_panel(plan, plan.nr)
        if plan.innermost == "m":
            block = plan.mc * plan.kc * problem.left.element_bytes
            again = -(-problem.m // plan.mc)
            if self.right_bytes + block <= self.near_2:
                again = 1
            if panel > self.near_2:
                again = -(-problem.m // plan.mr)
        else:
            block = self._right_panel(plan, plan.nc)
            again = 1 if block <= self.near_2 else -(-problem.m // plan.mr)
        fetched = again - (1 if plan.pack_right else 0)  # packing fetches it the first time
        if plan.pack_right and self._evicts_packed(plan):
            fetched = again
        return self._streamed(elements * fetched, bytes_, min(plan.mr, problem.m))

    def _evicts_packed(self, plan: ContractionPlan) -> bool:
        """Whether panels of B leave L2 after they are packed and before they are used."""
        problem = self.problem
        block = plan.kc * plan.nc * problem.right.element_bytes
        if plan.innermost == "m":  # all rows of a block of A stream by, for each panel
            block += plan.mc * plan.kc * problem.left.element_bytes
        return block > self.near_2

    def _right_panel(self, plan: ContractionPlan, columns: int) -> float:
        """The bytes of L2 that KC rows of so many columns of B take: more where lines share sets."""
        right = self.problem.right
        size = plan.kc * columns * right.element_bytes
        if plan.pack_right or right.summed is None:
            return size
        stride, width = right.summed * right.element_bytes, columns * right.element_bytes
        crowd = most_in_a_set(
            self.level_2, min(plan.kc, 4096), stride, min(width, self.level_2.way_bytes)
        )
        even = max(size / self.level_2.way_bytes, 1)
        return size * max(1.0, crowd / (even + 1))

    def _streaming_left(self, plan: ContractionPlan) -> float:
        problem, left = self.problem, self.problem.left
        bytes_, elements = left.element_bytes, problem.m * problem.k
        uses = min(plan.nr, problem.n)
        tiles = -(-problem.n // plan.nr)
        seconds = 0.0
        if not self._is_near(self.left_bytes + self.right_bytes):
            block = plan.mc * plan.kc * bytes_ + self._right_panel(plan, plan.nr)
            if plan.innermost == "m":
                again = 1 if block <= self.near_2 else tiles
            else:
                again = -(-problem.n // plan.nc)
            fetched = max(again - (1 if plan.pack_left else 0), 0)
            seconds += self._streamed(elements * fetched, bytes_, uses)
        if plan.pack_left:
            return seconds
        return seconds + elements * tiles * self._colliding(plan, uses)

    def _colliding(self, plan: ContractionPlan, uses: int) -> float:
        """
        Seconds for each element of an A that is not packed, where its rows, or its columns where they are
        what is read, evict each other from L1 before the rest of their lines is used.
        """
        left, line = self.problem.left, self.level_1.line_bytes
        if left.along is None or left.summed is None or 1 not in (left.along, left.summed):
            return self._refetched(line, uses)
        if left.summed != 1:
            # MR neighbours of each term: a new line each time, of which the next tile of rows uses the rest.
            return self._refetched(line / plan.mr, uses)
        stride = left.along * left.element_bytes
        if most_in_a_set(self.level_1, plan.mr, stride) < self.level_1.ways:
            return 0.0  # one way is left for B
        slowdown = self.rates.slowdown(plan.mr)
        if stride % self.core.page_bytes == 0 and slowdown.source == "measured":
            return (slowdown.core - 1) * self._computing(uses)
        return self._refetched(line, uses)

    def _computing(self, uses: int) -> float:
        """Seconds in which an element takes part in so many multiply-adds."""
        peak = self.rates.tile_near.core * 4 / self.problem.right.element_bytes
        return 2 * uses / peak

    def _refetched(self, bytes_: float, uses: int) -> float:
        """
        Seconds of waiting for an element of A for which so many bytes come from L2 again.

        Between nothing and all of what can be hidden behind multiply-adds is: the middle of the two is taken, as
        loads that miss L1 in turn stop the ones behind them. (Slowdowns of 1.3 to 1.8 were measured, of a time
        in which 1 to 1.5 times as long was fetched.)
        """
        fetching = bytes_ / self.rates.read_l2.core
        computing = self._computing(uses)
        return (max(fetching, computing) + fetching - computing) / 2

    def _packing(self, plan: ContractionPlan, which: Literal["left", "right"]) -> float:
        """Seconds to copy an operand into panels; constants are packed when the program is compiled."""
        is_left = which == "left"
        operand = self.problem.left if is_left else self.problem.right
        is_packed = plan.pack_left if is_left else plan.pack_right
        if not is_packed or operand.is_constant:
            return 0.0
        size = self.left_bytes if is_left else self.right_bytes
        rate = self.rates.pack_near if self._is_near(2 * size) else self.rates.pack_far
        seconds = size / rate.core
        # What is read along the sum is transposed in registers: log2(lanes) shuffles for each vector.
        if operand.along != 1:
            vectors = size / operand.element_bytes / self.lanes
            seconds += vectors * log2(max(self.lanes, 2)) / self.clock
        blocks = plan.nc < self.problem.n if not is_left else plan.mc < self.problem.m
        if not blocks and size > self.near_2:
            seconds += 2 * size / self._beyond_l2()  # the copy leaves L2 and comes back
        return seconds

    def _writing(self, plan: ContractionPlan) -> float:
        """C goes to where it came from: read and written once, and once more for each further block of the sum."""
        problem = self.problem
        size = problem.m * problem.n * problem.result_bytes
        times = -(-problem.k // plan.kc)
        if times == 1 and self._is_near(size + self.left_bytes + self.right_bytes):
            return 0.0
        rate = self._beyond_l2()
        seconds = 2 * size * times / rate
        if plan.turned:
            seconds += size / self.rates.pack_near.core
        return seconds
