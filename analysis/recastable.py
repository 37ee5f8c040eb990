"""Of which buffers kernels may be given views of another shape."""

from __future__ import annotations

from xdsl.dialects import memref
from xdsl.dialects.builtin import MemRefType, NoneAttr
from xdsl.ir import SSAValue

from ..dialects.shaped import memref_type
from .constants import is_constant_argument


def is_recastable(buffer: SSAValue) -> bool:
    """
    Whether a value is a buffer of which a view of another shape can be made: it is known where it begins in the memory that
    it is in.

    That is open of rows that are handed on from step to step. A view of a constant would be none. A kernel may be given the
    number of a step, too, which is no buffer.
    """
    if isinstance(buffer.owner, memref.GetGlobalOp) or is_constant_argument(buffer):
        return False
    if not isinstance(buffer.type, MemRefType):
        return False
    return isinstance(buffer.owner, memref.ReinterpretCastOp) or isinstance(
        memref_type(buffer).layout, NoneAttr
    )
