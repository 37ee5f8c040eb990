"""Kernels of functions that are parts of their callers, in the place of the calls."""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.context import Context
from xdsl.dialects import arith, func
from xdsl.dialects.builtin import DenseArrayBase, ModuleOp, i32
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import AttrSizedOperandSegments
from xdsl.rewriter import InsertPoint, Rewriter

from ...analysis.calls import calls_in
from ...analysis.entangled import entangled
from ...analysis.levels import Level
from ...analysis.repeats import REPEATED
from ...dialects import te
from ...dialects.copies import copy_of
from ..inlining import replace_by_body
from ..remarks import remark
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
        for function, calls in repeated_functions(op):
            _inline_all(function, calls)


class TeInlineEntangledPass(StepwellPass):
    """
    Put copies of functions about whose buffers te-bufferize would decide worse apart in the place of the calls.

    Those are functions that give or take what moves, and could be a view of something, and that could be computed in place
    of what they take. Others stay functions until they call kernels: `loop-inline-functions` puts these in place.
    """

    name = "te-inline-entangled"
    level_in = Level.TE
    level_out = Level.TE

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function, calls in repeated_functions(op):
            reason = entangled(function, calls)
            if reason is not None:
                name = function.sym_name.data
                remark(function, f"buffers of '{name}' are decided about in its callers: {reason}")
                _inline_all(function, calls)


def repeated_functions(module: ModuleOp) -> list[tuple[func.FuncOp, list[func.CallOp]]]:
    """The functions of a module that are repeated parts of their callers, each with the calls of it."""
    repeated = [f for f in module.ops if isinstance(f, func.FuncOp) and REPEATED in f.attributes]
    calls = calls_in(module) if repeated else {}
    return [(function, calls.get(function.sym_name.data, [])) for function in repeated]


def _inline_all(function: func.FuncOp, calls: Iterable[func.CallOp]) -> None:
    for call in calls:
        inline(call, function)
    Rewriter.erase_op(function)


def inline(call: func.CallOp, function: func.FuncOp) -> None:
    """Put a copy of the body of a function in the place of a call of it."""
    constants = [
        value.owner for value in call.arguments if isinstance(value.owner, arith.ConstantOp)
    ]
    for copy in replace_by_body(call, function):
        if isinstance(copy, te.KernelOp):
            _take_in_constants(copy)
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
