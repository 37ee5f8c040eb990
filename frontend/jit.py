"""`jit`: a Python function, compiled when it is first called with arrays of certain shapes and dtypes."""

from __future__ import annotations

import functools
import inspect
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeGuard, overload

import numpy as np
from numpy import ndarray

from ..analysis.levels import Level
from ..dialects.dtypes import has_element_type
from ..driver.options import DEFAULT_OPT, Options
from ..errors import StepwellError
from ..transforms.numerics import DEFAULT_FP
from .arrays import as_array, is_array
from .call_site import call_site_text, raise_site_text
from .lowered import Lowered, lowering_lock
from .public import public
from .recording import as_tensor
from .structure import LEAF, Node, Structure, flatten, unflatten
from .tensor import Tensor
from .tracing import Trace

if TYPE_CHECKING:
    from ..targets.target import Target

_STATIC = bool | int | float | str | None | np.dtype | type
"""The types of arguments that are part of what is compiled."""

_PLAIN = frozenset((bool, int, float, str, type(None)))
"""Those of them that calls are quick with."""


@dataclass(frozen=True)
class _Call:
    """The arguments of a call, flattened: arrays, Tensors, and static values."""

    names: tuple[str, ...]
    leaves: tuple[Any, ...]
    structures: dict[str, Structure]
    """By parameter."""

    @property
    def arrays(self) -> list[ndarray]:
        return [leaf for leaf in self.leaves if _is_numpys(leaf)]

    @property
    def is_traced(self) -> bool:
        return any(isinstance(leaf, Tensor) for leaf in self.leaves)

    def key(self) -> tuple[Any, ...]:
        """What a compiled function may be used again for: shapes, dtypes, static values and nesting."""
        parts = [
            (leaf.dtype, leaf.shape) if _is_numpys(leaf) else _static_key(leaf)
            for leaf in self.leaves
        ]
        return (*self.structures.items(), *parts)

    def rebuilt(self, leaves: Iterator[Any]) -> dict[str, Any]:
        """The arguments by parameter, with other leaves."""
        return {name: unflatten(part, leaves) for name, part in self.structures.items()}


def _is_numpys(leaf: Any) -> TypeGuard[ndarray]:
    return isinstance(leaf, ndarray)


def _static_key(value: object) -> tuple[Any, ...]:
    # 1, 1.0 and True are equal, as are 0.0 and -0.0; nan is not even equal to itself.
    return (type(value), value.hex() if isinstance(value, float) else value)


@dataclass(frozen=True)
class _Compiled:
    """A compiled function, and how its results are nested."""

    run: Callable[..., Any]
    results: Structure

    def __call__(self, *arrays: ndarray) -> Any:
        results: ndarray | tuple[ndarray, ...] = self.run(*arrays)
        return unflatten(self.results, iter((results,) if _is_numpys(results) else results))


def _quick_key(args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[Any, ...] | None:
    """
    What a compiled function is found by at once: dtypes, shapes and plain values as they were passed; None
    when anything else was passed. Its speed decides what a call on a small array costs.
    """
    key: list[Any] = []
    for arg in args:
        kind = type(arg)  # pyright: ignore[reportUnknownVariableType]
        if kind is ndarray:
            key.append(arg.dtype)
            key.append(arg.shape)
        elif kind in _PLAIN:
            key += _static_key(arg)
        else:
            return None
    for name, arg in kwargs.items():
        part = _quick_key((arg,), {})
        if part is None:
            return None
        key.append(name)
        key += part
    return tuple(key)


def _is_traced_or_static(value: object) -> bool:
    # numpy.float64 is a float, and an array.
    return isinstance(value, Tensor | _STATIC) and not isinstance(value, np.generic)


def _as_returned(results: Structure) -> bool:
    """Whether an Executable returns results nested so: an array by itself, several as a tuple."""
    if not isinstance(results, Node):
        return True
    return results == Node(tuple, (), (LEAF,) * max(2, len(results.children)))


class JitFunction:
    """
    A function that is traced and compiled for the shapes and dtypes it is called with, once for each.

    Arguments are arrays (NumPy's, or any with DLPack or the buffer protocol), Python numbers, strings,
    bools and None, and tuples, lists and dictionaries of these. Each different value that is no array is
    compiled for. Arrays that the function captures become constants, read when it is traced.
    Results are arrays, or tuples, lists and dictionaries of them. Called on Tensors, while another
    function is traced, it becomes a part of that. Safe to call from several threads.

    Raises StepwellError for wrong arguments, and for what cannot be traced.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        target: str | Target = "host",
        threads: int | None = None,
        fp: str = DEFAULT_FP,
        opt: str = DEFAULT_OPT,
        cache: bool = True,
    ):
        self._signature = _signature_of(function)
        self._function = function
        self._options = Options(target, fp, opt=opt, cache=cache)
        self._threads = threads
        # By what the arguments are, when they are arrays and numbers given by position.
        self._quick: dict[tuple[Any, ...], Callable[..., Any]] = {}
        self._compiled: dict[tuple[Any, ...], Callable[..., Any]] = {}
        # The one compiled last, which compares arrays with what it was compiled for by itself.
        self._last: Callable[..., Any] | None = None
        functools.update_wrapper(self, function)
        self._name = getattr(function, "__name__", "function")

    def __repr__(self) -> str:
        return f"<jit {self._name}{self._signature}>"

    def __get__(self, instance: object, owner: type | None = None) -> JitFunction:
        if instance is None:
            return self
        raise StepwellError(
            f"found jit on the method '{self._name}', expected a function; in __init__ write self.{self._name} "
            f"= stepwell.jit(self._{self._name})",
            where=call_site_text(),
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._last is not None and not kwargs:
            result = self._last(*args)
            if result is not NotImplemented:
                return result
        key = _quick_key(args, kwargs)
        run = None if key is None else self._quick.get(key)
        if run is None:
            return self._call(args, kwargs)
        return run(*args, **kwargs)

    def lower(self, *args: Any, **kwargs: Any) -> Lowered:
        """
        The function for the shapes, dtypes and static values of these arguments, at every level.

        What it compiles to takes the arrays among them, in order, and returns an array or a flat tuple.
        """
        with lowering_lock:
            return self._lower(self._flattened(args, kwargs))[0]

    def _call(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Any call: the first, by name, with static or nested arguments, on Tensors."""
        call = self._flattened(args, kwargs)
        if call.is_traced:
            return self._function(*args, **kwargs)
        key = call.key()
        run = self._compiled.get(key)
        if run is None:
            with lowering_lock:
                run = self._compiled.get(key)
                if run is None:
                    run = self._compiled[key] = self._compile(call)
        key = _quick_key(args, kwargs)
        if key is not None:
            self._remember(key, run, args, kwargs, len(call.arrays))
        return run(*call.arrays)

    def _remember(
        self,
        key: tuple[Any, ...],
        run: Callable[..., Any],
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        array_count: int,
    ) -> None:
        """Let calls with this quick key find `run`, which is given the arrays among all the arguments."""
        passed = [*args, *kwargs.values()]
        numbers = {name: len(args) + number for number, name in enumerate(kwargs)}
        leaves: list[tuple[str, Any]] = []
        bound = self._signature.bind(*range(len(args)), **numbers)
        for value in bound.arguments.values():
            flatten(value, "", leaves)
        places = [place for _, place in leaves if type(passed[place]) is ndarray]
        if len(places) != array_count:
            return  # an array is a default value
        if not kwargs and places == list(range(len(passed))):
            self._quick[key] = run
            self._last = getattr(run, "native_call", None)
            return

        def quick(*args: Any, **kwargs: Any) -> Any:
            passed = (*args, *kwargs.values())
            return run(*[passed[place] for place in places])

        self._quick[key] = quick

    def _compile(self, call: _Call) -> Callable[..., Any]:
        lowered, results = self._lower(call)
        run = lowered.compile(threads=self._threads)
        if _as_returned(results):
            return run
        return _Compiled(run, results)

    def _lower(self, call: _Call) -> tuple[Lowered, Structure]:
        """The traced function, and how its results are nested."""
        start = time.perf_counter()
        with Trace() as trace:
            leaves = [
                trace.argument(leaf.shape, leaf.dtype, name) if _is_numpys(leaf) else leaf
                for name, leaf in zip(call.names, call.leaves, strict=True)
            ]
            bound = inspect.BoundArguments(self._signature, OrderedDict(call.rebuilt(iter(leaves))))
            try:
                returned = self._function(*bound.args, **bound.kwargs)
            except StepwellError as error:
                error.where = error.where or raise_site_text(error.__traceback__)
                raise
            tensors, structure = self._results(returned, trace)
            module = trace.module(tensors)
        seconds = time.perf_counter() - start
        lowered = Lowered(
            module,
            level=Level.GRAPH,
            name=self._name,
            options=self._options,
            seconds=[("trace", seconds)],
        )
        return lowered, structure

    def _results(self, returned: Any, trace: Trace) -> tuple[list[Tensor], Structure]:
        """What the function returned as Tensors. Raises StepwellError for anything that is no array."""
        leaves: list[tuple[str, Any]] = []
        structure = flatten(returned, "result", leaves)
        for path, leaf in leaves:
            if not isinstance(leaf, Tensor) and not is_array(leaf):
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

    def _flattened(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> _Call:
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
        structures = {name: flatten(value, name, leaves) for name, value in bound.arguments.items()}
        return _Call(
            tuple(path for path, _ in leaves),
            tuple(self._leaf(path, value) for path, value in leaves),
            structures,
        )

    def _leaf(self, path: str, value: Any) -> Any:
        """An argument as it is traced: arrays as NumPy's, static values and Tensors as they are."""
        if type(value) is ndarray and has_element_type(value.dtype):
            return value
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


def _signature_of(function: Callable[..., Any]) -> inspect.Signature:
    """The parameters of a function to compile. Raises StepwellError for what cannot be traced."""
    remedy = "write @jit above a function that computes with stepwell's functions"
    name = str(getattr(function, "__name__", ""))
    if isinstance(function, type):
        found, remedy = f"the class '{name}'", "write @jit above the function that makes or uses it"
    elif isinstance(function, np.ufunc) or _is_of_numpy(function):
        # NumPy's functions take arrays only, and have the same names as ours.
        remedy = f"write jit(stepwell.{name}), or a function that calls it"
        found = f"NumPy's '{name}', which cannot be traced"
        if public(name) is None:
            remedy = "write a function that computes the same with stepwell's"
    elif not callable(function):
        found = f"a {type(function).__name__}"
    else:
        try:
            return inspect.signature(function)
        except (TypeError, ValueError):  # some builtins have none
            found = f"'{name or type(function).__name__}', whose parameters Python does not know"
    raise StepwellError(
        f"found {found}, expected a function to compile; {remedy}", where=call_site_text()
    )


def _is_of_numpy(function: object) -> bool:
    """Whether it is one of NumPy's own functions: numpy.sum, numpy.linalg.norm."""
    module = getattr(function, "__module__", None)
    is_function = inspect.isroutine(function) or hasattr(function, "__wrapped__")
    return is_function and isinstance(module, str) and module.partition(".")[0] == "numpy"


@overload
def jit(
    function: Callable[..., Any],
    *,
    target: str | Target = "host",
    threads: int | None = None,
    fp: str = DEFAULT_FP,
    opt: str = DEFAULT_OPT,
    cache: bool = True,
) -> JitFunction: ...
@overload
def jit(
    function: None = None,
    *,
    target: str | Target = "host",
    threads: int | None = None,
    fp: str = DEFAULT_FP,
    opt: str = DEFAULT_OPT,
    cache: bool = True,
) -> Callable[[Callable[..., Any]], JitFunction]: ...
def jit(
    function: Callable[..., Any] | None = None,
    *,
    target: str | Target = "host",
    threads: int | None = None,
    fp: str = DEFAULT_FP,
    opt: str = DEFAULT_OPT,
    cache: bool = True,
) -> JitFunction | Callable[[Callable[..., Any]], JitFunction]:
    """
    Compile a function of arrays when it is called: `@jit`, `@jit(target="x86-64-v3")` or `jit(function)`.

    `threads` is as for `Lowered.compile`. `fp` says what may be done to floating-point results: `strict`
    (sums in order, every operation rounded, functions from the C library), `contract` (the default:
    products fused with sums, sums reassociated, functions by polynomials of a few ulp) or `fast`. `opt="quick"`
    compiles in tens of milliseconds to code that is many times slower: kernels get no schedule, and LLVM
    optimises nothing. With `cache=False` nothing is read from the cache on disk, and nothing kept there. See `JitFunction`. Raises StepwellError for what is not callable.
    """
    if function is None:
        return functools.partial(
            JitFunction, target=target, threads=threads, fp=fp, opt=opt, cache=cache
        )
    return JitFunction(function, target, threads, fp, opt, cache)
