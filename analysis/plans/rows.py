"""What is proposed for kernels that are no contractions: the first plan by rule, and others around it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

from ...targets.target import Target
from ..facts import KernelFacts, Role
from .row_decisions import Decisions
from .row_nests import is_sum_around_results
from .rows_cost import cost
from .rows_plan import NestPlan, RowsPlan

__all__ = ["cost", "propose"]

SCALES = (0.5, 2)
"""By which numbers of the first plan are changed in those around it."""

JAMS = (1, 2, 4, 8)
"""Iterations of a summation that may be added up before they are added to the results around which it runs."""

ROWS_TOGETHER = (2, 4)
"""Rows that may be summed up side by side."""


def propose(facts: KernelFacts, target: Target, n: int = 1) -> list[RowsPlan]:
    """
    Up to `n` plans. The first follows from the strides and sizes alone; those after it differ from it in one
    decision, cheapest first by prediction; the last of several leaves the order of all that is done as it is.
    """
    return list(_proposed(facts, target, n))


@lru_cache(maxsize=256)
def _proposed(facts: KernelFacts, target: Target, n: int) -> tuple[RowsPlan, ...]:
    decisions = Decisions(facts, target)
    first = decisions.plan()
    if n == 1 or not first.nests:
        return (first,) if first.nests else ()
    plain = decisions.plain()
    others = [
        plan for plan in dict.fromkeys(_around(first, decisions)) if plan not in (first, plain)
    ]
    if n == 2:
        others = []
    others.sort(key=lambda plan: cost(plan, facts, target).seconds)
    last = [] if plain == first else [plain]
    return (first, *others[: n - 1 - len(last)], *last)


def _around(first: RowsPlan, decisions: Decisions) -> Iterator[RowsPlan]:
    """Plans that differ from the first in one decision, and in what follows from it."""
    for number, nest in enumerate(first.nests):
        others = [*_other_nests(nest, decisions.width(number))]
        if not first.fused and is_sum_around_results(decisions.nests[number], nest.order):
            others += [replace(nest, jam=jam) for jam in JAMS if jam != nest.jam]
        for other in others:
            nests = (*first.nests[:number], other, *first.nests[number + 1 :])
            yield decisions.completed(replace(first, nests=nests))
    yield from _side_by_side(first, decisions)
    if first.fused and not decisions.share_loops:
        yield decisions.plan(may_fuse=False)
    if first.fetched:
        yield replace(first, fetched=())
    if first.nontemporal:
        yield replace(first, nontemporal=())
    else:
        yield replace(first, nontemporal=decisions.may_pass_caches(first))


def _side_by_side(first: RowsPlan, decisions: Decisions) -> Iterator[RowsPlan]:
    """
    Several rows summed up at a time: each is a stream from memory.

    On the core on which this was measured, one stream alone is faster, so that none of these is the first plan.
    """
    reduced = [
        number
        for number, (nest, own) in enumerate(zip(decisions.nests, first.nests, strict=True))
        if len(own.order) > first.fused and nest.role(own.order[-1]) is Role.REDUCTION
    ]
    for rows in ROWS_TOGETHER:
        if not decisions.share_loops:
            yield decisions.plan(may_fuse=False, rows=rows)
        if first.fused and len(reduced) == 1 == len(decisions.nests[reduced[0]].axes) - first.fused:
            (number,) = reduced
            nest = replace(first.nests[number], rows=rows)
            row = decisions.nests[number].extent(nest.order[-2])
            if row % rows == 0 and row > rows:
                nests = (*first.nests[:number], nest, *first.nests[number + 1 :])
                yield decisions.completed(replace(first, nests=nests))


def _other_nests(nest: NestPlan, width: int) -> Iterator[NestPlan]:
    for scale in SCALES:
        if nest.lanes and nest.lanes * scale >= width:
            yield replace(nest, lanes=int(nest.lanes * scale))
        if nest.results:
            yield replace(nest, results=int(nest.results * scale))
    if nest.parts > 1:
        yield replace(nest, parts=1)
    if nest.square is not None and nest.square.across:
        yield replace(nest, square=replace(nest.square, across=0))
    if nest.square is None and nest.order != tuple(sorted(nest.order)):
        yield replace(nest, order=tuple(sorted(nest.order)), lanes=0)
