"""What a program repeats, such as the layers of a network, as one function that is called again and again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr, UnitAttr
from xdsl.ir import Block, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from ...analysis.levels import Level
from ...analysis.repeats import (
    LEAST_OPERATIONS,
    LEAST_SAVED,
    REPEATED,
    Repeat,
    common_constant,
    find_repeat,
)
from ...dialects import loop
from ...dialects.copies import copy_of
from ...dialects.finite import is_constant_finite
from ...dialects.graph import ConstantOp
from ...dialects.graph.convolution import SlidingWindowOp
from ...frozen import frozen
from ..remarks import remark
from ..stepwell_pass import StepwellPass


@frozen
class GraphOutlineRepeatsPass(StepwellPass):
    """
    Make what a function repeats one function, which it calls: passes then decide about it once.

    Before: twelve layers with weights of their own follow one another. After: a private function is one layer, and takes
    its weights as arguments that are marked constant; it is called twelve times. `te-inline-functions` puts copies of it
    in the place of the calls, once te-fuse has made kernels of it.
    """

    name = "graph-outline-repeats"
    level_in: ClassVar[Level] = Level.GRAPH
    level_out: ClassVar[Level] = Level.GRAPH

    operations: int = LEAST_OPERATIONS
    saved: int = LEAST_SAVED

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        names = {f.sym_name.data for f in op.ops if isinstance(f, func.FuncOp)}
        for function in list(op.ops):
            if isinstance(function, func.FuncOp) and len(function.body.blocks) == 1:
                repeat = find_repeat(function.body.block, self.operations, self.saved)
                if repeat is not None:
                    name = _unused(f"{function.sym_name.data}.part", names)
                    remark(
                        repeat.parts[0].ops[0],
                        f"{len(repeat.parts)} times the same {len(repeat.parts[0].ops)} operations: decided about once",
                    )
                    outline(function, repeat, name)


def _unused(name: str, names: set[str]) -> str:
    number = 0
    while (found := f"{name}{number}") in names:
        number += 1
    names.add(found)
    return found


def outline(function: func.FuncOp, repeat: Repeat, name: str) -> None:
    """Put a function of the first part before `function`, and calls of it in the place of all parts."""
    Rewriter.insert_op(_function_of(repeat, name), InsertPoint.before(function))
    became: dict[SSAValue, SSAValue] = {}
    for part in repeat.parts:
        results = [part.ops[place].results[number] for place, number in repeat.results]
        values = [became.get(value, value) for value in part.values]
        call = func.CallOp(name, values, [result.type for result in results])
        call.location = part.ops[0].location
        Rewriter.insert_op(call, InsertPoint.after(part.ops[-1]))
        for old, new in zip(results, call.results, strict=True):
            new.name_hint = old.name_hint
            became[old] = new
            old.replace_all_uses_with(new)
        for op in reversed(part.ops):
            Rewriter.erase_op(op)


def _function_of(repeat: Repeat, name: str) -> func.FuncOp:
    part = repeat.parts[0]
    block = Block(arg_types=[value.type for value in part.values])
    inside: dict[SSAValue, SSAValue] = dict(zip(part.values, block.args, strict=True))
    for value, arg in inside.items():
        arg.name_hint = value.name_hint
    for op in part.ops:
        for operand in op.operands:
            constant = common_constant(operand)
            if constant is not None and operand not in inside:
                block.add_op(copy_of(constant, inside))
        block.add_op(copy_of(op, inside))
    results = [inside[part.ops[place].results[number]] for place, number in repeat.results]
    block.add_op(func.ReturnOp(*results))
    types = [value.type for value in part.values], [result.type for result in results]
    function = func.FuncOp(name, types, Region(block), visibility=StringAttr("private"))
    values = zip(*(each.values for each in repeat.parts), strict=True)
    function.arg_attrs = ArrayAttr(map(_mark, values, map(_is_for_window, part.values)))
    function.attributes[REPEATED] = UnitAttr()
    return function


def _mark(values: Sequence[SSAValue], is_for_window: bool) -> DictionaryAttr:
    """The attributes of an argument for which the parts pass these: of windows it is asked whether weights are finite."""
    constants = [value.owner for value in values if isinstance(value.owner, ConstantOp)]
    if len(constants) < len(values):
        return DictionaryAttr({})
    is_finite = is_for_window and all(is_constant_finite(op.value) is True for op in constants)
    return DictionaryAttr(dict.fromkeys((loop.CONSTANT, loop.FINITE)[: 1 + is_finite], loop.MARK))


def _is_for_window(value: SSAValue) -> bool:
    """Whether something moves over an image with a border as a window."""
    users = (use.operation for use in value.uses)
    windows = (user for user in users if isinstance(user, SlidingWindowOp))
    return any(any((*one.numbers["before"], *one.numbers["after"])) for one in windows)
