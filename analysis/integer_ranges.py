"""
Between which numbers the integers of a compute lie, by interval arithmetic over its iterators and what it converts.

(Moore, Kearfott and Cloud, "Introduction to Interval Analysis", SIAM 2009; MLIR has it as integer range analysis.)
"""

from __future__ import annotations

from collections.abc import Callable
from operator import add, ge, gt, le, lt, mul, sub
from typing import TypeAlias, cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType, IntegerAttr, IntegerType, i1
from xdsl.ir import Attribute, Operation, SSAValue

from ..dialects import te
from ..dialects.dtypes import bit_width

IntegerRange: TypeAlias = tuple[int, int]
"""The least and the greatest number, both read as signed."""

_EXACT: dict[type[Operation], Callable[[int, int], int]] = {
    arith.AddiOp: add,
    arith.SubiOp: sub,
    arith.MuliOp: mul,
    arith.MaxSIOp: max,
    arith.MinSIOp: min,
}
"""Operations that are monotonous in each operand, unless they wrap around: their extremes are at corners."""

_UNSIGNED: dict[type[Operation], Callable[[int, int], int]] = {
    arith.MaxUIOp: max,
    arith.MinUIOp: min,
}
"""As the signed ones, of numbers that are not negative."""

_ORDERED: tuple[Callable[[int, int], bool] | None, ...] = (None, None, lt, le, gt, ge)
"""What `cmpi` asks by its predicate: after equal and different the four signed orders, then the four unsigned ones."""


class IntegerRanges:
    """The ranges of the values in a compute's body, in whose order they are to be asked for."""

    def __init__(self, compute: te.ComputeOp):
        pairs = zip(compute.iterator_args, compute.static_extents, strict=True)
        self._known: dict[SSAValue, IntegerRange] = {
            arg: (0, extent - 1) for arg, extent in pairs if extent != DYNAMIC_INDEX and extent > 0
        }

    def of(self, value: SSAValue) -> IntegerRange | None:
        """The numbers between which an integer is; None of what is no integer."""
        known = self._known.get(value)
        return _whole(value.type) if known is None else known

    def add(self, op: Operation) -> None:
        """Take in the result of an operation whose operands have been taken in."""
        found = self._range(op)
        if found is None or len(op.results) != 1:
            return
        whole = _whole(op.results[0].type)
        if whole is not None and whole[0] <= found[0] <= found[1] <= whole[1]:
            self._known[op.results[0]] = found

    def _range(self, op: Operation) -> IntegerRange | None:
        operands = [self.of(operand) for operand in op.operands]
        match op:
            case arith.ConstantOp():
                return _constant(op)
            case arith.SelectOp():
                return _union(operands[1], operands[2])
            case arith.ExtUIOp():
                return _unsigned(operands[0], op.operands[0].type)
            case arith.ExtSIOp() | arith.IndexCastOp():
                # Of one bit the number is -1 where it is set.
                return (-1, 0) if op.operands[0].type == i1 else operands[0]
            case arith.TruncIOp():
                return operands[0]
            case arith.RemSIOp() | arith.RemUIOp():
                return _remainder(operands[0], operands[1])
            case arith.AndIOp():
                return _masked(operands[0], operands[1])
            case _:
                return _corners(op, operands)

    def decided(self, op: arith.CmpiOp) -> bool | None:
        """What a comparison always finds; None where that depends."""
        left, right = self.of(op.lhs), self.of(op.rhs)
        if left is None or right is None:
            return None
        predicate = op.predicate.value.data
        if predicate < 2:
            if left[1] < right[0] or right[1] < left[0]:
                return predicate == 1
            is_one = left[0] == left[1] == right[0] == right[1]
            return predicate == 0 if is_one else None
        if op.lhs.type == i1 or (predicate > 5 and min(left[0], right[0]) < 0):
            return None
        order = _ORDERED[predicate if predicate <= 5 else predicate - 4]
        assert order is not None
        found = {order(one, other) for one in left for other in right}
        return found.pop() if len(found) == 1 else None

    def chosen(self, op: Operation) -> SSAValue | None:
        """The operand that an extreme always is; None where that depends."""
        if type(op) not in (arith.MaxSIOp, arith.MinSIOp, arith.MaxUIOp, arith.MinUIOp):
            return None
        left, right = self.of(op.operands[0]), self.of(op.operands[1])
        if left is None or right is None or op.operands[0].type == i1:
            return None
        if isinstance(op, arith.MaxUIOp | arith.MinUIOp) and min(left[0], right[0]) < 0:
            return None
        is_least = isinstance(op, arith.MinSIOp | arith.MinUIOp)
        if left[1] <= right[0]:
            return op.operands[0 if is_least else 1]
        if right[1] <= left[0]:
            return op.operands[1 if is_least else 0]
        return None


def _constant(op: arith.ConstantOp) -> IntegerRange | None:
    value = op.value
    if not isinstance(value, IntegerAttr):
        return None
    number = value.value.data
    return number, number


def _whole(type_: Attribute) -> IntegerRange | None:
    """The numbers that a type has; of a truth value 0 and 1."""
    if not isinstance(type_, IndexType | IntegerType):
        return None
    half = 1 << bit_width(cast("Attribute", type_)) - 1
    return (0, 1) if half == 1 else (-half, half - 1)


def _union(one: IntegerRange | None, other: IntegerRange | None) -> IntegerRange | None:
    if one is None or other is None:
        return None
    return min(one[0], other[0]), max(one[1], other[1])


def _unsigned(found: IntegerRange | None, type_: Attribute) -> IntegerRange | None:
    """The numbers of a range, read as unsigned."""
    if found is None or found[0] >= 0:
        return found
    return 0, (1 << bit_width(type_)) - 1


def _remainder(one: IntegerRange | None, other: IntegerRange | None) -> IntegerRange | None:
    if one is None or other is None or one[0] < 0 or other[0] <= 0:
        return None
    return 0, min(one[1], other[1] - 1)


def _masked(one: IntegerRange | None, other: IntegerRange | None) -> IntegerRange | None:
    """What has no bit that either of the operands has not; each of them that is not negative bounds it."""
    bounds = [found[1] for found in (one, other) if found is not None and found[0] >= 0]
    return (0, min(bounds)) if bounds else None


def _corners(op: Operation, operands: list[IntegerRange | None]) -> IntegerRange | None:
    exact = _EXACT.get(type(op))
    known = [operand for operand in operands if operand is not None]
    if exact is None and (unsigned := _UNSIGNED.get(type(op))) is not None:
        exact = unsigned if all(low >= 0 for low, _ in known) else None
    if exact is None or len(known) != 2:
        return None
    found = [exact(one, other) for one in known[0] for other in known[1]]
    return min(found), max(found)
