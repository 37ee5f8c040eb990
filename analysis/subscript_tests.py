"""
Which iterations cannot touch the same element, seen from the ranges of subscripts alone.

These are Banerjee's inequalities (Wolfe, High Performance Compilers for Parallel Computing, 1996, chapter 7):
the difference of two subscripts is bounded term by term, and where zero is out of bounds nothing meets.
They decide most questions in much less time than exact sets take.
"""

from __future__ import annotations

from functools import lru_cache

from xdsl.ir.affine import AffineExpr

from ..dialects.affine_bounds import Range, bounds, linear_form
from .domains import REMEMBERED, Around, LoopPart, Place

_Linear = tuple[list[int], int]


@lru_cache(REMEMBERED)
def variable_ranges(around: Around) -> tuple[Range, ...]:
    """Bounds of the parameters (none) and of the loops' variables: never too narrow."""
    if around.outer is None:
        return ((None, None),) * around.parameters
    known = variable_ranges(around.outer)
    part = around.part
    if not isinstance(part, LoopPart):
        return known
    lows = [low for low, _ in (bounds(e, known) for e in part.lower) if low is not None]
    highs = [high for _, high in (bounds(e, known) for e in part.upper) if high is not None]
    if part.multiple != 1:  # it runs further than its bounds say
        highs = []
    return (*known, (max(lows, default=None), min(highs) - 1 if highs else None))


class SubscriptTest:
    """What is known of the pairs of iterations of two accesses to one buffer."""

    def __init__(self, source: Around, at: Place, sink: Around, to: Place):
        self._parameters = source.parameters
        self._private = at.private
        self._sides = source, sink
        self._pairs: list[tuple[_Linear, _Linear]] = []
        for first, second in zip(at.subscripts, to.subscripts, strict=True):
            if first is None or second is None:
                continue
            a, b = _linear(first, source), _linear(second, sink)
            if a is not None and b is not None:
                self._pairs.append((a, b))

    def never_carried(self, loop: int) -> bool:
        """Whether no pair is in one iteration of the loops outside of a common loop, a later one of it."""
        if loop < self._private:
            return True
        (low, high), part = self._ranges(0)[self._parameters + loop], self._loops(0)[loop]
        most = None if low is None or high is None else high - low
        if most is not None and most < part.step:
            return True
        return self._apart(loop, (part.step, most))

    def never_together(self, depth: int) -> bool:
        """Whether no pair is in one iteration of all `depth` common loops."""
        return self._apart(depth, None)

    def _apart(self, common: int, distance: Range | None) -> bool:
        """
        Whether subscripts differ in all pairs that agree in the `common` outermost loops.

        `distance` is that of the next loop's variables.
        """
        first, second = self._ranges(0), self._ranges(1)
        equal = self._parameters + common + (distance is not None)
        for (a, number), (b, other) in self._pairs:
            low: int | None = number - other
            high = low
            terms = [(x - y, r) for x, y, r in zip(a[:equal], b[:equal], first, strict=False)]
            terms += [(x, r) for x, r in zip(a[equal:], first[equal:], strict=True)]
            terms += [(-y, r) for y, r in zip(b[equal:], second[equal:], strict=True)]
            if distance is not None:
                terms.append((-b[equal - 1], distance))
            for factor, range_ in terms:
                if factor:
                    low, high = _plus((low, high), range_, factor)
            if (low is not None and low > 0) or (high is not None and high < 0):
                return True
        return False

    def _ranges(self, side: int) -> tuple[Range, ...]:
        return variable_ranges(self._sides[side])

    def _loops(self, side: int) -> list[LoopPart]:
        return [part for part in self._sides[side].parts if isinstance(part, LoopPart)]


def _linear(expr: AffineExpr, around: Around) -> _Linear | None:
    return linear_form(expr, around.parameters + len(around.names))


def _plus(sum_: Range, range_: Range, factor: int) -> Range:
    low, high = (None if bound is None else bound * factor for bound in range_)
    if factor < 0:
        low, high = high, low
    return (
        None if sum_[0] is None or low is None else sum_[0] + low,
        None if sum_[1] is None or high is None else sum_[1] + high,
    )
