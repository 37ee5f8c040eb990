"""One arena for all the intermediate buffers of a function and of the kernels it calls."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod
from typing import get_args

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects import arith, func, memref, scf
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    IntegerType,
    MemRefType,
    ModuleOp,
    i8,
)
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from ...analysis.buffer_exchange import FEW
from ...analysis.calls import BETWEEN_KERNELS, calls_in, is_private
from ...analysis.levels import Level
from ...analysis.liveness import live_ranges, users
from ...analysis.memory_packing import Packing, pack
from ...analysis.memory_plan import bytes_of
from ...analysis.operations import operation_around, operations_in
from ...dialects import loop
from ...dialects.leaf_operations import function_type, index_attribute, leaf, replace_uses
from ...dialects.shaped import memref_type, row_major
from ...frozen import frozen
from ..remarks import remark
from ..stepwell_pass import StepwellPass

ArenaType = MemRefType[IntegerType]


def _of_arena(allocs: Iterable[loop.AllocOp]) -> list[loop.AllocOp]:
    return [
        op
        for op in allocs
        if op.scope.data is loop.Scope.ARENA and not op.dynamic_sizes and not is_on_threads(op)
    ]


def _has_mark(function: func.FuncOp, mark: str) -> bool:
    return function.arg_attrs is not None and any(
        mark in attrs.data for attrs in function.arg_attrs
    )


@frozen
class LoopPlanMemoryPass(StepwellPass):
    """
    Place the arena buffers of each public function, and of what it calls, in one argument, by liveness.

    Before: `%t = loop.alloc arena : memref<8x4xf32>`. After: a last argument
    `%arena: memref<128xi8> {stepwell.arena}` and `%t = memref.view %arena[%c0][] : ...`. A private
    function is given a part of its caller's arena, in use while the call runs.

    Three kinds keep their allocations. Functions without marked results: an arena would make their other
    buffers, which are read and written in place, inputs only. Public functions that others call, and what
    they call. Private ones that call themselves, or that are called from inside of a loop on threads. So do
    buffers inside of loops on threads, whose iterations must not share one place (each thread allocates its own,
    once); those inside of other loops are placed as well, and used again by each iteration.

    Before that, buffers of few elements that the steps of `scf.for` and `scf.while` use, and no call, become
    `loop.alloc stack`: what they hold can then become values.

    A remark has the size of the arena, how small any could be, and by which method it was found
    (analysis/memory_packing.py).
    """

    name = "loop-plan-memory"
    level_in = Level.LOOP
    level_out = Level.LOOP

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        calls = calls_in(op)
        for function in _callees_first(op, calls):
            every = [o for o in operations_in(function) if type(o) is loop.AllocOp]
            _stack_state(every)
            allocs = _of_arena(every)
            if not allocs:
                continue
            _lift_scratch(allocs)
            arena = _use_arena(function, allocs)
            if arena is None:
                continue
            for call in calls.get(function.sym_name.data, ()):
                _pass_arena(call, arena)


def _callees_first(module: ModuleOp, calls: dict[str, list[func.CallOp]]) -> list[func.FuncOp]:
    """The functions that can have an arena, each before the functions that call it."""
    able = [
        function
        for function in module.ops
        if isinstance(function, func.FuncOp)
        and len(function.body.blocks) == 1
        and _has_mark(function, loop.RESULT)
        and not _has_mark(function, loop.ARENA)
    ]
    callers_first: dict[Operation, func.FuncOp] = {}
    grows = True
    while grows:
        ready = {
            function: function
            for function in able
            if function not in callers_first
            and _may_take_part(function, calls)
            and all(
                _function_of(call) in callers_first
                for call in calls.get(function.sym_name.data, ())
            )
        }
        callers_first |= ready
        grows = bool(ready)
    return list(callers_first.values())[::-1]


def _function_of(call: func.CallOp) -> Operation | None:
    """The function that a call is in; None where it may run at the same time as others of its function."""
    if is_on_threads(call):
        return None
    around = call.parent_op()
    while around is not None and not isinstance(around, func.FuncOp):
        around = around.parent_op()
    return around


def _may_take_part(function: func.FuncOp, calls: dict[str, list[func.CallOp]]) -> bool:
    """Whether all who call the function are known: a private one has callers, a public one has none here."""
    return is_private(function) == bool(calls.get(function.sym_name.data))


def _pass_arena(call: func.CallOp, arena: ArenaType) -> None:
    """Give the callee an arena of its own, which the caller's plan then places in the caller's arena."""
    builder = Builder(InsertPoint.before(call))
    part = builder.insert(loop.AllocOp(loop.Scope.ARENA, arena)).buffer
    part.name_hint = "arena"
    types = [result.type for result in call.res]
    new = leaf(
        func.CallOp,
        (*call.arguments, part),
        types,
        call.properties,
        call.attributes,
        call.location,
    )
    builder.insert(new)
    for old_result, new_result in zip(call.res, new.res, strict=True):
        new_result.name_hint = old_result.name_hint
        old_result.replace_all_uses_with(new_result)
    call.detach()
    call.erase()


def _use_arena(function: func.FuncOp, allocs: list[loop.AllocOp]) -> ArenaType | None:
    """Replace the allocations by views of a new argument; its type, None when nothing uses them."""
    block = function.body.block
    sizes: dict[SSAValue, int] = {
        alloc.buffer: bytes_of(memref_type(alloc.buffer)) for alloc in allocs
    }
    packing = pack(live_ranges(block, sizes))
    placement = packing.placement
    type_ = row_major(i8, (placement.total,))
    arena = _add_arena_argument(function, type_) if placement.offsets else None
    if arena is not None:
        remark(function, _words(packing))
    for alloc in allocs:
        if arena is not None and alloc.buffer in placement.offsets:
            builder = Builder(InsertPoint.before(alloc))
            number = index_attribute(placement.offsets[alloc.buffer])
            offset = leaf(arith.ConstantOp, (), (number.type,), {"value": number})
            view = leaf(memref.ViewOp, (arena, offset.result), (alloc.buffer.type,))
            for new in (offset, view):
                builder.insert(new)
            replace_uses(alloc.buffer, view.result)
        alloc.detach()
        alloc.erase()
    return None if arena is None else type_


def _words(packing: Packing) -> str:
    """What was found, and what else was tried."""
    total, others = packing.placement.total, dict(packing.totals)
    del others[packing.method]
    tried = "".join(f", {name} {bytes_}" for name, bytes_ in others.items())
    return (
        f"an arena of {total} bytes for {len(packing.placement.offsets)} buffers, by {packing.method}{tried}; "
        f"{packing.lower_bound} are alive at once"
    )


_ACCESSES = loop.LoadOp | loop.StoreOp | memref.LoadOp | memref.StoreOp | memref.CopyOp
_VIEWS = memref.SubviewOp | memref.CastOp | memref.ReinterpretCastOp


def _stack_state(allocs: Iterable[loop.AllocOp]) -> None:
    """
    Let small arena buffers of a function, of the steps of loops, be on the stack, where all accesses to them are in the function.

    LLVM makes values of the elements of a buffer on the stack whose address nothing else is given, and keeps them in
    registers from step to step. Those of an arena it must store at each step.
    """
    for alloc in allocs:
        if (
            alloc.scope.data is loop.Scope.ARENA
            and not alloc.dynamic_sizes
            and prod(memref_type(alloc.buffer).get_shape()) <= FEW
            and _is_state([*users(alloc.buffer)])
        ):
            alloc.scope = loop.ScopeAttr(loop.Scope.STACK)


def _is_state(users: Sequence[Operation]) -> bool:
    """Whether a buffer that these use is one of the steps of loops alone, one after another."""
    return all(
        isinstance(op, _ACCESSES | _VIEWS) and not is_on_threads(op) for op in users
    ) and any(_is_in_steps(op) for op in users)


def _is_in_steps(op: Operation) -> bool:
    around = op.parent_op()
    while around is not None and not isinstance(around, scf.ForOp | scf.WhileOp):
        around = around.parent_op()
    return around is not None


def _lift_scratch(allocs: Iterable[loop.AllocOp]) -> None:
    """
    Move arena buffers inside of a kernel's loops and branches to where the kernel begins, in their order.

    Their contents are undefined at the start of each iteration, so that all iterations may use one place, but for
    those of a loop on threads.
    """
    for alloc in allocs:
        around: Operation = alloc
        while isinstance(above := around.parent_op(), loop.ForOp | loop.IfOp):
            around = above
        if around is not alloc:
            alloc.detach()
            Rewriter.insert_op(alloc, InsertPoint.before(around))


_IN_TURN = frozenset((loop.IfOp, func.FuncOp, ModuleOp, *get_args(BETWEEN_KERNELS)))
"""Operations that run what is inside of them once at a time."""


def is_on_threads(op: Operation) -> bool:
    """Whether an operation may run at the same time as others of its kind: inside of a loop on threads."""
    around = operation_around(op)
    while around is not None:
        if type(around) is loop.ForOp:
            mode = around.mode
            if mode is not None and mode.data is loop.RunMode.THREADS:
                return True
        elif type(around) not in _IN_TURN:
            return True  # other regions may run at the same time too
        around = operation_around(around)
    return False


def _add_arena_argument(function: func.FuncOp, type_: ArenaType) -> SSAValue:
    block = function.body.block
    attributes = (
        list(function.arg_attrs)
        if function.arg_attrs is not None
        else [DictionaryAttr({})] * len(block.args)
    )
    arena = block.insert_arg(type_, len(block.args))
    arena.name_hint = "arena"
    function.arg_attrs = ArrayAttr([*attributes, DictionaryAttr({loop.ARENA: loop.MARK})])
    old = function.function_type
    function.function_type = function_type([*old.inputs, type_], old.outputs)
    return arena
