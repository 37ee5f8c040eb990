"""Reductions and contractions of complex numbers. Importing this module enters them."""

from __future__ import annotations

from itertools import product
from math import prod as product_of
from typing import Any

import numpy as np

from ...errors import StepwellError
from ..complex_tensor import Complex
from ..recording import as_tensor
from ..tensor import Tensor, TensorLike
from . import einsum as einsums
from . import elementwise, joining, manipulation, reductions, statistics
from .arguments import AxisLike, integers, normalized
from .complex_rules import as_complex, joined, of_complex, parts_of


@of_complex(reductions.prod)
def _prod(
    x: TensorLike,
    /,
    axis: AxisLike = None,
    dtype: Any = None,
    *,
    keepdims: bool = False,
    **others: Any,
) -> Any:
    """By products of the two halves, again and again."""
    if dtype is not None or any(other is not None for other in others.values()):
        raise StepwellError(
            "found dtype=, initial= or where= in prod of complex numbers, expected none; convert, multiply or choose first"
        )
    value: Any = as_complex(x)
    axes = range(value.ndim) if axis is None else integers(axis, "axis")
    reduced = sorted(normalized(each, value.ndim) for each in axes)
    kept = [each for each in range(value.ndim) if each not in reduced]
    shape = [value.shape[each] for each in kept]
    count = product_of(value.shape[each] for each in reduced)
    value = manipulation.reshape(manipulation.transpose(value, [*reduced, *kept]), (count, *shape))
    if not count:
        return joined(np.ones(shape, value.real.dtype), np.zeros(shape, value.real.dtype))
    while count > 1:
        half = count // 2
        found = elementwise.multiply(value[:half], value[half : 2 * half])
        value = joining.concatenate([found, value[2 * half :]]) if count % 2 else found
        count -= half
    extents = [1 if each in reduced else extent for each, extent in enumerate(as_complex(x).shape)]
    return manipulation.reshape(value, extents if keepdims else shape)


@of_complex(statistics.var)
def _var(x: TensorLike, /, *args: Any, **kwargs: Any) -> Tensor:
    """The variances of the parts add up."""
    real, imag = as_complex(x).parts
    return statistics.var(real, *args, **kwargs) + statistics.var(imag, *args, **kwargs)


@of_complex(statistics.std)
def _std(x: TensorLike, /, *args: Any, **kwargs: Any) -> Tensor:
    return elementwise.sqrt(_var(x, *args, **kwargs))


@of_complex(einsums.einsum)
def _einsum(subscripts: str, /, *operands: TensorLike) -> Complex:
    """The sum over all choices of a part of each operand, of which so many are imaginary: a power of i."""
    parts = [parts_of(operand) for operand in operands]
    sums: list[Any] = [None, None]
    for chosen in product(*((0,) if imag is None else (0, 1) for _, imag in parts)):
        term = einsums.einsum(
            subscripts, *(pair[one] for pair, one in zip(parts, chosen, strict=True))
        )
        number = sum(chosen)
        term = -term if number % 4 in (2, 3) else term
        before = sums[number % 2]
        sums[number % 2] = term if before is None else before + term
    real, imag = (np.float32(0) if each is None else as_tensor(each) for each in sums)
    return joined(real, imag)
