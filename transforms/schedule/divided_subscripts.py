"""Subscripts with floordiv and mod, taken apart where the loops around tell the quotient or the rest."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import func
from xdsl.ir import BlockArgument, SSAValue
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineExpr,
)

from ...analysis.scop import Surroundings, parametric
from ...dialects import loop
from ...dialects.affine_bounds import linear_form
from .nest import loops_around
from .ranges import Ranges
from .rewrite import added_up, set_subscripts

_DIVISIONS = (AffineBinaryOpKind.FloorDiv, AffineBinaryOpKind.Mod)


def simplify_subscripts(function: func.FuncOp, op: loop.LoadOp | loop.StoreOp) -> bool:
    """
    Whether a subscript of the load or store has been changed:

    `for j in 0..64 step 16: for l in j..j + 16: A[l floordiv 16, l mod 16]` →
    `… A[j floordiv 16, l - j]`

    Then it shows that neighbouring iterations touch neighbouring elements, and the division can be done
    outside of the innermost loop.
    """
    old = op.map.data.results
    if not any(_divides(expr) for expr in old):
        return False
    block = op.parent
    assert block is not None
    divider = _Divider(Surroundings(parametric(function), block), list(op.operands_))
    exprs = [divider.rewritten(expr) for expr in old]
    before = op.map
    set_subscripts(op, *added_up(exprs, divider.values))
    return op.map != before


def _divides(expr: AffineExpr) -> bool:
    return isinstance(expr, AffineBinaryOpExpr) and (
        expr.kind in _DIVISIONS or _divides(expr.lhs) or _divides(expr.rhs)
    )


class _Divider:
    """
    Rewrites expressions over `values`, to which it adds values that results are over.

    A dividend is written as a multiple of the divisor and a rest from 0 up to it, if that can be done by
    putting, from the innermost loop outwards, the first value of a loop in place of its variable; or else,
    with as many of these as can be, as something with the same quotient and a rest.
    """

    def __init__(self, surroundings: Surroundings, values: list[SSAValue]):
        self.values = values
        self._surroundings = surroundings

    def rewritten(self, expr: AffineExpr) -> AffineExpr:
        if not isinstance(expr, AffineBinaryOpExpr):
            return expr
        lhs, rhs = self.rewritten(expr.lhs), expr.rhs
        if expr.kind in _DIVISIONS and isinstance(rhs, AffineConstantExpr):
            parts = self._quotient_and_rest(lhs, rhs.value)
            if parts is not None:
                return parts[expr.kind is AffineBinaryOpKind.Mod]
        if expr.kind is AffineBinaryOpKind.Add:
            return lhs + self.rewritten(rhs)
        return AffineBinaryOpExpr(expr.kind, lhs, rhs)

    def _quotient_and_rest(
        self, expr: AffineExpr, divisor: int
    ) -> tuple[AffineExpr, AffineExpr] | None:
        (whole,), _ = added_up([expr], self.values)
        base, found = whole, None
        while (linear := linear_form(base, len(self.values))) is not None:
            factors, number = linear
            base = _sum(factors, number // divisor * divisor)
            ranges = Ranges(self._surroundings, self.values)
            (rest,), _ = added_up([whole - base], self.values)
            # How far from a multiple of the divisor the base is.
            off = AffineExpr.constant(0) if ranges.is_multiple(base, divisor) else base % divisor
            in_block = ranges.is_at_least(rest, AffineExpr.constant(0)) and ranges.is_at_least(
                AffineExpr.constant(divisor - 1), off + rest
            )
            if in_block and isinstance(off, AffineConstantExpr):
                return _divided(factors, number // divisor, divisor), rest
            if in_block and base != whole:
                found = base // divisor, off + rest
            further = self._with_first_value(base, factors)
            if further is None:
                return found
            base = further
        return found

    def _with_first_value(self, expr: AffineExpr, factors: Sequence[int]) -> AffineExpr | None:
        """The expression with the innermost loop's first value for its variable; None without one."""
        used = [self.values[n] for n, factor in enumerate(factors) if factor]
        loops = [_loop_of(value) for value in used]
        around = [for_op for for_op in loops if for_op is not None]
        if not around:
            return None
        inner = max(around, key=lambda for_op: len(loops_around(for_op)))
        if len(inner.lower_map.data.results) != 1:
            return None
        count = len(self.values)
        operands = list(inner.lower_operands)
        self.values += operands
        dims = [AffineExpr.dimension(count + n) for n in range(len(operands))]
        first = inner.lower_map.data.results[0].replace_dims_and_symbols(dims, ())
        dims = [
            first if value is inner.induction_variable else AffineExpr.dimension(n)
            for n, value in enumerate(self.values)
        ]
        (result,), _ = added_up([expr.replace_dims_and_symbols(dims, ())], self.values)
        return result


def _loop_of(value: SSAValue) -> loop.ForOp | None:
    """The loop whose variable the value is."""
    parent = value.block.parent_op() if isinstance(value, BlockArgument) else None
    return parent if isinstance(parent, loop.ForOp) else None


def _sum(factors: Sequence[int], number: int) -> AffineExpr:
    result: AffineExpr | None = None
    for n, factor in enumerate(factors):
        if factor:
            term = AffineExpr.dimension(n) * factor
            result = term if result is None else result + term
    constant = AffineExpr.constant(number)
    return constant if result is None else result + constant


def _divided(factors: Sequence[int], whole: int, divisor: int) -> AffineExpr:
    """`(factors · dims) / divisor + whole`, in which every factor is divided if all can be."""
    if all(factor % divisor == 0 for factor in factors):
        return _sum([factor // divisor for factor in factors], whole)
    return _sum(factors, whole * divisor) // divisor
