"""
What tracing a Python function depends on, as a digest: so that a process that has not traced it yet can find what
another one has made of it.

The digest is of the function's code and of all that this can reach: globals, closures, defaults, other functions, and
the contents of arrays. What is not known to be a value or a pure function of values has no digest, and nor has a
function that reaches it: files, clocks, random numbers, objects with methods of their own. Such a function is traced.
"""

from __future__ import annotations

import builtins
import dis
import types
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial
from importlib import import_module
from opcode import opmap
from typing import Any, cast

import numpy as np

from ..cache.store import key_of
from ..runtime.in_threads import in_threads
from ..runtime.program_record import contents_digest

_PACKAGE = __name__.partition(".")[0]

_BUILTINS = frozenset(
    [
        "abs",
        "all",
        "any",
        "bool",
        "complex",
        "dict",
        "divmod",
        "enumerate",
        "filter",
        "float",
        "int",
        "isinstance",
        "len",
        "list",
        "map",
        "max",
        "min",
        "pow",
        "range",
        "reversed",
        "round",
        "slice",
        "sorted",
        "str",
        "sum",
        "tuple",
        "zip",
        "ArithmeticError",
        "AssertionError",
        "IndexError",
        "KeyError",
        "TypeError",
        "ValueError",
    ]
)
"""Those whose results follow from their arguments alone."""

_NUMPYS = frozenset(
    [
        "allclose",
        "arange",
        "argmax",
        "argmin",
        "argsort",
        "array",
        "array_equal",
        "asarray",
        "ascontiguousarray",
        "atleast_1d",
        "atleast_2d",
        "broadcast_to",
        "clip",
        "concatenate",
        "copy",
        "cos",
        "cumprod",
        "cumsum",
        "diag",
        "diff",
        "dot",
        "einsum",
        "expand_dims",
        "eye",
        "flip",
        "full",
        "full_like",
        "identity",
        "kron",
        "linspace",
        "logspace",
        "matmul",
        "max",
        "mean",
        "meshgrid",
        "min",
        "moveaxis",
        "ndarray",
        "newaxis",
        "nonzero",
        "ones",
        "ones_like",
        "outer",
        "pad",
        "prod",
        "ravel",
        "repeat",
        "reshape",
        "roll",
        "shape",
        "size",
        "sort",
        "split",
        "squeeze",
        "stack",
        "std",
        "sum",
        "swapaxes",
        "take",
        "tensordot",
        "tile",
        "trace",
        "transpose",
        "tri",
        "tril",
        "triu",
        "unique",
        "var",
        "vstack",
        "hstack",
        "where",
        "zeros",
        "zeros_like",
    ]
)
"""NumPy's functions, besides the universal ones, of which the same is true."""

_PURE = frozenset(
    (
        *("cond", "fori_loop", "map", "scan", "switch", "while_loop"),
        *("PerformanceWarning", "StepwellError", "Tensor", "__version__"),
    )
)
"""Of the package's own names that are no functions of arrays, those that neither read files nor call Python later."""

_MODULES = frozenset(("math", "numpy", _PACKAGE))
"""Those that functions may import: of each it is known which of its functions are pure."""

_ADDRESSES = ("ctypes",)
"""Attributes of arrays that say where they are."""

_OF_JITTED = frozenset(
    (
        *("_compiled", "_function", "_last", "_name", "_options"),
        *("_quick", "_signature", "_threads", "_tracer"),
    )
)
"""The attributes of a jitted function that are not a user's."""

_PLAIN = (bool, int, float, complex, str, bytes, type(None), type(Ellipsis))

_MOST_VALUES = 10_000

_WORTH_THREADS = 1 << 20
"""Bytes that take longer to hash than threads take to start."""


class _UnknownError(Exception):
    """Something of which nothing can be said."""


class Dependencies:
    """
    What tracing a function depends on: `structure` is a digest of all of it but for the contents of the `arrays` that it can
    reach. To hash these may take as long as to read some of them from the disk: it is done when it is asked for.
    """

    def __init__(self, structure: str, arrays: Sequence[np.ndarray]) -> None:
        self.structure = structure
        self.arrays = arrays

    @cached_property
    def _contents(self) -> list[str]:
        """The digests of the contents of the arrays."""
        is_much = sum(array.nbytes for array in self.arrays) >= _WORTH_THREADS
        digest_all = in_threads if is_much else map
        return [*digest_all(contents_digest, self.arrays)]

    @cached_property
    def captured(self) -> dict[str, np.ndarray]:
        """The arrays, by these digests."""
        return dict(zip(self._contents, self.arrays, strict=True))

    @property
    def digest(self) -> str:
        """Of all of it."""
        return key_of(self.structure, *self._contents)


def dependencies(function: Callable[..., Any]) -> Dependencies | None:
    """What tracing the function depends on; None where that is not known."""
    reader = _Reader()
    try:
        parts = list(reader.value(function))
    except (_UnknownError, RecursionError):
        return None
    return Dependencies(key_of(*parts), reader.arrays)


class _Reader:
    """Walks what a function reaches; each value in as many words as tell it from any other."""

    def __init__(self) -> None:
        self.arrays: list[np.ndarray] = []
        self._seen: dict[int, int] = {}
        self._kept: list[object] = []  # so that no identity is given to another

    def value(self, value: Any) -> Iterator[str | bytes]:
        kind = cast("type[Any]", type(value))
        yield f"{kind.__module__}.{kind.__qualname__}"
        if kind in _PLAIN:
            yield value.hex() if kind is float else repr(value)
        elif isinstance(value, type):
            yield from self._class(value)
        elif id(value) in self._seen:
            yield f"seen {self._seen[id(value)]}"
        else:
            if len(self._seen) >= _MOST_VALUES:
                raise _UnknownError
            self._seen[id(value)] = len(self._seen)
            self._kept.append(value)
            yield from self._object(value)

    def _object(self, value: Any) -> Iterator[str | bytes]:
        kind = cast("type[Any]", type(value))
        if kind in (tuple, list):
            yield from self._items(value)
        elif kind is dict:
            yield from self._items([part for item in value.items() for part in item])
        elif kind is np.ndarray:
            yield from self._array(value)
        elif isinstance(value, np.generic):
            yield from self._array(np.asarray(cast(Any, value)))
        elif isinstance(value, np.dtype):
            yield str(cast("np.dtype[Any]", value))
        elif _is_numpys_ufunc(value):
            yield value.__name__
        elif isinstance(value, types.FunctionType):
            yield from self._function(value)
        elif isinstance(value, partial):
            whole = cast("partial[Any]", value)
            yield from self._items([whole.func, whole.args, whole.keywords])
        elif _is_jit(value):
            yield from self.value(value.__wrapped__)
            yield from self._attributes(value, _OF_JITTED)
        elif isinstance(value, types.BuiltinFunctionType) and value.__module__ == "math":
            yield value.__name__
        else:
            raise _UnknownError

    def _items(self, values: Any) -> Iterator[str | bytes]:
        yield str(len(values))
        for item in values:
            yield from self.value(item)

    def _class(self, value: type) -> Iterator[str]:
        if value is np.dtype:
            return
        if not issubclass(value, np.generic) and builtins.__dict__.get(value.__name__) is not value:
            raise _UnknownError
        if value.__module__ == "builtins" and value.__name__ not in _BUILTINS:
            raise _UnknownError
        yield f"{value.__module__}.{value.__qualname__}"

    def _array(self, value: np.ndarray) -> Iterator[str]:
        if value.dtype.hasobject or value.dtype.names is not None or not value.dtype.isnative:
            raise _UnknownError
        self.arrays.append(value)
        yield f"{value.shape} {value.dtype.name}"

    def _function(self, function: types.FunctionType) -> Iterator[str | bytes]:
        if _is_own(function):  # the compiler's version has it
            yield f"{function.__module__}.{function.__qualname__}"
            return
        yield from self._code(function.__code__)
        yield from self._items([function.__defaults__, function.__kwdefaults__])
        yield from self._attributes(function)
        for cell in function.__closure__ or ():
            try:
                contents = cell.cell_contents
            except ValueError:
                raise _UnknownError from None
            yield from self.value(contents)
        names = sorted(_names(function.__code__))
        for name in names:
            if name in function.__globals__:
                yield name
                yield from self._global(function.__globals__[name], names)
            elif name in builtins.__dict__ and name not in _BUILTINS:
                raise _UnknownError
        for name in sorted(_imported(function.__code__)):
            yield name
            yield from self._module(import_module(name), names)

    def _attributes(
        self, function: object, own: frozenset[str] = frozenset()
    ) -> Iterator[str | bytes]:
        """What was put on a function, besides its `own` attributes; that of a name of Python's own is not asked for."""
        given = vars(function)
        for name in sorted(given.keys() - own):
            if not name.startswith("__"):
                yield name
                yield from self.value(given[name])

    def _global(self, value: Any, names: list[str]) -> Iterator[str | bytes]:
        if isinstance(value, types.ModuleType):
            yield from self._module(value, names)
        else:
            yield from self.value(value)

    def _module(self, module: types.ModuleType, names: list[str]) -> Iterator[str | bytes]:
        """A module, of which a function can reach what has one of these names."""
        yield module.__name__
        if module.__name__ == _PACKAGE and not {*names}.isdisjoint({*module.__all__} - _PURE):
            raise _UnknownError  # they load files, compile, or call Python while the program runs
        found = vars(module)
        is_ours = module.__name__.partition(".")[0] == _PACKAGE
        for name in names:
            if name not in found or (module is np and name in _NUMPYS):
                continue
            if is_ours and _is_own(found[name]):
                continue  # the compiler's version has it
            yield name
            yield from self._global(found[name], names)

    def _code(self, code: types.CodeType) -> Iterator[str | bytes]:
        counts = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags)
        yield repr((code.co_name, counts, code.co_names, code.co_varnames))
        yield repr((code.co_freevars, code.co_cellvars))
        yield code.co_code
        yield getattr(code, "co_exceptiontable", b"")
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                yield from self._code(constant)
            else:
                yield f"{type(constant).__name__} {constant!r}"


def _is_own(value: object) -> bool:
    """Whether it is of this package: what `functools.wraps` makes says so of itself."""
    if isinstance(value, types.FunctionType):
        module = value.__globals__.get("__name__")
    else:
        module = getattr(value, "__module__", "")
    return str(module).partition(".")[0] == _PACKAGE


def _is_numpys_ufunc(value: object) -> bool:
    """Whether it is a universal function of NumPy's own, and not one that a user made of a function."""
    return isinstance(value, np.ufunc) and getattr(np, value.__name__, None) is value


def _is_jit(value: object) -> bool:
    kind = type(value)
    return kind.__module__ == f"{_PACKAGE}.frontend.jit" and hasattr(value, "__wrapped__")


def _names(code: types.CodeType) -> set[str]:
    """The globals and attributes that code and the functions in it name. Raises _UnknownError for those of Python's own."""
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names |= _names(constant)
    if any(name.startswith("__") or name in _ADDRESSES for name in names):
        raise _UnknownError
    return names


def _imported(code: types.CodeType) -> set[str]:
    """The modules that code and the functions in it import. Raises _UnknownError for any but those that are looked into."""
    found: set[str] = set()
    if opmap["IMPORT_NAME"] in code.co_code[::2]:  # every second byte is an argument
        steps = list(dis.get_instructions(code))
        for number, step in enumerate(steps):
            if (
                step.opname == "IMPORT_NAME"
            ):  # behind how relative it is, and the names that are taken from it
                found.add("." * steps[number - 2].argval + step.argval)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            found |= _imported(constant)
    if not found <= _MODULES:
        raise _UnknownError
    return found
