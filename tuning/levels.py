"""The loops around the register tile of a contraction."""

from __future__ import annotations

from typing import Literal

from ..frozen import frozen
from ..transforms.step_support.handles import LoopHandle


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
