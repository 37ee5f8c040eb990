"""Kernels of functions that are parts of their callers, in the place of the calls."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects import arith, func
from xdsl.dialects.builtin import DenseArrayBase, ModuleOp, i32
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import AttrSizedOperandSegments
from xdsl.rewriter import InsertPoint, Rewriter

from ...analysis.levels import Level
from ...analysis.operations import operations_in
from ...analysis.repeats import REPEATED
from ...dialects import te
from ...dialects.copies import copy_of
from ..stepwell_pass import StepwellPass


class TeInlineFunctionsPass(StepwellPass):
    """
    Put copies of functions that are repeated parts of their callers in the place of the calls.

    Before: `graph-outline-repeats` has made one function of what a program repeats, and te-fuse kernels of that. After: the
    program has the kernels of every part, each with the constants that the call gives it inside, as te-fuse has them.
    """

    name = "te-inline-functions"
    level_in = Level.TE
    level_out = Level.TE

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = [f for f in op.ops if isinstance(f, func.FuncOp)]
        repeated = {f.sym_name.data: f for f in functions if REPEATED in f.attributes}
        if not repeated:
            return
        for function in functions:
            for call in [c for c in operations_in(function) if isinstance(c, func.CallOp)]:
                if (callee := repeated.get(call.callee.string_value())) is not None:
                    inline(call, callee)
        for function in repeated.values():
            Rewriter.erase_op(function)


def inline(call: func.CallOp, function: func.FuncOp) -> None:
    """Put a copy of the body of a function in the place of a call of it."""
    block = function.body.block
    inside: dict[SSAValue, SSAValue] = dict(zip(block.args, call.arguments, strict=True))
    returned: list[SSAValue] = []
    for op in block.ops:
        if isinstance(op, func.ReturnOp):
            returned = [inside[value] for value in op.arguments]
            break
        copy = copy_of(op, inside)
        Rewriter.insert_op(copy, InsertPoint.before(call))
        if isinstance(copy, te.KernelOp):
            _take_in_constants(copy)
    constants = [
        value.owner for value in call.arguments if isinstance(value.owner, arith.ConstantOp)
    ]
    for old, new in zip(call.results, returned, strict=True):
        new.name_hint = old.name_hint
        old.replace_all_uses_with(new)
    Rewriter.erase_op(call)
    for constant in dict.fromkeys(constants):
        if not constant.result.uses:
            Rewriter.erase_op(constant)


def _take_in_constants(kernel: te.KernelOp) -> None:
    """Give a kernel the constants that are passed to it as operations of its own, behind those that it has."""
    block = kernel.body.block
    last: Operation | None = None
    for op in block.ops:
        if not isinstance(op, arith.ConstantOp):
            break
        last = op
    kept: list[SSAValue] = []
    for value, arg in zip(kernel.inputs, list(block.args), strict=True):
        if not isinstance(value.owner, arith.ConstantOp):
            kept.append(value)
            continue
        constant = copy_of(value.owner, {})
        point = InsertPoint.at_start(block) if last is None else InsertPoint.after(last)
        Rewriter.insert_op(constant, point)
        last = constant
        arg.replace_all_uses_with(constant.result)
        block.erase_arg(arg)
    kernel.operands = kept
    sizes = DenseArrayBase.from_list(i32, [len(kept), 0])
    kernel.properties = {**kernel.properties, AttrSizedOperandSegments.attribute_name: sizes}
