"""
What all plans of a contraction with some blocks wait for A and B at least, packed or not.

Plans are looked at only where this does not show that another one takes less: see `contraction.py`. What each waits for itself is
in `contraction_cost.py`.
"""

from __future__ import annotations

from math import inf

from ...lazy import cached_property
from .contraction_hints import asks_for_rows
from .contraction_plan import ContractionPlan, Innermost
from .contraction_rates import Beyond, ContractionRates
from .contraction_result import computed_part
from .cost import restart_seconds

Brought = tuple[tuple[float, float], int]
"""See `LeastWaits.brought`."""


class LeastWaits(ContractionRates):
    """The least that plans wait, from what one with the same blocks does."""

    def brought(self, plan: ContractionPlan, *, packs_right: bool) -> Brought:
        """
        The bytes that tiles bring from L2 for each element of A and of B, and the blocks of terms after which they are read and written
        in turn. All plans with the same tile and blocks that pack B have them in common, and all that do not.
        """
        raise NotImplementedError

    def colliding(self, plan: ContractionPlan, uses: int) -> float:
        """
        Seconds for each element of an A that is not packed, where its rows, or its columns where they are
        what is read, evict each other from L1 before the rest of their lines is used.
        """
        raise NotImplementedError

    def least_waits(self, plan: ContractionPlan) -> float:
        """Seconds that all plans with the blocks of one wait for A and B, and copy A, at least."""
        return self._waiting_for_left(plan) + self._waiting_for_right(plan)

    def _waiting_for_left(self, plan: ContractionPlan) -> float:
        """
        The same for A alone: as it is, or packed. All of it comes for each block of columns, with tiles of N innermost; and each block of rows
        that L2 does not keep for each panel of B, with tiles of M innermost. The first time it comes to be packed.
        """
        problem, left = self.problem, self.problem.left
        bytes_, of_blocks = min(left.element_bytes, left.stored_bytes), -(-problem.n // plan.nc)
        again, part = of_blocks, 1.0
        if plan.innermost == "m":
            terms = plan.kc if plan.k_outside else problem.k  # from one use of a block to the next
            panel = plan.kc * plan.nr * min(problem.right.element_bytes, problem.right.stored_bytes)
            is_kept = plan.mc * terms * bytes_ + panel <= self.near_2
            again, part = 1 if is_kept else -(-problem.n // plan.nr), computed_part(plan, problem.n)
        found = [self._streaming(plan, part * (again - 1)) + self._copying_left]
        if not left.is_constant:
            times = part * (again - (left.computing is not None))
            by_rows = left.summed == 1
            reading = self._reading_rows if by_rows else self._reading_columns
            found.append(reading(plan, times))
        if self.may_pack_by_rows(plan.innermost):
            coming = self.far_share(left) * self._left_source / self.beyond_l2.rate
            found.append(of_blocks * coming)
        return min(found)

    @cached_property
    def _left_source(self) -> float:
        """The bytes that A is copied from."""
        left = self.problem.left
        return self.left_bytes * left.source_bytes / left.element_bytes

    @cached_property
    def _copying_left(self) -> float:
        """Seconds to copy A at least, before tiles read it."""
        if self.problem.left.is_constant:
            return 0.0
        size = (self.left_bytes + self._left_source) / 2
        rate = self.rates.pack_near if self.is_near(2 * size) else self.rates.pack_far
        return size / rate.core

    def _streaming(self, plan: ContractionPlan, times: float) -> float:
        """Seconds that tiles wait at least where so many times all of A comes, packed or by columns."""
        share, bytes_, far, begun = self._far_left
        if not share or not times:
            return 0.0
        problem = self.problem
        coming = problem.m * problem.k * times
        stalled = self.stall(coming, bytes_, far.rate, min(plan.nr, problem.n))
        return share * (stalled + coming * bytes_ * (self.waiting_left + begun))

    @cached_property
    def _far_left(self) -> tuple[float, int, Beyond, float]:
        """The part of A that is beyond L2, the least bytes of its elements, where all of it is, and the seconds that each byte waits for a new page."""
        problem, left = self.problem, self.problem.left
        bytes_ = min(left.element_bytes, left.stored_bytes)
        far = self.beyond_of(problem.m * problem.k * bytes_)
        begun = restart_seconds(self.core.page_bytes, inf, far.begun)
        return self.far_share(left), bytes_, far, begun

    def _reading_columns(self, plan: ContractionPlan, times: float) -> float:
        """The same where columns are read as they are."""
        problem, streamed = self.problem, self._streaming(plan, times)
        if problem.left.computing is not None:  # they may be copied
            return streamed
        tiles = -(-problem.n // plan.nr)
        across = self.colliding(plan, min(plan.nr, problem.n))
        return streamed + problem.m * problem.k * tiles * across

    def _reading_rows(self, plan: ContractionPlan, times: float) -> float:
        """The same where its rows are read as they are, or are asked for, and are streams of their own."""
        problem, (share, bytes_, far, _) = self.problem, self._far_left
        elements, uses = problem.m * problem.k, min(plan.nr, problem.n)
        late = self.late(elements * times, bytes_, far.rate, uses)
        waiting = elements * times * bytes_ * self.waiting_left
        seconds = late if asks_for_rows(self, problem, plan) else max(late, waiting)
        (near, _), _ = self.brought(plan, packs_right=False)
        tiles = -(-problem.n // plan.nr)
        return share * seconds + elements * tiles * near * self.waiting_near

    def _waiting_for_right(self, plan: ContractionPlan) -> float:
        """
        The same for B, which comes again for each block of rows of A that L2 does not keep beside it, with tiles of M innermost; and for each
        tile of rows where L2 does not keep a block of it, with tiles of N innermost.
        """
        problem, left, right = self.problem, self.problem.left, self.problem.right
        bytes_, by_rows = min(right.element_bytes, right.stored_bytes), plan.innermost == "m"
        columns = plan.nc if plan.k_outside or not by_rows else problem.n
        used = (plan.kc if plan.k_outside or not by_rows else problem.k) * columns * bytes_
        beside, rows = (
            (plan.mc * plan.kc * left.element_bytes, plan.mc) if by_rows else (0, plan.mr)
        )
        again: float = -(-problem.m // rows) - 1
        if used + beside <= self.near_2 or not again:
            return 0.0
        if not by_rows:
            again *= computed_part(plan, problem.n)
        terms = plan.kc if plan.k_outside else problem.k
        far = self.beyond_of(terms * plan.nc * bytes_)
        uses = max(plan.mc, plan.mr) if by_rows else min(plan.mr, problem.m)
        stalled = self.stall(problem.k * problem.n * again, bytes_, far.rate, uses)
        return self.far_share(right) * stalled

    def may_pack_by_rows(self, innermost: Innermost) -> bool:
        """
        Whether rows of A, whose terms are neighbours in memory, may be packed when their tiles begin, where tiles of N are innermost: where a copy
        of all of A would come from beyond L2.
        """
        left = self.problem.left
        is_by_rows = innermost == "n" and left.read_summed == 1 and not left.is_constant
        return is_by_rows and self.left_bytes > self.near_2
