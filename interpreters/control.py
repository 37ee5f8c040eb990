"""What `func`, `scf`, `cf` and `builtin` operations mean: xDSL's own functions and what they lack."""

# The values an evaluator is called with are dynamic, so lambdas over them have no types to infer.
# pyright: reportUnknownLambdaType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from xdsl.dialects import cf, func, scf
from xdsl.dialects.builtin import IndexType, IntegerType, UnrealizedConversionCastOp
from xdsl.interpreter import (
    Interpreter,
    InterpreterFunctions,
    PythonValues,
    Successor,
    TerminatorValue,
    impl,
    impl_callable,
    impl_terminator,
)
from xdsl.interpreters import cf as xdsl_cf
from xdsl.interpreters import func as xdsl_func
from xdsl.interpreters import scf as xdsl_scf
from xdsl.ir import Region

from ..errors import StepwellError
from .arith import wrapper
from .evaluators import Evaluator, integer_info, with_evaluators


@with_evaluators({}, yields=(func.ReturnOp,))
class FuncFunctions(xdsl_func.FuncFunctions):
    """Calls, with external functions refused in one line."""

    @impl_callable(func.FuncOp)
    def call_func(
        self, interpreter: Interpreter, op: func.FuncOp, args: PythonValues
    ) -> PythonValues:
        if not op.body.blocks:
            raise StepwellError(
                f"found a call of '{op.sym_name.data}', which has no body, expected a function defined in "
                "the module; define it",
                op=op,
            )
        return interpreter.run_ssacfg_region(op.body, args, op.sym_name.data)


@with_evaluators({}, yields=(scf.YieldOp, scf.ConditionOp, scf.ReduceOp, scf.ReduceReturnOp))
class ScfFunctions(xdsl_scf.ScfFunctions):
    """Loops with Python ints; `scf.parallel` runs in the order of its indices."""

    @impl(scf.ForOp)
    def run_for(self, interpreter: Interpreter, op: scf.ForOp, args: PythonValues) -> PythonValues:
        lower, upper, step, *initial = args
        carried = tuple(initial)
        if step <= 0:
            raise StepwellError(
                f"found 'scf.for' with step {step}, expected at least 1; mend it", op=op
            )
        body, run = op.body, interpreter.run_ssacfg_region
        variable = op.body.block.args[0].type
        if not isinstance(variable, IndexType):
            make = wrapper(integer_info(variable, op))
            for i in range(lower, upper, step):
                carried = run(body, (make(i), *carried))
            return carried
        for i in range(lower, upper, step):
            carried = run(body, (i, *carried))
        return carried

    @impl(scf.ParallelOp)
    def run_parallel(
        self, interpreter: Interpreter, op: scf.ParallelOp, args: PythonValues
    ) -> PythonValues:
        rank = len(op.lowerBound)
        lower, upper, steps = args[:rank], args[rank : 2 * rank], args[2 * rank : 3 * rank]
        reduced = args[3 * rank :]
        if any(step <= 0 for step in steps):
            raise StepwellError(
                f"found 'scf.parallel' with steps {list(steps)}, expected at least 1; mend them",
                op=op,
            )
        reduce = op.body.block.last_op
        assert isinstance(reduce, scf.ReduceOp)
        for indices in itertools.product(*map(range, lower, upper, steps)):
            values = interpreter.run_ssacfg_region(op.body, indices, "parallel")
            reduced = tuple(
                _joined(interpreter, region, old, new)
                for region, old, new in zip(reduce.reductions, reduced, values, strict=True)
            )
        return reduced

    @impl(scf.ExecuteRegionOp)
    def run_execute_region(
        self, interpreter: Interpreter, op: scf.ExecuteRegionOp, args: PythonValues
    ) -> PythonValues:
        return interpreter.run_ssacfg_region(op.region, (), "execute_region")


def _joined(interpreter: Interpreter, region: Region, old: Any, new: Any) -> Any:
    return interpreter.run_ssacfg_region(region, (old, new), "reduce")[0]


@with_evaluators({})
class CfFunctions(xdsl_cf.CfFunctions):
    """Branches; `cf.switch` and `cf.assert` too."""

    @impl(cf.AssertOp)
    def run_assert(
        self, interpreter: Interpreter, op: cf.AssertOp, args: PythonValues
    ) -> PythonValues:
        if not args[0]:
            raise StepwellError(f"assertion failed: {op.msg.data}", op=op)
        return ()

    @impl_terminator(cf.SwitchOp)
    def run_switch(
        self, interpreter: Interpreter, op: cf.SwitchOp, args: PythonValues
    ) -> tuple[TerminatorValue, PythonValues]:
        cases = (
            [] if op.case_values is None else [int(case) for case in op.case_values.get_values()]
        )
        flag = int(args[0])
        if flag not in cases:
            return Successor(op.default_block, interpreter.get_values(op.default_operands)), ()
        chosen = cases.index(flag)
        sizes = op.case_operand_segments.get_values()
        first = sum(sizes[:chosen])
        operands = op.case_operands[first : first + sizes[chosen]]
        return Successor(op.case_blocks[chosen], interpreter.get_values(operands)), ()


def _cast_through(op: UnrealizedConversionCastOp) -> Evaluator:
    if len(op.results) != 1:
        return lambda *values: values
    type_ = op.results[0].type
    if isinstance(type_, IndexType | IntegerType):
        make = wrapper(integer_info(type_, op))
        return lambda value: value if isinstance(value, np.ndarray) else make(int(value))
    return lambda value: value


@with_evaluators({UnrealizedConversionCastOp: _cast_through})
class BuiltinFunctions(InterpreterFunctions):
    """Casts between types whose values are held alike: index and i64, or two memrefs."""
