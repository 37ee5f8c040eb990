"""The standard's functions of vectors and matrices: those of the main namespace and of its extension `linalg`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ..operators import call, function_named
from ..tensor import TensorLike
from .calls import standard


@standard
def matmul(x1: TensorLike, x2: TensorLike, /) -> Any:
    return call("matmul", x1, x2)


@standard
def matrix_transpose(x: TensorLike, /) -> Any:
    return call("matrix_transpose", x)


@standard
def tensordot(x1: TensorLike, x2: TensorLike, /, *, axes: int | Sequence[Sequence[int]] = 2) -> Any:
    return call("tensordot", x1, x2, axes)


@standard
def vecdot(x1: TensorLike, x2: TensorLike, /, *, axis: int = -1) -> Any:
    return call("vecdot", x1, x2, axis)


MAIN: dict[str, Callable[..., Any]] = {
    function.__name__: function for function in (matmul, matrix_transpose, tensordot, vecdot)
}


class QR(NamedTuple):
    """What `qr` gives."""

    Q: Any
    R: Any


class SlogDet(NamedTuple):
    """What `slogdet` gives."""

    sign: Any
    logabsdet: Any


class Eigh(NamedTuple):
    """What `eigh` gives."""

    eigenvalues: Any
    eigenvectors: Any


class SVD(NamedTuple):
    """What `svd` gives."""

    U: Any
    S: Any
    Vh: Any


@standard
def cholesky(x: TensorLike, /, *, upper: bool = False) -> Any:
    return call("linalg.cholesky", x, upper=upper)


@standard
def cross(x1: TensorLike, x2: TensorLike, /, *, axis: int = -1) -> Any:
    return call("cross", x1, x2, axis=axis)


@standard
def det(x: TensorLike, /) -> Any:
    return call("linalg.det", x)


@standard
def diagonal(x: TensorLike, /, *, offset: int = 0) -> Any:
    return call("diagonal", x, offset, -2, -1)


@standard
def eigh(x: TensorLike, /) -> Any:
    return Eigh(*call("linalg.eigh", x))


@standard
def eigvalsh(x: TensorLike, /) -> Any:
    return call("linalg.eigvalsh", x)


@standard
def inv(x: TensorLike, /) -> Any:
    return call("linalg.inv", x)


@standard
def matrix_norm(
    x: TensorLike, /, *, keepdims: bool = False, ord: float | str | None = "fro"
) -> Any:
    return call("linalg.matrix_norm", x, keepdims=keepdims, ord="fro" if ord is None else ord)


@standard
def matrix_power(x: TensorLike, n: int, /) -> Any:
    return call("linalg.matrix_power", x, n)


@standard
def matrix_rank(x: TensorLike, /, *, rtol: TensorLike = None) -> Any:
    return call("linalg.matrix_rank", x, rtol=rtol)


@standard
def outer(x1: TensorLike, x2: TensorLike, /) -> Any:
    return call("outer", x1, x2)


@standard
def pinv(x: TensorLike, /, *, rtol: TensorLike = None) -> Any:
    return call("linalg.pinv", x, rtol=rtol)


@standard
def qr(x: TensorLike, /, *, mode: str = "reduced") -> Any:
    return QR(*call("linalg.qr", x, mode))


@standard
def slogdet(x: TensorLike, /) -> Any:
    return SlogDet(*call("linalg.slogdet", x))


@standard
def solve(x1: TensorLike, x2: TensorLike, /) -> Any:
    return call("linalg.solve", x1, x2)


@standard
def svd(x: TensorLike, /, *, full_matrices: bool = True) -> Any:
    return SVD(*call("linalg.svd", x, full_matrices=full_matrices))


@standard
def svdvals(x: TensorLike, /) -> Any:
    return call("linalg.svdvals", x)


@standard
def trace(x: TensorLike, /, *, offset: int = 0, dtype: Any = None) -> Any:
    return call("trace", x, offset, -2, -1, dtype)


@standard
def vector_norm(
    x: TensorLike,
    /,
    *,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    ord: float = 2,
) -> Any:
    return call("linalg.vector_norm", x, axis=axis, keepdims=keepdims, ord=ord)


EXTENSION: dict[str, Callable[..., Any]] = MAIN | {
    function.__name__: function
    for function in (
        *(cholesky, cross, det, diagonal, eigh, eigvalsh, inv, matrix_norm, matrix_power),
        *(matrix_rank, outer, pinv, qr, slogdet, solve, svd, svdvals, trace, vector_norm),
    )
    if function_named(f"linalg.{function.__name__}") is not None
}
"""Of the standard's extension, what `stepwell.linalg` has."""
