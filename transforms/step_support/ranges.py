"""Which of several loop bounds is the greatest, and which ranges are never run, wherever a block runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineExpr

from ...analysis.domains import REMEMBERED
from ...analysis.extremes import are_never_positive, is_always_multiple, is_never_negative
from ...analysis.frames import Frame
from ...dialects.affine_bounds import simplified
from ...dialects.affine_text import compact

_Order = Callable[[AffineExpr, AffineExpr], bool]


@lru_cache(REMEMBERED)
def _difference(a: AffineExpr, b: AffineExpr, dims: int) -> AffineExpr:
    return simplified(a - b, dims)


class Ranges:
    """
    Questions about expressions over `values` that have answers for all iterations of the loops around.

    An answer is certain where it is yes; expressions that are not affine give no.
    """

    def __init__(self, frame: Frame, values: Sequence[SSAValue]):
        self._frame = frame
        self._around = frame.around
        self._values = values

    def is_at_least(self, a: AffineExpr, b: AffineExpr) -> bool:
        """Whether `a >= b` always."""
        difference = self._term(_difference(a, b, len(self._values)))
        return difference is not None and is_never_negative(self._around, difference)

    def is_multiple(self, expr: AffineExpr, factor: int) -> bool:
        """Whether `expr` is always a multiple of `factor`."""
        if factor == 1:
            return True
        term = self._term(simplified(expr, len(self._values)))
        return term is not None and is_always_multiple(self._around, term, factor)

    def greatest(self, terms: Sequence[AffineExpr]) -> list[AffineExpr]:
        """The terms whose maximum is that of all of them."""
        return self._extreme(terms, self.is_at_least)

    def least(self, terms: Sequence[AffineExpr]) -> list[AffineExpr]:
        """The terms whose minimum is that of all of them."""
        return self._extreme(terms, lambda a, b: self.is_at_least(b, a))

    def is_empty(self, lower: Sequence[AffineExpr], upper: Sequence[AffineExpr]) -> bool:
        """Whether nothing is ever at least all of `lower` and below all of `upper`."""
        spans = [
            self._term(_difference(high, low, len(self._values))) for low in lower for high in upper
        ]
        return are_never_positive(self._around, tuple(s for s in spans if s is not None))

    def _extreme(self, terms: Sequence[AffineExpr], beats: _Order) -> list[AffineExpr]:
        kept: list[AffineExpr] = []
        for term in terms:
            if any(beats(other, term) for other in kept):
                continue
            kept = [other for other in kept if not beats(term, other)]
            kept.append(term)
        return kept

    def _term(self, expr: AffineExpr) -> AffineExpr | None:
        """The expression over parameters and loops; None when it is not affine."""
        if isinstance(expr, AffineConstantExpr):  # also where the operands are not affine
            return expr
        (expr,), values = compact([expr], self._values)
        found = self._frame.terms([expr], values)
        return None if found is None else found[0]
