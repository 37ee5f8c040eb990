"""
The predicted time of a contraction's plan.

The model follows what was found with the real tile kernel: it runs at a rate of its own where both operands are
near, and otherwise waits for the operand that streams. An element of the wide operand (B, of NR columns) takes part
in 2·MR operations when it arrives, one of the narrow operand (A, of MR rows) in 2·NR: so long it may be under way.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from functools import cached_property
from math import log2
from typing import Literal

from ...targets.estimates import L3_SECONDS
from ...targets.target import Target
from .computed_operands import keeps_rows
from .contraction_plan import ContractionPlan
from .contraction_problem import Problem, tiles
from .cost import (
    Cost,
    TileSteps,
    cost_of,
    cycles_per_second,
    ending_cycles,
    half_part,
    kept_bytes,
    lost_part,
    most_in_a_set,
    restart_seconds,
)
from .threads import PARALLEL_WORK, team

EXTENDED_ELEMENT = 3
"""Instructions for an element of A that a tile extends itself: a load, a conversion, and a move to all lanes."""

EXTENDED_VECTOR = 2
"""The same for a vector of B: a load that widens, and a conversion."""

TRANSLATED = 64
"""
Pages whose addresses a core translates without a delay: the entries of the first level of its TLB for data. Intel's
cores and AMD's have 64 to 96. (Fog, "The microarchitecture of Intel, AMD and VIA CPUs".)
"""

INTEGER_PRODUCT = 2
"""Instructions for a product of integers and the sum that it goes into, for which floats have one."""


class Model:
    """The sizes and rates that all plans of one problem on one target share."""

    def __init__(self, problem: Problem, target: Target):
        self.problem, self.target = problem, target
        self.core, self.rates = target.core, target.rates
        self.lanes = self.core.lanes(max(problem.result_bytes, problem.right.element_bytes))
        self.clock = cycles_per_second(target)
        self.level_1, self.level_2 = self.core.cache(1), self.core.cache(2)
        self.near_1, self.near_2 = kept_bytes(self.level_1), kept_bytes(self.level_2)
        self.steps = TileSteps.of(target)
        self.unhidden, self.half = self.steps.unhidden, half_part(target)
        self.waiting_left = self._waiting_left()
        """seconds that tiles wait for each byte of A from beyond L2, however long they compute with it"""
        self.left_bytes = problem.m * problem.k * problem.left.element_bytes
        self.right_bytes = problem.k * problem.n * problem.right.element_bytes
        self._arithmetic: dict[Hashable, float] = {}
        """seconds of tiles, by what these depend on"""
        self.threads = team(target) if self._work() >= PARALLEL_WORK else 1

    @property
    def result_is_far(self) -> bool:
        """Whether most of C, with what it is finished with, leaves L2 between calls."""
        return self._result_share > 1 / 2

    @cached_property
    def _result_share(self) -> float:
        """The part of C, and of what it is finished with, that is not in L2 when a call begins."""
        problem = self.problem
        size = (
            problem.batch * problem.m * problem.n * (problem.result_bytes + problem.finished_with)
        )
        for operand, bytes_ in ((problem.left, self.left_bytes), (problem.right, self.right_bytes)):
            size += bytes_ if operand.is_everybodys else problem.batch * bytes_
        return self._beyond_share(size)

    def _work(self) -> int:
        return self.problem.m * self.problem.n * self.problem.k * self.problem.batch

    def _waiting_left(self) -> float:
        """What the probed tile waits for its narrow operand, beyond what the bandwidth explains."""
        rows, vectors = self.core.probe_tile
        work, bytes_ = 2 * rows * vectors * self.core.lanes(4), 4 * rows
        explained = max(work / self.rates.tile_near.core, bytes_ / self.rates.beyond_l2.core)
        return max(work / self.rates.tile_narrow_far.core - explained, 0.0) / bytes_

    # Costs.

    def tile_time(self, mr: int, nr: int) -> float:
        """Seconds of all tiles of a size, those at the edges peeled off, with both operands coming from L2."""
        fetched = (self.problem.left.element_bytes, self.problem.right.element_bytes)
        return self._tiles_time(tiles(self.problem, mr, nr, (True, True)), fetched)

    def arithmetic(self, plan: ContractionPlan) -> float:
        """
        Seconds of the tiles of one entry of the batch, with what they bring from L2.

        With tiles of M innermost, B's panel is in L1 and A comes from L2; with tiles of N innermost A's sliver is
        in L1, and B comes from L2. What is used again by the next tile must stay while all that this tile uses
        goes by: both together leave one way for C. (Low et al., as of `kept_bytes`.)
        """
        left, right = self.problem.left.element_bytes, self.problem.right.element_bytes
        by_rows = plan.innermost == "m"
        tile = (plan.mr * left + plan.nr * right) * plan.kc
        is_near = tile <= self.level_1.bytes - self.level_1.way_bytes
        near_left, near_right = is_near and not by_rows, is_near and by_rows
        fetched = (0 if near_left else left, 0 if near_right else right)
        peels, packs = (plan.peel_m, plan.peel_n), (plan.pack_left, plan.pack_right)
        same = plan.mr, plan.nr, peels, packs, plan.mirrored, fetched  # as of many other plans
        seconds = self._arithmetic.get(same)
        if seconds is None:
            extending = (
                EXTENDED_ELEMENT if self.problem.left.is_extended and not plan.pack_left else 0,
                EXTENDED_VECTOR if self.problem.right.is_extended and not plan.pack_right else 0,
            )
            counted = tiles(self.problem, plan.mr, plan.nr, peels, mirrored=plan.mirrored)
            split = self.problem.right.split_part(self.core, is_packed=plan.pack_right)
            seconds = self._tiles_time(counted, fetched, extending, split)
            self._arithmetic[same] = seconds
        is_apart = bool(self.problem.exact_terms) and not plan.sums_in
        return seconds * (INTEGER_PRODUCT if is_apart else 1)

    def _tiles_time(
        self,
        tiles: Iterable[tuple[int, int, int]],
        fetched: tuple[int, int],
        extending: tuple[int, int] = (0, 0),
        split: float = 0,
    ) -> float:
        """
        The same for so many tiles of so many rows and columns, which bring so many bytes from L2 for each element of A and of B, and extend each element of
        A and each vector of B by so many instructions. A part of B's vectors is `split` between lines.
        """
        cycles = 0.0
        for count, rows, columns in tiles:
            vectors = -(-columns // self.lanes)
            extended = rows * extending[0] + vectors * extending[1]
            bytes_ = fetched[0], self.lanes * fetched[1]
            part = self.half if 2 * columns <= self.lanes else 1.0
            step = self.steps.cycles(rows, vectors, bytes_, split, extended, part)
            ending = ending_cycles(self.core, rows, part * vectors)
            cycles += count * (self.problem.k * step + ending)
        return cycles / self.clock

    def cost(self, plan: ContractionPlan) -> Cost:
        """The seconds of a plan by term; see the module's docstring for the model."""
        return cost_of(self._terms(plan))

    def seconds(self, plan: ContractionPlan, most: float) -> float | None:
        """The seconds of a plan; None as soon as the first terms are more than `most`."""
        seconds = 0.0
        for _, term in self._terms(plan):
            seconds += term
            if seconds > most:
                return None
        return seconds

    def _terms(self, plan: ContractionPlan) -> Iterator[tuple[str, float]]:
        batch = self.problem.batch
        shared = 1 if self.problem.right.is_everybodys else batch
        yield "arithmetic", batch * self.arithmetic(plan)
        yield "streaming A", batch * self._streaming_left(plan)
        yield "streaming B", batch * self._streaming_right(plan)
        yield "packing A", batch * self._packing(plan, "left")
        yield "packing B", shared * self._packing(plan, "right")
        yield "computing A", batch * self._computing_ahead(plan, "left")
        yield "computing B", shared * self._computing_ahead(plan, "right")
        yield "writing C", batch * (self._writing(plan) + self._writing_columns(plan))
        yield "mirroring C", batch * self._mirroring(plan)

    @cached_property
    def _beyond_l2(self) -> float:
        """Bytes/s of what is not in L2: from the last cache where the operands stay there between calls."""
        problem = self.problem
        result = problem.m * problem.n * problem.result_bytes
        return self._rate_of(problem.batch * (self.left_bytes + self.right_bytes + result))

    def _rate_of(self, size: float) -> float:
        """Bytes/s from beyond L2 of so many bytes that are read again and again."""
        last = self.core.caches[-1]
        if last.level > 2 and size <= last.bytes // last.shared_by:
            return self.rates.beyond_l2.core
        return min(self.rates.beyond_l2.core, self.rates.read_memory.core)

    def _stall(self, elements: float, bytes_: float, rate: float, uses: int) -> float:
        """
        Seconds of waiting for so many elements, each of which takes part in `uses` multiply-adds at first: what
        these do not last for, and the part that they never hide, as of what comes from L2.
        """
        fetching = bytes_ / rate
        return elements * (max(0.0, fetching - self._computing(uses)) + self.unhidden * fetching)

    def _streamed(
        self, elements: float, bytes_: float, uses: int, run: float, rate: float
    ) -> float:
        """
        The same for a stream from beyond L2 of pieces of `run` bytes, with what it takes to begin each.

        Hardware prefetchers stop at the end of a page, as they do not know where the next one is, and begin again
        after the second miss. (Intel 64 and IA-32 Architectures Optimization Reference Manual, "Data Prefetching".)
        The lines of a shorter piece are asked for at once.
        """
        restart = restart_seconds(self.core.page_bytes, run)
        return self._stall(elements, bytes_, rate, uses) + elements * bytes_ * restart

    def _lost(self, size: float, streamed: float) -> float:
        """The part of a block of so many bytes that L2 does not keep while so many others go by."""
        return lost_part(self.level_2, self.core.page_bytes, size, streamed)

    def _is_near(self, size: float) -> bool:
        """Whether so many bytes stay in L2 from one use to the next."""
        return size <= self.near_2

    @cached_property
    def _far_share(self) -> float:
        """The part of both operands that is not in L2 when a call begins."""
        return self._beyond_share(self.left_bytes + self.right_bytes)

    def _beyond_share(self, size: float) -> float:
        """Of so many bytes that are used in turn: of little more than stays in L2, the replacement of lines loses some and not all."""
        return min(max(size / self.near_2 - 1, 0.0), 1.0)

    def _streaming_right(self, plan: ContractionPlan) -> float:
        problem = self.problem
        bytes_ = problem.right.read_bytes(is_packed=plan.pack_right)
        elements = problem.k * problem.n
        share = self._far_share
        if not share:
            return 0.0
        panel = self._right_panel(plan, plan.nr)
        if plan.innermost == "m":
            block = plan.mc * plan.kc * problem.left.element_bytes
            again = -(-problem.m // plan.mc)
            used = self._right_panel(plan, plan.nc) if plan.k_outside else self.right_bytes
            if used + block <= self.near_2:
                again = 1
            if panel > self.near_2:
                again = -(-problem.m // plan.mr)
        else:
            block = self._right_panel(plan, plan.nc)
            again = -(-problem.m // plan.mr)
            if block <= self.near_2:
                beside = plan.mr * (
                    plan.kc * problem.left.element_bytes + plan.nc * problem.result_bytes
                )
                again = 1 + (again - 1) * self._lost(block, beside)
        is_packed_now = plan.pack_right and not problem.right.is_constant
        fetched = again - (1 if is_packed_now else 0)  # packing fetches it the first time
        if plan.pack_right and self._evicts_packed(plan):
            fetched = again
        is_dense = plan.pack_right or problem.right.summed == min(plan.nr, problem.n)
        run = (plan.kc if is_dense else 1) * plan.nr * bytes_
        uses = min(plan.mr, problem.m)
        size = (plan.kc if plan.k_outside else problem.k) * plan.nc * bytes_
        rate = self._rate_of(size) if again > 1 else self._beyond_l2
        if plan.innermost == "n":
            fetched *= self._computed_part(plan)
        if (
            plan.prefetch
        ):  # all tiles that use a panel ask for the next one, which comes to L2 meanwhile
            return share * self._stall(elements * fetched, bytes_, rate, min(plan.mc, problem.m))
        return share * self._streamed(elements * fetched, bytes_, uses, run, rate)

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
        bytes_ = right.read_bytes(is_packed=plan.pack_right)
        size = plan.kc * columns * bytes_
        if plan.pack_right or right.summed is None:
            return size
        stride, width = right.summed * bytes_, columns * bytes_
        crowd = most_in_a_set(
            self.level_2, min(plan.kc, 4096), stride, min(width, self.level_2.way_bytes)
        )
        even = max(size / self.level_2.way_bytes, 1)
        return size * max(1.0, crowd / (even + 1))

    def _streaming_left(self, plan: ContractionPlan) -> float:
        if plan.left_by_rows:  # tiles find their rows near: packing waits for them
            return 0.0
        problem, left = self.problem, self.problem.left
        bytes_ = left.read_bytes(is_packed=plan.pack_left)
        elements = problem.m * problem.k
        uses = min(plan.nr, problem.n)
        tiles = -(-problem.n // plan.nr)
        seconds = 0.0
        share = self._far_share
        if share:
            block = plan.mc * plan.kc * bytes_ + self._right_panel(plan, plan.nr)
            if plan.innermost == "m":
                again = tiles
                if block <= self.near_2:
                    panel = plan.nr * (
                        plan.kc * problem.right.element_bytes + plan.mc * problem.result_bytes
                    )
                    again = 1 + (tiles - 1) * self._lost(plan.mc * plan.kc * bytes_, panel)
            else:
                again = -(-problem.n // plan.nc)
            is_copied = plan.pack_left or self._keeps_rows(plan)
            is_copied_now = is_copied and not left.is_constant
            fetched = max(again - (1 if is_copied_now else 0), 0)
            if plan.innermost == "m":
                fetched *= self._computed_part(plan)
            is_dense = is_copied or left.along == plan.kc
            run = (plan.mr if is_dense else 1) * plan.kc * bytes_
            size = (plan.kc if plan.k_outside else problem.k) * problem.m * bytes_
            rate = self._rate_of(size) if again > 1 else self._beyond_l2
            # The pages of a row and of the next one begin together where rows are read as they are: what a tile waits for at the start of one it waits for once.
            at_once = 1 if is_copied or left.summed != 1 else min(plan.mr, problem.m)
            waited = (
                elements
                * fetched
                * bytes_
                * (self.waiting_left + restart_seconds(self.core.page_bytes, run))
            )
            stalled = self._stall(elements * fetched, bytes_, uses=uses, rate=rate)
            seconds += share * (stalled + waited / at_once)
        if plan.pack_left and not plan.left_in_rows:
            return seconds
        return seconds + elements * tiles * self._colliding(plan, uses)

    def _colliding(self, plan: ContractionPlan, uses: int) -> float:
        """
        Seconds for each element of an A that is not packed, where its rows, or its columns where they are
        what is read, evict each other from L1 before the rest of their lines is used.
        """
        left, line = self.problem.left, self.level_1.line_bytes
        along, summed = left.along, left.summed
        if plan.left_in_rows or self._keeps_rows(plan):  # the copy is as the plan has made it
            along, summed = (1, plan.mc) if left.read_along == 1 else (plan.kc, 1)
        if along is None or summed is None or 1 not in (along, summed):
            return self._refetched(line, uses)
        if summed != 1:
            # MR neighbours of each term: a new line each time, of which the next tile of rows uses the rest.
            return self._refetched(line / plan.mr, uses)
        stride = along * left.read_bytes(is_packed=plan.pack_left)
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
        """Seconds to copy an operand into panels; constants are packed when the program is loaded."""
        is_left = which == "left"
        operand = self.problem.left if is_left else self.problem.right
        is_packed = plan.pack_left if is_left else plan.pack_right
        if not is_packed or operand.is_constant:
            return 0.0
        written = self.left_bytes if is_left else self.right_bytes
        size = (written + written * operand.source_bytes / operand.element_bytes) / 2
        is_near = self._is_near(2 * size) or (is_left and plan.left_by_rows)
        rate = self.rates.pack_near if is_near else self.rates.pack_far
        seconds = size / rate.core
        # What is read along the sum is transposed in registers: log2(lanes) shuffles for each vector.
        vectors = written / operand.element_bytes / self.lanes
        if operand.read_along != 1 and not (is_left and plan.left_in_rows):
            seconds += vectors * log2(max(self.lanes, 2)) / self.clock
        if operand.computing is not None:
            seconds += vectors * operand.computing.work / self.core.fma_ports / self.clock
        blocks = plan.nc < self.problem.n if not is_left else plan.mc < self.problem.m
        if is_left and plan.left_by_rows:
            source = written * operand.source_bytes / operand.element_bytes
            seconds += self._far_share * source / self._beyond_l2
        elif plan.k_outside:
            rows = plan.mc if plan.innermost == "m" else self.problem.m
            across = rows if is_left else plan.nc
            blocks = self._is_near(plan.kc * across * operand.element_bytes)
        if not blocks and written > self.near_2:
            seconds += 2 * written / self._beyond_l2  # the copy leaves L2 and comes back
        # Blocks of A are copied for each block of columns around them.
        is_again = is_left and (plan.k_outside or plan.left_by_rows)
        again = -(-self.problem.n // plan.nc) if is_again else 1
        return seconds * again

    def _keeps_rows(self, plan: ContractionPlan) -> bool:
        """Whether A is computed, and not packed, for one block of rows after the other."""
        is_computed = self.problem.left.computing is not None and not plan.pack_left
        return is_computed and keeps_rows(plan, self.problem.m, self.problem.k)

    def _computing_ahead(self, plan: ContractionPlan, which: Literal["left", "right"]) -> float:
        """
        Seconds to compute an operand that is not packed: its arithmetic goes on while data move, but loads and stores
        and what moves between caches take turns (as of `rows_cost.py`). What does not stay in L2 comes back.
        """
        problem = self.problem
        is_left = which == "left"
        operand = problem.left if is_left else problem.right
        made = operand.computing
        if made is None or (plan.pack_left if is_left else plan.pack_right):
            return 0.0
        elements = problem.k * (problem.m if is_left else problem.n)
        written, read = elements * operand.stored_bytes, elements * made.read_bytes
        again, kept = 1, written
        if is_left and self._keeps_rows(plan):
            again, kept = -(-problem.n // plan.nc), plan.mc * plan.kc * operand.stored_bytes
        every = problem.batch * (self.left_bytes + self.right_bytes + read)
        near, far = self.rates.read_l2.core, self._beyond_l2
        moving = read / (near if self._is_near(every) else far)
        moving += 0.0 if kept <= self.near_1 else written / near
        coming_back = 0.0 if self._is_near(kept + read * kept / written) else written / far
        accesses = max(made.loads / self.core.load_ports, 1 / self.core.store_ports)
        vectors = elements / self.lanes / self.clock
        work = vectors * made.work / self.core.fma_ports
        return again * (max(work, vectors * accesses + moving) + coming_back)

    def _row_seconds(self, plan: ContractionPlan) -> float:
        """
        Seconds of waiting for the lines of a row of a tile, where the next tile is not to the right of it.

        Where rows do not begin with a line, they end in one that was not asked for, and stores leave in order: one
        waits for another. Rows on more pages than a core translates at once are found anew in each tile, and
        prefetchers, which see new rows each time, follow none of them. What was asked for comes row after row while the
        tile is computed: the tile's own loads wait for it in the part of the time in which it is under way. (With
        blocks of K outside, tiles wait for their part of C anyway.)
        """
        problem = self.problem
        row = problem.n * problem.result_bytes
        streams = 1 + problem.finished_with / problem.result_bytes
        if row % self.level_1.line_bytes:
            return L3_SECONDS
        pages = plan.mc * min(1.0, row / self.core.page_bytes) * streams
        if plan.k_outside or plan.nr >= problem.n or pages <= TRANSLATED:
            return 0.0
        coming, computing = streams * L3_SECONDS, plan.kc * self._computing(plan.nr)
        return coming * coming / (coming + computing)

    def _computed_part(self, plan: ContractionPlan) -> float:
        """The part of the result's elements that tiles compute."""
        if not plan.mirrored:
            return 1.0
        return min(0.5 + max(plan.mr, plan.nr) / (2 * self.problem.n), 1.0)

    def _mirroring(self, plan: ContractionPlan) -> float:
        """
        Seconds to copy the elements below the diagonal one by one, and to finish the result after that. What is read
        along columns is a line for each row: it is there for the next column if L1 keeps so many lines.
        """
        if not plan.mirrored:
            return 0.0
        problem, line = self.problem, self.level_1.line_bytes
        size = problem.n * problem.n * problem.result_bytes
        stays = problem.n * line <= self.near_1
        fetched = problem.result_bytes if stays else line
        rate = self.rates.read_l2.core if self._is_near(size) else self._beyond_l2
        seconds = problem.n * problem.n / 2 * (1 / self.clock + fetched / rate)
        if problem.is_finished:
            packing = self.rates.pack_near if self._is_near(2 * size) else self.rates.pack_far
            seconds += size / packing.core
        return seconds

    def _writing(self, plan: ContractionPlan) -> float:
        """
        C goes to where it came from: read and written once, and once more for each further block of the sum where
        these are outside of the loops over rows. Then it is initialised by itself before, too, and a tile begins
        when its part of C, of which all lines are asked for at once, has come. Where they are inside, the MC × NR
        elements that are used again stay near. What C is finished with comes once.
        """
        problem = self.problem
        elements = problem.m * problem.n
        size = elements * problem.result_bytes
        times = -(-problem.k // plan.kc) if plan.k_outside else 1
        if times == 1 and not self._result_share:
            return 0.0
        rate, share = self._beyond_l2, self._result_share if times == 1 else 1.0
        seconds = share * (2 * size * times + elements * problem.finished_with) / rate
        tiles = elements * self._computed_part(plan) / (plan.mr * plan.nr)
        if plan.k_outside:
            seconds += 2 * size / rate + times * tiles * L3_SECONDS
        if plan.innermost == "m":
            seconds += share * times * tiles * plan.mr * self._row_seconds(plan)
        if plan.turned and plan.innermost == "n":  # no tile before was near these lines
            begun = min(plan.mr * problem.result_bytes / self.level_1.line_bytes, 1.0)
            seconds += share * tiles * plan.nr * begun * L3_SECONDS
        return seconds

    def _writing_columns(self, plan: ContractionPlan) -> float:
        """Seconds in which tiles that are computed transposed leave by elements, in a loop over each short row."""
        each = 1 / self.core.store_ports + self.core.mispredict / plan.mr
        return self.problem.m * self.problem.n * each / self.clock if plan.turned else 0.0
