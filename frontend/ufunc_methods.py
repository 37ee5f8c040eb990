"""The methods of NumPy's ufuncs: `add.reduce`, `maximum.accumulate`, `subtract.outer`; and what to write for the others."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..errors import StepwellError
from .call_site import call_site_text
from .operators import call, function_named

_REDUCTIONS = {
    "add": "sum",
    "multiply": "prod",
    "maximum": "max",
    "minimum": "min",
    "logical_and": "all",
    "logical_or": "any",
}
_SCANS = {"add": "cumsum", "multiply": "cumprod", "maximum": "cummax", "minimum": "cummin"}
_AS_ONE = {"reduce": _REDUCTIONS, "accumulate": _SCANS}
"""The functions that a method of a ufunc is, where there is one."""

_IN_PLACE = {
    "add": "add",
    "multiply": "multiply",
    "minimum": "min",
    "maximum": "max",
}
"""What `x.at[key]` has for a ufunc's method `at`."""

_METHODS = ("reduce", "accumulate", "outer", "at", "reduceat")


def give_methods(functions: Mapping[str, Any]) -> None:
    """Let those functions that NumPy has as ufuncs of two operands have the methods of ufuncs."""
    for name, function in functions.items():
        ufunc = getattr(np, name, None)
        if isinstance(ufunc, np.ufunc) and ufunc.nin == 2 and ufunc.nout == 1:
            for method in _METHODS:
                setattr(function, method, _method(name, method))


def _method(name: str, method: str) -> Callable[..., Any]:
    def called(*args: Any, **kwargs: Any) -> Any:
        if method in _AS_ONE:  # axis and dtype may be given by position
            kwargs = {**dict(zip(("axis", "dtype"), args[1:], strict=False)), **kwargs}
            args = (*args[:1], *args[3:])
        return call_method(name, method, args, kwargs)

    called.__name__ = method
    called.__qualname__ = f"{name}.{method}"
    called.__doc__ = f"What `numpy.{name}.{method}` gives."
    return called


def call_method(
    name: str, method: str, inputs: Sequence[Any], kwargs: Mapping[str, Any], shown: str = ""
) -> Any:
    """
    What a method of the ufunc `name` gives, as of functions of NumPy's; one operand may be `shown` in messages.

    Raises StepwellError, with what to write instead, for methods that change an operand, and for those that Stepwell
    has no function for.
    """
    own = function_named(_AS_ONE.get(method, {}).get(name, ""))
    given = {key: value for key, value in kwargs.items() if value is not None or key == "axis"}
    known = {"axis", "dtype", "keepdims"} if method == "reduce" else {"axis", "dtype"}
    if own is not None and len(inputs) == 1 and given.keys() <= known:
        return own(inputs[0], **{"axis": 0, **given})
    pointwise = function_named(name)
    if method == "outer" and pointwise is not None and not kwargs and len(inputs) == 2:
        first, second = inputs
        shape = (*np.shape(first), *[1] * np.ndim(second))
        return pointwise(call("reshape", first, shape), second)
    raise refused(name, method, kwargs, shown)


def refused(name: str, method: str, kwargs: Mapping[str, Any], shown: str) -> StepwellError:
    """That a ufunc is called in a way there is not, with what to write instead."""
    remedy = "write it with stepwell's functions"
    if method == "at" and name in _IN_PLACE:
        remedy = f"write x = x.at[indices].{_IN_PLACE[name]}(values)"
    elif method == "reduceat":
        remedy = "write stepwell.cumsum, or x[start:stop].sum() for each part"
    elif "out" in kwargs:
        remedy = f"use what the function returns: y = stepwell.{name}(x)"
    what = f"numpy.{name}" + ("" if method == "__call__" else f".{method}")
    options = f" with {', '.join(kwargs)}=" if kwargs else ""
    on = f" on {shown}" if shown else ""
    return StepwellError(
        f"found {what}{options}{on}, expected a plain call: traced values do not change; {remedy}",
        where=call_site_text(),
    )
