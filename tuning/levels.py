"""The loops around the register tile of a contraction."""

from __future__ import annotations

from typing import Literal

from ..frozen import frozen
from ..transforms.step_support.handles import LoopHandle
from .session import Session


@frozen
class Level:
    """A loop around the register tile, over so many elements of M or of N in each iteration."""

    axis: Literal["m", "n"]
    size: int
    word: str


@frozen
class Nest:
    """One of the nests that are run tile by tile together: its loops after it was cut."""

    batch: dict[int, LoopHandle]
    """the loops over the batch, by the axis of the contraction"""
    levels: tuple[LoopHandle, ...]
    row: LoopHandle
    column: LoopHandle


def is_in(inner: LoopHandle, outer: LoopHandle) -> bool:
    """Whether a loop is another, or stands inside of it."""
    return not outer.is_gone and (inner == outer or (not inner.is_gone and inner.stands_in(outer)))


def last_of(s: Session, loop: LoopHandle) -> LoopHandle:
    """A loop over the last iteration of one alone: itself where it has no others."""
    if loop.trips == 1:
        return loop
    back = s.peel(loop, back=1).back
    assert back is not None
    return back
