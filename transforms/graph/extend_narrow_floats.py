"""f16 and bf16, which are types for storage, computed with in f32."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, cast

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import AnyFloat, FloatAttr, ModuleOp, TensorType, f32
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from ...analysis.levels import Level
from ...analysis.operations import operations_in
from ...dialects.dtypes import is_narrow_float
from ...dialects.graph import CastOp
from ...dialects.graph.base import GraphOp
from ...dialects.shaped import tensor_type
from ..stepwell_pass import StepwellPass


def extend_narrow_floats(op: GraphOp) -> None:
    """`y = op(x)` on bf16 → `y = cast(op(cast(x)))` with `op` on f32, where it computes with elements."""
    if not op.COMPUTES or not any(_is_narrow(v) for v in (*op.operands, *op.results)):
        return
    builder = Builder(InsertPoint.before(op))

    def insert(new: Operation) -> Sequence[SSAValue]:
        new.location = op.location
        return builder.insert(new).results

    wide = type(op).create(
        operands=[insert(CastOp(v, f32))[0] if _is_narrow(v) else v for v in op.operands],
        result_types=[_wide_type(v) for v in op.results],
        properties={name: _wide_number(attr) for name, attr in op.properties.items()},
        attributes=op.attributes,
    )
    values: list[SSAValue] = []
    for old, new in zip(op.results, insert(wide), strict=True):
        new.name_hint = old.name_hint
        element = tensor_type(old).get_element_type()
        value = insert(CastOp(new, element))[0] if _is_narrow(old) else new
        value.name_hint = old.name_hint
        values.append(value)
    Rewriter.replace_op(op, [], values)


def _is_narrow(value: SSAValue) -> bool:
    return is_narrow_float(tensor_type(value).get_element_type())


def _wide_type(value: SSAValue) -> Attribute:
    type_ = tensor_type(value)
    return TensorType(f32, type_.get_shape(), type_.encoding) if _is_narrow(value) else type_


def _wide_number(attr: Attribute) -> Attribute:
    """A number of a narrow type, such as a bound of `clip`, as an f32."""
    if not isinstance(attr, FloatAttr):
        return attr
    number = cast("FloatAttr[AnyFloat]", attr)
    return FloatAttr(number.value.data, f32) if is_narrow_float(number.type) else number


class GraphExtendNarrowFloatsPass(StepwellPass):
    """
    Compute with f16 and bf16 in f32: operands are cast to it, and results are rounded by a cast back.

    An operation that is said with others (a softmax, a mean) is in f32 from its operands to its result, and a sum or
    product is rounded once, at its end. What only moves elements stays in the narrow type.
    """

    name = "graph-extend-narrow-floats"
    level_in: ClassVar[Level] = Level.GRAPH
    level_out: ClassVar[Level] = Level.GRAPH

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for inner in operations_in(op):
            if isinstance(inner, GraphOp):
                extend_narrow_floats(inner)
