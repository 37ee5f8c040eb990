"""How the loops of a row-block plan run that are in no register tile: in lanes, or on threads."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from math import prod

from ...targets.target import Target
from .lanes import block_lanes
from .row_chain import RowChain
from .row_nests import Nest, runs_in_lanes
from .row_traffic import traffic
from .threads import chosen_for_threads, memory_seconds, pays

LARGE_SHARE = 8
"""A nest with less than this part of the work is not worth the start of a team."""

Numbered = tuple[tuple[int, int], ...]
"""Statements, each with a number that belongs to it."""


def lanes_outside_tiles(
    chain: RowChain,
    groups: Iterable[Sequence[int]],
    merged: Sequence[tuple[int, int]],
    ahead: Iterable[int],
    target: Target,
) -> Numbered:
    """The statements whose innermost loops run in lanes, with the elements of a block of these."""
    found = [(number, _lanes(chain, (number,), -1, target)) for number in ahead]
    for group in groups:
        found += _lanes_of_group(chain, group, dict(merged), target)
    return tuple((number, lanes) for number, lanes in found if lanes)


def _lanes_of_group(
    chain: RowChain, group: Sequence[int], merged: dict[int, int], target: Target
) -> list[tuple[int, int]]:
    """Over the elements of rows; over rows where no statement of the group has more than one element of each."""
    whole = [n for n in group if len(chain.statement(n).axes) > chain.depth]
    if not whole:
        return [(group[0], _lanes(chain, tuple(group), chain.depth - 1, target))]
    return [
        (n, _lanes(chain, (n, merged[n]) if n in merged else (n,), -1, target))
        for n in whole
        if n not in merged.values()
    ]


@lru_cache(maxsize=1024)
def _lanes(chain: RowChain, together: tuple[int, ...], axis: int, target: Target) -> int:
    """The elements of a block of an axis, which the statements share; 0 where it does not run in lanes."""
    nests = [Nest(chain.facts, (number,), True, True) for number in together]
    if not all(runs_in_lanes(nest, range(len(nest.axes))[axis]) for nest in nests):
        return 0
    return min(block_lanes(nest, target.core) for nest in nests)


def loops_on_threads(chain: RowChain, rows: int, ahead: Sequence[int], target: Target) -> Numbered:
    """The loops that run on threads, where there is enough work: one of the chain's, and one of each nest before it."""
    seconds = memory_seconds(traffic(chain.facts), target)
    if not pays(seconds):
        return ()
    first = chain.statement(chain.rows[0]).extents
    assert first is not None, "a chain's rows and batch are numbers"
    batch, total = first[: chain.depth - 1], first[chain.depth - 1]
    found = chosen_for_threads([*batch, -(-total // rows)], seconds, target)
    threads = [] if found is None else [(chain.rows[0], found)]
    # A batch of one has no loop that what is made ahead would be in.
    apart = ahead if prod(batch) == 1 else [n for n in ahead if not chain.is_batched(n)]
    if not apart:
        return tuple(threads)
    points = {number: chain.statement(number).points or 0 for number in (*apart, *chain.rows)}
    for number in apart:
        axes = [axis.extent for axis in chain.statement(number).axes[:-1]]
        free = [extent for extent in axes if isinstance(extent, int)]
        axis = chosen_for_threads(free, seconds, target) if chain.is_parallel(number) else None
        if axis is not None and points[number] * LARGE_SHARE >= sum(points.values()):
            threads.append((number, axis))
    return tuple(threads)
