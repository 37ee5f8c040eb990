"""Hints that stand in register tiles: what later tiles use is asked for while one is computed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import product

from ..analysis.plans.contraction_plan import ContractionPlan
from ..analysis.plans.terms_written_out import (
    BETWEEN_HINTS,
    has_parts,
    terms_between_hints,
)
from ..transforms.step_support.handles import BufferHandle, LoopHandle
from ..transforms.step_support.made import SplitLoops
from ..transforms.step_support.nest import regions_around
from .levels import is_in
from .session import Session, Tail


class Hints:
    """
    The hints of the tiles of one contraction, whose sums are the copies of one loop. Those for pieces that are apart stand in a loop
    over parts of the sums, of `BETWEEN_HINTS` terms each or some times as many. What is left of a sum stands apart where terms are to be
    written out: parts of one length can be.
    """

    def __init__(self, s: Session, summed: LoopHandle, plan: ContractionPlan, *, written_out: bool):
        """Terms are `written_out` where an iteration is to have more than one."""
        self.s = s
        self._has_others = plan.prefetch_result or plan.prefetch_left or plan.prefetch
        self._kc = plan.kc
        """the terms of a block of the sums, of which the last may have fewer"""
        self._tail: Tail = "peel" if written_out else "guard"
        self.loops: list[LoopHandle] = []
        """those of the hints"""
        self._sums = list(summed.copies)
        """the loop over the terms of each tile"""
        self._parts: dict[LoopHandle, SplitLoops] = {}
        """what one of them has become: a loop over parts of the sums, and one over the terms of a part"""

    def panels(self, panels: BufferHandle, around: Iterable[LoopHandle]) -> None:
        """
        Ask for the panel that the next iteration of each loop `around` uses: to L2, a piece of it with each term of the sums of
        the tiles that use the one before. At once where sums have one term and no loop.
        """
        for at in around:
            sums = self._sums_in(at)
            inside = self.terms(sums[0]) if sums else ""
            self.loops += self.s.prefetch(panels, at, locality=2, inside=inside).loops

    def rows(self, rows: BufferHandle, around: Iterable[LoopHandle]) -> None:
        """
        Ask for the rows that the next iteration of each loop `around` uses: to L2, a piece of them with each part of the sums. At once
        where sums have one term and no loop.
        """
        for at in around:
            sums = self._sums_in(at)
            inside = self._in_parts(sums[0]) if sums else ""
            self.loops += self.s.prefetch(rows, at, locality=2, inside=inside).loops

    def results(
        self,
        results: Iterable[BufferHandle],
        loops: Iterable[LoopHandle],
        lines: int,
        *,
        in_sums: bool,
    ) -> None:
        """
        Ask for the tile of each result that the next iteration of each loop stores, adds to, or finishes with, of so many `lines`: where
        it may be `in_sums`, a piece of it with each part of the tile's sums, if there is one loop over these. Pieces of a tile that is
        needed when these sums are complete would be asked for until right before that, and memory is farther.
        """

        def inside(at: LoopHandle) -> LoopHandle | None:
            sums = self._sums_in(at) if in_sums else []
            is_counted = len(sums) == 1 and self.terms(sums[0]).most_trips
            return self._in_parts(sums[0], lines) if is_counted else None

        self.loops += ask_for_results(self.s, results, loops, inside)

    def terms_ahead(
        self, rows: BufferHandle, ahead: int, around: Iterable[LoopHandle] = ()
    ) -> None:
        """
        Ask for what terms read of some rows, so many terms ahead, if that is not 0: to L1. The last columns may be read in a copy instead.
        Of a sum in parts, as one is of which that many terms are a part, the last one asks for the first terms in the next iteration of the loop
        `around` it that moves the rows. Those of panels are one after the other in memory.
        """
        if not ahead:
            return
        uses = [use.operation for use in rows.value.uses]
        loops = [loop for loop in around if loop.trips != 1]
        for summed in self._sums:
            terms = self.terms(summed)
            if not any(terms.op in regions_around(use) for use in uses):
                continue
            then = next((loop for loop in loops if is_in(terms, loop)), None)
            if then and summed not in self._parts and self._is_of_parts(ahead):
                self._parts[summed] = self.s.cut(summed, ahead, "part", "term", "perfect")
                terms = self.terms(summed)
            follows = then if then and summed in self._parts and terms.trips else ""
            self.loops += self.s.prefetch(rows, terms, ahead, locality=3, then=follows).loops

    def _is_of_parts(self, ahead: int) -> bool:
        """Whether a sum has several parts of so many terms, and is too short for others, or needs none."""
        is_short = self._kc < 2 * BETWEEN_HINTS
        return has_parts(self._kc, ahead) and (is_short or not self._has_others)

    def terms(self, summed: LoopHandle) -> LoopHandle:
        """The loop over the terms of a tile, or of a part of them, that a loop over all of them has become."""
        return self._parts[summed].inner if summed in self._parts else summed

    def _sums_in(self, at: LoopHandle) -> list[LoopHandle]:
        return [loop for loop in self._sums if is_in(self.terms(loop), at)]

    def _in_parts(self, summed: LoopHandle, lines: int | None = None) -> LoopHandle:
        """
        The loop over parts of the sums; that over terms itself where there are few. Parts are as long as those that ask for so many
        `lines` may be, if a number of these is given and the sums are not in parts already.
        """
        if summed not in self._parts:
            length = BETWEEN_HINTS if lines is None else terms_between_hints(self._kc, lines)
            # A loop ends after whole parts of a block, or after the last term: one of the two has a rest that can stand apart.
            is_peeled = self._tail == "peel" and self._kc % length == 0
            trips = summed.most_trips if is_peeled else summed.trips
            if trips is None or trips < 2 * length:
                return summed
            self._parts[summed] = self.s.cut(summed, length, "part", "term", self._tail)
        return self._parts[summed].outer


def ask_for_results(
    s: Session,
    results: Iterable[BufferHandle],
    loops: Iterable[LoopHandle],
    inside: Callable[[LoopHandle], LoopHandle | None],
) -> tuple[LoopHandle, ...]:
    """
    Ask for the tile of each result that the next iteration of each loop stores, adds to, or finishes with: a piece of it with each
    iteration of the loop `inside` of it, or all at once where there is none. The loops of the hints.
    """
    made: list[LoopHandle] = []
    for result, at in product(results, loops):
        if at.trips is None or at.trips > 1:
            made += s.prefetch(result, at, locality=3, inside=inside(at) or "").loops
    return tuple(made)


def only_copy_in(at: LoopHandle, loop: LoopHandle | None) -> LoopHandle | None:
    """The copy of a loop inside of another one, if there is one alone whose iterations are bounded."""
    copies = loop.copies_in(at) if loop else ()
    return copies[0] if len(copies) == 1 and copies[0].most_trips else None


def loop_with_terms(extents: Mapping[LoopHandle, int]) -> LoopHandle | None:
    """
    Of loops around each other, with how often they run, the innermost one but the last, over the terms of a tile, of which each iteration
    has `BETWEEN_HINTS` terms at least; None where there is none that runs more than once.
    """
    loops, terms = list(extents), 1
    for loop, inner in zip(reversed(loops[:-1]), reversed(loops[1:]), strict=True):
        terms *= extents[inner]
        if terms >= BETWEEN_HINTS and extents[loop] > 1:
            return loop
    return None
