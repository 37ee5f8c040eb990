"""Divisions by constants: of floats as a product and a fused multiply-add, which give the same quotient; of integers."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from math import frexp, isfinite
from typing import ClassVar, NamedTuple, cast

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects import arith, math, vector
from xdsl.dialects.builtin import (
    Float32Type,
    Float64Type,
    FloatAttr,
    ModuleOp,
    VectorType,
)
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Attribute, OpResult, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.type import get_element_type_or_self

from ...analysis.levels import Level
from ...analysis.operations import INTEGER_DIVISIONS, has_any_of, operations_in
from ...analysis.splats import number_in_all_lanes
from ...dialects.scalar import EXACT
from ...frozen import frozen
from ...targets.target import Target
from ..numerics import DEFAULT_FP, NumericalEffect, fp_contract
from ..stepwell_pass import StepwellPass
from .divide_integers import divide_integers


@frozen
class CoreDivideByConstantsPass(StepwellPass):
    """
    Divide by constants through their reciprocals, where the quotient is proved to be the same.

    Before: `x / c`. After: `fma(x, high, x * low)`, where `high` is 1 / c rounded towards zero and `low` the rest of it,
    rounded. A division keeps its unit busy for 4 to 16 cycles, each of these two operations for half of one.

    The two are right for nearly every constant (N. Brisebarre, J.-M. Muller, S. K. Raina: Accelerating correctly rounded
    floating-point division when the divisor is known in advance, IEEE Transactions on Computers 53, 2004). For each it is
    proved here, by trying the few dividends whose quotients come closest to the middle of two floats; a constant that
    fails keeps its division. Zeros, infinities and NaN are as of a division, too, as both parts have the sign of the
    constant. Only where the quotient is so small that `x * low` has no normal result (below 2^-968 in f64, 2^-101 in f32)
    may its last bit be another one; so `fp=strict` leaves all divisions of floats, and so does a target without fused
    multiply-add. Divisions marked `stepwell.exact`, and those that may become products with the reciprocal anyway, stay.

    Divisions of integers that round down, as Python's and NumPy's do, divide the dividend, complemented where it is
    negative: quotient and remainder then need no correction. 64-bit integers in lanes are multiplied by the reciprocal
    by halves, as no vector unit has that product's upper half and LLVM would divide lane by lane.
    """

    name = "core-divide-by-constants"
    level_in: ClassVar[Level] = Level.CORE
    level_out: ClassVar[Level] = Level.CORE
    numerics: ClassVar[NumericalEffect] = "reassociates"

    fp: str = DEFAULT_FP
    target: str | Target = "host"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        is_strict = fp_contract(self.fp) == "strict"
        operations = operations_in(op)
        if not has_any_of(operations, (arith.DivfOp, *INTEGER_DIVISIONS)):
            return
        divisions = [o for o in operations if type(o) is arith.DivfOp]
        found = [(o, c) for o in divisions if (c := _divided_by(o)) is not None]
        divide_integers(operations)
        if is_strict:
            return
        if not found or not Target.of(self.target).has_fma:
            return
        for division, reciprocal in found:
            _multiply(division, reciprocal)


class Reciprocal(NamedTuple):
    """1 / c as the sum of two floats of the same sign."""

    high: float
    low: float


class _Format(NamedTuple):
    """A format of floats: bits of the significand, and the exponents of constants that both parts are normal for."""

    precision: int
    exponents: range


_SINGLE, _DOUBLE = _Format(24, range(-60, 60)), _Format(53, range(-900, 900))


def _divided_by(op: arith.DivfOp) -> Reciprocal | None:
    """How a division by a constant can be multiplied; None for other divisions, and where no two products do it."""
    if EXACT in op.attributes:
        return None
    if FastMathFlag.ALLOW_RECIP in op.fastmath.data:
        return None
    element = get_element_type_or_self(op.result.type)
    divisor = number_in_all_lanes(op.rhs)
    if divisor is None or not isinstance(element, Float32Type | Float64Type):
        return None
    return reciprocal(divisor, isinstance(element, Float32Type))


def _multiply(op: arith.DivfOp, by: Reciprocal) -> None:
    assert isinstance(op.rhs, OpResult)
    # Beside the divisor, which stands before the loops that do not change it.
    outside = Builder(InsertPoint.after(op.rhs.op))
    high, low = (_filled(outside, part, op.result.type) for part in by)
    product = arith.MulfOp(op.lhs, low)
    quotient = math.FmaOp(op.lhs, high, product.result)
    Rewriter.replace_op(op, (product, quotient))


def _filled(builder: Builder, number: float, type_: Attribute) -> SSAValue:
    """A constant of a type, or a vector with the number in all lanes."""
    element = get_element_type_or_self(type_)
    attribute = FloatAttr(number, cast("Float32Type | Float64Type", element))
    constant = builder.insert(arith.ConstantOp(attribute)).result
    if not isinstance(type_, VectorType):
        return constant
    return builder.insert(vector.BroadcastOp(constant, cast("VectorType[Attribute]", type_))).vector


# The proof.


@lru_cache(maxsize=1024)
def reciprocal(c: float, is_single: bool) -> Reciprocal | None:
    """
    Two floats with `fma(x, high, x * low)` = x / c, correctly rounded, for all floats x of f32 or f64.

    None where c is a power of two, whose reciprocal is one float, not finite or of an extreme exponent, or where some
    quotient would be rounded the other way.
    """
    precision, exponents = _SINGLE if is_single else _DOUBLE
    if not isfinite(c) or c == 0 or abs(frexp(c)[0]) == 0.5 or frexp(c)[1] not in exponents:
        return None
    magnitude = Fraction(abs(c))
    inverse = 1 / magnitude
    high = rounded(inverse, precision, towards_zero=True)
    low = rounded(inverse - high, precision)
    for x in hard_dividends(magnitude, precision):
        approximated = x * high + rounded(x * low, precision)
        if rounded(approximated, precision) != rounded(x / magnitude, precision):
            return None
    sign = 1 if c > 0 else -1
    return Reciprocal(sign * float(high), sign * float(low))


def hard_dividends(c: Fraction, precision: int) -> Iterator[Fraction]:
    """
    The dividends, up to powers of two, whose quotients by c are so near to the middle m of two floats that an error of the
    sum before it is rounded could tip them.

    With both scaled to [1, 2) as X / 2^(p-1) and Y / 2^(p-1), that error is below 2^(1-2p): half a unit in the last place
    of `low`, which is below 2^(-2p-1), times x, and of x * low, 2^(-2p). With m = (2M + 1) / 2^k, where k is p for
    quotients from 1 and p + 1 for those below, x / c - m = d / (2^k Y) for the whole number d = 2^k X - (2M + 1) Y, which
    is not zero, as 2^k would have to divide Y. So |d| < 2 or |d| < 4, and d is known of 2M + 1 modulo 2^k.
    """
    significand = c
    while significand >= 2:
        significand /= 2
    while significand < 1:
        significand *= 2
    y = int(significand * 2 ** (precision - 1))
    least = 1 << (precision - 1)
    for k, far in ((precision, 2), (precision + 1, 4)):
        for d in (*range(-far + 1, 0), *range(1, far)):
            for odd in _odd_factors(y, d, k, precision):
                numerator = d + odd * y
                x, rest = divmod(numerator, 1 << k)
                if rest == 0 and least <= x < 2 * least and (x >= y) == (k == precision):
                    yield Fraction(x, least)


def _odd_factors(y: int, d: int, k: int, precision: int) -> Iterator[int]:
    """The odd numbers n of p + 1 bits with n * y = -d modulo 2^k."""
    shared = (y & -y).bit_length() - 1
    if d % (1 << shared) or shared >= k:
        return
    modulus = 1 << (k - shared)
    n = -(d >> shared) * pow(y >> shared, -1, modulus) % modulus
    first = n + ((1 << precision) - n + modulus - 1) // modulus * modulus
    yield from (m for m in range(first, 1 << (precision + 1), modulus) if m % 2)


def rounded(value: Fraction, precision: int, *, towards_zero: bool = False) -> Fraction:
    """A positive number as a float of so many bits, of any exponent: to nearest and ties to even, or towards zero."""
    exponent = value.numerator.bit_length() - value.denominator.bit_length() - precision
    while value >= Fraction(2) ** (exponent + precision):
        exponent += 1
    while value < Fraction(2) ** (exponent + precision - 1):
        exponent -= 1
    unit = Fraction(2) ** exponent
    whole = value // unit if towards_zero else round(value / unit)
    return whole * unit
