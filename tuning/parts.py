"""The columns of a product in two parts: nests of their own, each of which takes the steps of its own plan."""

from __future__ import annotations

from dataclasses import replace

from ..analysis.facts import Contraction, LoopFacts, facts_of_loops
from ..analysis.plans.parted_plan import PartedPlan, column_axes, with_columns
from .distribution import distribute_loops
from .session import Session


def part_columns(
    s: Session, plan: PartedPlan, kernel: LoopFacts, c: Contraction
) -> tuple[LoopFacts, LoopFacts]:
    """
    Cut the nests of a kernel at one column, so that those of the first part stand before those of the rest; what is known of each part.
    Raises the Refusal of a step that is not legal.
    """
    axes, count = column_axes(c), len(kernel.facts.statements)
    first, *others = ([s.handle(op) for op in loops[: len(c.parallel)]] for loops in kernel.loops)
    for other in others:
        s.fuse_nests(first, other)
    rest = c.extent(c.n[-1:]) - plan.columns
    *around, column = first[: axes[0] + 1]
    s.peel(column, back=rest)
    for loop in reversed(around):
        s.fission(loop, after=column)
        column = loop
    distribute_loops(s)
    s.normalize(s.name)
    s.take_apart()
    made = facts_of_loops(s.nest.function)
    return (
        _part(made, slice(count), axes, plan.columns, 0),
        _part(made, slice(count, 2 * count), axes, rest, plan.columns),
    )


def _part(kernel: LoopFacts, which: slice, axes: list[int], extent: int, begin: int) -> LoopFacts:
    """Some of the statements of a function, as a kernel by itself."""
    facts = replace(kernel.facts, statements=kernel.facts.statements[which])
    return replace(
        kernel,
        facts=with_columns(facts, axes, extent, begin),
        loops=kernel.loops[which],
        stores=kernel.stores[which],
        loads=kernel.loads[which],
    )
