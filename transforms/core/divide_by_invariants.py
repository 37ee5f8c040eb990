"""Divisions of many vectors by one number, as a product and a fused multiply-add each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf, prod
from typing import ClassVar, cast

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects import arith, scf, vector
from xdsl.dialects.builtin import ModuleOp, VectorType, i1
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from ...analysis.frames import constant_value
from ...analysis.levels import Level
from ...analysis.operations import block_of, operations_in
from ...analysis.splats import number_in_all_lanes
from ...dialects.dtypes import bit_width
from ...dialects.scalar import EXACT
from ...frozen import frozen
from ...targets.target import Target
from ..numerics import DEFAULT_FP, NumericalEffect, fp_contract
from ..stepwell_pass import StepwellPass
from .polynomials.lanes import Format, Lanes, is_supported

LEAST_DIVISIONS = 16
"""
Registers that one number divides, from which it pays to prepare the reciprocal: that takes about 40 cycles, and a register's
division takes from 4 cycles (f32 in 256 bits on Zen 4) to 16 (f64 in 512 bits on Ice Lake; Agner Fog, Instruction tables).
"""


@frozen
class CoreDivideByInvariantsPass(StepwellPass):
    """
    Divide many vectors by one number, such as one that does not change in a loop, through its reciprocal.

    Before: `x / d`, where `d` has one number in all lanes. After: `fma(x, high, x * low)`, where `high` is 1 / d
    rounded towards zero and `low` the rest of it, both computed where d is. A vector's division keeps its unit busy for
    4 to 16 cycles, each of the two operations for half of one.

    The exact sum of both parts differs from 1 / d by less than 2^(2 - 2p) of it in a format of p bits, so the quotient is
    rounded correctly unless it comes so close to the middle of two floats, which few do; `core-divide-by-constants` tries
    those few for a constant, and nobody can for a number that is not known yet. Quotients that are floats are exact: x / x
    is 1. Zeros, infinities and NaN are as of a division, as both parts have the sign of d. As there, the last bit may be
    another one where the quotient is so small that `x * low` is no normal number (below 2^-968 in f64, 2^-101 in f32).

    A divisor whose reciprocal has no two such parts (zero, infinite, NaN, or of an extreme exponent) divides: each
    vector asks for a bit that does not change. `fp=strict` leaves all divisions, and so does a target without fused
    multiply-add. Divisions marked `stepwell.exact`, those by constants, and those that may become products with the
    reciprocal anyway, stay; so do those by a number that divides fewer than 16 registers.
    """

    name = "core-divide-by-invariants"
    level_in: ClassVar[Level] = Level.CORE
    level_out: ClassVar[Level] = Level.CORE
    numerics: ClassVar[NumericalEffect] = "reassociates"

    fp: str = DEFAULT_FP
    target: str | Target = "host"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if fp_contract(self.fp) == "strict":
            return
        by_divisor: dict[SSAValue, list[arith.DivfOp]] = {}
        for division in operations_in(op):
            if type(division) is arith.DivfOp and _may_multiply(division):
                by_divisor.setdefault(_divisor(division), []).append(division)
        if not by_divisor:
            return
        target = Target.of(self.target)
        if not target.has_fma:
            return
        for divisor, divisions in by_divisor.items():
            if sum(_registers(d, target.vector_bits) for d in divisions) >= LEAST_DIVISIONS:
                _multiply(divisions, _Reciprocal(divisor))


def _may_multiply(op: arith.DivfOp) -> bool:
    return (
        isinstance(op.rhs.owner, vector.BroadcastOp)
        and is_supported(op.result.type)
        and op.rhs.owner.source.type == cast("VectorType[Attribute]", op.result.type).element_type
        and EXACT not in op.attributes
        and FastMathFlag.ALLOW_RECIP not in op.fastmath.data
        and number_in_all_lanes(op.rhs) is None
    )


def _divisor(op: arith.DivfOp) -> SSAValue:
    """The number that is in all lanes of what is divided by."""
    assert isinstance(op.rhs.owner, vector.BroadcastOp)
    return op.rhs.owner.source


def _registers(op: arith.DivfOp, vector_bits: int) -> float:
    """How many registers are divided while the divisor stays the same: infinitely many where a loop's bounds are values."""
    shaped = cast("VectorType[Attribute]", op.result.type)
    registers: float = -(-shaped.element_count() * bit_width(shaped.element_type) // vector_bits)
    return registers * prod(_trips(loop) for loop in _loops_between(op, block_of(_divisor(op))))


def _loops_between(op: Operation, outside: Block | None) -> Iterator[scf.ForOp | scf.ParallelOp]:
    """The loops around an operation that stand in the block, or deeper."""
    inner: Operation | None = op
    while inner is not None and inner.parent is not outside:
        inner = inner.parent_op()
        if isinstance(inner, scf.ForOp | scf.ParallelOp):
            yield inner


def _trips(loop: scf.ForOp | scf.ParallelOp) -> float:
    is_for = isinstance(loop, scf.ForOp)
    axes = (
        [(loop.lb, loop.ub, loop.step)]
        if is_for
        else zip(loop.lowerBound, loop.upperBound, loop.step, strict=True)
    )
    trips: float = 1
    for axis in axes:
        low, high, step = (constant_value(bound) for bound in axis)
        trips *= (
            inf if low is None or high is None or not step else max(-(-(high - low) // step), 0)
        )
    return trips


class _Reciprocal:
    """
    1 / d as the sum of two floats, computed where the number d is known.

    Attributes:
        is_sum: Whether it is such a sum, an `i1`.
    """

    def __init__(self, d: SSAValue):
        owner = d.owner
        place = (
            InsertPoint.at_start(owner) if isinstance(owner, Block) else InsertPoint.after(owner)
        )
        one = Lanes(Builder(place), d.type)
        nearest = one.div(1.0, d)
        # Positive where the nearest float is not beyond 1 / d. Then that is the part rounded towards zero, else the one before.
        left = one.fma(one.neg(nearest), d, 1.0)
        is_within = one.emit(arith.CmpfOp(left, one.real(0.0), "ogt"))
        before = one.from_bits(one.isub(one.bits(nearest), 1))
        high = one.emit(arith.SelectOp(is_within, nearest, before))
        low = one.mul(one.fma(one.neg(high), d, 1.0), high)
        least, most = _magnitudes(one.format)
        magnitude = one.abs(d)
        is_above = one.emit(arith.CmpfOp(magnitude, one.real(least), "ogt"))
        is_below = one.emit(arith.CmpfOp(magnitude, one.real(most), "olt"))
        self.is_sum = one.emit(arith.AndIOp(is_above, is_below, i1))
        self._parts = high, low
        self._filled: dict[SSAValue, tuple[SSAValue, ...]] = {}

    def beside(self, divisors: SSAValue) -> tuple[SSAValue, ...]:
        """Both parts, the greater one first, as vectors, where there is one that has the divisor in all lanes."""
        if divisors not in self._filled:
            assert isinstance(divisors.owner, vector.BroadcastOp)
            builder, type_ = Builder(InsertPoint.after(divisors.owner)), divisors.owner.vector.type
            filled = (builder.insert(vector.BroadcastOp(part, type_)) for part in self._parts)
            self._filled[divisors] = tuple(op.vector for op in filled)
        return self._filled[divisors]


def _magnitudes(numbers: Format) -> tuple[float, float]:
    """Between which both parts of a reciprocal, and what is left of 1 after the first, are normal numbers."""
    return 2.0 ** (3 - numbers.bias), 2.0 ** (numbers.bias - 2 * numbers.mantissa - 10)


def _multiply(divisions: Sequence[arith.DivfOp], by: _Reciprocal) -> None:
    """In place of divisions by one number, products with both parts of its reciprocal where it has these."""
    for op in divisions:
        type_, (high, low) = op.result.type, by.beside(op.rhs)
        multiplied, divided = Block(), Block()
        lanes = Lanes(Builder(InsertPoint.at_end(multiplied)), type_)
        lanes.builder.insert(scf.YieldOp(lanes.fma(op.lhs, high, lanes.mul(op.lhs, low))))
        plain = op.clone()
        divided.add_ops((plain, scf.YieldOp(plain.result)))
        Rewriter.replace_op(op, scf.IfOp(by.is_sum, [type_], Region(multiplied), Region(divided)))
