"""What NumPy writes into its argument where a mask holds: copies of it here, as traced values do not change."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from ...errors import StepwellError
from ..promotion import is_scalar
from ..recording import as_tensor, cast_to
from ..tensor import Tensor, TensorLike
from ..traceable import traceable
from . import elementwise
from .elementwise import maximum, mod, not_equal
from .manipulation import broadcast_to, ravel, reshape, resize
from .scans import cumsum
from .selection import take


@traceable
def putmask(a: TensorLike, mask: TensorLike, values: TensorLike, /) -> Tensor:
    """
    A copy of `a` with elements of `values`, repeated to the size of `a`, where `mask`, of its shape, holds; NumPy writes
    into `a`.

    >>> import numpy as np, stepwell as sw
    >>> sw.putmask(np.arange(5), np.arange(5) > 2, np.array([-1, -2]))
    array([ 0,  1,  2, -2, -1])
    """
    x = as_tensor(a)
    return elementwise.where(
        _mask_of(mask, x), resize(cast_to(as_tensor(values), x.dtype), x.shape), x
    )


@traceable
def place(arr: TensorLike, mask: TensorLike, vals: TensorLike, /) -> Tensor:
    """
    A copy of `arr` with the elements of `vals` one after the other, and again from the first, where `mask`, of its shape,
    holds; NumPy writes into `arr`.

    >>> import numpy as np, stepwell as sw
    >>> sw.place(np.arange(5), np.arange(5) > 1, np.array([-1, -2]))
    array([ 0,  1, -1, -2, -1])
    """
    x, values = as_tensor(arr), ravel(cast_to(as_tensor(vals), as_tensor(arr).dtype))
    chosen = ravel(_mask_of(mask, x))
    number = cumsum(chosen, dtype=np.int64) - 1
    found = take(values, mod(maximum(number, 0), values.shape[0]))
    return reshape(elementwise.where(chosen, found, ravel(x)), x.shape)


@traceable
def copyto(
    dst: TensorLike, src: TensorLike, /, casting: str = "same_kind", where: Any = True
) -> Tensor:
    """
    `src` in the shape and dtype of `dst`, and `dst` where the condition `where` does not hold; NumPy writes into `dst`.

    Raises StepwellError for a dtype that does not convert by `casting`.

    >>> import numpy as np, stepwell as sw
    >>> sw.copyto(np.zeros(3), 7, where=np.array([True, False, True]))
    array([7., 0., 7.])
    """
    x, value = as_tensor(dst), as_tensor(src)
    if not is_scalar(src) and not np.can_cast(value.dtype, x.dtype, cast("Any", casting)):
        raise StepwellError(
            f"found {value.dtype} to be copied to {x.dtype}, expected one that converts by casting={casting!r}; convert it "
            "with astype"
        )
    return elementwise.where(where, broadcast_to(cast_to(value, x.dtype), x.shape), x)


def _mask_of(mask: TensorLike, x: Tensor) -> Tensor:
    found = as_tensor(mask)
    if found.size != x.size:
        raise StepwellError(
            f"found a mask of shape {list(found.shape)}, expected {list(x.shape)}, that of the array; broadcast it"
        )
    return reshape(not_equal(found, 0) if found.dtype.kind != "b" else found, x.shape)
