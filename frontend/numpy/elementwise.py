"""
The operators, element by element: arithmetic, comparisons, logic.

To add an element-wise function of an operation, add a line: `tanh = unary(graph.TanhOp)`.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable

import numpy as np

from ...dialects import graph
from ...dialects.dtypes import is_float_dtype
from ...dialects.graph.base import INTEGERS, GraphOp
from ...errors import StepwellError
from ..promotion import BOOL, INT8, division_dtype, float_dtype, is_scalar, number_dtype
from ..recording import as_tensor, cast_to, dtype_of, promoted, record
from ..tensor import Tensor, TensorLike
from ..traceable import traceable

# Element by element, one operand.


def floating(x: TensorLike) -> Tensor:
    """The operand in the dtype in which functions of real numbers are computed."""
    tensor = as_tensor(x)
    return cast_to(tensor, float_dtype(tensor.dtype))


def unary(op: type[GraphOp]) -> Callable[[TensorLike], Tensor]:
    """The function of an operation of one operand. Integers become floats if it is for floats only."""

    def function(x: TensorLike, /) -> Tensor:
        takes_integers = builtins.any(element in op.ELEMENTS for element in INTEGERS)
        return record(op, as_tensor(x) if takes_integers else floating(x))

    function.__name__ = function.__qualname__ = op.name.removeprefix("graph.")
    function.__doc__ = op.__doc__ or f"Element-wise {function.__name__}."
    return traceable(function)


def rounding(op: type[GraphOp]) -> Callable[[TensorLike], Tensor]:
    """The function of an operation that gives whole numbers: integers and bools stay."""

    def function(x: TensorLike, /) -> Tensor:
        tensor = as_tensor(x)
        return record(op, tensor) if is_float_dtype(tensor.dtype) else tensor

    function.__name__ = function.__qualname__ = op.name.removeprefix("graph.")
    function.__doc__ = op.__doc__
    return traceable(function)


exp = unary(graph.ExpOp)
log = unary(graph.LogOp)
sqrt = unary(graph.SqrtOp)
rsqrt = unary(graph.RsqrtOp)
sin = unary(graph.SinOp)
cos = unary(graph.CosOp)
tanh = unary(graph.TanhOp)
erf = unary(graph.ErfOp)
abs = absolute = unary(graph.AbsOp)
sign = unary(graph.SignOp)
ceil = rounding(graph.CeilOp)
floor = rounding(graph.FloorOp)
negative = unary(graph.NegOp)
invert = bitwise_not = bitwise_invert = unary(graph.NotOp)


@traceable
def rint(x: TensorLike, /) -> Tensor:
    """To the nearest whole number, halves to the even one, as a float."""
    return record(graph.RoundOp, floating(x))


@traceable
def reciprocal(x: TensorLike, /) -> Tensor:
    """1 / x; of integers truncated, so that it is 0 unless x is 1 or -1. That of the integer 0 is 0."""
    tensor = as_tensor(x)
    tensor = cast_to(tensor, number_dtype(tensor.dtype))
    if is_float_dtype(tensor.dtype):
        return record(graph.ReciprocalOp, tensor)
    return where(absolute(tensor) == 1, tensor, tensor.dtype.type(0))


@traceable
def square(x: TensorLike, /) -> Tensor:
    """x · x; of bool in int8."""
    tensor = as_tensor(x)
    tensor = cast_to(tensor, number_dtype(tensor.dtype))
    return record(graph.MulOp, tensor, tensor)


@traceable
def round(x: TensorLike, /, decimals: int = 0) -> Tensor:
    """To the nearest number of so many decimals, halves to the even one; integers stay."""
    tensor = as_tensor(x)
    if tensor.dtype == BOOL:
        tensor = floating(tensor)
    if decimals == 0 or (decimals > 0 and not is_float_dtype(tensor.dtype)):
        return record(graph.RoundOp, tensor)
    if not is_float_dtype(tensor.dtype):
        raise StepwellError(
            f"found decimals={decimals} for {tensor.dtype}, expected at least 0; convert it to a float"
        )
    scale = as_tensor(tensor.dtype.type(10.0 ** (decimals if decimals > 0 else -decimals)))
    there, back = (graph.MulOp, graph.DivOp) if decimals > 0 else (graph.DivOp, graph.MulOp)
    return record(back, record(graph.RoundOp, record(there, tensor, scale)), scale)


around = round


@traceable
def clip(x: TensorLike, /, min: TensorLike = None, max: TensorLike = None) -> Tensor:
    """`x` between two bounds, either of which may be None. Bounds may be arrays."""
    min, max = (_within(bound, x) for bound in (min, max))
    bounds = [bound for bound in (min, max) if bound is not None]
    tensor, *limits = promoted(x, *bounds)
    if builtins.all(is_scalar(bound) for bound in bounds):
        return record(graph.ClipOp, tensor, min, max)
    if min is not None:
        tensor = record(graph.MaximumOp, tensor, limits[0])
    return tensor if max is None else record(graph.MinimumOp, tensor, limits[-1])


def _within(bound: TensorLike, x: TensorLike) -> TensorLike:
    """A Python integer beyond the dtype's limits as the limit, so that nothing is cut there, as in NumPy."""
    if not _out_of_range(bound, x):
        return bound
    limits = np.iinfo(dtype_of(x))
    return int(limits.max if bound > 0 else limits.min)


@traceable
def logical_not(x: TensorLike, /) -> Tensor:
    """True where `x` is zero."""
    return record(graph.NotOp, cast_to(as_tensor(x), BOOL))


# Element by element, two or three operands.


def binary(
    op: type[GraphOp], dtype: Callable[[np.dtype], np.dtype] | None = None
) -> Callable[[TensorLike, TensorLike], Tensor]:
    """The function of an operation of two operands, computed in their common dtype or what `dtype` makes of it."""

    def function(x: TensorLike, y: TensorLike, /) -> Tensor:
        return record(op, *promoted(x, y, to=dtype))

    function.__name__ = function.__qualname__ = op.name.removeprefix("graph.")
    function.__doc__ = op.__doc__ or f"Element-wise {function.__name__}."
    return traceable(function)


def comparison(op: type[GraphOp]) -> Callable[[TensorLike, TensorLike], Tensor]:
    """
    The function of a comparison. A Python integer that the other operand's dtype does not hold is beyond all of its elements:
    it compares with them as its sign does with 0.
    """

    def function(x: TensorLike, y: TensorLike, /) -> Tensor:
        if _out_of_range(x, y):
            x, y = 1 if x > 0 else -1, _zeros_of(y)
        elif _out_of_range(y, x):
            x, y = _zeros_of(x), 1 if y > 0 else -1
        return record(op, *promoted(x, y))

    function.__name__ = function.__qualname__ = op.name.removeprefix("graph.")
    function.__doc__ = op.__doc__
    return traceable(function)


def _zeros_of(x: TensorLike) -> Tensor:
    """Zeros that can be compared with -1, of the shape of `x`."""
    zero = as_tensor(np.zeros((), INT8))
    return record(graph.BroadcastToOp, zero, as_tensor(x).shape)


def _out_of_range(number: TensorLike, other: TensorLike) -> bool:
    if not is_scalar(number) or not isinstance(number, int) or is_scalar(other):
        return False
    dtype = dtype_of(other)
    return dtype.kind in "iu" and not np.iinfo(dtype).min <= number <= np.iinfo(dtype).max


def logical(op: type[GraphOp]) -> Callable[[TensorLike, TensorLike], Tensor]:
    """The function of an operation on truth values: anything but zero is true."""

    def function(x: TensorLike, y: TensorLike, /) -> Tensor:
        return record(op, cast_to(as_tensor(x), BOOL), cast_to(as_tensor(y), BOOL))

    function.__name__ = function.__qualname__ = "logical_" + op.name.removeprefix("graph.")
    function.__doc__ = (
        f"{op.name.removeprefix('graph.')} of truth values: anything but zero is true."
    )
    return traceable(function)


add = binary(graph.AddOp)
subtract = binary(graph.SubOp)
multiply = binary(graph.MulOp)
divide = true_divide = binary(graph.DivOp, division_dtype)
floor_divide = binary(graph.FloorDivOp, number_dtype)
mod = remainder = binary(graph.ModOp, number_dtype)
maximum = binary(graph.MaximumOp)
minimum = binary(graph.MinimumOp)
bitwise_and = binary(graph.AndOp)
bitwise_or = binary(graph.OrOp)
bitwise_xor = binary(graph.XorOp)
left_shift = bitwise_left_shift = binary(graph.LeftShiftOp, number_dtype)
right_shift = bitwise_right_shift = binary(graph.RightShiftOp, number_dtype)
logical_and = logical(graph.AndOp)
logical_or = logical(graph.OrOp)
logical_xor = logical(graph.XorOp)
equal = comparison(graph.EqOp)
not_equal = comparison(graph.NeOp)
less = comparison(graph.LtOp)
less_equal = comparison(graph.LeOp)
greater = comparison(graph.GtOp)
greater_equal = comparison(graph.GeOp)


@traceable
def power(x: TensorLike, y: TensorLike, /) -> Tensor:
    """
    `x` to the power `y`. As in NumPy, ** 2 is a multiplication and ** 0.5 of floats a square root.

    Raises StepwellError for an integer to a negative Python integer. Elements of an integer array may be
    negative exponents: the result is then that of the exact power, truncated.
    """
    base, exponent = promoted(x, y, to=number_dtype)
    if is_scalar(y):
        if y == 2 and not isinstance(y, bool):
            return record(graph.MulOp, base, base)
        if y == 0.5 and is_float_dtype(base.dtype):
            return record(graph.SqrtOp, base)
        if y < 0 and not is_float_dtype(base.dtype):
            raise StepwellError(
                f"found {base.dtype} to the power {y}, expected an exponent of at least 0; convert the base "
                "to a float"
            )
    return record(graph.PowOp, base, exponent)


pow = power


@traceable
def where(condition: TensorLike, x: TensorLike, y: TensorLike, /) -> Tensor:
    """`x` where the condition holds, `y` elsewhere; all three broadcast."""
    return record(graph.WhereOp, cast_to(as_tensor(condition), BOOL), *promoted(x, y))
