"""
Arithmetic on f32 and f64, on scalars and on vectors by the same code.

There are no comparisons: xDSL 0.74 has `arith.cmpf`, `arith.cmpi` and `arith.select` on scalars only. A
mask is an integer of all ones or zeros, made from a sign bit; LLVM turns it into compares and blends.
None of the operations made here carries fast-math flags.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import TypeGuard, cast

from xdsl.builder import Builder
from xdsl.dialects import arith, math, vector
from xdsl.dialects.builtin import (
    AnyFloat,
    DenseIntOrFPElementsAttr,
    Float32Type,
    Float64Type,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    VectorType,
    f64,
    i32,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue

from ....dialects.leaf_operations import inserted, leaf, splat
from ....dialects.type_memo import remembered
from ....frozen import frozen

Real = SSAValue | float
"""A value, or a number that becomes a constant."""
Integer = SSAValue | int

_NONE: Mapping[str, Attribute] = MappingProxyType({})


@frozen
class Format:
    """An IEEE 754 binary format."""

    width: int
    mantissa: int
    bias: int
    code: str

    @property
    def round_magic(self) -> float:
        """1.5 · 2**mantissa: a sum with it is rounded to an integer, which its low bits hold."""
        return 1.5 * 2.0**self.mantissa

    @property
    def sign_bit(self) -> int:
        return -(1 << (self.width - 1))

    @property
    def smallest_normal(self) -> int:
        """The bits of the smallest normal number."""
        return 1 << self.mantissa

    @property
    def infinity(self) -> int:
        """The bits of infinity."""
        return (2 * self.bias + 1) << self.mantissa

    def bits(self, value: float) -> int:
        """The bits of a number of this format, read as a signed integer."""
        integer = "i" if self.width == 32 else "q"
        return struct.unpack(f"<{integer}", struct.pack(f"<{self.code}", value))[0]


SINGLE = Format(32, 23, 127, "f")
DOUBLE = Format(64, 52, 1023, "d")


def is_supported(type_: Attribute) -> bool:
    """Whether the type is f32, f64 or a 1-D vector of them of known length."""
    if isinstance(type_, VectorType):
        shaped = cast("VectorType[Attribute]", type_)
        if len(shaped.shape) != 1 or any(flag.value.data for flag in shaped.scalable_dims):
            return False
        type_ = shaped.element_type
    return isinstance(type_, Float32Type | Float64Type)


def element_of(type_: Attribute) -> Attribute:
    """Of a vector, or the type itself."""
    return type_.element_type if is_vector(type_) else type_


def is_vector(type_: Attribute) -> TypeGuard[VectorType[Attribute]]:
    return type(type_) is VectorType


@remembered
def _integers_of(type_: Attribute) -> Attribute:
    """The type with integers of the size of its floats."""
    return _with_element(type_, i32 if isinstance(element_of(type_), Float32Type) else i64)


@lru_cache
def _with_element(type_: Attribute, element: Attribute) -> Attribute:
    """The type with other elements."""
    if not is_vector(type_):
        return element
    return VectorType(element, type_.get_shape())


@lru_cache(maxsize=256)
def _number(type_: Attribute, bits: int, value: float) -> Attribute:
    """
    The constant of a type with a number in all lanes, of which `bits` tell equal ones apart; the element where these have
    no text of their own.
    """
    element = element_of(type_)
    if isinstance(element, IntegerType):
        whole = int(value)
        return (
            splat(type_, whole)
            if is_vector(type_)
            else IntegerAttr(whole, cast("IntegerType", element))
        )
    float_type = cast("AnyFloat", element)
    (rounded,) = float_type.unpack(float_type.pack((value,)), 1)
    # Others are printed as 0x…, which xDSL 0.74 reads back as an integer inside `dense`.
    has_text = not rounded.is_integer() or abs(rounded) < 1e5
    return (
        splat(type_, rounded) if is_vector(type_) and has_text else FloatAttr(rounded, float_type)
    )


class Lanes:
    """
    Builds operations on values of one floating-point type, a scalar or a vector.

    Python numbers as operands become constants, one of each value.
    """

    def __init__(self, builder: Builder, type_: Attribute):
        single = self.holds_single(type_)
        self.builder = builder
        self.format = SINGLE if single else DOUBLE
        self.type = type_
        self.integers = _integers_of(type_)
        self._reals: dict[int, SSAValue] = {}
        """constants, by their bits: an attribute takes longer to hash"""
        self._integers: dict[int, SSAValue] = {}

    @staticmethod
    def holds_single(type_: Attribute) -> bool:
        """Whether the elements are f32."""
        return isinstance(element_of(type_), Float32Type)

    @staticmethod
    def same_number(type_: Attribute, a: float, b: float) -> bool:
        """Whether two numbers round to the same one of the type."""
        numbers = SINGLE if Lanes.holds_single(type_) else DOUBLE
        return numbers.bits(a) == numbers.bits(b)

    @property
    def is_single(self) -> bool:
        return self.format is SINGLE

    def widened(self) -> Lanes:
        """The same lanes in f64."""
        return Lanes(self.builder, _with_element(self.type, f64))

    def widen(self, value: SSAValue) -> SSAValue:
        """An f32 in these lanes of f64."""
        return self.emit(arith.ExtFOp(value, self.type))

    def narrowed(self, value: SSAValue) -> SSAValue:
        """An f64 in these lanes of f32."""
        return self.emit(arith.TruncFOp(value, self.type))

    def emit(self, op: Operation) -> SSAValue:
        (result,) = inserted(self.builder, op).results
        return result

    # Constants.

    def real(self, value: Real) -> SSAValue:
        if isinstance(value, SSAValue):
            return value
        bits = self.format.bits(value)
        known = self._reals.get(bits)
        if known is None:
            known = self._constant(_number(self.type, bits, value), self.type)
            self._reals[bits] = known
        return known

    def integer(self, value: Integer) -> SSAValue:
        if isinstance(value, SSAValue):
            return value
        known = self._integers.get(value)
        if known is None:
            half = 1 << (self.format.width - 1)
            signed = (value + half) % (2 * half) - half
            known = self._constant(_number(self.integers, value, signed), self.integers)
            self._integers[value] = known
        return known

    def _constant(self, value: Attribute, type_: Attribute) -> SSAValue:
        properties = {"value": value}
        if type(value) is DenseIntOrFPElementsAttr or not is_vector(type_):
            return self._of(arith.ConstantOp, (), type_, properties)
        scalar = self._of(arith.ConstantOp, (), element_of(type_), properties)
        return self._of(vector.BroadcastOp, (scalar,), type_)

    def _of(
        self,
        kind: type[Operation],
        operands: Sequence[SSAValue],
        type_: Attribute,
        properties: Mapping[str, Attribute] = _NONE,
    ) -> SSAValue:
        """The result of an operation, which is made without what xDSL's constructors find out of their arguments."""
        return self.emit(leaf(kind, operands, (type_,), properties))

    # Floats.

    def add(self, a: Real, b: Real) -> SSAValue:
        return self._of(arith.AddfOp, (self.real(a), self.real(b)), self.type)

    def sub(self, a: Real, b: Real) -> SSAValue:
        return self._of(arith.SubfOp, (self.real(a), self.real(b)), self.type)

    def mul(self, a: Real, b: Real) -> SSAValue:
        return self._of(arith.MulfOp, (self.real(a), self.real(b)), self.type)

    def div(self, a: Real, b: Real) -> SSAValue:
        return self._of(arith.DivfOp, (self.real(a), self.real(b)), self.type)

    def neg(self, a: Real) -> SSAValue:
        return self._of(arith.NegfOp, (self.real(a),), self.type)

    def fma(self, a: Real, b: Real, c: Real) -> SSAValue:
        """a · b + c, rounded once."""
        return self._of(math.FmaOp, (self.real(a), self.real(b), self.real(c)), self.type)

    def reciprocal_of_sum(self, big: SSAValue, small: SSAValue) -> tuple[SSAValue, SSAValue]:
        """
        t = 1 / (big + small) nearly, and e such that t·(1 + e) is that quotient to about twice the precision.

        Dekker's fast two-sum finds what the sum lost: |big| >= |small|.
        """
        total = self.add(big, small)
        lost = self.sub(small, self.sub(total, big))
        t = self.div(1.0, total)
        left = self.neg(t)
        return t, self.fma(left, lost, self.fma(left, total, 1.0))

    def minimum(self, a: Real, b: Real) -> SSAValue:
        """NaN where either is."""
        return self._of(arith.MinimumfOp, (self.real(a), self.real(b)), self.type)

    def maximum(self, a: Real, b: Real) -> SSAValue:
        return self._of(arith.MaximumfOp, (self.real(a), self.real(b)), self.type)

    def clamp(self, x: Real, low: float, high: float) -> SSAValue:
        return self.minimum(self.maximum(x, low), high)

    def abs(self, a: Real) -> SSAValue:
        return self.emit(math.AbsFOp(self.real(a)))

    def trunc(self, a: Real) -> SSAValue:
        return self.emit(math.TruncOp(self.real(a)))

    def copysign(self, magnitude: Real, sign: Real) -> SSAValue:
        return self.emit(math.CopySignOp(self.real(magnitude), self.real(sign)))

    def horner(self, x: SSAValue, coefficients: Sequence[Real]) -> SSAValue:
        """The polynomial with these coefficients, the lowest first."""
        value: Real = coefficients[-1]
        for coefficient in reversed(coefficients[:-1]):
            value = self.fma(value, x, coefficient)
        return self.real(value)

    def paired(self, x: SSAValue, coefficients: Sequence[float], alone: int) -> SSAValue:
        """
        The same polynomial in about half the time from x to the result, for one product more.

        Horner's rule in x² for pairs of terms, which do not wait for each other: the first step of Estrin's. The
        lowest terms stay `alone`, for what the pairs lose of exactness then counts for less.
        """
        rest = range(alone, len(coefficients), 2)
        pairs = [self.horner(x, coefficients[at : at + 2]) for at in rest]
        return self.horner(x, (*coefficients[:alone], self.horner(self.mul(x, x), pairs)))

    # Bits.

    def bits(self, a: Real) -> SSAValue:
        return self._of(arith.BitcastOp, (self.real(a),), self.integers)

    def from_bits(self, a: Integer) -> SSAValue:
        return self._of(arith.BitcastOp, (self.integer(a),), self.type)

    def iadd(self, a: Integer, b: Integer) -> SSAValue:
        return self._of(arith.AddiOp, (self.integer(a), self.integer(b)), self.integers)

    def isub(self, a: Integer, b: Integer) -> SSAValue:
        return self._of(arith.SubiOp, (self.integer(a), self.integer(b)), self.integers)

    def iand(self, a: Integer, b: Integer) -> SSAValue:
        return self._of(arith.AndIOp, (self.integer(a), self.integer(b)), self.integers)

    def ior(self, a: Integer, b: Integer) -> SSAValue:
        return self._of(arith.OrIOp, (self.integer(a), self.integer(b)), self.integers)

    def ixor(self, a: Integer, b: Integer) -> SSAValue:
        return self._of(arith.XOrIOp, (self.integer(a), self.integer(b)), self.integers)

    def shl(self, a: Integer, count: int) -> SSAValue:
        return self._of(arith.ShLIOp, (self.integer(a), self.integer(count)), self.integers)

    def shift_right(self, a: Integer, count: int) -> SSAValue:
        """With copies of the sign bit."""
        return self._of(arith.ShRSIOp, (self.integer(a), self.integer(count)), self.integers)

    def shift_right_zeros(self, a: Integer, count: int) -> SSAValue:
        return self._of(arith.ShRUIOp, (self.integer(a), self.integer(count)), self.integers)

    def imin(self, a: Integer, b: Integer) -> SSAValue:
        """The smaller of two signed integers."""
        return self._of(arith.MinSIOp, (self.integer(a), self.integer(b)), self.integers)

    def imax(self, a: Integer, b: Integer) -> SSAValue:
        """The larger of two signed integers."""
        return self._of(arith.MaxSIOp, (self.integer(a), self.integer(b)), self.integers)

    # Masks.

    def where_negative(self, a: SSAValue) -> SSAValue:
        """All ones where the integer, or the sign bit of the float, says negative."""
        integer = a if a.type == self.integers else self.bits(a)
        return self.shift_right(integer, self.format.width - 1)

    def select_bits(self, mask: SSAValue, a: Integer, b: Integer) -> SSAValue:
        """mask ? a : b"""
        taken = self.iand(mask, a)
        return self.ior(taken, self.iand(self.ixor(mask, -1), b))

    def select(self, mask: SSAValue, a: Real, b: Real) -> SSAValue:
        return self.from_bits(self.select_bits(mask, self._raw(a), self._raw(b)))

    def _raw(self, a: Real) -> Integer:
        return self.bits(a) if isinstance(a, SSAValue) else self.format.bits(a)

    def where_nonzero(self, a: SSAValue) -> SSAValue:
        """All ones where the integer is not 0."""
        return self.where_negative(self.ior(a, self.isub(0, a)))
