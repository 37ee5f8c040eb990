"""Polynomials by their coefficients, the highest first, and functions that are linear between points."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...errors import StepwellError
from ..promotion import FLOAT32, FLOAT64
from ..recording import as_tensor, cast_to, promoted
from ..tensor import Tensor, TensorLike
from ..traceable import traceable
from .arguments import integers
from .counting import iota
from .creation import full_like, ones_like, zeros_like
from .elementwise import minimum, where
from .joining import concatenate
from .manipulation import atleast_1d, ravel
from .padding import pad
from .predicates import isnan
from .products import convolve
from .selection import take
from .sorting import searchsorted


@traceable
def polyval(p: TensorLike, x: TensorLike, /) -> Tensor:
    """
    The value of a polynomial at each `x`, by Horner's rule.

    >>> sw.polyval([1, 0, -1], [2, 3])  # x² - 1
    array([3, 8])
    """
    coefficients, places = promoted(p, x)
    found = zeros_like(places)
    for number in range(coefficients.shape[0]):
        found = found * places + coefficients[number]
    return found


def _as_long(p: TensorLike, q: TensorLike) -> list[Tensor]:
    a, b = (atleast_1d(each) for each in promoted(p, q))
    count = max(a.shape[0], b.shape[0])
    return [pad(each, [(count - each.shape[0], 0)]) for each in (a, b)]


@traceable
def polyadd(p: TensorLike, q: TensorLike, /) -> Tensor:
    """
    The sum of two polynomials.

    >>> sw.polyadd([1, 2], [3, 4, 5])
    array([3, 5, 7])
    """
    a, b = _as_long(p, q)
    return a + b


@traceable
def polysub(p: TensorLike, q: TensorLike, /) -> Tensor:
    """
    The difference of two polynomials.

    >>> sw.polysub([3, 4, 5], [1, 2])
    array([3, 3, 3])
    """
    a, b = _as_long(p, q)
    return a - b


@traceable
def polymul(p: TensorLike, q: TensorLike, /) -> Tensor:
    """
    The product of two polynomials.

    >>> sw.polymul([1, 1], [1, -1])  # (x + 1) · (x - 1)
    array([ 1,  0, -1])
    """
    return convolve(p, q)


@traceable
def poly(seq_of_zeros: TensorLike, /) -> Tensor:
    """
    The polynomial with these zeros, (n,), and the leading coefficient 1: (n + 1,).

    Raises StepwellError for a matrix, of which NumPy takes the eigenvalues.

    >>> import numpy as np, stepwell as sw
    >>> sw.poly(np.array([1.0, 2.0]))
    array([ 1., -3.,  2.])
    """
    zeros = atleast_1d(as_tensor(seq_of_zeros))
    zeros = zeros if zeros.dtype == FLOAT32 else cast_to(zeros, FLOAT64)
    if zeros.ndim != 1:
        raise StepwellError(
            f"found zeros of shape {list(zeros.shape)}, expected a vector; there are no eigenvalues of general matrices"
        )
    found = ones_like(zeros, shape=(1,))
    for number in range(zeros.shape[0]):
        found = pad(found, [(0, 1)]) - pad(found * zeros[number], [(1, 0)])
    return found


@traceable
def polyder(p: TensorLike, /, m: int = 1) -> Tensor:
    """
    The m-th derivative of a polynomial.

    >>> sw.polyder([1, 2, 3])  # of x² + 2x + 3
    array([2, 2])
    """
    coefficients = as_tensor(p)
    for _ in range(*integers(m, "m")):
        degree = coefficients.shape[0] - 1
        coefficients = coefficients[:-1] * (degree - iota(max(degree, 0)))
    return coefficients


@traceable
def polyint(p: TensorLike, /, m: int = 1, k: Sequence[TensorLike] | TensorLike = None) -> Tensor:
    """
    The m-th integral of a polynomial, with the constants `k`, or zeros.

    Raises StepwellError for another number of constants.

    >>> sw.polyint([2, 2])
    array([1., 2., 0.])
    """
    coefficients = as_tensor(p)
    (times,) = integers(m, "m")
    constants = ravel(as_tensor(0.0 if k is None else k))
    if constants.shape[0] not in (1, times):
        raise StepwellError(
            f"found {constants.shape[0]} constants, expected {times}, or one; give them"
        )
    for number in range(times):
        count = coefficients.shape[0]
        constant = constants[number if constants.shape[0] > 1 else 0 :][:1]
        coefficients = concatenate([coefficients / (count - iota(count)), constant])
    return coefficients


@traceable
def interp(
    x: TensorLike,
    xp: TensorLike,
    fp: TensorLike,
    /,
    left: TensorLike = None,
    right: TensorLike = None,
) -> Tensor:
    """
    At each `x` the function that is linear between the points (xp, fp), with rising `xp`; beyond them the first and last
    value, or `left` and `right`. In double precision, as NumPy.

    Raises StepwellError for points that are no two vectors of equal lengths.

    >>> sw.interp([0.5, 1.5, 9.0], [0, 1, 2], [0, 10, 30])
    array([ 5., 20., 30.])
    """
    place, known, value = (cast_to(as_tensor(each), FLOAT64) for each in (x, xp, fp))
    if known.ndim != 1 or known.shape != value.shape or not known.size:
        raise StepwellError(
            f"found points of shapes {list(known.shape)} and {list(value.shape)}, expected two vectors of equal lengths"
        )
    before = searchsorted(known, place, "right") - 1
    lower = where(before < 0, np.int64(0), before)
    upper = minimum(lower + 1, known.shape[0] - 1)
    start, end, first, last = (
        take(one, at)
        for one, at in ((known, lower), (known, upper), (value, lower), (value, upper))
    )
    width = where(end == start, 1.0, end - start)
    found = first + (last - first) / width * (place - start)
    low = value[0] if left is None else as_tensor(left)
    high = value[-1] if right is None else as_tensor(right)
    found = where(place < known[0], low, where(place > known[-1], high, found))
    return where(isnan(place), full_like(place, np.nan), found)
