"""Tests of elements and of whole arrays: NaN, infinity, signs, and what is nearly equal."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...dialects.dtypes import is_float_dtype
from ..promotion import float_dtype
from ..recording import as_tensor, promoted
from ..tensor import Tensor, TensorLike
from ..traceable import traceable
from .creation import full_like
from .elementwise import absolute, equal, floating, less, logical_or, not_equal, where
from .reductions import all


@traceable
def isnan(x: TensorLike, /) -> Tensor:
    """
    Whether an element is NaN.

    >>> sw.isnan([1.0, np.nan])
    array([False,  True])
    """
    tensor = as_tensor(x)
    return not_equal(tensor, tensor)


@traceable
def isinf(x: TensorLike, /) -> Tensor:
    """
    Whether an element is infinity, of either sign.

    >>> sw.isinf([1.0, -np.inf, np.nan])
    array([False,  True, False])
    """
    return equal(absolute(floating(x)), np.inf)


@traceable
def isfinite(x: TensorLike, /) -> Tensor:
    """
    Whether an element is neither infinity nor NaN.

    >>> sw.isfinite([1.0, np.inf, np.nan])
    array([ True, False, False])
    """
    return less(absolute(floating(x)), np.inf)


@traceable
def isposinf(x: TensorLike, /) -> Tensor:
    """
    Whether an element is positive infinity.

    >>> sw.isposinf([-np.inf, np.inf])
    array([False,  True])
    """
    return equal(floating(x), np.inf)


@traceable
def isneginf(x: TensorLike, /) -> Tensor:
    """
    Whether an element is negative infinity.

    >>> sw.isneginf([-np.inf, np.inf])
    array([ True, False])
    """
    return equal(floating(x), -np.inf)


@traceable
def isreal(x: TensorLike, /) -> Tensor:
    """
    Whether the imaginary part is 0: True where `x` is real.

    >>> sw.isreal([1.0, 2 + 1j])
    array([ True, False])
    """
    return full_like(x, True, np.bool_)


@traceable
def iscomplex(x: TensorLike, /) -> Tensor:
    """
    Whether the imaginary part is not 0: False where `x` is real.

    >>> sw.iscomplex([1.0, 2 + 1j])
    array([False,  True])
    """
    return full_like(x, False, np.bool_)


@traceable
def nan_to_num(
    x: TensorLike, /, *, copy: bool = True, nan: float = 0.0, posinf: Any = None, neginf: Any = None
) -> Tensor:
    """
    `x` with numbers in place of NaN and of the infinities: 0, and the greatest and least numbers there are.

    >>> sw.nan_to_num([1.0, np.nan, np.inf], posinf=9.0)
    array([1., 0., 9.])
    """
    tensor = as_tensor(x)
    if not is_float_dtype(tensor.dtype):
        return tensor
    limits = np.finfo(tensor.dtype) if tensor.dtype.kind == "f" else None
    greatest = _greatest(tensor.dtype) if limits is None else limits.max
    above, below = (
        (greatest if posinf is None else posinf),
        (-greatest if neginf is None else neginf),
    )
    found = where(isnan(tensor), tensor.dtype.type(nan), tensor)
    found = where(isposinf(found), tensor.dtype.type(above), found)
    return where(isneginf(found), tensor.dtype.type(below), found)


def _greatest(dtype: np.dtype) -> Any:
    """Of bfloat16, which NumPy knows no limits of: 8 bits of significance, the exponents of float32."""
    return dtype.type((2 - 2.0**-7) * 2.0**127)


@traceable
def isclose(
    x: TensorLike, y: TensorLike, /, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> Tensor:
    """
    Whether |x - y| ≤ atol + rtol · |y|, or both are the same infinity, or both NaN if `equal_nan`.

    >>> sw.isclose([1.0, 2.0], [1.0 + 1e-9, 2.1])
    array([ True, False])
    """
    a, b = promoted(x, y, to=float_dtype)
    is_near = isfinite(b) & (absolute(a - b) <= absolute(b) * rtol + atol)
    found = is_near | (a == b)
    return logical_or(found, isnan(a) & isnan(b)) if equal_nan else found


@traceable
def allclose(
    x: TensorLike, y: TensorLike, /, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> Tensor:
    """
    Whether all elements are close. See `isclose`.

    >>> sw.allclose([1.0, 2.0], [1.0, 2.0 + 1e-9])
    array(True)
    """
    return all(isclose(x, y, rtol, atol, equal_nan))


@traceable
def array_equal(x: TensorLike, y: TensorLike, /, equal_nan: bool = False) -> Tensor:
    """
    Whether two arrays have the same shape and equal elements.

    >>> sw.array_equal([1, 2], [1, 2])
    array(True)
    """
    a, b = as_tensor(x), as_tensor(y)
    if a.shape != b.shape:
        return as_tensor(np.asarray(False))
    same = a == b
    return all(same | (isnan(a) & isnan(b)) if equal_nan else same)


@traceable
def array_equiv(x: TensorLike, y: TensorLike, /) -> Tensor:
    """
    Whether two arrays that broadcast to one shape have equal elements there.

    >>> sw.array_equiv([1, 2], [[1, 2], [1, 2]])
    array(True)
    """
    a, b = as_tensor(x), as_tensor(y)
    try:
        np.broadcast_shapes(a.shape, b.shape)
    except ValueError:
        return as_tensor(np.asarray(False))
    return all(a == b)
