"""The loops of one nest of a rows plan, as the steps taken so far have left them."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..analysis.facts import LoopFacts
from ..analysis.plans.rows_plan import NestPlan, Word
from ..transforms.step_support.handles import LoopHandle
from .lanes import Lanes
from .session import Session


@dataclass
class RowNest:
    """
    A nest, its plan and its loops.

    `loops` are those over whole axes, by axis; `cut` those that they were cut into; `lanes` are loops that are
    ready to run in vectors, `blocked` further ones to be cut into blocks for that.
    """

    plan: NestPlan
    loops: list[LoopHandle]
    cut: dict[tuple[Word, int], LoopHandle] = field(
        default_factory=dict[tuple[Word, int], LoopHandle]
    )
    lanes: list[Lanes] = field(default_factory=list[Lanes])
    blocked: list[LoopHandle] = field(default_factory=list[LoopHandle])
    summed: list[LoopHandle] = field(default_factory=list[LoopHandle])
    """the loops that a summation dealt to threads is over"""
    squares: tuple[LoopHandle, LoopHandle] | None = None
    """of a transposition, the loops along what is read and along what is written"""
    written_out: list[LoopHandle] = field(default_factory=list[LoopHandle])
    """loops over the rows of a group"""

    @staticmethod
    def of(s: Session, plan: NestPlan, kernel: LoopFacts) -> RowNest:
        loops = [s.handle(op) for op in kernel.loops[plan.statements[0]]]
        nest = RowNest(plan, loops)
        if plan.lanes:
            nest.blocked.append(loops[plan.order[-1]])
        return nest

    def loop(self, word: Word, axis: int) -> LoopHandle:
        """The loop that a plan calls so."""
        return self.loops[axis] if word == "whole" else self.cut[word, axis]

    @property
    def in_order(self) -> list[LoopHandle]:
        return [self.loops[axis] for axis in self.plan.order]
