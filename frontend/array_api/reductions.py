"""The standard's reductions, scans, and functions that search and sort."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ..operators import call
from ..tensor import TensorLike
from .calls import at_once, standard

Axes = int | Sequence[int] | None


def _reduction(name: str) -> Callable[..., Any]:
    def function(x: TensorLike, /, *, axis: Axes = None, keepdims: bool = False) -> Any:
        return call(name, x, axis, keepdims=keepdims)

    function.__name__ = function.__qualname__ = name
    return standard(function)


def _accumulation(name: str) -> Callable[..., Any]:
    def function(
        x: TensorLike, /, *, axis: Axes = None, dtype: Any = None, keepdims: bool = False
    ) -> Any:
        return call(name, x, axis, dtype, keepdims=keepdims)

    function.__name__ = function.__qualname__ = name
    return standard(function)


def _deviation(name: str) -> Callable[..., Any]:
    def function(
        x: TensorLike, /, *, axis: Axes = None, correction: float = 0.0, keepdims: bool = False
    ) -> Any:
        return call(name, x, axis, correction=correction, keepdims=keepdims)

    function.__name__ = function.__qualname__ = name
    return standard(function)


def _scan(name: str) -> Callable[..., Any]:
    def function(
        x: TensorLike,
        /,
        *,
        axis: int | None = None,
        dtype: Any = None,
        include_initial: bool = False,
    ) -> Any:
        return call(name, x, axis=axis, dtype=dtype, include_initial=include_initial)

    function.__name__ = function.__qualname__ = name
    return standard(function)


@standard
def diff(
    x: TensorLike,
    /,
    *,
    axis: int = -1,
    n: int = 1,
    prepend: TensorLike = None,
    append: TensorLike = None,
) -> Any:
    return call("diff", x, n, axis, prepend, append)


@standard
def argmax(x: TensorLike, /, *, axis: int | None = None, keepdims: bool = False) -> Any:
    return call("argmax", x, axis, keepdims=keepdims)


@standard
def argmin(x: TensorLike, /, *, axis: int | None = None, keepdims: bool = False) -> Any:
    return call("argmin", x, axis, keepdims=keepdims)


@standard
def searchsorted(
    x1: TensorLike, x2: TensorLike, /, *, side: str = "left", sorter: TensorLike = None
) -> Any:
    return call("searchsorted", x1, x2, side, sorter)


@standard
def sort(x: TensorLike, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
    return call("sort", x, axis, descending=descending)


@standard
def argsort(
    x: TensorLike, /, *, axis: int = -1, descending: bool = False, stable: bool = True
) -> Any:
    return call("argsort", x, axis, descending=descending)


# Results whose shapes the elements say.


class UniqueAll(NamedTuple):
    """What `unique_all` gives."""

    values: Any
    indices: Any
    inverse_indices: Any
    counts: Any


class UniqueCounts(NamedTuple):
    """What `unique_counts` gives."""

    values: Any
    counts: Any


class UniqueInverse(NamedTuple):
    """What `unique_inverse` gives."""

    values: Any
    inverse_indices: Any


@at_once
def nonzero(x: TensorLike, /) -> Any:
    return call("nonzero", x)


@at_once
def unique_all(x: TensorLike, /) -> Any:
    return UniqueAll(*call("unique_all", x))


@at_once
def unique_counts(x: TensorLike, /) -> Any:
    return UniqueCounts(*call("unique_counts", x))


@at_once
def unique_inverse(x: TensorLike, /) -> Any:
    return UniqueInverse(*call("unique_inverse", x))


@at_once
def unique_values(x: TensorLike, /) -> Any:
    return call("unique_values", x)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{name: _reduction(name) for name in ("all", "any", "count_nonzero", "max", "mean", "min")},
    **{name: _accumulation(name) for name in ("prod", "sum")},
    **{name: _deviation(name) for name in ("std", "var")},
    **{name: _scan(name) for name in ("cumulative_prod", "cumulative_sum")},
    **{
        function.__name__: function
        for function in (
            *(argmax, argmin, argsort, diff, nonzero, searchsorted, sort),
            *(unique_all, unique_counts, unique_inverse, unique_values),
        )
    },
}
