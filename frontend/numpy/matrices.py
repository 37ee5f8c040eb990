"""Matrices by their diagonals and triangles."""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np

from ...dialects import graph
from ...errors import StepwellError
from ..promotion import dtype_named
from ..recording import as_tensor, cast_to, record
from ..tensor import Tensor, TensorLike
from ..traceable import creation, traceable
from .arguments import integers, normalized, single_axis
from .counting import iota
from .elementwise import where
from .manipulation import astype, broadcast_to, ravel, reshape
from .padding import pad
from .reductions import sum
from .selection import take


def _offsets(rows: int, columns: int) -> Tensor:
    """Column less row, of each element of a matrix."""
    return reshape(iota(columns), (1, columns)) - reshape(iota(rows), (rows, 1))


@creation
def eye(N: int, M: int | None = None, k: int = 0, dtype: Any = float) -> Tensor:
    """
    The matrix of `N` rows and `M` columns, as many without `M`, with 1 on the k-th diagonal and 0 elsewhere.

    >>> sw.eye(2, 3, k=1)
    array([[0., 1., 0.],
           [0., 0., 1.]])
    """
    (rows,), (columns,) = integers(N, "N"), integers(N if M is None else M, "M")
    return cast_to(_offsets(rows, columns) == k, dtype_named(dtype))


@creation
def identity(n: int, dtype: Any = float) -> Tensor:
    """
    The identity matrix of `n` rows.

    >>> sw.identity(2)
    array([[1., 0.],
           [0., 1.]])
    """
    return eye(n, dtype=dtype)


@creation
def tri(N: int, M: int | None = None, k: int = 0, dtype: Any = float) -> Tensor:
    """
    The matrix with 1 on and below the k-th diagonal and 0 above it.

    >>> sw.tri(3, dtype=int)
    array([[1, 0, 0],
           [1, 1, 0],
           [1, 1, 1]])
    """
    (rows,), (columns,) = integers(N, "N"), integers(N if M is None else M, "M")
    return cast_to(_offsets(rows, columns) <= k, dtype_named(dtype))


@traceable
def tril(x: TensorLike, /, k: int = 0) -> Tensor:
    """
    The elements on and below the k-th diagonal of each matrix of the last two axes, 0 above it.

    >>> sw.tril([[1, 2], [3, 4]])
    array([[1, 0],
           [3, 4]])
    """
    return _triangle(x, k, lower=True)


@traceable
def triu(x: TensorLike, /, k: int = 0) -> Tensor:
    """
    The elements on and above the k-th diagonal of each matrix of the last two axes, 0 below it.

    >>> sw.triu([[1, 2], [3, 4]])
    array([[1, 2],
           [0, 4]])
    """
    return _triangle(x, k, lower=False)


def _triangle(x: TensorLike, k: TensorLike, *, lower: bool) -> Tensor:
    x = as_tensor(x)
    if x.ndim < 2:
        raise StepwellError(
            f"found a tensor of {x.ndim} axes, expected matrices along its last two; reshape it"
        )
    rows, columns = x.shape[-2:]
    offset = _offsets(rows, columns)
    kept = offset <= k if lower else offset >= k
    return where(kept, x, as_tensor(np.zeros((), x.dtype)))


@traceable
def diagonal(x: TensorLike, /, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor:
    """
    The elements whose indices on two axes differ by `offset`, along a new last axis.

    Raises StepwellError for one axis twice.

    >>> sw.diagonal([[1, 2], [3, 4]])
    array([1, 4])
    """
    x = as_tensor(x)
    first, second = (normalized(single_axis(axis), x.ndim) for axis in (axis1, axis2))
    if first == second:
        raise StepwellError(f"found axis {first} twice, expected two axes; name another")
    order = [axis for axis in range(x.ndim) if axis not in (first, second)]
    x = record(graph.TransposeOp, x, [*order, first, second])
    *outer, rows, columns = x.shape
    start = offset if offset >= 0 else -offset * columns
    length = max(0, min(rows + min(offset, 0), columns - max(offset, 0)))
    # A diagonal is every element behind the last by a row and one column.
    flat = reshape(x, (*outer, rows * columns))
    step = columns + 1
    end = start + (length - 1) * step + 1 if length else start
    full = [slice(None)] * len(outer)
    return record(graph.SliceOp, flat, [*full, slice(start, end, step)])


@traceable
def diag(x: TensorLike, /, k: int = 0) -> Tensor:
    """
    The k-th diagonal of a matrix; of a vector, the matrix that has it there and 0 elsewhere.

    Raises StepwellError for more axes than two.

    >>> sw.diag([1, 2])
    array([[1, 0],
           [0, 2]])
    """
    x = as_tensor(x)
    if x.ndim == 2:
        return diagonal(x, k)
    if x.ndim != 1:
        raise StepwellError(
            f"found a tensor of {x.ndim} axes in diag, expected a vector or a matrix; take diagonal() of more axes"
        )
    before, extent = builtins.max(-k, 0), x.shape[0] + abs(k)
    row = pad(x, (before, extent - before - x.shape[0]))
    on = _offsets(extent, extent) == k
    return where(on, reshape(row, (extent, 1)), as_tensor(np.zeros((), x.dtype)))


@traceable
def diagflat(x: TensorLike, /, k: int = 0) -> Tensor:
    """
    The matrix that has the elements of the flattened `x` on its k-th diagonal and 0 elsewhere.

    >>> sw.diagflat([[1, 2]], k=1)
    array([[0, 1, 0],
           [0, 0, 2],
           [0, 0, 0]])
    """
    return diag(ravel(x), k)


@traceable
def trace(
    x: TensorLike, /, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None
) -> Tensor:
    """
    The sum of the elements of a diagonal. Integers are summed as by `sum`.

    >>> sw.trace([[1, 2], [3, 4]])
    array(5)
    """
    return sum(diagonal(x, offset, axis1, axis2), -1, dtype)


@traceable
def vander(x: TensorLike, /, N: int | None = None, increasing: bool = False) -> Tensor:
    """
    The Vandermonde matrix: row i has the powers of `x[i]`, from the greatest on unless `increasing`.

    Each is the product of those of `x`, its square, the square of that … that its exponent's binary digits ask for.

    Raises StepwellError for other axes than one.

    >>> sw.vander([2, 3], 3)
    array([[4, 2, 1],
           [9, 3, 1]])
    """
    x = as_tensor(x)
    if x.ndim != 1:
        raise StepwellError(f"found a tensor of {x.ndim} axes in vander, expected one; ravel it")
    (count,) = integers(x.shape[0] if N is None else N, "N")
    numbers = iota(count)
    exponent = numbers if increasing else count - 1 - numbers
    square = reshape(astype(x, np.result_type(x.dtype, np.int64)), (-1, 1))
    powers = where((exponent & 1) == 1, square, 1)
    for digit in range(1, max(count - 1, 0).bit_length()):
        square = square * square
        powers = where((exponent >> digit & 1) == 1, powers * square, powers)
    return powers


@traceable
def fill_diagonal(x: TensorLike, value: TensorLike, /) -> Tensor:
    """
    A copy of `x` with `value`, a number or as many as there are, on the diagonal of the elements whose indices are equal.
    NumPy's writes into `x`.

    Raises StepwellError for fewer axes than two.

    >>> sw.fill_diagonal(np.zeros((2, 2)), 5)
    array([[5., 0.],
           [0., 5.]])
    """
    x = as_tensor(x)
    if x.ndim < 2:
        raise StepwellError(f"found a tensor of {x.ndim} axes, expected at least 2; reshape it")
    axes = [iota(x.shape, axis) for axis in range(x.ndim)]
    on = axes[0] == axes[1]
    for axis in axes[2:]:
        on = on & (axes[0] == axis)
    filler = cast_to(as_tensor(value), x.dtype)
    if filler.ndim:
        filler = take(filler, axes[0] % filler.shape[0])
    return where(on, broadcast_to(filler, x.shape), x)
