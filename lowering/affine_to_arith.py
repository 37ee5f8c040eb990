"""Affine expressions as `arith` operations on `index` values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.builder import Builder
from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, IntegerAttr
from xdsl.ir import Block, SSAValue
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineConstraintExpr,
    AffineConstraintKind,
    AffineDimExpr,
    AffineExpr,
)
from xdsl.rewriter import InsertPoint

from ..dialects.affine_bounds import Range, bounds

_OPS = {AffineBinaryOpKind.Add: arith.AddiOp, AffineBinaryOpKind.Mul: arith.MuliOp}


def _negated(expr: AffineExpr) -> AffineExpr | None:
    """`x` when the expression is `x * -1`."""
    match expr:
        case AffineBinaryOpExpr(kind=AffineBinaryOpKind.Mul, rhs=AffineConstantExpr(value=-1)):
            return expr.lhs
        case _:
            return None


@dataclass
class AffineExpander:
    """
    Expands affine expressions of one function.

    Constants are made once, at the start of `entry`. `ranges` tells what is known of values; where a
    dividend cannot be negative, floordiv and mod become the cheap unsigned operations.
    """

    entry: Block
    ranges: dict[SSAValue, Range] = field(default_factory=dict[SSAValue, Range])
    _constants: dict[int, SSAValue] = field(default_factory=dict[int, SSAValue])

    def constant(self, value: int) -> SSAValue:
        """The index constant `value`."""
        known = self._constants.get(value)
        if known is None:
            op = arith.ConstantOp(IntegerAttr(value, IndexType()))
            op.result.name_hint = f"c{value}" if value >= 0 else f"cm{-value}"
            known = self._constants[value] = Builder(self.after_constants()).insert(op).result
            self.ranges[known] = (value, value)
        return known

    def after_constants(self) -> InsertPoint:
        """The place in the entry block after the constants made so far."""
        if self._constants:
            last = next(reversed(self._constants.values())).owner
            assert isinstance(last, arith.ConstantOp)
            return InsertPoint.after(last)
        first = self.entry.first_op
        return InsertPoint.before(first) if first is not None else InsertPoint.at_end(self.entry)

    def expand(self, builder: Builder, expr: AffineExpr, operands: Sequence[SSAValue]) -> SSAValue:
        """The value of the expression with `operands[i]` for dimension i."""
        match expr:
            case AffineConstantExpr():
                return self.constant(expr.value)
            case AffineDimExpr():
                return operands[expr.position]
            case AffineBinaryOpExpr():
                return self._binary(builder, expr, operands)
            case _:
                raise ValueError(f"symbols are not used here: {expr}")

    def _binary(
        self, builder: Builder, expr: AffineBinaryOpExpr, operands: Sequence[SSAValue]
    ) -> SSAValue:
        if expr.kind is AffineBinaryOpKind.Add:
            for minuend, other in ((expr.lhs, expr.rhs), (expr.rhs, expr.lhs)):
                subtrahend = _negated(other)
                if subtrahend is not None:
                    left = self.expand(builder, minuend, operands)
                    right = self.expand(builder, subtrahend, operands)
                    return builder.insert(arith.SubiOp(left, right)).result
        lhs = self.expand(builder, expr.lhs, operands)
        rhs = expr.rhs
        simple = _OPS.get(expr.kind)
        if simple is not None:
            return builder.insert(simple(lhs, self.expand(builder, rhs, operands))).result
        low, _ = self.range_of(expr.lhs, operands)
        divisor = self.expand(builder, rhs, operands)
        if low is not None and low >= 0 and isinstance(rhs, AffineConstantExpr) and rhs.value > 0:
            return self._divide_unsigned(builder, expr.kind, lhs, divisor, rhs.value)
        return self._divide(builder, expr.kind, lhs, divisor)

    def _divide_unsigned(
        self, builder: Builder, kind: AffineBinaryOpKind, lhs: SSAValue, rhs: SSAValue, value: int
    ) -> SSAValue:
        if kind is AffineBinaryOpKind.Mod:
            return builder.insert(arith.RemUIOp(lhs, rhs)).result
        if kind is AffineBinaryOpKind.CeilDiv:
            lhs = builder.insert(arith.AddiOp(lhs, self.constant(value - 1))).result
        return builder.insert(arith.DivUIOp(lhs, rhs)).result

    def _divide(
        self, builder: Builder, kind: AffineBinaryOpKind, lhs: SSAValue, rhs: SSAValue
    ) -> SSAValue:
        if kind is AffineBinaryOpKind.CeilDiv:
            return builder.insert(arith.CeilDivSIOp(lhs, rhs)).result
        quotient = builder.insert(arith.FloorDivSIOp(lhs, rhs)).result
        if kind is AffineBinaryOpKind.FloorDiv:
            return quotient
        product = builder.insert(arith.MuliOp(quotient, rhs)).result
        return builder.insert(arith.SubiOp(lhs, product)).result

    def condition(
        self,
        builder: Builder,
        constraints: Sequence[AffineConstraintExpr],
        operands: Sequence[SSAValue],
    ) -> SSAValue:
        """An i1 that is true where all constraints (against zero) hold."""
        predicates = {
            AffineConstraintKind.ge: "sge",
            AffineConstraintKind.le: "sle",
            AffineConstraintKind.eq: "eq",
        }
        result: SSAValue | None = None
        for constraint in constraints:
            value = self.expand(builder, constraint.lhs, operands)
            holds = builder.insert(
                arith.CmpiOp(value, self.constant(0), predicates[constraint.kind])
            ).result
            result = holds if result is None else builder.insert(arith.AndIOp(result, holds)).result
        assert result is not None
        return result

    def extreme(
        self,
        builder: Builder,
        exprs: Sequence[AffineExpr],
        operands: Sequence[SSAValue],
        join: type[arith.MaxSIOp | arith.MinSIOp],
    ) -> SSAValue:
        """The greatest or least of the expressions."""
        result = self.expand(builder, exprs[0], operands)
        for expr in exprs[1:]:
            result = builder.insert(join(result, self.expand(builder, expr, operands))).result
        return result

    def range_of(self, expr: AffineExpr, operands: Sequence[SSAValue]) -> Range:
        """Bounds of the expression by what `ranges` knows of the operands."""
        return bounds(expr, [self.ranges.get(value, (None, None)) for value in operands])
