"""
Pairs of iterations of two accesses that touch the same element, as integer sets, or in plain numbers where a question is decided so.

Each access is what is around it and the element that it touches, which is None for accesses of different buffers that may be one.
"""

from __future__ import annotations

from functools import lru_cache

import islpy as isl

from ..dialects.affine_substitution import value_at
from .domains import REMEMBERED, Around, Place, touched
from .extremes import Point, corner
from .subscript_tests import SubscriptTest


@lru_cache(REMEMBERED)
def _meeting(source: Around, at: Place | None, sink: Around, to: Place | None) -> isl.Map:
    """The pairs of iterations that touch the same element; all of them for different buffers."""
    if at is None or to is None:
        return isl.Map.from_domain_and_range(source.domain, sink.domain)
    return touched(source, at).apply_range(touched(sink, to).reverse())


@lru_cache(REMEMBERED)
def carried(
    source: Around, at: Place | None, sink: Around, to: Place | None, number: int
) -> isl.Map | None:
    """
    Of pairs of iterations that meet those where the second is in the same iteration of the first `number`
    common loops and a later one of the next, if there are any.
    """
    if at is not None and to is not None:
        if number < at.private:  # each iteration has a buffer of its own
            return None
        if SubscriptTest.of(source, at, sink, to).never_carried(number):
            return None
    pairs = _meeting(source, at, sink, to)
    into, out = isl.dim_type.in_, isl.dim_type.out
    # Conditions are joined before the pairs are: isl takes much longer to add them one by one.
    later = isl.Map.universe(pairs.get_space()).order_lt(into, number, out, number)
    for n in range(number):
        later = later.equate(into, n, out, n)
    pairs = pairs.intersect(later)
    return None if pairs.is_empty() else pairs


@lru_cache(REMEMBERED)
def is_carried(
    source: Around, at: Place | None, sink: Around, to: Place | None, number: int
) -> bool:
    """Whether there are any of the pairs of `carried`: where two iterations at corners are one it is seen without integer sets."""
    return _meet_at_last(source, at, sink, to, number) or (
        carried(source, at, sink, to, number) is not None
    )


def _meet_at_last(
    source: Around, at: Place | None, sink: Around, to: Place | None, number: int
) -> bool:
    """
    Whether the first iteration of all loops, and that which differs from it in the last one of a common loop, are sure to touch
    the same element.
    """
    if at is None or to is None or number < at.private:
        return False
    first = corner(source, (False,) * source.depth)
    last = corner(sink, tuple([n == number for n in range(sink.depth)]))
    if first is None or last is None or first[number] == last[number]:
        return False
    return first[:number] == last[:number] and _is_same_element(at, first, to, last)


@lru_cache(REMEMBERED)
def within(
    source: Around, at: Place | None, sink: Around, to: Place | None, depth: int
) -> isl.Map | None:
    """The pairs that meet in the same iteration of all `depth` common loops, if there are any."""
    if (
        at is not None
        and to is not None
        and SubscriptTest.of(source, at, sink, to).never_together(depth)
    ):
        return None
    pairs = _meeting(source, at, sink, to)
    same = isl.Map.universe(pairs.get_space())
    for n in range(depth):
        same = same.equate(isl.dim_type.in_, n, isl.dim_type.out, n)
    pairs = pairs.intersect(same)
    return None if pairs.is_empty() else pairs


def meet_at_first(source: Around, at: Place | None, sink: Around, to: Place | None) -> bool:
    """Whether the first iterations of all loops touch the same element: then it is seen without integer sets that some do."""
    first, second = (corner(around, (False,) * around.depth) for around in (source, sink))
    if first is None or second is None or at is None or to is None:
        return False
    return _is_same_element(at, first, to, second)


def _is_same_element(at: Place, first: Point, to: Place, second: Point) -> bool:
    """Whether it is known that iterations of two accesses touch the same element."""
    return all(
        a is not None and b is not None and value_at(a, first) == value_at(b, second)
        for a, b in zip(at.subscripts, to.subscripts, strict=True)
    )
