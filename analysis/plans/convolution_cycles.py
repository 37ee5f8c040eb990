"""What a register tile of a convolution computes and loads for each term of its sums, and in how many cycles."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import product
from math import prod
from typing import NamedTuple

from ...targets.core import Number
from ...targets.target import Target
from ..cost import name_cost
from ..facts import Contraction
from .contraction_problem import is_finish_written_out
from .convolution_padding import Padding
from .convolution_plan import ConvolutionPlan, Loads
from .convolution_residence import ConvolutionResidence
from .cost import (
    cycles_per_second,
    ending_cycles,
    issued,
    issuing,
    mixed,
    split_cycles,
    unhidden_part,
)
from .terms_written_out import (
    CONTROL,
    cycles_of_control,
    rows_and_vectors,
    terms_of_convolution,
)
from .turned_tiles import least_turning, turning_cycles

WRITTEN_OUT = 32
"""Terms of a sum over a window alone that are written out, at most: 5 x 5 are, and 7 x 7 would be much code."""

FORESEEN = 32
"""Iterations of a loop whose end a core foresees: the jumps before it, which it goes by, are a few dozens."""


class TileWork(NamedTuple):
    """What a tile of some sizes does for one term, whatever its plan asks for ahead."""

    rows: int
    """of vectors"""
    vectors: int
    right: Loads
    """of weights"""
    instruction: float
    """what one takes of the time of one on full vectors"""
    adding: float
    """cycles of multiply-adds at their ports"""
    loaded: float
    """full vectors that are loaded, those across two lines as often as they take a port"""
    single: float
    """elements that are loaded one by one"""
    elements: float
    """those of the image among them"""
    begun: float
    """instructions but for loads of single elements"""
    folded: float
    """loads that are parts of multiply-adds"""
    across: float
    """cycles of waiting for vectors across two lines"""


class ConvolutionCycles(ConvolutionResidence):
    """The cycles of the tiles of one convolution on one target."""

    def __init__(self, c: Contraction, target: Target):
        super().__init__(c, target)
        is_alone = all(axis in c.window or self.extents[axis] == 1 for axis in c.k)
        self.is_window_alone = is_alone and self.terms <= WRITTEN_OUT
        """whether there are no channels to add up, as in depthwise convolutions, and few terms"""
        self.padding = Padding(c)
        self.is_along = {a: c.stride(c.result, a) == 1 for a in self.extents}
        """of each axis whether neighbours along it are neighbours in the result's memory"""
        self.clock = cycles_per_second(target)
        self.unhidden, self.issued = unhidden_part(target), issued(target)
        self.waits_at_ports = self.has_window and not self.is_window_alone
        """whether what operands take of L1 is set against the multiply-adds of each term: of products the probed tile says all of it"""
        self.unhidden_near = 0.0 if self.waits_at_ports else self.unhidden
        """the part of what comes from L2 that arithmetic does not hide, beside that"""
        self.across = split_cycles(target)
        """cycles that a tile waits for a vector that lies across two lines; None where such a vector takes a load port twice"""
        self.parallel = c.parallel
        self.in_parallel = prod(self.extents[a] for a in self.parallel)
        after: Sequence[int] = () if c.finished is None else c.facts.nest(c.finished)
        counted = [pair for number in after for pair in c.facts.statements[number].operations]
        finishing = sum(count * name_cost(name) for name, count in counted)
        self.finishing = finishing / self.core.fma_ports
        """cycles in which a vector is finished"""
        self.is_finish_written_out = is_finish_written_out(c)
        """whether tiles that leave across their lanes go there in registers"""
        self._known_work: dict[tuple[object, ...], TileWork] = {}

    def summed(self, plan: ConvolutionPlan) -> float:
        """The terms of an element that are not left out, on average."""
        inside = self.padding.inside
        return self.terms * prod([inside[axis] for axis, _ in plan.skips])

    def tile_cycles(
        self,
        plan: ConvolutionPlan,
        sizes: tuple[int, ...],
        from_l2: float,
        *,
        exact: bool,
        hints: bool = True,
    ) -> float:
        """
        Cycles of a tile of some sizes along the plan's axes, for which so many bytes come from L2. Those in which it leaves are `exact`, or
        the least that each of any number of rows takes. Without `hints`, those of the plan are left out, and what waits where there are none.
        """
        core, work, lanes = self.core, self._work(plan, sizes), plan.lanes
        rows, vectors, single, asked = work.rows, work.vectors, work.single, 0.0
        if hints:
            # A load whose line is not in L1 takes a port again when that has come.
            single += work.elements * self.demand_miss_ratio(plan)
            # A hint takes a port as a line does, which is there then.
            asked = self.hints_of_term(plan, sizes[-1], work.right)
        lines = from_l2 / self.terms / self.line + asked
        if self.waits_at_ports:
            loading = core.loading_cycles(work.loaded, 0.0, single)
            step = mixed(work.adding, loading + lines / core.load_ports)
        else:
            step = max(work.adding, core.loading_cycles(work.loaded, lines, single))
        if not plan.written_out:
            step = max(step, core.fma_latency + 1)
        step = issuing(step, work.begun + single + asked - work.folded, self.issued)
        step += work.across + self._control_cycles(plan)
        ending = core.mispredict * self._unforeseen_ends(plan)
        of_row = work.instruction * vectors
        if plan.depth:
            leaves = ending_cycles(core, rows, of_row)
            copied = rows * work.instruction * vectors / core.load_ports
            ending += self.traffic.depths(plan) * (leaves + copied)
        else:
            ending += ending_cycles(core, rows * self.is_along[lanes], of_row)
        if not self.is_along[lanes]:
            ending += vectors * self._leaving(plan, rows, sizes, exact)
        return self.summed(plan) * step + ending

    def _control_cycles(self, plan: ConvolutionPlan) -> float:
        """
        Cycles of a term in which the control of its loop has ports of multiply-adds, beyond those where an iteration has two terms.

        The few channels of a group in lanes LLVM writes out; and tiles of one vector, whose loads are parts of multiply-adds, were not seen to lose by
        it. (Layers of 1 x 1 took 0.97 to 0.99 of the time on Intel's Emerald Rapids with tiles of 13 x 32, instead of 14 x 32, which have one term.)
        """
        if plan.written_out or plan.lanes in self.c.batch:
            return 0.0
        _, vectors = rows_and_vectors(plan, self.c, self.core)
        is_alone = vectors > 1 and terms_of_convolution(plan, self.c, self.core) == 1
        return cycles_of_control(self.core, CONTROL / 2) if is_alone else 0.0

    def _work(self, plan: ConvolutionPlan, sizes: tuple[int, ...]) -> TileWork:
        """The same for all plans with this tile and this order of its terms."""
        loads = plan.packs, plan.halo, plan.masked, plan.summed
        together = plan.written_out, plan.shares_row, plan.writes_row
        key = (plan.tile, sizes, loads, together)
        if (known := self._known_work.get(key)) is None:
            known = self._known_work[key] = self._find_work(plan, sizes)
        return known

    def _find_work(self, plan: ConvolutionPlan, given: tuple[int, ...]) -> TileWork:
        core, c, lanes = self.core, self.c, plan.lanes
        sizes = {axis: size for (axis, _), size in zip(plan.tile, given, strict=True)}
        vectors, rows = -(-sizes[lanes] // self.lanes), prod(given[:-1])
        left, right = self._loads(sizes, plan, c.left), self._loads(sizes, plan, c.right)
        left = left._replace(vectors=left.vectors * self.loaded_of_row(plan))
        part = self.shared(plan, sizes)
        of_weights = 1.0 if plan.shares_row else part
        whole = part * left.vectors + of_weights * right.vectors
        single = part * left.elements + of_weights * right.elements
        shuffles = part * left.shuffles + of_weights * right.shuffles
        blends = part * left.vectors * self.masked_part(plan)
        instruction = self.part(sizes[lanes])
        splits = instruction * part * left.vectors * self.split_part(plan)
        # What waits for a load by a mask is its blend, and not the multiply-adds.
        waiting = max(0.0, splits - instruction * blends)
        across = 0.0 if self.across is None else waiting * self.across
        twice = splits if self.across is None else 0.0
        adding = rows * vectors + shuffles
        adding = max(adding / core.fma_ports, (adding + blends) / (core.fma_ports + core.add_ports))
        sums = rows * vectors
        may_be_folded = any(self.may_be_folded(one, one.values, sums) for one in (left, right))
        return TileWork(
            rows,
            vectors,
            right,
            instruction,
            adding * instruction,
            instruction * whole + twice,
            single,
            part * left.elements,
            sums + shuffles + whole,
            sums * self.used_once(plan, sizes) if may_be_folded else 0.0,
            across,
        )

    def _leaving(
        self, plan: ConvolutionPlan, rows: int, sizes: tuple[int, ...], exact: bool
    ) -> float:
        """
        Cycles in which a tile leaves across its lanes, for each vector of a row: turned, from the registers that it is in or from the stack, or by
        elements. What finishes it with what is read along columns is computed for each piece of a column; all else in rows, which is not charged.
        """
        lanes, bytes_ = min(sizes[-1], self.lanes), self.c.result_bytes
        elements = 1
        for (axis, _), size in zip(plan.tile, sizes, strict=True):
            elements *= size if self.is_along[axis] else 1
        stays = self.is_finish_written_out and elements > 1
        through = 0.0 if stays else rows / self.core.store_ports
        if not exact:
            return through + rows * least_turning(self.core, lanes, bytes_)
        work = self.finishing if len(self.c.streams) > 1 else 0.0
        return through + rows / elements * turning_cycles(self.core, elements, lanes, bytes_, work)

    def _unforeseen_ends(self, plan: ConvolutionPlan) -> float:
        """How often a loop over channels ends before a tile's sum does: for each element of the window, or each row of it."""
        run, row = self.terms_of_run(plan), 1
        if plan.window_inside:
            run, row = self.extents[plan.summed[-2]], run
        if plan.written_out or not (plan.block or run > FORESEEN):
            return 0.0
        part = self.written_out_part(plan) if plan.window_inside else 1.0
        part = 0.0 if plan.has_whole_row else part
        ends = self.terms / run * (part + (1 - part) / row)
        return ends if plan.block else ends - self.traffic.depths(plan)

    def written_out_part(self, plan: ConvolutionPlan) -> float:
        """The part of the tiles in which an axis of the window is written out, as terms outside of the image are left out there."""
        written = [pair for pair in plan.skips if plan.is_skip_written_out(pair[1])]
        if not written:
            return 0.0
        (pair,) = written
        tiles = -(-self.extents[pair[1]] // plan.size(pair[1]))
        return min(1.0, sum(self.padding.short_ends(pair)) / tiles)

    def shared(self, plan: ConvolutionPlan, sizes: Mapping[int, int] | None = None) -> float:
        """
        The part of a tile's loads of the image that are left where terms written out share them: all, or those of a row of the window. Of a
        whole tile if no sizes are given.
        """
        part = 1.0
        for size, step, taps in self._sharing(plan, plan.sizes if sizes is None else sizes):
            reach = 1 + sum((extent - 1) * apart for extent, apart in taps)
            uses = size * prod(extent for extent, apart in taps if apart)
            part *= min((size - 1) * step + reach, uses) / uses
        return part

    def may_be_folded(self, one: Loads, values: Number, sums: Number) -> Number | bool:
        """
        Whether a tile's loads of one operand, so many values, may be parts of its multiply-adds, which so many sums have one each of: with AVX-512,
        where each value is for one of them.
        """
        return (values == sums) * (self.core.vector_bits >= 512 and not one.shuffles)

    def used_once(self, plan: ConvolutionPlan, sizes: Mapping[int, int]) -> float:
        """
        Of what a tile of some sizes would load of the image if terms shared nothing, the part that one of them uses alone: such a load may be
        part of its multiply-add, and those that are shared are instructions of their own.
        """
        return prod([_alone(*shared) for shared in self._sharing(plan, sizes)])

    def _sharing(
        self, plan: ConvolutionPlan, sizes: Mapping[int, int]
    ) -> Iterator[tuple[int, int, tuple[tuple[int, int], ...]]]:
        """
        For each axis of a tile along which terms written out may share the image: the tile's size, how far apart neighbours are there, and the
        extents of these terms' axes with the distances of their neighbours.
        """
        if not (plan.written_out or plan.shares_row):
            return
        written = plan.summed[-1:] if plan.shares_row else self.c.window
        for axis, size in sizes.items():
            subscript = self.image_subscripts[axis]
            if axis == plan.lanes or subscript is None:
                continue
            by = subscript.coefficients
            yield size, by[axis], tuple([(self.extents[k], by[k]) for k in written])


@lru_cache(maxsize=1024)
def _alone(size: int, step: int, taps: tuple[tuple[int, int], ...]) -> float:
    """Of the uses of elements by `size` places, `step` apart, each through a window, the part that are the only ones of theirs."""
    offsets = [sum(at) for at in product(*(range(0, n * by, by) for n, by in taps if by))]
    uses = Counter(place * step + offset for place in range(size) for offset in offsets)
    return sum(count == 1 for count in uses.values()) / uses.total()
