"""
Evaluators: operations whose results are a function of their operand values alone.

An evaluator is made once for an operation (its types and attributes resolved) and then called with
values. It works on NumPy scalars and, element by element, on whole arrays, so that one implementation
serves the element-by-element levels (loop, core) and the array-at-a-time ones (te).

`with_evaluators` turns a table of them into `@impl` functions of xDSL's framework. They run under any
xDSL `Interpreter`; ours (engine.py) calls the evaluator directly.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar, cast

import numpy as np
from xdsl.dialects.builtin import (
    ContainerType,
    IndexType,
)
from xdsl.interpreter import (
    Interpreter,
    InterpreterFunctions,
    PythonValues,
    ReturnedValues,
    TerminatorValue,
    impl,
    impl_terminator,
    register_impls,
)
from xdsl.ir import Attribute, Operation

from ..dialects.dtypes import is_float_dtype, numpy_dtype
from ..errors import StepwellError

Evaluator: TypeAlias = Callable[..., Any]
"""Operand values to the result value; to None for no result, to a tuple for several."""

EvaluatorMaker: TypeAlias = Callable[[Any], Evaluator]
"""An operation to its evaluator."""

MAKE_EVALUATOR: Final = "make_evaluator"
"""Attribute of an `@impl` function that holds its EvaluatorMaker."""

YIELDS: Final = "yields_operands"
"""Attribute of an `@impl_terminator` function that does nothing but return its operands."""

_FT = TypeVar("_FT", bound=InterpreterFunctions)


class IntegerInfo(NamedTuple):
    """How values of an integer type are held."""

    width: int
    dtype: np.dtype
    unsigned_dtype: np.dtype
    is_index: bool


def element_of(type_: Attribute) -> Attribute:
    """The scalar type of a scalar, vector, tensor or memref type."""
    if not isinstance(type_, ContainerType):
        return type_
    return cast("ContainerType[Attribute]", type_).get_element_type()


def value_dtype(type_: Attribute, op: Operation | None = None) -> np.dtype:
    """
    The NumPy dtype in which values of a scalar or shaped type are held.

    Raises StepwellError for a type NumPy has no dtype for.
    """
    try:
        return numpy_dtype(element_of(type_))
    except KeyError:
        raise StepwellError(
            f"found a value of type {type_}, expected f16, bf16, f32, f64, index or an integer of 1, 8, 16, 32 "
            "or 64 bits; the interpreter cannot hold it",
            op=op,
        ) from None


def integer_info(type_: Attribute, op: Operation | None = None) -> IntegerInfo:
    """The width and dtypes of an integer, index or i1 type (or the element type of a shaped one)."""
    dtype = value_dtype(type_, op)
    if dtype == np.bool_:
        return IntegerInfo(1, dtype, dtype, False)
    unsigned = np.dtype(f"u{dtype.itemsize}")
    return IntegerInfo(
        dtype.itemsize * 8, dtype, unsigned, isinstance(element_of(type_), IndexType)
    )


def poison(dtype: np.dtype) -> Any:
    """What fresh memory holds, so that reading it before it is written shows: NaN, or a large odd number."""
    if is_float_dtype(dtype):
        return dtype.type(np.nan)
    if dtype.kind == "b":
        return np.True_
    return np.array(0x5BADF00D5BADF06B, np.uint64).astype(dtype)[()]


def poisoned(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """A fresh array full of `poison`."""
    return np.full(shape, poison(dtype), dtype)


def with_evaluators(
    table: Mapping[type[Operation], EvaluatorMaker], yields: tuple[type[Operation], ...] = ()
) -> Callable[[type[_FT]], type[_FT]]:
    """
    Class decorator in place of `@register_impls`: registers the class's own `@impl` methods, one `@impl`
    for each evaluator of the table, and one for each terminator that only returns its operands.
    """

    def decorate(functions: type[_FT]) -> type[_FT]:
        for op_type, maker in table.items():
            setattr(functions, f"run_{op_type.__name__}", _impl_of(op_type, maker))
        for op_type in yields:
            setattr(functions, f"run_{op_type.__name__}", _impl_of_yield(op_type))
        return register_impls(functions)

    return decorate


def _impl_of(op_type: type[Operation], maker: EvaluatorMaker) -> Any:
    def run(
        functions: InterpreterFunctions, interpreter: Interpreter, op: Operation, args: PythonValues
    ) -> PythonValues:
        result = maker(op)(*args)
        if isinstance(result, tuple):
            return cast(PythonValues, result)
        return () if result is None else (result,)

    registered = impl(op_type)(run)
    setattr(registered, MAKE_EVALUATOR, maker)
    return registered


def _impl_of_yield(op_type: type[Operation]) -> Any:
    def run(
        functions: InterpreterFunctions, interpreter: Interpreter, op: Operation, args: PythonValues
    ) -> tuple[TerminatorValue, PythonValues]:
        return ReturnedValues(args), ()

    registered = impl_terminator(op_type)(run)
    setattr(registered, YIELDS, True)
    return registered
