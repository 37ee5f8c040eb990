"""What the tiles of a convolution load for a term, and what they read of their operands, whatever that takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import ceil, gcd, prod

from ...lazy import cached_property
from ...targets.target import Target
from ..facts import Access, Contraction
from .convolution_plan import ConvolutionPlan, Loads, SizedAxes
from .convolution_traffic import Traffic
from .cost import bytes_taken, half_part, kept_bytes, round_up

COMPARED = 2
"""Vectors with which masks are worked out: the numbers of lanes, and the end that they are compared with."""


class ConvolutionReads:
    """The sizes of one convolution, and what each of its plans loads and reads on one target."""

    def __init__(self, c: Contraction, target: Target):
        self.c, self.core = c, target.core
        self.extents = {axis: c.extent((axis,)) for axis in range(len(c.statement.axes))}
        self.lanes = self.core.lanes(max(c.result_bytes, c.left_bytes, c.right_bytes))
        self.left, self.right = (
            {a: _stride(c, one, a) for a in self.extents} for one in (c.left, c.right)
        )
        self.moving_left, self.moving_right = (
            frozenset(a for a in self.extents if one.moves_along(a)) for one in (c.left, c.right)
        )
        self.near_1, self.near_2 = (kept_bytes(self.core.cache(level)) for level in (1, 2))
        self.line, self.half = self.core.cache(1).line_bytes, half_part(target)
        self.terms = c.extent(c.k)
        self.has_window = any(self.extents[axis] > 1 for axis in c.window)
        """whether tiles go through a window of several elements; others are set against products"""
        self.traffic = Traffic(c, target)
        dimensions = {axis: c.left.dimension_of(axis) for axis in self.extents}
        self.image_subscripts = {
            axis: None if n is None else c.left.subscripts[n] for axis, n in dimensions.items()
        }
        """of each axis the image's subscript that it moves; None where it moves none or several"""
        self._steps: dict[tuple[object, ...], int] = {}
        self._known_touched: dict[tuple[object, ...], float] = {}
        self._known_moving: dict[SizedAxes, tuple[SizedAxes, SizedAxes]] = {}
        self._known_loaded: dict[tuple[bool, SizedAxes, bool], float] = {}
        self._known_reads: dict[tuple[object, ...], float] = {}
        self._known_of_tiles: dict[tuple[object, ...], tuple[float, float]] = {}
        self._kept_runs: dict[tuple[object, ...], bool] = {}
        self._known_loads: dict[tuple[bool, tuple[int, int], bool], Loads] = {}

    def part(self, wide: int) -> float:
        """What an instruction on so many lanes takes of the time of one on a full vector; of several, each is full."""
        return self.half if 2 * wide <= self.lanes else 1.0

    def vectors(self, plan: ConvolutionPlan) -> int:
        """Along the axis in lanes."""
        return -(-plan.tile[-1][1] // self.lanes)

    def accumulators(self, plan: ConvolutionPlan) -> int:
        return prod(size for _, size in plan.tile[:-1]) * self.vectors(plan)

    def spread(self, plan: ConvolutionPlan) -> int:
        """How far apart in memory a tile's elements of the image are for one term: of equal plans the nearest is best."""
        steps = ((size - 1, self.c.stride(self.c.left, axis)) for axis, size in plan.tile)
        return sum(count * abs(step or 0) for count, step in steps)

    def has_masks(self, plan: ConvolutionPlan, beyond: frozenset[int]) -> bool:
        """
        Whether masks can say which lanes are inside of an image that a tile leaves along these dimensions: of the axis in lanes alone, and
        with registers for what a vector's lanes are compared with, and before AVX-512 for the masks.
        """
        c, core, lanes = self.c, self.core, plan.lanes
        dimension = c.left.dimension_of(lanes)
        if lanes not in c.m or dimension is None or beyond != frozenset((dimension,)):
            return False
        if self.left[lanes] not in (1, 2) or not core.has_masks(c.left_bytes):
            return False
        vectors, image = self.vectors(plan), self.loaded(plan, c.left)
        beside = min(image + 1, self.loaded(plan, c.right) + vectors)
        masks = COMPARED + vectors * (not core.stores_by_masks)
        return self.accumulators(plan) + beside + masks <= core.vector_registers

    def registers_of_row(self, plan: ConvolutionPlan) -> int:
        """
        Registers of a tile with pixels in lanes for which a row of the window is written out: its sums, a weight, and the image's vectors of
        one place; where lanes take every other pixel, of all places, which LLVM makes out of the same vectors, with the numbers of lanes
        that tell how. (With AVX-512 tiles of 12 x 2 x 16 stay in registers, those of 13 x 2 x 16 and 8 x 3 x 16 do not.)
        """
        image = int(self.loaded(plan, self.c.left))
        if self.left[plan.lanes] != 1:
            return self.accumulators(plan) + image * self.extents[plan.summed[-1]] + 2
        beside = int(self.loaded(plan, self.c.right)) + self.vectors(plan)
        return self.accumulators(plan) + min(image + 1, beside)

    def loaded_of_row(self, plan: ConvolutionPlan) -> float:
        """The part of its vectors of the image that a tile loads where all places of a row of the window take theirs out of the same."""
        if not plan.writes_row:
            return 1.0
        return self.loaded_of_places(plan.lanes, plan.size(plan.lanes), plan.summed[-1])

    def loaded_of_places(self, lanes: int, wide: int, row: int) -> float:
        """The same for a tile with so many elements in lanes, which take every other pixel, and for places along an axis of the window."""
        apart = self.left[lanes] or 1
        if apart == 1:
            return 1.0
        places, lanes = self.extents[row], min(wide, self.lanes)
        reach = (lanes - 1) * apart + (places - 1) * (self.left[row] or 0) + 1
        return min(1.0, -(-reach // lanes) / (apart * places))

    def masked_part(self, plan: ConvolutionPlan) -> float:
        """
        The part of the image's vectors that masks are for, those of the first and the last tile along the axis in lanes: each of them is a
        blend as well, beside multiply-adds where additions begin (uops.info).
        """
        lanes = plan.lanes
        return min(1.0, 2 / -(-self.extents[lanes] // plan.size(lanes))) if plan.masked else 0.0

    def loaded(self, plan: ConvolutionPlan, access: Access) -> float:
        """Vectors, or broadcast elements, of an operand that a tile uses for one term."""
        key = (access is self.c.right, plan.tile, plan.packs)
        if (known := self._known_loaded.get(key)) is None:
            known = self._known_loaded[key] = self._loads(plan.sizes, plan, access).values
        return known

    def _loads(self, sizes: Mapping[int, int], plan: ConvolutionPlan, access: Access) -> Loads:
        """The same for a tile of some sizes, and the instructions for them."""
        strides = self.right if access is self.c.right else self.left
        lanes, count = plan.lanes, 1
        for axis, size in sizes.items():
            if axis != lanes and strides[axis] != 0:
                count *= size
        one = self.loads_of_one(access, (lanes, sizes[lanes]), plan.packs)
        return one if count == 1 else one.times(count)

    def kept_of_row(self, plan: ConvolutionPlan) -> int:
        """
        Registers for what a tile uses at several places of a row of the window, beside its sums: all weights of the row, one element of the
        image at a time and the next one, which LLVM loads before the last use of it, where neighbours in the tile are neighbours there;
        else the weights of one place, and each element from the first place that it is used at to the last. 0 where no two places use the
        same. (One register less, and a sum of 28 x 16 went to memory and back for each channel.)
        """
        row = plan.summed[-1]
        subscript = self.image_subscripts[row]
        if subscript is None:
            return 0
        moving = [(a, n) for a, n in plan.tile[:-1] if self.left[a] != 0]
        beside = [(a, n) for a, n in moving if subscript.coefficients[a]]
        if len(beside) != 1:
            return 0
        (axis, size), by, places = beside[0], subscript.coefficients, self.extents[row]
        others = prod(n for a, n in moving if a != axis)
        elements = _most_at_once(size, by[axis], places, by[row])
        weights = int(self.loaded(plan, self.c.right))
        if not elements:
            return 0
        return places * weights + others + 1 if by[axis] == 1 else weights + elements * others

    def loads_of_one(self, access: Access, lanes: tuple[int, int], packs: bool) -> Loads:
        """Those of a tile that has so many elements along the axis in lanes, and one along each other."""
        key = (access is self.c.right, lanes, packs)
        if (known := self._known_loads.get(key)) is None:
            known = self._known_loads[key] = self._find_loads(*key)
        return known

    def _find_loads(self, is_right: bool, lanes: tuple[int, int], packs: bool) -> Loads:
        axis, wide = lanes
        stride = (self.right if is_right else self.left)[axis]
        if stride == 0:
            # Products are charged with vectors for these, too, of which `tile_in_l1` knows what they take.
            return Loads(1, 0, 1) if self.has_window else Loads(1, 1)
        vectors = -(-wide // self.lanes)
        if stride == 1 or (packs and is_right):
            return Loads(vectors, vectors)
        if stride == 2:  # two vectors, of which a shuffle takes every other element
            return Loads(vectors, 2 * vectors, shuffles=vectors)
        return Loads(vectors, 0, wide, wide)

    def read_from_l2(self, plan: ConvolutionPlan) -> float:
        """
        Bytes of operands that a tile reads from L2: once, or, where L1 does not keep what goes by while the innermost
        summed axis runs, again for each of its runs. Of weights and image that stay in L1 together, what the tile before
        has read too is there.
        """
        order = plan.summed, plan.block, plan.depth, plan.outside, plan.at_a_time
        key = (plan.tile, plan.packs, plan.halo, plan.written_out, order)
        if (known := self._known_reads.get(key)) is None:
            known = self._known_reads[key] = self._find_read(plan)
        return known

    def _find_read(self, plan: ConvolutionPlan) -> float:
        if plan.written_out:
            return 0.0  # the one channel's image has just been copied, into L1
        if plan.depth:
            return self._read_in_blocks(plan)
        image, weights = self._touched_by_tile(plan)
        if image + weights <= self.near_1:
            return weights if self.traffic.has_rows_outside(plan) else image
        terms = self.terms_of_run(plan)
        if self.keeps_run(plan, terms):
            return image + weights
        return max(image + weights, self._run(plan, terms) * self.terms / terms)

    def _read_in_blocks(self, plan: ConvolutionPlan) -> float:
        """The same where sums go by blocks of channels: L1 keeps the weights of one, if it may, while all of the image goes by."""
        terms = ((plan.summed[-1], plan.depth),)
        image, weights = (self.touched(plan, one, terms) for one in (self.c.left, self.c.right))
        if self.keeps_run(plan, plan.depth):
            weights /= self.traffic.tiles(plan)
        return self.traffic.depths(plan) * (image + weights)

    def hints_of_term(self, plan: ConvolutionPlan, wide: int, weights: Loads) -> float:
        """The hints of a term of a tile with so many elements in lanes."""
        hints = plan.prefetch_image + self.hints_for_block(plan)
        hints += self.asked_lines(plan) if plan.prefetch_terms else 0
        return hints + (self.hints_for_weights(wide, weights) if plan.prefetch_weights else 0)

    def hints_for_weights(self, wide: int, loads: Loads) -> float:
        """
        Hints of a term for the weights a page ahead, in panels of so many lanes, of which a tile has these loads: one for each line. Where
        tiles go through a window, one is charged for each vector, for what the loops over its places take beside those over channels. (With AVX2 on Intel's
        Granite Rapids tiles of 5 x 16 over 256 channels of 14 x 14, three places two elements apart, took 1.1 of the time of those of 14 x 8,
        where 0.99 was predicted with one for each line.)
        """
        panels = loads.values / -(-wide // self.lanes)
        lines = -(-wide * self.c.right_bytes // self.line)
        return loads.values if self.has_window else panels * lines

    def lines_of_block(self, plan: ConvolutionPlan) -> float:
        """Lines of the next block of weights that each tile which uses the one before asks for, if they do."""
        return self.traffic.block(plan) / self.traffic.tiles(plan) / self.line

    def hints_for_block(self, plan: ConvolutionPlan) -> float:
        """Hints of a term for the next block of weights: one, or, of those that stand before each part of a sum, its share."""
        if not plan.block_by_parts:
            return float(plan.prefetch_block)
        parts = self.terms_of_tile(plan) // plan.between_hints
        return ceil(self.lines_of_block(plan) / parts) / plan.between_hints

    def split_part(self, plan: ConvolutionPlan) -> float:
        """
        The part of the image's vectors that lie across two lines: of those that begin at each place of a window, as of a caller's array,
        which may begin with any element; or of pieces of rows that begin apart by no whole vectors. Elements that are loaded one by one do not.
        """
        image, lanes = self.c.left, plan.lanes
        if self.left[lanes] not in (1, 2):
            return 0.0
        subscript = image.subscripts[image.dimension_of(lanes) or 0]
        moved = subscript is not None and any(
            subscript.coefficients[axis] and self.extents[axis] > 1 for axis in self.c.window
        )
        is_callers = not plan.halo and self.c.facts.buffers[image.buffer].is_callers
        wide = min(plan.size(lanes), self.lanes) * self.c.left_bytes
        if moved or is_callers:
            return wide / self.line
        steps = (
            self.step(plan.halo, image, a)
            for a in self.moving_left
            if a != lanes and self.extents[a] > 1
        )
        apart = gcd(wide, *(step * self.c.left_bytes for step in steps))
        return wide / self.line * (1 - apart / wide)

    def demand_miss_ratio(self, plan: ConvolutionPlan) -> float:
        """
        The part of a tile's elements of the image whose lines are not in L1 when they are loaded: nothing has asked for them, and a
        core's own prefetchers follow steps of at most half a page. (Intel 64 and IA-32 Architectures Optimization Reference
        Manual, "Data Prefetching".)
        """
        axis = plan.summed[-2 if plan.window_inside else -1]
        step = self.step(plan.halo, self.c.left, axis) * self.c.left_bytes
        if plan.written_out or plan.prefetch_terms or step <= self.core.page_bytes // 2:
            return 0.0
        image, weights = self._touched_by_tile(plan)
        if image + weights <= self.near_1 and self.traffic.has_rows_outside(plan):
            return 0.0
        terms = self.terms_of_run(plan)
        if not self.keeps_run(plan, terms):
            return 1.0
        return min(1.0, image / self.terms / (self.image_lines(plan) * self.line))

    def keeps_run(self, plan: ConvolutionPlan, terms: int) -> bool:
        """
        Whether L1 keeps what a tile reads in so many terms along the innermost summed axis, until the next element of the window comes
        to it: pieces of the image whose distance is a multiple of many lines share few sets.
        """
        key = (plan.halo, plan.tile, plan.packs, plan.summed[-1], terms)
        if (known := self._kept_runs.get(key)) is None:
            run = self._run(plan, terms)
            known = run <= self.near_1 and run + self._crowd(plan, terms) <= self.near_1
            self._kept_runs[key] = known
        return known

    def _crowd(self, plan: ConvolutionPlan, terms: int) -> float:
        """Bytes of L1 that pieces of the image in so many terms take beside their own, as they need more of some sets than of others."""
        last, image = plan.summed[-1], self.c.left
        apart = self.step(plan.halo, image, last) * self.c.left_bytes
        if apart < self.line:
            return 0.0
        size = self.touched(plan, image, ((last, terms),))
        _, width = self.pieces(plan, image, ())
        width = round_up(width, self.line)
        return bytes_taken(self.core.cache(1), size, terms, apart, width) - size

    def _touched_by_tile(self, plan: ConvolutionPlan) -> tuple[float, float]:
        """Bytes of image and weights that a tile reads, each of them once."""
        key = (plan.tile, plan.packs, plan.halo, plan.summed)
        if (known := self._known_of_tiles.get(key)) is None:
            every = tuple([(axis, self.extents[axis]) for axis in plan.summed])
            image, weights = (self.touched(plan, one, every) for one in (self.c.left, self.c.right))
            known = self._known_of_tiles[key] = image, weights
        return known

    def terms_of_run(self, plan: ConvolutionPlan) -> int:
        """The iterations of the innermost loop of a sum."""
        return max(1, plan.block or plan.depth or self.extents[plan.summed[-1]])

    def terms_of_tile(self, plan: ConvolutionPlan) -> int:
        """The terms that a tile adds up before another one is computed."""
        return self.terms // self.traffic.depths(plan)

    def terms_of_channels(self, plan: ConvolutionPlan) -> int:
        """The terms in one run of the innermost loop over channels."""
        inside = self.extents[plan.summed[-2]] if plan.window_inside else 1
        return self.terms_of_run(plan) * inside

    def runs_of_line(self, plan: ConvolutionPlan) -> float:
        """
        In how many runs over channels a tile uses a line of its weights: in one where they are packed in the order of the sum; as they are
        there may be a line for all of a channel's window. (With AVX2 on Intel's Granite Rapids tiles of 4 x 3 x 8 with 512 channels of 7 x 7,
        whose weights came from L3 in the first of nine runs, took 1.17 of the time of 2 x 7 x 8, where as long was predicted.)
        """
        innermost = plan.summed[-2:] if plan.window_inside else plan.summed[-1:]
        sizes = {axis: self.extents[axis] for axis in innermost}
        if plan.block:
            sizes[plan.summed[-1]] = plan.block
        _, every = self._touched_by_tile(plan)
        of_run = self.touched(plan, self.c.right, tuple(sizes.items()))
        return max(1.0, of_run * self.terms / prod(sizes.values()) / every)

    def _run(self, plan: ConvolutionPlan, terms: int) -> float:
        """Bytes of operands that a tile reads in so many terms along the innermost summed axis."""
        summed = ((plan.summed[-1], terms),)
        return sum(self.touched(plan, one, summed) for one in (self.c.left, self.c.right))

    def has_blocks(self, summed: Sequence[int]) -> bool:
        """Whether sums may go through channels by blocks, each with the whole window: it is around the channels else."""
        return self.c.statement.reassociates and summed[-1] not in self.c.window

    def touched(self, plan: ConvolutionPlan, access: Access, summed: SizedAxes) -> float:
        """
        Bytes, in whole lines, that a tile reads of an operand while summed axes run, each so far. A piece begins anywhere in a line
        unless all of them are whole lines, and lines apart.
        """
        is_right = access is self.c.right
        key = (is_right, plan.packs, plan.halo, summed, self._moving_sizes(plan.tile)[is_right])
        if (known := self._known_touched.get(key)) is not None:
            return known
        count, run = self.pieces(plan, access, summed)
        is_whole = (plan.packs and is_right) or self._is_in_lines(plan, access, run)
        found = count * (run if is_whole else run + self.line - self.c.facts.element_bytes(access))
        self._known_touched[key] = found
        return found

    def _moving_sizes(self, tile: SizedAxes) -> tuple[SizedAxes, SizedAxes]:
        """Of a tile's axes with their sizes those that move the image, and those that move the weights."""
        if (known := self._known_moving.get(tile)) is None:
            both = (self.moving_left, self.moving_right)
            left, right = (tuple([s for s in tile if s[0] in moving]) for moving in both)
            known = self._known_moving[tile] = left, right
        return known

    def _is_in_lines(self, plan: ConvolutionPlan, access: Access, run: int) -> bool:
        """Whether pieces of so many bytes begin with a line each, as an operand itself does."""
        begin = self._lines_begin[access is self.c.right]
        return begin and not plan.halo and run % self.line == 0

    @cached_property
    def _lines_begin(self) -> tuple[bool, bool]:
        """Whether what is at least a line apart of the image, and of the weights, is whole lines apart, and their first elements are read."""
        return self._begins_lines(self.c.left), self._begins_lines(self.c.right)

    def _begins_lines(self, access: Access) -> bool:
        if any(one is None or one.constant for one in access.subscripts):
            return False
        bytes_ = self.c.facts.element_bytes(access)
        steps = [self.step((), access, axis) * bytes_ for axis in self.extents]
        return not any(step % self.line for step in steps if step >= self.line)

    def image_lines(self, plan: ConvolutionPlan) -> int:
        """The lines of the image that a tile reads for one term, if its pieces begin lines."""
        count, run = self.pieces(plan, self.c.left, ())
        return count * -(-run // self.line)

    def asked_lines(self, plan: ConvolutionPlan) -> float:
        """The lines that a tile asks for in each term, on average, where it asks for the image: those of a channel together."""
        if not plan.window_inside:
            return self.image_lines(plan)
        last = plan.summed[-1]
        count, run = self.pieces(plan, self.c.left, ((last, self.extents[last]),))
        return count * -(-run // self.line) / self.extents[last]

    def pieces(self, plan: ConvolutionPlan, access: Access, summed: SizedAxes) -> tuple[int, int]:
        """The pieces of memory that a tile reads of an operand while summed axes run, each so far, and the bytes of one."""
        is_right = access is self.c.right
        moving = self.moving_right if is_right else self.moving_left
        sizes = {axis: size for axis, size in plan.tile if axis in moving}
        sizes |= {axis: extent for axis, extent in summed if axis in moving}
        bytes_ = self.c.facts.element_bytes(access)
        if plan.packs and is_right:
            return 1, prod(sizes.values()) * bytes_
        count, run = 1, bytes_
        for axis, size in sizes.items():
            step = self.step(plan.halo, access, axis) * bytes_
            # Along an axis of which a line has several elements they come together.
            if step < self.line:
                run += (size - 1) * step
            else:
                count *= size
        return count, run

    def step(self, halo: tuple[int, ...], access: Access, axis: int) -> int:
        """How many elements further an operand is read in the next iteration of an axis, in its copy if it has one."""
        is_right = access is self.c.right
        key = (halo, is_right, axis)
        if key not in self._steps:
            is_copied = halo and not is_right
            found = self._step_in_copy(halo, axis) if is_copied else self.c.stride(access, axis)
            self._steps[key] = abs(found or 0)
        return self._steps[key]

    def _step_in_copy(self, order: Sequence[int], axis: int) -> int:
        """The same in a copy of the image that has its dimensions in some order."""
        image = self.c.left
        shape, stride, step = self.c.facts.buffers[image.buffer].shape, 1, 0
        for dimension in reversed(order):
            subscript, extent = image.subscripts[dimension], shape[dimension]
            step += stride * (subscript.coefficients[axis] if subscript is not None else 0)
            stride *= extent if isinstance(extent, int) else 1
        return step


@lru_cache(maxsize=1024)
def _most_at_once(size: int, step: int, places: int, apart: int) -> int:
    """
    How many elements are between their first and their last use at once, of those that `size` neighbours, `step` apart, read at so many
    places of a window that are `apart`, place by place; 0 where each is used once.
    """
    uses = [place * apart + n * step for place in range(places) for n in range(size)]
    last = {element: at for at, element in enumerate(uses)}
    if len(last) == len(uses):
        return 0
    kept: set[int] = set()
    most = 0
    for at, element in enumerate(uses):
        kept.add(element)
        most = max(most, len(kept))
        if last[element] == at:
            kept.remove(element)
    return most


def _stride(c: Contraction, access: Access, axis: int) -> int | None:
    """How far apart neighbours along an axis are; 0 where it does not move the access, None where that is no number."""
    return c.stride(access, axis) if access.moves_along(axis) else 0
