"""Of which buffers kernels may be given views of another shape."""

from __future__ import annotations

from xdsl.dialects import memref
from xdsl.dialects.builtin import NoneAttr
from xdsl.ir import SSAValue

from ..dialects.shaped import memref_type


def is_recastable(buffer: SSAValue) -> bool:
    """
    Whether a view of another shape can be made of a buffer: it is known where it begins in the memory that it is in.

    That is open of rows that are handed on from step to step. A view of a constant would be none.
    """
    if isinstance(buffer.owner, memref.GetGlobalOp):
        return False
    return isinstance(buffer.owner, memref.ReinterpretCastOp) or isinstance(
        memref_type(buffer).layout, NoneAttr
    )
