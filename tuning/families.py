"""
The families of plans, and what a kernel's schedule is chosen from.

A family proposes plans for a kernel from its facts and a target, with their predicted times, and takes the steps of
one. A rule takes the first proposal of the first family that has one; a tuner or a benchmark may take another.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf
from typing import Any, Protocol

from ..analysis.facts import (
    Contraction,
    KernelFacts,
    LoopFacts,
    distributed,
    facts_of_loops,
    find_contractions,
    find_convolutions,
    find_window_reduction,
    only_contraction,
)
from ..analysis.plans import row_blocks, rows, windows
from ..analysis.plans.contraction_plan import ContractionPlan
from ..analysis.plans.convolution_plan import ConvolutionPlan
from ..analysis.plans.cost import Cost
from ..analysis.plans.dot_products import DotProductPlan
from ..analysis.plans.kernel_cost import contraction_plans
from ..analysis.plans.parted_plan import PartedPlan
from ..analysis.plans.threads import team
from ..frozen import frozen
from ..targets.target import Target
from ..transforms.step_support.handles import LoopHandle
from .contraction_tiles import schedule_tiles
from .convolutions import schedule_convolution
from .distribution import distribute_loops
from .dot_products import schedule_dot_products
from .parts import part_columns
from .row_blocks import schedule_row_blocks
from .rows import schedule_rows
from .session import Session
from .threads import run_on_threads
from .windows import schedule_windows

LONG_ROW = 1 << 15
"""Multiply-adds in several times the time in which a line goes from one core to another and back."""

Plan = Any
"""A frozen dataclass that prints as what it decides."""


@frozen
class Choice:
    """A plan of a family, and its predicted time; None where the family has no model."""

    family: Family
    plan: Plan
    cost: Cost | None

    @property
    def seconds(self) -> float | None:
        """The predicted time on one core, where there is one."""
        return None if self.cost is None else self.cost.seconds

    def __str__(self) -> str:
        predicted = (
            "" if self.cost is None else f"; predicted {self.cost}, bound by {self.cost.bound}"
        )
        return f"{self.family.name}: {self.plan}{predicted}"


class Family(Protocol):
    """One family of plans."""

    @property
    def name(self) -> str: ...

    def propose(self, facts: KernelFacts, target: Target, n: int) -> list[Choice]:
        """Up to `n` plans for a kernel, cheapest first; none when it is not of this family."""
        ...

    def schedule(self, s: Session, choice: Choice, kernel: LoopFacts, target: Target) -> None:
        """Take the steps of a choice's plan. Raises the Refusal of a step that is not legal."""
        ...


@frozen
class Windows:
    """
    Reductions over windows alone: pooling, and depthwise convolutions. Grouped ones are contractions by group, too: plans of
    that family are among the proposals for them, by predicted time.
    """

    name: str = "windows"

    def propose(self, facts: KernelFacts, target: Target, n: int) -> list[Choice]:
        found = find_window_reduction(distributed(facts))
        if found is None:
            return []
        plans = windows.propose_with_costs(found, target, n)
        choices = [Choice(self, plan, cost) for plan, cost in plans]
        if not found.is_contraction:
            return choices
        choices += Contractions().propose(facts, target, n)
        return sorted(choices, key=lambda choice: choice.cost.rank if choice.cost else inf)[:n]

    def schedule(self, s: Session, choice: Choice, kernel: LoopFacts, target: Target) -> None:
        if not kernel.facts.is_distributed:
            distribute_loops(s)
            kernel = facts_of_loops(s.nest.function)
        found = find_window_reduction(kernel.facts)
        assert found is not None, "a plan of this family is for a reduction over windows"
        schedule_windows(s, choice.plan, kernel, found, target)
        run_on_threads(s, target, choice.seconds, keeps_order=True)


@frozen
class Contractions:
    """One contraction, with the statements that initialise and finish its result."""

    name: str = "contraction"

    def propose(self, facts: KernelFacts, target: Target, n: int) -> list[Choice]:
        return [Choice(self, plan, cost) for plan, cost in contraction_plans(facts, target, n)]

    def schedule(self, s: Session, choice: Choice, kernel: LoopFacts, target: Target) -> None:
        if not kernel.facts.is_distributed:
            distribute_loops(s)
            kernel = facts_of_loops(s.nest.function)
        plan = choice.plan
        if isinstance(plan, PartedPlan):
            first, rest = part_columns(s, plan, kernel, _only(kernel, find_contractions))
            # The rest goes first: of one column, it has no loop left after the other's steps.
            self._tiles(s, plan.rest, rest, target)
            self._tiles(s, plan.first, first, target)
            run_on_threads(s, target, choice.seconds)
            return
        short = self._tiles(s, plan, kernel, target)
        run_on_threads(s, target, choice.seconds, short)

    def _tiles(
        self, s: Session, plan: Plan, kernel: LoopFacts, target: Target
    ) -> tuple[LoopHandle, ...]:
        """Take the steps of a plan for one nest of tiles; the loops over columns that stay serial."""
        if isinstance(plan, ConvolutionPlan):
            direct = _only(kernel, find_convolutions)
            schedule_convolution(s, plan, kernel, direct, target)
            return ()
        found = _only(kernel, find_contractions)
        match plan:
            case DotProductPlan():
                columns = schedule_dot_products(s, plan, kernel, found, target)
            case ContractionPlan():
                columns = schedule_tiles(s, plan, kernel, found, target)
            case _:
                raise TypeError(f"found {plan!r}, expected a plan for a contraction")
        # By columns only where a row of them is long work, if both threads write the line at the border.
        row = found.extent(found.n[-1:]) * found.extent(found.k)
        is_short = row < LONG_ROW * team(target)
        return columns if is_short and not _ends_with_lines(plan, found, target) else ()


def _only(kernel: LoopFacts, find: Callable[[KernelFacts], Sequence[Contraction]]) -> Contraction:
    """The contraction that a plan of this family is for."""
    found = only_contraction(kernel.facts, find(kernel.facts))
    assert found is not None, "a plan of this family is for a contraction"
    return found


def _ends_with_lines(plan: Plan, found: Contraction, target: Target) -> bool:
    """Whether each tile is whole lines of the result's rows: results begin with a line."""
    line, bytes_ = target.core.caches[0].line_bytes, found.facts.element_bytes(found.result)
    axes = [axis for axis in (*found.batch, *found.m, *found.n) if found.extent((axis,)) > 1]
    rows = [found.stride(found.result, axis) for axis in axes]
    return (
        isinstance(plan, ContractionPlan)
        and plan.nr * bytes_ % line == 0
        and all(
            stride is not None and (stride == 1 or stride * bytes_ % line == 0) for stride in rows
        )
    )


@frozen
class RowBlocks:
    """Chains of statements that share their rows, with contractions among them."""

    name: str = "row blocks"

    def propose(self, facts: KernelFacts, target: Target, n: int) -> list[Choice]:
        plans = row_blocks.propose(facts, target, n)
        return [Choice(self, plan, row_blocks.cost(plan, facts, target)) for plan in plans]

    def schedule(self, s: Session, choice: Choice, kernel: LoopFacts, target: Target) -> None:
        schedule_row_blocks(s, choice.plan, kernel, target)


@frozen
class Rows:
    """What is no contraction: elements, reductions, chains of them over rows, copies and transpositions."""

    name: str = "rows"

    def propose(self, facts: KernelFacts, target: Target, n: int) -> list[Choice]:
        plans = rows.propose(facts, target, n)
        return [Choice(self, plan, rows.cost(plan, facts, target)) for plan in plans]

    def schedule(self, s: Session, choice: Choice, kernel: LoopFacts, target: Target) -> None:
        schedule_rows(s, choice.plan, kernel)


FAMILIES: tuple[Family, ...] = (Windows(), Contractions(), RowBlocks(), Rows())
"""In the order in which they are asked."""
