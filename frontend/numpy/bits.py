"""Floats taken apart by their bits (IEEE 754): neighbours, distances, exponents; and integers packed of bits."""

from __future__ import annotations

import numpy as np

from ...errors import StepwellError
from ..promotion import BOOL
from ..recording import as_tensor, cast_to, promoted
from ..tensor import Tensor, TensorLike
from ..traceable import traceable
from .arguments import normalized, single_axis
from .elementwise import absolute, bitwise_and, equal, floating, not_equal, right_shift, where
from .manipulation import bitcast, flip, moveaxis, ravel, reshape
from .mathematics import copysign
from .padding import pad
from .predicates import isfinite, isnan
from .reductions import sum

_WEIGHTS = np.array([128, 64, 32, 16, 8, 4, 2, 1], np.uint8)
"""Of the bits of a byte, the highest first."""


def _integer_of(x: Tensor) -> np.dtype:
    """The signed integers of as many bits as a float."""
    return np.dtype(f"int{8 * x.dtype.itemsize}")


@traceable
def nextafter(x: TensorLike, y: TensorLike, /) -> Tensor:
    """
    The next number of the dtype after `x` in the direction of `y`; `y` where they are equal, NaN beside NaN.

    >>> import numpy as np, stepwell as sw
    >>> (sw.nextafter(np.float64(1), np.float64(2)) - 1).item()
    2.220446049250313e-16
    """
    start, end = (floating(each) for each in promoted(x, y))
    kind = _integer_of(start)
    bits = bitcast(start, kind)
    # Floats of one sign are in the order of their bits.
    step = where(equal(end > start, start > 0), kind.type(1), kind.type(-1))
    least = copysign(bitcast(as_tensor(kind.type(1)), start.dtype), end)
    found = where(start == 0, least, bitcast(bits + step, start.dtype))
    found = where(start == end, end, found)
    return where(isnan(start) | isnan(end), start + end, found)


@traceable
def spacing(x: TensorLike, /) -> Tensor:
    """
    The distance from `x` to the next number of the dtype away from 0, with the sign of `x`; NaN of infinities.

    >>> import numpy as np, stepwell as sw
    >>> sw.spacing(np.array([1.0, -2.0])) == np.array([1, -2]) * np.finfo(float).eps
    array([ True,  True])
    """
    tensor = floating(x)
    kind = _integer_of(tensor)
    size = bitcast(absolute(tensor), kind)
    # One more in the last place, of the greatest number one less: the next would be infinite.
    is_greatest = size == bitcast(as_tensor(np.finfo(tensor.dtype).max), kind)
    one = where(is_greatest, kind.type(-1), kind.type(1))
    found = absolute(bitcast(size + one, tensor.dtype) - absolute(tensor))
    return where(isfinite(tensor), copysign(found, tensor), tensor.dtype.type(np.nan))


@traceable
def frexp(x: TensorLike, /) -> tuple[Tensor, Tensor]:
    """
    m with 0.5 ≤ |m| < 1 and the int32 e with x = m · 2ᵉ; `x` itself and 0 of zeros, infinities and NaN.

    >>> import numpy as np, stepwell as sw
    >>> sw.frexp(np.array([6.0, -0.25, 0.0]))
    (array([ 0.75, -0.5 ,  0.  ]), array([ 3, -1,  0], dtype=int32))
    """
    tensor = floating(x)
    kind, facts = _integer_of(tensor), np.finfo(tensor.dtype)
    # Numbers below the normal ones are made normal by a power of 2 that is exact.
    scale = facts.nmant + 1
    is_small = absolute(tensor) < facts.smallest_normal
    bits = bitcast(where(is_small, tensor * tensor.dtype.type(2.0**scale), tensor), kind)
    exponents = kind.type((1 << facts.nexp) - 1)
    bias = exponents // 2
    exponent = bitwise_and(right_shift(bits, kind.type(facts.nmant)), exponents) - (bias - 1)
    exponent = exponent - where(is_small, kind.type(scale), kind.type(0))
    rest = bitwise_and(bits, kind.type(~(int(exponents) << facts.nmant)))
    mantissa = bitcast(rest | kind.type(int(bias - 1) << facts.nmant), tensor.dtype)
    is_number = isfinite(tensor) & (tensor != 0)
    return (
        where(is_number, mantissa, tensor),
        cast_to(where(is_number, exponent, kind.type(0)), np.dtype(np.int32)),
    )


def _on_last_axis(x: Tensor, axis: int | None) -> tuple[Tensor, int]:
    """`x` with an axis moved to the end, or flattened, and where that axis was."""
    if axis is None:
        return ravel(x), 0
    place = normalized(single_axis(axis), x.ndim)
    return moveaxis(x, place, -1), place


def _check_order(order: str) -> None:
    if order not in ("big", "little"):
        raise StepwellError(f"found bitorder {order!r:.20}, expected 'big' or 'little'; choose one")


@traceable
def packbits(a: TensorLike, /, axis: int | None = None, bitorder: str = "big") -> Tensor:
    """
    Bytes (uint8), of eight elements of an axis each, or of the flattened `a`: 1 where they are not 0; 0 at the end.

    Raises StepwellError for floats.

    >>> import numpy as np, stepwell as sw
    >>> sw.packbits(np.array([1, 0, 1, 0, 0, 0, 0, 1, 1]))
    array([161, 128], dtype=uint8)
    """
    _check_order(bitorder)
    x = as_tensor(a)
    if x.dtype.kind not in "iub":
        raise StepwellError(
            f"found {x.dtype} in packbits, expected integers or bool; compare first"
        )
    x, place = _on_last_axis(not_equal(x, 0) if x.dtype != BOOL else x, axis)
    rest = -x.shape[-1] % 8
    x = pad(x, [(0, 0)] * (x.ndim - 1) + [(0, rest)])
    x = reshape(x, (*x.shape[:-1], x.shape[-1] // 8, 8))
    weights = _WEIGHTS if bitorder == "big" else _WEIGHTS[::-1].copy()
    return moveaxis(sum(where(x, weights, np.uint8(0)), -1, np.uint8), -1, place)


@traceable
def unpackbits(
    a: TensorLike, /, axis: int | None = None, count: int | None = None, bitorder: str = "big"
) -> Tensor:
    """
    The bits of bytes along an axis, or of the flattened `a`, as 0 and 1 (uint8): the first `count` of them, with zeros
    where there are fewer; without the last -count where it is negative.

    Raises StepwellError for other dtypes than uint8.

    >>> import numpy as np, stepwell as sw
    >>> sw.unpackbits(np.array([161], np.uint8))
    array([1, 0, 1, 0, 0, 0, 0, 1], dtype=uint8)
    """
    _check_order(bitorder)
    x = as_tensor(a)
    if x.dtype != np.uint8:
        raise StepwellError(
            f"found {x.dtype} in unpackbits, expected uint8; convert it with astype"
        )
    x, place = _on_last_axis(x, axis)
    bits = cast_to(not_equal(bitwise_and(x[..., None], _WEIGHTS), 0), np.dtype(np.uint8))
    bits = bits if bitorder == "big" else flip(bits, -1)
    bits = reshape(bits, (*x.shape[:-1], x.shape[-1] * 8))
    extent = bits.shape[-1]
    wanted = extent if count is None else count if count >= 0 else max(extent + count, 0)
    if wanted > extent:
        bits = pad(bits, [(0, 0)] * (bits.ndim - 1) + [(0, wanted - extent)])
    return moveaxis(bits[..., :wanted], -1, place)
