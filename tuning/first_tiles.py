"""
B packed by the tiles of the first rows, which use what they pack.

A copy of columns reads pieces of rows that are far apart: each waits for its lines, and the copy does nothing meanwhile. The multiply-adds
of a tile last as long as these take, if they are asked for early enough.
"""

from __future__ import annotations

from ..transforms.step_support.handles import BufferHandle, LoopHandle
from .panels import Panels, whole_and_rest
from .session import Session


def pack_in_first_tiles(
    s: Session,
    panels: Panels,
    blocks: LoopHandle,
    tiles: LoopHandle,
    sums: LoopHandle,
    rows: BufferHandle,
    ahead: int,
    locality: int,
) -> tuple[LoopHandle, ...]:
    """
    Have the tiles of the first of some blocks of rows, which follow a copy of B's `rows`, make the copy, and ask for rows so many terms
    `ahead`, unless that is 0, with a `locality` as of `prefetch`. `tiles` is the loop over panels in a block, and `sums` the one over terms. Where the last
    columns have tiles of their own, these make the last panel. The loops of the hints.
    """
    panel, summed, element = panels.panel, panels.summed, panels.element
    assert panel is not None and summed is not None and element is not None
    front = s.peel(blocks, front=1).front
    assert front is not None
    s.order(panel, summed, element)
    first_tiles = tiles.copies_in(front)
    parts = whole_and_rest(s, panels) if len(first_tiles) > 1 else (panel,)
    copies = [
        (part, tile, *summed.copies_in(part), *sums.copies_in(tile))
        for part, tile in zip(parts, first_tiles, strict=True)
    ]
    s.tidy()  # the loop over one block goes, and that over one panel
    for part, tile, copied, added in reversed(copies):
        if not tile.is_gone:
            s.fuse_loops(part, tile)
        s.fuse_loops(copied, added)
    for copy in element.copies:
        s.vectorize(copy)
    hints: list[LoopHandle] = []
    for _, _, copied, _ in copies if ahead else ():
        hints += s.prefetch(rows, copied, ahead, locality=locality).loops
    return tuple(hints)
