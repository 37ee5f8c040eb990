"""core-time-calls: a function that also returns how long each of the calls in it took."""

from __future__ import annotations

from typing import Any

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects import arith, func, memref
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FunctionType,
    IndexType,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    i64,
)
from xdsl.ir import SSAValue
from xdsl.rewriter import InsertPoint

from ...analysis.calls import is_private
from ...analysis.levels import Level
from ...analysis.operations import operations_in
from ...dialects import loop
from ...frozen import frozen
from ..stepwell_pass import StepwellPass

COUNTER = "llvm.readcyclecounter"
"""LLVM's intrinsic function: the processor's counter, which runs at an even pace on all processors since 2010."""


@frozen
class CoreTimeCallsPass(StepwellPass):
    """
    Have public functions give back the ticks of the processor's counter that each call in them took.

    They write them to a last argument, a `memref<Nxi64>`, in the order of the text; those of a call in a loop are added up.

    Before: `func.call @kernel(%x, %y)`. After: the counter is read before and behind the call, and the difference
    added to an element of `%ticks`. Functions without calls stay as they are.
    """

    name = "core-time-calls"
    level_in = Level.CORE
    level_out = Level.CORE

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = [
            (function, calls)
            for function in op.ops
            if isinstance(function, func.FuncOp) and not is_private(function)
            if (calls := timed_calls(function))
        ]
        for function, calls in functions:
            _time(function, calls)
        if functions:
            counter = func.FuncOp.external(COUNTER, [], [i64])
            op.body.block.insert_op_before(counter, functions[0][0])


def timed_calls(function: func.FuncOp) -> list[func.CallOp]:
    """The calls of a function, in the order of the text."""
    return [op for op in operations_in(function) if isinstance(op, func.CallOp)]


def _time(function: func.FuncOp, calls: list[func.CallOp]) -> None:
    ticks = _add_result(function, MemRefType(i64, [len(calls)]))
    first = function.body.block.first_op
    assert first is not None
    start = Builder(InsertPoint.before(first))
    zero = start.insert(arith.ConstantOp(IntegerAttr(0, i64))).result
    for number, call in enumerate(calls):
        index = start.insert(arith.ConstantOp(IntegerAttr(number, IndexType()))).result
        start.insert(memref.StoreOp.get(zero, ticks, [index]))
        before = Builder(InsertPoint.before(call)).insert(func.CallOp(COUNTER, [], [i64]))
        behind = Builder(InsertPoint.after(call))
        after = behind.insert(func.CallOp(COUNTER, [], [i64]))
        spent = behind.insert(arith.SubiOp(after.results[0], before.results[0]))
        sum_ = behind.insert(memref.LoadOp.get(ticks, [index]))
        total = behind.insert(arith.AddiOp(sum_, spent))
        behind.insert(memref.StoreOp.get(total, ticks, [index]))


def _add_result(function: func.FuncOp, type_: MemRefType[Any]) -> SSAValue:
    """A new argument that the function writes, behind its other results."""
    block = function.body.block
    given = function.arg_attrs
    marks = [DictionaryAttr({})] * len(block.args) if given is None else list(given)
    place = next((n for n, mark in enumerate(marks) if loop.ARENA in mark.data), len(marks))
    value = block.insert_arg(type_, place)
    value.name_hint = "ticks"
    mark = DictionaryAttr({loop.RESULT: loop.MARK})
    function.arg_attrs = ArrayAttr([*marks[:place], mark, *marks[place:]])
    old = function.function_type
    inputs = [*old.inputs.data[:place], type_, *old.inputs.data[place:]]
    function.function_type = FunctionType.from_lists(inputs, list(old.outputs))
    return value
