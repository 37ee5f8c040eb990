"""
The sizes of one contraction and the rates of one target that the terms of a plan's time share.

What is used again comes from L2 where it stays there, and otherwise from beyond: at a rate of its own, and with a
wait of its own at the beginning of each piece.
"""

from __future__ import annotations

from ...frozen import frozen
from ...lazy import cached_property
from ...targets.estimates import L3_SECONDS, MEMORY_SECONDS
from ...targets.rates import PIECE_BYTES, ROWS_PANELS
from ...targets.target import Target
from .contraction_plan import ContractionPlan
from .contraction_problem import Operand, Problem
from .cost import (
    TRANSLATED,
    TileSteps,
    beyond_share,
    bytes_taken,
    cycles_per_second,
    half_part,
    kept_bytes,
    lost_part,
    most_in_a_set,
    restart_seconds,
)
from .threads import PARALLEL_WORK, team

TRANSLATION = 7
"""
Cycles in which the second level of the TLB answers, of which half are hidden: 7 on Intel's cores, 7 to 8 on AMD's. (Intel 64 and IA-32
Architectures Optimization Reference Manual; Software Optimization Guide for AMD Family 19h.)
"""

FOLLOWED_STEP = 2048
"""Bytes between loads of one instruction that prefetchers follow at most; the source is with `pieces_are_apart`."""


@frozen
class Beyond:
    """Where something is that is not in L2."""

    rate: float
    """bytes/s that come from there"""
    latency: float
    """seconds from a load to its line, which nothing has asked for before"""
    begun: float
    """seconds that a stream waits for each of the first two lines of a page, which prefetchers may have asked for"""


class ContractionRates:
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
        rows, columns = self.core.probe_tile[0], self.core.probe_tile[1] * self.core.lanes(4)
        self.waiting_left = self._waiting(self.rates.tile_narrow_far.core, rows)
        """seconds that tiles wait for each byte of A from beyond L2, however long they compute with it"""
        self.waiting_right = self._waiting(self.rates.tile_wide_far.core, columns)
        """
        the same of B, of which nothing has asked for a panel before. The probed tile has waited for the beginnings of pages, and for what it never
        hides, as well: with all of them it would be charged with more than it took. It also waits for the bandwidth meanwhile, which tiles of more
        rows do not, and these take as much longer. (On an Emerald Rapids core six products of 96 to 512 rows, with tiles of N innermost beside tiles of M
        innermost that ask for the next panel, took 0.97 to 1.05 of the time, which is predicted to 3 % in the mean with this, and to 4 without, and
        more exactly in each.)
        """
        self.waiting_rows = max(self._waiting_rows(), self.waiting_left)
        """the same of A's rows where they are read as they are, and it was not measured how long a piece of one is waited for"""
        self.waiting_piece = self._waiting_piece()
        """seconds that tiles wait for each piece of a row that is read as it is, in L3"""
        self.waiting_near = self._waiting_near()
        """seconds that tiles wait for each byte of rows of A, read as they are, that comes from L2"""
        self.left_bytes = problem.m * problem.k * problem.left.element_bytes
        self.right_bytes = problem.k * problem.n * problem.right.element_bytes
        self.threads = team(target) if self._work() >= PARALLEL_WORK else 1

    @property
    def result_is_far(self) -> bool:
        """Whether some of C, with what it is finished with, leaves L2 between calls."""
        return self.result_share > 0

    @cached_property
    def result_share(self) -> float:
        """The part of C, and of what it is finished with, that is not in L2 when a call begins."""
        problem = self.problem
        size = (
            problem.batch * problem.m * problem.n * (problem.result_bytes + problem.finished_with)
        )
        size += self.in_a_call(problem.left, self.left_bytes)
        size += self.in_a_call(problem.right, self.right_bytes)
        return self.beyond_share(size)

    @cached_property
    def entry_bytes(self) -> int:
        """The bytes of the operands and the result of an entry of the batch."""
        result = self.problem.m * self.problem.n * self.problem.result_bytes
        return self.left_bytes + self.right_bytes + result

    @cached_property
    def rows_hints_gain(self) -> bool:
        """Whether tiles gain by asking for rows of A that they read where they are: from beyond L2, where prefetchers do not find them."""
        left = self.problem.left
        return (
            left.summed == 1
            and left.computing is None
            and not self.problem.is_of_one_buffer
            and self.target.takes_hints_in_sums
            and self.rates.hints_gain
            and self.far_share(left) > 0
        )

    @cached_property
    def may_pack_in_tiles(self) -> bool:
        """Whether tiles may copy rows of B that they use, and ask for them: B is copied as it is."""
        problem, right = self.problem, self.problem.right
        copies_rows = right.read_along == 1 and not (right.is_extended or right.computing)
        is_own = not (right.is_constant or problem.is_of_one_buffer)
        return (
            copies_rows
            and is_own
            and (problem.batch == 1 or not right.is_everybodys)
            and self.target.takes_hints_in_sums
        )

    @cached_property
    def panels_hints_gain(self) -> bool:
        """Whether tiles gain by asking L1 for packed panels of B that come from L2."""
        return self.target.takes_hints_in_sums and self.rates.panels_hints_gain

    # How far operands and the result are, and what it takes to wait for them.

    @cached_property
    def beyond_l2(self) -> Beyond:
        """Where operands and results are that are not in L2: in the last cache where all of them stay there between calls."""
        return self.beyond_of(self.problem.batch * self.entry_bytes)

    def between_calls(self, operand: Operand) -> Beyond:
        """Where an operand is that is not in L2 when a call begins: a constant in memory, if those of the program leave the last cache."""
        if operand.least_between_calls > self._last_cache_keeps:
            return self._in_memory
        return self.beyond_l2

    def beyond_of(self, size: float) -> Beyond:
        """Where so many bytes are that are read again and again, while others go by: in a core's part of the last cache, or in memory."""
        return self._in_last_cache if size <= self._last_cache_keeps else self._in_memory

    @cached_property
    def _last_cache_keeps(self) -> int:
        """The bytes that stay in a core's part of the last cache; none where that is its own L2."""
        last = self.core.caches[-1]
        return kept_bytes(last) // last.shared_by if last.level > 2 else 0

    @cached_property
    def _in_last_cache(self) -> Beyond:
        return Beyond(self.rates.beyond_l2.core, self.rates.latency("L3"), L3_SECONDS)

    @cached_property
    def _in_memory(self) -> Beyond:
        rate = min(self.rates.beyond_l2.core, self.rates.read_memory.core)
        return Beyond(rate, self.rates.latency("memory"), MEMORY_SECONDS)

    def stall(self, elements: float, bytes_: float, rate: float, uses: int) -> float:
        """
        Seconds of waiting for so many elements, each of which takes part in `uses` multiply-adds at first: what
        these do not last for, and the part that they never hide, as of what comes from L2.
        """
        unhidden = elements * self.unhidden * bytes_ / rate
        return self.late(elements, bytes_, rate, uses) + unhidden

    def late(self, elements: float, bytes_: float, rate: float, uses: int) -> float:
        """Seconds in which so many elements come after what is computed with the ones before, as of `stall`."""
        return elements * max(0.0, bytes_ / rate - self.computing(uses))

    def coming_back(self, times: float, lost: float) -> tuple[float, float]:
        """
        How often a block that is used so many times comes to L2, which loses a part of it between two of them, and how often it comes by
        lines of which the one before has stayed.
        """
        return 1 + (times - 1) * lost, (times - 1) * lost * (1 - lost)

    def beside_neighbours(self, kept: float, times: float, size: float) -> float:
        """
        How often a block comes to L2 in the mean, with which so many bytes are used: `kept` is how often where they stay there, and `times` where
        they do not, as beside a neighbour that takes half of it. (Tiles of 10 x 32 with 1.4 MB of an L2 of 2 MB took 1.03 to 1.05 of the time
        of others with 0.9 beside one on Emerald Rapids, and 1.01 without.)
        """
        lost = beyond_share(self.near_2 / 2, size)
        return kept + self.steps.neighboured * lost * (times - kept)

    def demand_misses(self, elements: float, bytes_: float, rate: float, uses: int) -> float:
        """
        What multiply-adds hide of a stream, as of `stall`, and not of demand misses, lines that come alone: nothing has asked for these before they are used.
        (Blocks of half of an L2 of 2 MB took 3 to 10 % longer for each element than smaller ones on Intel's Granite Rapids, and 12 % those of
        0.6 of it on Sapphire Rapids: 5 to 25 ns and about 6 for each line that should have been lost, which 2.3 and 6 ns bring.)
        """
        return elements * min(bytes_ / rate, self.computing(uses))

    def streamed(
        self, elements: float, bytes_: float, uses: int, run: float, apart: float, far: Beyond
    ) -> float:
        """
        The same for a stream from beyond L2 of pieces of `run` bytes that begin so many bytes `apart`, with what it takes to
        begin each.

        Hardware prefetchers stop at the end of a page, as they do not know where the next one is, and begin again
        after the second miss. (Intel 64 and IA-32 Architectures Optimization Reference Manual, "Data Prefetching".)
        The lines of a shorter piece are asked for at once, and those of later terms while it waits, as far as the instructions
        that it has under way reach. Where each piece is on a page of its own, an address has to be translated for it as well.
        """
        restart = restart_seconds(self.core.page_bytes, run, far.begun)
        if run < self.core.page_bytes and apart < self.core.page_bytes:
            ahead = self._under_way(uses, run / bytes_) * max(
                run / far.rate, self.computing(uses) * run / bytes_
            )
            restart *= max(0.0, 1 - ahead / far.begun)
        return self.stall(elements, bytes_, far.rate, uses) + elements * bytes_ * restart

    def pieces_are_apart(self, operand: Operand, neighbours: int) -> bool:
        """
        Whether prefetchers do not find pieces of so many neighbours in an operand's rows: each ends on the page that it begins on, and the
        next one is further away than one instruction's steps are followed, 2 KiB. (Intel 64 and IA-32 Architectures Optimization
        Reference Manual, "Data Prefetching".)
        """
        apart = (operand.read_summed or 0) * operand.stored_bytes
        return neighbours * operand.stored_bytes < self.core.page_bytes and apart > FOLLOWED_STEP

    def _under_way(self, rows: int, columns: float) -> float:
        """The terms of a tile of so many rows and columns whose instructions a core has under way at once."""
        vectors = max(columns / self.lanes, 1)
        return self.core.terms_under_way(rows * vectors, rows + vectors)

    def terms_in_l1(self, mr: int, nr: int) -> int:
        """The terms of which L1 keeps a tile's part of one operand while that of the other passes by."""
        left, right = self.problem.left.element_bytes, self.problem.right.element_bytes
        kept = self.level_1.bytes - self.level_1.way_bytes
        return max(kept // (mr * left + nr * right), 1)

    def keeps_block(self, plan: ContractionPlan) -> bool:
        """Whether L1 keeps a block of B, beside the rows of A of one tile, for the tiles of the next rows, with tiles of N innermost."""
        if plan.innermost == "m":
            return False
        left, right = self.problem.left.element_bytes, self.problem.right.element_bytes
        return plan.kc * (plan.mr * left + plan.nc * right) <= self.near_1

    def keeps_rows(self, plan: ContractionPlan, columns: int) -> bool:
        """Whether L1 keeps so many columns of B that are not packed: none of its sets has more lines of its rows than ways but one."""
        right = self.problem.right
        if right.summed is None:
            return True
        apart = right.summed * right.stored_bytes
        width = min(columns * right.stored_bytes, apart)  # shorter rows are read to their ends
        return most_in_a_set(self.level_1, min(plan.kc, 4096), apart, width) < self.level_1.ways

    def lost(self, size: float, streamed: float) -> float:
        """The part of a block of so many bytes that L2 does not keep while so many others go by."""
        return lost_part(self.level_2, self.core.page_bytes, size, streamed)

    def lost_pages(self, plan: ContractionPlan) -> float:
        """
        Of the pages that rows of A and of C are on, the part whose addresses a core no longer has when it comes to these
        rows again, with a block of B in between. Of those it looks up few at a time. None is lost while a quarter of the
        entries is left, as of ways in `kept_bytes`, and all are where there are more pages than entries.
        """
        problem, entries = self.problem, self.core.tlb_pages
        if entries is None:
            return 0.0
        is_by_columns = plan.innermost == "n"
        rows, columns = (problem.m, plan.nc) if is_by_columns else (plan.mc, plan.nr)
        terms = plan.kc if plan.k_outside else problem.k
        pages = self._pages(rows, terms, problem.k, problem.left.stored_bytes)
        pages += self._pages(rows, columns, problem.n, problem.result_bytes)
        pages += terms * columns * problem.right.element_bytes / self.core.page_bytes
        return min(max(4 * pages / entries - 3, 0.0), 1.0)

    def _pages(self, rows: int, elements: int, of: int, bytes_: int) -> float:
        """The pages that so many neighbours of each row are on, `of` those of a whole row. They begin anywhere in a page."""
        page = self.core.page_bytes
        return rows * min(1 + elements * bytes_ / page, of * bytes_ / page)

    def moved_by_copy(self, block: float, between: float) -> float:
        """
        How often the bytes of a copy move between L2 and what is beyond it, of which so many are made together, and so many go by until the same
        lines are written again: as far as these do not stay, they come to be written, and leave again, and what L2 does not keep until
        tiles read it comes once more.
        """
        return 2 * self.beyond_share(between) + (1 if block > self.near_2 else 0)

    def is_near(self, size: float) -> bool:
        """Whether so many bytes stay in L2 from one use to the next."""
        return size <= self.near_2

    def far_share(self, operand: Operand) -> float:
        """
        The part of an operand that is not in L2 when it is needed: both operands of an entry of the batch have gone by since
        where all entries have the same, else those of all entries; and all constants of the program, if it is one.
        """
        share = self._far_shares[operand.is_everybodys]
        return max(share, self.beyond_share(operand.least_between_calls))

    @cached_property
    def _far_shares(self) -> tuple[float, float]:
        """Of operands of which each entry of the batch has its own, and of those that all have."""
        left, right = self.problem.left, self.problem.right
        in_a_call = self.in_a_call(left, self.left_bytes) + self.in_a_call(right, self.right_bytes)
        return self.beyond_share(in_a_call), self.beyond_share(self.left_bytes + self.right_bytes)

    def in_a_call(self, operand: Operand, bytes_: int) -> int:
        """The bytes of an operand in a call, of which one entry of the batch has so many."""
        return bytes_ if operand.is_everybodys else self.problem.batch * bytes_

    def beyond_share(self, size: float) -> float:
        """Of so many bytes that are used in turn, the part that is not in L2 when it is used."""
        return beyond_share(self.near_2, size)

    def computing(self, uses: int) -> float:
        """Seconds in which an element takes part in so many multiply-adds."""
        return 2 * uses / self._peak

    @cached_property
    def _peak(self) -> float:
        """Operations of tiles in a second."""
        return self.rates.tile_near.core * 4 / self.problem.right.element_bytes

    def refetched(self, bytes_: float, uses: int) -> float:
        """
        Seconds of waiting for an element of A for which so many bytes come from L2 again.

        Between nothing and all of what can be hidden behind multiply-adds is: the middle of the two is taken, as
        loads that miss L1 in turn stop the ones behind them. (Slowdowns of 1.3 to 1.8 were measured, of a time
        in which 1 to 1.5 times as long was fetched.)
        """
        fetching = bytes_ / self.rates.read_l2.core
        computing = self.computing(uses)
        return (max(fetching, computing) + fetching - computing) / 2

    def read_across(self, rows: int, terms: int, apart: int, uses: int) -> float:
        """
        Seconds of waiting for an element of an A whose rows are neighbours, and whose terms are so many bytes apart: each is a new line, of which
        the next tile of rows uses the rest. The pages of many terms are translated again for each tile, and lines that share sets of L2 come from
        beyond it.

        (On Intel's Granite Rapids tiles of 9 to 14 rows waited 1.3 to 2.7 ns for each term 1.3 and 2.7 KiB apart, and 7 for those 4 KiB apart.)
        """
        line = self.level_1.line_bytes
        seconds = self.refetched(line / rows, uses)
        if terms * min(apart / self.core.page_bytes, 1) > TRANSLATED:
            seconds += TRANSLATION / 2 / self.clock / rows
        if bytes_taken(self.level_2, terms * line, terms, apart, line) > self.near_2:
            seconds += line / self.beyond_l2.rate / rows
        return seconds

    def row_waiting(self, run: float, far: Beyond) -> float:
        """
        Seconds for each byte of A that tiles wait where its rows are read as they are, in pieces of `run` bytes: for each piece, and each page
        that a longer one goes on to, as the probed tile of pieces does. (Tiles of 9 rows on Emerald Rapids waited 12 to 14 ns for each piece of
        512 bytes to 6 KiB, where a line comes in 131, and tiles of 6 to 9 on Sapphire Rapids 163 ns for each of 512 bytes, 110 to 160 of 1 KiB,
        116 of 2 KiB, where it comes in 160.) Where that was not measured, longer pieces wait as in the probed tile of long rows.
        """
        piece = self.waiting_piece * far.latency / self.rates.latency("L3")
        if self.rates.tile_pieces_far.source in ("measured", "known", "given"):
            return piece / min(run, self.core.page_bytes)
        return max(self.waiting_rows, piece / run if run < self.core.page_bytes else 0.0)

    def _waiting_piece(self) -> float:
        """What the probed tile waits for each of the pieces of rows that come from beyond L2, beside what it does for rows in L2."""
        work = 2 * self.core.probe_tile[1] * self.core.lanes(4) / 4
        waiting = work / self.rates.tile_pieces_far.core - work / self.rates.tile_rows_near.core
        return PIECE_BYTES * max(waiting, 0.0)

    def _waiting_rows(self) -> float:
        """What the probed tile of rows waits for each of their bytes that comes from beyond L2, beside what it does for rows as long in L2."""
        work = 2 * ROWS_PANELS * self.core.probe_tile[1] * self.core.lanes(4) / 4
        return work / self.rates.tile_rows_far.core - work / self.rates.tile_rows_long.core

    def _waiting_near(self) -> float:
        """What the probed tile of rows in L2 waits for each of their bytes, beside what it does when they are packed."""
        work = 2 * self.core.probe_tile[1] * self.core.lanes(4) / 4
        rates = self.rates
        return max(work / rates.tile_rows_near.core - work / rates.tile_near.core, 0.0)

    def _work(self) -> int:
        return self.problem.m * self.problem.n * self.problem.k * self.problem.batch

    def _waiting(self, rate: float, elements: int) -> float:
        """What the probed tile waits for each byte of one operand, of which a term has so many elements, beyond what the bandwidth explains."""
        rows, vectors = self.core.probe_tile
        work, bytes_ = 2 * rows * vectors * self.core.lanes(4), 4 * elements
        explained = max(work / self.rates.tile_near.core, bytes_ / self.rates.beyond_l2.core)
        return max(work / rate - explained, 0.0) / bytes_
