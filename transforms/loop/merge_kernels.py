"""loop-merge-kernels: kernels are given the constants they read; those that are equal then are one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects import func, memref
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType, ModuleOp, SymbolRefAttr
from xdsl.ir import SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from ...analysis.calls import calls_in, is_private
from ...analysis.levels import Level
from ...analysis.structure import Structure, constants_read, structure
from ...dialects.resources import INLINE_LIMIT
from ...dialects.shaped import memref_type
from ..remarks import remark
from ..stepwell_pass import StepwellPass


@dataclass(frozen=True)
class LoopMergeKernelsPass(StepwellPass):
    """
    Merges kernels that are equal but for their names and the constants they read, so that each is compiled once.

    Before: `@q(%x, %y)`, which reads constant `@wq`, and `@k(%x, %y)`, which reads `@wk`. After: `@q(%x, %y, %w)`
    is called with `@wq` and with `@wk`. A kernel without an equal takes its constants as arguments too, but for
    those of a few elements, which stand in its code: so it can be compiled, and kept, apart from any program.
    Only private functions that are called and not used otherwise are merged: those that te → loop makes.
    """

    name = "loop-merge-kernels"
    level_in = Level.LOOP
    level_out = Level.LOOP

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        calls = calls_in(op)
        functions = _mergeable(op, calls) if calls else []
        groups: defaultdict[Structure, list[func.FuncOp]] = defaultdict(list)
        for function in functions:
            groups[structure(function, loop_names=False)].append(function)
        for equal in groups.values():
            _merge(equal, calls)


def _mergeable(module: ModuleOp, calls: Mapping[str, object]) -> list[func.FuncOp]:
    """The private functions of one block that are called, and not used otherwise."""
    used = {
        attribute.root_reference.data
        for op in module.walk()
        if not isinstance(op, func.CallOp)
        for attribute in (*op.properties.values(), *op.attributes.values())
        if isinstance(attribute, SymbolRefAttr)
    }
    return [
        op
        for op in module.ops
        if isinstance(op, func.FuncOp)
        and is_private(op)
        and len(op.body.blocks) == 1
        and op.sym_name.data in calls
        and op.sym_name.data not in used
    ]


def _merge(equal: Sequence[func.FuncOp], calls: Mapping[str, Sequence[func.CallOp]]) -> None:
    """Leave the first of functions that are equal, give it constants that differ or are large, and call it for all."""
    first = equal[0]
    reads = [constants_read(function) for function in equal]
    passed = [
        number
        for number, gets in enumerate(zip(*reads, strict=True))
        if len({get.name_ for get in gets}) > 1 or _is_large(gets[0])
    ]
    if len(equal) == 1 and not passed:
        return
    for function, gets in zip(equal, reads, strict=True):
        for call in calls[function.sym_name.data]:
            _call_with(call, first.sym_name.data, [gets[number] for number in passed])
    _take_arguments(first, [reads[0][number] for number in passed])
    for function in equal[1:]:
        remark(first, f"'{function.sym_name.data}' is the same kernel, and is compiled once")
        function.detach()
        function.erase()


def _is_large(get: memref.GetGlobalOp) -> bool:
    """Whether the elements of a constant are kept beside the code."""
    return prod(memref_type(get.memref).get_shape()) > INLINE_LIMIT


def _call_with(call: func.CallOp, name: str, gets: Sequence[memref.GetGlobalOp]) -> None:
    """Call `name` in the place of another, with constants as last arguments."""
    copies = [get.clone() for get in gets]
    Rewriter.insert_op(copies, InsertPoint.before(call))
    arguments = [*call.arguments, *(copy.memref for copy in copies)]
    for get, copy in zip(gets, copies, strict=True):
        copy.memref.name_hint = get.memref.name_hint
    new = func.CallOp(name, arguments, call.result_types)
    new.location = call.location
    new.attributes |= call.attributes
    Rewriter.replace_op(call, new)


def _take_arguments(function: func.FuncOp, gets: Sequence[memref.GetGlobalOp]) -> None:
    """Make constants that a function reads its last arguments."""
    block = function.body.block
    old = list(function.arg_attrs or [DictionaryAttr({})] * len(block.args))
    for get in gets:
        argument: SSAValue = block.insert_arg(get.memref.type, len(block.args))
        argument.name_hint = get.memref.name_hint
        get.memref.replace_all_uses_with(argument)
        Rewriter.erase_op(get)
    function.function_type = FunctionType.from_lists(
        block.arg_types, function.function_type.outputs.data
    )
    function.arg_attrs = ArrayAttr([*old, *[DictionaryAttr({})] * len(gets)])
