"""The modified Bessel function of the first kind of order 0."""

from __future__ import annotations

import numpy as np

from ..promotion import FLOAT64
from ..recording import as_tensor, cast_to
from ..tensor import Tensor, TensorLike
from ..traceable import traceable
from .elementwise import absolute, exp, minimum, sqrt, where

_FAR = 30.0
"""
From here on the asymptotic series is taken: its 16 terms end below double precision, and up to here 48 terms of the power
series do (F. W. J. Olver and others, "NIST Handbook of Mathematical Functions", 2010, 10.25.2 and 10.40.1).
"""


@traceable
def i0(x: TensorLike, /) -> Tensor:
    """
    The modified Bessel function of the first kind of order 0, in the dtype of a float `x`, else float64; computed in
    double precision. Infinite of infinities, where NumPy gives NaN.

    >>> import numpy as np, stepwell as sw
    >>> sw.i0(np.array([0.0, 1.0, 40.0])).tolist()  # doctest: +ELLIPSIS
    [1.0, 1.26606587775..., 1.4894774793419...e+16]
    """
    given = as_tensor(x)
    tensor = given if given.dtype.kind == "f" else cast_to(given, FLOAT64)
    size = cast_to(absolute(tensor), FLOAT64)
    near = minimum(size, _FAR)
    quarter = near * near * 0.25
    series = as_tensor(np.float64(1))
    for term in range(48, 0, -1):
        series = series * quarter * (1 / term**2) + 1.0
    far = where(size <= _FAR, _FAR, size)  # NaN too
    asymptotic = as_tensor(np.float64(1))
    for term in range(16, 0, -1):
        asymptotic = asymptotic * ((2 * term - 1) ** 2 / (8 * term)) / far + 1.0
    # In two factors, of which neither is infinite where the result is not.
    root = exp(far * 0.5)
    beyond = root * (root / sqrt(far * (2 * np.pi)) * asymptotic)
    return cast_to(where(size <= _FAR, series, where(far == np.inf, far, beyond)), tensor.dtype)
