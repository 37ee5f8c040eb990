"""Calls of a function as they are traced: what is passed, and what the function records of it."""

from __future__ import annotations

import inspect
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy import ndarray

from ..analysis.levels import Level
from ..dialects.resources import Loan
from ..driver.garbage import collector_paused
from ..driver.options import Options
from ..errors import StepwellError
from ..frozen import frozen
from .arrays import is_array
from .call_site import call_site_text, raise_site_text
from .calls import Call, argument_name, is_numpys
from .complex_arrays import is_complex_array, part_dtype, side_by_side
from .complex_tensor import Complex
from .debugging import AnyCallback, active_callbacks, tensors_of
from .lowered import Lowered
from .operators import call
from .performance_warnings import Compilations
from .promotion import is_scalar, require_supported
from .recording import as_tensor
from .structure import COMPLEX_LEAF, Structure, flatten
from .tensor import ARGUMENT, Tensor
from .tracing import Trace
from .user_errors import raise_of_user


@frozen
class Traced:
    """A function as it was traced, how its results are nested, and what is called with the others that it has."""

    lowered: Lowered
    results: Structure
    callbacks: tuple[AnyCallback, ...]


def _argument(trace: Trace, array: ndarray, name: str) -> Tensor | Complex:
    """What stands for an array: of complex numbers the parts, which are side by side in memory."""
    if not is_complex_array(array):
        return trace.argument(array.shape, array.dtype, name)
    both = trace.argument((*array.shape, 2), part_dtype(array.dtype), name)
    parts = both[..., 0].copy(), both[..., 1].copy()
    for part in parts:
        part.shared = ARGUMENT
    return Complex(*parts)


def _real_parts_in(leaf: Any) -> Any:
    """A result, of complex numbers as one value with their parts side by side."""
    if isinstance(leaf, Complex):
        return call("stack", list(leaf.parts), -1)
    is_array_of_complex = is_complex_array(leaf) or isinstance(leaf, complex)
    return side_by_side(np.asarray(leaf)) if is_array_of_complex else leaf


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

        `with_callbacks` puts what its callbacks are called with behind the results. Arrays that the function captures
        are copied; or belong to `loan`, until whose end the program may be used.
        """
        start = time.perf_counter()
        self._check_dtypes(call)
        kernels_apart = self._options.schedule and not self._options.is_quick
        with collector_paused(), Trace(loan, kernels_apart=kernels_apart) as trace:
            trace.is_checked_later = True
            leaves = [
                _argument(trace, leaf, name) if is_numpys(leaf) else leaf
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
            workers=trace.workers,
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

    def _check_dtypes(self, call: Call) -> None:
        """Raises StepwellError for an array of a dtype that there is no element type for."""
        for path, leaf in zip(call.names, call.leaves, strict=True):
            if is_numpys(leaf) and not is_complex_array(leaf):
                try:
                    require_supported(leaf.dtype, argument_name(self._name, path))
                except StepwellError as error:
                    error.where = call_site_text()
                    raise

    def _error(self, message: str) -> StepwellError:
        """An error about the function as a whole, at its first line."""
        code = getattr(self._function, "__code__", None)
        where = f"{code.co_filename}:{code.co_firstlineno}" if code else None
        return StepwellError(message, where=where)
