"""
Linear algebra by factorization: determinants, inverses, systems of equations, Cholesky and QR.

Everything is over the matrices of the last two axes, in float32 or float64. A compiled function has no exceptions: where
NumPy raises LinAlgError these return NaN or infinity, which each function says.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod as product
from typing import NamedTuple

import numpy as np

from ...dialects import graph
from ...dialects.graph import shapes
from ...errors import StepwellError
from ..promotion import FLOAT32, FLOAT64, division_dtype, result_dtype
from ..recording import as_tensor, cast_to, record, record_all
from ..tensor import Tensor, TensorLike
from ..traceable import traceable
from .arguments import integers, normalized
from .elementwise import absolute, log, sign
from .manipulation import broadcast_to, expand_dims, matrix_transpose, moveaxis, reshape
from .matrices import diagonal, eye
from .reductions import prod, sum
from .selection import take_along_axis


class QRResult(NamedTuple):
    """What `qr` gives."""

    Q: Tensor
    R: Tensor


class SlogdetResult(NamedTuple):
    """What `slogdet` gives."""

    sign: Tensor
    logabsdet: Tensor


def working_dtype(*tensors: Tensor) -> np.dtype:
    """The dtype in which matrices are factored: float32 for narrower floats."""
    return FLOAT64 if _dtype_of_results(*tensors) == FLOAT64 else FLOAT32


def _dtype_of_results(*tensors: Tensor) -> np.dtype:
    return division_dtype(result_dtype([tensor.dtype for tensor in tensors]))


def matrices_of(x: TensorLike) -> tuple[Tensor, np.dtype]:
    """The operand in the dtype in which it is factored, and the dtype of the results."""
    tensor = as_tensor(x)
    return cast_to(tensor, working_dtype(tensor)), _dtype_of_results(tensor)


def _lu(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    packed, order, sign_of_order = record_all(graph.LuOp, x)
    return packed, order, sign_of_order


@traceable
def det(x: TensorLike, /) -> Tensor:
    """
    The determinant of each square matrix, by elimination with partial pivoting; 0 of a singular one.

    >>> sw.linalg.det([[1.0, 2.0], [3.0, 4.0]])
    array(-2.)
    """
    matrices, dtype = matrices_of(x)
    packed, _, sign_of_order = _lu(matrices)
    return cast_to(sign_of_order * prod(_diagonal(packed), -1), dtype)


@traceable
def slogdet(x: TensorLike, /) -> SlogdetResult:
    """
    The sign of the determinant of each square matrix, and the logarithm of its magnitude; 0 and -inf of a singular one.

    >>> sw.linalg.slogdet([[2.0, 0.0], [0.0, -1.0]])
    SlogdetResult(sign=array(-1.), logabsdet=array(0.6931))
    """
    matrices, dtype = matrices_of(x)
    packed, _, sign_of_order = _lu(matrices)
    pivots = _diagonal(packed)
    found = sign_of_order * prod(sign(pivots), -1), sum(log(absolute(pivots)), -1)
    return SlogdetResult(cast_to(found[0], dtype), cast_to(found[1], dtype))


def _diagonal(x: Tensor) -> Tensor:
    return diagonal(x, 0, -2, -1)


@traceable
def solve(a: TensorLike, b: TensorLike, /) -> Tensor:
    """
    x with `a @ x == b` for square matrices `a`, by elimination with partial pivoting. `b` is one vector, or matrices whose
    columns are right-hand sides; batches broadcast.

    Where NumPy raises LinAlgError, for a singular `a`, there are infinities or NaN in the result.

    >>> sw.linalg.solve([[2.0, 0.0], [0.0, 4.0]], [2.0, 2.0])
    array([1. , 0.5])
    """
    left, right = as_tensor(a), as_tensor(b)
    is_vector = right.ndim == 1
    working = working_dtype(left, right)
    dtype = _dtype_of_results(left, right)
    columns = cast_to(expand_dims(right, 1) if is_vector else right, working)
    if left.ndim < 2 or columns.ndim < 2 or left.shape[-1] != columns.shape[-2]:
        raise StepwellError(
            f"found matrices of shape {list(left.shape)} and right-hand sides of shape {list(right.shape)}, expected "
            "as many equations; reshape them"
        )
    packed, order, _ = _lu(cast_to(left, working))
    batch = shapes.broadcast(left.shape[:-2], columns.shape[:-2])
    packed = broadcast_to(packed, (*batch, *left.shape[-2:]))
    columns = broadcast_to(columns, (*batch, *columns.shape[-2:]))
    places = broadcast_to(expand_dims(order, -1), columns.shape)
    permuted = take_along_axis(columns, places, -2)
    half = record(graph.TriangularSolveOp, packed, permuted, lower=True, unit=True)
    x = cast_to(record(graph.TriangularSolveOp, packed, half), dtype)
    return x[..., 0] if is_vector else x


@traceable
def inv(x: TensorLike, /) -> Tensor:
    """
    The inverse of each square matrix. Where NumPy raises LinAlgError, for a singular one, there are infinities or NaN in
    the result.

    (..., n, n) gives (..., n, n); integers are computed in float64.

    >>> sw.linalg.inv([[2.0, 0.0], [0.0, 4.0]])
    array([[0.5 , 0.  ],
           [0.  , 0.25]])
    """
    tensor = as_tensor(x)
    extent = tensor.shape[-1] if tensor.ndim else 0
    return solve(tensor, eye(extent, dtype=division_dtype(tensor.dtype)))


@traceable
def tensorsolve(a: TensorLike, b: TensorLike, /, axes: int | Sequence[int] | None = None) -> Tensor:
    """
    x with `tensordot(a, x, x.ndim) == b`; `axes` of `a` are moved to its end first. See `solve`.

    Raises StepwellError for shapes with more unknowns than equations, or fewer.

    >>> sw.linalg.tensorsolve(np.eye(4).reshape(2, 2, 2, 2) * 2, [[2.0, 4.0], [6.0, 8.0]])
    array([[1., 2.],
           [3., 4.]])
    """
    left, right = as_tensor(a), as_tensor(b)
    if axes is not None:
        moved = [normalized(axis, left.ndim) for axis in integers(axes, "axes")]
        left = moveaxis(left, moved, range(left.ndim - len(moved), left.ndim))
    rest = left.shape[right.ndim :]
    if product(left.shape) != right.size**2 or product(rest) != right.size:
        raise StepwellError(
            f"found shapes {list(left.shape)} and {list(right.shape)} in tensorsolve, expected as many unknowns as "
            "equations; reshape them"
        )
    matrix = reshape(left, (right.size, right.size))
    return reshape(solve(matrix, reshape(right, (right.size,))), rest)


@traceable
def tensorinv(a: TensorLike, /, ind: int = 2) -> Tensor:
    """
    The inverse of `tensordot(a, x, ind)`, whose first axes are those of `a` from `ind` on. See `inv`.

    Raises StepwellError for a shape whose first axes have more elements than the others, or fewer.

    >>> sw.linalg.tensorinv(np.eye(4).reshape(2, 2, 4) * 2).shape
    (4, 2, 2)
    """
    tensor = as_tensor(a)
    (count,) = integers(ind, "ind")
    first, last = tensor.shape[:count], tensor.shape[count:]
    if count <= 0 or product(first) != product(last):
        raise StepwellError(
            f"found shape {list(tensor.shape)} and ind {count} in tensorinv, expected as many elements along the "
            "first axes as along the others; reshape it"
        )
    return reshape(inv(reshape(tensor, (product(first), product(last)))), (*last, *first))


@traceable
def cholesky(x: TensorLike, /, *, upper: bool = False) -> Tensor:
    """
    The lower triangular matrix L with x = L Lᵀ of each symmetric positive definite matrix, of which the elements above
    the diagonal are not read; or, `upper`, U with x = Uᵀ U, and the other triangle.

    Where NumPy raises LinAlgError, for one that is not positive definite, the column that shows it and those after it
    are NaN on and below the diagonal.

    >>> sw.linalg.cholesky([[4.0, 2.0], [2.0, 10.0]])
    array([[2., 0.],
           [1., 3.]])
    """
    matrices, dtype = matrices_of(x)
    if upper:
        return cast_to(
            matrix_transpose(record(graph.CholeskyOp, matrix_transpose(matrices))), dtype
        )
    return cast_to(record(graph.CholeskyOp, matrices), dtype)


@traceable
def qr(x: TensorLike, /, mode: str = "reduced") -> QRResult | Tensor:
    """
    Each m by n matrix as `q @ r` by Householder's reflections: q with min(m, n) orthonormal columns, or all m in the mode
    "complete", and r upper triangular, which is all there is in the mode "r". The signs are LAPACK's.

    Raises StepwellError for a mode that is none of these.

    >>> q, r = sw.linalg.qr([[3.0, 1.0], [4.0, 2.0]])
    >>> q @ r
    array([[3., 1.],
           [4., 2.]])
    """
    if mode not in ("reduced", "complete", "r"):
        raise StepwellError(
            f"found mode {mode!r:.20} of qr, expected 'reduced', 'complete' or 'r'; name one of them"
        )
    matrices, dtype = matrices_of(x)
    q, r = record_all(graph.QrOp, matrices, complete=mode == "complete")
    return cast_to(r, dtype) if mode == "r" else QRResult(cast_to(q, dtype), cast_to(r, dtype))


FACTORIZATIONS = (det, slogdet, solve, inv, tensorsolve, tensorinv, cholesky, qr)
"""The public functions, which are names of `stepwell.linalg`."""
