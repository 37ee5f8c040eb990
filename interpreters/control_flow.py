"""What control flow over tensors means, at the graph level and at te: regions run step by step."""

from __future__ import annotations

import numpy as np
from xdsl.interpreter import Interpreter, InterpreterFunctions, PythonValues, impl

from ..dialects import graph, te
from ..dialects.control_flow import If, Scan, While
from ..dialects.shaped import shape_of
from .evaluators import value_dtype, with_evaluators


@with_evaluators({}, yields=(graph.YieldOp,))
class ControlFlowFunctions(InterpreterFunctions):
    """Scans, loops and branches of both levels."""

    @impl(graph.ScanOp)
    def run_graph_scan(
        self, interpreter: Interpreter, op: graph.ScanOp, args: PythonValues
    ) -> PythonValues:
        return _run_scan(interpreter, op, args)

    @impl(te.ScanOp)
    def run_te_scan(
        self, interpreter: Interpreter, op: te.ScanOp, args: PythonValues
    ) -> PythonValues:
        return _run_scan(interpreter, op, args)

    @impl(graph.WhileOp)
    def run_graph_while(
        self, interpreter: Interpreter, op: graph.WhileOp, args: PythonValues
    ) -> PythonValues:
        return _run_while(interpreter, op, args)

    @impl(te.WhileOp)
    def run_te_while(
        self, interpreter: Interpreter, op: te.WhileOp, args: PythonValues
    ) -> PythonValues:
        return _run_while(interpreter, op, args)

    @impl(graph.IfOp)
    def run_graph_if(
        self, interpreter: Interpreter, op: graph.IfOp, args: PythonValues
    ) -> PythonValues:
        return _run_if(interpreter, op, args)

    @impl(te.IfOp)
    def run_te_if(self, interpreter: Interpreter, op: te.IfOp, args: PythonValues) -> PythonValues:
        return _run_if(interpreter, op, args)


def _run_scan(interpreter: Interpreter, op: Scan, args: PythonValues) -> PythonValues:
    count = len(op.carried)
    state, sequences = tuple(args[:count]), args[count:]
    stacked = [np.empty(shape_of(value), value_dtype(value.type, op)) for value in op.stacked]
    for index in op.indices:
        slices = [np.asarray(sequence[index]) for sequence in sequences]
        given = interpreter.run_ssacfg_region(op.body, (*state, *slices), op.name)
        state = given[:count]
        for whole, part in zip(stacked, given[count:], strict=True):
            whole[index] = part
    return (*state, *stacked)


def _run_while(interpreter: Interpreter, op: While, args: PythonValues) -> PythonValues:
    flag, *state = args
    while flag:
        flag, *state = interpreter.run_ssacfg_region(op.body, tuple(state), op.name)
    return tuple(state)


def _run_if(interpreter: Interpreter, op: If, args: PythonValues) -> PythonValues:
    region = op.then if args[0] else op.otherwise
    return interpreter.run_ssacfg_region(region, (), op.name)
