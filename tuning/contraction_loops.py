"""The loops of a contraction's plan: the nests that initialise, sum and finish its result, cut into blocks and register tiles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from ..analysis.facts import Access, Contraction, LoopFacts
from ..analysis.plans.contraction_plan import ContractionPlan
from ..transforms.step_support.handles import LoopHandle
from .levels import Level, Nest
from .session import Session


class ContractionLoops:
    """
    The loops around the tiles of a contraction, of which `cut` makes those that the plan asks for.

    M, N and K are the axes of rows, columns and terms that tiles go along; other axes are the batch's.
    """

    def __init__(self, s: Session, plan: ContractionPlan, kernel: LoopFacts, c: Contraction):
        self.s, self.plan, self.kernel, self.c = s, plan, kernel, c
        self.m, self.n = c.extent(c.m[-1:]), c.extent(c.n[-1:])
        self.k = c.extent(c.k)
        self.is_deep = plan.kc < self.k and not plan.k_outside
        """whether blocks of k are inside of the loop over tiles of columns"""
        self.is_blocked = plan.kc < self.k and plan.k_outside
        """whether they are outside of the loops over blocks and tiles of rows"""
        self.finished = None if plan.mirrored else c.finished
        """the statement that finishes tiles; of a result that is mirrored, it does so after that"""
        self.by_panels = self.finished is not None or c.stride(c.result, c.n[-1]) != 1
        """whether what tiles give is finished or transposed, a panel of it at a time"""
        self.loops = [s.handle(op) for op in kernel.loops[c.number]]
        inner = (c.m[-1], c.n[-1], *c.k)
        self.batch = [axis for axis in range(len(self.loops)) if axis not in inner]
        self.levels = self._levels()
        self.sum_block: LoopHandle | None = None
        """the loop over blocks of k where it is outside of those over rows"""
        self.deep_block: LoopHandle | None = None
        """the loop over blocks of k where it is inside of that over tiles of columns"""
        self.deep_tiles: tuple[LoopHandle, ...] = ()
        """the loop over tiles of rows in such a block"""

    def _levels(self) -> list[Level]:
        """The loops around a tile, outermost first, without those over the batch and over k."""
        plan = self.plan
        levels = [Level("n", plan.nr, "tile")]
        if plan.mc < self.m or self.is_deep:
            levels.insert(0, Level("m", plan.mc, "block"))
        if plan.nc < self.n:
            levels.insert(0, Level("n", plan.nc, "block"))
        if self.is_deep:
            return levels
        # Where tiles of columns are innermost, a block is one row of tiles.
        words = ("panel", "tile")[(not self.by_panels) + (plan.innermost == "n") :]
        return [*levels, *(Level("m", plan.mr, word) for word in words)]

    def cut(self) -> None:
        """Cut the nests' axes into blocks and tiles, and run the nests block by block and tile by tile."""
        c, levels = self.c, self.levels
        shared = levels if self.is_deep else levels[:-1]
        self.init = self.finish = None
        if c.initialised is not None:
            write = c.facts.statements[c.initialised].write
            together = self._around_sums() if self.is_blocked else levels
            self.init = self._cut(c.initialised, write, together, [], ("init", "init"))
        self.update = self._cut_update()
        if self.finished is not None:
            finishing = (c.facts.statements[number] for number in c.facts.nest(self.finished))
            reads = (read for statement in finishing for read in statement.reads)
            read = next(read for read in reads if read.buffer == c.result.buffer)
            self.finish = self._cut(self.finished, read, shared, [], ("finish", "finish"))
        nests = [nest for nest in (self.init, self.update, self.finish) if nest is not None]
        first, *others = nests
        for other in others:
            self.s.fuse_nests(self._outer(first), self._outer(other))
        self.kept = first
        """the nest whose loops are there after the others were fused with it"""
        if self.is_blocked:
            inner = self.update.levels[len(first.levels) :]
            self.kept = replace(self.update, batch=first.batch, levels=(*first.levels, *inner))
        *_, self.shared, self.tile = (*self.kept.levels, *self.deep_tiles)
        """the loop over tiles, and the one around it"""

    def _outer(self, nest: Nest) -> list[LoopHandle]:
        """
        The loops over the batch and those of the levels, outermost first.

        A right operand that all of the batch shares is packed by blocks of columns once for all of it.
        """
        levels, batch = list(nest.levels), list(nest.batch.values())
        is_shared = not any(map(self.c.right.moves_along, self.batch))
        if self.plan.nc < self.n and is_shared:
            return [levels[0], *batch, *levels[1:]]
        return [*batch, *levels]

    def _cut_update(self) -> Nest:
        c, s, plan = self.c, self.s, self.plan
        summed = [self.loops[axis] for axis in c.k]
        if not self.is_deep and not self.is_blocked:
            self.summed = summed[-1]
            return self._cut(c.number, c.result, self.levels, summed)
        block, step = s.cut(summed[0], plan.kc, "block", "step")
        self.summed = step
        if self.is_blocked:
            self.sum_block = block
            return self._cut(c.number, c.result, self.levels, [step])
        nest = self._cut(c.number, c.result, self.levels, [block, step])
        tile, row = s.cut(nest.row, plan.mr, "tile", "row")
        s.order(block, tile, step, row, nest.column)
        self.deep_block, self.deep_tiles = block, (tile,)
        return Nest(nest.batch, nest.levels, row, nest.column)

    def _cut(
        self,
        number: int,
        result: Access,
        levels: Sequence[Level],
        summed: Sequence[LoopHandle],
        words: tuple[str, str] = ("row", "column"),
    ) -> Nest:
        """
        Cut the loops over rows and columns of a statement, which has the result's element `result`.

        `words` are for the loops over the rows and the columns that are left inside.
        """
        c = self.c
        axes = {
            result.dimension_of(axis): self.s.handle(op)
            for axis, op in enumerate(self.kernel.loops[number])
        }
        row, column = (axes[c.result.dimension_of(axis)] for axis in (c.m[-1], c.n[-1]))
        batch = {axis: axes[c.result.dimension_of(axis)] for axis in self.batch}
        cuts, rests = list[LoopHandle](), {"m": row, "n": column}
        for n, level in enumerate(levels):
            is_last = all(later.axis != level.axis for later in levels[n + 1 :])
            word = words["mn".index(level.axis)] if is_last else "rest"
            outer, rests[level.axis] = self.s.cut(rests[level.axis], level.size, level.word, word)
            cuts.append(outer)
        nest = Nest(batch, tuple(cuts), rests["m"], rests["n"])
        around = self._outer(nest)
        if self.sum_block is not None and summed:
            first = len(batch) + len(self._around_sums())
            around.insert(first, self.sum_block)
        self.s.order(*around, *summed, nest.row, nest.column)
        return nest

    def _around_sums(self) -> list[Level]:
        """The levels outside of the blocks of k, where those are outside of the blocks of rows."""
        return [level for level in self.levels[:1] if level.axis == "n" and level.word == "block"]

    def level(self, axis: Literal["m", "n"], word: str = "") -> LoopHandle:
        """The outermost loop of the levels along an axis, or the one that a word names."""
        pairs = zip(self.levels, self.kept.levels, strict=True)
        return next(h for level, h in pairs if level.axis == axis and word in ("", level.word))
