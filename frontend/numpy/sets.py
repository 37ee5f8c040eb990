"""Arrays as sets of their elements. See `searching` for `size=`."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import StepwellError
from ..recording import as_tensor, promoted
from ..tensor import Tensor, TensorLike
from ..traceable import traceable
from .compaction import compress_and_count, unique_and_counts
from .counting import iota
from .elementwise import minimum
from .joining import concatenate
from .manipulation import broadcast_to, ravel, reshape
from .searching import fitted, size_of
from .selection import take
from .sorting import searchsorted, sort


@traceable
def unique(
    x: TensorLike,
    /,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    size: int | None = None,
    fill_value: TensorLike = None,
) -> Any:
    """
    The different elements in order; and, as asked, where each is first, which of them each element is, and how often each
    occurs. Of `fill_value`, without one, it is the least element.

    In a traced function `size` says how many are asked for: fewer are followed by `fill_value`, more are left out.

    Raises StepwellError for an axis: only elements are compared, not slices.

    >>> sw.unique([3, 1, 3], return_counts=True)
    (array([1, 3]), array([1, 2]))
    """
    tensor = as_tensor(x)
    if axis is not None and tensor.ndim > 1:
        raise StepwellError(
            "found an axis in unique, expected none: only elements are compared, not slices"
        )
    values, first, inverse, counts, number = unique_and_counts(tensor)
    size = size_of(number, size, "unique")
    fill = fill_value if fill_value is not None else values[0] if values.shape[0] else 0
    found: list[Tensor] = [fitted(values, number, size, fill)]
    if return_index:
        found.append(fitted(first, number, size, first[0] if first.shape[0] else 0))
    if return_inverse:
        found.append(reshape(inverse, tensor.shape))
    if return_counts:
        found.append(fitted(counts, number, size, 0))
    return found[0] if len(found) == 1 else tuple(found)


@traceable
def unique_values(x: TensorLike, /, *, size: int | None = None) -> Tensor:
    """
    The different elements in order.

    >>> sw.unique_values([3, 1, 3])
    array([1, 3])
    """
    return unique(x, size=size)


@traceable
def unique_counts(x: TensorLike, /, *, size: int | None = None) -> tuple[Tensor, Tensor]:
    """
    The different elements in order, and how often each occurs.

    >>> sw.unique_counts([3, 1, 3])
    (array([1, 3]), array([1, 2]))
    """
    return unique(x, return_counts=True, size=size)


@traceable
def unique_inverse(x: TensorLike, /, *, size: int | None = None) -> tuple[Tensor, Tensor]:
    """
    The different elements in order, and which of them each element is.

    >>> sw.unique_inverse([3, 1, 3])
    (array([1, 3]), array([1, 0, 1]))
    """
    return unique(x, return_inverse=True, size=size)


@traceable
def unique_all(x: TensorLike, /, *, size: int | None = None) -> tuple[Tensor, ...]:
    """
    The different elements in order, where each is first, which of them each element is, and how often each occurs.

    >>> values, first, inverse, counts = sw.unique_all([3, 1, 3])
    >>> values, counts
    (array([1, 3]), array([1, 2]))
    """
    return unique(x, True, True, True, size=size)


@traceable
def isin(
    x: TensorLike, test_elements: TensorLike, /, assume_unique: bool = False, invert: bool = False
) -> Tensor:
    """
    Whether each element is one of `test_elements`, or none of them if `invert`.

    >>> sw.isin([1, 2, 3], [2, 9])
    array([False,  True, False])
    """
    tensor, tested = promoted(x, test_elements)
    row = sort(tested, None)
    if row.shape[0]:
        place = searchsorted(row, tensor)
        found = take(row, minimum(place, row.shape[0] - 1)) == tensor
    else:
        found = broadcast_to(as_tensor(np.asarray(False)), tensor.shape)
    return ~found if invert else found


@traceable
def union1d(x: TensorLike, y: TensorLike, /, *, size: int | None = None) -> Tensor:
    """
    The different elements of both arrays, in order.

    >>> sw.union1d([3, 1], [2, 3])
    array([1, 2, 3])
    """
    return unique(concatenate([x, y], None), size=size)


def _selected(x: Tensor, condition: Tensor, size: int | None, name: str) -> Tensor:
    """The different elements for which a condition on them in order holds."""
    values, *_, number = unique_and_counts(x)
    is_there = iota(values.shape[0]) < number
    found, count = compress_and_count(is_there & condition, values)
    return fitted(found, count, size_of(count, size, name), 0)


@traceable
def intersect1d(x: TensorLike, y: TensorLike, /, *, size: int | None = None) -> Tensor:
    """
    The different elements that both arrays have, in order.

    >>> sw.intersect1d([3, 1, 2], [2, 3, 4])
    array([2, 3])
    """
    a, b = map(ravel, promoted(x, y))
    return _selected(a, isin(unique_and_counts(a)[0], b), size, "intersect1d")


@traceable
def setdiff1d(x: TensorLike, y: TensorLike, /, *, size: int | None = None) -> Tensor:
    """
    The different elements of `x` that `y` does not have, in order.

    >>> sw.setdiff1d([3, 1, 2], [2, 9])
    array([1, 3])
    """
    a = ravel(as_tensor(x))
    return _selected(a, isin(unique_and_counts(a)[0], y, invert=True), size, "setdiff1d")


@traceable
def setxor1d(x: TensorLike, y: TensorLike, /, *, size: int | None = None) -> Tensor:
    """
    The different elements that only one of the arrays has, in order.

    >>> sw.setxor1d([1, 2], [2, 3])
    array([1, 3])
    """
    a, b = map(ravel, promoted(x, y))
    both = concatenate([a, b])
    values = unique_and_counts(both)[0]
    return _selected(both, ~(isin(values, a) & isin(values, b)), size, "setxor1d")
