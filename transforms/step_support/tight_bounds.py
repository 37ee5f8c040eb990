"""Bounds without what the loops and conditions around make superfluous, decided exactly."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import chain, combinations

import islpy as isl
from xdsl.ir.affine import AffineConstantExpr, AffineExpr

from ...analysis.affine_isl import variable
from ...analysis.counters import counters, extent, linear, minus
from ...analysis.domains import (
    REMEMBERED,
    Around,
    Exprs,
    LoopPart,
    loop_range,
)
from ...analysis.extremes import Point, are_numbers, corners, is_never_negative, only_value
from ...analysis.frames import Frame, Frames
from ...dialects import loop
from ...dialects.affine_atoms import constant_expr
from ...dialects.affine_bounds import linear_form, simplified
from ...dialects.affine_substitution import difference, plus, value_at
from ...dialects.affine_text import compact
from ...dialects.leaf_operations import map_of
from .rewrite import BoundExprs, lower_bound, set_bounds, upper_bound

BoundTerms = tuple[Sequence[AffineExpr] | None, Sequence[AffineExpr] | None]
"""A lower and an upper bound over the parameters and the loops' variables, None where they are not affine."""


def tight_bounds(outside: Frame, for_op: loop.ForOp) -> tuple[BoundExprs, BoundExprs]:
    """
    The bounds of a loop in its surroundings, with as few expressions as give the same iterations, and numbers where they are.

    `max(0, 4)` becomes `4`, and `min(%i.outer + 4, 16)` becomes `%i.outer + 4` when `%i.outer` counts by
    4 up to 16.
    """
    return tightened(outside, lower_bound(for_op), upper_bound(for_op), for_op.step.value.data)


def tightened(
    outside: Frame,
    lower: BoundExprs,
    upper: BoundExprs,
    step: int,
    terms: BoundTerms | None = None,
) -> tuple[BoundExprs, BoundExprs]:
    """The same of bounds that a loop may get; `terms` are both in its surroundings, where they are known."""
    low_terms, high_terms = terms or (outside.terms(*lower), outside.terms(*upper))
    if low_terms is None or high_terms is None:
        return _simplified(lower), _simplified(upper)
    kept_lows = kept_highs = (0,)
    if len(low_terms) > 1 or len(high_terms) > 1:
        inside = outside.around.within(LoopPart(tuple(low_terms), tuple(high_terms), step))
        kept_lows, kept_highs = _needed_bounds(inside, tuple(lower[0]), tuple(upper[0]))
    return (
        _simplified(_with_numbers(lower, kept_lows, low_terms, outside.around)),
        _simplified(_with_numbers(upper, kept_highs, high_terms, outside.around)),
    )


@lru_cache(REMEMBERED)
def _needed_bounds(
    inside: Around, lower: Exprs, upper: Exprs
) -> tuple[Sequence[int], Sequence[int]]:
    """
    The numbers of the bounds that give a loop's iterations.

    The loop is the innermost one of `inside`; `lower` and `upper` are its bounds as they are written.
    """
    loop_, outside = inside.part, inside.outer
    assert isinstance(loop_, LoopPart) and outside is not None
    lows, highs, step = loop_.lower, loop_.upper, loop_.step
    every_low, every_high = range(len(lows)), range(len(highs))
    if step == 1 and are_numbers(lows) and are_numbers(highs):
        starts, ends = [value_at(expr, ()) for expr in lows], [value_at(expr, ()) for expr in highs]
        if max(starts) < min(ends):
            return [starts.index(max(starts))], [ends.index(min(ends))]
    seen = _values(lows, highs, corners(outside))
    fewer = [(some, every_high) for some in _without_one(every_low)]
    fewer += [(every_low, some) for some in _without_one(every_high)]
    if all(_differs(seen, *some, step) for some in fewer):
        return every_low, every_high  # as is seen at once of most
    if step == len(lows) == 1 and len(highs) == 2 and seen and _runs(seen[0]):
        apart = _apart(*highs, outside)
        if apart is not None:
            return every_low, [0 if apart > 0 else 1]
    pairs = (*combinations(lows, 2), *combinations(highs, 2))
    forms = [linear(difference(a, b), outside) for a, b in pairs]
    seen = _values(lows, highs, corners(outside, forms))

    def are_lows_enough(some: Sequence[int]) -> bool:
        return not _differs(seen, some, every_high, step) and _is_same(
            inside, _at(lows, some), highs
        )

    kept_lows = _needed(lower, are_lows_enough)

    def are_highs_enough(some: Sequence[int]) -> bool:
        return not _differs(seen, kept_lows, some, step) and _is_same(
            inside, _at(lows, kept_lows), _at(highs, some)
        )

    return kept_lows, _needed(upper, are_highs_enough)


def _runs(values: tuple[list[int], list[int]]) -> bool:
    """Whether a loop of such bounds has an iteration."""
    return max(values[0]) < min(values[1])


def _apart(first: AffineExpr, second: AffineExpr, where: Around) -> int | None:
    """How far the second is above the first at least, or below, where it is seen always to be one of both; never 0."""
    a, b = linear(first, where), linear(second, where)
    if a is None or b is None:
        return None
    low, high = extent(minus(b, a), counters(where).ranges)
    if low is not None and low > 0:
        return low
    return high if high is not None and high < 0 else None


def _without_one(every: Sequence[int]) -> list[list[int]]:
    """All but one, for each of several."""
    return [[n for n in every if n != left_out] for left_out in every] if len(every) > 1 else []


Values = list[tuple[list[int], list[int]]]
"""The lower and the upper bounds of a loop in some iterations of those around."""


def _values(lows: Exprs, highs: Exprs, points: Iterable[Point]) -> Values:
    return [
        ([value_at(expr, point) for expr in lows], [value_at(expr, point) for expr in highs])
        for point in points
    ]


def _differs(seen: Values, lows: Sequence[int], highs: Sequence[int], step: int) -> bool:
    """Whether some of the lower and upper bounds are seen to give other iterations than all of them."""
    return any(
        range(max([low[n] for n in lows]), min([high[n] for n in highs]), step)
        != range(max(low), min(high), step)
        for low, high in seen
    )


def _at(exprs: Exprs, numbers: Sequence[int]) -> Exprs:
    return tuple(exprs[n] for n in numbers)


def _is_same(inside: Around, lows: Exprs, highs: Exprs) -> bool:
    """Whether the innermost loop runs through the same with fewer lower and upper bounds."""
    loop_, outside = inside.part, inside.outer
    assert isinstance(loop_, LoopPart) and outside is not None
    beaten = (
        ([difference(expr, low) for expr in lows] for low in loop_.lower if low not in lows),
        (
            [difference(high, plus(_last(inside, lows, expr), 1)) for expr in highs]
            for high in loop_.upper
            if high not in highs
        ),
    )
    if all(any(is_never_negative(outside, by) for by in others) for others in chain(*beaten)):
        return True
    around = outside.domain.add_dims(isl.dim_type.set, 1)
    here = variable(inside.space, inside.depth - 1)

    def run(lower: Exprs, upper: Exprs) -> isl.Set:
        values = inside.values(lower), inside.values(upper)
        return loop_range(here, *values, loop_.step).intersect(around)

    return run(lows, highs).is_equal(run(loop_.lower, loop_.upper))


def _last(inside: Around, lows: Exprs, high: AffineExpr) -> AffineExpr:
    """The last number before an end that the innermost loop comes to from one beginning, where that is seen; never less."""
    assert isinstance(inside.part, LoopPart)
    step = inside.part.step
    if len(lows) == 1 and step > 1:
        form = linear_form(difference(high, lows[0]), inside.parameters + inside.depth)
        if form is not None and not any(form[0]) and form[1] > 0:
            return plus(lows[0], (form[1] - 1) // step * step)
    return plus(high, -1)


def tighten(frames: Frames, for_op: loop.ForOp) -> None:
    """Give a loop the bounds that `plain_bounds` says, where they may be others than it has."""
    if not _are_single(for_op):
        set_bounds(for_op, *plain_bounds(frames, for_op))


def _are_single(for_op: loop.ForOp) -> bool:
    """Whether neither bound is a maximum or minimum."""
    return len(map_of(for_op, "lower_map").results) == len(map_of(for_op, "upper_map").results) == 1


def plain_bounds(frames: Frames, for_op: loop.ForOp) -> tuple[BoundExprs, BoundExprs]:
    """The loop's bounds, made tight when one of them is a maximum or minimum."""
    if _are_single(for_op):
        return lower_bound(for_op), upper_bound(for_op)
    assert for_op.parent is not None
    return tight_bounds(frames.of(for_op.parent), for_op)


def _needed(exprs: Exprs, is_enough: Callable[[Sequence[int]], bool]) -> list[int]:
    """The numbers of expressions that together are enough; the longest are left out first."""
    kept = list(range(len(exprs)))
    if len(kept) == 1:
        return kept
    for number in sorted(kept, key=lambda n: (_length(exprs[n]), n), reverse=True):
        others = [n for n in kept if n != number]
        if others and is_enough(others):
            kept = others
    return kept


@lru_cache(REMEMBERED)
def _length(expr: AffineExpr) -> int:
    """How many characters it is written in."""
    return len(str(expr))


def _with_numbers(
    bound: BoundExprs, kept: Sequence[int], terms: Sequence[AffineExpr], where: Around
) -> BoundExprs:
    """The expressions kept, each a number where it has only one value."""
    exprs: list[AffineExpr] = []
    for number in kept:
        expr = bound[0][number]
        only = None if type(expr) is AffineConstantExpr else only_value(where, terms[number])
        exprs.append(expr if only is None else constant_expr(only))
    return exprs, bound[1]


def _simplified(bound: BoundExprs) -> BoundExprs:
    exprs, values = compact(*bound)
    return [_simpler(expr, len(values)) for expr in exprs], values


@lru_cache(REMEMBERED)
def _simpler(expr: AffineExpr, dims: int) -> AffineExpr:
    return simplified(expr, dims)
