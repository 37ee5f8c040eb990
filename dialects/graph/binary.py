"""
Element-wise operations of two operands with NumPy broadcasting. To add one, add a class here: a name,
what it computes in NumPy, and one element of it in scalars.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from xdsl.ir import SSAValue
from xdsl.irdl import traits_def
from xdsl.traits import Commutative

from ..interfaces import Array
from ..scalar import ScalarBuilder
from .base import BITS, FLOATS, INTEGERS, NUMBERS, graph_op, splat_number
from .elementwise import BinaryElementwiseOp, ComparisonOp


def _is_number(value: SSAValue, number: float) -> bool:
    """Whether every element of the constant `value` is `number`; -0.0 is not 0.0."""
    found = splat_number(value)
    return found is not None and found == number and np.signbit(found) == np.signbit(number)


def _has_all_bits(value: SSAValue) -> bool:
    """Whether every bit of every element of the constant `value` is 1."""
    found = splat_number(value)
    return found is not None and not ~found


@graph_op
class AddOp(BinaryElementwiseOp):
    """x + y; integers wrap; on i1, `or` as in NumPy."""

    name = "graph.add"
    traits = traits_def(Commutative())

    def numpy(self, x: Array, y: Array) -> Array:
        return np.add(x, y)

    def scalar(self, b: ScalarBuilder, x: SSAValue, y: SSAValue) -> SSAValue:
        return b.add(x, y)

    def simplified(self) -> SSAValue | None:
        """x + 0 → x; with floats only x + -0.0, as -0.0 + 0.0 is 0.0."""
        zero = -0.0 if self.body_type in FLOATS else 0
        if _is_number(self.rhs, zero):
            return self.lhs
        return self.rhs if _is_number(self.lhs, zero) else None


@graph_op
class SubOp(BinaryElementwiseOp):
    """x - y; integers wrap."""

    name = "graph.sub"
    ELEMENTS: ClassVar = NUMBERS

    def numpy(self, x: Array, y: Array) -> Array:
        return np.subtract(x, y)

    def scalar(self, b: ScalarBuilder, x: SSAValue, y: SSAValue) -> SSAValue:
        return b.sub(x, y)

    def simplified(self) -> SSAValue | None:
        """x - 0 → x"""
        return self.lhs if _is_number(self.rhs, 0) else None


@graph_op
class MulOp(BinaryElementwiseOp):
    """x · y; integers wrap; on i1, `and` as in NumPy."""

    name = "graph.mul"
    traits = traits_def(Commutative())

    def numpy(self, x: Array, y: Array) -> Array:
        return np.multiply(x, y)

    def scalar(self, b: ScalarBuilder, x: SSAValue, y: SSAValue) -> SSAValue:
        return b.mul(x, y)

    def simplified(self) -> SSAValue | None:
        """x * 1 → x"""
        if _is_number(self.rhs, 1):
            return self.lhs
        return self.rhs if _is_number(self.lhs, 1) else None


@graph_op
class DivOp(BinaryElementwiseOp):
    """x / y in IEEE arithmetic; floats only (of integers, NumPy's result is a float: cast first)."""

    name = "graph.div"
    ELEMENTS: ClassVar = FLOATS

    def numpy(self, x: Array, y: Array) -> Array:
        return np.divide(x, y)

    def scalar(self, b: ScalarBuilder, x: SSAValue, y: SSAValue) -> SSAValue:
        return b.div(x, y)

    def simplified(self) -> SSAValue | None:
        """x / 1 → x"""
        return self.lhs if _is_number(self.rhs, 1) else None


@graph_op
class FloorDivOp(BinaryElementwiseOp):
    """`numpy.floor_divide`; integers divided by 0 give 0, the least one by -1 itself."""

    name = "graph.floor_div"
    ELEMENTS: ClassVar = NUMBERS

    def numpy(self, x: Array, y: Array) -> Array:
        return np.floor_divide(x, y)

    def scalar(self, b: ScalarBuilder, x: SSAValue, y: SSAValue) -> SSAValue:
        return b.floor_div(x, y)

    def simplified(self) -> SSAValue | None:
        """x // 1 → x, integers only"""
        if self.body_type in FLOATS or not _is_number(self.rhs, 1):
            return None
        return self.lhs


@graph_op
class ModOp(BinaryElementwiseOp):
    """`numpy.mod`, with the divisor's sign; integers modulo 0 give 0."""

    name = "graph.mod"
    ELEMENTS: ClassVar = NUMBERS

    def numpy(self, x: Array, y: Array) -> Array:
        return np.mod(x, y)

    def scalar(self, b: ScalarBuilder, x: SSAValue, y: SSAValue) -> SSAValue:
        return b.mod(x, y)


@graph_op
class PowOp(BinaryElementwiseOp):
    """
    `numpy.power`. Integers wrap; to a negative exponent all but 1 and -1 give 0, where NumPy raises.
    """

    name = "graph.pow"
    ELEMENTS: ClassVar = NUMBERS

    def numpy(self, x: Array, y: Array) -> Array:
        if x.dtype.kind != "i":
            return np.power(x, y)
        sign = np.where(y % 2 == 0, np.abs(x), x)
        inverse = np.where((x == 1) | (x == -1), sign, 0)
        return np.where(y < 0, inverse, np.power(x, np.maximum(y, 0))).astype(x.dtype)

    def scalar(self, b: ScalarBuilder, x: SSAValue, y: SSAValue) -> SSAValue:
        return b.pow(x, y)

    def simplified(self) -> SSAValue | None:
        """x ** 1 → x"""
        return self.lhs if _is_number(self.rhs, 1) else None


@graph_op
class MaximumOp(BinaryElementwiseOp):
    """The greater; NaN where either is."""

    name = "graph.maximum"
    traits = traits_def(Commutative())

    def numpy(self, x: Array, y: Array) -> Array:
        return np.maximum(x, y)

    def scalar(self, b: ScalarBuilder, x: SSAValue, y: SSAValue) -> SSAValue:
        return b.maximum(x, y)

    def simplified(self) -> SSAValue | None:
        """max(x, x) → x"""
        return self.lhs if self.lhs is self.rhs else None


@graph_op
class MinimumOp(BinaryElementwiseOp):
    """The lesser; NaN where either is."""

    name = "graph.minimum"
    traits = traits_def(Commutative())

    def numpy(self, x: Array, y: Array) -> Array:
        return np.minimum(x, y)

    def scalar(self, b: ScalarBuilder, x: SSAValue, y: SSAValue) -> SSAValue:
        return b.minimum(x, y)

    def simplified(self) -> SSAValue | None:
        """min(x, x) → x"""
        return self.lhs if self.lhs is self.rhs else None


@graph_op
class AndOp(BinaryElementwiseOp):
    """Bitwise and; logical on i1."""

    name = "graph.and"
    ELEMENTS: ClassVar = BITS
    traits = traits_def(Commutative())

    def numpy(self, x: Array, y: Array) -> Array:
        return np.bitwise_and(x, y)

    def scalar(self, b: ScalarBuilder, x: SSAValue, y: SSAValue) -> SSAValue:
        return b.bit_and(x, y)

    def simplified(self) -> SSAValue | None:
        """x & x → x, x & y → x where all bits of y are 1"""
        if self.lhs is self.rhs or _has_all_bits(self.rhs):
            return self.lhs
        return self.rhs if _has_all_bits(self.lhs) else None


@graph_op
class OrOp(BinaryElementwiseOp):
    """Bitwise or; logical on i1."""

    name = "graph.or"
    ELEMENTS: ClassVar = BITS
    traits = traits_def(Commutative())

    def numpy(self, x: Array, y: Array) -> Array:
        return np.bitwise_or(x, y)

    def scalar(self, b: ScalarBuilder, x: SSAValue, y: SSAValue) -> SSAValue:
        return b.bit_or(x, y)

    def simplified(self) -> SSAValue | None:
        """x | x → x"""
        return self.lhs if self.lhs is self.rhs else None


@graph_op
class XorOp(BinaryElementwiseOp):
    """Bitwise exclusive or; logical on i1."""

    name = "graph.xor"
    ELEMENTS: ClassVar = BITS
    traits = traits_def(Commutative())

    def numpy(self, x: Array, y: Array) -> Array:
        return np.bitwise_xor(x, y)

    def scalar(self, b: ScalarBuilder, x: SSAValue, y: SSAValue) -> SSAValue:
        return b.bit_xor(x, y)


@graph_op
class LeftShiftOp(BinaryElementwiseOp):
    """x · 2**y, without the bits that leave the type; by its width or more, or by a negative number, 0."""

    name = "graph.left_shift"
    ELEMENTS: ClassVar = INTEGERS

    def numpy(self, x: Array, y: Array) -> Array:
        return np.left_shift(x, y)

    def scalar(self, b: ScalarBuilder, x: SSAValue, y: SSAValue) -> SSAValue:
        return b.shift_left(x, y)


@graph_op
class RightShiftOp(BinaryElementwiseOp):
    """floor(x / 2**y); by the width of the type or more, or by a negative number, 0, or -1 of negative x."""

    name = "graph.right_shift"
    ELEMENTS: ClassVar = INTEGERS

    def numpy(self, x: Array, y: Array) -> Array:
        return np.right_shift(x, y)

    def scalar(self, b: ScalarBuilder, x: SSAValue, y: SSAValue) -> SSAValue:
        return b.shift_right(x, y)


@graph_op
class EqOp(ComparisonOp):
    """x == y; false where either is NaN."""

    name = "graph.eq"
    traits = traits_def(Commutative())

    def numpy(self, x: Array, y: Array) -> Array:
        return np.equal(x, y)

    def scalar(self, b: ScalarBuilder, x: SSAValue, y: SSAValue) -> SSAValue:
        return b.compare("eq", x, y)


@graph_op
class NeOp(ComparisonOp):
    """x != y; true where either is NaN."""

    name = "graph.ne"
    traits = traits_def(Commutative())

    def numpy(self, x: Array, y: Array) -> Array:
        return np.not_equal(x, y)

    def scalar(self, b: ScalarBuilder, x: SSAValue, y: SSAValue) -> SSAValue:
        return b.compare("ne", x, y)


@graph_op
class LtOp(ComparisonOp):
    """x < y"""

    name = "graph.lt"

    def numpy(self, x: Array, y: Array) -> Array:
        return np.less(x, y)

    def scalar(self, b: ScalarBuilder, x: SSAValue, y: SSAValue) -> SSAValue:
        return b.compare("lt", x, y)


@graph_op
class LeOp(ComparisonOp):
    """x <= y"""

    name = "graph.le"

    def numpy(self, x: Array, y: Array) -> Array:
        return np.less_equal(x, y)

    def scalar(self, b: ScalarBuilder, x: SSAValue, y: SSAValue) -> SSAValue:
        return b.compare("le", x, y)


@graph_op
class GtOp(ComparisonOp):
    """x > y"""

    name = "graph.gt"

    def numpy(self, x: Array, y: Array) -> Array:
        return np.greater(x, y)

    def scalar(self, b: ScalarBuilder, x: SSAValue, y: SSAValue) -> SSAValue:
        return b.compare("gt", x, y)


@graph_op
class GeOp(ComparisonOp):
    """x >= y"""

    name = "graph.ge"

    def numpy(self, x: Array, y: Array) -> Array:
        return np.greater_equal(x, y)

    def scalar(self, b: ScalarBuilder, x: SSAValue, y: SSAValue) -> SSAValue:
        return b.compare("ge", x, y)
