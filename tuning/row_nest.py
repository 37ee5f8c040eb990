"""The loops of one nest of a rows plan, as the steps taken so far have left them."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..analysis.facts import LoopFacts
from ..analysis.plans.rows_plan import NestPlan, Word
from ..dialects.loop import LoopKind
from ..transforms.step_support.handles import LoopHandle
from .guards import split_at_changes
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

    def split_outer_loops(self, s: Session) -> None:
        """Cut the loops around the innermost one where conditions change, if they only compute elements."""
        if not self.plan.is_elementwise:
            return
        for axis in self.plan.order[:-1]:
            main, *edges = split_at_changes(s, self.loops[axis])
            if edges:
                inside = [loop.copies_in(main) for loop in self.loops]
                self.loops = [
                    copies[0] if copies else loop
                    for loop, copies in zip(self.loops, inside, strict=True)
                ]
                self.loops[axis] = main
                self.blocked = [self.loops[self.plan.order[-1]]]
                s.simplify(s.name)

    def split_blocks(self, s: Session) -> bool:
        """Cut the loop over blocks of lanes where conditions change; whether there was anything to cut."""
        key: tuple[Word, int] = ("block", self.plan.order[-1] if self.plan.order else 0)
        block = self.cut.get(key)
        if block is None or block.is_gone or block.op.kind.data is not LoopKind.PARALLEL:
            return False
        parts = split_at_changes(s, block)
        self.cut[key] = parts[0]
        masks = {lanes.loop: lanes.masked for lanes in self.lanes}
        for lanes in [*self.lanes] if len(parts) > 1 else ():
            for copy in [copy for part in parts for copy in lanes.loop.copies_in(part)]:
                masks.setdefault(copy, lanes.masked)
        self.lanes = [Lanes(*pair) for pair in masks.items()]
        return len(parts) > 1

    @property
    def in_order(self) -> list[LoopHandle]:
        return [self.loops[axis] for axis in self.plan.order]
