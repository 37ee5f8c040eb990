"""
Loop variables as linear functions of iteration numbers, in plain integers.

A variable is where its loop starts plus the step times the number of the iteration: `i.inner` of a split loop
is `32 * i.outer' + i.inner'`, with `i.inner'` from 0 to 31. In these numbers the ranges of nested loops do not
depend on each other, so that interval arithmetic says much more than it does of the variables themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
)

from ..dialects.affine_bounds import Range, bounds, linear_form
from ..frozen import frozen_in_types
from .domains import REMEMBERED, Around, LoopPart, Place

Linear = tuple[tuple[int, ...], int]
"""The coefficients of the parameters and of the iteration numbers, outermost first, and a number."""


@frozen_in_types
class Counters:
    """
    The parameters and then the loops' iteration numbers: their ranges, never too narrow, and the variables
    over them. The number of a loop whose start is not known to be one linear function is its variable.
    """

    ranges: tuple[Range, ...] = ()
    variables: tuple[Linear, ...] = ()
    apart: tuple[int, ...] = ()
    """How far two numbers of a loop that differ, in one iteration of the loops around, are apart at least."""
    are_variables: bool = True
    """Whether each variable is the number itself, as that of a loop from 0 by one is."""

    def over(self, form: tuple[Sequence[int], int]) -> Linear:
        """A linear function of the parameters and the variables as one of the numbers."""
        if self.are_variables:
            return tuple(form[0]), form[1]
        return combined(form, self.variables)


@lru_cache(REMEMBERED)
def counters(around: Around) -> Counters:
    """The iteration numbers of the loops of a nest, outermost first."""
    if around.outer is None:
        count = around.parameters
        units = tuple((_unit(n, count), 0) for n in range(count))
        return Counters(((None, None),) * count, units, (1,) * count)
    known = counters(around.outer)
    part = around.part
    return _with_loop(known, part) if isinstance(part, LoopPart) else known


def _with_loop(known: Counters, part: LoopPart) -> Counters:
    count = len(known.ranges)
    start = _over(known, part.lower[0]) if part.lower else None
    if start is not None and (len(part.lower) == 1 or part.step == 1):
        lengths = [_length(known, start, expr) for expr in part.upper]
        longest = min((length for length in lengths if length is not None), default=None)
        last = None if longest is None else _iterations(longest, part) - 1
        range_: Range = (0, None if last is None else max(last, 0))
        variable = (*start[0], part.step), start[1]
        is_number = part.step == 1 and not start[1] and not any(start[0])
        least = 1
    else:
        froms = [low for expr in part.lower if (low := _range(known, expr)[0]) is not None]
        tos = [high for expr in part.upper if (high := _range(known, expr)[1]) is not None]
        is_plain = part.multiple == 1  # else it runs further than its bounds say
        range_ = (max(froms, default=None), min(tos) - 1 if tos and is_plain else None)
        variable = _unit(count, count + 1), 0
        is_number = True
        least = part.step
    return Counters(
        (*known.ranges, range_),
        (*[((*form, 0), number) for form, number in known.variables], variable),
        (*known.apart, least),
        known.are_variables and is_number,
    )


def _iterations(length: int, part: LoopPart) -> int:
    """How many iterations a loop of that length has at most, counted from the first of its lower bounds."""
    count = -(-length // part.step)
    if len(part.lower) > 1:  # it starts later by any number, from which it is rounded up
        return count + part.multiple - 1
    return -(-count // part.multiple) * part.multiple


def _length(known: Counters, start: Linear, end: AffineExpr) -> int | None:
    """How long a loop is at most that starts and ends there."""
    form = _over(known, end)
    if form is not None:
        return extent(minus(form, start), known.ranges)[1]
    first, last = extent(start, known.ranges)[0], _range(known, end)[1]
    return None if first is None or last is None else last - first


def _range(known: Counters, expr: AffineExpr) -> Range:
    """The least and the greatest value of any expression, never too narrow."""
    form = _over(known, expr)
    if form is not None:
        return extent(form, known.ranges)
    if type(expr) is AffineBinaryOpExpr and expr.kind is not AffineBinaryOpKind.Add:
        # What is divided may be linear, whose range is narrower than that of its terms.
        return bounds(
            AffineBinaryOpExpr(expr.kind, AffineDimExpr(0), expr.rhs), [_range(known, expr.lhs)]
        )
    return bounds(expr, [extent(variable, known.ranges) for variable in known.variables])


def _unit(position: int, count: int) -> tuple[int, ...]:
    return tuple(int(n == position) for n in range(count))


@lru_cache(REMEMBERED)
def linear(expr: AffineExpr, around: Around) -> Linear | None:
    """An expression over the parameters and the loops' variables; None for one that is not linear."""
    return _over(counters(around), expr)


@lru_cache(REMEMBERED)
def linear_subscripts(around: Around, place: Place) -> tuple[Linear | None, ...]:
    """As `linear`, of the subscripts of an access; None also for those that are not affine."""
    known = counters(around)
    return tuple([None if expr is None else _over(known, expr) for expr in place.subscripts])


def range_of(expr: AffineExpr, around: Around) -> Range:
    """The least and the greatest value of any expression over the parameters and the loops' variables, never too narrow."""
    return _range(counters(around), expr)


def _over(known: Counters, expr: AffineExpr) -> Linear | None:
    if type(expr) is AffineConstantExpr:  # as most bounds are
        return (0,) * len(known.ranges), expr.value
    form = linear_form(expr, len(known.ranges))
    return None if form is None else known.over(form)


def combined(form: tuple[Sequence[int], int], values: Sequence[Linear]) -> Linear:
    """A linear function of values that are linear functions of others themselves, as one of these."""
    number = form[1]
    total = [0] * (len(values[0][0]) if values else 0)
    for factor, (coefficients, constant) in zip(form[0], values, strict=True):
        if factor:
            number += factor * constant
            for n, coefficient in enumerate(coefficients):
                total[n] += factor * coefficient
    return tuple(total), number


def minus(a: Linear, b: Linear) -> Linear:
    return tuple(x - y for x, y in zip(a[0], b[0], strict=True)), a[1] - b[1]


def scaled(form: Linear, factor: int) -> Linear:
    return tuple(factor * c for c in form[0]), factor * form[1]


def extent(form: Linear, ranges: Sequence[Range]) -> Range:
    """The least and the greatest value for numbers within ranges; None where there is no end."""
    low: int | None = form[1]
    high: int | None = form[1]
    for factor, (least, greatest) in zip(form[0], ranges, strict=True):
        if factor < 0:
            least, greatest = greatest, least
        if factor:
            low = None if low is None or least is None else low + factor * least
            high = None if high is None or greatest is None else high + factor * greatest
    return low, high
