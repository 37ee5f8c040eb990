"""Nests that are run tile by tile, as those of convolutions and of other reductions over windows are."""

from __future__ import annotations

from collections.abc import Sequence

from ..analysis.facts import Subscript
from ..analysis.plans.cost import round_up
from ..frozen import frozen
from ..transforms.step_support.handles import LoopHandle


@frozen
class TiledNest:
    """One of the nests of a kernel, whose tiles are run together: the loops over tiles, and those inside a tile by axis."""

    around: tuple[LoopHandle, ...]
    inside: dict[int, LoopHandle]


def lanes_reach(subscript: Subscript | None, extents: Sequence[int], lanes: int, width: int) -> int:
    """
    How many elements of a dimension of the image whole vectors read by a subscript, where the axis `lanes` is in lanes,
    `width` of them in a vector, and moves along the dimension; else 1.

    `extents` are those of all axes of the statement.
    """
    if subscript is None or not subscript.coefficients[lanes]:
        return 1
    last = [*extents]
    last[lanes] = round_up(extents[lanes], width)
    return 1 + sum(by * (size - 1) for by, size in zip(subscript.coefficients, last, strict=True))
