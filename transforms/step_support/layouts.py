"""Where the elements of a part of a buffer stand in its copy: in which order, padded, in panels."""

from __future__ import annotations

from collections.abc import Sequence
from math import lcm

from xdsl.ir.affine import AffineExpr

from ...analysis.regions import Box
from ...dialects.schedule import Step
from ...dialects.schedule.steps import Stage
from ...frozen import frozen
from .refusal import refuse


@frozen
class Layout:
    """Where an element of the box stands in the scratch buffer."""

    extents: tuple[int, ...]
    """of the box, axis by axis, rounded up where padded"""
    order: tuple[int, ...]
    """the box's axes in the order of the scratch buffer's"""
    panel: int
    """elements of the last of them that stand together; 0 when it is not cut into panels"""

    def shape(self) -> tuple[int, ...]:
        sizes = [self.extents[axis] for axis in self.order]
        if not self.panel:
            return tuple(sizes)
        return (-(-sizes[-1] // self.panel), *sizes[:-1], self.panel)

    def subscripts(self, offsets: Sequence[AffineExpr]) -> tuple[AffineExpr, ...]:
        """The subscripts of the element at `offsets` from the box's first."""
        ordered = [offsets[axis] for axis in self.order]
        if not self.panel:
            return tuple(ordered)
        last = ordered[-1]
        return (last // self.panel, *ordered[:-1], last % self.panel)


def checked_order(step: Step, order: tuple[int, ...], rank: int) -> tuple[int, ...]:
    """The order of so many axes that a step asks for. Raises the refusal of one that is no permutation."""
    order = order or tuple(range(rank))
    if sorted(order) != list(range(rank)):
        raise refuse(step, f"order is {list(order)}, expected a permutation of the {rank} axes")
    return order


def layout_of(step: Stage, box: Box) -> Layout:
    """The layout that a step asks for. Raises the refusal of numbers that make none."""
    rank = len(box.extents)
    order = checked_order(step, step.order, rank)
    if step.panel < 0 or step.pad < 0 or any(pad < 0 for pad in step.pads):
        raise refuse(step, "panel and pad must not be negative")
    if step.pads and len(step.pads) != rank:
        raise refuse(
            step, f"pads has {len(step.pads)} numbers, expected one for each of {rank} axes"
        )
    if (step.panel or step.pad) and rank == 0:
        raise refuse(step, "a buffer without axes has nothing to pack or pad")
    units = [pad or 1 for pad in step.pads] or [1] * rank
    if rank:
        units[-1] = lcm(units[-1], step.pad or 1, step.panel or 1)
    extents = list(box.extents)
    for axis, unit in zip(order, units, strict=True):
        extents[axis] = -(-extents[axis] // unit) * unit
    return Layout(tuple(extents), order, step.panel)
