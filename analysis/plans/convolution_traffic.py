"""What of a convolution's operands comes from beyond L2, by the order in which tiles go through them."""

from __future__ import annotations

from collections.abc import Mapping
from math import gcd, prod
from typing import NamedTuple

from ...lazy import cached_property
from ...targets.target import Target
from ..facts import Access, Contraction
from .convolution_plan import ConvolutionPlan, SizedAxes
from .cost import bytes_taken, lost_part, round_up


class Coming(NamedTuple):
    """Bytes that come from beyond L2 in a call, and how tiles use them."""

    weights: float
    image: float
    lost: float
    """the part of the image that L2 does not keep from one block of weights to the next"""
    tiles: int
    """of rows that go by one after the other for each block of weights"""


class Kept(NamedTuple):
    """A tile's part of an image, from which the next tile uses the rest of its lines, and later weights all where they go by for each tile."""

    taken: float
    """bytes of L2 that it takes: those of all ways that its pieces need, where these fall into few sets"""
    lines: float
    """how many times the bytes of a piece its whole lines are"""


class Traffic:
    """The sizes of a convolution's operands, and what comes of them."""

    def __init__(self, c: Contraction, target: Target):
        self.c, self.core = c, target.core
        self.extents = {axis: c.extent((axis,)) for axis in range(len(c.statement.axes))}
        self.image, self.weights, self.result = map(self._used, (c.left, c.right, c.result))
        self.weights_apart = prod(self.extents[a] for a in c.batch if c.right.moves_along(a))
        """of how many convolutions by themselves there are weights"""
        self.images_apart = prod(self.extents[a] for a in c.batch if c.left.moves_along(a))
        self._entries = prod(self.extents[a] for a in c.batch)
        self._known: dict[tuple[int, int, int, int, bool, Kept, float], Coming] = {}
        self._known_plans: dict[tuple[object, ...], Coming] = {}
        self._known_counts: dict[SizedAxes, tuple[int, int, int]] = {}

    def _used(self, access: Access) -> float:
        """Bytes of an operand in the lines that are used: of strided rows and columns, others are between them."""
        buffer = self.c.facts.buffers[access.buffer]
        size = float(buffer.bytes or 0)
        line, step = self.core.cache(1).line_bytes, self.c.facts.element_bytes(access)
        for extent, subscript in zip(
            reversed(buffer.shape), reversed(access.subscripts), strict=True
        ):
            if not isinstance(extent, int) or subscript is None:
                return size
            moving = (self.extents[axis] for axis, by in enumerate(subscript.coefficients) if by)
            if step >= line and extent:
                size *= min(1.0, prod(moving) / extent)
            step *= extent
        return size

    @cached_property
    def crowding(self) -> float:
        """
        Into which part of L2's sets the image's lines fall, as how many times more of the cache they take than they have bytes: those
        of every second pixel are all of even numbers, where pixels are lines, and use half of the sets.
        """
        level_2, bytes_ = self.core.cache(2), self.c.left_bytes
        steps = [
            (abs(self.c.stride(self.c.left, axis) or 0) * bytes_, extent)
            for axis, extent in self.extents.items()
            if extent > 1
        ]
        line = level_2.line_bytes
        run = bytes_ + sum((extent - 1) * step for step, extent in steps if 0 < step < line)
        apart = gcd(level_2.way_bytes, *(step for step, _ in steps if step >= line))
        return max(apart / round_up(run, line), 1.0)

    def _image_taken(self, plan: ConvolutionPlan) -> float:
        """Bytes of L2 that the image takes, or its copy."""
        return self.image * (1.0 if plan.halo else self.crowding)

    def blocks(self, plan: ConvolutionPlan) -> int:
        """In how many blocks tiles use the weights."""
        return self._counts(plan)[0]

    def tiles(self, plan: ConvolutionPlan) -> int:
        """In how many parts tiles use the image, or each part of it that all weights go by for."""
        return self._counts(plan)[1] // self.parts(plan)

    def every_tile(self, plan: ConvolutionPlan) -> int:
        """How many tiles there are."""
        return self._counts(plan)[2]

    def _counts(self, plan: ConvolutionPlan) -> tuple[int, int, int]:
        """How many tiles there are along all axes of N, along all of M, and in all."""
        if (known := self._known_counts.get(plan.tile)) is None:
            c, along = self.c, self._tiles_along
            every = (c.n, c.m, c.batch)
            n, m, batch = (prod([along(plan, axis) for axis in axes]) for axes in every)
            known = self._known_counts[plan.tile] = n, m, n * m * batch
        return known

    def parts(self, plan: ConvolutionPlan) -> int:
        """Of how many parts of the image one after the other all weights go by, while tiles go through one."""
        if not plan.outside or self.has_rows_outside(plan):
            return 1
        return prod([self._parts_along(plan, axis) for axis in plan.outside])

    def _parts_along(self, plan: ConvolutionPlan, axis: int) -> int:
        if plan.at_a_time and axis == plan.outside[-1]:
            return -(-self.extents[axis] // plan.at_a_time)
        return self._tiles_along(plan, axis)

    def depths(self, plan: ConvolutionPlan) -> int:
        """In how many blocks of channels sums go by."""
        return self.extents[plan.summed[-1]] // plan.depth if plan.depth else 1

    def has_rows_outside(self, plan: ConvolutionPlan) -> bool:
        """Whether all blocks of weights go by for each tile."""
        if not plan.outside or plan.at_a_time:
            return False
        inside = (axis for axis in self.c.m if axis not in plan.outside)
        return all(self._tiles_along(plan, axis) == 1 for axis in inside)

    def pages_written(self, plan: ConvolutionPlan) -> float:
        """
        On how many pages all blocks of weights write, for a tile of pixels that they go by for, the result and what it is finished with:
        those of rows that begin apart. 0 where tiles along these rows follow each other.
        """
        c = self.c
        steps = [abs(c.stride(c.result, axis) or 0) for axis in c.n if self.extents[axis] > 1]
        if not self.has_rows_outside(plan) or not steps or min(steps) == 1:
            return 0.0
        rows, apart = c.extent(c.n) * len(c.streams), min(steps) * c.result_bytes
        return rows * min(1.0, apart / self.core.page_bytes)

    def is_apart(self, axis: int) -> bool:
        """Whether iterations of an axis of rows read parts of the image that have no element in common."""
        dimension = self.c.left.dimension_of(axis)
        subscript = None if dimension is None else self.c.left.subscripts[dimension]
        return subscript is not None and not any(
            by and other != axis and self.extents[other] > 1
            for other, by in enumerate(subscript.coefficients)
        )

    def _tiles_along(self, plan: ConvolutionPlan, axis: int) -> int:
        return -(-self.extents[axis] // plan.size(axis))

    def image_part(self, plan: ConvolutionPlan) -> float:
        """Bytes of L2 that the image takes, or the largest part of it that tiles go through for a block of weights."""
        part = 1 / self.parts(plan) / self.depths(plan)
        if plan.at_a_time:
            last = plan.outside[-1]
            part *= self._parts_along(plan, last) * plan.at_a_time / self.extents[last]
        return self._image_taken(plan) / self.images_apart * part

    def block(self, plan: ConvolutionPlan) -> float:
        """Bytes of a block of weights."""
        return self.weights / self.weights_apart / self.blocks(plan) / self.depths(plan)

    def coming(self, plan: ConvolutionPlan) -> Coming:
        """What comes from beyond L2 with a plan."""
        order = plan.halo, plan.outside, plan.at_a_time, plan.depth, plan.summed[-1]
        if (known := self._known_plans.get((plan.tile, order))) is None:
            known = self._known_plans[plan.tile, order] = self._of_plan(plan)
        return known

    def _of_plan(self, plan: ConvolutionPlan) -> Coming:
        parts = self.parts(plan), self.depths(plan)
        goes = (self.tiles(plan), *parts, self.has_rows_outside(plan))
        key = (self.blocks(plan), *goes, self._kept(plan), self._image_taken(plan))
        if (known := self._known.get(key)) is None:
            known = self._known[key] = self._found(*key)
        return known

    def _kept(self, plan: ConvolutionPlan) -> Kept:
        """
        What L2 has to keep. Pieces of channels fall into few sets in images whose sides are powers of two; a copy of the image is taken to
        have none that do.
        """
        level_2, tiles = self.core.cache(2), self._counts(plan)[1]
        size = self.image / self.images_apart / tiles / self.depths(plan)
        steps = self._summed_steps
        channels = max(steps, key=steps.__getitem__, default=None)
        if channels is None or plan.halo:
            return Kept(size, 1.0)
        pieces = self.extents[channels] // self.depths(plan)
        apart = steps[channels] * self.c.left_bytes
        width = max(min(int(size) // pieces, apart, level_2.way_bytes), 1)
        taken = bytes_taken(level_2, size, pieces, apart, width)
        return Kept(taken, round_up(width, level_2.line_bytes) / width)

    @cached_property
    def _summed_steps(self) -> Mapping[int, int]:
        """How far apart neighbours along each summed axis are in the image."""
        return {axis: abs(self.c.stride(self.c.left, axis) or 0) for axis in self.c.k}

    def _found(
        self,
        blocks: int,
        tiles: int,
        parts: int,
        depths: int,
        rows_outside: bool,
        kept: Kept,
        taken: float,
    ) -> Coming:
        entries = self._entries * parts
        weights = self.weights / self.weights_apart / depths
        image, result = taken / self.images_apart / parts / depths, self.result / entries
        used_again = weights if rows_outside else weights / blocks
        again = self._lost(used_again, (image + result / (weights / used_again)) / tiles)
        next_entry = self._lost(weights, image + result)
        shared = entries / self.weights_apart  # of a batch
        times = 1 + (shared - 1) * next_entry + shared * (tiles - 1) * again
        lost = self._lost(image + weights / blocks, result / blocks)
        back = self._lost(kept.taken, weights / blocks)
        if rows_outside:
            returns = 1 + (blocks * kept.lines - 1) * back
        else:
            returns = (1 + (blocks - 1) * lost) * (1 + (kept.lines - 1) * back)
        return Coming(self.weights * times, self.image * returns, lost, tiles)

    def sums_lost(self, plan: ConvolutionPlan) -> float:
        """The part of all sums that L2 does not keep from one block of channels to the next."""
        passing = self._image_taken(plan) + self.weights
        return self._lost(self.result, passing / self.depths(plan))

    def _lost(self, size: float, streamed: float) -> float:
        """The part of so many bytes, used in turn, that L2 does not keep while so many others go by."""
        return lost_part(self.core.cache(2), self.core.page_bytes, size, streamed)
