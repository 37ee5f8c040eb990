"""Maxima and minima of floats as two comparisons, whose results are joined bit by bit."""

from __future__ import annotations

from math import copysign, inf, isnan
from typing import ClassVar, Literal

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects import arith, scf, vector
from xdsl.dialects.builtin import ModuleOp, VectorType
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from ...analysis.float_ranges import FloatRanges
from ...analysis.levels import Level
from ...analysis.operations import operations_of_kinds
from ...analysis.splats import number_in_all_lanes
from ...dialects.leaf_operations import leaf
from ...dialects.scalar import SECOND_IS_NUMBER
from ...dialects.upstream.arith import VectorCmpfOp, VectorSelectOp
from ...frozen import frozen
from ...targets.target import Target
from ..stepwell_pass import StepwellPass
from .polynomials.lanes import Lanes, is_supported

Extreme = arith.MaximumfOp | arith.MinimumfOp | arith.MaxnumfOp
_EXTREMES = frozenset((*Extreme.__args__, vector.ReductionOp))

_PERMISSIVE = frozenset((FastMathFlag.NO_NANS, FastMathFlag.NO_SIGNED_ZEROS))
"""Flags with which fewer instructions do."""

_EITHER_ZERO = arith.FastMathFlagsAttr([FastMathFlag.NO_SIGNED_ZEROS])


@frozen
class CoreExpandExtremesPass(StepwellPass):
    """
    Expand maxima and minima of floats, which are NaN where one operand is, into x86's instructions.

    Before: `arith.minimumf %a, %b`. After: `bits(%a < %b ? %a : %b) | bits(%b < %a ? %b : %a)`.

    `a < b ? a : b` is x86's `minps a, b`: where a or b is NaN, and where both are zeros, it is b. So the two differ there
    alone. All bits of the exponent of a NaN are ones, which stay in any union; and the union of two zeros is negative if one
    of them is (A. Haas et al., "Bringing the Web up to Speed with WebAssembly", PLDI 2017, has this of its engines). Of a
    maximum's zeros the sign must be that of both: it is taken from the intersection of the operands where one instruction
    takes any function of three operands' bits (AVX-512), and made by a subtraction otherwise: -0 - -0 is 0. LLVM's own
    sequence orders the operands by sign, and asks then whether the first is NaN: six instructions behind one another,
    where these are three for a minimum and five for a maximum.

    A maximum with the constant 0 is what rectifiers and clips take: `maxps 0, b` is b where b is NaN or -0, and added to 0 this
    -0 becomes 0, and nothing else changes. LLVM has three instructions for it.

    A maximum of numbers, `arith.maxnumf %a, %b`, of which b is marked to be one, is `a > b ? a : b`: b where a is NaN. Lanes
    that are reduced so become numbers by a maximum with -inf.

    A `target` that is no x86 has an instruction for each. Left to LLVM is what is shorter there: where an operand is
    proved to be any other number, and where flags allow either zero.
    """

    name = "core-expand-extremes"
    level_in: ClassVar[Level] = Level.CORE
    level_out: ClassVar[Level] = Level.CORE

    target: str | Target = "host"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        found = operations_of_kinds(op, _EXTREMES)
        target = Target.of(self.target) if found else None
        if target is None or not target.triple.startswith("x86_64"):
            return
        ranges = FloatRanges()
        for reduction in [each for each in found if isinstance(each, vector.ReductionOp)]:
            _reduce_numbers(reduction)
        plans = [(each, _plan(each, ranges)) for each in found if isinstance(each, Extreme)]
        for extreme, plan in plans:
            if plan == "with zero":
                _expand_with_zero(extreme)
            elif plan == "with number":
                lanes = Lanes(Builder(InsertPoint.before(extreme)), extreme.result.type)
                Rewriter.replace_op(extreme, [], [_chosen(lanes, "ogt", extreme.lhs, extreme.rhs)])
            elif plan == "alike":
                _expand(extreme, has_any_function_of_bits=target.vector_bits >= 512)


def _plan(op: Extreme, ranges: FloatRanges) -> Literal["with zero", "with number", "alike"] | None:
    """
    How an extreme is expanded: as a maximum with 0 or with a number, or as one of operands that are treated alike; None for
    not at all.
    """
    if not is_supported(op.result.type):
        return None
    if isinstance(op, arith.MaxnumfOp):
        return "with number" if SECOND_IS_NUMBER in op.attributes else None
    if _PERMISSIVE & {*op.fastmath.data}:
        return None
    if ranges.of(op.lhs) is None and ranges.of(op.rhs) is None:
        return "alike"
    if not isinstance(op, arith.MaximumfOp):
        return None
    sides = (op.lhs, op.rhs), (op.rhs, op.lhs)
    return "with zero" if any(_is_zero(a) and ranges.of(b) is None for a, b in sides) else None


def _reduce_numbers(op: vector.ReductionOp) -> None:
    """
    A maximum of numbers over lanes, of which those that may be NaN are made the least number first: LLVM asks at each step
    otherwise.
    """
    is_maximum = op.kind.data is vector.CombiningKindFlag.MAXNUMF
    if not is_maximum or SECOND_IS_NUMBER not in op.attributes or not is_supported(op.vector.type):
        return
    if not _is_number(op.vector):
        lanes = Lanes(Builder(InsertPoint.before(op)), op.vector.type)
        op.operands[0] = _chosen(lanes, "ogt", op.vector, lanes.real(-inf))
    op.fastmath = arith.FastMathFlagsAttr([*op.fastmath.data, FastMathFlag.NO_NANS])


def _is_number(value: SSAValue) -> bool:
    """Whether no lane is NaN: of a constant, and of maxima that are marked, which loops go on with."""
    match value.owner:
        case scf.ForOp() as loop:
            number = loop.results.index(value)
            last = loop.body.block.last_op
            assert isinstance(last, scf.YieldOp)
            return _is_number(loop.iter_args[number]) and _is_number(last.operands[number])
        case arith.MaxnumfOp() as op:
            return SECOND_IS_NUMBER in op.attributes
        case _:
            number = number_in_all_lanes(value)
            return number is not None and not isnan(number)


def _is_zero(value: SSAValue) -> bool:
    """Whether a constant is 0 in all lanes, and not -0."""
    number = number_in_all_lanes(value)
    return number == 0 and copysign(1, number) == 1


def _expand_with_zero(op: Extreme) -> None:
    lanes = Lanes(Builder(InsertPoint.before(op)), op.result.type)
    flags = {"fastmath": _EITHER_ZERO}
    either = leaf(arith.MaximumfOp, (op.lhs, op.rhs), (op.result.type,), flags)
    Rewriter.replace_op(op, [], [lanes.add(lanes.emit(either), 0.0)])


def _expand(op: Extreme, *, has_any_function_of_bits: bool) -> None:
    lanes = Lanes(Builder(InsertPoint.before(op)), op.result.type)
    a, b = op.lhs, op.rhs
    predicate = "olt" if isinstance(op, arith.MinimumfOp) else "ogt"
    one, other = (lanes.bits(_chosen(lanes, predicate, *pair)) for pair in ((a, b), (b, a)))
    result = lanes.from_bits(lanes.ior(one, other))
    if isinstance(op, arith.MaximumfOp) and has_any_function_of_bits:
        signs = lanes.from_bits(lanes.iand(lanes.bits(a), lanes.bits(b)))
        result = lanes.copysign(result, signs)
    elif isinstance(op, arith.MaximumfOp):
        result = lanes.sub(result, lanes.from_bits(lanes.ixor(one, other)))
    Rewriter.replace_op(op, [], [result])


def _chosen(lanes: Lanes, predicate: str, a: SSAValue, b: SSAValue) -> SSAValue:
    """a where it compares so with b, and b otherwise: one instruction of x86."""
    if isinstance(a.type, VectorType):
        return lanes.emit(VectorSelectOp(lanes.emit(VectorCmpfOp(a, b, predicate)), a, b))
    return lanes.emit(arith.SelectOp(lanes.emit(arith.CmpfOp(a, b, predicate)), a, b))
