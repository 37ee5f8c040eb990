"""What may be said of loops that are joined or cut: their kinds."""

from __future__ import annotations

from ...dialects.loop import LoopKind

_WEAKEST_FIRST = (LoopKind.SERIAL, LoopKind.REDUCTION, LoopKind.PARALLEL)


def weakest(*kinds: LoopKind) -> LoopKind:
    """The kind of a loop that is all of these."""
    return min(kinds, key=_WEAKEST_FIRST.index)
