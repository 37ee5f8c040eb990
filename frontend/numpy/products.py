"""Products of matrices and their kin."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, cast

from ...dialects import graph
from ...errors import StepwellError
from ..promotion import INT64, dtype_named
from ..recording import as_tensor, cast_to, converted, promoted, record
from ..tensor import Tensor, TensorLike
from ..traceable import traceable
from .arguments import integers, normalized
from .joining import stack
from .manipulation import expand_dims, flip, moveaxis, ravel, reshape, squeeze


@traceable
def matmul(x: TensorLike, y: TensorLike, /, dtype: Any = None) -> Tensor:
    """
    `(..., m, k) @ (..., k, n)`: the batches broadcast, a vector's axis is contracted; integers wrap.

    With a `dtype` both operands are converted to it first, as in NumPy: int8 with `dtype=int32` is one kernel that
    reads int8.

    Raises StepwellError where k differs, for numbers without axes, and for batches that do not broadcast.

    >>> sw.matmul([[1, 2], [3, 4]], [[1, 1], [0, 1]])
    array([[1, 3],
           [3, 7]])
    """
    operands = promoted(x, y) if dtype is None else converted([x, y], dtype_named(dtype))
    return record(graph.MatmulOp, *operands)


@traceable
def dot(x: TensorLike, y: TensorLike, /) -> Tensor:
    """
    The sum of products over the last axis of `x` and the last but one of `y`, or the only one of a vector; beside a number,
    the product with it.

    >>> sw.dot([[1, 2], [3, 4]], [10, 1])
    array([12, 34])
    """
    a, b = promoted(as_tensor(x), as_tensor(y))
    if not a.ndim or not b.ndim:
        return a * b
    return tensordot(a, b, ([-1], [-1 if b.ndim == 1 else -2]))


@traceable
def vdot(x: TensorLike, y: TensorLike, /) -> Tensor:
    """
    The sum of the products of the elements of two flattened arrays.

    >>> sw.vdot([[1, 2], [3, 4]], [[1, 1], [1, 1]])
    array(10)
    """
    return matmul(ravel(x), ravel(y))


@traceable
def inner(x: TensorLike, y: TensorLike, /) -> Tensor:
    """
    The sum of products over the last axes; beside a number, the product with it.

    >>> sw.inner([1, 2], [[3, 4], [5, 6]])
    array([11, 17])
    """
    a, b = promoted(as_tensor(x), as_tensor(y))
    return a * b if not a.ndim or not b.ndim else tensordot(a, b, ([-1], [-1]))


@traceable
def outer(x: TensorLike, y: TensorLike, /) -> Tensor:
    """
    The products of each element of the flattened `x` with each of the flattened `y`.

    >>> sw.outer([1, 2], [10, 20, 30])
    array([[10, 20, 30],
           [20, 40, 60]])
    """
    return reshape(x, (-1, 1)) * reshape(y, (1, -1))


@traceable
def tensordot(x: TensorLike, y: TensorLike, /, axes: int | Sequence[Any] = 2) -> Tensor:
    """
    The sum of products over axes of `x` and `y`: so many last and first ones, or two lists of them. One matrix product.

    Raises StepwellError for axes that are not as many of both, or of other extents.

    >>> sw.tensordot(np.ones((2, 3, 4)), np.ones((3, 4, 5)), axes=2).shape
    (2, 5)
    """
    a, b = promoted(x, y)
    of_a, of_b = _contracted(axes, a.ndim)
    if not len(of_a) == len(of_b):
        raise StepwellError(
            f"found axes {axes!r:.60} in tensordot, expected as many of both operands"
        )
    of_a = [normalized(axis, a.ndim) for axis in of_a]
    of_b = [normalized(axis, b.ndim) for axis in of_b]
    if [a.shape[axis] for axis in of_a] != [b.shape[axis] for axis in of_b]:
        raise StepwellError(
            f"found shapes {list(a.shape)} and {list(b.shape)} with axes {of_a} and {of_b} to sum over, expected equal "
            "extents; transpose an operand"
        )
    rows = [axis for axis in range(a.ndim) if axis not in of_a]
    columns = [axis for axis in range(b.ndim) if axis not in of_b]
    depth = math.prod(a.shape[axis] for axis in of_a)
    left = [a.shape[axis] for axis in rows]
    right = [b.shape[axis] for axis in columns]
    a = reshape(record(graph.TransposeOp, a, [*rows, *of_a]), (math.prod(left), depth))
    b = reshape(record(graph.TransposeOp, b, [*of_b, *columns]), (depth, math.prod(right)))
    return reshape(matmul(a, b), (*left, *right))


def _contracted(axes: Any, rank: int) -> tuple[list[int], list[int]]:
    if isinstance(axes, list | tuple):
        pair = cast("Sequence[Any]", axes)
        if len(pair) != 2:
            raise StepwellError(
                f"found axes {axes!r:.60} in tensordot, expected a number, or two lists of axes"
            )
        return list(integers(pair[0], "axes")), list(integers(pair[1], "axes"))
    (count,) = integers(axes, "axes")
    return list(range(rank - count, rank)), list(range(count))


@traceable
def vecdot(x: TensorLike, y: TensorLike, /, axis: int = -1) -> Tensor:
    """
    The sum of products over one axis of both; the others broadcast.

    >>> sw.vecdot([[1, 2], [3, 4]], [1, 1])
    array([3, 7])
    """
    a, b = (moveaxis(each, axis, -1) for each in promoted(x, y))
    return squeeze(matmul(expand_dims(a, -2), expand_dims(b, -1)), (-2, -1))


@traceable
def matvec(x: TensorLike, y: TensorLike, /) -> Tensor:
    """
    Products of matrices and vectors, along the last axes.

    >>> sw.matvec([[1, 2], [3, 4]], [10, 1])
    array([12, 34])
    """
    a, b = promoted(x, y)
    return squeeze(matmul(a, expand_dims(b, -1)), -1)


@traceable
def vecmat(x: TensorLike, y: TensorLike, /) -> Tensor:
    """
    Products of vectors and matrices, along the last axes.

    >>> sw.vecmat([10, 1], [[1, 2], [3, 4]])
    array([13, 24])
    """
    a, b = promoted(x, y)
    return squeeze(matmul(expand_dims(a, -2), b), -2)


@traceable
def kron(x: TensorLike, y: TensorLike, /) -> Tensor:
    """
    The Kronecker product: each element of `x` times the whole of `y`.

    >>> sw.kron([1, 10], [[1, 2]])
    array([[ 1,  2, 10, 20]])
    """
    a, b = promoted(x, y)
    rank = max(a.ndim, b.ndim)
    left, right = ((1,) * (rank - each.ndim) + tuple(each.shape) for each in (a, b))
    spread = reshape(a, [extent for one in left for extent in (one, 1)])
    product = spread * reshape(b, [extent for one in right for extent in (1, one)])
    return reshape(product, [one * other for one, other in zip(left, right, strict=True)])


@traceable
def cross(
    x: TensorLike,
    y: TensorLike,
    /,
    axisa: int = -1,
    axisb: int = -1,
    axisc: int = -1,
    axis: int | None = None,
) -> Tensor:
    """
    The cross product of vectors of three elements along an axis of each.

    Raises StepwellError for vectors of other extents than 3.

    >>> sw.cross([1, 0, 0], [0, 1, 0])
    array([0, 0, 1])
    """
    if axis is not None:
        axisa = axisb = axisc = axis
    a, b = promoted(x, y)
    a, b = moveaxis(a, axisa, -1), moveaxis(b, axisb, -1)
    if a.shape[-1] != 3 or b.shape[-1] != 3:
        raise StepwellError(
            f"found vectors of {a.shape[-1]} and {b.shape[-1]} elements in cross, expected 3; add a zero"
        )
    (a1, a2, a3), (b1, b2, b3) = ([each[..., n] for n in range(3)] for each in (a, b))
    return moveaxis(stack([a2 * b3 - a3 * b2, a3 * b1 - a1 * b3, a1 * b2 - a2 * b1], -1), -1, axisc)


# Sliding products.

_WHOLE, _SAME, _INSIDE = "full", "same", "valid"


@traceable
def convolve(x: TensorLike, kernel: TensorLike, /, mode: str = "full") -> Tensor:
    """
    The products of a vector with another one, turned round, at each place: `full`, `same` or `valid`.

    >>> sw.convolve([1, 2, 3], [1, 10])
    array([ 1, 12, 23, 30])
    """
    a, b = _vectors(x, kernel, mode)
    if b.shape[0] > a.shape[0]:
        a, b = b, a
    return _slid(a, flip(b), mode)


@traceable
def correlate(x: TensorLike, kernel: TensorLike, /, mode: str = "valid") -> Tensor:
    """
    The products of a vector with another one at each place: `full`, `same` or `valid`.

    >>> sw.correlate([1, 2, 3], [1, 10])
    array([21, 32])
    """
    a, b = _vectors(x, kernel, mode)
    if b.shape[0] > a.shape[0]:
        return flip(_slid(b, a, mode))
    return _slid(a, b, mode)


def _vectors(x: TensorLike, kernel: TensorLike, mode: str) -> list[Tensor]:
    if mode not in (_WHOLE, _SAME, _INSIDE):
        raise StepwellError(
            f"found mode {mode!r:.20}, expected 'full', 'same' or 'valid'; name one"
        )
    tensors = promoted(x, kernel)
    if any(tensor.ndim > 1 or not tensor.size for tensor in tensors):
        found = " and ".join(str(list(tensor.shape)) for tensor in tensors)
        raise StepwellError(
            f"found shapes {found}, expected two vectors with elements; use conv for more axes"
        )
    return [ravel(tensor) for tensor in tensors]


def _slid(x: Tensor, kernel: Tensor, mode: str) -> Tensor:
    """The longer vector's products with the shorter one, as a convolution of one channel."""
    count = kernel.shape[0]
    # NumPy has the middle of an even kernel behind it.
    pads = {_WHOLE: (count - 1, count - 1), _SAME: (count // 2, (count - 1) // 2), _INSIDE: (0, 0)}
    dtype = x.dtype
    if dtype.kind == "b":
        x, kernel = cast_to(x, INT64), cast_to(kernel, INT64)
    before, after = pads[mode]
    channel, window = reshape(x, (1, 1, -1)), reshape(kernel, (1, 1, -1))
    found = record(graph.ConvOp, channel, window, (1,), (1,), (before,), (after,), 1)
    return cast_to(reshape(found, (-1,)), dtype)
