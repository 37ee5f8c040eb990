"""How many iterations a loop has, decided exactly over everything that surrounds it."""

from __future__ import annotations

from collections.abc import Sequence

import islpy as isl
from xdsl.ir.affine import AffineExpr

from ...analysis.affine_isl import constant, value_range
from ...analysis.scop import Surroundings, parametric
from ...dialects import loop
from .nest import Nest
from .rewrite import BoundExprs, lower_bound, upper_bound


class TripCount:
    """The number of iterations of a loop in each iteration of the loops around it."""

    def __init__(self, nest: Nest, for_op: loop.ForOp):
        block = for_op.parent
        assert block is not None
        self._op = for_op
        self._around = Surroundings(parametric(nest.function), block)
        self._lower = self._around.values(*lower_bound(for_op))
        self._upper = self._around.values(*upper_bound(for_op))

    @property
    def is_known(self) -> bool:
        """Whether both bounds are affine."""
        return self._lower is not None and self._upper is not None

    def _count(self) -> isl.PwAff | None:
        if self._lower is None or self._upper is None:
            return None
        first, last = self._lower[0], self._upper[0]
        for bound in self._lower[1:]:
            first = first.max(bound)
        for bound in self._upper[1:]:
            last = last.min(bound)
        count = last.sub(first).scale_down_val(isl.Val(self._op.step.value.data)).ceil()
        count = count.max(constant(self._around.space, 0))
        return count.intersect_domain(self._around.domain).coalesce()

    def range(self) -> tuple[int, int | None]:
        """The least and the greatest number of iterations, None when there is no greatest one known."""
        count = self._count()
        if count is None:
            return 0, None
        if self._around.domain.is_empty():
            return 0, 0
        least, greatest = value_range(count, self._around.domain)
        return least or 0, greatest

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
        least, greatest = self.range()
        return least if least == greatest else None

    def is_multiple_of(self, factor: int) -> bool:
        """Whether `factor` always divides the number of iterations."""
        count = self._count()
        if count is None:
            return False
        return self._around.domain.is_subset(count.mod_val(isl.Val(factor)).zero_set())

    def first(self) -> BoundExprs | None:
        """One expression for the first value of the variable wherever the loop runs, None without one."""
        exprs, values = lower_bound(self._op)
        number = _greatest(exprs, self._lower, self._running())
        return None if number is None else ([exprs[number]], values)

    def _running(self) -> isl.Set:
        """Where the loop has an iteration."""
        count = self._count()
        return self._around.domain if count is None else count.pos_set()


def _greatest(
    exprs: Sequence[AffineExpr], values: Sequence[isl.PwAff] | None, where: isl.Set
) -> int | None:
    """Which of the expressions is nowhere below another."""
    if len(exprs) == 1:
        return 0
    if values is None:
        return None
    for number, value in enumerate(values):
        if all(where.is_subset(value.ge_set(other)) for other in values):
            return number
    return None
