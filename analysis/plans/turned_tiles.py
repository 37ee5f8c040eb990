"""What register tiles take that leave across their lanes: rows that are turned in registers."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from math import log2
from typing import NamedTuple

from ...targets.core import Core
from ..turned import chunk_lanes, pieces

LANE_BY_LANE = 2
"""Instructions for each element of a vector that is not stored at once: an extraction, and a store."""


def turning_cycles(core: Core, rows: int, lanes: int, element_bytes: int, work: float) -> float:
    """
    Cycles in which rows of one vector each leave as columns, with so many cycles of `work` for each piece of a column. Shuffles have a port,
    and so have stores. A row by itself leaves lane by lane.
    """
    if rows == 1:
        return LANE_BY_LANE * lanes
    found = _turned(rows, lanes, element_bytes)
    return _at_ports(core, found) + work * sum(one.stores for one in found)


class _Turned(NamedTuple):
    """The instructions in which a block of rows leaves."""

    shuffles: int
    stores: int


@lru_cache(maxsize=1024)
def _turned(rows: int, lanes: int, element_bytes: int) -> tuple[_Turned, ...]:
    chunk = chunk_lanes(element_bytes, lanes)
    found: list[_Turned] = []
    for block in pieces(rows, lanes, chunk):
        shuffles = sum(size * int(log2(min(size, lanes))) for size in block)
        # Columns that a chunk has beside others are taken out of it.
        shuffles += sum(lanes - lanes // chunk for size in block if 1 < size < chunk)
        found.append(_Turned(shuffles, sum(max(size, lanes) for size in block)))
    return tuple(found)


@lru_cache(maxsize=1024)
def least_turning(core: Core, lanes: int, element_bytes: int) -> float:
    """
    Cycles for each of any rows that it takes at least to turn them: of those whose columns are whole vectors, or of fewer, of which a chunk's
    shuffles and the stores of a row beside it may be at their ports together.
    """
    whole = max(int(log2(lanes)), 1 / core.store_ports)
    fewer = ((rows, _turned(rows, lanes, element_bytes)) for rows in range(1, lanes + 1))
    return min(whole, *(_at_ports(core, found) / rows for rows, found in fewer))


def _at_ports(core: Core, found: Iterable[_Turned]) -> float:
    """Cycles of blocks, in each of which shuffles have a port, and stores have theirs."""
    return sum(max(one.shuffles, one.stores / core.store_ports) for one in found)
