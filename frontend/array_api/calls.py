"""
How a function of the standard is run: recorded where traced values are, compiled for each shape where Arrays are.

A function is written once, on traced values, in terms of Stepwell's functions of NumPy's names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property, wraps
from typing import Any, TypeVar, cast

import numpy as np

from ...errors import StepwellError
from ..jit import JitFunction
from ..operators import function_named
from ..promotion import is_scalar, result_dtype, scalar_array
from ..recording import active_recording, dtype_of
from ..tensor import Tensor
from .array import Array

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])

_MANY = 1 << 14
"""
Elements of operands from which on a function is scheduled and optimised. Below it is compiled by the quick tier, in a third
of the time: at tens of nanoseconds an element what that loses in a call is recovered by compilation only after hundreds.
"""


class _Compiled:
    """A function in both tiers of compilation, which are made when they are first needed."""

    def __init__(self, function: Callable[..., Any]):
        self._function = function

    @cached_property
    def quick(self) -> JitFunction[..., Any]:
        return JitFunction(self._function, opt="quick")

    @cached_property
    def full(self) -> JitFunction[..., Any]:
        return JitFunction(self._function)


def bare(value: Any) -> Any:
    """Arrays as the NumPy arrays that they hold, in lists, tuples and dictionaries too; anything else as it is."""
    if isinstance(value, Array):
        return value.elements
    if type(value) is list:
        return [*map(bare, cast("Iterable[Any]", value))]
    if type(value) is tuple:
        return (*map(bare, cast("Iterable[Any]", value)),)
    if type(value) is dict:
        return {name: bare(item) for name, item in cast("dict[str, Any]", value).items()}
    return value


def wrapped(result: Any) -> Any:
    """NumPy arrays as Arrays, in lists and tuples, named ones too; Tensors as they are."""
    if isinstance(result, np.ndarray | np.generic):
        return Array(np.asarray(cast("Any", result)))
    if isinstance(result, list | tuple):
        parts = [wrapped(part) for part in cast("Iterable[Any]", result)]
        kind = cast("Any", type(cast("Any", result)))
        return kind(*parts) if hasattr(kind, "_fields") else kind(parts)
    return result


def _leaves(value: Any) -> Iterable[Any]:
    if isinstance(value, list | tuple):
        for part in cast("Iterable[Any]", value):
            yield from _leaves(part)
    else:
        yield value


def _is_recorded(leaves: Iterable[Any]) -> bool:
    return active_recording() is not None or any(isinstance(leaf, Tensor) for leaf in leaves)


def _documented(function: FunctionT) -> FunctionT:
    """The function; what it gives is said by Stepwell's function of this name where it does not say so itself."""
    own = function_named(function.__name__)
    if function.__doc__ is None and own is not None:
        function.__doc__ = own.__doc__
    return function


def standard(function: FunctionT) -> FunctionT:
    """Decorate a function of arrays: recorded in a traced function, compiled for each shape outside."""
    compiled = _Compiled(_documented(function))

    @wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        args, kwargs = bare(args), bare(kwargs)
        leaves = list(_leaves((*args, *kwargs.values())))
        if _is_recorded(leaves):
            return wrapped(function(*args, **kwargs))
        size = sum(leaf.size for leaf in leaves if isinstance(leaf, np.ndarray))
        run = compiled.full if size >= _MANY else compiled.quick
        return wrapped(run(*args, **kwargs))

    return cast("FunctionT", called)


def elementwise(function: FunctionT) -> FunctionT:
    """
    As `standard`, for functions whose operands may be Python numbers: these become arrays without axes, of the dtype that
    they take beside the other operands, so that what is compiled serves every number.
    """
    run = standard(function)

    @wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        if any(is_scalar(arg) for arg in (*args, *kwargs.values())):
            args, kwargs = _without_numbers(args, kwargs)
        return run(*args, **kwargs)

    return cast("FunctionT", called)


def _without_numbers(args: Any, kwargs: Any) -> tuple[Any, Any]:
    operands = [*args, *kwargs.values()]
    dtypes = [dtype_of(one) for one in operands if one is not None and not is_scalar(one)]
    try:
        dtype = result_dtype([*dtypes, *filter(is_scalar, operands)])
        operands = [scalar_array(one, dtype) if is_scalar(one) else one for one in operands]
    except StepwellError:  # of an integer that the dtype does not hold, which a comparison allows
        return args, kwargs
    return tuple(operands[: len(args)]), dict(zip(kwargs, operands[len(args) :], strict=True))


def at_once(function: FunctionT) -> FunctionT:
    """
    Decorate a function of which there is nothing to compile: what makes arrays of nothing, or results whose shape the
    elements say. On Arrays it is evaluated by the reference semantics of its operations.
    """

    @wraps(_documented(function))
    def called(*args: Any, **kwargs: Any) -> Any:
        return wrapped(function(*bare(args), **bare(kwargs)))

    return cast("FunctionT", called)
