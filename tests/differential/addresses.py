"""
Which bytes each call of a program at core reads and writes, and whether anything is overwritten while it is needed.

Buffers are followed from the function's arguments, its arena and its constants through views to calls, and every element's
address is worked out. Contents are not looked at: a byte is undefined, or was written by a step.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any

import numpy as np
from stepwell.analysis.calls import functions_by_name
from stepwell.analysis.memory_plan import MemoryPlan, arena_of
from stepwell.dialects.loop import RESULT
from stepwell.dialects.shaped import memref_type
from xdsl.dialects import arith, func, memref
from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType, ModuleOp
from xdsl.ir import Operation, SSAValue

Addresses = tuple[SSAValue, np.ndarray[Any, Any]]
"""The buffer that something is in, and the number of each byte in it."""


def check_addresses(module: ModuleOp) -> int:
    """
    Check each public function; how many calls were looked at.

    A call may write no byte that another of its operands has, read none that was not written before or was given
    to a call as scratch memory since, and write no argument.
    """
    functions = functions_by_name(module)
    public = [f for f in functions.values() if f.sym_visibility is None and f.body.blocks]
    return sum(_Checker(function, functions).check() for function in public)


def check_plan(plan: MemoryPlan) -> None:
    """No two buffers that are alive in one step share a byte, and all are in the arena."""
    outer = [lot for lot in plan.lots if not lot.depth]
    for one in plan.lots:
        assert one.offset >= 0 and one.offset + one.size <= plan.total, one
    for number, one in enumerate(outer):
        for other in outer[:number]:
            if one.first <= other.last and other.first <= one.last:
                apart = one.offset + one.size <= other.offset
                assert apart or other.offset + other.size <= one.offset, (one, other)


class _Checker:
    def __init__(self, function: func.FuncOp, functions: dict[str, func.FuncOp]):
        self.function = function
        self.functions = functions
        self.arena = arena_of(function)
        self.places: dict[SSAValue, Addresses] = {}
        self.written: dict[SSAValue, np.ndarray[Any, Any]] = {}
        """of each buffer, which bytes have contents"""
        self.constant: set[SSAValue] = set()
        attrs = function.arg_attrs
        for arg in function.body.block.args:
            if isinstance(arg.type, MemRefType):
                is_result = attrs is not None and RESULT in attrs.data[arg.index].data
                if not is_result and arg is not self.arena:
                    self.constant.add(arg)
                self._add(arg, filled=arg in self.constant)

    def _add(self, buffer: SSAValue, *, filled: bool) -> None:
        count = _bytes(memref_type(buffer)) * prod(memref_type(buffer).get_shape())
        self.places[buffer] = (buffer, np.arange(count))
        self.written[buffer] = np.full(count, filled)

    def check(self) -> int:
        calls = 0
        for op in self.function.body.block.ops:
            match op:
                case memref.GetGlobalOp():
                    self.constant.add(op.memref)
                    self._add(op.memref, filled=True)
                case memref.ViewOp():
                    root, _ = self.places[op.source]
                    type_ = memref_type(op.result)
                    count = _bytes(type_) * prod(type_.get_shape())
                    self.places[op.result] = (root, _number(op.byte_shift) + np.arange(count))
                case memref.ReinterpretCastOp():
                    self.places[op.result] = self._reinterpreted(op)
                case memref.CopyOp():
                    self._run(op, [op.source], [op.destination], [])
                    calls += 1
                case func.CallOp():
                    self._run(op, *self._uses(op))
                    calls += 1
                case _:
                    pass
        return calls

    def _reinterpreted(self, op: memref.ReinterpretCastOp) -> Addresses:
        root, base = self.places[op.source]
        dynamic: Iterator[SSAValue] = iter(op.offsets)
        (offset,) = (
            _number(next(dynamic)) if value == DYNAMIC_INDEX else value
            for value in op.static_offsets.get_values()
        )
        size = _bytes(memref_type(op.result))
        elements = np.full((), offset)
        pairs = zip(op.static_sizes.get_values(), op.static_strides.get_values(), strict=True)
        for count, stride in pairs:
            elements = np.add.outer(elements, stride * np.arange(count))
        numbers = np.add.outer(elements.reshape(-1) * size, np.arange(size)).reshape(-1)
        assert not numbers.size or (numbers.min() >= 0 and numbers.max() < base.size), op
        return root, base[numbers]

    def _uses(self, op: func.CallOp) -> tuple[list[SSAValue], list[SSAValue], list[SSAValue]]:
        """What a call reads, writes, and uses as scratch memory."""
        callee = self.functions[op.callee.string_value()]
        own = arena_of(callee)
        reads, writes, scratch = [], [], []
        for argument, inner in zip(op.arguments, callee.body.block.args, strict=True):
            if not isinstance(argument.type, MemRefType):
                continue
            attrs = callee.arg_attrs
            is_result = attrs is not None and RESULT in attrs.data[inner.index].data
            (scratch if inner is own else writes if is_result else reads).append(argument)
        return reads, writes, scratch

    def _run(
        self,
        op: Operation,
        reads: list[SSAValue],
        writes: list[SSAValue],
        scratch: list[SSAValue],
    ) -> None:
        for value in reads:
            root, numbers = self.places[value]
            assert self.written[root][numbers].all(), f"{op} reads bytes that nothing has written"
        changed = [*writes, *scratch]
        for value in changed:
            root, numbers = self.places[value]
            assert root not in self.constant, f"{op} writes an argument or a constant"
            for other in (*reads, *changed):
                other_root, others = self.places[other]
                if other is not value and other_root is root:
                    assert not np.intersect1d(numbers, others).size, (
                        f"{op} writes what it has twice"
                    )
        for value in scratch:
            root, numbers = self.places[value]
            self.written[root][numbers] = False
        for value in writes:
            root, numbers = self.places[value]
            self.written[root][numbers] = True


def _number(value: SSAValue) -> int:
    constant = value.owner
    assert isinstance(constant, arith.ConstantOp)
    return constant.value.value.data


def _bytes(type_: Any) -> int:
    from stepwell.analysis.memory_plan import bytes_of

    return bytes_of(MemRefType(type_.get_element_type(), (1,)))
