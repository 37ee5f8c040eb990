"""The standard's functions that make arrays, of numbers or of what is not an `Array` yet."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..devices import check_device
from ..operators import call
from ..promotion import dtype_named
from ..recording import active_recording
from ..tensor import Tensor, TensorLike
from .array import Array
from .calls import at_once, bare, standard

Shape = int | Sequence[int]


def asarray(
    obj: Any, /, *, dtype: Any = None, device: str | None = None, copy: bool | None = None
) -> Any:
    """
    An array, a number, or nested sequences of these, as an array. One of the same dtype shares its memory unless `copy`.

    Raises ValueError where `copy` is False and a copy is needed.
    """
    check_device(device)
    obj = bare(obj)
    if active_recording() is not None or isinstance(obj, Tensor):
        return call("asarray", obj, dtype)
    target = None if dtype is None else dtype_named(dtype)
    found = np.asarray(obj, dtype=target, copy=copy)
    return Array(np.asarray(found, dtype=dtype_named(found.dtype)))


def from_dlpack(x: Any, /, *, device: str | None = None, copy: bool | None = None) -> Any:
    """An array of any library that offers DLPack in the CPU's memory, which is shared unless `copy`."""
    check_device(device)
    return Array(np.array(np.from_dlpack(x), copy=True) if copy else np.from_dlpack(x, copy=copy))


@at_once
def arange(
    start: float,
    /,
    stop: float | None = None,
    step: float = 1,
    *,
    dtype: Any = None,
    device: str | None = None,
) -> Any:
    check_device(device)
    return call("arange", start, stop, step, dtype)


@at_once
def linspace(
    start: float,
    stop: float,
    /,
    num: int,
    *,
    dtype: Any = None,
    device: str | None = None,
    endpoint: bool = True,
) -> Any:
    check_device(device)
    return call("linspace", start, stop, num, endpoint, dtype=dtype)


@at_once
def eye(
    n_rows: int,
    n_cols: int | None = None,
    /,
    *,
    k: int = 0,
    dtype: Any = None,
    device: str | None = None,
) -> Any:
    check_device(device)
    return call("eye", n_rows, n_cols, k, float if dtype is None else dtype)


@at_once
def full(
    shape: Shape, fill_value: TensorLike, *, dtype: Any = None, device: str | None = None
) -> Any:
    check_device(device)
    return call("full", shape, fill_value, dtype)


@at_once
def full_like(
    x: TensorLike, /, fill_value: TensorLike, *, dtype: Any = None, device: str | None = None
) -> Any:
    check_device(device)
    return call("full_like", x, fill_value, dtype)


def _filled(name: str) -> Callable[..., Any]:
    def function(shape: Shape, *, dtype: Any = None, device: str | None = None) -> Any:
        check_device(device)
        return call(name, shape, float if dtype is None else dtype)

    function.__name__ = function.__qualname__ = name
    return at_once(function)


def _like(name: str) -> Callable[..., Any]:
    def function(x: TensorLike, /, *, dtype: Any = None, device: str | None = None) -> Any:
        check_device(device)
        return call(name, x, dtype)

    function.__name__ = function.__qualname__ = name
    return at_once(function)


@standard
def meshgrid(*arrays: TensorLike, indexing: str = "xy") -> Any:
    return call("meshgrid", *arrays, indexing=indexing)


@standard
def tril(x: TensorLike, /, *, k: int = 0) -> Any:
    return call("tril", x, k)


@standard
def triu(x: TensorLike, /, *, k: int = 0) -> Any:
    return call("triu", x, k)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{name: _filled(name) for name in ("empty", "ones", "zeros")},
    **{name: _like(name) for name in ("empty_like", "ones_like", "zeros_like")},
    **{
        function.__name__: function
        for function in (
            *(arange, asarray, eye, from_dlpack, full, full_like, linspace, meshgrid, tril, triu),
        )
    },
}
