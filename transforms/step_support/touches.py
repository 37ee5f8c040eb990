"""Whether loops may still run in any order when a rewrite gives them accesses they did not have."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import islpy as isl
from xdsl.ir import SSAValue

from ...analysis.affine_isl import in_same_iterations
from ...analysis.scop import Access
from ...dialects import loop
from ...dialects.loop import LoopKind, LoopKindAttr
from ...dialects.schedule import Step
from .nest import Nest
from .refusal import refuse


@dataclass(frozen=True)
class Touch:
    """The elements of a buffer that each iteration of nested loops reads or writes."""

    buffer: SSAValue
    is_write: bool
    loops: tuple[loop.ForOp, ...]
    elements: isl.Map
    """The iterations to elements, preceded by the variables of loops the buffer is made in."""

    @staticmethod
    def of(access: Access) -> Touch:
        elements = access.element.set_tuple_name(isl.dim_type.in_, "")
        return Touch(access.buffer, access.is_write, access.loops, elements)

    def between(self, depth: int, rank: int) -> isl.Set:
        """The iterations of `depth` outer loops, each followed by the elements it touches."""
        inner = self.elements.dim(isl.dim_type.in_) - depth
        pairs = self.elements.project_out(isl.dim_type.in_, depth, inner)
        private = self.elements.dim(isl.dim_type.out) - rank
        return pairs.project_out(isl.dim_type.out, 0, private).wrap().flatten()


def touch_region(
    buffer: SSAValue, is_write: bool, loops: Sequence[loop.ForOp], region: isl.Set, private: int
) -> Touch:
    """
    The touch of a set over the loops' variables and the buffer's indices.

    `private` is how many of the loops have a buffer of their own in each iteration.
    """
    depth = len(loops)
    rank = region.dim(isl.dim_type.set) - depth
    pairs = isl.Map.from_domain(region).move_dims(
        isl.dim_type.out, 0, isl.dim_type.in_, depth, rank
    )
    pairs = pairs.insert_dims(isl.dim_type.out, 0, private)
    for n in range(private):
        pairs = pairs.equate(isl.dim_type.in_, n, isl.dim_type.out, n)
    return Touch(buffer, is_write, tuple(loops), pairs)


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
    for for_op in loops:
        if for_op.kind.data is LoopKind.SERIAL:
            continue
        clash = _clash(nest, for_op, new, gone)
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


def _clash(
    nest: Nest, for_op: loop.ForOp, new: Sequence[Touch], gone: Collection[Access]
) -> tuple[str, int, int] | None:
    """A buffer that two different iterations of the loop would touch, one of them writing."""
    inside = [t for t in new if for_op in t.loops]
    scop = nest.dependences.scop
    others = [a for a in scop.inside(for_op) if a not in gone]
    for first in inside:
        met = [Touch.of(a) for a in others if _may_meet(nest, first, a)]
        for second in (*inside, *met):
            if not (first.is_write or second.is_write):
                continue
            pairs = _meeting(nest, first, second)
            if pairs is None:
                continue
            pairs = _in_different_iterations(pairs, first.loops.index(for_op))
            if not pairs.is_empty():
                position = first.loops.index(for_op)
                point = pairs.wrap().sample_point()
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


def _meeting(nest: Nest, first: Touch, second: Touch) -> isl.Map | None:
    """The pairs of iterations that may touch the same element."""
    if first.buffer is second.buffer:
        return first.elements.apply_range(second.elements.reverse())
    if nest.dependences.scop.aliases.may_alias(first.buffer, second.buffer):
        return isl.Map.from_domain_and_range(first.elements.domain(), second.elements.domain())
    return None


def _in_different_iterations(pairs: isl.Map, position: int) -> isl.Map:
    pairs = in_same_iterations(pairs, position)
    before = pairs.order_lt(isl.dim_type.in_, position, isl.dim_type.out, position)
    return before.union(pairs.order_gt(isl.dim_type.in_, position, isl.dim_type.out, position))
