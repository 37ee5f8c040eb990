"""
An upstream dialect of arrays → graph: each function that may be called from outside is run once on Tensors.

What is known is computed at once; calls of other functions, as JAX makes them, are run where they stand.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, cast

import numpy as np
from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import DYNAMIC_INDEX, LocationAttr, ModuleOp, StringAttr
from xdsl.ir import Block, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from ...analysis.levels import Level
from ...analysis.signature import functions_with_body, is_public
from ...dialects.dtypes import is_element_type, numpy_dtype
from ...dialects.shaped import is_tensor, tensor_type
from ...dialects.upstream.plain_operation import settings_of
from ...errors import StepwellError
from ...transforms.stepwell_pass import StepwellPass
from ..recording import as_tensor
from ..tracing import Trace
from .operations import Node, Operations, Value

MOST_CALLS = 64
"""Calls within one another: what calls itself would not end."""


class UpstreamToGraphPass(StepwellPass):
    """Brings the operations of a dialect to the graph level; private functions are inlined."""

    level_in: ClassVar[Level] = Level.GRAPH
    level_out: ClassVar[Level] = Level.GRAPH
    OPERATIONS: ClassVar[Operations]

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = {f.sym_name.data: f for f in op.ops if isinstance(f, func.FuncOp)}
        _check(op, self.OPERATIONS)
        converted = [
            _converted(function, functions, self.OPERATIONS)
            for function in functions_with_body(op)
            if isinstance(function, func.FuncOp) and is_public(function)
        ]
        for old in list(op.ops):
            old.detach()
            old.erase(safe_erase=False)
        op.body.block.add_ops(converted)


def _check(module: ModuleOp, operations: Operations) -> None:
    """Refuse, in one message, every kind of operation and element that is not known."""
    unknown: dict[str, Operation] = {}
    for op in module.walk():
        is_known = op.name in operations.functions or op.name in operations.terminators
        if operations.has(op) and not is_known:
            unknown.setdefault(op.name, op)
    if unknown:
        first = next(iter(unknown.values()))
        raise StepwellError(
            f"found {', '.join(unknown)}, expected operations that Stepwell has (docs/upstream.md); express them "
            "with others",
            op=first,
        )


class _UpstreamTrace(Trace):
    """Operations stand where the one does that is brought in."""

    place: LocationAttr | None = None

    def location(self) -> LocationAttr | None:
        return self.place

    def hint_of(self, value: object) -> str | None:
        return None


def _converted(
    function: func.FuncOp, functions: Mapping[str, func.FuncOp], operations: Operations
) -> func.FuncOp:
    with _UpstreamTrace() as trace:
        arguments: list[Value] = []
        for number, arg in enumerate(function.body.block.args):
            shape, dtype = _checked_type(function, arg)
            arguments.append(trace.argument(shape, dtype, arg.name_hint or f"arg{number}"))
        results = _Runner(trace, functions, operations).call(function, arguments, function)
        module = trace.module([as_tensor(value) for value in results])
    (made,) = module.ops
    assert isinstance(made, func.FuncOp)
    made.detach()
    made.sym_name = StringAttr(function.sym_name.data)
    return made


def _checked_type(op: Operation, value: SSAValue) -> tuple[tuple[int, ...], np.dtype]:
    if not is_tensor(value):
        raise StepwellError(f"found a value of type {value.type}, expected tensors", op=op)
    type_ = tensor_type(value)
    element = type_.get_element_type()
    if DYNAMIC_INDEX in type_.get_shape() or not is_element_type(element):
        raise StepwellError(
            f"found {type_}, expected static extents and elements that are floats of 16 to 64 bits, integers of 8 to "
            "64 bits or i1; lower the function for known shapes and such types",
            op=op,
        )
    return type_.get_shape(), numpy_dtype(element)


def _check_results(op: Operation, values: Sequence[Value]) -> None:
    """Raises StepwellError where what an operation gives is not of the types that the text says."""
    for value, result in zip(values, op.results, strict=True):
        shape, _ = _checked_type(op, result)
        if tuple(value.shape) != shape:
            raise StepwellError(
                f"found {op.name} of shape {list(value.shape)} with the result type {result.type}, expected equal "
                "extents; mend the type",
                op=op,
            )


class _Runner:
    """Runs blocks on values."""

    def __init__(
        self, trace: _UpstreamTrace, functions: Mapping[str, func.FuncOp], operations: Operations
    ):
        self._trace = trace
        self._operations = operations
        self._functions = functions
        self._depth = 0

    def call(self, function: func.FuncOp, arguments: Sequence[Value], op: Operation) -> list[Value]:
        if len(function.body.blocks) != 1 or self._depth > MOST_CALLS:
            raise StepwellError(
                f"found a call of '{function.sym_name.data}', expected a function of one block that does not call "
                "itself",
                op=op,
            )
        self._depth += 1
        results = self.block(function.body.block, arguments, {})
        self._depth -= 1
        return results

    def block(
        self, block: Block, arguments: Sequence[Value], around: Mapping[SSAValue, Value]
    ) -> list[Value]:
        """What the block returns, given its arguments and the values it takes from around it."""
        values = dict(around) | dict(zip(block.args, arguments, strict=True))
        for op in block.ops:
            operands = [values[value] for value in op.operands]
            if isinstance(op, func.ReturnOp) or op.name in self._operations.terminators:
                return operands
            results = self._results(op, operands, values)
            values.update(zip(op.results, results, strict=True))
        return []

    def _results(
        self, op: Operation, operands: Sequence[Value], values: Mapping[SSAValue, Value]
    ) -> Sequence[Value]:
        self._trace.place = op.location
        if isinstance(op, func.CallOp):
            name = op.callee.root_reference.data
            if name not in self._functions:
                raise StepwellError(
                    f"found a call of '{name}', expected a function of the module", op=op
                )
            return self.call(self._functions[name], operands, op)
        if not self._operations.has(op):
            raise StepwellError(
                f"found {op.name}, expected operations of {self._operations.title}; bring other dialects in by themselves",
                op=op,
            )
        tensors = [r for r in op.results if not isinstance(r.type, self._operations.other_types)]
        for result in tensors:
            _checked_type(op, result)

        def run(number: int, arguments: Sequence[Value]) -> list[Value]:
            return self.block(op.regions[number].block, arguments, values)

        function = self._operations.functions[op.name]
        try:
            inspect.signature(function).bind(*operands, node=None)
        except TypeError:
            raise StepwellError(
                f"found {op.name} of {len(operands)} operands, expected another number; mend the list",
                op=op,
            ) from None
        try:
            found: Any = function(*operands, node=Node(op, settings_of(op), run))
        except StepwellError as error:
            raise StepwellError(error.message, op=op) from error
        except VerifyException as error:
            raise StepwellError(f"in {op.name}: {error}", op=op) from error
        except KeyError as error:
            raise StepwellError(
                f"found {op.name} without {error}, expected it among its attributes; add it", op=op
            ) from error
        results = cast("list[Value]", found) if isinstance(found, list) else [found]
        if tensors:
            _check_results(op, results)
        return results
