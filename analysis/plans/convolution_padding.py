"""
The terms of a convolution whose element of the image is outside of it, which add nothing: how many these are, and which of
them a register tile's loops can leave out.

Of an image of 7 x 7 pixels and a window of 3 x 3 these are 80 of 441 terms. oneDNN's kernels leave them out, too; others
pad the image. (Georganas et al., "Anatomy of High-Performance Deep Learning Convolutions on SIMD Architectures", SC 2018.)
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from ..facts import Contraction, Subscript, WindowReduction

Skips = tuple[tuple[int, int], ...]
"""Axes of the window, each with the axis of the result that shares its subscript."""


class Padding:
    """Which axes of a window leave its image, and how much of their terms is inside."""

    def __init__(self, found: Contraction | WindowReduction):
        self.facts = found.facts
        is_contraction = isinstance(found, Contraction)
        self.image = found.left if is_contraction else found.image
        self._result = found.m if is_contraction else found.parallel
        extents = found.statement.extents
        assert extents is not None, "reductions over windows have static extents"
        self._extents = extents
        self._known_inside: dict[tuple[tuple[int, int], int], bool] = {}
        self._rows: dict[int, int] = {}
        """of axes of the window whose terms may be left out the axis of the result that shares their subscript"""
        self.inside: dict[int, float] = {}
        """of these the part of the terms that is inside of the image"""
        for axis in found.window if found.may_skip_padding else ():
            row = self._row(axis)
            if row is not None and (part := self._part(axis, row)) < 1:
                self._rows[axis], self.inside[axis] = row, part
        self.least = prod(self.inside.values())
        """the part of all terms that is left where none is outside"""
        self._leaving = {
            n
            for n, subscript in enumerate(self.image.subscripts)
            if self.image.is_guarded and self._leaves(n, subscript)
        }

    def skipped(self, sizes: Mapping[int, int], lanes: int) -> Skips:
        """
        The axes along which tiles of these sizes can leave terms out: where a tile has one row along the axis beside, by a
        shorter loop over the window; and for one axis by a shorter tile, for each element of the window written out.
        """
        rows = {axis: row for axis, row in self._rows.items() if row != lanes}
        short = [(axis, row) for axis, row in rows.items() if sizes.get(row, 1) == 1]
        written = [pair for pair in rows.items() if self.is_written_out(pair, sizes)]
        return (*short, *written[-1:])

    def is_written_out(self, pair: tuple[int, int], sizes: Mapping[int, int]) -> bool:
        """Whether tiles have several rows, and all but the first and the last one of them are inside of the image."""
        size = sizes.get(pair[1], 1)
        if size == 1:
            return False
        if (known := self._known_inside.get((pair, size))) is None:
            known = self._known_inside[pair, size] = self._is_inside_between(pair, size)
        return known

    def _is_inside_between(self, pair: tuple[int, int], size: int) -> bool:
        """Whether all tiles of so many rows but the first and the last one are inside."""
        axis, row = pair
        extent = self._extents[row]
        tiles = -(-extent // size)
        ends = (size, min((tiles - 1) * size, extent) - 1)
        return tiles <= 2 or all(
            self._is_inside(axis, place, tap)
            for place in (self._place(row, ends[0]), self._place(row, ends[1]))
            for tap in (0, self._extents[axis] - 1)
        )

    def short_ends(self, pair: tuple[int, int]) -> tuple[bool, bool]:
        """Whether the first row, and whether the last one, along an axis is outside of the image for some elements of the window."""
        axis, row = pair
        ends = (self._place(row, 0, axis), self._place(row, self._extents[row] - 1, axis))
        taps = range(self._extents[axis])
        first, last = (not all(self._is_inside(axis, end, tap) for tap in taps) for end in ends)
        return first, last

    def leaves(self, skips: Skips) -> bool:
        """Whether a tile reads outside of the image though it leaves such terms out."""
        return bool(self.beyond(skips))

    def beyond(self, skips: Skips) -> frozenset[int]:
        """The dimensions along which it does."""
        return frozenset(self._leaving - {self.image.dimension_of(axis) for axis, _ in skips})

    def _row(self, axis: int) -> int | None:
        """The axis of the result that shares the image's subscript with an axis of the window, where there are no others."""
        subscript = self._subscript(axis)
        if subscript is None:
            return None
        moving = [n for n, by in enumerate(subscript.coefficients) if by and n != axis]
        several = [n for n in moving if self._extents[n] > 1]
        found = several or [n for n in moving if n in self._result]
        return found[0] if len(found) == 1 and found[0] in self._result else None

    def _subscript(self, axis: int) -> Subscript | None:
        dimension = self.image.dimension_of(axis)
        return None if dimension is None else self.image.subscripts[dimension]

    def _part(self, axis: int, row: int) -> float:
        """The part of the pairs of a row and an element of the window that is inside."""
        taps, rows = self._extents[axis], self._extents[row]
        dimension, subscript = self.image.dimension_of(axis), self._subscript(axis)
        assert dimension is not None and subscript is not None
        size = self.facts.buffers[self.image.buffer].shape[dimension]
        if not isinstance(size, int):
            return 0.0
        step, apart = subscript.coefficients[row], subscript.coefficients[axis]
        starts = (subscript.constant + tap * apart for tap in range(taps))
        return sum(count_inside(rows, start, step, size) for start in starts) / (taps * rows)

    def _place(self, row: int, number: int, axis: int | None = None) -> int:
        """Where the window begins of a row."""
        subscript = self._subscript(row if axis is None else axis)
        assert subscript is not None
        return subscript.constant + number * subscript.coefficients[row]

    def _is_inside(self, axis: int, place: int, tap: int) -> bool:
        dimension, subscript = self.image.dimension_of(axis), self._subscript(axis)
        assert dimension is not None and subscript is not None
        size = self.facts.buffers[self.image.buffer].shape[dimension]
        return isinstance(size, int) and 0 <= place + tap * subscript.coefficients[axis] < size

    def _leaves(self, dimension: int, subscript: Subscript | None) -> bool:
        """Whether a subscript goes beyond the image, or may do so."""
        size = self.facts.buffers[self.image.buffer].shape[dimension]
        if subscript is None or not isinstance(size, int):
            return True
        steps = [by * (self._extents[a] - 1) for a, by in enumerate(subscript.coefficients)]
        least = subscript.constant + sum(min(step, 0) for step in steps)
        return least < 0 or subscript.constant + sum(max(step, 0) for step in steps) >= size


def count_inside(count: int, start: int, step: int, size: int) -> int:
    """How many of `count` places, the first at `start` and each `step` further, are within `size` elements: rows may be many."""
    if step == 0:
        return count if 0 <= start < size else 0
    if step < 0:  # seen from the other end
        start, step = size - 1 - start, -step
    first, end = -(start // step), -((start - size) // step)
    return max(min(end, count) - max(first, 0), 0)
