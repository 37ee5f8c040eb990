"""Bounds of loops in a new order, from the set of iterations they run through."""

from __future__ import annotations

from collections.abc import Sequence

import islpy as isl
from xdsl.ir import SSAValue

from ...analysis.isl_affine import lower_bounds, upper_bounds
from .rewrite import BoundExprs


def loop_bounds(
    iterations: isl.Set, outer: Sequence[SSAValue], parameters: Sequence[SSAValue]
) -> tuple[BoundExprs, BoundExprs] | None:
    """
    Bounds for the last dimension of a set in terms of the dimensions before it.

    `outer` are the values of those dimensions, `parameters` of the set's parameters. The lower bound is
    a maximum, the upper one (excluded) a minimum. None when the set is no convex polyhedron over them
    (then no single loop runs through it) or the dimension is unbounded.
    """
    hull = iterations.remove_redundancies().coalesce()
    if hull.n_basic_set() != 1:
        return None
    (basic,) = hull.get_basic_sets()
    if basic.dim(isl.dim_type.div) > 0:
        return None
    position = basic.dim(isl.dim_type.set) - 1
    lower, upper = lower_bounds(basic, position), upper_bounds(basic, position)
    if not lower or not upper:
        return None
    values = [*outer, *parameters]
    return (lower, values), (upper, values)
