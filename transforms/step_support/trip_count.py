"""How many iterations a loop has, decided exactly over everything that surrounds it."""

from __future__ import annotations

from collections.abc import Sequence

import islpy as isl
from xdsl.ir.affine import AffineConstantExpr, AffineExpr

from ...analysis.domains import iteration_count
from ...analysis.extremes import (
    are_lengths_multiples,
    are_numbers,
    counts_at_corners,
    iteration_counts,
    iterations,
    never_runs,
)
from ...analysis.frames import Frame
from ...dialects import loop
from .nest import Nest
from .rewrite import BoundExprs, lower_bound, upper_bound


class TripCount:
    """The number of iterations of a loop in each iteration of the loops around it."""

    def __init__(self, nest: Nest, for_op: loop.ForOp, outside: Frame | None = None):
        """`outside` is what the loop stands in, where that is known."""
        block = for_op.parent
        assert block is not None
        self._op = for_op
        self._around = outside or nest.frames.of(block)
        self._step = for_op.step.value.data
        self._lower = self._terms(lower_bound(for_op))
        self._upper = self._terms(upper_bound(for_op))

    def _terms(self, bound: BoundExprs) -> tuple[AffineExpr, ...] | None:
        found = self._around.terms(*bound)
        return None if found is None else tuple(found)

    @property
    def is_known(self) -> bool:
        """Whether both bounds are affine."""
        return self._lower is not None and self._upper is not None

    @property
    def _has_numbers(self) -> bool:
        """Whether both bounds are numbers, as of most loops."""
        return self.is_known and are_numbers((*(self._lower or ()), *(self._upper or ())))

    def _count(self) -> isl.PwAff | None:
        if self._lower is None or self._upper is None:
            return None
        return iteration_count(self._around.around, self._lower, self._upper, self._step)

    def range(self) -> tuple[int, int | None]:
        """The least and the greatest number of iterations, None when there is no greatest one known."""
        if self._lower is None or self._upper is None:
            return 0, None
        counts = iteration_counts(self._around.around, self._lower, self._upper, self._step)
        return (0, 0) if counts is None else (counts[0] or 0, counts[1])

    def most_from(self, start: AffineConstantExpr) -> int | None:
        """The greatest number of iterations if the loop began with a number, one of several beginnings; None when there is none known."""
        if self._upper is None:
            return None
        counts = iteration_counts(self._around.around, (start,), self._upper, self._step)
        return 0 if counts is None else counts[1]

    def _at_corners(self) -> set[int]:
        """Numbers of iterations that it has now and then."""
        if self._lower is None or self._upper is None:
            return set()
        return counts_at_corners(self._around.around, self._lower, self._upper, self._step)

    def text(self, name: str) -> str:
        """The number in words."""
        least, greatest = self.range()
        if least == greatest:
            return f"loop '{name}' has {least} iterations"
        if greatest is None:
            return f"the trip count of loop '{name}' is not constant"
        return f"loop '{name}' has {least} to {greatest} iterations"

    def constant(self) -> int | None:
        """The number of iterations when it is always the same, else None."""
        if not self._has_numbers and len(self._at_corners()) > 1:
            return None  # as is seen at once of most that differ
        least, greatest = self.range()
        return least if least == greatest else None

    def is_multiple_of(self, factor: int) -> bool:
        """Whether `factor` always divides the number of iterations."""
        if self._has_numbers:
            count = len(iterations(self._lower or (), self._upper or (), self._step, ()))
            return count % factor == 0 or never_runs(self._around.around)
        if any(count % factor for count in self._at_corners()):
            return False
        least, greatest = self.range()
        if least == greatest:
            return least % factor == 0
        if self._lower is None or self._upper is None:
            return False
        around, span = self._around.around, factor * self._step
        if are_lengths_multiples(around, self._lower, self._upper, span):
            return True
        count = iteration_count(around, self._lower, self._upper, self._step)
        return self._around.domain.is_subset(count.mod_val(isl.Val(factor)).zero_set())

    def first(self) -> BoundExprs | None:
        """One expression for the first value of the variable wherever the loop runs, None without one."""
        exprs, values = lower_bound(self._op)
        number = 0
        if len(exprs) > 1:
            lower = None if self._lower is None else self._around.around.values(self._lower)
            number = _greatest(lower, self._running())
        return None if number is None else ([exprs[number]], values)

    def _running(self) -> isl.Set:
        """Where the loop has an iteration."""
        count = self._count()
        return self._around.domain if count is None else count.pos_set()


def _greatest(values: Sequence[isl.PwAff] | None, where: isl.Set) -> int | None:
    """Which of the values is nowhere below another."""
    for number, value in enumerate(values or ()):
        if all(where.is_subset(value.ge_set(other)) for other in values or ()):
            return number
    return None
