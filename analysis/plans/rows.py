"""What is proposed for kernels that are no contractions: the cheapest plans of those that a search has looked at."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import product

from ...frozen import replaced
from ...targets.target import Target
from ..cost import WRITTEN_OUT
from ..facts import KernelFacts, Role, distributed, groups_of
from .cost import RESOLUTION, Cost
from .lanes import hiding_vectors
from .row_decisions import Decisions
from .row_nests import is_one_sum, is_sum_around_results, runs_in_lanes
from .rows_cost import cost, model
from .rows_plan import NestPlan, RowsPlan
from .rows_waiting import WAITING

__all__ = ["cost", "propose"]

JAMS = (1, 2, 4, 8)
"""Iterations of a summation that may be added up before they are added to the results around which it runs."""

SCALES = (0.25, 0.5, 2, 4)
"""By which blocks that follow from a cache's size are changed."""

TURNS = (1, 2, 4, 8)
"""Parts of one long sum that may be read in turns."""

ROWS_TOGETHER = (2, 4, 8)
"""Rows that may be summed up side by side."""

ROUNDS = 3
"""Times that each decision is looked at again, after the others were changed; mostly the second finds nothing."""


def propose(facts: KernelFacts, target: Target, n: int = 1) -> list[RowsPlan]:
    """
    Up to `n` plans, cheapest first by prediction; one of several leaves the order of all that is done as it is, and stands last where
    it is not among the cheapest of those that the search found.

    The structures that strides and dependences allow are each looked at with a few sizes of blocks. From the
    cheapest of all, one decision after the other takes the value that is cheapest beside the others' (coordinate
    descent), until none changes.
    """
    found = list(_proposed(facts, target)[:n]) if n < 2 else _with_plain(facts, target, n)
    return [_decisions(facts, target, plan.written).on_threads(plan) for plan in found]


def _with_plain(facts: KernelFacts, target: Target, n: int) -> list[RowsPlan]:
    found = _proposed(facts, target)
    if not found:
        return []
    first = found[: n - 1]
    plain = _decisions(facts, target, ()).plain()
    return list(found[:n]) if plain in first else [*first, plain]


@lru_cache(maxsize=256)
def _decisions(
    facts: KernelFacts, target: Target, written: tuple[tuple[int, tuple[int, ...]], ...]
) -> Decisions:
    return Decisions(facts, target, written)


@lru_cache(maxsize=256)
def _proposed(facts: KernelFacts, target: Target) -> tuple[RowsPlan, ...]:
    """All plans that were looked at, none of which says yet what runs on threads: their times do not depend on it."""
    searches = [_Search(_decisions(facts, target, ()), target)]
    if not searches[0].decisions.nests:
        return ()
    short = short_loops(facts)
    if short:
        searches.append(_Search(_decisions(facts, target, short), target))
    found = [search.found() for search in searches]
    first = min(range(len(found)), key=lambda n: searches[n].looked_at[found[n][0]][0])
    return (*found[first], *(plan for n, plans in enumerate(found) if n != first for plan in plans))


class _Search:
    """The plans of one kernel that were looked at, with their predicted times."""

    def __init__(self, decisions: Decisions, target: Target):
        self.decisions = decisions
        self.model = model(decisions.facts, target)
        self.looked_at: dict[RowsPlan, tuple[float, float, Cost]] = {}
        """
        seconds of the plans, and of these the part in which data move, behind arithmetic or not; and what the seconds are made of
        """
        most = hiding_vectors(target.core)
        # More than hide latencies shorten the code's jumps; fewer leave registers free.
        self.vectors = [most, *(most >> n for n in range(1, most.bit_length())), 2 * most]
        """of a block of an innermost loop"""
        if any(buffer.is_needed_in_part for buffer in decisions.facts.buffers):
            # Where only a part of the last block is needed, all of it is computed.
            self.vectors = [1]

    def found(self) -> tuple[RowsPlan, ...]:
        """All that was looked at, cheapest first."""
        for plan in dict.fromkeys(self._first_plans()):
            self._look_at(plan)
            for vectors in self.vectors:
                self._look_at(self._in_blocks(plan, vectors))
        for _ in range(ROUNDS):
            before = self._best
            for number in range(len(before.nests)):
                self._vary_nest(number)
            self._vary_traffic()
            if self._best == before:
                break
        best = self._best
        cheapest = sorted(self.looked_at.items(), key=lambda item: item[1][0])
        return (best, *(plan for plan, _ in cheapest if plan != best))

    def _first_plans(self) -> Iterator[RowsPlan]:
        """Each structure with each traffic: many are equal, as most kernels have nothing to ask for or to store past caches."""
        for structure in dict.fromkeys(_structures(self.decisions)):
            for fetches, passes in product((False, True), (False, True)):
                yield self.decisions.completed(structure, fetches=fetches, passes=passes)

    @property
    def _best(self) -> RowsPlan:
        """
        Of those whose times are too near each other to tell them apart, the ones that move least data; of these, those
        with the fewest memory instructions in a loop, each of which a prefetcher learns to follow by itself, where data
        are waited for most of the time; of these, the first that was looked at.
        """
        most = min(seconds for seconds, *_ in self.looked_at.values()) * RESOLUTION
        near = [
            (plan, moving)
            for plan, (seconds, moving, _) in self.looked_at.items()
            if seconds <= most
        ]
        least = min(moving for _, moving in near) * RESOLUTION
        equal = [plan for plan, moving in near if moving <= least]
        if not self._waits(equal[0]):
            return equal[0]
        followed = {plan: self.model.followed(plan) for plan in equal}
        least = min(followed.values())
        return min((p for p in equal if followed[p] == least), key=self._unusual)

    def _unusual(self, plan: RowsPlan) -> int:
        """The nests that have other blocks than those that hide latencies."""
        widths = map(self.decisions.width, range(len(plan.nests)))
        pairs = zip(plan.nests, widths, strict=True)
        return sum(own.lanes not in (0, width * self.vectors[0]) for own, width in pairs)

    def _waits(self, plan: RowsPlan) -> bool:
        """Whether it waits for data most of the time."""
        return self.looked_at[plan][2].bound == WAITING

    def _look_at(self, plan: RowsPlan) -> None:
        if plan not in self.looked_at:
            cost, moving = self.model.cost_and_moving(plan)
            self.looked_at[plan] = cost.seconds, moving, cost

    def _in_blocks(self, plan: RowsPlan, vectors: int) -> RowsPlan:
        """The plan with blocks of so many vectors in each nest that runs in lanes."""
        lanes = [
            self.decisions.width(n) * vectors if own.lanes else 0
            for n, own in enumerate(plan.nests)
        ]
        # Nests all of whose loops are fused are one: what runs in lanes in one of them does in all.
        whole = [len(own.order) == plan.fused for own in plan.nests]
        shared = min((n for n, is_whole in zip(lanes, whole, strict=True) if is_whole), default=0)
        nests = tuple(
            _with_lanes(own, shared if is_whole else count)
            for own, count, is_whole in zip(plan.nests, lanes, whole, strict=True)
        )
        blocks = shared if plan.blocks else 0
        return self.decisions.completed(replaced(plan, nests=nests, blocks=blocks), like=plan)

    def _vary_nest(self, number: int) -> None:
        """One nest's decisions, one after the other."""
        best = self._best
        for other in self._other_nests(best.nests[number], number, best.fused):
            nests = (*best.nests[:number], other, *best.nests[number + 1 :])
            self._look_at(self.decisions.completed(replaced(best, nests=nests), like=best))

    def _other_nests(self, plan: NestPlan, number: int, fused: int) -> Iterator[NestPlan]:
        """The plans of a nest that differ in one decision."""
        nest, width = self.decisions.nests[number], self.decisions.width(number)
        if plan.lanes and len(plan.order) > fused:
            yield from (replaced(plan, lanes=width * vectors) for vectors in self.vectors)
        if not fused and is_sum_around_results(nest, plan.order):
            terms = nest.extent(plan.order[-2]) // plan.parts
            yield from (replaced(plan, jam=jam) for jam in JAMS if 2 * jam <= terms)
        if not fused and plan.lanes and is_one_sum(nest, plan.order):
            blocks = nest.extent(plan.order[-1]) // plan.lanes
            yield from (replaced(plan, turns=turns) for turns in TURNS if 4 * turns <= blocks)
        if plan.results:
            sizes = [int(plan.results * scale) // width * width for scale in SCALES]
            yield from (replaced(plan, results=size) for size in sizes if size >= 2 * plan.lanes)
        if plan.parts > 1:
            yield replaced(plan, parts=1)
        if plan.square is not None:
            yield from self.decisions.other_squares(number, plan, fused)
        in_order = tuple(sorted(plan.order))
        if not fused and plan.order != in_order:
            lanes = width * self.vectors[0] if runs_in_lanes(nest, in_order[-1]) else 0
            yield NestPlan(plan.statements, in_order, lanes=lanes if width > 1 else 0)

    def _vary_traffic(self) -> None:
        """What is asked for ahead, and what is stored past the caches."""
        for fetches, passes in product((False, True), (False, True)):
            self._look_at(self.decisions.completed(self._best, fetches=fetches, passes=passes))


def _with_lanes(plan: NestPlan, lanes: int) -> NestPlan:
    return plan if plan.lanes == lanes else replaced(plan, lanes=lanes)


def short_loops(facts: KernelFacts) -> tuple[tuple[int, tuple[int, ...]], ...]:
    """
    The axes of a few iterations that may be written out, with a loop left around them, by the first statement in them:
    innermost ones, and such sums further out. None where no long loop is left around any, nor where statements have to share loops.
    """
    facts = distributed(facts)
    if not facts.is_distributed:
        return ()
    found: list[tuple[int, tuple[int, ...]]] = []
    for group in groups_of(facts):
        statement = facts.statements[group[0]]
        extents = statement.extents
        if extents is None or 0 in extents:
            return ()
        copies, axes, is_inside = len(group), list[int](), True
        for axis in reversed(range(len(extents))):
            may_go = is_inside or statement.axes[axis].role is Role.REDUCTION
            if extents[axis] == 1:
                continue
            if may_go and copies * extents[axis] <= WRITTEN_OUT:
                copies *= extents[axis]
                axes.insert(0, axis)
            else:
                is_inside = False
        left = [extent for axis, extent in enumerate(extents) if axis not in axes]
        if axes and max(left, default=0) >= WRITTEN_OUT:
            found.append((group[0], tuple(axes)))
    return tuple(found)


def _structures(decisions: Decisions) -> Iterator[RowsPlan]:
    """Which nests are fused, and which rows are summed up together."""
    first = decisions.plan()
    yield first
    if first.fused and not decisions.share_loops:
        yield decisions.plan(may_fuse=False)
    beside = decisions.rows_in_lanes()
    if beside is not None:
        yield beside
    for rows in ROWS_TOGETHER:
        side_by_side = None if decisions.share_loops else decisions.rows_side_by_side(rows)
        if side_by_side is not None:
            yield side_by_side
        yield from _joined_rows(first, decisions, rows)


def _joined_rows(first: RowsPlan, decisions: Decisions, rows: int) -> Iterator[RowsPlan]:
    """The fused nests with several rows at a time, where one nest sums up rows."""
    reduced = [
        number
        for number, (nest, own) in enumerate(zip(decisions.nests, first.nests, strict=True))
        if len(own.order) > first.fused and nest.role(own.order[-1]) is Role.REDUCTION
    ]
    if first.fused and len(reduced) == 1 == len(decisions.nests[reduced[0]].axes) - first.fused:
        (number,) = reduced
        nest = replaced(first.nests[number], rows=rows)
        row = decisions.nests[number].extent(nest.order[-2])
        if row % rows == 0 and row > rows:
            nests = (*first.nests[:number], nest, *first.nests[number + 1 :])
            yield decisions.completed(replaced(first, nests=nests))
