"""
Functions that are parts of their callers, whose buffers cannot be decided about without the callers.

What a function takes and gives are buffers that are whole, of its callers: it never writes what it takes. So a view over
the border of a function would be a copy, and what could be computed in place would not be.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from xdsl.dialects import arith, func
from xdsl.ir import BlockArgument, Operation, SSAValue

from ..dialects import te
from ..dialects.shaped import is_tensor
from .buffer_plan import updates_in_place
from .constants import is_constant_argument
from .kept_apart import waits_for_arithmetic
from .movements import movement_of


def entangled(function: func.FuncOp, calls: Iterable[func.CallOp]) -> str | None:
    """Why the buffers of a function are to be decided about with those of its callers; None where each decides alone."""
    return next(_reasons_inside(function), None) or next(
        (reason for call in calls for reason in _reasons_around(function, call)), None
    )


def _reasons_inside(function: func.FuncOp) -> Iterator[str]:
    block = function.body.block
    border = {*block.args, *(value for op in _returns(function) for value in op.operands)}
    for op in block.ops:
        if not isinstance(op, te.KernelOp):
            if not isinstance(op, func.ReturnOp | arith.ConstantOp):
                yield f"it has '{op.name}'"
        elif (not border.isdisjoint(op.inputs) or not border.isdisjoint(op.outputs)) and (
            movement_of(op) is not None
        ):
            yield f"'{op.kernel_name.data}' moves what it takes or gives"
        elif _may_be_in_place(op, border):
            yield f"'{op.kernel_name.data}' may be computed in place of what it takes, or give what is"
    for op in _returns(function):
        values = list(op.operands)
        if len(set(values)) < len(values) or any(not _is_computed(value) for value in values):
            yield "what it gives is not computed for that alone"


def _returns(function: func.FuncOp) -> list[func.ReturnOp]:
    return [op for op in function.body.block.ops if isinstance(op, func.ReturnOp)]


def _is_computed(value: SSAValue) -> bool:
    return isinstance(value.owner, te.KernelOp)


def _may_be_in_place(kernel: te.KernelOp, border: set[SSAValue]) -> bool:
    """Whether a kernel gains by writing a result over an operand, one of which is at the function's border."""
    return not waits_for_arithmetic(kernel) and any(
        value.type == result.type
        and (value in border or result in border)
        and updates_in_place(yielded, arg)
        for result, yielded in zip(kernel.outputs, kernel.yielded, strict=True)
        for arg, value in zip(kernel.body.block.args, kernel.inputs, strict=True)
        if not is_constant_argument(value)
    )


def _reasons_around(function: func.FuncOp, call: func.CallOp) -> Iterator[str]:
    if not isinstance(call.parent_op(), func.FuncOp):
        yield "it is called inside of control flow"
    tensors = [value for value in call.arguments if is_tensor(value)]
    if len(set(tensors)) < len(tensors):
        yield "it is called with one tensor for two"
    for argument, value in zip(function.body.block.args, call.arguments, strict=True):
        is_constant = isinstance(value.owner, arith.ConstantOp)
        if is_constant is not is_constant_argument(argument):
            yield "it is called with constants and with what is none"
        elif not (is_constant or isinstance(value, BlockArgument) or _is_plain(value.owner)):
            yield "it is called with what may be a part of something"
    for result in call.results:
        if not all(isinstance(user, func.ReturnOp) or _is_plain(user) for user in _users(result)):
            yield "what it gives may become a part of something"


def _users(value: SSAValue) -> Iterator[Operation]:
    return (use.operation for use in value.uses)


def _is_plain(op: object) -> bool:
    """Whether an operation reads and writes tensors that are whole."""
    return isinstance(op, func.CallOp) or (isinstance(op, te.KernelOp) and movement_of(op) is None)
