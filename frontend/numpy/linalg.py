"""Linear algebra: norms, powers, products and factorizations of matrices, and systems of equations."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...errors import StepwellError
from ..promotion import division_dtype
from ..recording import as_tensor, cast_to
from ..tensor import Tensor, TensorLike
from ..traceable import traceable
from .arguments import AxisLike, integers, normalized
from .decompositions import DECOMPOSITIONS, svdvals
from .elementwise import absolute, logical_and, logical_not, power, sqrt, where
from .factorizations import FACTORIZATIONS, inv
from .manipulation import broadcast_to, expand_dims, matrix_transpose, moveaxis, ravel
from .matrices import diagonal, eye, trace
from .predicates import isnan
from .products import cross, matmul, outer, tensordot, vecdot
from .reductions import any as any_of
from .reductions import count_nonzero, max, min, sum


def _floats(x: TensorLike) -> Tensor:
    """The operand in the dtype in which it is divided."""
    tensor = as_tensor(x)
    return cast_to(tensor, division_dtype(tensor.dtype))


@traceable
def vector_norm(
    x: TensorLike, /, *, axis: AxisLike = None, keepdims: bool = False, ord: float = 2
) -> Tensor:
    """
    (Σ |x|ᵒʳᵈ)^(1/ord) over axes; the greatest magnitude for inf, the least for -inf, the number of non-zeros for 0.

    >>> sw.linalg.vector_norm([[3.0, 4.0], [6.0, 8.0]], axis=1)
    array([ 5., 10.])
    """
    size = absolute(_floats(x))
    if ord in (np.inf, -np.inf):
        return (max if ord > 0 else min)(size, axis, keepdims=keepdims)
    if ord == 0:
        return cast_to(count_nonzero(size, axis, keepdims=keepdims), size.dtype)
    if ord == 1:
        return sum(size, axis, keepdims=keepdims)
    if ord == 2:
        return sqrt(sum(size * size, axis, keepdims=keepdims))
    return power(sum(power(size, float(ord)), axis, keepdims=keepdims), 1 / float(ord))


@traceable
def matrix_norm(x: TensorLike, /, *, keepdims: bool = False, ord: float | str = "fro") -> Tensor:
    """
    The norm of matrices along the last two axes: "fro", the root of the sum of squares; 1 and -1, the greatest and least
    sum of the magnitudes of a column; inf and -inf, of a row; 2 and -2, the greatest and least singular value; "nuc", the
    sum of the singular values.

    Raises StepwellError for a tensor of fewer axes than two.

    >>> sw.linalg.matrix_norm([[3.0, 0.0], [0.0, 4.0]])
    array(5.)
    """
    tensor = _floats(x)
    if tensor.ndim < 2:
        raise StepwellError(f"found a tensor of {tensor.ndim} axes, expected matrices; reshape it")
    found = _norms_of_matrices(tensor, ord)
    return expand_dims(found, (-2, -1)) if keepdims else found


def _norms_of_matrices(x: Tensor, ord: float | str) -> Tensor:
    if ord == "fro":
        return sqrt(sum(x * x, (-2, -1)))
    if ord == "nuc":
        return sum(svdvals(x), -1)
    if ord in (2, -2):
        return (max if ord == 2 else min)(svdvals(x), -1)
    if ord not in (1, -1, np.inf, -np.inf):
        raise StepwellError(
            f"found ord {ord!r:.20} of a matrix, expected 'fro', 'nuc', 1, -1, 2, -2, inf or -inf; name one of them"
        )
    totals = sum(absolute(x), -2 if ord in (1, -1) else -1)
    return (max if float(ord) > 0 else min)(totals, -1)


@traceable
def cond(x: TensorLike, /, p: float | str | None = None) -> Tensor:
    """
    The condition number of each matrix in a norm, see `matrix_norm`: by default the greatest singular value divided by
    the least, of any matrix; in other norms `norm(x) * norm(inv(x))`, of square ones. Infinity of a singular matrix.

    >>> sw.linalg.cond([[1.0, 0.0], [0.0, 4.0]])
    array(4.)
    """
    tensor = _floats(x)
    if p in (None, 2, -2):
        values = svdvals(tensor)
        greatest, least = values[..., 0], values[..., -1]
        ratio = least / greatest if p == -2 else greatest / least
    else:
        ratio = matrix_norm(tensor, ord=p) * matrix_norm(inv(tensor), ord=p)
    # 0 / 0, and the inverse of a singular matrix, are NaN; so is what is computed of NaN, and stays so.
    has_nan = any_of(isnan(tensor), (-2, -1))
    return where(logical_and(isnan(ratio), logical_not(has_nan)), np.inf, ratio)


@traceable
def norm(
    x: TensorLike, /, ord: Any = None, axis: AxisLike = None, keepdims: bool = False
) -> Tensor:
    """
    The norm of a vector or matrix, or of those along one or two axes. See `vector_norm` and `matrix_norm`.

    Raises StepwellError for more axes than two.

    >>> sw.linalg.norm([3.0, 4.0])
    array(5.)
    """
    tensor = as_tensor(x)
    if axis is None:
        if ord is None or tensor.ndim == 1:
            return _kept(
                vector_norm(ravel(tensor), ord=2 if ord is None else ord), tensor, keepdims
            )
        axis = tuple(range(tensor.ndim))
    axes = [normalized(one, tensor.ndim) for one in integers(axis, "axis")]
    if len(axes) == 1:
        return vector_norm(tensor, axis=axes, keepdims=keepdims, ord=2 if ord is None else ord)
    if len(axes) != 2:
        raise StepwellError(f"found {len(axes)} axes in norm, expected one or two; name them")
    moved = moveaxis(tensor, axes, (-2, -1))
    found = matrix_norm(moved, keepdims=keepdims, ord="fro" if ord is None else ord)
    return moveaxis(found, (-2, -1), axes) if keepdims else found


def _kept(found: Tensor, x: Tensor, keepdims: bool) -> Tensor:
    return broadcast_to(found, (1,) * x.ndim) if keepdims else found


@traceable
def matrix_power(x: TensorLike, n: int, /) -> Tensor:
    """
    The product of n times the same square matrices, by squaring; of 0 times, the identity; of less, of the inverse.

    Raises StepwellError for matrices that are not square.

    >>> sw.linalg.matrix_power([[1, 1], [0, 1]], 5)
    array([[1, 5],
           [0, 1]])
    """
    x = as_tensor(x)
    (count,) = integers(n, "n")
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise StepwellError(
            f"found shape {list(x.shape)} in matrix_power, expected square matrices along the last two axes; reshape it"
        )
    if count < 0:
        x, count = inv(x), -count
    found: Tensor | None = None
    while count:
        if count % 2:
            found = x if found is None else matmul(found, x)
        count //= 2
        x = matmul(x, x) if count else x
    return found if found is not None else broadcast_to(eye(x.shape[-1], dtype=x.dtype), x.shape)


@traceable
def multi_dot(arrays: Sequence[TensorLike], /) -> Tensor:
    """
    The product of several matrices, in the order that takes the fewest multiplications; the ends may be vectors.

    Raises StepwellError for fewer arrays than two.

    >>> sw.linalg.multi_dot([[1.0, 2.0], [[1.0, 0.0], [0.0, 1.0]], [3.0, 4.0]])
    array(11.)
    """
    tensors = [as_tensor(array) for array in arrays]
    if len(tensors) < 2:
        raise StepwellError(f"found {len(tensors)} arrays in multi_dot, expected at least two")
    extents = [
        tensors[0].shape[0] if tensors[0].ndim > 1 else 1,
        *(
            tensor.shape[0 if tensor.ndim == 1 and number else -1]
            for number, tensor in enumerate(tensors)
        ),
    ]
    if tensors[-1].ndim == 1:
        extents[-2:] = [tensors[-1].shape[0], 1]
    return _product(tensors, _split(extents), 0, len(tensors) - 1)


def _split(extents: Sequence[int]) -> dict[tuple[int, int], int]:
    """Where to split each chain of products (Cormen and others, Introduction to Algorithms, matrix-chain order)."""
    count = len(extents) - 1
    cost = {(number, number): 0 for number in range(count)}
    split: dict[tuple[int, int], int] = {}
    for length in range(1, count):
        for first in range(count - length):
            last = first + length
            cost[first, last], split[first, last] = builtins.min(
                (
                    cost[first, middle]
                    + cost[middle + 1, last]
                    + extents[first] * extents[middle + 1] * extents[last + 1],
                    middle,
                )
                for middle in range(first, last)
            )
    return split


def _product(
    tensors: Sequence[Tensor], split: dict[tuple[int, int], int], first: int, last: int
) -> Tensor:
    if first == last:
        return tensors[first]
    middle = split[first, last]
    return matmul(
        _product(tensors, split, first, middle), _product(tensors, split, middle + 1, last)
    )


MEMBERS = {
    function.__name__: function
    for function in (
        *(norm, vector_norm, matrix_norm, cond, matrix_power, multi_dot),
        *(*FACTORIZATIONS, *DECOMPOSITIONS),
        *(cross, diagonal, matmul, matrix_transpose, outer, tensordot, trace, vecdot),
    )
}

MISSING: dict[str, str] = dict.fromkeys(
    ("eig", "eigvals"),
    "there is no operation for the eigenvalues of general matrices; use eigh of symmetric ones, or call numpy.linalg's on "
    "results",
)
