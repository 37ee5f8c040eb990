"""Bounds of nested loops in a new order, from the set of iterations they run through."""

from __future__ import annotations

import islpy as isl
from xdsl.ir.affine import AffineConstraintExpr, AffineExpr

from ...analysis.isl_affine import constraint_exprs, lower_bounds, upper_bounds
from ...frozen import frozen

_Dimension = tuple[isl.dim_type, int]


@frozen
class Level:
    """A loop's bounds, over the variables of the loops outside of it and then the parameters."""

    lower: tuple[AffineExpr, ...]
    """the greatest of these is the first value"""
    upper: tuple[AffineExpr, ...]
    """the variable stays below all of these"""


@frozen
class NestBounds:
    """Loops that together run through a set, and the condition under which they do, if there is one."""

    levels: tuple[Level, ...]
    guard: tuple[AffineConstraintExpr, ...]
    """over the variables of the loops around all of them and then the parameters"""


def nest_bounds(iterations: isl.Set, context: isl.Set) -> NestBounds | None:
    """
    Bounds of a loop for each dimension of `iterations` that `context` does not have, in order.

    `context` holds the values of the dimensions before, which are the variables of the loops around. None
    when no loops with affine bounds run through exactly these iterations. Loops may turn out empty.
    """
    depth, count = context.dim(isl.dim_type.set), iterations.dim(isl.dim_type.set)
    if iterations.is_empty():
        never = Level((AffineExpr.constant(0),), (AffineExpr.constant(0),))
        return NestBounds((never,) * (count - depth), ())
    levels: list[Level] = []
    enforced = context
    for position in range(depth, count):
        reached = iterations.project_out(isl.dim_type.set, position + 1, count - position - 1)
        enforced = enforced.add_dims(isl.dim_type.set, 1)
        found = _level(reached, enforced, position)
        if found is None:
            return None
        levels.append(found[0])
        enforced = enforced.intersect(found[1])
    if enforced.is_equal(iterations):
        return NestBounds(tuple(levels), ())
    # Where the loops around have values for which nothing runs, the bounds may take that for granted.
    needed = iterations.project_out(isl.dim_type.set, depth, count - depth)
    guard = _outline(needed.gist(context))
    inside = enforced.intersect(guard.to_set().add_dims(isl.dim_type.set, count - depth))
    constraints = constraint_exprs(guard)
    if constraints is None or not inside.is_equal(iterations):
        return None
    return NestBounds(tuple(levels), tuple(constraints))


def _level(reached: isl.Set, enforced: isl.Set, position: int) -> tuple[Level, isl.BasicSet] | None:
    """The bounds of the last dimension, and where they hold."""
    outline = _outline(reached)
    for basic in (_outline(outline.to_set().gist(enforced)), outline):
        lower, upper = lower_bounds(basic, position), upper_bounds(basic, position)
        if lower and upper:
            return Level(tuple(lower), tuple(upper)), _about(basic, position)
    return None


def _outline(points: isl.Set) -> isl.BasicSet:
    """The smallest polyhedron around the set, as near as can be found."""
    plain = points.remove_redundancies().coalesce().get_basic_sets()
    if len(plain) == 1 and plain[0].dim(isl.dim_type.div) == 0:
        return plain[0]
    return _hull(points.remove_divs())


def _hull(points: isl.Set) -> isl.BasicSet:
    """
    The convex hull. Dimensions on which all parts of the set agree, and that are in no constraint with others, keep their constraints: the
    hull is taken over those that are tied to a difference alone. (isl takes seconds for some of seven dimensions, and next to nothing for two.)
    """
    parts = [
        [(str(one), _dimensions(one), one) for one in part.get_constraints()]
        for part in points.remove_redundancies().get_basic_sets()
        if not part.plain_is_empty()
    ]
    if not parts:
        return points.polyhedral_hull()
    shared = set[str].intersection(*({text for text, _, _ in part} for part in parts))
    tied: set[_Dimension] = set()
    for part in parts:
        tied.update(*(about for text, about, _ in part if text not in shared))
    size = -1
    while size < len(tied):  # what is tied to these
        size = len(tied)
        tied.update(*(about for part in parts for _, about, _ in part if tied & about))

    space = points.get_space()
    over_tied, agreed = isl.Set.empty(space), isl.BasicSet.universe(space)
    for part in parts:
        chosen = [one for _, about, one in part if tied & about]
        over_tied = over_tied.union(isl.BasicSet.universe(space).add_constraints(chosen).to_set())
    agreed = agreed.add_constraints([one for _, about, one in parts[0] if not tied & about])
    return over_tied.polyhedral_hull().intersect(agreed).remove_redundancies()


def _dimensions(constraint: isl.Constraint) -> set[_Dimension]:
    return {
        (kind, n)
        for kind in (isl.dim_type.set, isl.dim_type.param)
        for n in range(constraint.dim(kind))
        if constraint.involves_dims(kind, n, 1)
    }


def _about(basic: isl.BasicSet, position: int) -> isl.BasicSet:
    """The constraints that involve one dimension."""
    result = isl.BasicSet.universe(basic.get_space())
    for constraint in basic.get_constraints():
        if constraint.involves_dims(isl.dim_type.set, position, 1):
            result = result.add_constraint(constraint)
    return result
