"""
Eigenvalues of symmetric matrices, singular values, and what is solved by them: least squares, pseudo-inverses, ranks.

Everything is over the matrices of the last two axes, in float32 or float64, by loops that are compiled like all else: no
call of LAPACK, which would tie a program to SciPy and to a process. A matrix with NaN or infinity gives NaN, where NumPy
raises LinAlgError.
"""

from __future__ import annotations

import builtins
from typing import Any, NamedTuple

import numpy as np

from ...dialects import graph
from ...errors import StepwellError
from ..promotion import INT64, division_dtype, result_dtype
from ..recording import as_tensor, cast_to, record_all
from ..tensor import Tensor, TensorLike
from ..traceable import traceable
from .elementwise import less, where
from .factorizations import matrices_of
from .joining import concatenate
from .manipulation import expand_dims, matrix_transpose
from .matrices import diagonal
from .products import matmul
from .reductions import any as any_of
from .reductions import count_nonzero, max, sum


class EighResult(NamedTuple):
    """What `eigh` gives."""

    eigenvalues: Tensor
    eigenvectors: Tensor


class SVDResult(NamedTuple):
    """What `svd` gives."""

    U: Tensor
    S: Tensor
    Vh: Tensor


def _triangle(a: TensorLike, uplo: str) -> tuple[Tensor, np.dtype]:
    """The matrices with what is read in their lower triangles, and the dtype of the results."""
    if uplo not in ("L", "U", "l", "u"):
        raise StepwellError(f"found UPLO {uplo!r:.20}, expected 'L' or 'U'; name a triangle")
    matrices, dtype = matrices_of(a)
    return matrices if uplo in "Ll" else matrix_transpose(matrices), dtype


@traceable
def eigh(a: TensorLike, /, UPLO: str = "L") -> EighResult:
    """
    The eigenvalues, rising, and eigenvectors of each symmetric matrix, of which one triangle is read: (..., n, n) gives
    (..., n), and (..., n, n) whose column i belongs to value i. The greatest element of each vector is positive, where
    NumPy's signs are LAPACK's.

    >>> values, vectors = sw.linalg.eigh([[2.0, 1.0], [1.0, 2.0]])
    >>> values
    array([1., 3.])
    """
    matrices, dtype = _triangle(a, UPLO)
    values, vectors = record_all(graph.EighOp, matrices)
    return EighResult(cast_to(values, dtype), cast_to(vectors, dtype))


@traceable
def eigvalsh(a: TensorLike, /, UPLO: str = "L") -> Tensor:
    """
    The eigenvalues, rising, of each symmetric matrix, of which one triangle is read: (..., n, n) gives (..., n).

    >>> sw.linalg.eigvalsh([[2.0, 1.0], [1.0, 2.0]])
    array([1., 3.])
    """
    matrices, dtype = _triangle(a, UPLO)
    (values,) = record_all(graph.EighOp, matrices, values_only=True)
    return cast_to(values, dtype)


def _svd(x: Tensor, is_full: bool) -> tuple[Tensor, Tensor, Tensor]:
    """
    Householder's reflections leave a square matrix, whose rows Jacobi's rotations make orthogonal: their lengths are the
    singular values. Reflections again give them length 1, those of length 0 too.
    """
    rows, columns = x.shape[-2:]
    if rows < columns:
        u, values, rest = _svd(matrix_transpose(x), is_full)
        return matrix_transpose(rest), values, matrix_transpose(u)
    q = None
    if rows > columns:
        q, r = record_all(graph.QrOp, x, complete=is_full)
        x = r[..., :columns, :]
    u, values, y = record_all(graph.OrthogonalRowsOp, x)
    v, lengths = record_all(graph.QrOp, matrix_transpose(y), complete=False)
    is_turned = expand_dims(less(diagonal(lengths, 0, -2, -1), 0), -2)
    rest = matrix_transpose(where(is_turned, -v, v))
    if q is not None:
        u = matmul(q[..., :columns], u)
        u = concatenate([u, q[..., columns:]], -1) if is_full else u
    return u, values, rest


@traceable
def svd(
    a: TensorLike, /, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False
) -> SVDResult | Tensor:
    """
    Each (..., m, n) matrix as `U @ diag(S) @ Vh`: U and Vh have orthonormal columns and rows, all m and n of them if
    `full_matrices`, else min(m, n); the singular values S fall. Without `compute_uv` only S. Signs differ from NumPy's,
    and `hermitian` changes nothing.

    >>> u, s, vh = sw.linalg.svd(np.array([[3.0, 0.0], [0.0, 4.0], [0.0, 0.0]]), full_matrices=False)
    >>> s, u.shape
    (array([4., 3.]), (3, 2))
    """
    matrices, dtype = matrices_of(a)
    if not compute_uv:
        return cast_to(_singular_values(matrices), dtype)
    u, values, rest = _svd(matrices, full_matrices)
    return SVDResult(cast_to(u, dtype), cast_to(values, dtype), cast_to(rest, dtype))


def _singular_values(x: Tensor) -> Tensor:
    if x.shape[-2] != x.shape[-1]:
        is_wide = x.shape[-2] < x.shape[-1]
        x = record_all(graph.QrOp, matrix_transpose(x) if is_wide else x)[1]
    return record_all(graph.OrthogonalRowsOp, x)[1]


@traceable
def svdvals(x: TensorLike, /) -> Tensor:
    """
    The singular values, falling, of each matrix: (..., m, n) gives (..., min(m, n)).

    >>> sw.linalg.svdvals([[3.0, 0.0], [4.0, 0.0]])
    array([5., 0.])
    """
    matrices, dtype = matrices_of(x)
    return cast_to(_singular_values(matrices), dtype)


def _inverted(values: Tensor, ratio: TensorLike) -> Tensor:
    """1 / s of the singular values above `ratio` times the greatest, 0 of the others."""
    is_small = ~(values > max(values, -1, keepdims=True) * ratio) if values.size else values > 0
    return where(is_small, 0.0, 1 / where(is_small, 1.0, values))


def _roundings(x: Tensor) -> float:
    """The ratio of singular values that rounding alone may leave, as LAPACK's users take it."""
    return builtins.max(x.shape[-2:]) * float(np.finfo(x.dtype).eps)


_NOT_GIVEN: Any = object()


@traceable
def pinv(
    a: TensorLike,
    /,
    rcond: TensorLike = None,
    hermitian: bool = False,
    *,
    rtol: TensorLike = _NOT_GIVEN,
) -> Tensor:
    """
    The pseudo-inverse of each matrix (Moore and Penrose), by singular values: (..., m, n) gives (..., n, m). Values below
    `rcond` times the greatest, 1e-15 unless given, count as 0; `rtol=None` takes the dtype's precision times max(m, n).
    `hermitian` changes nothing.

    >>> sw.linalg.pinv([[2.0, 0.0], [0.0, 4.0], [0.0, 0.0]])
    array([[0.5 , 0.  , 0.  ],
           [0.  , 0.25, 0.  ]])
    """
    matrices, dtype = matrices_of(a)
    if rcond is None:
        rcond = 1e-15 if rtol is _NOT_GIVEN else _roundings(matrices) if rtol is None else rtol
    u, values, rest = _svd(matrices, False)
    scaled = matrix_transpose(rest) * expand_dims(_inverted(values, _of_rows(rcond)), -2)
    return cast_to(matmul(scaled, matrix_transpose(u)), dtype)


def _of_rows(ratio: TensorLike) -> TensorLike:
    """A ratio, or one for each matrix, beside the singular values."""
    return expand_dims(as_tensor(ratio), -1) if np.ndim(ratio) else ratio


@traceable
def matrix_rank(
    A: TensorLike,
    /,
    tol: TensorLike = None,
    hermitian: bool = False,
    *,
    rtol: TensorLike = None,
) -> Tensor:
    """
    The number of singular values of each matrix above `tol`, or above `rtol` times the greatest: by default the dtype's
    precision times max(m, n). int64; of a vector 0 where all of it is 0, else 1. `hermitian` changes nothing.

    >>> sw.linalg.matrix_rank([[1.0, 2.0], [2.0, 4.0]])
    array(1)
    """
    x = as_tensor(A)
    if x.ndim < 2:
        return cast_to(any_of(x), INT64)
    matrices, _ = matrices_of(x)
    values = _singular_values(matrices)
    if not values.size:
        return count_nonzero(values, -1)
    if tol is None:
        ratio = _roundings(matrices) if rtol is None else _of_rows(rtol)
        bound = max(values, -1, keepdims=True) * ratio
    else:
        bound = _of_rows(tol)
    return count_nonzero(values > bound, -1)


@traceable
def lstsq(
    a: TensorLike, b: TensorLike, /, rcond: float | None = None
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """
    The x of least length that makes |a x - b| least, for `a` of shape (m, n) and `b` of (m,) or (m, k): x, the sums of
    squared residuals of each column, the rank of `a` (int64), and its singular values. Those below `rcond` times the
    greatest count as 0: by default the dtype's precision times max(m, n).

    The residuals have shape (k,) or (1,), or (0,) where m ≤ n, as NumPy's; where the rank turns out less than n, for which
    NumPy's have (0,), they are there too.

        x, residuals, rank, values = sw.linalg.lstsq(a, b)

    Raises StepwellError for shapes that do not fit.

    >>> a, b = [[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]], [1.0, 3.0, 5.0]
    >>> x, residuals, rank, singular = sw.linalg.lstsq(a, b)
    >>> x
    array([1., 2.])
    """
    left, right = as_tensor(a), as_tensor(b)
    if left.ndim != 2 or right.ndim not in (1, 2) or left.shape[0] != right.shape[0]:
        raise StepwellError(
            f"found a of shape {list(left.shape)} and b of shape {list(right.shape)}, expected (m, n) and (m,) or "
            "(m, k); reshape them"
        )
    dtype = division_dtype(result_dtype([left.dtype, right.dtype]))
    matrix = matrices_of(cast_to(left, dtype))[0]
    columns = cast_to(right if right.ndim == 2 else expand_dims(right, 1), matrix.dtype)
    u, values, rest = _svd(matrix, False)
    inverted = _inverted(values, _roundings(matrix) if rcond is None else rcond)
    x = matmul(
        matrix_transpose(rest), expand_dims(inverted, -1) * matmul(matrix_transpose(u), columns)
    )
    rows, unknowns = matrix.shape
    rest_of_b = columns - matmul(matrix, x)
    residuals = sum(rest_of_b * rest_of_b, 0)[: None if rows > unknowns else 0]
    x = x if right.ndim == 2 else x[:, 0]
    rank = count_nonzero(inverted, -1)
    return cast_to(x, dtype), cast_to(residuals, dtype), rank, cast_to(values, dtype)


DECOMPOSITIONS = (eigh, eigvalsh, svd, svdvals, pinv, matrix_rank, lstsq)
"""The public functions, which are names of `stepwell.linalg`."""
