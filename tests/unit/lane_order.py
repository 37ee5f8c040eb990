"""
Runs a function at the loop level as its marks say, which the interpreter does not: it runs all loops in
order.

The lanes of a `vector` loop go through the body together, each operation for all of them before the
next one. The iterations of a `threads` loop run in an order of their own: backwards, or together too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from stepwell.analysis.reductions import ReductionUpdate, find_updates
from stepwell.dialects import loop
from stepwell.interpreters.affine import compile_map
from xdsl.dialects import affine, arith, func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir.affine import AffineConstraintKind, AffineMap

Lane = dict[SSAValue, object]

_ARITHMETIC = {
    arith.AddiOp: lambda a, b: a + b,
    arith.SubiOp: lambda a, b: a - b,
    arith.MuliOp: lambda a, b: a * b,
}
_HOLDS = {
    AffineConstraintKind.ge: lambda value: value >= 0,
    AffineConstraintKind.le: lambda value: value <= 0,
    AffineConstraintKind.eq: lambda value: value == 0,
}


def run_as_marked(
    module: ModuleOp, inputs: Sequence[np.ndarray], *, threads: str = "backwards"
) -> tuple[np.ndarray, ...]:
    """The final contents of the memref arguments of `f`; `threads` is `backwards` or `together`."""
    function = next(op for op in module.ops if isinstance(op, func.FuncOp))
    block = function.body.block
    arguments = [np.array(value) for value in inputs]
    lane: Lane = {
        arg: value if value.ndim else int(value)
        for arg, value in zip(block.args, arguments, strict=True)
    }
    with np.errstate(over="ignore"):
        _Runner(find_updates(function), threads).block(block, [lane])
    return tuple(value for value in arguments if value.ndim)


@dataclass
class _Runner:
    updates: dict[Operation, ReductionUpdate]
    threads: str
    maps: dict[Operation, Callable[..., tuple[int, ...]]] = field(default_factory=dict)
    """of the accesses met so far: to find a map by its expressions takes longer than to evaluate it"""

    def block(self, block: Block, lanes: list[Lane]) -> None:
        for op in block.ops:
            if lanes:
                self.operation(op, lanes)

    def operation(self, op: Operation, lanes: list[Lane]) -> None:
        match op:
            case loop.ForOp():
                self.loop(op, lanes)
            case loop.IfOp():
                taken = [lane for lane in lanes if _condition(op, lane)]
                self.block(op.then_region.block, taken)
                if op.else_region.blocks:
                    kept = [lane for lane in lanes if not any(lane is t for t in taken)]
                    self.block(op.else_region.block, kept)
            case loop.StoreOp():
                self.store(op, lanes)
            case _:
                for lane in lanes:
                    self.scalar(op, lane)

    def loop(self, op: loop.ForOp, lanes: list[Lane]) -> None:
        ranges = [_range(op, lane) for lane in lanes]
        mode = None if op.mode is None else op.mode.data
        together = mode is loop.RunMode.THREADS and self.threads == "together"
        if mode is loop.RunMode.VECTOR or (together and len(lanes) == 1):
            assert len(lanes) == 1 or op.kind.data is loop.LoopKind.PARALLEL, "lanes of lanes"
            inner = [
                lane | {op.induction_variable: value}
                for lane, values in zip(lanes, ranges, strict=True)
                for value in values
            ]
            if together and _has_varying_loops(op):
                for one in reversed(inner):
                    self.block(op.body.block, [one])
            else:
                self.block(op.body.block, inner)
            return
        assert all(r == ranges[0] for r in ranges), "lanes with different numbers of iterations"
        values = ranges[0]
        for value in reversed(values) if mode is loop.RunMode.THREADS else values:
            for lane in lanes:
                lane[op.induction_variable] = value
            self.block(op.body.block, lanes)

    def store(self, op: loop.StoreOp, lanes: list[Lane]) -> None:
        update = self.updates.get(op)
        value, buffer = op.operands[:2]
        places = {(id(lane[buffer]), self.subscripts(op, lane)) for lane in lanes if update}
        assert update is None or len(places) in (1, len(lanes)), "lanes that meet in some elements"
        for lane in lanes:
            if update is not None:
                self.scalar(update.load, lane)
                self.scalar(update.combine, lane)
            lane[buffer][self.subscripts(op, lane)] = lane[value]

    def subscripts(self, op: loop.LoadOp | loop.StoreOp, lane: Lane) -> tuple[int, ...]:
        map_ = self.maps.get(op)
        if map_ is None:
            map_ = self.maps[op] = compile_map(op.properties["map"].data)
        return map_(*(lane[v] for v in op.operands[_BEFORE[type(op)] :]))

    def scalar(self, op: Operation, lane: Lane) -> None:
        combine = _ARITHMETIC.get(type(op))
        if combine is not None:
            a, b = op.operands
            lane[op.results[0]] = combine(lane[a], lane[b])
            return
        match op:
            case loop.LoadOp():
                lane[op.results[0]] = lane[op.operands[0]][self.subscripts(op, lane)]
            case loop.AllocOp():
                lane[op.buffer] = np.full(op.buffer.type.get_shape(), -1, np.int32)
            case arith.ConstantOp():
                value = op.value.value.data
                lane[op.result] = np.int32(value) if str(op.result.type) == "i32" else value
            case arith.IndexCastOp():
                lane[op.result] = np.int32(lane[op.input])
            case affine.ApplyOp():
                (lane[op.result],) = _evaluate(op.map.data, op.mapOperands, lane)
            case loop.YieldOp() | func.ReturnOp():
                pass
            case _:
                raise NotImplementedError(op.name)


def _has_varying_loops(op: loop.ForOp) -> bool:
    return any(
        isinstance(inner, loop.ForOp) and (inner.lower_operands or inner.upper_operands)
        for inner in op.body.walk()
    )


def _evaluate(map_: AffineMap, operands: Sequence[SSAValue], lane: Lane) -> tuple[int, ...]:
    return compile_map(map_)(*(lane[v] for v in operands))


def _range(op: loop.ForOp, lane: Lane) -> range:
    low = max(_evaluate(op.lower_map.data, op.lower_operands, lane))
    high = min(_evaluate(op.upper_map.data, op.upper_operands, lane))
    return range(low, high, op.step.value.data)


def _condition(op: loop.IfOp, lane: Lane) -> bool:
    dims = [lane[v] for v in op.condition_operands]
    return all(_HOLDS[c.kind](c.lhs.eval(dims, [])) for c in op.condition.data.constraints)


_BEFORE = {loop.LoadOp: 1, loop.StoreOp: 2}
"""How many operands come before the subscripts'."""
