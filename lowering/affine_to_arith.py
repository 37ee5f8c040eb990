"""Affine expressions as `arith` operations on `index` values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    DenseResourceAttr,
    FloatAttr,
    IndexType,
    IntegerAttr,
    i1,
)
from xdsl.ir import Block, Operation, SSAValue
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
from ..dialects.leaf_operations import (
    append_leaf,
    index_attribute,
    insert_leaf_before,
    leaf,
    set_name,
)
from .core_builder import CoreBuilder, predicate

ConstantValue = IntegerAttr | FloatAttr | DenseIntOrFPElementsAttr | DenseResourceAttr
"""What an `arith.constant` holds."""

_INDEX = IndexType()


def _negated(expr: AffineExpr) -> AffineExpr | None:
    """`x` when the expression is `x * -1`."""
    if type(expr) is not AffineBinaryOpExpr or expr.kind is not AffineBinaryOpKind.Mul:
        return None
    factor = expr.rhs
    return expr.lhs if type(factor) is AffineConstantExpr and factor.value == -1 else None


def _definition(constant: SSAValue) -> Operation:
    assert isinstance(constant.owner, arith.ConstantOp)
    return constant.owner


PREDICATES = {
    AffineConstraintKind.ge: "sge",
    AffineConstraintKind.le: "sle",
    AffineConstraintKind.eq: "eq",
}
"""How the left side of a constraint is compared with zero."""


@dataclass
class AffineExpander:
    """
    Expands affine expressions of one function.

    Constants are made once, at the start of `entry`, and what they decide is decided here. Nothing is
    computed twice in a block, or in one that stands inside of it: builders see to it, and nothing fails, as
    divisors are positive numbers. `ranges` tells what is
    known of values; where a dividend cannot be negative, floordiv and mod become the cheap unsigned
    operations.
    """

    entry: Block
    ranges: dict[SSAValue, Range] = field(default_factory=dict[SSAValue, Range])
    _constants: dict[int, SSAValue] = field(default_factory=dict[int, SSAValue])
    _values: dict[ConstantValue, SSAValue] = field(default_factory=dict[Any, SSAValue])
    """all constants, those of the type index included"""
    _last: arith.ConstantOp | None = None
    """the constant made last, behind which the next one stands"""
    _numbers: dict[int, int] = field(default_factory=dict[int, int])
    """the constants the other way round, by the `id` of each, which lives as long as `_values`"""

    def constant(self, value: int) -> SSAValue:
        """The index constant `value`."""
        known = self._constants.get(value)
        if known is None:
            known = self.constant_of(index_attribute(value))
            set_name(known, f"c{value}" if value >= 0 else f"cm{-value}")
            self._constants[value] = known
            self.ranges[known] = (value, value)
            self._numbers[id(known)] = value
        return known

    def number(self, value: SSAValue) -> int | None:
        """The number that an index constant is; None of other values."""
        return self._numbers.get(id(value))

    def constant_of(self, value: ConstantValue) -> SSAValue:
        """The constant with a value of any type."""
        known = self._values.get(value)
        if known is None:
            op = leaf(arith.ConstantOp, (), (value.get_type(),), {"value": value})
            following = self.entry.first_op if self._last is None else self._last.next_op
            if following is None:
                append_leaf(self.entry, op)
            else:
                insert_leaf_before(self.entry, op, following)
            self._last = op
            (known,) = op.results
            self._values[value] = known
        return known

    def drop_unused_constants(self) -> None:
        """Those that were folded into others. No constant can be made afterwards."""
        for value in self._values.values():
            if value.first_use is None:
                _definition(value).detach()

    def after_constants(self) -> InsertPoint:
        """The place in the entry block after the constants made so far."""
        if self._last is not None:
            return InsertPoint.after(self._last)
        first = self.entry.first_op
        return InsertPoint.before(first) if first is not None else InsertPoint.at_end(self.entry)

    def expand(
        self, builder: CoreBuilder, expr: AffineExpr, operands: Sequence[SSAValue]
    ) -> SSAValue:
        """The value of the expression with `operands[i]` for dimension i."""
        if type(expr) is AffineDimExpr:
            return operands[expr.position]
        return self._ssa(self._value(builder, expr, operands))

    def _value(
        self, builder: CoreBuilder, expr: AffineExpr, operands: Sequence[SSAValue]
    ) -> int | SSAValue:
        """As `expand`, and a number where it is one: constants are made of what is left."""
        if type(expr) is AffineDimExpr:
            value = operands[expr.position]
            return self._numbers.get(id(value), value)
        if type(expr) is AffineConstantExpr:
            return expr.value
        if type(expr) is not AffineBinaryOpExpr:
            raise ValueError(f"symbols are not used here: {expr}")
        kind, left, right = expr.kind, expr.lhs, expr.rhs
        if kind is AffineBinaryOpKind.Add:
            minuend, subtrahend = left, _negated(right)
            if subtrahend is None:
                minuend, subtrahend = right, _negated(left)
            if subtrahend is not None:
                lhs = self._value(builder, minuend, operands)
                rhs = self._value(builder, subtrahend, operands)
                return self._difference(builder, lhs, rhs)
        lhs = self._value(builder, left, operands)
        if kind is AffineBinaryOpKind.Add:
            further = self._further(right, operands)
            if further is not None:
                base, number = further
                lhs = self._sum(builder, lhs, self._value(builder, base, operands))
                return self._sum(builder, lhs, number)
        rhs = self._value(builder, right, operands)
        if kind is AffineBinaryOpKind.Add:
            return self._sum(builder, lhs, rhs)
        if kind is AffineBinaryOpKind.Mul:
            return self._product(builder, lhs, rhs)
        low, _ = self.range_of(left, operands)
        dividend, divisor = self._ssa(lhs), self._ssa(rhs)
        if low is not None and low >= 0 and type(right) is AffineConstantExpr and right.value > 0:
            return self._divide_unsigned(builder, kind, dividend, divisor, right.value)
        return self._divide(builder, kind, dividend, divisor)

    def _further(
        self, expr: AffineExpr, operands: Sequence[SSAValue]
    ) -> tuple[AffineExpr, int] | None:
        """
        Of a sum of two terms, one of which is a variable that is a number, as of a loop that is written out: the other term, and the
        number. Where the number is added last, what comes before it is one value that all iterations share.
        """
        if type(expr) is AffineBinaryOpExpr and expr.kind is AffineBinaryOpKind.Add:
            for variable, base in ((expr.lhs, expr.rhs), (expr.rhs, expr.lhs)):
                if type(variable) is AffineDimExpr:
                    number = self.number(operands[variable.position])
                    if number is not None:
                        return base, number
        return None

    def _known(self, value: SSAValue) -> int | SSAValue:
        return self._numbers.get(id(value), value)

    def _ssa(self, value: int | SSAValue) -> SSAValue:
        return self.constant(value) if isinstance(value, int) else value

    def _divide_unsigned(
        self,
        builder: CoreBuilder,
        kind: AffineBinaryOpKind,
        lhs: SSAValue,
        rhs: SSAValue,
        value: int,
    ) -> SSAValue:
        if kind is AffineBinaryOpKind.Mod:
            return builder.shared(arith.RemUIOp, (lhs, rhs), _INDEX)
        if kind is AffineBinaryOpKind.CeilDiv:
            lhs = self.add(builder, lhs, self.constant(value - 1))
        return builder.shared(arith.DivUIOp, (lhs, rhs), _INDEX)

    def _divide(
        self, builder: CoreBuilder, kind: AffineBinaryOpKind, lhs: SSAValue, rhs: SSAValue
    ) -> SSAValue:
        if kind is AffineBinaryOpKind.CeilDiv:
            return builder.shared(arith.CeilDivSIOp, (lhs, rhs), _INDEX)
        quotient = builder.shared(arith.FloorDivSIOp, (lhs, rhs), _INDEX)
        if kind is AffineBinaryOpKind.FloorDiv:
            return quotient
        multiple = self._product(builder, quotient, self._known(rhs))
        return self._ssa(self._difference(builder, self._known(lhs), multiple))

    # Operations on two values.

    def add(self, builder: CoreBuilder, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        """lhs + rhs, a number on the right."""
        return self._ssa(self._sum(builder, self._known(lhs), self._known(rhs)))

    def _sum(
        self, builder: CoreBuilder, lhs: int | SSAValue, rhs: int | SSAValue
    ) -> int | SSAValue:
        if isinstance(lhs, int):
            if isinstance(rhs, int):
                return lhs + rhs
            lhs, rhs = rhs, lhs
        if isinstance(rhs, int):
            if not rhs:
                return lhs
            rhs = self.constant(rhs)
        return builder.shared(arith.AddiOp, (lhs, rhs), _INDEX)

    def _difference(
        self, builder: CoreBuilder, lhs: int | SSAValue, rhs: int | SSAValue
    ) -> int | SSAValue:
        if isinstance(rhs, int):
            if isinstance(lhs, int):
                return lhs - rhs
            if not rhs:
                return lhs
        return builder.shared(arith.SubiOp, (self._ssa(lhs), self._ssa(rhs)), _INDEX)

    def _product(
        self, builder: CoreBuilder, lhs: int | SSAValue, rhs: int | SSAValue
    ) -> int | SSAValue:
        if isinstance(rhs, int):
            if isinstance(lhs, int):
                return lhs * rhs
            if rhs == 1:
                return lhs
            rhs = self.constant(rhs)
        elif isinstance(lhs, int):
            lhs = self.constant(lhs)
        return builder.shared(arith.MuliOp, (lhs, rhs), _INDEX)

    def condition(
        self,
        builder: CoreBuilder,
        constraints: Sequence[AffineConstraintExpr],
        operands: Sequence[SSAValue],
    ) -> SSAValue:
        """An i1 that is true where all constraints (against zero) hold."""
        result: SSAValue | None = None
        for constraint in constraints:
            value = self.expand(builder, constraint.lhs, operands)
            word = PREDICATES[constraint.kind]
            sides = (value, self.constant(0))
            holds = builder.shared(arith.CmpiOp, sides, i1, predicate(word), mark=word)
            result = holds if result is None else builder.emit(arith.AndIOp, (result, holds), i1)
        assert result is not None
        return result

    def decided(
        self, constraint: AffineConstraintExpr, operands: Sequence[SSAValue]
    ) -> bool | None:
        """Whether a constraint (against zero) holds; None where ranges do not say it."""
        return holds_within(constraint.kind, self.range_of(constraint.lhs, operands))

    def extreme(
        self,
        builder: CoreBuilder,
        exprs: Sequence[AffineExpr],
        operands: Sequence[SSAValue],
        join: type[arith.MaxSIOp | arith.MinSIOp],
    ) -> SSAValue:
        """The greatest or least of the expressions."""
        result = self.expand(builder, exprs[0], operands)
        for expr in exprs[1:]:
            result = builder.shared(join, (result, self.expand(builder, expr, operands)), _INDEX)
        return result

    def range_of(self, expr: AffineExpr, operands: Sequence[SSAValue]) -> Range:
        """Bounds of the expression by what `ranges` knows of the operands."""
        if type(expr) is AffineConstantExpr:
            return expr.value, expr.value
        return bounds(expr, [self.ranges.get(value, (None, None)) for value in operands])


def holds_within(kind: AffineConstraintKind, within: Range, more: int = 0) -> bool | None:
    """Whether a constraint (against zero) holds where its left side is so much `more` than a number in a range; None where it may or may not."""
    low, high = within
    low, high = None if low is None else low + more, None if high is None else high + more
    if kind is AffineConstraintKind.le:
        low, high = None if high is None else -high, None if low is None else -low
    if kind is AffineConstraintKind.eq:
        if low == high == 0:
            return True
        is_apart = (low is not None and low > 0) or (high is not None and high < 0)
        return False if is_apart else None
    if low is not None and low >= 0:
        return True
    return False if high is not None and high < 0 else None
