"""
B packed by the tiles of the first rows, which use what they pack.

A copy of columns reads pieces of rows that are far apart: each waits for its lines, and the copy does nothing meanwhile. The multiply-adds
of a tile last as long as these take, if they are asked for early enough.
"""

from __future__ import annotations

from ..transforms.step_support.handles import LoopHandle
from .panels import Panels
from .session import Session


def pack_in_first_tiles(
    s: Session, panels: Panels, rows: LoopHandle, tiles: LoopHandle, sums: LoopHandle
) -> LoopHandle:
    """
    Have the tiles of the first iteration of the loop over `rows`, which follows a copy of B, make the copy: `tiles` is the loop over panels
    in it, and `sums` the one over terms. The loop over terms that copies each and uses it.
    """
    panel, summed, element = panels.panel, panels.summed, panels.element
    assert panel is not None and summed is not None and element is not None
    front = s.peel(rows, front=1).front
    assert front is not None
    (first_tiles,), (first_sums,) = tiles.copies_in(front), sums.copies_in(front)
    s.order(panel, summed, element)
    s.simplify(s.name)  # the loop over one iteration goes
    s.fuse_loops(panel, first_tiles)
    s.fuse_loops(summed, first_sums)
    s.vectorize(element)
    return summed
