"""
Running a module of any level from 1 to 4 on NumPy arrays.

    results = interpret(module, [x, w])

follows the calling convention of the entry function, whatever level it stands on, so that the same inputs
can be run before and after any pass and the results compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import IndexType, ModuleOp
from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import InterpretationError

from ..analysis.signature import (
    ArgSpec,
    FunctionLike,
    FunctionSignature,
    entry_function,
    functions_with_body,
    signature_of,
)
from ..dialects.dtypes import is_float_dtype
from ..dialects.loop import LOAD
from ..errors import StepwellError
from .arith import ArithFunctions
from .control import BuiltinFunctions, CfFunctions, FuncFunctions, ScfFunctions
from .control_flow import ControlFlowFunctions
from .engine import Engine
from .evaluators import element_of, poisoned, value_dtype
from .graph import reference_functions
from .loop import LoopFunctions
from .math import MathFunctions
from .memref import MemRefFunctions
from .te import TeFunctions
from .tensor import TensorFunctions
from .vector import VectorFunctions

_UNKNOWN_EXTENT = 3
"""The extent `random_inputs` chooses for `?`."""


def make_interpreter(module: ModuleOp) -> Engine:
    """
    An interpreter of every operation of levels 1 to 4.

    It compiles what it runs: make a new one when the module has changed.
    """
    interpreter = Engine(module)
    for functions in (
        ArithFunctions(),
        BuiltinFunctions(),
        CfFunctions(),
        ControlFlowFunctions(),
        FuncFunctions(),
        reference_functions(module),
        LoopFunctions(),
        MathFunctions(),
        MemRefFunctions(),
        ScfFunctions(),
        TeFunctions(),
        TensorFunctions(),
        VectorFunctions(),
    ):
        interpreter.register_implementations(functions)
    return interpreter


def interpret(
    module: ModuleOp, inputs: Sequence[np.ndarray], entry: str | None = None
) -> tuple[np.ndarray, ...]:
    """
    Run the entry function; its results as new arrays.

    `inputs` have the shapes and dtypes of `signature_of(...).inputs` and are not changed. Results that
    are passed as arguments, and the arena, are allocated here, full of poison. A function with memrefs and no marks
    gives back the final contents of each memref, then what it returns.
    Raises StepwellError for wrong inputs and for whatever fails inside, with the operation's place.
    """
    function = entry_function(module, entry)
    signature = signature_of(function)
    check_inputs(signature, inputs, function)
    arguments = [
        _argument(value, spec, type_)
        for value, spec, type_ in zip(
            inputs, signature.inputs, function.function_type.inputs, strict=False
        )
    ]
    written = [_memory(spec, function) for spec in _allocated(signature)]
    arena = [np.full(signature.arena_bytes, -1, np.int8)] if signature.arena_bytes else []
    if signature.convention == "marked" and not arena and _has_arena(function, signature):
        arena = [np.empty(0, np.int8)]
    interpreter = make_interpreter(module)
    for other in functions_with_body(module):
        if LOAD in other.attributes:
            _call(interpreter, other, ())
    returned = _call(interpreter, function, [*arguments, *written, *arena])
    if signature.convention == "inout":
        written = [
            value
            for value, spec in zip(arguments, signature.inputs, strict=True)
            if not spec.scalar
        ]
    return tuple(
        _result(value, spec)
        for value, spec in zip([*written, *returned], signature.results, strict=True)
    )


def random_inputs(function: FunctionLike, seed: int) -> tuple[np.ndarray, ...]:
    """
    Inputs of the right shapes and dtypes, the same for the same seed.

    Floats are in [-2, 2], integers in [-8, 8) (unsigned: [0, 16)). `?` becomes 3.
    """
    generator = np.random.default_rng(seed)
    return tuple(_random(generator, spec) for spec in signature_of(function).inputs)


def check_inputs(
    signature: FunctionSignature, inputs: Sequence[np.ndarray], op: Operation | None = None
) -> None:
    """Raises StepwellError unless the number, shapes and dtypes of the inputs are the function's."""
    if len(inputs) != len(signature.inputs):
        raise StepwellError(
            f"found {len(inputs)} inputs, expected {len(signature.inputs)} for {signature}; pass these",
            op=op,
        )
    for value, spec in zip(inputs, signature.inputs, strict=True):
        shape, dtype = np.shape(value), np.asarray(value).dtype
        if not spec.fits(shape) or dtype != spec.dtype:
            found = ArgSpec(spec.name, shape, dtype)
            raise StepwellError(
                f"found {found} for input '{spec.name}', expected {spec}; pass such an array", op=op
            )


def _call(interpreter: Engine, function: FunctionLike, arguments: Sequence[Any]) -> tuple[Any, ...]:
    try:
        return interpreter.call_op(function, tuple(arguments))
    except (InterpretationError, KeyError, RecursionError) as error:
        text = " ".join(str(error).split())
        raise StepwellError(
            f"interpreting '{function.sym_name.data}' failed: {text}", op=function
        ) from error


def _allocated(signature: FunctionSignature) -> tuple[ArgSpec, ...]:
    return signature.results if signature.convention == "marked" else ()


def _has_arena(function: FunctionLike, signature: FunctionSignature) -> bool:
    passed = len(signature.inputs) + len(signature.results)
    return len(function.function_type.inputs) > passed


def _memory(spec: ArgSpec, op: Operation) -> np.ndarray:
    if not spec.is_static:
        raise StepwellError(
            f"found the result '{spec.name}' of shape {spec}, expected a static shape; "
            "give the extents, or pass the memory without a mark",
            op=op,
        )
    shape = tuple(extent for extent in spec.shape if extent is not None)
    return poisoned(shape, _signless(spec.dtype))


def _signless(dtype: np.dtype) -> np.dtype:
    return np.dtype(f"i{dtype.itemsize}") if dtype.kind == "u" else dtype


def _argument(value: np.ndarray, spec: ArgSpec, type_: Attribute) -> Any:
    """A copy of an input in the dtype the level holds it in: an unsigned tensor as it is, a signless one signed."""
    array = np.array(value, spec.dtype, order="C")
    if spec.scalar:
        return int(array[()]) if isinstance(type_, IndexType) else array[()]
    # Not a view of another dtype, which memref operations would take for a view of a buffer of that dtype.
    return array.view(value_dtype(element_of(type_))).copy()


def _result(value: Any, spec: ArgSpec) -> np.ndarray:
    array = np.array(value, order="C")
    if array.dtype.kind in "iu" and array.dtype.itemsize == spec.dtype.itemsize:
        array = array.view(spec.dtype)
    if array.dtype != spec.dtype or not spec.fits(array.shape):
        raise StepwellError(
            f"interpreting gave {ArgSpec(spec.name, array.shape, array.dtype)} for result '{spec.name}', "
            f"expected {spec}; an operation's implementation is wrong"
        )
    return array


def _random(generator: np.random.Generator, spec: ArgSpec) -> np.ndarray:
    shape = tuple(_UNKNOWN_EXTENT if extent is None else extent for extent in spec.shape)
    if is_float_dtype(spec.dtype):
        return generator.uniform(-2, 2, shape).astype(spec.dtype)
    match spec.dtype.kind:
        case "b":
            return generator.integers(0, 2, shape).astype(np.bool_)
        case "u":
            return generator.integers(0, 16, shape).astype(spec.dtype)
        case _:
            return generator.integers(-8, 8, shape).astype(spec.dtype)
