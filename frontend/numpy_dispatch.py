"""NumPy's operators, functions and ufuncs, called on traced values: Stepwell's of the same names."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..errors import StepwellError
from .array_operators import ArrayOperators
from .at import At
from .call_site import call_site_text
from .operators import call, function_named, hint_of
from .signatures import signature_text
from .traced import Traced
from .ufunc_methods import call_method, refused


class TracedArray(Traced, ArrayOperators):
    """What traced values of all kinds answer in the same way: operators, and NumPy's functions with them as arguments."""

    __slots__ = ()

    def _applied(self, name: str, *operands: Any) -> Any:
        return call(name, *operands)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return call_ufunc(ufunc, method, inputs, kwargs, repr(self))

    def __array_function__(
        self,
        function: Callable[..., Any],
        types: Sequence[type],
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
    ) -> Any:
        return call_function(function, args, kwargs)

    @property
    def at(self) -> At:
        """`x.at[key].set(values)`, `add`, `multiply`, `min`, `max`: new values with some elements replaced."""
        return At(self)


_IN_PLACE = frozenset(("copyto", "fill_diagonal", "place", "put", "put_along_axis", "putmask"))
"""Functions that write into their first argument in NumPy, and return a new value here."""


def call_ufunc(
    ufunc: np.ufunc, method: str, inputs: Sequence[Any], kwargs: Mapping[str, Any], shown: str
) -> Any:
    """What Stepwell has for `ufunc(...)`, `ufunc.reduce(...)` and `ufunc.accumulate(...)`, of which one operand is `shown` so."""
    if method == "__call__" and not kwargs:
        return numpys(ufunc)(*inputs)
    if method == "__call__":
        raise refused(ufunc.__name__, method, kwargs, shown)
    return call_method(ufunc.__name__, method, inputs, kwargs, shown)


def call_function(
    function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Any:
    """
    What Stepwell's function of the name of NumPy's gives. Raises StepwellError for those that change an argument in NumPy, which
    give nothing.
    """
    own = numpys(function)
    if function.__name__ in _IN_PLACE:
        raise StepwellError(
            f"found numpy.{function.__name__} on a traced value, expected a function that gives a new value: traced values do "
            f"not change; write x = stepwell.{function.__name__}(x, …)",
            where=call_site_text(),
        )
    try:
        inspect.signature(own).bind(*args, **kwargs)
    except TypeError as error:
        name = function.__name__
        if name == "where" and len(args) == 1 and not kwargs:
            raise StepwellError(
                "found numpy.where of a condition alone on a traced value, expected two values to choose from; where it "
                "holds is stepwell.nonzero(condition, size=n)",
                where=call_site_text(),
            ) from None
        raise StepwellError(
            f"found numpy.{name} on a traced value with arguments that stepwell.{name} does not have "
            f"({error}), expected {signature_text(own)}; pass these",
            where=call_site_text(),
        ) from None
    return own(*args, **kwargs)


def numpys(function: Any) -> Callable[..., Any]:
    """Stepwell's function for NumPy's. Raises StepwellError when there is none of its name."""
    # A ufunc has no module before NumPy 2.3.
    module = "numpy" if isinstance(function, np.ufunc) else str(function.__module__)
    name = f"{module}.{function.__name__}".removeprefix("numpy.")
    own = function_named(name) if module.partition(".")[0] == "numpy" else None
    if own is None:
        remedy = hint_of(name) or "write it with those of stepwell"
        raise StepwellError(
            f"found numpy's {name} called on a traced value, expected a function Stepwell has; {remedy}",
            where=call_site_text(),
        )
    return own
