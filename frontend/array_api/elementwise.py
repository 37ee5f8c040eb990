"""The standard's functions of elements: those of one operand and of two, `clip` and `where`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..operators import call
from ..tensor import TensorLike
from .calls import elementwise, standard

_ONE = (
    *("abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "bitwise_invert", "ceil", "conj"),
    *("cos", "cosh", "exp", "expm1", "floor", "imag", "isfinite", "isinf", "isnan", "log", "log1p"),
    *(
        "log2",
        "log10",
        "logical_not",
        "negative",
        "positive",
        "real",
        "reciprocal",
        "round",
        "sign",
    ),
    *("signbit", "sin", "sinh", "sqrt", "square", "tan", "tanh", "trunc"),
)
_TWO = (
    *("add", "atan2", "bitwise_and", "bitwise_left_shift", "bitwise_or", "bitwise_right_shift"),
    *("bitwise_xor", "copysign", "divide", "equal", "floor_divide", "greater", "greater_equal"),
    *("hypot", "less", "less_equal", "logaddexp", "logical_and", "logical_or", "logical_xor"),
    *("maximum", "minimum", "multiply", "nextafter", "not_equal", "remainder", "subtract"),
)


def _named(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    function.__name__ = function.__qualname__ = name
    return function


def _unary(name: str) -> Callable[..., Any]:
    def function(x: TensorLike, /) -> Any:
        return call(name, x)

    return standard(_named(function, name))


def _binary(name: str) -> Callable[..., Any]:
    def function(x1: TensorLike, x2: TensorLike, /) -> Any:
        return call(name, x1, x2)

    return elementwise(_named(function, name))


@standard
def pow(x1: TensorLike, x2: TensorLike, /) -> Any:
    # A Python number as exponent is compiled for: a square is a product.
    return call("pow", x1, x2)


@elementwise
def clip(x: TensorLike, /, min: TensorLike = None, max: TensorLike = None) -> Any:
    return call("clip", x, min, max)


@elementwise
def where(condition: TensorLike, x1: TensorLike, x2: TensorLike, /) -> Any:
    return call("where", condition, x1, x2)


@standard
def _rounded(x: TensorLike, decimals: int, /) -> Any:
    return call("round", x, decimals)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{name: _unary(name) for name in _ONE},
    **{name: _binary(name) for name in _TWO},
    **{function.__name__: function for function in (pow, clip, where)},
}

OPERATORS: dict[str, Callable[..., Any]] = {
    "divmod": _binary("divmod"),
    "invert": FUNCTIONS["bitwise_invert"],
    "left_shift": FUNCTIONS["bitwise_left_shift"],
    "mod": FUNCTIONS["remainder"],
    "power": pow,
    "right_shift": FUNCTIONS["bitwise_right_shift"],
    "round": _rounded,
}
"""The functions behind Python's operators, by NumPy's names where the standard has another name or none."""
