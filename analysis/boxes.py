"""
The elements that tiles touch as boxes, in plain integers.

An access in nested loops of constant lengths touches a box, in each iteration of the loops outside, where each of the
loops inside moves one subscript only, and their steps leave no element out: rows `6 i` to `6 i + 5`, columns `16 j`
to `16 j + 15`. Where that is seen, everything that is asked about it has a short answer; what is not seen is for
integer sets to say.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import gcd

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir.affine import (
    AffineConstantExpr,
    AffineConstraintExpr,
    AffineConstraintKind,
    AffineExpr,
)

from ..dialects.affine_atoms import dim_expr
from ..dialects.affine_bounds import Range, linear_form
from ..dialects.affine_substitution import difference, product
from ..frozen import frozen
from .counters import Linear, combined, counters, extent, minus, scaled
from .domains import REMEMBERED, Around, BranchPart, LoopPart, Place, quotient
from .extremes import corner, iterations

Form = tuple[tuple[int, ...], int]
"""Coefficients of the variables of the loops outside, outermost first, and a number."""


@frozen
class TouchedBox:
    """
    For each axis the first element, over the variables of the loops outside, and how many there are.

    Every element of the box that is inside of the buffer is touched, and no other.
    """

    lower: tuple[Form, ...]
    extents: tuple[int, ...]

    def holds(self, other: TouchedBox) -> bool:
        """Whether all that is in another box is seen to be in this one, in each iteration of the same loops."""
        for (low, size), (first, count) in zip(
            zip(self.lower, self.extents, strict=True),
            zip(other.lower, other.extents, strict=True),
            strict=True,
        ):
            if low[0] != first[0] or not low[1] <= first[1] <= low[1] + size - count:
                return False
        return True


@lru_cache(REMEMBERED)
def touched_box(
    around: Around, place: Place, depth: int, shape: tuple[int, ...]
) -> TouchedBox | None:
    """
    What an access of a buffer of that shape touches in each iteration of the `depth` outermost loops; None where it is not
    seen to be a box of which there is something in each of them, and all of it in the first.
    """
    if around.parameters or place.private > depth:
        return None
    if DYNAMIC_INDEX in shape or not place.is_affine:
        return None
    inner = _inner_loops(around, depth)
    if inner is None:
        return None
    axes: list[_Axis] = []
    for subscript, size in zip(place.subscripts, shape, strict=True):
        form = None if subscript is None else inner.over(subscript)
        axis = None if form is None else inner.axis(form, size)
        if axis is None:
            return None
        axes.append(axis)
    moving = [loop for axis in axes for loop in axis.factors]
    if len({*moving}) < len(moving) or not inner.ends_only_outside(axes):
        return None
    return TouchedBox(tuple(axis.first for axis in axes), tuple(axis.extent for axis in axes))


@lru_cache(REMEMBERED)
def _inner_loops(around: Around, depth: int) -> _InnerLoops | None:
    """The loops inside of the `depth` outermost ones, which all accesses that stand there have in common; None where they are not seen."""
    outside = _outermost(around, depth)
    numbers = _outer_numbers(outside)
    if numbers is None:
        return None
    inner = _InnerLoops(outside, numbers)
    return inner if all(map(inner.add, around.parts[len(outside.parts) :])) else None


def _outermost(around: Around, depth: int) -> Around:
    while around.depth > depth:
        assert around.outer is not None
        around = around.outer
    return around


@lru_cache(REMEMBERED)
def _outer_numbers(around: Around) -> tuple[int | None, ...] | None:
    """
    For loops that count by one the number that a variable always is, and None for one that has several values.

    Of the others each has a second value where those around it have their first, and those inside run in both: no
    hyperplane holds all iterations, and a linear function of these variables can be written in one way only. None where it is
    not so.
    """
    found: list[int | None] = []
    first: tuple[int, ...] = ()
    others: list[tuple[int, ...]] = []
    for part in around.parts:
        if not isinstance(part, LoopPart) or part.step != 1 or part.multiple != 1:
            return None
        if not part.lower or not part.upper:
            return None
        run = iterations(part.lower, part.upper, 1, first)
        runs = [iterations(part.lower, part.upper, 1, point) for point in others]
        if not run or not all(runs):
            return None
        is_one = len(run) == 1
        if is_one and not _is_one_number(part, run[0], found):
            return None
        others = [(*point, each[0]) for point, each in zip(others, runs, strict=True)]
        others += [] if is_one else [(*first, run[1])]
        first = (*first, run[0])
        found.append(run[0] if is_one else None)
    return tuple(found)


def _is_one_number(part: LoopPart, number: int, outer: Sequence[int | None]) -> bool:
    """Whether a loop has that iteration at most, where variables of the loops around are known numbers."""
    known = _known_variables(outer)
    ends: list[int] = []
    for expr in part.upper:
        times, dividend = quotient(expr)
        form = linear_form(dividend, len(outer))
        end = None if form is None else combined(form, known)
        if end is not None and not any(end[0]):
            ends.append(-(-end[1] // times))
    starts = [linear_form(expr, len(outer)) for expr in part.lower]
    lows = [combined(form, known) for form in starts if form is not None]
    return number in [low[1] for low in lows if not any(low[0])] and number + 1 in ends


def _known_variables(numbers: Sequence[int | None]) -> list[Linear]:
    """Variables over themselves, or as the numbers that they always are."""
    count = len(numbers)
    zeros = (0,) * count
    return [
        (tuple(int(n == position) for n in range(count)), 0) if number is None else (zeros, number)
        for position, number in enumerate(numbers)
    ]


@frozen
class _Axis:
    """What a subscript of an axis of a buffer runs through."""

    size: int
    first: Form
    extent: int
    factors: dict[int, int]
    """of the numbers of the inner loops that it moves with"""


class _InnerLoops:
    """Loops inside of others. Their variables are sums over those of the loops outside and their own iteration numbers."""

    def __init__(self, outside: Around, numbers: Sequence[int | None]):
        """`numbers` are what variables of the loops outside always are."""
        self.outside, self.depth = outside, len(numbers)
        self.first = corner(outside, (False,) * self.depth)
        self.variables = _known_variables(numbers)
        self.least: dict[tuple[int, ...], int] = {}
        """of functions without a common factor, as the ends of the loops outside say"""
        for position, part in enumerate(outside.parts):
            for expr in part.upper if isinstance(part, LoopPart) else ():
                times, dividend = quotient(expr)
                rest = self.over(difference(dividend, product(dim_expr(position), times)))
                if rest is not None and any(rest[0]):
                    factor, coefficients = _in_lowest_terms(rest[0])
                    least = -((rest[1] - 1) // factor)
                    self.least[coefficients] = max(least, self.least.get(coefficients, least))
        self.counts: list[int] = []
        """the iterations of each inner loop, where nothing ends it before"""
        self.ends: list[tuple[int, int, Linear]] = []
        """an inner loop, a factor and how much its number times that is always below"""

    def add(self, part: LoopPart | BranchPart) -> bool:
        """Add the next loop or condition; whether its length, or what it leaves out, is seen."""
        if isinstance(part, BranchPart):
            return (
                part.taken
                and part.constraints is not None
                and all(map(self._end, part.constraints))
            )
        start = self.over(part.lower[0]) if len(part.lower) == 1 else None
        if start is None or part.multiple != 1:
            return False
        number, counts = len(self.counts), list[int]()
        for expr in part.upper:
            times, dividend = quotient(expr)
            end = self.over(dividend)
            if end is None:
                return False
            length = minus(end, scaled(start, times))
            if any(length[0]):
                self.ends.append((number, times * part.step, length))
            else:
                counts.append(-(-length[1] // (times * part.step)))
        if not counts or min(counts) < 1:
            return False
        self.counts.append(min(counts))
        factor = part.step if min(counts) > 1 else 0
        self.variables = [((*form, 0), constant) for form, constant in self.variables]
        self.variables.append(((*start[0], factor), start[1]))
        return True

    def _end(self, constraint: AffineConstraintExpr) -> bool:
        """Add a condition, which ends the innermost loop that it depends on."""
        form = self.over(constraint.lhs)
        if form is None or constraint.kind is not AffineConstraintKind.ge:
            return False
        moving = [n for n, factor in enumerate(form[0][self.depth :]) if factor]
        if not moving:
            return self.is_positive((form[0][: self.depth], form[1] + 1))
        loop = moving[-1]
        unit = -form[0][self.depth + loop]
        self.ends.append((loop, unit, (form[0][: self.depth + loop], form[1] + 1)))
        return unit > 0

    def over(self, expr: AffineExpr) -> Linear | None:
        """An expression of the loops' variables; None for one that is not linear."""
        if type(expr) is AffineConstantExpr:  # as most bounds are
            return (0,) * (len(self.variables[0][0]) if self.variables else 0), expr.value
        form = linear_form(expr, len(self.variables))
        return None if form is None else combined(form, self.variables)

    def axis(self, form: Linear, size: int) -> _Axis | None:
        """What a subscript runs through in one iteration of the loops outside; None where that has gaps."""
        outer, inner = form[0][: self.depth], form[0][self.depth :]
        factors = {loop: factor for loop, factor in enumerate(inner) if factor}
        number, extent_ = form[1], 1
        for loop, factor in sorted(factors.items(), key=lambda item: abs(item[1])):
            reach = abs(factor) * (self.counts[loop] - 1)
            if abs(factor) > extent_:
                return None
            extent_ += reach
            number -= reach if factor < 0 else 0
        least = self.range_of((outer, number))[0]
        if least is None or least < 0:
            return None
        if not self.is_positive((tuple(-factor for factor in outer), size - number)):
            return None
        if self.first is None:
            return None
        if number + _dot(outer, self.first) + extent_ > size:
            if any(outer):
                return None  # the buffer ends before it in the first iteration
            extent_ = size - number
        return _Axis(size, (outer, number), extent_, factors)

    def range_of(self, form: Form) -> Range:
        """The least and the greatest value of a function of the variables outside, never too narrow."""
        known = counters(self.outside)
        return extent(known.over(form), known.ranges)

    def _least(self, form: Linear) -> int | None:
        """The least value of a function of the variables outside and the numbers of iterations, never too large."""
        least = self.range_of((form[0][: self.depth], form[1]))[0]
        if least is None:
            return None
        inner = zip(form[0][self.depth :], self.counts, strict=False)
        return least + sum(min(factor, 0) * (count - 1) for factor, count in inner)

    def is_positive(self, form: Form) -> bool:
        """Whether a function of the variables outside is seen to be at least 1."""
        least = self.range_of(form)[0]
        if least is not None and least >= 1:
            return True
        if not any(form[0]):
            return False
        factor, coefficients = _in_lowest_terms(form[0])
        known = self.least.get(coefficients)
        return known is not None and factor * known + form[1] >= 1

    def ends_only_outside(self, axes: Sequence[_Axis]) -> bool:
        """
        Whether loops that may end before only leave out what is outside of the buffer, and others leave an iteration: in the loop
        over `r` of row `6 i + r` below 100, the bound `100 - 6 i` does.
        """
        moved = {loop: axis for axis in axes for loop in axis.factors}
        for loop, unit, (form, number) in self.ends:
            least = self._least((form, number))
            if least is not None and least > unit * (self.counts[loop] - 1):
                continue  # it is always behind the other end
            over = {n: factor for n, factor in enumerate(form[self.depth :]) if factor}
            axis = moved.get(loop)
            if axis is None:
                is_left = self.is_positive((form[: self.depth], number))
                if not is_left or moved.keys() & over.keys():
                    return False
                continue
            # What is before this loop's term, and the term itself, are below the size.
            before = {n: -factor for n, factor in axis.factors.items() if n < loop}
            times = axis.factors[loop] // unit
            is_size = all(
                times * c == -k for c, k in zip(form[: self.depth], axis.first[0], strict=True)
            )
            is_size = is_size and times * number == axis.size - axis.first[1]
            is_size = is_size and {n: times * factor for n, factor in over.items()} == before
            if not is_size or times * unit != axis.factors[loop] or min(axis.factors.values()) < 0:
                return False
        return True


def _in_lowest_terms(coefficients: tuple[int, ...]) -> tuple[int, tuple[int, ...]]:
    """Their greatest common divisor, and what they are divided by it; they are not all zero."""
    factor = gcd(*coefficients)
    return factor, tuple(c // factor for c in coefficients)


def _dot(a: Sequence[int], b: Sequence[int]) -> int:
    return sum(x * y for x, y in zip(a, b, strict=True))
