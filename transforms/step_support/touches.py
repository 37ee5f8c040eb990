"""Whether loops may still run in any order when a rewrite gives them accesses they did not have."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import islpy as isl
from xdsl.ir import SSAValue

from ...analysis.affine_isl import in_same_iterations
from ...analysis.domains import Around, Place, touched
from ...analysis.scop import Access
from ...analysis.subscript_tests import SubscriptTest
from ...dialects import loop
from ...dialects.loop import LoopKind, LoopKindAttr
from ...dialects.schedule import Step
from ...frozen import frozen
from ...lazy import cached_property
from .nest import Nest
from .refusal import refuse


@frozen
class Touch:
    """The elements of a buffer that each iteration of nested loops reads or writes."""

    buffer: SSAValue
    is_write: bool
    loops: tuple[loop.ForOp, ...]
    _pairs: Callable[[], isl.Map] | None
    """the same as `elements`, where it is not what `around` and `place` say"""
    around: Around | None = None
    """The loops, and those over the elements that an iteration touches."""
    place: Place | None = None
    """The element that an iteration of all these touches; it touches no others."""

    @staticmethod
    def of(access: Access) -> Touch:
        return Touch(
            access.buffer, access.is_write, access.loops, None, access.around, access.place
        )

    @staticmethod
    def exactly(
        buffer: SSAValue, is_write: bool, loops: tuple[loop.ForOp, ...], elements: isl.Map
    ) -> Touch:
        return Touch(buffer, is_write, loops, lambda: elements)

    @cached_property
    def elements(self) -> isl.Map:
        """The iterations to elements, preceded by the variables of loops the buffer is made in."""
        if self._pairs is not None:
            return self._pairs()
        assert self.around is not None and self.place is not None
        return touched(self.around, self.place)

    def between(self, depth: int, rank: int) -> isl.Set:
        """The iterations of `depth` outer loops, each followed by the elements it touches."""
        inner = self.elements.dim(isl.dim_type.in_) - depth
        pairs = self.elements.project_out(isl.dim_type.in_, depth, inner)
        private = self.elements.dim(isl.dim_type.out) - rank
        return pairs.project_out(isl.dim_type.out, 0, private).wrap().flatten()


def touch_region(
    buffer: SSAValue,
    is_write: bool,
    loops: Sequence[loop.ForOp],
    region: Callable[[], isl.Set],
    private: int,
    bounds: tuple[Around, Place] | None = None,
) -> Touch:
    """
    The touch of a set over the loops' variables and the buffer's indices, which is asked for where `bounds` do not suffice.

    `private` is how many of the loops have a buffer of their own in each iteration. `bounds` are loops and a place
    that touch all of the set, if not only that.
    """

    def pairs() -> isl.Map:
        elements, depth = region(), len(loops)
        rank = elements.dim(isl.dim_type.set) - depth
        found = isl.Map.from_domain(elements).move_dims(
            isl.dim_type.out, 0, isl.dim_type.in_, depth, rank
        )
        found = found.insert_dims(isl.dim_type.out, 0, private)
        for n in range(private):
            found = found.equate(isl.dim_type.in_, n, isl.dim_type.out, n)
        return found

    around, place = (None, None) if bounds is None else bounds
    return Touch(buffer, is_write, tuple(loops), pairs, around, place)


def weaken(
    step: Step,
    nest: Nest,
    loops: Sequence[loop.ForOp],
    new: Sequence[Touch],
    gone: Collection[Access] = (),
) -> tuple[loop.ForOp, ...]:
    """
    The loops that say to be parallel or a reduction and are not any more when `new` is added.

    `gone` are accesses that the rewrite takes away. Raises the refusal of `step` when such a loop is
    marked to run in threads or vector lanes.
    """
    found: list[loop.ForOp] = []
    checked = [for_op for for_op in loops if for_op.kind.data is not LoopKind.SERIAL]
    meetings = _meetings(nest, checked, new, gone) if checked else []
    for for_op in checked:
        clash = _clash(for_op, meetings)
        if clash is None:
            continue
        if for_op.mode is not None and for_op.mode.data is not loop.RunMode.UNROLL:
            name = for_op.loop_name.data
            buffer, first, second = clash
            raise refuse(
                step,
                f"loop '{name}' is marked '{for_op.mode.data.value}', and its iterations "
                f"({name}={first}) and ({name}={second}) would both touch '%{buffer}'",
                remedy="mark loops after all other steps",
            )
        found.append(for_op)
    return tuple(found)


def make_serial(loops: Sequence[loop.ForOp]) -> None:
    """Say of loops that their iterations must run in order."""
    for for_op in loops:
        for_op.kind = LoopKindAttr(LoopKind.SERIAL)


@frozen
class Meeting:
    """A new touch and another one, which may be of the same memory."""

    first: Touch
    second: Touch

    @cached_property
    def pairs(self) -> isl.Map:
        """The pairs of iterations that may touch the same element."""
        first, second = self.first, self.second
        if first.buffer is second.buffer:
            return first.elements.apply_range(second.elements.reverse())
        return isl.Map.from_domain_and_range(first.elements.domain(), second.elements.domain())

    def is_within(self, position: int) -> bool:
        """
        Whether subscripts alone show that no pair differs in the loop of this number, and in none outside of it.

        It takes a fraction of the time that the pairs themselves do.
        """
        if self.first.buffer is not self.second.buffer:
            return False
        ends = [(touch.around, touch.place) for touch in (self.first, self.second)]
        return all(
            a is not None
            and at is not None
            and b is not None
            and to is not None
            and SubscriptTest.of(a, at, b, to).never_carried(position)
            for (a, at), (b, to) in (ends, ends[::-1])
        )


def _meetings(
    nest: Nest, loops: Collection[loop.ForOp], new: Sequence[Touch], gone: Collection[Access]
) -> list[Meeting]:
    """The new touches with each that they may meet in some of the loops, at least one of the two writing."""
    others = [a for a in nest.dependences.scop.accesses if a not in gone]
    may_alias = nest.dependences.scop.aliases.may_alias
    found: list[Meeting] = []
    for number, first in enumerate(new):
        around = {id(op) for op in first.loops if op in loops}
        near = (a for a in others if not around.isdisjoint(map(id, a.loops)))
        met = [Touch.of(a) for a in near if _may_meet(nest, first, a)]
        # Pairs of two touches, and of the same two the other way round, are the same pairs.
        for second in (*new[number:], *met):
            is_one = first.is_write or second.is_write
            is_near = not around.isdisjoint(map(id, second.loops))
            if is_one and is_near and may_alias(first.buffer, second.buffer):
                found.append(Meeting(first, second))
    return found


def _clash(for_op: loop.ForOp, meetings: Sequence[Meeting]) -> tuple[str, int, int] | None:
    """A buffer that two different iterations of the loop would touch, one of them writing."""
    for meeting in meetings:
        first, second = meeting.first, meeting.second
        if for_op not in first.loops or for_op not in second.loops:
            continue
        position = first.loops.index(for_op)
        if meeting.is_within(position):
            continue
        is_symmetric = first is second
        swapped = _in_different_iterations(meeting.pairs, position, is_symmetric=is_symmetric)
        if swapped is not None:
            point = swapped.wrap().sample_point()
            left = point.get_coordinate_val(isl.dim_type.set, position)
            right = point.get_coordinate_val(isl.dim_type.set, len(first.loops) + position)
            name = loop.buffer_name(first.buffer) or "a buffer"
            return name, left.to_python(), right.to_python()
    return None


def _may_meet(nest: Nest, touch: Touch, access: Access) -> bool:
    """Whether one may write what the other touches; asked before integer sets are made."""
    return (touch.is_write or access.is_write) and nest.dependences.scop.aliases.may_alias(
        touch.buffer, access.buffer
    )


def _in_different_iterations(
    pairs: isl.Map, position: int, *, is_symmetric: bool
) -> isl.Map | None:
    """The pairs that differ in one variable and not in those before it; None where there are none."""
    into, out = isl.dim_type.in_, isl.dim_type.out
    pairs = in_same_iterations(pairs, position)
    before = pairs.order_lt(into, position, out, position)
    if is_symmetric and before.is_empty():
        return None
    different = before.union(pairs.order_gt(into, position, out, position))
    return None if different.is_empty() else different
