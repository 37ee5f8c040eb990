"""
B packed by the tiles of the first rows, which use what they pack.

A copy of columns reads pieces of rows that are far apart: each waits for its lines, and the copy does nothing meanwhile. The multiply-adds
of a tile last as long as these take, if they are asked for early enough.
"""

from __future__ import annotations

from ..transforms.step_support.handles import BufferHandle, LoopHandle
from .panels import Panels
from .session import Session


def pack_in_first_tiles(
    s: Session,
    panels: Panels,
    blocks: LoopHandle,
    tiles: LoopHandle,
    sums: LoopHandle,
    rows: BufferHandle,
    ahead: int,
) -> tuple[LoopHandle, ...]:
    """
    Have the tiles of the first of some blocks of rows, which follow a copy of B's `rows`, make the copy, and ask for rows so many terms
    `ahead`, to L2. `tiles` is the loop over panels in a block, and `sums` the one over terms. The loops of the hints.
    """
    panel, summed, element = panels.panel, panels.summed, panels.element
    assert panel is not None and summed is not None and element is not None
    front = s.peel(blocks, front=1).front
    assert front is not None
    (first_tiles,), (first_sums,) = tiles.copies_in(front), sums.copies_in(front)
    s.order(panel, summed, element)
    s.simplify(s.name)  # the loop over one block goes
    s.fuse_loops(panel, first_tiles)
    s.fuse_loops(summed, first_sums)
    s.vectorize(element)
    return s.prefetch(rows, summed, ahead, locality=2).loops
