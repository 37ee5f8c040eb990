"""
What a function at the loop level really does to memory: every touch of every element, in order.

Loops and conditions of this level do not depend on data, so a walk with plain integers enumerates them.
Nothing here uses isl or the polyhedral analyses: it is what they are checked against.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from stepwell.analysis.reductions import ReductionUpdate, find_updates, operator_of
from stepwell.dialects import loop
from xdsl.dialects import affine, arith, func, memref
from xdsl.dialects.builtin import IndexType, IntegerAttr, MemRefType
from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir.affine import AffineConstraintKind, AffineMap

Cell = tuple[int, tuple[int, ...]]
"""A buffer, numbered as it is made, and the subscripts of an element."""


class Untraceable(Exception):
    """An operation whose effect on memory is not known here."""


@dataclass(frozen=True, slots=True)
class Step:
    """One loop iteration, or one branch taken, on the way to an operation."""

    region: Operation
    place: int
    """of `region` in its block"""
    value: int
    """of the loop's variable; 0 in the branch of a condition that holds, 1 in the other"""
    values: range = range(0)
    """of the loop's variable, in this run of it"""

    @property
    def turn(self) -> int:
        """How many iterations of the loop came before."""
        return self.values.index(self.value)


@dataclass(frozen=True, slots=True)
class Touch:
    """One operation reading or writing one element, once."""

    op: Operation
    way: tuple[Step, ...]
    place: int
    """of the operation in its block"""
    cell: Cell
    is_write: bool
    update: ReductionUpdate | None

    def iteration(self) -> tuple[tuple[str, int], ...]:
        """The loops around by name with their values, outermost first."""
        return tuple(
            (step.region.loop_name.data, step.value)
            for step in self.way
            if isinstance(step.region, loop.ForOp)
        )

    def depth_of(self, region: Operation) -> int | None:
        """Which entry of `way` is the loop or condition, None when it is not around."""
        return next((n for n, step in enumerate(self.way) if step.region is region), None)

    def key(self) -> tuple[int, ...]:
        """When it happens: compared entry by entry, the order in which the function runs."""
        return key_of(self.way, self.place)


def key_of(way: Sequence[Step], place: int) -> tuple[int, ...]:
    entries: list[int] = []
    for step in way:
        entries += [step.place, step.value]
    return (*entries, place)


def trace(function: func.FuncOp, symbols: Mapping[str, int], limit: int = 20_000) -> list[Touch]:
    """
    Every touch of memory in the order of execution, for these values of the index arguments.

    Raises Untraceable for operations that are not understood and when there are more than `limit`.
    """
    return _Tracer(function, symbols, limit).touches


class _Tracer:
    def __init__(self, function: func.FuncOp, symbols: Mapping[str, int], limit: int):
        self.limit = limit
        self.touches: list[Touch] = []
        self.values: dict[SSAValue, int] = {}
        self.buffers: dict[SSAValue, int] = {}
        self.made = 0
        self.runs: dict[Block, list[tuple[Operation, Callable[..., None] | None]]] = {}
        self.accesses: dict[Operation, tuple[AffineMap, tuple[SSAValue, ...], SSAValue, bool]] = {}
        self.updates = find_updates(function)
        self.places: dict[Operation, int] = {}
        for op in function.walk():
            for region in op.regions:
                for block in region.blocks:
                    self.places.update({inner: n for n, inner in enumerate(block.ops)})
        for arg in function.body.block.args:
            if isinstance(arg.type, MemRefType):
                self._make(arg)
            elif isinstance(arg.type, IndexType):
                self.values[arg] = symbols[arg.name_hint or ""]
        self._block(function.body.block, ())

    def _make(self, buffer: SSAValue) -> None:
        self.buffers[buffer] = self.made
        self.made += 1

    def _block(self, block: Block, way: tuple[Step, ...]) -> None:
        # Asking for the class of an operation is slow: each is asked once.
        if block not in self.runs:
            self.runs[block] = [(op, self._run_of(op)) for op in block.ops]
        for op, run in self.runs[block]:
            if run is not None:
                run(op, way)

    def _run_of(self, op: Operation) -> Callable[[Any, tuple[Step, ...]], None] | None:
        """What runs the operation; None when it does nothing to memory or indices."""
        match op:
            case loop.ForOp():
                return self._loop
            case loop.IfOp():
                return self._branch
            case loop.LoadOp() | loop.StoreOp():
                return self._affine_access
            case affine.ApplyOp():
                return self._apply
            case arith.ConstantOp() if not isinstance(op.value, IntegerAttr):
                return None
            case arith.ConstantOp() | memref.LoadOp() | memref.StoreOp() | loop.AllocOp():
                return self._operation
            case _ if any(isinstance(v.type, MemRefType) for v in op.operands):
                return self._operation
            case _:
                return None

    def _loop(self, op: loop.ForOp, way: tuple[Step, ...]) -> None:
        values = iterations(op, self.values)
        for value in values:
            self.values[op.induction_variable] = value
            step = Step(op, self.places[op], value, values)
            self._block(op.body.block, (*way, step))

    def _branch(self, op: loop.IfOp, way: tuple[Step, ...]) -> None:
        holds = self._holds(op)
        region = op.then_region if holds else op.else_region
        if region.blocks:
            self._block(region.block, (*way, Step(op, self.places[op], 0 if holds else 1)))

    def _holds(self, op: loop.IfOp) -> bool:
        dims = [self._value(v) for v in op.condition_operands]
        for constraint in op.condition.data.constraints:
            value = constraint.lhs.eval(dims, [])
            if constraint.kind is AffineConstraintKind.ge:
                holds = value >= 0
            elif constraint.kind is AffineConstraintKind.le:
                holds = value <= 0
            else:
                holds = value == 0
            if not holds:
                return False
        return True

    def _value(self, value: SSAValue) -> int:
        if value not in self.values:
            raise Untraceable(f"an index of '{value.owner.name}'")
        return self.values[value]

    def _affine_access(self, op: loop.LoadOp | loop.StoreOp, way: tuple[Step, ...]) -> None:
        if op not in self.accesses:
            is_write = isinstance(op, loop.StoreOp)
            self.accesses[op] = (op.map.data, tuple(op.operands_), op.buffer, is_write)
        map_, operands, buffer, is_write = self.accesses[op]
        self._touch(op, way, buffer, tuple(_evaluated(map_, operands, self.values)), is_write)

    def _apply(self, op: affine.ApplyOp, way: tuple[Step, ...]) -> None:
        (self.values[op.result],) = op.map.data.eval([self._value(v) for v in op.mapOperands], [])

    def _operation(self, op: Operation, way: tuple[Step, ...]) -> None:
        match op:
            case memref.LoadOp() | memref.StoreOp():
                element = tuple(self._value(v) for v in op.indices)
                self._touch(op, way, op.memref, element, isinstance(op, memref.StoreOp))
            case loop.AllocOp():
                self._make(op.buffer)
            case arith.ConstantOp():
                if isinstance(op.value, IntegerAttr):
                    self.values[op.result] = op.value.value.data
            case _:
                raise Untraceable(f"'{op.name}' of a buffer")

    def _touch(
        self,
        op: Operation,
        way: tuple[Step, ...],
        buffer: SSAValue,
        element: tuple[int, ...],
        is_write: bool,
    ) -> None:
        if buffer not in self.buffers:
            raise Untraceable("a buffer that is made elsewhere")
        if len(self.touches) == self.limit:
            raise Untraceable(f"more than {self.limit} touches")
        cell = self.buffers[buffer], element
        self.touches.append(Touch(op, way, self.places[op], cell, is_write, self.updates.get(op)))


def iterations(op: loop.ForOp, values: Mapping[SSAValue, int]) -> range:
    """The values of a loop's variable, given those of the loops around."""
    low = max(_evaluated(op.lower_map.data, op.lower_operands, values))
    high = min(_evaluated(op.upper_map.data, op.upper_operands, values))
    return range(low, high, op.step.value.data)


def _evaluated(
    map_: AffineMap, operands: Sequence[SSAValue], values: Mapping[SSAValue, int]
) -> Sequence[int]:
    missing = next((v for v in operands if v not in values), None)
    if missing is not None:
        raise Untraceable(f"an index of '{missing.owner}'")
    return map_.eval([values[v] for v in operands], [])


def conflicts(touches: Sequence[Touch]) -> Iterator[tuple[Touch, Touch]]:
    """
    The pairs of touches of one element whose order matters, in the order they run.

    At least one writes, and they do not belong to updates by one operator that may be reordered.
    """
    by_cell: dict[Cell, list[Touch]] = {}
    for touch in touches:
        by_cell.setdefault(touch.cell, []).append(touch)
    for same in by_cell.values():
        if not any(touch.is_write for touch in same):
            continue
        for number, second in enumerate(same):
            for first in same[:number]:
                if (first.is_write or second.is_write) and not _may_change_places(first, second):
                    yield first, second


def _may_change_places(first: Touch, second: Touch) -> bool:
    a, b = first.update, second.update
    if a is None or b is None or a.operator != b.operator:
        return False
    # The load and the store of one update in one iteration stay in order.
    return a is not b or first.way != second.way


def with_separate_updates(touches: Sequence[Touch]) -> list[Touch]:
    """
    The touches, with updates between whose load and store the buffer is touched, but never the element.

    `analysis/reductions` does not call them so, as it asks for the buffer alone.
    """
    before: dict[Cell, Touch] = {}
    updates: dict[Operation, ReductionUpdate | None] = {}
    for touch in touches:
        previous = before.get(touch.cell)
        if isinstance(touch.op, loop.StoreOp) and touch.update is None:
            update = _update_of(touch.op)
            alone = update and previous and (previous.op, previous.way) == (update.load, touch.way)
            updates[touch.op] = update if alone and updates.get(touch.op, update) else None
        before[touch.cell] = touch
    found = {
        op: update for update in updates.values() if update for op in (update.load, update.store)
    }
    return [replace(touch, update=touch.update or found.get(touch.op)) for touch in touches]


def _update_of(store: loop.StoreOp) -> ReductionUpdate | None:
    """The load of the same element, the combination with it, and the store."""
    combine = store.value.owner
    operator = operator_of(combine) if isinstance(combine, Operation) else None
    if operator is None or not isinstance(combine, Operation):
        return None
    for load in (value.owner for value in combine.operands):
        if (
            isinstance(load, loop.LoadOp)
            and load.result.has_one_use()
            and load.buffer is store.buffer
            and load.map == store.map
            and tuple(load.operands_) == tuple(store.operands_)
        ):
            return ReductionUpdate(operator, load, combine, store)
    return None


def racing(
    touches: Sequence[Touch], for_op: loop.ForOp, *, reductions: bool
) -> Iterator[tuple[Touch, Touch]]:
    """
    The pairs in different iterations of a loop, in the same one of those around, that touch one element.

    `reductions` is whether updates that may be reordered count too.
    """
    by_cell: dict[tuple[Cell, tuple[int, ...]], list[tuple[int, Touch]]] = {}
    for touch in touches:
        depth = touch.depth_of(for_op)
        if depth is not None:
            prefix = key_of(touch.way[:depth], touch.way[depth].place)
            by_cell.setdefault((touch.cell, prefix), []).append((touch.way[depth].value, touch))
    for same in by_cell.values():
        if not any(touch.is_write for _, touch in same):
            continue
        for number, (value, second) in enumerate(same):
            for other, first in same[:number]:
                if (
                    value != other
                    and (first.is_write or second.is_write)
                    and (reductions or not _may_change_places(first, second))
                ):
                    yield first, second
