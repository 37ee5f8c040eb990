"""Math operations as arithmetic: transcendental functions, and integer powers."""

from __future__ import annotations

from typing import ClassVar, cast

from xdsl.builder import Builder, ImplicitBuilder
from xdsl.context import Context
from xdsl.dialects import arith, math, scf, vector
from xdsl.dialects.builtin import IndexType, IntegerAttr, IntegerType, ModuleOp, VectorType
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint

from ...analysis.frames import constant_value
from ...analysis.levels import Level
from ...analysis.operations import block_of, operations_of_kinds
from ...errors import StepwellError
from ...frozen import frozen
from ..numerics import DEFAULT_FP, FpContract, NumericalEffect, fp_contract
from ..stepwell_pass import StepwellPass
from .invariants import move_before_loops, varies_in_part
from .polynomials.functions import FUNCTIONS, can_expand, expansion
from .polynomials.idioms import ENDS_OF_IDIOMS, match_idiom
from .polynomials.lanes import Lanes
from .polynomials.power import powf_of_one_base


@frozen
class CoreExpandMathPass(StepwellPass):
    """
    Expand transcendental functions into polynomials, and integer powers into square-and-multiply.

    `fp` is the numerical contract. `strict` leaves the functions to the C library, lane by lane on vectors.
    `contract` (default) expands those of f32 and f64, scalars and 1-D vectors, within the bounds of
    polynomials/functions.py. `fast` does so too, but sin, cos and tan are then right within their reach only. What has
    no polynomial stays as it is, for the C library. Of a power or another function of two operands, what depends on one
    that a loop does not change, as the logarithm of the base, is computed before the loop; of a base that is one number there,
    powers ask for special cases (zeros, infinities, NaN, 1, negative numbers) only where it is one of these.

    Raises StepwellError for an integer power of vectors, and leaves the module as it was.
    """

    name = "core-expand-math"
    level_in: ClassVar[Level] = Level.CORE
    level_out: ClassVar[Level] = Level.CORE
    numerics: ClassVar[NumericalEffect] = "approximates"

    fp: str = DEFAULT_FP

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        expand_math(op, fp_contract(self.fp))


def expand_math(module: ModuleOp, fp: FpContract = "strict") -> None:
    """What the pass does, on a module in place."""
    powers: list[math.IPowIOp] = []
    functions: list[Operation] = []
    idioms: list[Operation] = []
    for op in operations_of_kinds(module, _KINDS):
        if type(op) is math.IPowIOp:
            _check_power(op)
            powers.append(op)
        elif fp == "strict":
            continue
        elif can_expand(op):
            functions.append(op)
        elif match_idiom(op) is not None:
            idioms.append(op)
    for op in powers:
        _expand_power(op)
    for op in idioms:
        _expand_idiom(op)
    for op in functions:
        if op.parent is not None:
            _expand_function(op, fp)


_KINDS = frozenset((math.IPowIOp, *FUNCTIONS, *ENDS_OF_IDIOMS))


def _check_power(op: math.IPowIOp) -> None:
    if not isinstance(op.result.type, IntegerType | IndexType):
        raise StepwellError(
            f"found math.ipowi on {op.result.type}, expected integers; unroll the vector first",
            op=op,
        )


def _expand_function(op: Operation, fp: FpContract) -> None:
    before, is_mixed = op.prev_op, varies_in_part(op)
    b = Lanes(Builder(InsertPoint.before(op)), op.results[0].type)
    base = _number_before_loop(op) if is_mixed and isinstance(op, math.PowFOp) else None
    if base is not None:
        value = powf_of_one_base(b, base, *op.operands)
    else:
        value = expansion(b, op, everywhere=fp != "fast")
    if is_mixed:
        move_before_loops(_between(before, op))
    _replace(op, value)


def _number_before_loop(op: math.PowFOp) -> SSAValue | None:
    """The base of powers, where it is one number that the loop they are computed in does not change."""
    base = op.lhs
    if block_of(base) is op.parent:
        return None
    if isinstance(base.owner, vector.BroadcastOp):
        source = base.owner.source
        return None if isinstance(source.type, VectorType) else source
    return None if isinstance(base.type, VectorType) else base


def _between(before: Operation | None, op: Operation) -> list[Operation]:
    """The operations of a block in front of `op`, back to `before` without it."""
    found: list[Operation] = []
    previous = op.prev_op
    while previous is not before and previous is not None:
        found.append(previous)
        previous = previous.prev_op
    return found[::-1]


def _expand_idiom(op: Operation) -> None:
    idiom = match_idiom(op) if op.parent is not None else None
    if idiom is not None:
        function, x = idiom
        _replace(op, function.build(Lanes(Builder(InsertPoint.before(op)), x.type), x))


def _replace(op: Operation, value: SSAValue) -> None:
    """Put the value in the place of an operation's result; what only that needed goes with it."""
    value.name_hint = op.results[0].name_hint
    op.results[0].replace_all_uses_with(value)
    _erase_dead(op)


def _erase_dead(op: Operation) -> None:
    operands = op.operands
    op.detach()
    op.erase()
    for operand in operands:
        owner = operand.owner
        if isinstance(owner, _PURE) and all(r.first_use is None for r in owner.results):
            _erase_dead(owner)


_PURE = arith.AddfOp | arith.DivfOp | arith.MulfOp | arith.NegfOp | math.ErfOp | math.ExpOp
"""The operations of idioms."""


def _expand_power(op: math.IPowIOp) -> None:
    block = op.parent
    assert block is not None
    scratch = Block()
    with ImplicitBuilder(scratch):
        result = _power(op.lhs, op.rhs)
    result.name_hint = op.result.name_hint
    block.insert_ops_before(_take_all(scratch), op)
    op.result.replace_all_uses_with(result)
    op.detach()
    op.erase()


def _take_all(block: Block) -> list[Operation]:
    ops = list(block.ops)
    for op in ops:
        op.detach()
    return ops


def _constant(value: int, type_: Attribute, name: str) -> SSAValue:
    op = arith.ConstantOp(IntegerAttr(value, cast("IntegerType | IndexType", type_)))
    op.result.name_hint = name
    return op.result


def _power(base: SSAValue, exponent: SSAValue) -> SSAValue:
    """
    base ** exponent, wrapping. A negative exponent gives the truncated fraction: 0 but for base 1 and -1.

    The bits of the exponent are taken from the lowest up: Knuth, TAOCP vol. 2, 4.6.3, algorithm A.
    """
    known = constant_value(exponent)
    if known is not None and known >= 0:
        return _power_of_known(base, known)
    type_ = base.type
    zero, one = _constant(0, type_, "zero"), _constant(1, type_, "one")
    reciprocal = _reciprocal_power(base, exponent, zero, one)
    if known is not None:
        return reciprocal
    is_negative = arith.CmpiOp(exponent, zero, "slt").result
    is_negative.name_hint = "is_negative"
    bits = arith.SelectOp(is_negative, zero, exponent).result
    power = _power_loop(base, bits, zero, one)
    return arith.SelectOp(is_negative, reciprocal, power).result


def _power_of_known(base: SSAValue, exponent: int) -> SSAValue:
    """Straight-line code, which LLVM can vectorize."""
    result: SSAValue | None = None
    factor = base
    while exponent:
        if exponent & 1:
            result = factor if result is None else arith.MuliOp(result, factor).result
        exponent >>= 1
        if exponent:
            factor = arith.MuliOp(factor, factor).result
    return _constant(1, base.type, "one") if result is None else result


def _reciprocal_power(
    base: SSAValue, exponent: SSAValue, zero: SSAValue, one: SSAValue
) -> SSAValue:
    """base ** exponent for a negative exponent."""
    minus_one = _constant(-1, base.type, "minus_one")
    is_odd = _is_odd(exponent, zero, one)
    sign = arith.SelectOp(is_odd, minus_one, one).result
    is_minus_one = arith.CmpiOp(base, minus_one, "eq").result
    is_one = arith.CmpiOp(base, one, "eq").result
    unless_one = arith.SelectOp(is_minus_one, sign, zero).result
    return arith.SelectOp(is_one, one, unless_one).result


def _is_odd(value: SSAValue, zero: SSAValue, one: SSAValue) -> SSAValue:
    return arith.CmpiOp(arith.AndIOp(value, one).result, zero, "ne").result


def _power_loop(base: SSAValue, bits: SSAValue, zero: SSAValue, one: SSAValue) -> SSAValue:
    """
    while bits: power *= factor if bits & 1; factor *= factor; bits >>= 1
    """
    types = (base.type,) * 3
    before, after = Block(arg_types=types), Block(arg_types=types)
    for block in (before, after):
        for arg, name in zip(block.args, ("power", "factor", "bits"), strict=True):
            arg.name_hint = name
    with ImplicitBuilder(before):
        left = arith.CmpiOp(before.args[2], zero, "ne")
        scf.ConditionOp(left, *before.args)
    with ImplicitBuilder(after) as (power, factor, remaining):
        product = arith.MuliOp(power, factor)
        following = arith.SelectOp(_is_odd(remaining, zero, one), product, power)
        square = arith.MuliOp(factor, factor)
        scf.YieldOp(following, square, arith.ShRUIOp(remaining, one))
    loop = scf.WhileOp((one, base, bits), types, Region(before), Region(after))
    return loop.results[0]
