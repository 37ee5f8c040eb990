"""Another shape for the same elements of a buffer."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.builder import Builder
from xdsl.dialects import memref
from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType, NoneAttr, StridedLayoutAttr
from xdsl.ir import SSAValue

from ...dialects.shaped import memref_type


def recast(
    builder: Builder, buffer: SSAValue, shape: Sequence[int], strides: Sequence[int]
) -> SSAValue:
    """A view of a buffer's elements with this shape and strides; of a view, one of what that is a view of."""
    type_ = memref_type(buffer)
    element = type_.get_element_type()
    if isinstance(type_.layout, NoneAttr):
        found = MemRefType(element, shape)
    else:
        found = MemRefType(element, shape, StridedLayoutAttr(strides, None))
    source, offsets, offset = buffer, list[SSAValue](), 0
    if isinstance(buffer.owner, memref.ReinterpretCastOp):
        source, offsets = buffer.owner.source, list(buffer.owner.offsets)
        (offset,) = buffer.owner.static_offsets.get_values()
    assert offset != DYNAMIC_INDEX or offsets, "a dynamic offset is an operand"
    cast_op = memref.ReinterpretCastOp(source, offsets, [], [], [offset], shape, strides, found)
    cast_op.result.name_hint = buffer.name_hint
    return builder.insert(cast_op).result
