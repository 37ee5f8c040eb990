"""Copies of operands in panels: made where a plan says, in vectors, transposed in registers where that is needed."""

from __future__ import annotations

from collections.abc import Iterable

from ..analysis.facts import Access, Contraction
from ..frozen import frozen
from ..transforms.step_support.handles import LoopHandle
from ..transforms.step_support.made import StagedBuffer
from ..transforms.step_support.nest import loops_around
from .session import Session

COPIED_ROWS = 8
"""Rows of a panel copied at a time: those of all panels before the next ones, as a row's page is the same."""


@frozen
class Packing:
    """
    A copy of an operand whose last axis is padded to a multiple of `size`, and cut into panels of that many.

    `order` are the operand's dimensions as the copy has them. `reads_last` says that neighbours in memory follow
    each other along the last of these; `reads_summed`, along the one before: then blocks are transposed in
    registers. Where the copy is made in a loop over blocks of the last axis, `block` is that loop, and
    `block_size` the elements of an iteration.
    """

    staged: StagedBuffer
    order: tuple[int, ...]
    size: int
    extent: int
    reads_last: bool
    reads_summed: bool
    block: LoopHandle | None = None
    block_size: int = 0

    @property
    def is_padded(self) -> bool:
        """Whether some panel is not whole."""
        return bool(self.extent % self.size or (self.block and self.extent % self.block_size))


def packed_order(c: Contraction, access: Access, batch: Iterable[int], own: int) -> tuple[int, ...]:
    """The operand's dimensions as packed: numbers, batch, summed ones, then rows or columns (axis `own`)."""
    axes = [axis for axis in (*batch, *c.k, own) if access.moves_along(axis)]
    moving = [access.dimension_of(axis) for axis in axes]
    dimensions = [n for n in moving if n is not None]
    fixed = [n for n in range(len(access.subscripts)) if n not in dimensions]
    return (*fixed, *dimensions)


@frozen
class Panels:
    """A copy whose loop over the last axis, if there is one, is cut into `panel` and `element` where there are several panels."""

    packing: Packing
    element: LoopHandle | None
    panel: LoopHandle | None = None

    @property
    def summed(self) -> LoopHandle | None:
        """The loop along which panels are stored one element after the other."""
        order = self.packing.order
        loop = self.packing.staged.copy_along(order[-2]) if len(order) > 1 else None
        return None if loop is None or loop.is_gone else loop


def vectorize_packing(s: Session, packing: Packing, width: int) -> None:
    """Run a copy in vectors of up to `width` lanes. Its loops are as `stage` has made them."""
    cut = cut_into_panels(s, packing)
    s.tidy()
    arranged = arrange_panels(s, [cut], width)
    if arranged:
        s.tidy()
    vectorize_panels(s, arranged)


def cut_into_panels(s: Session, packing: Packing) -> Panels:
    """Cut the loop along which neighbours are stored."""
    last = packing.staged.copy_along(packing.order[-1])
    if last is None or last.is_gone or packing.size == 1:
        return Panels(packing, None)
    count = min(packing.extent, packing.block_size) if packing.block else packing.extent
    if count <= packing.size:
        return Panels(packing, last)
    panel, element = s.cut(last, packing.size, "panel", "element", tail="perfect")
    return Panels(packing, element, panel)


@frozen
class Arranged:
    """Panels whose loops are in their order, and which of them will run in lanes."""

    panels: Panels
    stored: LoopHandle
    """the loop along which neighbours are stored"""
    lane: LoopHandle | None
    """the one along which they are read, where blocks are transposed"""
    whole: set[LoopHandle]
    """the loops along which neighbours are stored in panels that are whole"""


def arrange_panels(s: Session, cut: Iterable[Panels], width: int) -> list[Arranged]:
    """Put the loops of copies in their order, for vectors of up to `width` lanes; what is left is cleaned up before these."""
    return [
        Arranged(panels, stored, *_arrange(s, panels, stored, width))
        for panels in cut
        if (stored := panels.element) is not None and not stored.is_gone
    ]


def whole_and_rest(s: Session, panels: Panels) -> tuple[LoopHandle, LoopHandle]:
    """Give the panels without padding a loop of their own, and the last one another."""
    assert panels.panel is not None
    whole, rest = s.index_set_split(panels.panel, _is_whole(panels.packing, panels.panel))
    return whole, rest


def vectorize_panels(s: Session, arranged: Iterable[Arranged]) -> None:
    """Run copies in vectors."""
    for each in arranged:
        packing = each.panels.packing
        if each.lane is not None or packing.reads_last:
            _in_lanes(s, packing, each.stored, each.lane, each.whole)


def _arrange(
    s: Session, panels: Panels, stored: LoopHandle, width: int
) -> tuple[LoopHandle | None, set[LoopHandle]]:
    """
    Put the loops of a copy in their order, and give panels without padding a loop of their own: the loop along which neighbours are
    read, where blocks are transposed, and the loops along which they are stored in panels that are whole.
    """
    packing, panel, summed = panels.packing, panels.panel, panels.summed
    lane = None
    if panel is not None:
        rows = None if summed is None else summed.trips
        if summed is not None and packing.reads_last and rows is not None and rows > COPIED_ROWS:
            block, row = s.cut(summed, COPIED_ROWS, "block", "row")
            s.order(block, panel, row, stored)
    if packing.reads_summed and not packing.reads_last and summed is not None:
        lane = _blocks_to_transpose(s, panel, stored, summed, width)
    elif not packing.reads_last:
        return None, set()
    if panel is None or not packing.is_padded or panel.is_gone:
        return lane, {stored}
    whole_panels, _ = whole_and_rest(s, panels)
    return lane, {copy for copy in stored.copies if copy in stored.copies_in(whole_panels)}


def _in_lanes(
    s: Session,
    packing: Packing,
    stored: LoopHandle,
    lane: LoopHandle | None,
    whole: set[LoopHandle],
) -> None:
    """Run the loop along which neighbours are stored in lanes, and the one along which they are read."""
    for copy in stored.copies:
        around = None if lane is None else _around(lane, copy)
        # What is not whole runs seldom: in one direction only, so that the code stays small.
        if copy in whole or around is None or not packing.is_padded:
            s.vectorize(copy)
        if around is not None:
            s.vectorize(around)


def _around(lane: LoopHandle, inner: LoopHandle) -> LoopHandle | None:
    """The copy of the loop over lanes that the inner loop stands in."""
    return next((copy for copy in lane.copies if inner in inner.copies_in(copy)), None)


def _is_whole(packing: Packing, panel: LoopHandle) -> str:
    """The condition under which a panel has no padding."""
    start = ""
    if packing.block is not None and not packing.block.is_gone:
        start = f" - {packing.block_size} * {packing.block.name}"
    return f"{packing.extent - packing.size} - {packing.size} * {panel.name}{start} >= 0"


def _order(s: Session, *loops: LoopHandle) -> None:
    """Order loops as `Session.order`; those between that are not named stand around the last two."""
    innermost = max(loops, key=lambda handle: len(loops_around(handle.op)))
    nest = [*loops_around(innermost.op), innermost.op]
    first = min(nest.index(handle.op) for handle in loops)
    named = {handle.op for handle in loops}
    between = [s.handle(op) for op in nest[first:] if op not in named]
    s.order(*loops[:-2], *between, *loops[-2:])


def _blocks_to_transpose(
    s: Session, panel: LoopHandle | None, stored: LoopHandle, summed: LoopHandle, width: int
) -> LoopHandle | None:
    """`for stored: for summed` → `for summed.block: for summed.lane: for stored`; the loop over lanes."""
    first = () if panel is None or panel.is_gone else (panel,)
    count = summed.trips
    if count is None:
        return None
    if count <= width:
        _order(s, *first, summed, stored)
        return summed
    block, lane = s.cut(summed, width, "block", "lane")
    _order(s, *first, block, lane, stored)
    if count % width:
        s.peel(block, back=1)
    return lane
