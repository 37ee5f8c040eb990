"""fuse: two perfectly nested loops as one (collapse)."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineExpr
from xdsl.traits import is_side_effect_free

from ...dialects import loop
from ...dialects.loop import LoopKind
from ...dialects.schedule.steps import Fuse
from ..schedule.modes import check_unmarked
from ..schedule.nest import Nests
from ..schedule.planning import planner, step_pass
from ..schedule.refusal import refuse
from ..schedule.rewrite import (
    BoundExprs,
    as_bound,
    body_ops,
    constant_extent,
    lower_bound,
    move_body,
    replace_loop,
    shifted_to,
    single_lower,
    substitute,
    upper_bound,
)


@dataclass(frozen=True)
class FusePlan:
    """The two loops, the name of the one they become, and how many iterations the inner one has."""

    outer: loop.ForOp
    inner: loop.ForOp
    name: str
    extent: int

    def apply(self) -> None:
        """
        `for i in Li..Ui step s: for j in Lj..Uj step t` of `M` inner iterations each →
        `for i.j in 0..ceil((Ui - Li) / s) * M`, where `i = Li + s * (i.j floordiv M)` and
        `j = Lj + t * (i.j mod M)`.
        """
        lower, upper, start = self._range()
        fused = loop.ForOp(
            self.name,
            as_bound(lower),
            as_bound(upper),
            kind=_join(self.outer.kind.data, self.inner.kind.data),
        )
        for op in body_ops(self.outer):
            if op is not self.inner:  # index arithmetic between the two loops
                op.detach()
                self.inner.body.block.insert_op_before(op, self.inner.body.block.ops.first)
        number = fused.induction_variable
        self._substitute(self.inner, number, AffineExpr.dimension(0) % self._divisor)
        self._substitute(self.outer, number, AffineExpr.dimension(0) // self._divisor, start)
        move_body(self.inner, fused.body.block)
        replace_loop(self.outer, [fused])

    @property
    def _divisor(self) -> int:
        return max(self.extent, 1)

    def _range(self) -> tuple[BoundExprs, BoundExprs, BoundExprs]:
        """The bounds of the fused loop, and the first value of the outer variable at number 0."""
        exprs, values = upper_bound(self.outer)
        first = single_lower(self.outer)
        if first is None:
            # The first value is a maximum: count from zero times the extent, not from it.
            lows, low_values = lower_bound(self.outer)
            return (
                ([e * self.extent for e in lows], low_values),
                ([e * self.extent for e in exprs], values),
                ([AffineExpr.constant(0)], ()),
            )
        low, low_values = first
        step = self.outer.step.value.data
        ends = [e - low for e in shifted_to(exprs, len(low_values))]
        return (
            ([AffineExpr.constant(0)], ()),
            ([e.ceil_div(step) * self.extent for e in ends], [*low_values, *values]),
            ([low], low_values),
        )
