"""Sums of integers that were made floats, added up as integers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar, NamedTuple, cast

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import IntegerAttr, IntegerType, ModuleOp, VectorType
from xdsl.ir import Attribute, Operation, OpResult, SSAValue
from xdsl.rewriter import InsertPoint
from xdsl.utils.type import get_element_type_or_self

from ...analysis.float_ranges import constant_range
from ...analysis.levels import Level
from ...analysis.operations import operations_in, operations_of_kinds
from ...dialects.dtypes import bit_width, significand_bits
from ...dialects.upstream.arith_casts import CASTS, VectorSIToFPOp, VectorUIToFPOp
from ...frozen import frozen
from ..stepwell_pass import StepwellPass

WIDEST_SOURCE = 16
"""Bits of the integers that are added up; sums of more have no room in 32."""

_FROM_UNSIGNED = (arith.UIToFPOp, VectorUIToFPOp)
_FROM_SIGNED = (arith.SIToFPOp, VectorSIToFPOp)
_CASTS = frozenset(_FROM_UNSIGNED + _FROM_SIGNED)
_AS_INTEGERS: dict[type[Operation], type[arith.AddiOp | arith.SubiOp | arith.MuliOp]] = {
    arith.AddfOp: arith.AddiOp,
    arith.SubfOp: arith.SubiOp,
    arith.MulfOp: arith.MuliOp,
}


@frozen
class CoreAddAsIntegersPass(StepwellPass):
    """
    Add, subtract and multiply whole numbers as integers before they become floats, and not as floats after.

    Before: `arith.addf` of `arith.uitofp %a : i8 to f32` and `arith.uitofp %b : i8 to f32`. After: both extended to i16,
    added, and the sum made a float. A vector has twice as many lanes of 16 bits as of 32, and one conversion is left
    of several: that of a blur of five bytes was more than half of its instructions.

    Exact: each float was a whole number that the type holds, so no sum was rounded. None of them was -0, as factors are
    greater than 0. Only where more conversions go than come.
    """

    name = "core-add-as-integers"
    level_in: ClassVar[Level] = Level.CORE
    level_out: ClassVar[Level] = Level.CORE

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        casts = [inner for inner in operations_of_kinds(op, _CASTS) if _is_source(inner)]
        if not casts:
            return
        known: dict[SSAValue, _Whole] = {c.results[0]: _of_source(c) for c in casts}
        members: list[Operation] = []
        for inner in operations_in(op):
            found = _whole(inner, known)
            if found is not None:
                known[inner.results[0]] = found
                members.append(inner)
        for group in _connected(members):
            _rewrite(group, known)


class _Whole(NamedTuple):
    """The whole numbers that a float is between, both ends included."""

    low: int
    high: int


# What may be added as integers.


def _is_source(op: Operation) -> bool:
    return (
        type(op) in _CASTS
        and bit_width(get_element_type_or_self(op.operands[0].type)) <= WIDEST_SOURCE
        and _holds(op.results[0].type, _of_source(op))
    )


def _of_source(op: Operation) -> _Whole:
    bits = bit_width(get_element_type_or_self(op.operands[0].type))
    if isinstance(op, _FROM_UNSIGNED):
        return _Whole(0, (1 << bits) - 1)
    return _Whole(-(1 << (bits - 1)), (1 << (bits - 1)) - 1)


def _whole(op: Operation, known: dict[SSAValue, _Whole]) -> _Whole | None:
    """Between which whole numbers a sum, a difference or a multiple of such is; None of others, and of what may be rounded."""
    if type(op) not in _AS_INTEGERS:
        return None
    assert isinstance(op, arith.AddfOp | arith.SubfOp | arith.MulfOp)
    left, right = (known.get(v) for v in op.operands)
    if left is None and right is None:
        return None
    left = left or _constant(op.lhs)
    right = right or _constant(op.rhs)
    if left is None or right is None:
        return None
    match op:
        case arith.AddfOp():
            found = _Whole(left.low + right.low, left.high + right.high)
        case arith.SubfOp():
            found = _Whole(left.low - right.high, left.high - right.low)
        case _ if _is_factor(op.lhs, left) or _is_factor(op.rhs, right):
            ends = [x * y for x in left for y in right]
            found = _Whole(min(ends), max(ends))
        case _:
            return None
    return found if _holds(op.result.type, found) else None


def _constant(value: SSAValue) -> _Whole | None:
    """A constant that is a whole number, the same in all lanes."""
    found = constant_range(value)
    if found is None or found.low != found.high or not found.low.is_integer():
        return None
    return None if str(found.low) == "-0.0" else _Whole(int(found.low), int(found.low))


def _is_factor(value: SSAValue, found: _Whole) -> bool:
    return found.low == found.high > 0 and constant_range(value) is not None


def _holds(type_: Attribute, found: _Whole) -> bool:
    """Whether all whole numbers in a range are floats of a type."""
    most = 1 << significand_bits(get_element_type_or_self(type_))
    return -most <= found.low and found.high <= most


def _connected(members: Sequence[Operation]) -> Iterable[list[Operation]]:
    """The operations in groups that share operands or results, each in order."""
    first: dict[SSAValue, SSAValue] = {}

    def root(value: SSAValue) -> SSAValue:
        while (above := first.get(value, value)) is not value:
            first[value] = first.get(above, above)
            value = above
        return value

    for op in members:
        for value in op.operands:
            if constant_range(value) is None:
                first[root(value)] = root(op.results[0])
    groups: dict[SSAValue, list[Operation]] = {}
    for op in members:
        groups.setdefault(root(op.results[0]), []).append(op)
    return groups.values()


# The rewrite.


def _rewrite(group: Sequence[Operation], known: dict[SSAValue, _Whole]) -> None:
    """Add one group as integers, where that saves conversions and 32 bits have room for its results."""
    inside = set(group)
    sources = dict.fromkeys(
        v.owner for op in group for v in op.operands if isinstance(v.owner, Operation)
    )
    gone = [op for op in sources if _is_source(op) and _is_used_by(op, inside)]
    results = [op for op in group if not _is_used_by(op, inside)]
    bits = _bits([known[op.results[0]] for op in results])
    if bits is None or len(gone) <= len(results):
        return
    made: dict[SSAValue, SSAValue] = {}
    for op in group:
        lhs, rhs = (_integer(v, bits, made) for v in op.operands)
        new = _AS_INTEGERS[type(op)](lhs, rhs)
        Builder(InsertPoint.before(op)).insert(new)
        made[op.results[0]] = new.result
    for op in results:
        _convert(op, made[op.results[0]], known[op.results[0]], inside)
    for op in (*reversed(group), *gone):
        op.detach()
        op.erase()


def _is_used_by(op: Operation, inside: set[Operation]) -> bool:
    """Whether nothing else uses the result of an operation."""
    return all(use.operation in inside for use in op.results[0].uses)


def _bits(results: Iterable[_Whole]) -> int | None:
    """How many bits all results have room in: what is between may wrap around."""
    found = list(results)
    for bits in (16, 32):
        half = 1 << (bits - 1)
        if all(
            (low >= 0 and high < 2 * half) or (-half <= low and high < half) for low, high in found
        ):
            return bits
    return None


def _integer(value: SSAValue, bits: int, made: dict[SSAValue, SSAValue]) -> SSAValue:
    """A whole number as an integer of so many bits, made where the float is."""
    if value in made:
        return made[value]
    assert isinstance(value, OpResult)
    builder = Builder(InsertPoint.after(value.op))
    type_ = _with_element(value.type, IntegerType(bits))
    constant = _constant(value)
    if constant is not None:
        number = (constant.low + (1 << (bits - 1))) % (1 << bits) - (1 << (bits - 1))
        new = builder.insert(arith.ConstantOp(IntegerAttr(number, bits))).result
        if isinstance(type_, VectorType):
            vector_type = cast("VectorType[Attribute]", type_)
            new = builder.insert(vector.BroadcastOp(new, vector_type)).vector
    elif bit_width(get_element_type_or_self(value.op.operands[0].type)) == bits:
        new = value.op.operands[0]
    else:
        extension = arith.ExtUIOp if isinstance(value.op, _FROM_UNSIGNED) else arith.ExtSIOp
        new = _cast(builder, extension, value.op.operands[0], type_)
    made[value] = new
    return new


def _convert(op: Operation, integer: SSAValue, found: _Whole, inside: set[Operation]) -> None:
    """Make the result of an operation a float, for all that is not computed with integers."""
    conversion = arith.UIToFPOp if found.low >= 0 else arith.SIToFPOp
    old = op.results[0]
    new = _cast(Builder(InsertPoint.before(op)), conversion, integer, old.type)
    new.name_hint = old.name_hint
    for use in list(old.uses):
        if use.operation not in inside:
            use.operation.operands[use.index] = new


def _cast(builder: Builder, kind: type[Operation], value: SSAValue, type_: Attribute) -> SSAValue:
    """A cast of a scalar, or that of vectors."""
    is_scalar = get_element_type_or_self(type_) == type_
    cast_op = kind if is_scalar else CASTS[kind]
    return builder.insert(cast_op.create(operands=[value], result_types=[type_])).results[0]


def _with_element(type_: Attribute, element: Attribute) -> Attribute:
    if not isinstance(type_, VectorType):
        return element
    return VectorType(element, cast("VectorType[Attribute]", type_).get_shape())
