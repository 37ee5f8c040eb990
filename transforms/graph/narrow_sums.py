"""Sums of narrow integers in no more bits than the greatest sum needs."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import TensorType, i1, i8, i16, i32
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from ...dialects.dtypes import (
    bit_width,
    is_bool,
    is_float,
    is_unsigned,
    significand_bits,
    ui8,
    ui16,
    ui32,
)
from ...dialects.graph import (
    CastOp,
    ExpandDimsOp,
    MeanOp,
    ReshapeOp,
    SliceOp,
    SqueezeOp,
    SumOp,
    TransposeOp,
)
from ...dialects.graph.expressions import Expr, built_before
from ...dialects.graph.shapes import element_count
from ...dialects.shaped import shape_of, tensor_type
from ...frozen import frozen
from ..remarks import remark
from .rules import EquationsPass, Rule, erase_unused
from .worklist import Pattern

_MOVING = (ExpandDimsOp, ReshapeOp, SliceOp, SqueezeOp, TransposeOp)
"""What may stand between a cast and a sum: what each makes has elements of its one operand."""


_SOURCES: tuple[Attribute, ...] = (i1, i8, ui8, i16, ui16)


class _SumInFewerBits(Pattern):
    """sum(cast(x)) → cast(sum(cast(x))), and the same of a mean, which is divided afterwards"""

    ROOTS: ClassVar = (SumOp, MeanOp)

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        if not isinstance(op, SumOp | MeanOp):
            return
        value, between = op.operand, list[Operation]()
        while isinstance(value.owner, _MOVING):
            between.append(value.owner)
            value = value.owner.operands[0]
        if not isinstance(value.owner, CastOp):
            return
        if isinstance(value.owner.operand.owner, Operation) and not _is_for_sums(value):
            return  # what is computed is at hand in the wide type, as others need it
        shape, axes = shape_of(op.operand), op.axis_tuple
        count = element_count([shape[axis] for axis in axes])
        source = value.owner.operand
        wide = tensor_type(op.result).get_element_type()
        narrow = _narrow(tensor_type(source).get_element_type(), wide, count)
        if narrow is None or count is None:
            return
        remark(op, f"sums up in {narrow}, which holds every sum of {count} elements")
        x = Expr(source, built_before(op)).cast(narrow)
        for each in reversed(between):
            x = x.made(_on(each, x))
        total = x.sum(axes, op.keepdims is not None).cast(wide)
        if isinstance(op, MeanOp):
            total = total / total.constant(count, "count")
        operand = op.operand
        rewriter.replace(op, [], [total.value])
        erase_unused([operand], rewriter)


def _is_for_sums(value: SSAValue) -> bool:
    """Whether nothing but sums, of all or a part, use the elements of a tensor."""
    return all(
        isinstance(use.operation, SumOp | MeanOp)
        or (isinstance(use.operation, _MOVING) and _is_for_sums(use.operation.results[0]))
        for use in value.uses
    )


def _on(moving: Operation, x: Expr) -> Operation:
    """The operation on a tensor of the same shape and another element type."""
    type_ = TensorType(x.element, shape_of(moving.results[0]))
    return type(moving).create(
        operands=[x.value],
        result_types=[type_],
        properties=moving.properties,
        attributes=moving.attributes,
    )


def _narrow(source: Attribute, wide: Attribute, count: int | None) -> Attribute | None:
    """The narrowest type that holds the sums of so many integers, if the sums are exact in the wide one; else None."""
    if source not in _SOURCES or count is None:
        return None
    unsigned = is_unsigned(source)
    bits = 1 if is_bool(source) else bit_width(source) - (not unsigned)
    greatest = count * ((1 << bits) - 1 if unsigned else 1 << bits)
    if is_float(wide):
        most = bit_width(wide) if greatest <= 1 << significand_bits(wide) else 0
    else:
        most = bit_width(wide) - 1
    for type_ in (ui16, ui32) if unsigned else (i16, i32):
        room = (1 << bit_width(type_)) - 1 if unsigned else (1 << (bit_width(type_) - 1)) - 1
        if greatest <= room and bit_width(source) < bit_width(type_) <= most:
            return type_
    return None


@frozen
class GraphNarrowSumsPass(EquationsPass):
    """
    Add up narrow integers that are cast to a wide type in 16 or 32 bits, where all sums have room, and cast the sum.

    Before: `sum(cast(x))` of bytes as f64 or i64. After: `cast(sum(cast(x)))` with the inner sum in 16 or 32 bits, of
    which a vector has two to four times as many lanes. Exact: integers do not round, nor does the sum in a float type
    that holds them all.
    """

    name = "graph-narrow-sums"
    RULES: ClassVar[tuple[Rule, ...]] = ()
    PATTERNS: ClassVar = (_SumInFewerBits(),)
