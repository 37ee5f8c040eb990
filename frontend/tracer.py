"""Calls of a function as they are traced: what is passed, and what the function records of it."""

from __future__ import annotations

import inspect
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import EllipsisType
from typing import Any, TypeGuard

import numpy as np
from numpy import ndarray

from ..analysis.levels import Level
from ..dialects.dtypes import has_element_type
from ..dialects.resources import Loan
from ..driver.garbage import collector_paused
from ..driver.options import Options
from ..errors import StepwellError
from .arrays import as_array, is_array
from .call_site import call_site_text, raise_site_text
from .complex_arrays import is_complex_array, part_dtype, side_by_side
from .complex_tensor import Complex
from .debugging import AnyCallback, active_callbacks, tensors_of
from .lowered import Lowered
from .operators import call
from .performance_warnings import Compilations
from .promotion import is_scalar
from .recording import as_tensor
from .structure import COMPLEX_LEAF, LEAF, Structure, flatten, static_key, unflatten
from .tensor import Tensor
from .tracing import Trace
from .user_errors import raise_of_user

_STATIC = bool | int | float | complex | str | None | np.dtype | type | EllipsisType
"""The types of arguments that are part of what is compiled."""


@dataclass(frozen=True)
class Call:
    """The arguments of a call, flattened: arrays, Tensors, and static values."""

    names: tuple[str, ...]
    leaves: tuple[Any, ...]
    structures: dict[str, Structure]
    """By parameter."""

    @property
    def arrays(self) -> list[ndarray]:
        return [leaf for leaf in self.leaves if _is_numpys(leaf)]

    def shown(self) -> str:
        """The arrays as messages say them: `x: float32[2, 3]`."""
        pairs = zip(self.names, self.leaves, strict=True)
        return ", ".join(f"{n}: {a.dtype}{[*a.shape]}" for n, a in pairs if _is_numpys(a))

    @property
    def is_traced(self) -> bool:
        return any(isinstance(leaf, Tensor | Complex) for leaf in self.leaves)

    def key(self) -> tuple[Any, ...]:
        """What a compiled function may be used again for: shapes, dtypes, static values and nesting."""
        return (*self.structures.items(), *self.leaf_keys())

    def leaf_keys(self) -> list[tuple[Any, ...]]:
        """The same of each leaf by itself."""
        return [
            (leaf.dtype, leaf.shape) if _is_numpys(leaf) else static_key(leaf)
            for leaf in self.leaves
        ]

    def rebuilt(self, leaves: Iterator[Any]) -> dict[str, Any]:
        """The arguments by parameter, with other leaves."""
        return {name: unflatten(part, leaves) for name, part in self.structures.items()}


@dataclass(frozen=True)
class Traced:
    """A function as it was traced, how its results are nested, and what is called with the others that it has."""

    lowered: Lowered
    results: Structure
    callbacks: tuple[AnyCallback, ...]


def _is_numpys(leaf: Any) -> TypeGuard[ndarray]:
    return isinstance(leaf, ndarray)


def _argument(trace: Trace, array: ndarray, name: str) -> Tensor | Complex:
    """What stands for an array: of complex numbers the parts, which are side by side in memory."""
    if not is_complex_array(array):
        return trace.argument(array.shape, array.dtype, name)
    both = trace.argument((*array.shape, 2), part_dtype(array.dtype), name)
    return Complex(both[..., 0].copy(), both[..., 1].copy())


def _real_parts_in(leaf: Any) -> Any:
    """A result, of complex numbers as one value with their parts side by side."""
    if isinstance(leaf, Complex):
        return call("stack", list(leaf.parts), -1)
    is_array_of_complex = is_complex_array(leaf) or isinstance(leaf, complex)
    return side_by_side(np.asarray(leaf)) if is_array_of_complex else leaf


def _is_traced_or_static(value: object) -> bool:
    # numpy.float64 is a float, and an array.
    return isinstance(value, Tensor | Complex | _STATIC) and not isinstance(value, np.generic)


class Tracer:
    """
    Traces one function, called `name` in messages, for calls that `options` say what they are compiled for.

    Raises StepwellError for wrong arguments, and for what cannot be traced.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        signature: inspect.Signature,
        name: str,
        options: Options,
    ):
        self._function = function
        self._signature = signature
        self._name = name
        self._options = options
        self.compilations = Compilations(name)

    def lower(
        self, call: Call, loan: Loan | None = None, *, with_callbacks: bool = False
    ) -> Traced:
        """
        The traced function, and how its results are nested.

        `with_callbacks` puts what its callbacks are called with behind the results. Arrays that the function captures are copied; or belong to `loan`, until whose end the program may be used.
        """
        start = time.perf_counter()
        with collector_paused(), Trace(loan) as trace:
            leaves = [
                _argument(trace, leaf, name) if _is_numpys(leaf) else leaf
                for name, leaf in zip(call.names, call.leaves, strict=True)
            ]
            bound = inspect.BoundArguments(self._signature, OrderedDict(call.rebuilt(iter(leaves))))
            try:
                returned = self._function(*bound.args, **bound.kwargs)
            except StepwellError as error:
                error.where = error.where or raise_site_text(error.__traceback__)
                raise
            except Exception as error:
                raise_of_user(error, self._name, call.shown())
            try:
                trace.check_captured()
            except StepwellError as error:
                raise self._error(error.message) from None
            tensors, structure = self._results(returned, trace)
            callbacks = tuple(active_callbacks()) if with_callbacks else ()
            module = trace.module([*tensors, *tensors_of(callbacks)])
        seconds = time.perf_counter() - start
        lowered = Lowered(
            module,
            level=Level.GRAPH,
            name=self._name,
            options=self._options,
            seconds=[("trace", seconds)],
        )
        return Traced(lowered, structure, callbacks)

    def _results(self, returned: Any, trace: Trace) -> tuple[list[Tensor], Structure]:
        """What the function returned as Tensors. Raises StepwellError for anything that is no array."""
        leaves: list[tuple[str, Any]] = []
        structure = flatten(returned, "result", leaves, complex_leaf=COMPLEX_LEAF)
        leaves = [(path, _real_parts_in(leaf)) for path, leaf in leaves]
        for path, leaf in leaves:
            if not isinstance(leaf, Tensor) and not is_array(leaf) and not is_scalar(leaf):
                raise self._error(
                    f"found '{self._name}' returning a {type(leaf).__name__} as {path}, expected a tensor, or "
                    "a tuple, list or dictionary of tensors; return what is computed from the arguments"
                )
            if isinstance(leaf, Tensor) and leaf.recording is not trace:
                raise self._error(
                    f"found '{self._name}' returning a tensor of another traced function as {path}, expected "
                    "one of its own; pass it as an argument"
                )
        if not leaves:
            raise self._error(
                f"found '{self._name}' returning no tensor, expected at least one; return one"
            )
        return [as_tensor(leaf) for _, leaf in leaves], structure

    def flattened(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Call:
        """The arguments by parameter, with every array as NumPy's. Raises StepwellError for wrong ones."""
        try:
            bound = self._signature.bind(*args, **kwargs)
        except TypeError as error:
            raise StepwellError(
                f"found a wrong call of '{self._name}' ({error}), expected {self._name}{self._signature}; pass "
                "these arguments",
                where=call_site_text(),
            ) from None
        bound.apply_defaults()
        leaves: list[tuple[str, Any]] = []
        structures = {
            name: flatten(value, name, leaves, complex_leaf=LEAF)
            for name, value in bound.arguments.items()
        }
        return Call(
            tuple(path for path, _ in leaves),
            tuple(self._leaf(path, value) for path, value in leaves),
            structures,
        )

    def _leaf(self, path: str, value: Any) -> Any:
        """An argument as it is traced: arrays as NumPy's, static values and Tensors as they are."""
        if type(value) is ndarray and (has_element_type(value.dtype) or is_complex_array(value)):
            return value
        if is_complex_array(value):
            return np.asarray(value)
        if _is_traced_or_static(value):
            return value
        if is_array(value):
            try:
                return as_array(value, f"argument '{path}' of '{self._name}'")
            except StepwellError as error:
                error.where = call_site_text()
                raise
        raise StepwellError(
            f"found a {type(value).__name__} for argument '{path}' of '{self._name}', expected an array, a "
            "number, a string, a bool or None, or a tuple, list or dictionary of these; convert it to a NumPy "
            "array, or let the function capture it",
            where=call_site_text(),
        )

    def _error(self, message: str) -> StepwellError:
        """An error about the function as a whole, at its first line."""
        code = getattr(self._function, "__code__", None)
        where = f"{code.co_filename}:{code.co_firstlineno}" if code else None
        return StepwellError(message, where=where)
