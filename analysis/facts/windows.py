"""
Reductions over windows alone: pooling, and convolutions of which each channel has a filter of its own (depthwise).

Every summed axis shares a subscript of the image with an axis of the result, as in `oh * s + kh * d - p`; there are no
channels to sum over, so that each element of the image is used a few times only, by neighbours.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...frozen import frozen
from ...lazy import cached_property
from .contraction import adds_nothing_outside, finished_by, initialised_by
from .kernel import Access, KernelFacts, Statement


@frozen
class WindowReduction:
    """
    One reduction over windows. Axes are numbers of the statement's axes, in the order of its loops.

    `parallel` are the axes of the result, `window` those that are reduced; of these some may have one iteration only. `filters` are the other operands: one where
    elements are weighted, none in pooling. `initialised` and `finished` are as those of a `Contraction`.
    """

    facts: KernelFacts
    number: int
    image: Access
    filters: tuple[Access, ...]
    parallel: tuple[int, ...]
    window: tuple[int, ...]
    initialised: int | None
    finished: int | None

    @cached_property
    def statement(self) -> Statement:
        return self.facts.statements[self.number]

    @cached_property
    def result(self) -> Access:
        return self.statement.write

    @cached_property
    def lanes(self) -> int:
        """The axis of the result along which its elements are neighbours in memory."""
        return next(axis for axis in self.parallel if self.facts.stride(self.result, axis) == 1)

    @property
    def is_contraction(self) -> bool:
        """
        Whether an axis of the result moves a filter and not the image: where the channels of a group have several outputs.
        Sums over these are those of a contraction, too.
        """
        return any(
            self.extent(axis) > 1 and one.moves_along(axis) and not self.image.moves_along(axis)
            for axis in self.parallel
            for one in self.filters
        )

    @property
    def may_skip_padding(self) -> bool:
        """As of a `Contraction`: terms whose element of the image is outside of it add nothing."""
        return adds_nothing_outside(self.facts, self.statement, self.image, self.filters)

    def extent(self, *axes: int) -> int:
        """The product of the axes' extents, which are numbers: reductions of others are not found."""
        extents, product = self._extents, 1
        for axis in axes:
            product *= extents[axis]
        return product

    @cached_property
    def _extents(self) -> tuple[int, ...]:
        extents = self.statement.extents
        assert extents is not None, "a reduction over windows has static extents"
        return extents

    def taps(self, axis: int) -> tuple[int, ...]:
        """The axes of the window that share the image's subscript with an axis of the result."""
        return self._taps[axis]

    @cached_property
    def _taps(self) -> Sequence[tuple[int, ...]]:
        """The same of each axis."""
        image = self.image
        moved = [image.dimension_of(axis) for axis in range(len(self.statement.axes))]
        subscripts = [
            None if dimension is None else image.subscripts[dimension] for dimension in moved
        ]
        return [
            () if one is None else tuple(k for k in self.window if one.coefficients[k])
            for one in subscripts
        ]

    def leaves(self, axis: int) -> bool:
        """Whether the image's subscript that moves with an axis of the result goes beyond the image, or may do so."""
        return self._leaves[axis]

    @cached_property
    def _leaves(self) -> Sequence[bool]:
        return [self._may_leave(axis) for axis in range(len(self.statement.axes))]

    def _may_leave(self, axis: int) -> bool:
        dimension = self.image.dimension_of(axis)
        if dimension is None or not self.image.is_guarded:
            return False
        subscript = self.image.subscripts[dimension]
        size = self.facts.buffers[self.image.buffer].shape[dimension]
        if subscript is None or not isinstance(size, int):
            return True
        steps = [by * (self.extent(a) - 1) for a, by in enumerate(subscript.coefficients) if by]
        least = subscript.constant + sum(min(step, 0) for step in steps)
        return least < 0 or subscript.constant + sum(max(step, 0) for step in steps) >= size

    def reach(self, axis: int, size: int) -> int:
        """How many different indices of the image so many neighbours along an axis of the result read."""
        known = self._reaches
        if (axis, size) not in known:
            known[axis, size] = self._find_reach(axis, size)
        return known[axis, size]

    @cached_property
    def _reaches(self) -> dict[tuple[int, int], int]:
        """What `reach` has answered."""
        return {}

    def _find_reach(self, axis: int, size: int) -> int:
        dimension = self.image.dimension_of(axis)
        subscript = None if dimension is None else self.image.subscripts[dimension]
        if subscript is None:
            return 1
        by = subscript.coefficients
        window = 1 + sum((self.extent(k) - 1) * abs(by[k]) for k in self.taps(axis))
        return min((size - 1) * abs(by[axis]) + window, size * self.extent(*self.taps(axis)))


def find_window_reduction(facts: KernelFacts) -> WindowReduction | None:
    """
    The reduction over windows that a kernel is, with what initialises and what finishes its result; None for other
    kernels. Its order must be free to change.
    """
    numbers = [n for n, statement in enumerate(facts.statements) if statement.combiner is not None]
    if len(numbers) != 1 or not facts.is_complete:
        return None
    (number,) = numbers
    found = _reduction(facts, number)
    if found is None:
        return None
    around = [] if found.initialised is None else [found.initialised]
    around += [] if found.finished is None else facts.nest(found.finished)
    return found if {*around, number} == set(range(len(facts.statements))) else None


def _reduction(facts: KernelFacts, number: int) -> WindowReduction | None:
    statement = facts.statements[number]
    if not statement.reassociates or not statement.extents or 0 in statement.extents:
        return None
    if not facts.is_perfect(number) or not _is_plain(statement.write):
        return None
    parallel = tuple(n for n in range(len(statement.axes)) if statement.write.moves_along(n))
    window = tuple(n for n in range(len(statement.axes)) if n not in parallel)
    several = tuple(axis for axis in window if statement.extents[axis] > 1)
    images = [read for read in statement.reads if _has_windows(read, parallel, several)]
    filters = tuple(read for read in statement.reads if read not in images)
    if len(images) != 1 or len(filters) > 1 or not all(map(_is_whole, filters)):
        return None
    if not any(facts.stride(statement.write, axis) == 1 for axis in parallel):
        return None
    initialised, finished = initialised_by(facts, number), finished_by(facts, number)
    return WindowReduction(
        facts, number, images[0], filters, parallel, window, initialised, finished
    )


def _has_windows(read: Access, parallel: tuple[int, ...], window: tuple[int, ...]) -> bool:
    """Whether each axis of the window moves one subscript of the image, which an axis of the result moves too."""
    if not window or not read.is_affine:
        return False
    for axis in window:
        dimension = read.dimension_of(axis)
        subscript = None if dimension is None else read.subscripts[dimension]
        if subscript is None or not any(subscript.coefficients[other] for other in parallel):
            return False
    return all(len([a for a in parallel if s.coefficients[a]]) < 2 for s in read.subscripts if s)


def _is_plain(write: Access) -> bool:
    return write.is_permutation and not write.is_guarded


def _is_whole(read: Access) -> bool:
    """Whether all of the elements exist."""
    return read.is_affine and not read.is_guarded
