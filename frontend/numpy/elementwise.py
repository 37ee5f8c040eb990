"""
The operators, element by element: arithmetic, comparisons, logic.

To add an element-wise function of an operation, add a line with an example and what it prints:
`sqrt = unary(graph.SqrtOp, "sw.sqrt([4, 9])", "array([2., 3.])")`.
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
from .examples import presented

# Element by element, one operand.


def floating(x: TensorLike) -> Tensor:
    """The operand in the dtype in which functions of real numbers are computed."""
    tensor = as_tensor(x)
    return cast_to(tensor, float_dtype(tensor.dtype))


def _name(op: type[GraphOp]) -> str:
    return op.name.removeprefix("graph.")


def unary(op: type[GraphOp], call: str = "", printed: str = "") -> Callable[[TensorLike], Tensor]:
    """
    The function of an operation of one operand. Integers become floats if it is for floats only. `call` is an example,
    and `printed` what it gives.
    """

    def function(x: TensorLike, /) -> Tensor:
        takes_integers = builtins.any(element in op.ELEMENTS for element in INTEGERS)
        return record(op, as_tensor(x) if takes_integers else floating(x))

    name = _name(op)
    return presented(function, name, op.__doc__ or f"Element-wise {name}.", call, printed)


def rounding(op: type[GraphOp], call: str, printed: str) -> Callable[[TensorLike], Tensor]:
    """The function of an operation that gives whole numbers: integers and bools stay."""

    def function(x: TensorLike, /) -> Tensor:
        tensor = as_tensor(x)
        return record(op, tensor) if is_float_dtype(tensor.dtype) else tensor

    return presented(function, _name(op), op.__doc__ or "", call, printed)


exp = unary(graph.ExpOp, "sw.exp([0.0, 1.0])", "array([1.    , 2.7183])")
log = unary(graph.LogOp, "sw.log([1.0, np.e])", "array([0., 1.])")
sqrt = unary(graph.SqrtOp, "sw.sqrt([4, 9])", "array([2., 3.])")
rsqrt = unary(graph.RsqrtOp, "sw.rsqrt([4.0, 16.0])", "array([0.5 , 0.25])")
sin = unary(graph.SinOp, "sw.sin([0.0, np.pi / 2])", "array([0., 1.])")
cos = unary(graph.CosOp, "sw.cos([0.0, np.pi])", "array([ 1., -1.])")
tanh = unary(graph.TanhOp, "sw.tanh([0.0, 1.0])", "array([0.    , 0.7616])")
erf = unary(graph.ErfOp, "sw.erf([0.0, 1.0])", "array([0.    , 0.8427])")
abs = absolute = unary(graph.AbsOp, "sw.abs([-2, 0, 3])", "array([2, 0, 3])")
sign = unary(graph.SignOp, "sw.sign([-3, 0, 5])", "array([-1,  0,  1])")
ceil = rounding(graph.CeilOp, "sw.ceil([-1.5, 0.2])", "array([-1.,  1.])")
floor = rounding(graph.FloorOp, "sw.floor([-1.5, 1.5])", "array([-2.,  1.])")
negative = unary(graph.NegOp, "sw.negative([1, -2])", "array([-1,  2])")
invert = bitwise_not = bitwise_invert = unary(graph.NotOp, "sw.invert([0, 5])", "array([-1, -6])")


@traceable
def rint(x: TensorLike, /) -> Tensor:
    """
    To the nearest whole number, halves to the even one, as a float.

    >>> sw.rint([0.5, 1.5, 2.6])
    array([0., 2., 3.])
    """
    return record(graph.RoundOp, floating(x))


@traceable
def reciprocal(x: TensorLike, /) -> Tensor:
    """
    1 / x; of integers truncated, so that it is 0 unless x is 1 or -1. That of the integer 0 is 0.

    >>> sw.reciprocal([2.0, 4.0])
    array([0.5 , 0.25])
    """
    tensor = as_tensor(x)
    tensor = cast_to(tensor, number_dtype(tensor.dtype))
    if is_float_dtype(tensor.dtype):
        return record(graph.ReciprocalOp, tensor)
    return where(absolute(tensor) == 1, tensor, tensor.dtype.type(0))


@traceable
def square(x: TensorLike, /) -> Tensor:
    """
    x · x; of bool in int8.

    >>> sw.square([-2, 3])
    array([4, 9])
    """
    tensor = as_tensor(x)
    tensor = cast_to(tensor, number_dtype(tensor.dtype))
    return record(graph.MulOp, tensor, tensor)


@traceable
def round(x: TensorLike, /, decimals: int = 0) -> Tensor:
    """
    To the nearest number of so many decimals, halves to the even one; integers stay.

    Raises StepwellError for negative `decimals` of integers.

    >>> sw.round([0.5, 1.5, 2.25], 1)
    array([0.5, 1.5, 2.2])
    """
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
    """
    `x` between two bounds, either of which may be None. Bounds may be arrays.

    >>> sw.clip([-3, 4, 12], 0, 9)
    array([0, 4, 9])
    """
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
    """
    True where `x` is zero.

    >>> sw.logical_not([0, 2])
    array([ True, False])
    """
    return record(graph.NotOp, cast_to(as_tensor(x), BOOL))


# Element by element, two or three operands.


def binary(
    op: type[GraphOp],
    call: str = "",
    printed: str = "",
    dtype: Callable[[np.dtype], np.dtype] | None = None,
) -> Callable[[TensorLike, TensorLike], Tensor]:
    """The function of an operation of two operands, computed in their common dtype or what `dtype` makes of it."""

    def function(x: TensorLike, y: TensorLike, /) -> Tensor:
        return record(op, *promoted(x, y, to=dtype))

    name = _name(op)
    return presented(function, name, op.__doc__ or f"Element-wise {name}.", call, printed)


def comparison(
    op: type[GraphOp], call: str, printed: str
) -> Callable[[TensorLike, TensorLike], Tensor]:
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

    return presented(function, _name(op), op.__doc__ or "", call, printed)


def _zeros_of(x: TensorLike) -> Tensor:
    """Zeros that can be compared with -1, of the shape of `x`."""
    zero = as_tensor(np.zeros((), INT8))
    return record(graph.BroadcastToOp, zero, as_tensor(x).shape)


def _out_of_range(number: TensorLike, other: TensorLike) -> bool:
    if not is_scalar(number) or not isinstance(number, int) or is_scalar(other):
        return False
    dtype = dtype_of(other)
    return dtype.kind in "iu" and not np.iinfo(dtype).min <= number <= np.iinfo(dtype).max


def logical(
    op: type[GraphOp], call: str, printed: str
) -> Callable[[TensorLike, TensorLike], Tensor]:
    """The function of an operation on truth values: anything but zero is true."""

    def function(x: TensorLike, y: TensorLike, /) -> Tensor:
        return record(op, cast_to(as_tensor(x), BOOL), cast_to(as_tensor(y), BOOL))

    text = f"{_name(op)} of truth values: anything but zero is true."
    return presented(function, f"logical_{_name(op)}", text, call, printed)


add = binary(graph.AddOp, "sw.add([1, 2], 0.5)", "array([1.5, 2.5])")
subtract = binary(graph.SubOp, "sw.subtract([5, 7], [2, 3])", "array([3, 4])")
multiply = binary(graph.MulOp, "sw.multiply([1, 2], [3, 4])", "array([3, 8])")
divide = true_divide = binary(
    graph.DivOp, "sw.divide([1, 3], 2)", "array([0.5, 1.5])", division_dtype
)
floor_divide = binary(
    graph.FloorDivOp, "sw.floor_divide([7, -7], 2)", "array([ 3, -4])", number_dtype
)
mod = remainder = binary(graph.ModOp, "sw.mod([7, -7], 3)", "array([1, 2])", number_dtype)
maximum = binary(graph.MaximumOp, "sw.maximum([1, 5], [3, 2])", "array([3, 5])")
minimum = binary(graph.MinimumOp, "sw.minimum([1, 5], [3, 2])", "array([1, 2])")
bitwise_and = binary(graph.AndOp, "sw.bitwise_and([6, 5], 3)", "array([2, 1])")
bitwise_or = binary(graph.OrOp, "sw.bitwise_or([6, 5], 3)", "array([7, 7])")
bitwise_xor = binary(graph.XorOp, "sw.bitwise_xor([6, 5], 3)", "array([5, 6])")
left_shift = bitwise_left_shift = binary(
    graph.LeftShiftOp, "sw.left_shift([1, 5], 2)", "array([ 4, 20])", number_dtype
)
right_shift = bitwise_right_shift = binary(
    graph.RightShiftOp, "sw.right_shift([20, -5], 2)", "array([ 5, -2])", number_dtype
)
logical_and = logical(graph.AndOp, "sw.logical_and([0, 2], [1, 3])", "array([False,  True])")
logical_or = logical(graph.OrOp, "sw.logical_or([0, 0], [1, 0])", "array([ True, False])")
logical_xor = logical(graph.XorOp, "sw.logical_xor([0, 2], [1, 3])", "array([ True, False])")
equal = comparison(graph.EqOp, "sw.equal([1, 2], [1, 3])", "array([ True, False])")
not_equal = comparison(graph.NeOp, "sw.not_equal([1, 2], [1, 3])", "array([False,  True])")
less = comparison(graph.LtOp, "sw.less([1, 2], 2)", "array([ True, False])")
less_equal = comparison(graph.LeOp, "sw.less_equal([1, 2], 1)", "array([ True, False])")
greater = comparison(graph.GtOp, "sw.greater([1, 2], 1)", "array([False,  True])")
greater_equal = comparison(graph.GeOp, "sw.greater_equal([1, 2], 2)", "array([False,  True])")


@traceable
def power(x: TensorLike, y: TensorLike, /) -> Tensor:
    """
    `x` to the power `y`. As in NumPy, ** 2 is a multiplication and ** 0.5 of floats a square root.

    Raises StepwellError for an integer to a negative Python integer. Elements of an integer array may be
    negative exponents: the result is then that of the exact power, truncated.

    >>> sw.power([2, 3], 3)
    array([ 8, 27])
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
    """
    `x` where the condition holds, `y` elsewhere; all three broadcast.

    The result has the common dtype of `x` and `y`. With a condition alone NumPy's function is `nonzero`, which is
    asked for by that name here.

    >>> sw.where([True, False, True], [1, 2, 3], 0)
    array([1, 0, 3])
    """
    return record(graph.WhereOp, cast_to(as_tensor(condition), BOOL), *promoted(x, y))
