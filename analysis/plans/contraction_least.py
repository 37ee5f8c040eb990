"""
What all plans of a contraction with some blocks wait for A and B at least, packed or not.

Plans are looked at only where this does not show that another one takes less: see `contraction.py`. What each waits for itself is
in `contraction_cost.py`.
"""

from __future__ import annotations

from math import inf
from typing import NamedTuple

from ...lazy import cached_property
from .contraction_copies import least_copying, makes_rows
from .contraction_hints import asks_for_rows
from .contraction_plan import ContractionPlan, Innermost
from .contraction_rates import Beyond, ContractionRates
from .contraction_result import computed_part, least_writing
from .cost import restart_seconds

Brought = tuple[tuple[float, float], int]
"""See `Model.brought`."""


class Waits(NamedTuple):
    """Seconds that plans with some blocks wait for operands at least."""

    packed: float
    """for A, where it is packed before"""
    unpacked: float
    """for A as it is, or as it is computed"""
    by_rows: float
    """for A, and to copy it, where rows of tiles are packed one after the other; inf where they may not be"""
    right: float
    """for B"""

    def of(self, plan: ContractionPlan) -> float:
        """Those of one of the plans, without the copy of A."""
        if not plan.pack_left:
            return self.unpacked + self.right
        return self.right if plan.left_by_rows else self.packed + self.right

    def least(self, copying: float) -> float:
        """Those of any of the plans, with the copy of A, which takes so long where it is packed before."""
        return min(self.packed + copying, self.unpacked, self.by_rows) + self.right


class LeastWaits(ContractionRates):
    """The least that plans wait, from what one with the same blocks does."""

    def colliding(self, plan: ContractionPlan, uses: int) -> float:
        """
        Seconds for each element of an A that is not packed, where its rows, or its columns where they are
        what is read, evict each other from L1 before the rest of their lines is used.
        """
        raise NotImplementedError

    def least_waits(self, plan: ContractionPlan, brought: Brought) -> Waits:
        """
        Seconds that plans with the blocks of one wait for A and B at least; `brought` is of those that pack B.

        All of A comes for each block of columns, with tiles of N innermost; and each block of rows that L2 does not keep for each panel of
        B, with tiles of M innermost. The first time it comes to be packed, if it is not a constant.
        """
        problem, left = self.problem, self.problem.left
        bytes_, of_blocks = min(left.element_bytes, left.stored_bytes), -(-problem.n // plan.nc)
        again, part = of_blocks, 1.0
        if plan.innermost == "m":
            terms = plan.kc if plan.k_outside else problem.k  # from one use of a block to the next
            panel = plan.kc * plan.nr * min(problem.right.element_bytes, problem.right.stored_bytes)
            is_kept = plan.mc * terms * bytes_ + panel <= self.near_2
            again, part = 1 if is_kept else -(-problem.n // plan.nr), computed_part(plan, problem.n)
        packed = self._streaming(plan, part * (again - (not left.is_constant)))
        unpacked = by_rows = inf
        if not left.is_constant:
            times = part * (again - (left.computing is not None))
            if left.summed == 1:
                unpacked = self._reading_rows(plan, times, brought[0][0])
            else:
                unpacked = self._reading_columns(plan, times)
        if self.may_pack_by_rows(plan.innermost):
            coming = self.far_share(left) * self._left_source / self.beyond_l2.rate
            by_rows = of_blocks * coming
        return Waits(packed, unpacked, by_rows, self._waiting_for_right(plan))

    @cached_property
    def _left_source(self) -> float:
        """The bytes that A is copied from."""
        left = self.problem.left
        return self.left_bytes * left.source_bytes / left.element_bytes

    @cached_property
    def least_copying(self) -> tuple[float, float]:
        """Seconds to copy all of A, and all of B, at least."""
        return least_copying(self, "left"), least_copying(self, "right")

    def least_writing(self, times: int) -> float:
        """As of `least_writing`, worked out once."""
        found = self._written.get(times)
        if found is None:
            found = self._written[times] = least_writing(self, times)
        return found

    @cached_property
    def _written(self) -> dict[int, float]:
        return {}

    def always_packs_right(self, plan: ContractionPlan) -> bool:
        """Whether all plans with the blocks of one pack B."""
        right = self.problem.right
        is_blocked = plan.nc < self.problem.n or plan.k_outside
        return is_blocked or right.is_constant or right.along != 1 or not right.is_in_order

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

    def _reading_rows(self, plan: ContractionPlan, times: float, near: float) -> float:
        """
        The same where its rows are read as they are, or are asked for, and are streams of their own: so many bytes of each element come
        from L2. Rows that are computed for one block after the other come as those that are packed do.
        """
        problem, (share, bytes_, far, _) = self.problem, self._far_left
        elements, uses = problem.m * problem.k, min(plan.nr, problem.n)
        tiles = -(-problem.n // plan.nr)
        from_l2 = elements * tiles * near * self.waiting_near
        if makes_rows(self, plan):
            return self._streaming(plan, times) + from_l2
        late = self.late(elements * times, bytes_, far.rate, uses)
        waiting = elements * times * bytes_ * self.row_waiting(inf, far)
        seconds = late if asks_for_rows(self, problem, plan) else max(late, waiting)
        return share * seconds + from_l2

    def _waiting_for_right(self, plan: ContractionPlan) -> float:
        """
        Those for B, which comes again for each block of rows of A that L2 does not keep beside it, with tiles of M innermost; and for each
        tile of rows where L2 does not keep a block of it, with tiles of N innermost. The first time it comes to be packed, if it is not
        a constant.
        """
        problem, left, right = self.problem, self.problem.left, self.problem.right
        bytes_, by_rows = min(right.element_bytes, right.stored_bytes), plan.innermost == "m"
        columns = plan.nc if plan.k_outside or not by_rows else problem.n
        used = (plan.kc if plan.k_outside or not by_rows else problem.k) * columns * bytes_
        beside, rows = (
            (plan.mc * plan.kc * left.element_bytes, plan.mc) if by_rows else (0, plan.mr)
        )
        is_kept = used + beside <= self.near_2
        again: float = (1 if is_kept else -(-problem.m // rows)) - (not right.is_constant)
        if not again:
            return 0.0
        if not by_rows:
            again *= computed_part(plan, problem.n)
        terms = plan.kc if plan.k_outside else problem.k
        far = self.beyond_of(terms * plan.nc * bytes_)
        may_ask = by_rows and plan.nc == problem.n and plan.mc // plan.mr > 1  # for the next panel
        uses = min(plan.mc if may_ask else plan.mr, problem.m)
        stalled = self.stall(problem.k * problem.n * again, bytes_, far.rate, uses)
        return self.far_share(right) * stalled

    def may_pack_by_rows(self, innermost: Innermost) -> bool:
        """
        Whether rows of A, whose terms are neighbours in memory, may be packed when their tiles begin, where tiles of N are innermost: where a copy
        of all of A would come from beyond L2.
        """
        return innermost == "n" and self._may_pack_by_rows

    @cached_property
    def _may_pack_by_rows(self) -> bool:
        left = self.problem.left
        is_by_rows = left.read_summed == 1 and not left.is_constant
        return is_by_rows and self.left_bytes > self.near_2
