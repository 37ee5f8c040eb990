"""Affine expressions as `arith` operations on `index` values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from xdsl.builder import Builder
from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    DenseResourceAttr,
    FloatAttr,
    IndexType,
    IntegerAttr,
)
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

_Binary = type[
    arith.AddiOp
    | arith.SubiOp
    | arith.MuliOp
    | arith.DivUIOp
    | arith.RemUIOp
    | arith.CeilDivSIOp
    | arith.FloorDivSIOp
]
ConstantValue = IntegerAttr | FloatAttr | DenseIntOrFPElementsAttr | DenseResourceAttr
"""What an `arith.constant` holds."""

_Operation = tuple[_Binary, SSAValue, SSAValue]


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

    Constants are made once, at the start of `entry`, and what they decide is decided here. Nothing is
    computed twice in a block, or in one that stands inside of it: builders append. `ranges` tells what is
    known of values; where a dividend cannot be negative, floordiv and mod become the cheap unsigned
    operations.
    """

    entry: Block
    ranges: dict[SSAValue, Range] = field(default_factory=dict[SSAValue, Range])
    _constants: dict[int, SSAValue] = field(default_factory=dict[int, SSAValue])
    _values: dict[ConstantValue, SSAValue] = field(default_factory=dict[Any, SSAValue])
    """all constants, those of the type index included"""
    _numbers: dict[SSAValue, int] = field(default_factory=dict[SSAValue, int])
    """the constants the other way round"""
    _computed: dict[Block, dict[_Operation, SSAValue]] = field(
        default_factory=dict[Block, "dict[_Operation, SSAValue]"]
    )

    def constant(self, value: int) -> SSAValue:
        """The index constant `value`."""
        known = self._constants.get(value)
        if known is None:
            known = self.constant_of(IntegerAttr(value, IndexType()))
            known.name_hint = f"c{value}" if value >= 0 else f"cm{-value}"
            self._constants[value] = known
            self.ranges[known] = (value, value)
            self._numbers[known] = value
        return known

    def constant_of(self, value: ConstantValue) -> SSAValue:
        """The constant with a value of any type."""
        known = self._values.get(value)
        if known is None:
            op = arith.ConstantOp(value)
            known = self._values[value] = Builder(self.after_constants()).insert(op).result
        return known

    def after_constants(self) -> InsertPoint:
        """The place in the entry block after the constants made so far."""
        if self._values:
            last = next(reversed(self._values.values())).owner
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
                    return self.subtract(builder, left, right)
        lhs = self.expand(builder, expr.lhs, operands)
        rhs = expr.rhs
        if expr.kind is AffineBinaryOpKind.Add:
            return self.add(builder, lhs, self.expand(builder, rhs, operands))
        if expr.kind is AffineBinaryOpKind.Mul:
            return self._multiply(builder, lhs, self.expand(builder, rhs, operands))
        low, _ = self.range_of(expr.lhs, operands)
        divisor = self.expand(builder, rhs, operands)
        if low is not None and low >= 0 and isinstance(rhs, AffineConstantExpr) and rhs.value > 0:
            return self._divide_unsigned(builder, expr.kind, lhs, divisor, rhs.value)
        return self._divide(builder, expr.kind, lhs, divisor)

    def _divide_unsigned(
        self, builder: Builder, kind: AffineBinaryOpKind, lhs: SSAValue, rhs: SSAValue, value: int
    ) -> SSAValue:
        if kind is AffineBinaryOpKind.Mod:
            return self._compute(builder, arith.RemUIOp, lhs, rhs)
        if kind is AffineBinaryOpKind.CeilDiv:
            lhs = self.add(builder, lhs, self.constant(value - 1))
        return self._compute(builder, arith.DivUIOp, lhs, rhs)

    def _divide(
        self, builder: Builder, kind: AffineBinaryOpKind, lhs: SSAValue, rhs: SSAValue
    ) -> SSAValue:
        if kind is AffineBinaryOpKind.CeilDiv:
            return self._compute(builder, arith.CeilDivSIOp, lhs, rhs)
        quotient = self._compute(builder, arith.FloorDivSIOp, lhs, rhs)
        if kind is AffineBinaryOpKind.FloorDiv:
            return quotient
        return self.subtract(builder, lhs, self._multiply(builder, quotient, rhs))

    # Operations on two values.

    def add(self, builder: Builder, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        """lhs + rhs, a number on the right."""
        a, b = self._numbers.get(lhs), self._numbers.get(rhs)
        if a is not None and b is not None:
            return self.constant(a + b)
        if a == 0:
            return rhs
        if b == 0:
            return lhs
        return self._compute(builder, arith.AddiOp, *((lhs, rhs) if a is None else (rhs, lhs)))

    def subtract(self, builder: Builder, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        """lhs - rhs"""
        a, b = self._numbers.get(lhs), self._numbers.get(rhs)
        if a is not None and b is not None:
            return self.constant(a - b)
        return lhs if b == 0 else self._compute(builder, arith.SubiOp, lhs, rhs)

    def _multiply(self, builder: Builder, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        a, b = self._numbers.get(lhs), self._numbers.get(rhs)
        if a is not None and b is not None:
            return self.constant(a * b)
        return lhs if b == 1 else self._compute(builder, arith.MuliOp, lhs, rhs)

    def _compute(
        self, builder: Builder, op_type: _Binary, lhs: SSAValue, rhs: SSAValue
    ) -> SSAValue:
        """The result of an operation, of one before this place where there is one."""
        block = builder.insertion_point.block
        key = (op_type, lhs, rhs)
        known = self._known(block, key)
        if known is None:
            known = builder.insert(op_type(lhs, rhs)).result
            self._computed.setdefault(block, {})[key] = known
        return known

    def _known(self, block: Block | None, key: _Operation) -> SSAValue | None:
        """What was computed in the block, or before the operation that it is a part of."""
        while block is not None:
            found = self._computed.get(block, {}).get(key)
            if found is not None:
                return found
            block = block.parent_block()
        return None

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
