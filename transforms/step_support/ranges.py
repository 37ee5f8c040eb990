"""Which of several loop bounds is the greatest, and which ranges are never run, wherever a block runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import islpy as isl
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineExpr

from ...analysis.affine_isl import constant
from ...analysis.domains import never_runs
from ...analysis.scop import Surroundings
from ...dialects.affine_text import compact

_Order = Callable[[AffineExpr, AffineExpr], bool]
_Where = Callable[[isl.PwAff], isl.Set]


class Ranges:
    """
    Questions about expressions over `values` that have answers for all iterations of the loops around.

    An answer is certain where it is yes; expressions that are not affine give no.
    """

    def __init__(self, surroundings: Surroundings, values: Sequence[SSAValue]):
        self._surroundings = surroundings
        self._values = values

    def is_at_least(self, a: AffineExpr, b: AffineExpr) -> bool:
        """Whether `a >= b` always."""
        difference = (a - b).simplify(len(self._values), 0)
        if isinstance(difference, AffineConstantExpr):
            return difference.value >= 0 or never_runs(self._surroundings.around)
        return self._holds(difference, lambda value: value.nonneg_set())

    def is_multiple(self, expr: AffineExpr, factor: int) -> bool:
        """Whether `expr` is always a multiple of `factor`."""
        return factor == 1 or self._holds(
            expr, lambda value: value.mod_val(isl.Val(factor)).zero_set()
        )

    def greatest(self, terms: Sequence[AffineExpr]) -> list[AffineExpr]:
        """The terms whose maximum is that of all of them."""
        return self._extreme(terms, self.is_at_least)

    def least(self, terms: Sequence[AffineExpr]) -> list[AffineExpr]:
        """The terms whose minimum is that of all of them."""
        return self._extreme(terms, lambda a, b: self.is_at_least(b, a))

    def is_empty(self, lower: Sequence[AffineExpr], upper: Sequence[AffineExpr]) -> bool:
        """Whether nothing is ever at least all of `lower` and below all of `upper`."""
        runs: isl.Set | None = None
        for low in lower:
            for high in upper:
                span = (high - low).simplify(len(self._values), 0)
                if isinstance(span, AffineConstantExpr):
                    if span.value <= 0:
                        return True
                    continue
                value = self._value(span)
                if value is not None:
                    runs = self._surroundings.domain if runs is None else runs
                    runs = runs.intersect(value.pos_set())
        return never_runs(self._surroundings.around) if runs is None else runs.is_empty()

    def _extreme(self, terms: Sequence[AffineExpr], beats: _Order) -> list[AffineExpr]:
        kept: list[AffineExpr] = []
        for term in terms:
            if any(beats(other, term) for other in kept):
                continue
            kept = [other for other in kept if not beats(term, other)]
            kept.append(term)
        return kept

    def _holds(self, expr: AffineExpr, where: _Where) -> bool:
        value = self._value(expr.simplify(len(self._values), 0))
        if value is None:
            return False
        return self._surroundings.domain.is_subset(where(value))

    def _value(self, expr: AffineExpr) -> isl.PwAff | None:
        if isinstance(expr, AffineConstantExpr):  # also where the operands are not affine
            return constant(self._surroundings.space, expr.value)
        (expr,), values = compact([expr], self._values)
        found = self._surroundings.values([expr], values)
        return found[0] if found is not None else None
