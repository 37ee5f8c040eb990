"""The order of a convolution's window in its tiles: loops over places of it that are written out, and elements that these share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..analysis.facts import Contraction
from ..analysis.plans.convolution_plan import ConvolutionPlan
from ..transforms.step_support.handles import LoopHandle
from .levels import is_in
from .session import Session


def put_outside(s: Session, written_out: Iterable[LoopHandle], channels: LoopHandle) -> None:
    """
    Put loops over an axis of the window that will be written out around those over channels: beside each other their terms would share
    elements of the image, which LLVM would keep in registers that the tile needs.
    """
    for loop in written_out:
        around = next((copy for copy in channels.copies if is_in(loop, copy)), None)
        if around is not None and not loop.is_gone:
            s.order(loop, around)


def share_row(
    s: Session,
    plan: ConvolutionPlan,
    c: Contraction,
    row: LoopHandle,
    inside: Mapping[int, LoopHandle],
    written_out: Iterable[LoopHandle],
) -> None:
    """
    Where neighbours in a tile are neighbours in the image, go through the elements that it reads for a row of the window, and for each
    of them through the places of the window that use it: one element is in a register at a time, and the row's weights are. Other tiles go
    through places of the window, whose loop is written out here where each place has a tile of its own.

    `row` is the loop over places of the window, `inside` those of a tile by axis.
    """
    axis = plan.summed[-1]
    subscript = c.left.subscripts[c.left.dimension_of(axis) or 0]
    assert subscript is not None, "tiles share what numbers say that they read"
    rows = [other for other, _ in plan.tile[:-1]]
    along = next((other for other in rows if subscript.coefficients[other]), plan.lanes)
    if plan.writes_row or subscript.coefficients[along] != 1:
        for loop in written_out:
            s.unroll(loop)
        return
    for window in row.copies:
        copies = {other: inside[other].copies_in(window) for other in rows}
        if elements := copies.pop(along):
            (element,) = elements
            s.skew(element, window, subscript.coefficients[axis])
            s.order(element, window, *(loop for loops in copies.values() for loop in loops))
            s.unroll(element)
