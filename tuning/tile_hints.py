"""Hints that stand in register tiles: what later tiles use is asked for while one is computed."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product

from ..transforms.step_support.handles import BufferHandle, LoopHandle
from .session import Session


def ask_for_panels(
    s: Session, panels: BufferHandle, around: Iterable[LoopHandle], summed: LoopHandle
) -> tuple[LoopHandle, ...]:
    """
    Ask for the panel, or the rows, that the next iteration of each loop `around` uses: to L2, a part of it in each step of the sums of the tiles
    that use the one before. The loops of the hints.
    """
    made: list[LoopHandle] = []
    for at in around:
        first, *_ = summed.copies_in(at)
        made += s.prefetch(panels, at, locality=2, inside=first).loops
    return tuple(made)


def ask_for_results(
    s: Session,
    results: Iterable[BufferHandle],
    loops: Iterable[LoopHandle],
    summed: LoopHandle | None,
    *,
    ahead: bool = True,
) -> tuple[LoopHandle, ...]:
    """
    Ask for the part of each result that the next iteration of each loop stores, or finishes with: a part of it in each step of the
    tile's sums, `summed`, where there is one loop over these. Where the part is not needed before the sums are complete, it is
    that of the same iteration, and not `ahead`. The loops of the hints.
    """
    made: list[LoopHandle] = []
    for result, loop in product(results, loops):
        if loop.trips is None or loop.trips > 1:
            sums = summed.copies_in(loop) if summed else ()
            inside = sums[0] if len(sums) == 1 and sums[0].most_trips else ""
            made += s.prefetch(result, loop, int(ahead), locality=3, inside=inside).loops
    return tuple(made)
