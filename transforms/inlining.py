"""The body of a function in the place of a call of it."""

from __future__ import annotations

from xdsl.dialects import func
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from ..dialects.copies import copy_of


def replace_by_body(call: func.CallOp, function: func.FuncOp) -> list[Operation]:
    """Put copies of the operations of a function of one block in the place of a call of it, and return them."""
    block = function.body.block
    inside: dict[SSAValue, SSAValue] = dict(zip(block.args, call.arguments, strict=True))
    copies: list[Operation] = []
    for op in block.ops:
        if isinstance(op, func.ReturnOp):
            for old, value in zip(call.results, op.arguments, strict=True):
                inside[value].name_hint = old.name_hint
                old.replace_all_uses_with(inside[value])
        else:
            copies.append(copy_of(op, inside))
            Rewriter.insert_op(copies[-1], InsertPoint.before(call))
    Rewriter.erase_op(call)
    return copies
