"""How much memory the weights of a program will take once it is loaded, before anything is decided about its kernels."""

from __future__ import annotations

from xdsl.dialects.builtin import DenseResourceAttr, ModuleOp
from xdsl.ir import SSAValue
from xdsl.traits import ConstantLike

from ..dialects.dtypes import bit_width
from ..dialects.graph import GraphOp
from ..dialects.graph.shapes import element_count
from ..dialects.shaped import shape_of, tensor_type
from .operations import operations_in


def bytes_to_pack(program: ModuleOp) -> int:
    """
    Bytes of the constants of a program at the graph level that products and convolutions read: about as many as are packed,
    or copied to huge pages, at load. No code depends on the number, which may be wrong.
    """
    found: dict[SSAValue, int] = {}
    for op in operations_in(program):
        work = (op.multiply_adds() or 0) if isinstance(op, GraphOp) else 0
        for operand in op.operands if work else ():
            value = _origin(operand)
            if isinstance(ConstantLike.get_constant_value(value), DenseResourceAttr):
                count = element_count(shape_of(value)) or 0
                bits = bit_width(tensor_type(value).get_element_type())
                found[value] = count * bits // 8
    return sum(found.values())


def _origin(value: SSAValue) -> SSAValue:
    """What a value has its elements from, through operations that move them."""
    while isinstance(op := value.owner, GraphOp) and not op.COMPUTES and len(op.operands) == 1:
        value = op.operands[0]
    return value
