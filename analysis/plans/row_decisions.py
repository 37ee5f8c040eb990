"""The first plan for what is no contraction: each decision from strides, sizes and the target."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from itertools import permutations
from math import isqrt, prod

from ...frozen import replaced
from ...lazy import cached_property
from ...targets.target import Target
from ..facts import Home, KernelFacts, Role, written_out
from .lanes import block_lanes, hiding_vectors
from .row_nests import (
    Nest,
    best_order,
    fill_neighbours,
    is_sum_around_results,
    is_sum_of_rows,
    may_be_fused,
    nests_of,
    runs_in_lanes,
    transposed_axes,
)
from .row_traffic import fetched_ahead, passing_caches, traffic
from .rows_plan import NestPlan, RowsPlan, Square, ThreadLoop, Word
from .threads import chosen_for_threads, memory_seconds, pays, team

LEAST_TERMS = 16
"""Terms of each thread's part of a summation, at least: the parts are added up afterwards."""

LARGE_SHARE = 8
"""A nest with less than this part of the work is not worth the start of a team."""

SHARE_OF_RESULTS = 4
"""The part of L1 that the results of a summation may take, which leaves the rest to what is added up."""

MOST_PERMUTED = 3
"""Loops around the squares of a transposition that are put in each order."""

SHARE_OF_SQUARES = 4
"""The part of L2 that a block of squares may take, on each of its two sides."""


class Decisions:
    """What follows from a kernel's facts and a target."""

    def __init__(
        self,
        facts: KernelFacts,
        target: Target,
        written: tuple[tuple[int, tuple[int, ...]], ...] = (),
    ):
        """`written` are the short loops that are written out first, as in a plan."""
        facts = written_out(facts, dict(written)) if written else facts
        self.facts, self.target, self.core = facts, target, target.core
        self.written = written
        self.nests = nests_of(facts)
        self.seconds = memory_seconds(traffic(facts), target)
        """in which one core gets at what the kernel is given"""
        self._known_staged: dict[Hashable, tuple[tuple[int, str], ...]] = {}
        """buffers between nests, by the axes that these have in common and the block of their iterations"""

    @property
    def share_loops(self) -> bool:
        """Whether some nests are in the same loops as they are."""
        return any(self.facts.statements[nest.statements[0]].shared for nest in self.nests)

    def plan(self, *, may_fuse: bool = True) -> RowsPlan:
        """The plan that follows from strides and sizes."""
        return self._with_nests(self._placed, self._fused(self._placed) if may_fuse else 0)

    def rows_side_by_side(self, rows: int) -> RowsPlan | None:
        """The plan with so many rows summed up side by side; None where that cannot be."""
        nests, summed = [*self._placed], self._summed_side_by_side(self._placed, rows)
        if summed is None:
            return None
        nests[summed] = replaced(nests[summed], rows=rows)
        return self._with_nests(nests, 0)

    @cached_property
    def _placed(self) -> list[NestPlan]:
        """The nests with the orders of their loops."""
        return [self._ordered(nest) for nest in self.nests]

    def _with_nests(self, nests: list[NestPlan], fused: int) -> RowsPlan:
        """The plan with some nests, so many of whose outermost loops are fused."""
        if not fused:
            nests = [self._with_sums(*pair) for pair in zip(self.nests, nests, strict=True)]
        nests = self._all_in_lanes(nests, fused)
        return self.completed(RowsPlan(tuple(nests), fused, written=self.written))

    def rows_in_lanes(self) -> RowsPlan | None:
        """The plan in which all nests do a block of the same rows in lanes, where a row is one iteration of each."""
        depth = len(self.nests[0].axes)
        is_one = all(
            len(nest.axes) == depth and nest.is_parallel and nest.is_flat and nest.points
            for nest in self.nests
        )
        if not depth or not is_one or self.share_loops or not self._has_scratch():
            return None
        order = tuple(range(depth))
        lanes = min(map(self.width, range(len(self.nests))))
        orders = [order] * len(self.nests)
        if lanes < 2 or self.nests[0].extent(depth - 1) < 2 * lanes:
            return None
        if not all(may_be_fused(self.nests, orders, n) for n in order):
            return None
        if not all(self._can_run_beside(nest, depth - 1) for nest in self.nests):
            return None
        nests = tuple(NestPlan(nest.statements, order, lanes=lanes) for nest in self.nests)
        return self.completed(RowsPlan(nests, depth, lanes, self.written))

    def _can_run_beside(self, nest: Nest, axis: int) -> bool:
        """Whether what a nest stores to in lanes is neighbours: what is kept for a block of rows is put in that order."""
        alone = [
            n
            for n in nest.statements
            if (write := self.facts.statements[n].write)
            and nest.stride(write, axis) != 1
            and self.facts.buffers[write.buffer].home is not Home.SCRATCH
        ]
        return not alone or fill_neighbours(nest, axis, alone)

    def plain(self) -> RowsPlan:
        """Every loop where it is, innermost ones in lanes: what is always legal."""
        nests = [NestPlan(nest.statements, tuple(range(len(nest.axes)))) for nest in self.nests]
        return self.completed(RowsPlan(tuple(self._all_in_lanes(nests, 0))))

    def completed(
        self,
        plan: RowsPlan,
        *,
        fetches: bool = True,
        passes: bool = False,
        like: RowsPlan | None = None,
    ) -> RowsPlan:
        """
        The plan with what follows from its nests and from how many loops are fused, but for what runs on threads.

        It asks for elements ahead, and stores past the caches, where it is said to, or where one `like` it does.
        """
        if like is not None:
            fetches, passes = bool(like.fetched), bool(like.nontemporal)
        staged = self._staged(plan.fused, plan)
        plan = plan if staged == plan.staged else replaced(plan, staged=staged)
        is_fetched = fetches and plan.fused and not plan.blocks
        fetched = fetched_ahead(self.facts, self.nests, plan, self.target) if is_fetched else ()
        past = passing_caches(self.facts, self.nests, plan, self.target) if passes else ()
        return replaced(plan, fetched=fetched, nontemporal=past)

    def width(self, number: int) -> int:
        """The lanes of one vector of a nest."""
        return self.core.lanes(self.nests[number].element_bytes)

    # One nest.

    def _ordered(self, nest: Nest) -> NestPlan:
        """The order of its loops; the squares of a transposition."""
        axes = transposed_axes(nest)
        if axes is None:
            return NestPlan(nest.statements, best_order(nest))
        read, written = axes
        others = [axis for axis in range(len(nest.axes)) if axis not in axes]
        side = self._side(nest)
        across, *_ = self._blocks_of_squares(nest, side, [nest.extent(axis) for axis in axes])
        square = Square(read, written, side, across)
        return NestPlan(nest.statements, (*others, read, written), square=square)

    def other_squares(self, number: int, plan: NestPlan, fused: int) -> Iterator[NestPlan]:
        """The plans of a transposition with other squares, or other loops around them."""
        square, nest = plan.square, self.nests[number]
        assert square is not None, "a transposition has squares"
        sizes = [nest.extent(axis) for axis in (square.read, square.written)]
        for side in (square.side * 2, square.side, square.side // 2):
            is_kept = 2 <= side <= self._side(nest)
            for across in self._blocks_of_squares(nest, side, sizes) if is_kept else ():
                for turned in (False, True):
                    made = replaced(square, side=side, across=across, turned=turned)
                    yield replaced(plan, square=made)
        if fused:
            return
        for others in permutations(sorted(plan.order[:-2])[:MOST_PERMUTED]):
            rest = (axis for axis in plan.order[:-2] if axis not in others)
            yield replaced(plan, order=(*others, *rest, *plan.order[-2:]))

    def _side(self, nest: Nest) -> int:
        """The largest square: of full vectors, which take as many registers for what is read and what is made of it."""
        lanes = self.core.lanes(self.facts.element_bytes(nest.writes[0]))
        return min(lanes, self.core.vector_registers // 2)

    def _blocks_of_squares(self, nest: Nest, side: int, sizes: Sequence[int]) -> list[int]:
        """Squares across a block of them: as many as a part of L2 holds, fewer, or none."""
        bytes_ = self.facts.element_bytes(nest.writes[0])
        across = isqrt(self.core.cache(2).bytes // (SHARE_OF_SQUARES * bytes_)) // side
        whole = all(size % side == 0 for size in sizes)
        found = (across, across // 2, across // 4) if whole else ()
        return [n for n in found if n > 1 and all(size > 2 * n * side for size in sizes)] + [0]

    def _all_in_lanes(self, plans: list[NestPlan], fused: int) -> list[NestPlan]:
        """Innermost loops in lanes. A nest all of whose loops are fused is one with the others, or not innermost."""
        made = [self._in_lanes(*pair) for pair in zip(self.nests, plans, strict=True)]
        is_whole = [len(plan.order) == fused for plan in plans]
        if not fused or not any(is_whole):
            return made
        lanes = min(plan.lanes for plan in made) if all(is_whole) else 0
        return [
            replaced(plan, lanes=lanes) if whole else plan
            for plan, whole in zip(made, is_whole, strict=True)
        ]

    def _in_lanes(self, nest: Nest, plan: NestPlan) -> NestPlan:
        if plan.square is not None or not plan.order or not runs_in_lanes(nest, plan.order[-1]):
            return plan
        lanes = block_lanes(nest, self.core, plan.order[-1])
        if plan.rows > 1:
            lanes = self._lanes_of_rows(nest, plan.rows)
        return replaced(plan, lanes=lanes if lanes > 1 else 0)

    def _lanes_of_rows(self, nest: Nest, rows: int) -> int:
        """Elements of a block of each of several rows, whose vectors hide the latency together."""
        return self.core.lanes(nest.element_bytes) * max(hiding_vectors(self.core) // rows, 1)

    def _with_sums(self, nest: Nest, plan: NestPlan) -> NestPlan:
        """
        Where a summation runs around the loop over its results: parts of it for threads, or blocks of results
        that stay in L1.
        """
        if plan.square is not None or not is_sum_around_results(nest, plan.order):
            return plan
        outer, inner = plan.order[-2:]
        most = self.core.cache(1).bytes // SHARE_OF_RESULTS
        most //= self.facts.element_bytes(nest.writes[0])
        if nest.extent(inner) > 2 * most:
            return replaced(plan, results=most)
        around, threads = prod(map(nest.extent, plan.order[:-2])), team(self.target)
        is_dealt = (
            pays(self.seconds)
            and around < threads
            and nest.extent(outer) >= LEAST_TERMS * threads
            and nest.sums_in_any_order
        )
        return replaced(plan, parts=threads if is_dealt else 1)

    # All nests.

    def _summed_side_by_side(self, plans: list[NestPlan], rows: int) -> int | None:
        """The nest whose rows can be added up several at a time, where that is all the kernel does."""
        tops = [n for n, nest in enumerate(self.nests) if nest.axes]
        sums = [n for n in tops if is_sum_of_rows(self.nests[n], plans[n].order)]
        if len(sums) != 1 or len(tops) > 3 or plans[sums[0]].square is not None:
            return None
        nest, (row, summed) = self.nests[sums[0]], plans[sums[0]].order[-2:]
        lanes = self._lanes_of_rows(nest, rows)
        enough = nest.extent(row) >= 4 * rows and nest.extent(summed) >= 4 * lanes
        return sums[0] if lanes > 1 and enough else None

    def _fused(self, plans: list[NestPlan]) -> int:
        """How many outer loops all nests have in common, and may be one."""
        if len(self.nests) < 2:
            return 0
        # Loops over squares are others than those of the nests around.
        orders = [
            plan.order
            if plan.square is None or self._is_one_square(nest, plan.square)
            else plan.order[:-2]
            for nest, plan in zip(self.nests, plans, strict=True)
        ]
        most = min(len(nest.axes) for nest in self.nests)
        if all(len(nest.axes) == most for nest in self.nests) and self._has_scratch():
            most -= 1  # an element that is passed on in a register would keep the loop from running in lanes
        fused = 0
        while fused < most and may_be_fused(self.nests, orders, fused):
            fused += 1
        return fused

    def _has_scratch(self) -> bool:
        return any(buffer.home is Home.SCRATCH for buffer in self.facts.buffers)

    def _is_one_square(self, nest: Nest, square: Square) -> bool:
        return all(nest.extent(axis) <= square.side for axis in (square.read, square.written))

    def _staged(self, fused: int, plan: RowsPlan) -> tuple[tuple[int, str], ...]:
        """Each buffer between the nests is of one row, in the nearest memory that it fits."""
        if not fused:
            return ()
        shared = tuple(own.order[:fused] for own in plan.nests)
        known = shared, plan.blocks
        if known not in self._known_staged:
            self._known_staged[known] = tuple(self._staged_by(shared, plan.blocks))
        return self._known_staged[known]

    def _staged_by(
        self, shared: Sequence[tuple[int, ...]], blocks: int
    ) -> Iterator[tuple[int, str]]:
        """The same where nests have these axes in common, of which so many iterations are a block."""
        rows = prod(self.nests[0].extent(axis) for axis in shared[0]) // max(blocks, 1)
        near = self.core.vector_registers * self.core.vector_bits // 8 if blocks else 0
        for number, buffer in enumerate(self.facts.buffers):
            if (
                buffer.home is not Home.SCRATCH
                or buffer.bytes is None
                or not self._goes_by_rows(number, shared)
            ):
                continue
            size = buffer.bytes // max(rows, 1)
            is_near = size <= self.core.cache(1).bytes
            scope = (
                "register"
                if size <= max(buffer.element_bytes, near)
                else "stack"
                if is_near
                else "arena"
            )
            yield number, scope

    def _goes_by_rows(self, buffer: int, shared: Sequence[tuple[int, ...]]) -> bool:
        """Whether each iteration of the fused loops uses a part of its own of a buffer."""
        return all(
            access.moves_along(axis)
            for nest, axes in zip(self.nests, shared, strict=True)
            for access in nest.accesses
            if access.buffer == buffer
            for axis in axes
        )

    # Threads.

    def on_threads(self, plan: RowsPlan) -> RowsPlan:
        """The plan with the loops that run on threads."""
        return replaced(plan, threads=self._threads(plan))

    def _threads(self, plan: RowsPlan) -> tuple[ThreadLoop, ...]:
        """A loop of each nest that is much of the work, where there is enough of it."""
        if not pays(self.seconds):
            return ()
        groups = self._groups(plan)
        work = [sum(self.nests[n].points for n in group) for group in groups]
        chosen = [
            self._thread_loop(plan, group)
            for group, own in zip(groups, work, strict=True)
            if own * LARGE_SHARE >= sum(work)
        ]
        return tuple(loop for loop in chosen if loop is not None)

    def _groups(self, plan: RowsPlan) -> list[list[int]]:
        """The nests that have an outer loop in common."""
        if plan.fused:
            return [list(range(len(self.nests)))]
        groups: list[list[int]] = []
        for number, nest in enumerate(self.nests):
            if groups and self.facts.statements[nest.statements[0]].shared:
                groups[-1].append(number)
            elif nest.axes:
                groups.append([number])
        return groups

    def _thread_loop(self, plan: RowsPlan, group: list[int]) -> ThreadLoop | None:
        """Of the loops that most of the work is in, outermost first, as long as they are parallel."""
        number = max(group, key=lambda n: self.nests[n].points)
        loops = free_loops(self.nests[number], plan.nests[number], plan.fused)
        found = chosen_for_threads([trips for _, _, trips in loops], self.seconds, self.target)
        return None if found is None else ThreadLoop(number, *loops[found][:2])


def free_loops(nest: Nest, plan: NestPlan, fused: int) -> list[tuple[Word, int, int]]:
    """
    The parallel loops of a nest after it is cut up, outermost first: what each is over, and its trip count.

    Those in lanes, and those inside of a loop that is not parallel, are not among them.
    """
    found: list[tuple[Word, int, int]] = []
    square = plan.square
    cut = 0 if square is None else 2
    if square is None:
        cut = 1 if plan.lanes and nest.extent(plan.order[-1]) > plan.lanes else 0
        cut = 2 if plan.results or plan.parts > 1 or (plan.rows > 1 and not fused) else cut
    for axis in plan.order[: len(plan.order) - cut]:
        if nest.role(axis) is not Role.PARALLEL:
            return found
        rows = plan.rows if fused and axis == plan.order[fused - 1] else 1
        found.append(("whole", axis, nest.extent(axis) // rows))
    if square is not None:
        axes = (square.written, square.read) if square.turned else (square.read, square.written)
        tiled = [axis for axis in axes if nest.extent(axis) > square.side]
        size = square.side * square.across
        if size:
            found.extend(("tiles", axis, -(-nest.extent(axis) // size)) for axis in tiled)
        found.extend(("tile", axis, nest.extent(axis) // square.side) for axis in tiled)
    elif plan.results:
        found.append(("part", plan.order[-1], nest.extent(plan.order[-1]) // plan.results))
    elif plan.parts > 1:
        found.append(("part", plan.order[-2], plan.parts))
    elif cut == 2:
        found.append(("group", plan.order[-2], nest.extent(plan.order[-2]) // plan.rows))
    elif cut and nest.role(plan.order[-1]) is Role.PARALLEL:
        found.append(("block", plan.order[-1], nest.extent(plan.order[-1]) // plan.lanes))
    elif plan.lanes and found and found[-1][1] == plan.order[-1]:
        found.pop()  # it is in lanes as a whole
    return found
