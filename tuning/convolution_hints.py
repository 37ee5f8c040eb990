"""Hints in the tiles of a convolution: weights, the image and results are asked for while terms before them are computed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..analysis.facts import Access, Contraction, LoopFacts
from ..analysis.plans.convolution_plan import ConvolutionPlan
from ..targets.core import Core
from ..transforms.step_support.handles import BufferHandle, LoopHandle
from .session import Session
from .tile_hints import ask_for_results, loop_with_terms, only_copy_in


class ConvolutionHints:
    """The hints of one convolution's tiles. Those for pieces that are apart in memory stand in a loop around many terms."""

    def __init__(
        self,
        s: Session,
        plan: ConvolutionPlan,
        kernel: LoopFacts,
        c: Contraction,
        around: Mapping[int, LoopHandle],
        summed: Sequence[LoopHandle],
    ):
        """`around` are the loops over tiles by axis, from outermost to innermost, `summed` those of the sums."""
        self.s, self.plan, self.kernel, self.c = s, plan, kernel, c
        self.around, self.terms = around, summed[-2 if plan.has_whole_row else -1]
        """those over tiles, and the loop that hints are given in: not one that is written out"""
        self.channels = summed[-2] if plan.window_inside else summed[-1]
        self.between = (
            summed[-2]
            if plan.between_hints
            else loop_with_terms({loop: loop.trips or 1 for loop in summed})
        )
        """the loop of a sum that hints stand in; None where that is short"""
        self.loops: list[LoopHandle] = []
        """those of the hints"""

    def weights(self, panels: BufferHandle | None, core: Core) -> None:
        """
        Ask for the weights of terms to come, a page ahead: the core's own prefetchers follow a panel to the end of its
        page only, and begin anew in the next. And for the next block of them, to L2, a part of it in each step of the sums of all
        tiles that use the present one, or in each of their parts.
        """
        plan, c = self.plan, self.c
        weights = panels or self._buffer(c.right)
        if plan.prefetch_block:
            places = reversed(tuple(self.around.items()))
            at = next(at for axis, at in places if axis in c.n and at.trips != 1)
            inside = self.between if plan.block_by_parts and self.between else self.terms
            self.loops += self.s.prefetch(weights, at, locality=2, inside=inside).loops
        if plan.prefetch_weights:
            places = c.extent(plan.summed[-1:]) if plan.has_whole_row else 1
            terms = max(1, core.page_bytes // (places * plan.size(plan.lanes) * c.right_bytes))
            self.loops += self.s.prefetch(weights, self.terms, terms, locality=3).loops

    def image(self, copy: BufferHandle | None) -> None:
        """Ask for the image: for elements of terms to come, to L1, and for the next tile's part of it, to L2, in all sums that use the present one."""
        plan, s = self.plan, self.s
        image = copy or self._buffer(self.c.left)
        at = [loop for axis, loop in self.around.items() if axis in self.c.m and loop.trips != 1]
        if plan.prefetch_terms:
            ahead, inside = plan.prefetch_terms, ""
            if plan.window_inside:
                ahead = -(-ahead // self.c.extent((plan.summed[-1],)))
                inside = "" if plan.has_whole_row else self.terms
            then = at[-1] if at and plan.between_hints else ""
            self.loops += s.prefetch(
                image, self.channels, ahead, locality=3, inside=inside, then=then
            ).loops
        if plan.prefetch_image:
            inside = self.between or self.terms
            self.loops += s.prefetch(image, at[-1], locality=2, inside=inside).loops

    def results(self) -> None:
        """While a tile is computed, ask for the next one's part of the result, or of what it is finished with."""
        several = [loop for loop in self.around.values() if loop.trips != 1]
        if not self.plan.prefetch_result or not several:
            return
        results = (self.s.buffer(self.kernel.buffers[buffer]) for buffer in self.c.streams)
        self.loops += ask_for_results(
            self.s, results, several[-1].copies, lambda loop: only_copy_in(loop, self.between)
        )

    def _buffer(self, access: Access) -> BufferHandle:
        return self.s.buffer(self.kernel.buffers[access.buffer])
