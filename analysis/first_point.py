"""The first point of a set of iterations, which messages name."""

from __future__ import annotations

import islpy as isl

OPERATIONS = 20_000
"""Of isl's arithmetic, in which the first point of a set has to be found; a tenth of a second."""


def first_point(points: isl.Set) -> isl.Point:
    """The lexicographically first point of a set that is not empty, or any where isl cannot tell."""
    context = isl.DEFAULT_CONTEXT
    limit = context.get_max_operations()
    context.reset_operations()
    context.set_max_operations(OPERATIONS)  # with symbols and divisions it may take minutes
    try:
        point = points.lexmin().sample_point()
    except isl.Error:  # "affine expression involves some of the domain dimensions", with divisions
        point = None
    finally:
        context.set_max_operations(limit)
        context.reset_operations()
    if point is None:
        return points.sample_point()
    # isl's lexmin of a non-empty set with divisions may come out empty.
    return points.sample_point() if point.is_void() else point
