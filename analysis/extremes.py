"""
The extreme values of functions over the iterations of a loop nest, exactly.

Interval arithmetic gives bounds that are never too narrow, and a corner of the iterations in which a bound is
attained shows that it is exact. That decides nearly all questions about tiles in plain integers; integer sets
decide the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from math import gcd

import islpy as isl
from xdsl.ir.affine import (
    AffineConstantExpr,
    AffineConstraintExpr,
    AffineConstraintKind,
    AffineExpr,
)

from ..dialects.affine_bounds import Range, linear_form
from ..dialects.affine_substitution import difference, product, value_at
from .affine_isl import value_range
from .counters import Linear, counters, extent, linear, minus, range_of
from .domains import REMEMBERED, Around, BranchPart, Exprs, LoopPart, iteration_count, quotient

Point = tuple[int, ...]
"""The values of the loops' variables, outermost first."""


@lru_cache(REMEMBERED)
def corner(around: Around, last: tuple[bool, ...]) -> Point | None:
    """
    The iteration that is the last one of some loops, in those of the loops around, and the first of the others.

    None with parameters, and where such a choice leads to a loop that does not run or a condition that does not
    hold: other iterations may be there.
    """
    if around.outer is None:
        return None if around.parameters else ()
    part = around.part
    if not isinstance(part, LoopPart):
        point = corner(around.outer, last)
        return point if point is not None and _holds(part, point) else None
    point = corner(around.outer, last[:-1])
    if point is None or not part.lower or not part.upper or part.multiple != 1:
        return None
    run = iterations(part.lower, part.upper, part.step, point)
    return (*point, run[-1 if last[-1] else 0]) if run else None


def are_numbers(exprs: Exprs) -> bool:
    return all(type(expr) is AffineConstantExpr for expr in exprs)


def iterations(
    lower: Sequence[AffineExpr], upper: Sequence[AffineExpr], step: int, point: Point
) -> range:
    """What a loop runs through in one iteration of those around it."""
    start = max([value_at(expr, point) for expr in lower])
    return range(start, min([value_at(expr, point) for expr in upper]), step)


def _holds(part: BranchPart | None, point: Point) -> bool:
    if part is None or part.constraints is None:
        return True
    return part.taken == all(is_met(constraint, point) for constraint in part.constraints)


def is_met(constraint: AffineConstraintExpr, point: Point) -> bool:
    """Whether a constraint over the loops' variables, without parameters, holds in an iteration."""
    value = value_at(constraint.lhs, point)
    match constraint.kind:
        case AffineConstraintKind.ge:
            return value >= 0
        case AffineConstraintKind.le:
            return value <= 0
        case AffineConstraintKind.eq:
            return value == 0


def corners(around: Around, forms: Sequence[Linear | None] = ()) -> Iterator[Point]:
    """
    The first and the last iteration, and those in which functions are likely to be least and greatest: of loops that a function
    does not depend on it is the first iteration, or the last one where others do not run in the first.
    """
    depth = around.depth
    first, last = (False,) * depth, (True,) * depth
    chosen = {first: None, last: None}
    for form in forms:
        if form is not None:
            factors = form[0][around.parameters :]
            for sign in (1, -1):
                up = tuple([sign * factor > 0 for factor in factors])
                if corner(around, up) is None:
                    up = tuple([sign * factor >= 0 for factor in factors])
                chosen[up] = None
    for up in chosen:
        point = corner(around, up)
        if point is not None:
            yield point


@lru_cache(REMEMBERED)
def never_runs(around: Around) -> bool:
    """Whether there is no iteration, whatever the parameters are."""
    return next(corners(around), None) is None and around.domain.is_empty()


@lru_cache(REMEMBERED)
def value_bounds(around: Around, expr: AffineExpr) -> Range | None:
    """The least and the greatest value, None where there is no end; None where nothing ever runs."""
    if never_runs(around):
        return None
    if type(expr) is AffineConstantExpr:
        return expr.value, expr.value
    outer = range_of(expr, around)
    values = [value_at(expr, point) for point in corners(around, [linear(expr, around)])]
    if values and outer == (min(values), max(values)):
        return outer
    return value_range(around.values([expr])[0], around.domain)


@lru_cache(REMEMBERED)
def only_value(around: Around, expr: AffineExpr) -> int | None:
    """The value of an expression that has one only; None for others, and where nothing ever runs."""
    if type(expr) is AffineConstantExpr:
        return None if never_runs(around) else expr.value
    if len({value_at(expr, point) for point in corners(around, [linear(expr, around)])}) > 1:
        return None  # as most: seen at once
    found = value_bounds(around, expr)
    return found[0] if found is not None and found[0] == found[1] else None


@lru_cache(REMEMBERED)
def counts_at_corners(around: Around, lower: Exprs, upper: Exprs, step: int) -> set[int]:
    """Numbers of iterations that a loop that stands there has in some of those around it."""
    forms = [linear(expr, around) for expr in (*lower, *upper)]
    return {len(iterations(lower, upper, step, point)) for point in corners(around, forms)}


@lru_cache(REMEMBERED)
def iteration_counts(around: Around, lower: Exprs, upper: Exprs, step: int) -> Range | None:
    """
    The least and the greatest number of iterations of a loop that stands there.

    None where nothing ever runs.
    """
    if never_runs(around):
        return None
    if are_numbers(lower) and are_numbers(upper):
        count = len(iterations(lower, upper, step, ()))
        return count, count
    low, high = _count_within(around, lower, upper, step)
    counts = counts_at_corners(around, lower, upper, step)
    if counts and high == max(counts):
        least = min(counts)
        if least == low or least == _least_count(around, lower, upper, step):
            return least, high
    return value_range(iteration_count(around, lower, upper, step), around.domain)


def _count_within(around: Around, lower: Exprs, upper: Exprs, step: int) -> Range:
    """Bounds of the number of iterations, never too narrow."""
    start = linear(lower[0], around) if len(lower) == 1 else None
    if start is None:
        return 0, None
    ranges = counters(around).ranges
    ends = [linear(expr, around) for expr in upper]
    first, last = extent(start, ranges)
    lengths: list[Range] = []
    for expr, end in zip(upper, ends, strict=True):
        if end is not None:
            lengths.append(extent(minus(end, start), ranges))
            continue
        low, high = range_of(expr, around)
        lengths.append(
            (
                None if low is None or last is None else low - last,
                None if high is None or first is None else high - first,
            )
        )
    lows = [low for low, _ in lengths if low is not None]
    highs = [high for _, high in lengths if high is not None]
    least = max(0, -(-min(lows) // step)) if len(lows) == len(lengths) else 0
    return least, max(0, -(-min(highs) // step)) if highs else None


def _least_count(around: Around, lower: Exprs, upper: Exprs, step: int) -> int:
    """A number of iterations that there are at least, as single bounds of the loops around say."""
    if len(lower) != 1:
        return 0
    lengths: list[int] = []
    for end in upper:
        form = linear_form(difference(end, lower[0]), around.parameters + around.depth)
        if form is None:
            return 0
        lengths.append(max(_lows(around, form), default=0) if any(form[0]) else form[1])
    return max(0, -(-min(lengths, default=0) // step))


@lru_cache(REMEMBERED)
def is_never_negative(around: Around, expr: AffineExpr) -> bool:
    """Whether an expression is at least zero in all iterations."""
    low = range_of(expr, around)[0]
    if low is not None and low >= 0:
        return True
    if any(value_at(expr, point) < 0 for point in corners(around, [linear(expr, around)])):
        return False
    if is_kept_up_by_a_bound(around, expr):
        return True
    return around.domain.is_subset(around.values([expr])[0].nonneg_set())


def is_kept_up_by_a_bound(around: Around, expr: AffineExpr) -> bool:
    """
    Whether a linear expression is at least zero because a bound of a loop around says so, and the ranges of the others:
    `107 - 6 i - v` is where `6 i` ends before 100 and `v` before 8.
    """
    form = linear_form(expr, around.parameters + around.depth)
    return form is not None and any(form[0]) and any(low >= 0 for low in _lows(around, form))


def _lows(around: Around, form: tuple[Sequence[int], int]) -> Iterator[int]:
    """What a linear function is at least: because of each bound that moves with the last variable of both, and the ranges of others."""
    known = counters(around)
    for (coefficients, innermost), least in _kept_up(around).items():
        times, rest = divmod(form[0][innermost], coefficients[innermost])
        if times > 0 and not rest:
            others = [c - times * k for c, k in zip(form[0], coefficients, strict=True)]
            number = form[1] + times * least
            low = extent(known.over((others, number)), known.ranges)[0]
            if low is not None:
                yield low


@lru_cache(REMEMBERED)
def _kept_up(around: Around) -> Mapping[tuple[tuple[int, ...], int], int]:
    """
    What functions of the parameters and the loops' variables are at least, as single bounds say: by their coefficients, which have
    no common factor, and the position of the last one that is not 0.
    """
    if around.outer is None:
        return {}
    part, outer = around.part, _kept_up(around.outer)
    if not isinstance(part, LoopPart):
        return outer
    found: dict[tuple[tuple[int, ...], int], int] = {
        ((*c, 0), innermost): least for (c, innermost), least in outer.items()
    }
    count = around.parameters + around.depth
    here = AffineExpr.dimension(count - 1)
    ends = [
        difference(dividend, product(here, times) + 1)
        for times, dividend in map(quotient, part.upper)
    ]
    for rest in (
        *(difference(here, low) for low in part.lower),
        *(ends if part.multiple == 1 else ()),
    ):
        form = linear_form(rest, count)
        if form is not None and any(form[0]):
            factor = gcd(*form[0])
            key = tuple(c // factor for c in form[0]), count - 1
            least = -(form[1] // factor)
            found[key] = max(least, found.get(key, least))
    return found


@lru_cache(REMEMBERED)
def are_never_positive(around: Around, exprs: Exprs) -> bool:
    """Whether there is no iteration in which all expressions are greater than zero."""
    forms = [linear(expr, around) for expr in exprs]
    ranges = counters(around).ranges
    highs = [None if form is None else extent(form, ranges)[1] for form in forms]
    if any(high is not None and high <= 0 for high in highs):
        return True
    for point in corners(around, forms):
        if all(value_at(expr, point) > 0 for expr in exprs):
            return False
    runs: isl.Set = around.domain
    for value in around.values(exprs):
        runs = runs.intersect(value.pos_set())
    return runs.is_empty()


@lru_cache(REMEMBERED)
def is_always_multiple(around: Around, expr: AffineExpr, factor: int) -> bool:
    """Whether an expression is a multiple of a number in all iterations."""
    form = linear(expr, around)
    if form is not None and not any(number % factor for number in (*form[0], form[1])):
        return True
    if any(value_at(expr, point) % factor for point in corners(around, [form])):
        return False
    value = around.values([expr])[0]
    return around.domain.is_subset(value.mod_val(isl.Val(factor)).zero_set())


def are_lengths_multiples(around: Around, lower: Exprs, upper: Exprs, number: int) -> bool:
    """Whether each end of a loop that stands there is seen to be a multiple of a number away from its beginning."""
    if len(lower) != 1:
        return False
    forms = [linear(difference(end, lower[0]), around) for end in upper]
    return all(
        form is not None and not any(c % number for c in (*form[0], form[1])) for form in forms
    )
