"""
Which iterations cannot touch the same element, seen from the ranges of subscripts alone.

These are Banerjee's inequalities (Wolfe, High Performance Compilers for Parallel Computing, 1996, chapter 7),
over iteration numbers rather than variables: the difference of two subscripts is bounded term by term, and
where zero is out of bounds nothing meets. Where the term of one loop outweighs all others together, as those of
tiles do, all pairs that meet are in the same iteration of it. Most questions are decided so, in much less time
than exact sets take; what is said here is certain, what is not said is for exact sets to say.
"""

from __future__ import annotations

from functools import lru_cache

from ..dialects.affine_bounds import Range
from .counters import Linear, counters, linear_subscripts
from .domains import REMEMBERED, Around, LoopPart, Place


class SubscriptTest:
    """What is known of the pairs of iterations of two accesses to one buffer."""

    def __init__(self, source: Around, at: Place, sink: Around, to: Place):
        self._parameters = source.parameters
        self._private = at.private
        self._first, self._second = counters(source), counters(sink)
        self._pairs: list[tuple[Linear, Linear]] = []
        for a, b in zip(linear_subscripts(source, at), linear_subscripts(sink, to), strict=True):
            if a is not None and b is not None:
                self._pairs.append((a, b))

    @staticmethod
    @lru_cache(REMEMBERED)
    def of(source: Around, at: Place, sink: Around, to: Place) -> SubscriptTest:
        """The same one for the same accesses: each is asked about one loop after the other."""
        return SubscriptTest(source, at, sink, to)

    def never_carried(self, loop: int) -> bool:
        """Whether no pair is in one iteration of the loops outside of a common loop, a later one of it."""
        if loop < self._private:
            return True
        position = self._parameters + loop
        (low, high), step = self._first.ranges[position], self._first.apart[position]
        most = None if low is None or high is None else high - low
        if most is not None and most < step:
            return True
        return self._apart(loop, (step, most)) or loop in self.equal_loops(loop + 1, loop)

    def never_together(self, depth: int) -> bool:
        """Whether no pair is in one iteration of all `depth` common loops."""
        return self._apart(depth, None)

    def equal_loops(self, depth: int, given: int) -> frozenset[int]:
        """
        Of the `depth` common loops those in which both of a pair that meets are in the same iteration, among
        the pairs that are so in the `given` outermost ones.
        """
        equal = set(range(max(given, min(self._private, depth))))
        equal |= {n for n in range(depth) if self._most_apart(self._parameters + n) == 0}
        before = -1
        while len(equal) != before:
            before = len(equal)
            for a, b in self._pairs:
                self._add_equal(equal, a, b, depth)
        return frozenset(equal)

    def _add_equal(self, equal: set[int], first: Linear, second: Linear, depth: int) -> None:
        """
        Add the loops that one subscript shows to be equal.

        In `16 d0 + d1 + noise = 0`, `d0` is zero where `|d1 + noise| < 16`; then `d1` is, where `|noise| < 1`.
        """
        common = self._parameters + depth
        terms: list[tuple[int, int]] = []
        rest: int | None = 0
        low: int | None = first[1] - second[1]
        high = low
        for n in range(common):
            x, y = first[0][n], second[0][n]
            loop = n - self._parameters
            if loop in equal or loop < 0:
                low, high = _plus((low, high), self._first.ranges[n], x - y)
            elif x == y:
                if x:
                    terms.append((abs(x), loop))
            else:
                low, high = _plus((low, high), self._first.ranges[n], x)
                low, high = _plus((low, high), self._second.ranges[n], -y)
        for x, range_ in zip(first[0][common:], self._first.ranges[common:], strict=True):
            low, high = _plus((low, high), range_, x)
        for y, range_ in zip(second[0][common:], self._second.ranges[common:], strict=True):
            low, high = _plus((low, high), range_, -y)
        if low is None or high is None:
            return
        terms.sort()
        rest = max(abs(low), abs(high))
        reaches: list[
            int | None
        ] = []  # of all terms before each, the most they come to with the noise
        for factor, loop in terms:
            reaches.append(rest)
            most = self._most_apart(self._parameters + loop)
            rest = None if rest is None or most is None else rest + factor * most
        for (factor, loop), reach in zip(reversed(terms), reversed(reaches), strict=True):
            if reach is None or reach >= factor:
                return
            equal.add(loop)

    def _most_apart(self, position: int) -> int | None:
        """How far two numbers of a loop are apart at most, one of each access."""
        (a, b), (c, d) = self._first.ranges[position], self._second.ranges[position]
        if a is None or b is None or c is None or d is None:
            return None
        return max(b - c, d - a, 0)

    def _apart(self, common: int, distance: Range | None) -> bool:
        """
        Whether subscripts differ in all pairs that agree in the `common` outermost loops.

        `distance` is that of the next loop's numbers.
        """
        first, second = self._first.ranges, self._second.ranges
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
                low, high = _plus((low, high), range_, factor)
            if (low is not None and low > 0) or (high is not None and high < 0):
                return True
        return False


@lru_cache(REMEMBERED)
def equal_loops(
    source: Around, at: Place, sink: Around, to: Place, depth: int, given: int
) -> frozenset[int]:
    """
    Of the `depth` outermost loops those in which two accesses that touch the same element are always in the
    same iteration, among iterations that agree in the `given` outermost ones.

    The loops of the two accesses need not be the same beyond these, only to start at the same value and to have
    the same step: where one does not, nothing is said of it nor of those inside.
    """
    parts = zip(loops_of(source), loops_of(sink), strict=False)
    for number, (a, b) in enumerate(parts):
        if number >= given and (a.lower != b.lower or a.step != b.step):
            depth = min(depth, number)
            break
    return SubscriptTest.of(source, at, sink, to).equal_loops(depth, given)


def loops_of(around: Around) -> list[LoopPart]:
    return [part for part in around.parts if isinstance(part, LoopPart)]


def _plus(sum_: Range, range_: Range, factor: int) -> Range:
    if not factor:
        return sum_
    low, high = range_ if factor > 0 else (range_[1], range_[0])
    return (
        None if sum_[0] is None or low is None else sum_[0] + low * factor,
        None if sum_[1] is None or high is None else sum_[1] + high * factor,
    )
