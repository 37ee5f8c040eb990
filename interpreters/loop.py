"""What `loop` operations mean: every loop runs in order, with Python ints, whatever its kind and mode."""

# The values an evaluator is called with are dynamic, so lambdas over them have no types to infer.
# pyright: reportUnknownLambdaType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from xdsl.dialects import affine
from xdsl.interpreter import Interpreter, InterpreterFunctions, PythonValues, impl
from xdsl.ir import Operation, Region

from ..dialects import loop
from .affine import compile_bound, compile_map, compile_set, selected_dims
from .engine import Engine
from .evaluators import Evaluator, EvaluatorMaker, with_evaluators
from .memory import allocate, loader, memref_type, resolved_shape, storer


def _load(op: loop.LoadOp) -> Evaluator:
    type_ = memref_type(op.buffer.type)
    map_ = op.map.data
    load = loader(op, type_.get_num_dims(), type_.element_type)
    if selected_dims(map_.results) == tuple(range(map_.num_dims)):
        return load
    subscripts = compile_map(map_)
    return lambda array, *values: load(array, *subscripts(*values))


def _store(op: loop.StoreOp) -> Evaluator:
    map_ = op.map.data
    store = storer(op, memref_type(op.buffer.type).get_num_dims())
    if selected_dims(map_.results) == tuple(range(map_.num_dims)):
        return store
    subscripts = compile_map(map_)
    return lambda value, array, *values: store(value, array, *subscripts(*values))


def _alloc(op: loop.AllocOp) -> Evaluator:
    type_ = memref_type(op.buffer.type)

    def alloc(*sizes: int) -> np.ndarray:
        return allocate(type_, resolved_shape(type_, sizes, op), op)

    return alloc


def _prefetch(op: loop.PrefetchOp) -> Evaluator:
    return lambda *values: None


def _apply(op: affine.ApplyOp) -> Evaluator:
    """The affine dialect's one operation that stands between loops and in bodies of te."""
    function = compile_map(op.map.data)
    return lambda *values: function(*values)[0]


EVALUATORS: dict[type[Operation], EvaluatorMaker] = {
    affine.ApplyOp: _apply,
    loop.AllocOp: _alloc,
    loop.LoadOp: _load,
    loop.PrefetchOp: _prefetch,
    loop.StoreOp: _store,
}


class Loop(NamedTuple):
    """What a loop runs over and what it runs, looked up once: inner loops are entered again and again."""

    low: Callable[..., int]
    low_operands: int
    """so many of the operands are those of the lower bound; the others are the upper one's"""
    high: Callable[..., int]
    step: int
    body: Region


def _loop(op: loop.ForOp) -> Loop:
    low, high = (
        compile_bound(map_.data, join)
        for map_, join in ((op.lower_map, "max"), (op.upper_map, "min"))
    )
    return Loop(low, len(op.lower_operands), high, op.step.value.data, op.body)


@with_evaluators(EVALUATORS, yields=(loop.YieldOp,))
class LoopFunctions(InterpreterFunctions):
    """Every operation of `loop`, for one interpreter: modules do not change while it is in use."""

    def __init__(self) -> None:
        self._loops: dict[loop.ForOp, Loop] = {}

    @impl(loop.ForOp)
    def run_for(self, interpreter: Interpreter, op: loop.ForOp, args: PythonValues) -> PythonValues:
        assert isinstance(interpreter, Engine)
        found = self._loops.get(op)
        if found is None:
            found = self._loops[op] = _loop(op)
        low = found.low(*args[: found.low_operands])
        high = found.high(*args[found.low_operands :])
        interpreter.run_iterations(found.body, range(low, high, found.step))
        return ()

    @impl(loop.IfOp)
    def run_if(self, interpreter: Interpreter, op: loop.IfOp, args: PythonValues) -> PythonValues:
        holds: Any = compile_set(op.condition.data)(*args)
        return interpreter.run_ssacfg_region(op.then_region if holds else op.else_region, ())
