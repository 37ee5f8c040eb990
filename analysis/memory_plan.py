"""The memory plan of a program: what lies where in its arena, from when to when, as the IR has it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import prod

from xdsl.dialects import arith, func, memref
from xdsl.dialects.builtin import IntegerAttr, MemRefType, ModuleOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.traits import IsTerminator

from ..dialects.dtypes import bit_width
from ..dialects.loop import ARENA
from ..dialects.shaped import Buffer, memref_type
from ..frozen import frozen
from .calls import functions_by_name
from .liveness import live_ranges
from .memory_packing import aligned
from .operations import blocks_of, operations_in, operations_inside


@frozen
class Lot:
    """A buffer's place: bytes `offset` to `offset + size` of the arena, in the steps `first` to `last`."""

    name: str
    offset: int
    size: int
    first: int
    last: int
    depth: int = 0
    """1 for scratch memory of a kernel that is called in the step, inside the part of the arena that it is given"""


@frozen
class MemoryPlan:
    """The arena of a function: its bytes, and what lies in it."""

    function: str
    total: int
    steps: tuple[str, ...]
    """what runs, in order: the names of kernels, or of operations"""
    lots: tuple[Lot, ...]

    @property
    def lower_bound(self) -> int:
        """The most bytes that are alive in one step: no arena could be smaller in this order of execution."""
        return max(map(self.alive, range(len(self.steps))), default=0)

    def alive(self, step: int) -> int:
        """The bytes alive in a step, in whole cache lines."""
        return sum(
            aligned(lot.size)
            for lot in self.lots
            if not lot.depth and lot.first <= step <= lot.last
        )

    def text(self) -> str:
        """A table of the buffers, by offset, and one of the steps with what is alive in each."""
        share = self.total / self.lower_bound if self.lower_bound else 1.0
        lines = [
            f"{self.function}: an arena of {self.total} bytes, {share:.2f} times the {self.lower_bound} that "
            "are alive at once",
            f"  {'offset':>10} {'bytes':>10}  steps    buffer",
        ]
        for lot in sorted(self.lots, key=lambda lot: (lot.offset, lot.first)):
            steps = f"{lot.first}-{lot.last}"
            name = "  " * lot.depth + lot.name
            lines.append(f"  {lot.offset:>10} {lot.size:>10}  {steps:<8} {name}")
        lines.append(f"  {'step':>10} {'alive':>10}  runs")
        lines += [f"  {n:>10} {self.alive(n):>10}  {step}" for n, step in enumerate(self.steps)]
        return "\n".join(lines) + "\n"


def memory_plans(module: ModuleOp) -> Iterator[MemoryPlan]:
    """The plan of each public function of a module that has an arena, at the loop level or at core."""
    functions = functions_by_name(module)
    for function in functions.values():
        arena = arena_of(function)
        if arena is not None and function.sym_visibility is None:
            lots, steps = _lots(function, arena, functions)
            (total,) = memref_type(arena).get_shape()
            yield MemoryPlan(function.sym_name.data, total, tuple(steps), tuple(lots))


def arena_of(function: func.FuncOp) -> SSAValue | None:
    """The argument with the arena, of a function of one block: `loop-plan-memory` gives none to others."""
    if function.arg_attrs is None or len(function.body.blocks) != 1:
        return None
    pairs = zip(function.body.block.args, function.arg_attrs, strict=True)
    return next((arg for arg, attrs in pairs if ARENA in attrs.data), None)


def bytes_of(type_: Buffer) -> int:
    """The bytes of a buffer of static shape."""
    return prod(type_.get_shape()) * max(bit_width(type_.get_element_type()), 8) // 8


def _lots(
    function: func.FuncOp, arena: SSAValue, functions: dict[str, func.FuncOp]
) -> tuple[list[Lot], list[str]]:
    block = function.body.block
    steps = [*_steps(block)]
    views = {use.operation: _offset(use.operation) for use in arena.uses}
    sizes: dict[SSAValue, int] = {
        view.results[0]: bytes_of(memref_type(view.results[0]))
        for view, offset in views.items()
        if offset is not None
    }
    numbers = {op: n for n, op in enumerate(operations_inside(block))}
    at = [numbers[op] for op, _ in steps]
    lots: list[Lot] = []
    for each in live_ranges(block, sizes):
        used = [n for n, number in enumerate(at) if each.first <= number <= each.last]
        offset = views[each.buffer.owner] if isinstance(each.buffer.owner, Operation) else None
        if not used or offset is None:
            continue
        name = each.buffer.name_hint or "buffer"
        lots.append(Lot(name, offset, each.size, used[0], used[-1]))
        lots += _inner(each.buffer, offset, used[0], functions)
    return lots, [name for _, name in steps]


def _inner(
    part: SSAValue, offset: int, step: int, functions: dict[str, func.FuncOp]
) -> Iterator[Lot]:
    """What lies in a part of the arena that a called function is given as its own."""
    for use in part.uses:
        if not isinstance(use.operation, func.CallOp):
            continue
        callee = functions.get(use.operation.callee.string_value())
        own = arena_of(callee) if callee is not None else None
        if callee is None or not isinstance(own, BlockArgument) or own.index != use.index:
            continue
        for lot in _lots(callee, own, functions)[0]:
            yield replace(
                lot, offset=offset + lot.offset, first=step, last=step, depth=lot.depth + 1
            )


def _steps(block: Block) -> Iterator[tuple[Operation, str]]:
    """The operations that do something with memory, each with what it is called; loops and branches have those inside."""
    for op in block.ops:
        views = bool(op.results) and all(isinstance(r.type, MemRefType) for r in op.results)
        if views or isinstance(op, arith.ConstantOp) or op.has_trait(IsTerminator):
            continue
        if isinstance(op, func.CallOp):
            yield op, op.callee.string_value()
        elif any(isinstance(inner, func.CallOp) for inner in operations_in(op)):
            for inner in blocks_of(op):
                yield from _steps(inner)
        elif op.regions or any(isinstance(v.type, MemRefType) for v in op.operands):
            yield op, op.name


def _offset(view: Operation) -> int | None:
    """Where a view of the arena starts, in bytes."""
    if not isinstance(view, memref.ViewOp):
        return None
    constant = view.byte_shift.owner
    if isinstance(constant, arith.ConstantOp) and isinstance(constant.value, IntegerAttr):
        return constant.value.value.data
    return None
