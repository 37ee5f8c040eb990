"""What the plans of a convolution take at least, from the sizes of their register tiles: before any plan is made."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

from ..facts import Access
from .convolution_cost import Model
from .cost import ending_cycles, issuing, mixed
from .turned_tiles import least_turning

Numbers = np.ndarray[Any, np.dtype[np.float64]]
"""One of each tile."""


class Counted(NamedTuple):
    """What register tiles have, and what they load of either operand for one term: one number of each tile."""

    rows: Numbers
    left: Numbers
    right: Numbers


class Bound:
    """
    What plans take at least whose tiles have so many elements along the axis in lanes, and any sizes along some others: the
    arithmetic, what a tile reads from L2, and what every plan takes besides. All tiles are looked at together.
    """

    def __init__(
        self,
        model: Model,
        lanes: tuple[int, int],
        others: Sequence[int],
        packs: bool,
        order: tuple[tuple[int, ...], tuple[int, ...]],
    ):
        """`order` is that of the padded copy's dimensions, and of the summed axes."""
        self.model, self.lanes, self.others, self.packs = model, lanes, others, packs
        self.halo, self.summed = order
        axis, wide = lanes
        self.inside = min(wide, model.extents[axis])
        """elements along the axis in lanes that are computed at most"""
        c = model.c
        self.left, self.right = (
            model.loads_of_one(access, (axis, self.inside), packs) for access in (c.left, c.right)
        )
        self.vectors, self.part = -(-self.inside // model.lanes), model.part(self.inside)

    def counted(self, sizes: Numbers) -> Counted:
        """Of tiles of these sizes: a row for each tile, a column for each axis beside that in lanes."""
        model = self.model
        left, right = (
            sizes[:, [strides[axis] != 0 for axis in self.others]].prod(axis=1)
            for strides in (model.left, model.right)
        )
        return Counted(sizes.prod(axis=1), left * self.left.values, right * self.right.values)

    def seconds(self, sizes: Numbers, counted: Counted) -> Numbers:
        """Of tiles of these sizes, of which `counted` is known."""
        _, together = self.apart_and_together(sizes, counted)
        return together

    def apart_and_together(self, sizes: Numbers, counted: Counted) -> tuple[Numbers, Numbers]:
        """The same where no places of a row of the window share what tiles load of the image, and with any plan."""
        model = self.model
        from_l2 = self._read_from_l2(sizes)
        axis, wide = self.lanes
        alone = prod(model.extents[a] for a in model.parallel if a != axis and a not in self.others)
        extents = np.array([model.extents[a] for a in self.others], np.float64)
        tiles = alone * -(-model.extents[axis] // wide) * np.ceil(extents / sizes).prod(axis=1)
        reading = tiles * from_l2 / model.rates.read_l2.core
        whole = model.in_parallel / self.inside / counted.rows
        besides = model.unhidden_near * reading + model.besides(self.packs, self.halo)

        def seconds(shared: Numbers | None) -> Numbers:
            computing = whole * self._tile_cycles(counted, from_l2, shared) / model.clock
            return np.maximum(computing + model.coming, reading) + besides

        apart, shared = seconds(None), self._shared(sizes)
        return apart, apart if shared is None else seconds(shared)

    def _tile_cycles(self, counted: Counted, from_l2: Numbers, part: Numbers | None) -> Numbers:
        """
        Cycles of tiles at least for which so many bytes come from L2, and of whose loads of the image terms share all but this part. Those
        of a window alone may share all loads.
        """
        model, core = self.model, self.model.core
        rows, one, other = counted.rows, self.left, self.right
        left, right = counted.left / one.values, counted.right / other.values
        kept = 0.0 if model.is_window_alone else 1.0
        shared = 1.0 if part is None else part
        of_row = model.loaded_of_places(*self.lanes, self._row) if self._has_row else 1.0
        whole = kept * (shared * left * one.vectors * of_row + right * other.vectors)
        single = kept * (shared * left * one.elements + right * other.elements)
        shuffles = kept * (shared * left * one.shuffles + right * other.shuffles)
        lines = from_l2 / model.terms / model.line
        in_panels = self.packs and self.lanes[0] in model.c.n
        if in_panels and model.has_window and model.weights_are_far:
            lines = lines + counted.right  # asked for a page ahead
        adding = self.part * (rows * self.vectors + shuffles) / core.fma_ports
        if model.waits_at_ports:
            loading = core.loading_cycles(self.part * whole, 0.0, single)
            step = mixed(adding, loading + lines / core.load_ports)
        else:
            step = np.maximum(adding, core.loading_cycles(self.part * whole, lines, single))
        if not model.is_window_alone:
            step = np.maximum(step, core.fma_latency + 1)
        sums = rows * self.vectors
        of_image = shared * left * (one.vectors * of_row + one.elements)
        of_weights = right * (other.vectors + other.elements)
        of_image = of_image - sums * model.may_be_folded(one, counted.left, sums)
        of_weights = of_weights - sums * model.may_be_folded(other, counted.right, sums)
        loads = kept * (np.maximum(of_image, 0.0) + np.maximum(of_weights, 0.0))
        step = issuing(step, sums + shuffles + loads, model.issued)
        wide = min(self.inside, model.lanes)
        turning = least_turning(core, wide, model.c.result_bytes)
        is_along = model.is_along[self.lanes[0]]
        stored = rows if is_along or not model.is_finish_written_out else np.zeros_like(rows)
        ending = ending_cycles(core, stored, self.part * self.vectors)
        ending = ending + rows * self.vectors * (0.0 if is_along else turning)
        return model.padding.least * model.terms * step + ending

    @property
    def _row(self) -> int:
        """The axis of the window, if it is one, whose places may be written out in a loop over channels."""
        return self.summed[-min(len(self.summed), 2)]

    @property
    def _has_row(self) -> bool:
        return self._row in self.model.c.window

    def _shared(self, sizes: Numbers) -> Numbers | None:
        """
        The part of what tiles load of the image that is left where the places of a row of the window share it, if registers allow; None
        where they share nothing.
        """
        model, row = self.model, self._row
        subscript = model.image_subscripts[row]
        if subscript is None or not self._has_row or self.lanes[0] not in model.c.n:
            return None
        by, places, part = subscript.coefficients, model.extents[row], np.ones(len(sizes))
        for axis, size in zip(self.others, sizes.T, strict=True):
            if by[axis]:
                reach = (size - 1) * abs(by[axis]) + (places - 1) * abs(by[row]) + 1
                part = part * np.minimum(reach / (size * places), 1.0)
        return part

    def _read_from_l2(self, sizes: Numbers) -> Numbers:
        """Bytes that tiles read from L2: as of plans (`Model`), in whichever order they go through tiles."""
        model = self.model
        left, right = model.c.left, model.c.right
        if model.is_window_alone:
            return np.zeros(len(sizes))
        image, weights = (self._touched(sizes, one, self.summed) for one in (left, right))
        both = image + weights
        if model.has_blocks(self.summed):  # L1 keeps what a tile reads of few enough channels
            again = image if model.may_have_depths else both  # or a block of weights, for all tiles
            return np.where(both <= model.near_1, np.minimum(image, weights), again)
        innermost = self.summed[-1:]
        run = self._touched(sizes, left, innermost) + self._touched(sizes, right, innermost)
        runs = model.terms / max(1, model.extents[self.summed[-1]])
        again = np.where(run <= model.near_1, both, np.maximum(both, run * runs))
        return np.where(both <= model.near_1, np.minimum(image, weights), again)

    def _touched(self, sizes: Numbers, access: Access, summed: Sequence[int]) -> Numbers:
        """Bytes, in whole lines, that tiles read of an operand while these summed axes run."""
        model = self.model
        bytes_, is_right = model.c.facts.element_bytes(access), access is model.c.right
        moves = model.moving_right if is_right else model.moving_left
        along: list[tuple[int, Any]] = [self.lanes, *zip(self.others, sizes.T, strict=True)]
        along += [(axis, model.extents[axis]) for axis in summed]
        moving = [(axis, size) for axis, size in along if axis in moves]
        if self.packs and is_right:
            return np.ones(len(sizes)) * prod([size for _, size in moving]) * bytes_
        count, run = np.ones(len(sizes)), np.full(len(sizes), float(bytes_))
        for axis, size in moving:
            step = model.step(self.halo, access, axis) * bytes_
            if step < model.line:
                run = run + (size - 1) * step
            else:
                count = count * size
        # Pieces of whole lines may begin with one.
        return count * np.where(run % model.line == 0, run, run + model.line - bytes_)
