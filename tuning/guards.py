"""Loops cut where the conditions inside of them change, so that most iterations run without any."""

from __future__ import annotations

from itertools import pairwise

from ..analysis.guards import changes, constant_bounds
from ..transforms.step_support.handles import LoopHandle
from .session import Session

MOST_PARTS = 8
"""Loops that one is cut into: each has a copy of the body, which is compiled for itself."""

SHARE = 2
"""The longest part is at least one in this many of all iterations: else the edges are what there is."""


def split_at_changes(s: Session, loop: LoopHandle) -> list[LoopHandle]:
    """
    Cut a loop where conditions inside of it change; the parts, the longest first. Just the loop where that is not worth
    it: many short parts.
    """
    points, count = changes(loop.op), loop.trips
    if not points or len(points) >= MOST_PARTS or count is None:
        return [loop]
    bounds = constant_bounds(loop.op)
    assert bounds is not None
    ends = [bounds[0], *points, bounds[1]]
    lengths = [end - first for first, end in pairwise(ends)]
    if max(lengths) * SHARE < count:
        return [loop]
    parts = [loop]
    for point in points:
        parts[-1:] = s.index_set_split(parts[-1], at=str(point)).loops
    return [part for _, part in sorted(zip(lengths, parts, strict=True), key=lambda p: -p[0])]
