"""One arena for all the intermediate buffers of a function."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

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
    i8,
)
from xdsl.ir import SSAValue
from xdsl.rewriter import InsertPoint

from ...analysis.levels import Level
from ...analysis.liveness import Placement, live_ranges, place
from ...dialects import loop
from ...dialects.dtypes import bit_width
from ..stepwell_pass import StepwellPass


def _arena_allocs(function: func.FuncOp) -> list[loop.AllocOp]:
    return [
        op
        for op in function.body.block.ops
        if isinstance(op, loop.AllocOp)
        and op.scope.data is loop.Scope.ARENA
        and not op.dynamic_sizes
    ]


def _size_in_bytes(type_: MemRefType) -> int:
    return prod(type_.get_shape()) * max(bit_width(type_.get_element_type()), 8) // 8


def _has_mark(function: func.FuncOp, mark: str) -> bool:
    return function.arg_attrs is not None and any(
        mark in attrs.data for attrs in function.arg_attrs
    )


def _is_called(function: func.FuncOp, module: ModuleOp) -> bool:
    return any(
        isinstance(op, func.CallOp) and op.callee.root_reference == function.sym_name
        for op in module.walk()
    )


@dataclass(frozen=True)
class LoopPlanMemoryPass(StepwellPass):
    """
    Places the arena buffers of each public function in one argument, by liveness.

    Before: `%t = loop.alloc arena : memref<8x4xf32>`. After: a last argument
    `%arena: memref<128xi8> {stepwell.arena}` and `%t = memref.view %arena[%c0][] : ...`. Functions
    that others call keep their allocations, and so do those without marked results: an arena would make
    their other buffers, which are read and written in place, inputs only. So do buffers inside of loops:
    the iterations of a loop on threads must not share one place (each thread allocates its own, once).
    """

    name = "loop-plan-memory"
    level_in = Level.LOOP
    level_out = Level.LOOP

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in list(op.ops):
            if not isinstance(function, func.FuncOp) or len(function.body.blocks) != 1:
                continue
            if _has_mark(function, loop.ARENA) or not _has_mark(function, loop.RESULT):
                continue
            allocs = _arena_allocs(function)
            if allocs and not _is_called(function, op):
                _use_arena(function, allocs)


def _use_arena(function: func.FuncOp, allocs: list[loop.AllocOp]) -> None:
    block = function.body.block
    sizes: dict[SSAValue, int] = {}
    for alloc in allocs:
        assert isinstance(alloc.buffer.type, MemRefType)
        sizes[alloc.buffer] = _size_in_bytes(alloc.buffer.type)
    placement = place(live_ranges(block, sizes))
    arena = _add_arena_argument(function, placement)
    for alloc in allocs:
        if alloc.buffer in placement.offsets:
            builder = Builder(InsertPoint.before(alloc))
            offset = builder.insert(
                arith.ConstantOp(IntegerAttr(placement.offsets[alloc.buffer], IndexType()))
            )
            assert isinstance(alloc.buffer.type, MemRefType)
            view = builder.insert(memref.ViewOp(arena, offset.result, [], alloc.buffer.type))
            view.result.name_hint = alloc.buffer.name_hint
            alloc.buffer.replace_all_uses_with(view.result)
        alloc.detach()
        alloc.erase()


def _add_arena_argument(function: func.FuncOp, placement: Placement) -> SSAValue:
    block = function.body.block
    type_ = MemRefType(i8, (placement.total,))
    attributes = (
        list(function.arg_attrs)
        if function.arg_attrs is not None
        else [DictionaryAttr({})] * len(block.args)
    )
    arena = block.insert_arg(type_, len(block.args))
    arena.name_hint = "arena"
    function.arg_attrs = ArrayAttr([*attributes, DictionaryAttr({loop.ARENA: loop.MARK})])
    old = function.function_type
    function.function_type = FunctionType.from_lists([*old.inputs, type_], list(old.outputs))
    return arena
