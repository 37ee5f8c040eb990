"""
The predicted time of a convolution's plan.

The model is that of products (`contraction_cost.py`) for tiles that extend along several axes: multiply-adds against
loads, what comes from L2 and beyond it, and the copies.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import inf, prod

from ...lazy import cached_property
from ...targets.estimates import L2_CYCLES, TLB_CYCLES
from ...targets.target import Target
from ..facts import Contraction, Home
from .convolution_cycles import ConvolutionCycles
from .convolution_plan import ConvolutionPlan
from .cost import TRANSLATED, Cost, cost_of, found_anew, mixed

MOST_VECTORS = 4
"""Vectors along the axis in lanes at most, as for products."""

STREAMS = 32
"""
Pages in which a core's prefetchers follow what is read, one stream in each. (Intel 64 and IA-32 Architectures
Optimization Reference Manual, "Data Prefetching".)
"""


class Model(ConvolutionCycles):
    """The sizes and rates that all plans of one convolution on one target share."""

    def __init__(self, c: Contraction, target: Target):
        super().__init__(c, target)
        self._known_places: dict[tuple[object, ...], int] = {}

    def cost(self, plan: ConvolutionPlan) -> Cost:
        from_l2 = self.read_from_l2(plan)
        computing = self._arithmetic(plan, from_l2)
        return cost_of(
            [
                ("arithmetic", computing),
                ("from L2", self._from_l2(plan, computing, from_l2)),
                ("streaming", self._streaming(plan, computing)),
                ("demand misses", self._demand_misses(plan)),
                ("writing", self._waiting_for_result(plan, computing)),
                ("keeping sums", self._keeping_sums(plan)),
                ("packing weights", self._packing(plan.packs)),
                ("copying the image", self.copying(plan.halo)),
            ]
        )

    def _arithmetic(self, plan: ConvolutionPlan, from_l2: float) -> float:
        """Seconds of all tiles, the last ones along each axis being smaller."""
        alone = prod(self.extents[axis] for axis in self.parallel if axis not in plan.sizes)
        parts = [
            [
                (count, size)
                for count, size in (
                    (self.extents[axis] // whole, whole),
                    (1, self.extents[axis] % whole),
                )
                if count and size
            ]
            for axis, whole in plan.tile
        ]
        cycles = 0.0
        for part in product(*parts):
            counts, sizes = zip(*part, strict=True)
            cycles += prod(counts) * self.tile_cycles(plan, sizes, from_l2, exact=True)
        return alone * cycles / self.clock

    def least(self, plan: ConvolutionPlan, enough: float = inf, *, hints: bool = True) -> float:
        """
        Seconds that a plan takes at least, or, without `hints`, that it takes with any; where that is more than enough already, without
        what it waits for.

        An element of a tile that is smaller, at an edge, takes no less arithmetic than of a whole one; but the vectors that it
        leaves in may be fuller. Where arithmetic takes longer, more is hidden of what comes meanwhile, but nothing
        ends before the longest of them.
        """
        extents = self.extents
        sizes = tuple([min(size, extents[axis]) for axis, size in plan.tile])
        tiles = self.in_parallel / prod(sizes)
        from_l2 = self.read_from_l2(plan)
        cycles = self.tile_cycles(plan, sizes, from_l2, exact=False, hints=hints)
        computing = tiles * cycles / self.clock
        others = self._packing(plan.packs) + self.copying(plan.halo)
        if self._writing:
            others += self._exposed * self._writing * self._times_written(plan)
        if computing + others > enough:
            return computing + others
        reading = self._reading(plan, from_l2)
        streaming = (self._streaming if hints else self._streaming_at_least)(plan, computing)
        together = max(computing + streaming, reading)
        return together + self.unhidden_near * reading + others

    def _streaming(self, plan: ConvolutionPlan, computing: float) -> float:
        """
        Seconds of waiting for what does not stay in L2 and comes from beyond it while tiles are computed: the image for
        each block of weights, and these once, or for each tile where a block of them does not stay there.

        What of the image and of weights is in L2 when a call begins does not come. A block of weights comes while the first
        of the tiles that use it is computed, unless all those that use the one before ask for it: nothing of it is under way
        during the others, and of weights whose lines are used by several runs of a sum nothing but in the first of these. A part of all is
        not hidden by any arithmetic, as of what comes from L2. Of an image that is read in more places at a time than prefetchers follow,
        tiles ask for each line.
        """
        weights, image, lost, tiles = self.traffic.coming(plan)
        weights, image = weights - self._kept_weights, image - self._image_bytes + self._far_image
        # Hints ask for the image once: what comes back for later weights is waited for.
        unasked = image - self._far_image if plan.prefetch_image else image * lost
        scattered = unasked if self.is_scattered(plan) else 0.0
        unforeseen = scattered / self._unforeseen_rate(plan) if scattered else 0.0
        coming = weights / self.weights_rate + (image - scattered) / self._beyond_l2
        waiting = max(0.0, coming - computing)
        if self.result_is_far and not plan.prefetch_block:
            first = computing / tiles / self.runs_of_line(plan)
            waiting = max(waiting, weights / self.weights_rate - first)
        return waiting + self.unhidden * coming + mixed(computing, unforeseen) - computing

    def _streaming_at_least(self, plan: ConvolutionPlan, computing: float) -> float:
        """The same with any hints: of an image that prefetchers follow, these change nothing."""
        if self.is_scattered(plan):
            return self.coming
        weights, image, _, _ = self.traffic.coming(plan)
        weights, image = weights - self._kept_weights, image - self._image_bytes + self._far_image
        coming = weights / self.weights_rate + image / self._beyond_l2
        return max(0.0, coming - computing) + self.unhidden * coming

    def _demand_misses(self, plan: ConvolutionPlan) -> float:
        """
        Seconds of waiting for lines of the image that L2 has lost between two blocks of weights while it kept those around them: nothing has
        asked for them before they are loaded, and no arithmetic hides that, as of products (`demand_misses` in `contraction_rates.py`).
        (On Intel's Granite Rapids four images that took 1.6 MB of 2 MB came again for each of 16 blocks of weights: 2.8 ms, where 2.2 were
        predicted without, and 2.15 image after image.)
        """
        _, image, lost, _ = self.traffic.coming(plan)
        if plan.prefetch_image or not lost:
            return 0.0
        rate = self._unforeseen_rate(plan) if self.is_scattered(plan) else self._beyond_l2
        return (1 - lost) * max(image - self._image_bytes, 0.0) / rate

    def image_returns(self, plan: ConvolutionPlan) -> bool:
        """Whether the image, or what tiles go through of it, would come from beyond L2 for each block of weights."""
        size = self.traffic.image_part(plan) + self.traffic.block(plan)
        return self.traffic.blocks(plan) > 1 and size > self.near_2

    @cached_property
    def may_have_depths(self) -> bool:
        """
        Whether sums may go by blocks of channels, around all tiles: those of one convolution through no window. L2 keeps all sums, but not the
        image beside the largest block of weights that tiles of the most vectors have, nor all weights, which go by for each tile else.
        """
        c, traffic = self.c, self.traffic
        several = [axis for axis in c.k if self.extents[axis] > 1]
        is_one = not any(self.extents[axis] > 1 for axis in c.batch)
        if self.has_window or len(several) != 1 or not is_one or c.initialised is None:
            return False
        if c.facts.is_part:  # the buffer of sums is one of the whole result
            return False
        if self.weights_stay or traffic.result > self.near_2:
            return False
        block = traffic.weights * min(1.0, MOST_VECTORS * self.lanes / c.extent(c.n))
        is_far = traffic.image * traffic.crowding + block > self.near_2
        return c.statement.reassociates and is_far

    @cached_property
    def weights_stay(self) -> bool:
        """Whether L2 keeps all weights."""
        return self._weight_bytes <= self.near_2

    def _places(self, plan: ConvolutionPlan) -> int:
        """On how many pages a tile reads the image by turns, while it is computed."""
        key = (plan.halo, plan.summed)
        if (known := self._known_places.get(key)) is not None:
            return known
        page, bytes_ = self.core.page_bytes, self.c.left_bytes
        pages = (a for a in plan.summed if self.step(plan.halo, self.c.left, a) * bytes_ >= page)
        found = self._known_places[key] = prod(self.extents[axis] for axis in pages)
        return found

    def _unforeseen_rate(self, plan: ConvolutionPlan) -> float:
        """Bytes/s of what only the loads ask for that a core looks ahead to."""
        accumulators = self.accumulators(plan)
        loads = self.loaded(plan, self.c.left) + self.loaded(plan, self.c.right)
        ahead = max(1.0, self.core.window / (accumulators + loads))
        _, run = self.pieces(plan, self.c.left, ())
        return ahead * max(run, self.line) / self.rates.latency("L3")

    @cached_property
    def _writing(self) -> float:
        """Seconds in which what does not stay in L2 of a result comes from beyond it, and goes there."""
        return self._far_share * 2 * self._bytes(self.c.result) / self._beyond_l2

    def _waiting_for_result(self, plan: ConvolutionPlan, computing: float) -> float:
        """Seconds of waiting for lines of the result, which tiles ask for while the one before is computed."""
        writing = self._writing * self._times_written(plan)
        hidden = min(writing * (1 - self._exposed), computing)
        return writing - hidden + self._far_share * self._found_anew(plan)

    def _found_anew(self, plan: ConvolutionPlan) -> float:
        """Seconds of waiting for rows of the result that tiles do not ask for, on more pages by turns than a core translates at once."""
        if plan.prefetch_result or self.traffic.pages_written(plan) <= TRANSLATED:
            return 0.0
        run = prod(size for axis, size in plan.tile if self.is_along[axis])
        computing = 2 * self.terms * run / self.rates.tile_near.core
        return self.in_parallel / run * found_anew(computing, len(self.c.streams))

    @cached_property
    def _exposed(self) -> float:
        """
        The part of the result's coming and going that no arithmetic hides: as of what comes from L2, for tiles that go through a window.
        Others have fewer terms for each line, and are set against products, which are charged with all of it.
        """
        return min(self.unhidden, 1.0) if self.has_window else 1.0

    def _times_written(self, plan: ConvolutionPlan) -> float:
        """
        How often a line of the result comes and goes: once for each tile that has a part of it, where all of the image goes
        by between two of them.
        """
        if self.traffic.has_rows_outside(plan):
            return 1.0
        bytes_ = self.c.result_bytes
        parts = [
            min(self.extents[axis] * bytes_, self.line) / (plan.size(axis) * bytes_)
            for axis in self._columns_along
        ]
        return max(1.0, *parts, 1.0)

    @cached_property
    def _columns_along(self) -> tuple[int, ...]:
        """The axes of N along which neighbours are neighbours in the result's memory."""
        return tuple(axis for axis in self.c.n if self.is_along[axis])

    def _from_l2(self, plan: ConvolutionPlan, computing: float, from_l2: float) -> float:
        """Seconds of waiting for operands that tiles read from L2. A part of it is not hidden by any arithmetic."""
        reading = self._reading(plan, from_l2)
        return mixed(computing, reading) - computing + self.unhidden_near * reading

    def _sums_moved(self, plan: ConvolutionPlan) -> float:
        """Seconds in which the sums of all tiles come from their buffer in L2 and go there again, for each block of channels that these go by in."""
        moved = 2 * self.traffic.depths(plan) * self.traffic.result
        return moved / self.rates.read_l2.core if plan.depth else 0.0

    def _keeping_sums(self, plan: ConvolutionPlan) -> float:
        """
        Seconds of waiting for these beside that: for what L2 loses of them from one block to the next, and for zeros before the first one, and
        results after the last one, which are copied with nothing to compute.
        """
        if not plan.depth:
            return 0.0
        size, lost = self.traffic.result, self.traffic.sums_lost(plan)
        again = 2 * self.traffic.depths(plan) * lost * size / self._beyond_l2
        rate = self.rates.copy_l2 if size <= self.near_2 else self.rates.copy_l3
        return again + 3 * size / rate.core

    def is_scattered(self, plan: ConvolutionPlan) -> bool:
        """Whether the image is read in more places at a time than prefetchers follow."""
        return self._places(plan) > STREAMS

    def _reading(self, plan: ConvolutionPlan, from_l2: float) -> float:
        """
        Seconds in which so many bytes come from L2 for each tile. What prefetchers do not follow is waited for by lines, with the
        addresses of their pages.
        """
        tiles = self.traffic.every_tile(plan)
        seconds = tiles * from_l2 / self.rates.read_l2.core + self._sums_moved(plan)
        if not self.is_scattered(plan):
            return seconds
        line = (L2_CYCLES + TLB_CYCLES) / self.core.l1_misses / self.clock
        return max(seconds, tiles * from_l2 / self.line * line)

    def _packing(self, packs: bool) -> float:
        """Seconds in which weights that are no constants are packed, in each call."""
        if not packs or self.c.facts.buffers[self.c.right.buffer].home is Home.CONSTANT:
            return 0.0
        return 2 * self._weight_bytes / self.rates.pack_far.core

    def copying(self, halo: Sequence[int]) -> float:
        """Seconds in which the image is copied with its border, if it is."""
        size = 2 * self._image_bytes
        is_near = size / self.traffic.images_apart <= self.near_2
        rate = self.rates.copy_l2 if is_near else self.rates.copy_l3
        return size / rate.core if halo else 0.0

    @cached_property
    def coming(self) -> float:
        """Seconds that no arithmetic hides of the weights' coming, with every plan."""
        return self.unhidden * (self._weight_bytes - self._kept_weights) / self.weights_rate

    def besides(self, packs: bool, halo: Sequence[int]) -> float:
        """Seconds beside the tiles that every plan takes."""
        return self._exposed * self._writing + self._packing(packs) + self.copying(halo)
