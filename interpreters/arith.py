"""
What `arith` operations mean, on NumPy scalars and arrays.

Integers wrap. Where upstream leaves a result undefined, ours is defined, and native code agrees: division
and remainder by zero give 0, INT_MIN / -1 = INT_MIN, shifts by the width or more give 0,
float-to-integer casts saturate and take NaN to 0. Values of type `index` are Python ints (or int64
arrays) and wrap at 64 bits. The signed values of an i1 are 0 and -1.
"""

# The values an evaluator is called with are dynamic, so lambdas over them have no types to infer.
# pyright: reportUnknownLambdaType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    DenseResourceAttr,
    FloatAttr,
    IntegerAttr,
    VectorType,
)
from xdsl.interpreter import InterpreterFunctions
from xdsl.ir import Attribute, Operation

from ..dialects.dtypes import converted
from ..dialects.resources import elements_to_numpy
from ..dialects.upstream.arith import RemFOp, VectorCmpfOp, VectorCmpiOp, VectorSelectOp
from ..dialects.upstream.arith_casts import CASTS
from ..errors import StepwellError
from .evaluators import (
    Evaluator,
    EvaluatorMaker,
    IntegerInfo,
    integer_info,
    value_dtype,
    with_evaluators,
)

PythonBinary: TypeAlias = Callable[[int, int], int]
ArrayBinary: TypeAlias = Callable[[np.ndarray, np.ndarray], np.ndarray]

_MASK64 = (1 << 64) - 1
_TOP64 = 1 << 63


def constant_value(attr: Attribute, op: Operation | None = None) -> Any:
    """The value of a constant attribute: a NumPy scalar, a Python int for `index`, or a read-only array."""
    match attr:
        case IntegerAttr():
            return wrapper(integer_info(attr.type, op))(attr.value.data)
        case FloatAttr():
            return value_dtype(attr.type, op).type(attr.value.data)
        case DenseIntOrFPElementsAttr(type=VectorType() as type_):
            flat = np.frombuffer(attr.data.data, value_dtype(type_, op))
            shape = type_.get_shape()
            return flat.reshape(shape) if flat.size == np.prod(shape) else np.full(shape, flat[0])
        case DenseIntOrFPElementsAttr() | DenseResourceAttr():
            return elements_to_numpy(attr)
        case _:
            raise StepwellError(
                f"found the constant {attr}, expected an integer, a float or dense elements; "
                "the interpreter has no value for it",
                op=op,
            )


def wrapper(info: IntegerInfo) -> Callable[[int], Any]:
    """From any Python int to the value of the integer type that is equal to it modulo 2**width."""
    if info.is_index:
        return _wrap_index
    if info.width == 1:
        return lambda value: np.bool_(value & 1)
    scalar: Any = info.dtype.type
    top = 1 << (info.width - 1)
    mask = (1 << info.width) - 1

    def wrap(value: int) -> Any:
        return scalar(value if -top <= value < top else ((value + top) & mask) - top)

    return wrap


def _wrap_index(value: int) -> int:
    return value if -_TOP64 <= value < _TOP64 else ((value + _TOP64) & _MASK64) - _TOP64


def python_int(info: IntegerInfo, unsigned: bool) -> Callable[[Any], int]:
    """From a value of the integer type to the Python int it stands for, read signed or unsigned."""
    if unsigned:
        mask = (1 << info.width) - 1
        return lambda value: int(value) & mask
    return (lambda value: -int(value)) if info.width == 1 else int


def as_array(info: IntegerInfo, unsigned: bool) -> Callable[[Any], np.ndarray]:
    """The same for arrays: views wherever the width allows, i1 as int8."""
    if info.width == 1:
        return lambda value: np.asarray(value).astype(np.int8) * np.int8(1 if unsigned else -1)
    dtype = info.unsigned_dtype if unsigned else info.dtype
    return lambda value: np.asarray(value, info.dtype).view(dtype)


def from_array(info: IntegerInfo) -> Callable[[np.ndarray], np.ndarray]:
    """Back from what a computation on `as_array` gave to values of the type."""
    if info.width == 1:
        return lambda array: (array & 1).astype(np.bool_)
    return lambda array: array.view(info.dtype)


def _is_array(a: Any, b: Any) -> bool:
    return type(a) is np.ndarray or type(b) is np.ndarray


# region: integers


def _ring(on_integers: Evaluator, on_booleans: Evaluator) -> EvaluatorMaker:
    """Addition, multiplication and bitwise operations: NumPy's own operators wrap as they should."""

    def make(op: Operation) -> Evaluator:
        info = integer_info(op.results[0].type, op)
        if not info.is_index:
            return on_booleans if info.width == 1 else on_integers

        def on_index(a: Any, b: Any) -> Any:
            result = on_integers(a, b)
            return _wrap_index(result) if type(result) is int else result

        return on_index

    return make


def _integer(on_ints: PythonBinary, on_arrays: ArrayBinary, *, unsigned: bool) -> EvaluatorMaker:
    """An operation from its meaning on Python ints (scalars) and on arrays, both read with the sign given."""

    def make(op: Operation) -> Evaluator:
        return integer_evaluator(
            integer_info(op.results[0].type, op), on_ints, on_arrays, unsigned=unsigned
        )

    return make


def integer_evaluator(
    info: IntegerInfo, on_ints: PythonBinary, on_arrays: ArrayBinary, *, unsigned: bool
) -> Evaluator:
    to_int, wrap = python_int(info, unsigned), wrapper(info)
    to_array, back = as_array(info, unsigned), from_array(info)

    def evaluate(a: Any, b: Any) -> Any:
        if _is_array(a, b):
            return back(on_arrays(to_array(a), to_array(b)))
        return wrap(on_ints(to_int(a), to_int(b)))

    return evaluate


def _signed_extreme(greatest: bool) -> EvaluatorMaker:
    on_arrays, on_ints = (np.maximum, max) if greatest else (np.minimum, min)

    def make(op: Operation) -> Evaluator:
        info = integer_info(op.results[0].type, op)
        if info.width == 1:
            return integer_evaluator(info, on_ints, on_arrays, unsigned=False)
        return lambda a, b: on_arrays(a, b) if _is_array(a, b) else on_ints(a, b)

    return make


def _truncated_quotient(a: int, b: int) -> int:
    if b == 0:
        return 0
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def _truncated_quotients(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    inexact = np.fmod(a, b) != 0
    return np.floor_divide(a, b) + (inexact & ((a < 0) != (b < 0)))


def _ceiling_quotients(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.floor_divide(a, b) + (np.fmod(a, b) != 0)


def _shift(
    on_ints: PythonBinary, on_arrays: Callable[..., np.ndarray], *, unsigned: bool
) -> EvaluatorMaker:
    def make(op: Operation) -> Evaluator:
        info = integer_info(op.results[0].type, op)
        width = info.width

        def shifted(a: int, b: int) -> int:
            return on_ints(a, b) if 0 <= b < width else 0

        def all_shifted(a: np.ndarray, b: np.ndarray) -> np.ndarray:
            in_range = (b >= 0) & (b < width)
            shift = np.where(in_range, b, 0).astype(a.dtype)
            return np.where(in_range, on_arrays(a, shift), np.zeros((), a.dtype))

        return integer_evaluator(info, shifted, all_shifted, unsigned=unsigned)

    return make


def _extended_sum(op: arith.AddUIExtendedOp) -> Evaluator:
    info = integer_info(op.sum.type, op)
    to_int, wrap = python_int(info, True), wrapper(info)

    def extend(a: int, b: int) -> tuple[Any, np.bool_]:
        total = to_int(a) + to_int(b)
        return wrap(total), np.bool_(total >> info.width)

    return _elementwise(extend, (info.dtype, np.dtype(np.bool_)))


def _extended_product(unsigned: bool) -> EvaluatorMaker:
    def make(op: arith.MulSIExtendedOp | arith.MulUIExtendedOp) -> Evaluator:
        info = integer_info(op.low.type, op)
        to_int, wrap = python_int(info, unsigned), wrapper(info)

        def extend(a: int, b: int) -> tuple[Any, Any]:
            product = to_int(a) * to_int(b)
            return wrap(product), wrap(product >> info.width)

        return _elementwise(extend, (info.dtype, info.dtype))

    return make


def _elementwise(on_scalars: Evaluator, dtypes: tuple[np.dtype, ...]) -> Evaluator:
    """Arrays one element at a time: for rare operations with several results."""
    vectorized = np.vectorize(on_scalars, otypes=dtypes)
    return lambda a, b: vectorized(a, b) if _is_array(a, b) else on_scalars(a, b)


_SIGNED_COMPARISONS = (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge)
_UNSIGNED_COMPARISONS = _SIGNED_COMPARISONS[2:]


def _compare_indices(compare: Evaluator) -> Evaluator:
    def evaluate(a: Any, b: Any) -> Any:
        result = compare(a, b)
        return result if type(result) is not bool else np.True_ if result else np.False_

    return evaluate


def _compare_integers(op: arith.CmpiOp | VectorCmpiOp) -> Evaluator:
    info = integer_info(op.lhs.type, op)
    predicate = op.predicate.value.data
    unsigned = predicate >= 6
    compare = (_SIGNED_COMPARISONS + _UNSIGNED_COMPARISONS)[predicate]
    if not unsigned and info.width > 1:
        return _compare_indices(compare) if info.is_index else compare
    to_int, to_array = python_int(info, unsigned), as_array(info, unsigned)

    def evaluate(a: Any, b: Any) -> Any:
        if _is_array(a, b):
            return compare(to_array(a), to_array(b))
        return np.bool_(compare(to_int(a), to_int(b)))

    return evaluate


# endregion
# region: floats


def _ordered(a: Any, b: Any) -> Any:
    return (a == a) & (b == b)


def _ordered_unequal(a: Any, b: Any) -> Any:
    return (a < b) | (a > b)


def _always(a: Any, b: Any) -> Any:
    return _ordered(a, b) | ~_ordered(a, b)


_FLOAT_COMPARISONS: tuple[Evaluator, ...] = (
    lambda a, b: ~_always(a, b),
    operator.eq,
    operator.gt,
    operator.ge,
    operator.lt,
    operator.le,
    _ordered_unequal,
    _ordered,
    lambda a, b: ~_ordered_unequal(a, b),
    lambda a, b: ~(a <= b),
    lambda a, b: ~(a < b),
    lambda a, b: ~(a >= b),
    lambda a, b: ~(a > b),
    operator.ne,
    lambda a, b: ~_ordered(a, b),
    _always,
)
"""By the number of the predicate: false, oeq, ogt, oge, olt, ole, one, ord, ueq, ugt, uge, ult, ule, une, uno, true."""


def maximumf(a: Any, b: Any) -> Any:
    """IEEE 754-2019 maximum: NaN if either is NaN, and 0 above -0."""
    if _is_array(a, b):
        return np.where((a == 0) & (b == 0), a + b, np.maximum(a, b))
    return a if a > b else b if b > a else a + b if a == 0 or a != b else a


def minimumf(a: Any, b: Any) -> Any:
    """IEEE 754-2019 minimum: NaN if either is NaN, and -0 below 0."""
    if _is_array(a, b):
        return np.where((a == 0) & (b == 0), -((-a) + (-b)), np.minimum(a, b))
    return a if a < b else b if b < a else -((-a) + (-b)) if a == 0 or a != b else a


def number_or_other(choose: Evaluator) -> Evaluator:
    """maxnumf, minnumf: of a number and a NaN the number."""

    def evaluate(a: Any, b: Any) -> Any:
        if _is_array(a, b):
            return np.where(np.isnan(a), b, np.where(np.isnan(b), a, choose(a, b)))
        return b if a != a else a if b != b else choose(a, b)

    return evaluate


def float_to_integer(info: IntegerInfo, unsigned: bool) -> Evaluator:
    """Truncation, saturating at the ends of the (signed or unsigned) range; NaN gives 0."""
    low = 0 if unsigned else -(1 << (info.width - 1))
    high = (1 << (info.width if unsigned else info.width - 1)) - 1
    wrap, back = wrapper(info), from_array(info)
    dtype = np.dtype(np.int8) if info.width == 1 else info.dtype
    exact = info.unsigned_dtype if unsigned and info.width > 1 else dtype

    def evaluate(x: Any) -> Any:
        if type(x) is not np.ndarray:
            value = float(x)
            if value != value:
                return wrap(0)
            return wrap(low if value <= low else high if value >= high + 1 else int(value))
        x = x.astype(np.float64)
        inside = (x > low) & (x < high + 1)
        result = np.where(inside, x, 0).astype(exact)
        result = np.where(x >= high + 1, np.array(high, exact), result)
        return back(np.where(x <= low, np.array(low, exact), result))

    return evaluate


# endregion
# region: casts and selection


def _to_integer(unsigned: bool) -> EvaluatorMaker:
    return lambda op: float_to_integer(integer_info(op.results[0].type, op), unsigned)


def _to_float(unsigned: bool) -> EvaluatorMaker:
    def make(op: Operation) -> Evaluator:
        info = integer_info(op.operands[0].type, op)
        to_array = as_array(info, unsigned)
        dtype = value_dtype(op.results[0].type, op)
        if not unsigned and info.width > 1:
            return lambda x: x.astype(dtype)
        return lambda x: to_array(x).astype(dtype)[()]

    return make


def _convert(op: Operation) -> Evaluator:
    dtype = value_dtype(op.results[0].type, op)
    return lambda x: converted(x, dtype)


def _resize(unsigned: bool) -> EvaluatorMaker:
    """From one integer type to another: the value read with the sign given, modulo the new width."""

    def make(op: Operation) -> Evaluator:
        source = integer_info(op.operands[0].type, op)
        target = integer_info(op.results[0].type, op)
        to_int, wrap = python_int(source, unsigned), wrapper(target)
        to_array, back = as_array(source, unsigned), from_array(target)

        def evaluate(x: Any) -> Any:
            if type(x) is not np.ndarray:
                return wrap(to_int(x))
            values = to_array(x)
            return back(values if target.width == 1 else values.astype(target.dtype))

        return evaluate

    return make


def _bitcast(op: arith.BitcastOp) -> Evaluator:
    dtype = value_dtype(op.result.type, op)
    return lambda x: x.view(dtype)


def _constant(op: arith.ConstantOp) -> Evaluator:
    value = constant_value(op.value, op)
    return lambda: value


def select(condition: Any, a: Any, b: Any) -> Any:
    """`a` where the condition holds, else `b`; a scalar condition chooses whole values."""
    if type(condition) is np.ndarray:
        return np.where(condition, a, b)
    return a if condition else b


# endregion


def _plain(function: Evaluator) -> EvaluatorMaker:
    return lambda op: function


EVALUATORS: dict[type[Operation], EvaluatorMaker] = {
    arith.ConstantOp: _constant,
    arith.AddiOp: _ring(operator.add, operator.xor),
    arith.SubiOp: _ring(operator.sub, operator.xor),
    arith.MuliOp: _ring(operator.mul, operator.and_),
    arith.AndIOp: _ring(operator.and_, operator.and_),
    arith.OrIOp: _ring(operator.or_, operator.or_),
    arith.XOrIOp: _ring(operator.xor, operator.xor),
    arith.AddUIExtendedOp: _extended_sum,
    arith.MulSIExtendedOp: _extended_product(False),
    arith.MulUIExtendedOp: _extended_product(True),
    arith.DivSIOp: _integer(_truncated_quotient, _truncated_quotients, unsigned=False),
    arith.DivUIOp: _integer(lambda a, b: a // b if b else 0, np.floor_divide, unsigned=True),
    arith.FloorDivSIOp: _integer(lambda a, b: a // b if b else 0, np.floor_divide, unsigned=False),
    arith.CeilDivSIOp: _integer(
        lambda a, b: -(-a // b) if b else 0, _ceiling_quotients, unsigned=False
    ),
    arith.CeilDivUIOp: _integer(
        lambda a, b: -(-a // b) if b else 0, _ceiling_quotients, unsigned=True
    ),
    arith.RemSIOp: _integer(
        lambda a, b: a - b * _truncated_quotient(a, b) if b else 0, np.fmod, unsigned=False
    ),
    arith.RemUIOp: _integer(lambda a, b: a % b if b else 0, np.fmod, unsigned=True),
    arith.MinSIOp: _signed_extreme(False),
    arith.MaxSIOp: _signed_extreme(True),
    arith.MinUIOp: _integer(min, np.minimum, unsigned=True),
    arith.MaxUIOp: _integer(max, np.maximum, unsigned=True),
    arith.ShLIOp: _shift(operator.lshift, np.left_shift, unsigned=True),
    arith.ShRUIOp: _shift(operator.rshift, np.right_shift, unsigned=True),
    arith.ShRSIOp: _shift(operator.rshift, np.right_shift, unsigned=False),
    arith.CmpiOp: _compare_integers,
    arith.CmpfOp: lambda op: _FLOAT_COMPARISONS[op.predicate.value.data],
    arith.SelectOp: _plain(select),
    VectorCmpiOp: _compare_integers,
    VectorCmpfOp: lambda op: _FLOAT_COMPARISONS[op.predicate.value.data],
    VectorSelectOp: _plain(select),
    arith.AddfOp: _plain(operator.add),
    arith.SubfOp: _plain(operator.sub),
    arith.MulfOp: _plain(operator.mul),
    arith.DivfOp: _plain(operator.truediv),
    RemFOp: _plain(np.fmod),
    arith.NegfOp: _plain(operator.neg),
    arith.MaximumfOp: _plain(maximumf),
    arith.MinimumfOp: _plain(minimumf),
    arith.MaxnumfOp: _plain(number_or_other(maximumf)),
    arith.MinnumfOp: _plain(number_or_other(minimumf)),
    arith.BitcastOp: _bitcast,
    arith.IndexCastOp: _resize(False),
    arith.FPToSIOp: _to_integer(False),
    arith.FPToUIOp: _to_integer(True),
    arith.SIToFPOp: _to_float(False),
    arith.UIToFPOp: _to_float(True),
    arith.ExtFOp: _convert,
    arith.TruncFOp: _convert,
    arith.TruncIOp: _resize(False),
    arith.ExtSIOp: _resize(False),
    arith.ExtUIOp: _resize(True),
}
EVALUATORS.update({vector: EVALUATORS[scalar] for scalar, vector in CASTS.items()})


@with_evaluators(EVALUATORS)
class ArithFunctions(InterpreterFunctions):
    """Every operation of `arith`."""
