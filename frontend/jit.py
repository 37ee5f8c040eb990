"""`jit`: a Python function, compiled when it is first called with arrays of certain shapes and dtypes."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar, cast, overload

import numpy as np
from numpy import ndarray

from ..driver.options import DEFAULT_OPT, Options
from ..errors import StepwellError
from ..frozen import frozen
from ..spelling import did_you_mean
from ..transforms.numerics import DEFAULT_FP
from . import switches
from .calls import Call, flattened
from .complex_arrays import is_complex_array, side_by_side
from .lock import lowering_lock
from .pickling import code_of, function_of, is_importable, named
from .recall import FunctionPlace, place_of
from .structure import LEAF, Node, Structure, as_said, flatten, static_key, unflatten

if TYPE_CHECKING:
    from ..runtime.executable import Executable
    from ..targets.target import Target
    from .debugging import AnyCallback
    from .lowered import Lowered
    from .tracer import Tracer

P = ParamSpec("P")
R = TypeVar("R", covariant=True)

_PLAIN = frozenset((bool, int, float, str, type(None)))
"""The types of arguments that are part of what is compiled, and that calls are quick with."""


@frozen
class _Compiled:
    """A compiled function, how its results are nested, and whether there are complex arrays among its arguments."""

    run: Callable[..., Any]
    results: Structure
    callbacks: tuple[AnyCallback, ...]
    takes_complex: bool = False

    def __call__(self, *arrays: ndarray) -> Any:
        if self.takes_complex:
            arrays = tuple(side_by_side(one) if is_complex_array(one) else one for one in arrays)
        results: ndarray | tuple[ndarray, ...] = self.run(*arrays)
        leaves = iter((results,) if isinstance(results, ndarray) else results)
        value = unflatten(self.results, leaves)
        if self.callbacks:
            from .debugging import run_callbacks

            run_callbacks(self.callbacks, [*leaves])
        return value


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
            key += static_key(arg)
        else:
            return None
    for name, arg in kwargs.items():
        part = _quick_key((arg,), {})
        if part is None:
            return None
        key.append(name)
        key += part
    return tuple(key)


def _as_returned(results: Structure) -> bool:
    """Whether an Executable returns results nested so: an array by itself, several as a tuple."""
    if not isinstance(results, Node):
        return results == LEAF
    return results == Node(tuple, (), (LEAF,) * max(2, len(results.children)))


def _nested(
    run: Executable, results: Structure, callbacks: tuple[AnyCallback, ...], call: Call
) -> Callable[..., Any]:
    """An Executable for the arrays of a call, with its results nested as they are to be; itself where it is that."""
    takes_complex = any(map(is_complex_array, call.arrays))
    if _as_returned(results) and not callbacks and not takes_complex:
        return run
    return _Compiled(run, results, callbacks, takes_complex)


class JitFunction(Generic[P, R]):
    """
    A function that is traced and compiled for the shapes and dtypes it is called with, once for each.

    Arguments are arrays (NumPy's, or any with DLPack or the buffer protocol), Python numbers, strings,
    bools and None, and tuples, lists and dictionaries of these. Each different value that is no array is
    compiled for. Arrays that the function captures become constants, read when it is traced.
    Results are arrays, or tuples, lists and dictionaries of them. Called on Tensors, while another
    function is traced, it becomes a part of that. Safe to call from several threads. Pickled, it is compiled again, or
    found in the cache, where it is called.

    Raises StepwellError for wrong arguments, and for what cannot be traced.

    >>> double = sw.jit(lambda x: x * 2, opt="quick")
    >>> double(np.array([1.0, 2.0]))
    array([2., 4.])
    """

    def __init__(
        self,
        function: Callable[P, R],
        target: str | Target = "host",
        threads: int | None = None,
        fp: str = DEFAULT_FP,
        opt: str = DEFAULT_OPT,
        cache: bool = True,
        winograd: bool = False,
    ):
        self._signature = _signature_of(function)
        self._function = function
        self._options = Options(target, fp, opt=opt, cache=cache, winograd=winograd)
        self._threads = threads
        # By what the arguments are, when they are arrays and numbers given by position.
        self._quick: dict[tuple[Any, ...], Callable[..., Any]] = {}
        self._compiled: dict[tuple[Any, ...], Callable[..., Any]] = {}
        # The one compiled last, which compares arrays with what it was compiled for by itself.
        self._last: Callable[..., Any] | None = None
        functools.update_wrapper(self, function)
        self._name = getattr(function, "__name__", "function")

    @functools.cached_property
    def _tracer(self) -> Tracer:
        from .tracer import Tracer  # late: it loads xDSL, which programs from the cache run without

        return Tracer(self._function, self._signature, self._name, self._options)

    def __repr__(self) -> str:
        return f"<jit {self._name}{self._signature}>"

    def __get__(self, instance: object, owner: type | None = None) -> JitFunction[P, R]:
        if instance is None:
            return self
        raise StepwellError(
            f"found jit on the method '{self._name}', expected a function; in __init__ write self.{self._name} "
            f"= stepwell.jit(self._{self._name})",
            where=_call_site_text(),
        )

    def __reduce__(self) -> str | tuple[Any, ...]:
        function, options = self._function, self._options
        numerics = (options.fp, options.opt, options.cache, options.winograd)
        about = (options.target, self._threads, *numerics)
        if is_importable(self, function):
            return function.__qualname__
        if is_importable(function, function):
            return JitFunction, (function, *about)
        return _restored, (function.__module__, function.__qualname__, code_of(function), about)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        if switches.disabled:
            return self._function(*args, **kwargs)
        if self._last is not None and not kwargs:
            result = self._last(*args)
            if result is not NotImplemented:
                return result
        key = _quick_key(args, kwargs)
        run = None if key is None else self._quick.get(key)
        if run is None:
            return self._call(args, kwargs)
        return run(*args, **kwargs)

    def lower(self, *args: P.args, **kwargs: P.kwargs) -> Lowered:
        """
        The function for the shapes, dtypes and static values of these arguments, at every level.

        What it compiles to takes the arrays among them, in order, and returns an array or a flat tuple.
        """
        with lowering_lock:
            call = flattened(self._name, self._signature, args, kwargs)
            return self._tracer.lower(call).lowered

    def _call(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Any call: the first, by name, with static or nested arguments, on Tensors."""
        call = flattened(self._name, self._signature, args, kwargs)
        if call.is_traced:
            function: Callable[..., Any] = self._function
            return function(*args, **kwargs)
        key = call.key()
        run = self._compiled.get(key)
        if run is None:
            with lowering_lock:
                run = self._compiled.get(key)
                if run is None:
                    run = self._compiled[key] = self._found_or_compiled(call)
        quick_key = _quick_key(args, kwargs)
        if quick_key is not None:
            self._remember(quick_key, run, args, kwargs, len(call.arrays))
        return run(*call.arrays)

    def _found_or_compiled(self, call: Call) -> Callable[..., Any]:
        """The function for these arguments, as another process has kept it or else compiled and kept."""
        place = place_of(self._function, call, self._options, self._threads)
        found = None if place is None else self._found(place, call)
        if found is not None:
            return found
        run = self._compile(call, place)
        self._tracer.compilations.add(call.names, call.leaf_keys())
        return run

    def _found(self, place: FunctionPlace, call: Call) -> Callable[..., Any] | None:
        """The program that another process has put there."""
        results = place.nesting()
        if results is None:
            return None
        run = place.find(self._options.target, quick=self._options.is_quick)
        return None if run is None else _nested(run, results, (), call)

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

    def _compile(self, call: Call, place: FunctionPlace | None) -> Callable[..., Any]:
        """
        The compiled function, which is kept in `place` unless it calls back or its results are in a user's containers.

        No code but ours runs in this thread meanwhile, so that captured arrays are read where they are. Other threads are to leave
        them as they are until it is compiled.
        """
        from ..dialects.resources import Loan  # late: it loads xDSL

        with Loan() as loan:
            traced = self._tracer.lower(call, loan, with_callbacks=True)
            nesting = as_said(traced.results)
            place = None if traced.callbacks or nesting is None else place
            run = traced.lowered.compile(threads=self._threads, place=place)
            if place is not None:
                place.keep_nesting(nesting)
            return _nested(run, traced.results, traced.callbacks, call)


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
        from .public import public_names

        if name not in public_names():
            remedy = "write a function that computes the same with stepwell's"
    elif not callable(function):
        found = f"a {type(function).__name__}"
    else:
        try:
            return inspect.signature(function)
        except (TypeError, ValueError):  # some builtins have none
            found = f"'{name or type(function).__name__}', whose parameters Python does not know"
    raise StepwellError(
        f"found {found}, expected a function to compile; {remedy}", where=_call_site_text()
    )


def _call_site_text() -> str | None:
    from .call_site import call_site_text

    return call_site_text()


def _is_of_numpy(function: object) -> bool:
    """Whether it is one of NumPy's own functions: numpy.sum, numpy.linalg.norm."""
    module = getattr(function, "__module__", None)
    is_function = inspect.isroutine(function) or hasattr(function, "__wrapped__")
    return is_function and isinstance(module, str) and module.partition(".")[0] == "numpy"


def _restored(module: str, path: str, code: bytes, about: tuple[Any, ...]) -> JitFunction[..., Any]:
    """A pickled function: the one of this process, if it has it."""
    found: Any = named(module, path)
    if isinstance(found, JitFunction):
        return cast("JitFunction[..., Any]", found)
    return JitFunction(function_of(code), *about)


@overload
def jit(
    function: Callable[P, R],
    *,
    target: str | Target = "host",
    threads: int | None = None,
    fp: str = DEFAULT_FP,
    opt: str = DEFAULT_OPT,
    cache: bool = True,
    winograd: bool = False,
) -> JitFunction[P, R]: ...
@overload
def jit(
    function: None = None,
    *,
    target: str | Target = "host",
    threads: int | None = None,
    fp: str = DEFAULT_FP,
    opt: str = DEFAULT_OPT,
    cache: bool = True,
    winograd: bool = False,
) -> Callable[[Callable[P, R]], JitFunction[P, R]]: ...
def jit(function: Callable[..., Any] | None = None, *args: Any, **options: Any) -> Any:
    """
    Compile a function of arrays when it is called: `@jit`, `@jit(target="x86-64-v3")` or `jit(function)`.

    Parameters
    ----------
    function : callable, optional
        What is compiled, once for each combination of shapes, dtypes and other values it is called with. See `JitFunction`
        for what it may take and return.
    target : str or Target
        What it is compiled for: `"host"`, the name of a CPU such as `"zen4"`, or a Target.
    threads : int, optional
        How many threads run its kernels: as for `Lowered.compile`, by default all processors that the process may use.
    fp : str
        What may be done to floating-point results. `"strict"`: nothing; sums keep their order, every operation is rounded, and
        functions are the C library's. `"contract"`: products are fused with sums, sums reassociated, and functions computed by
        polynomials of a few ulp. `"fast"`: all that LLVM's fast-math flags allow, and Winograd's algorithm.
    opt : str
        `"full"`, or `"quick"`, which compiles in tens of milliseconds to code that is many times slower: kernels get no schedule,
        and LLVM optimises nothing.
    cache : bool
        Whether to read compiled code from the cache on disk, and to keep it there.
    winograd : bool
        Whether convolutions may be computed by Winograd's algorithm where that is predicted to be faster, with larger
        rounding errors (docs/winograd.md), also where `fp` is not `"fast"`.

    Returns
    -------
    JitFunction
        The function, to be called as it was before; without `function`, what makes one of the function that it is called with.

    Raises
    ------
    StepwellError
        For what is not callable, and for an option or a value of one that there is not.

    >>> import numpy as np, stepwell as sw
    >>> @sw.jit
    ... def norm(x):
    ...     return sw.sqrt((x * x).sum())
    >>> norm(np.array([3.0, 4.0]))
    array(5.)
    """
    _check_options(function, args, options)
    if function is None:
        return functools.partial(JitFunction, **options)
    return JitFunction(function, **options)


_OPTIONS = ("target", "threads", "fp", "opt", "cache", "winograd")


def _check_options(function: object, args: tuple[Any, ...], options: Mapping[str, Any]) -> None:
    """Raises StepwellError for what `jit` does not take, such as options of other packages."""
    expected = f"a function, and of options {', '.join(_OPTIONS)}"
    if isinstance(function, str | list | tuple) or args:
        found = "options without their names" if args else "types of arguments"
        raise StepwellError(
            f"found {found} in jit, expected {expected}; functions are compiled for what they are called with",
            where=_call_site_text(),
        )
    for name in options:
        if name not in _OPTIONS:
            from .other_packages import JIT_OPTIONS

            remedy = JIT_OPTIONS.get(name) or did_you_mean(name, _OPTIONS, "leave it out")
            raise StepwellError(
                f"found {name}= in jit, expected {expected}; {remedy}", where=_call_site_text()
            )
