"""Polynomials near points."""

from __future__ import annotations

import numpy as np

from ...errors import StepwellError
from ..promotion import FLOAT64
from ..recording import as_tensor, cast_to
from ..tensor import Tensor, TensorLike
from ..traceable import traceable
from . import decompositions
from .arguments import integers
from .elementwise import sqrt
from .matrices import vander
from .reductions import sum


@traceable
def polyfit(
    x: TensorLike,
    y: TensorLike,
    deg: int,
    /,
    rcond: float | None = None,
    full: bool = False,
    w: TensorLike = None,
    cov: bool = False,
) -> Tensor:
    """
    The coefficients of the polynomial of degree `deg` that is nearest to the points (x, y) in the sum of squares, by the
    weights `w` (n,): (deg + 1,) for y of (n,), (deg + 1, k) for (n, k). In double precision, by singular values.

    Raises StepwellError for `full` and `cov`: see `linalg.lstsq` for residuals and ranks.

    >>> import numpy as np, stepwell as sw
    >>> x = np.arange(5.0)
    >>> sw.polyfit(x, 3 * x**2 - x + 2, 2)
    array([ 3., -1.,  2.])
    """
    if full or cov:
        raise StepwellError(
            "found full= or cov= in polyfit, expected coefficients alone; residuals and ranks are linalg.lstsq's, of "
            "vander(x, deg + 1)"
        )
    (degree,) = integers(deg, "deg")
    places, values = (cast_to(as_tensor(each), FLOAT64) for each in (x, y))
    if (
        degree < 0
        or places.ndim != 1
        or values.ndim not in (1, 2)
        or places.shape[0] != values.shape[0]
    ):
        raise StepwellError(
            f"found points of shapes {list(places.shape)} and {list(values.shape)} and degree {degree}, expected (n,), "
            "(n,) or (n, k), and at least 0; mend them"
        )
    matrix = vander(places, degree + 1)
    if w is not None:
        weights = cast_to(as_tensor(w), FLOAT64)
        matrix = matrix * weights[:, None]
        values = values * (weights if values.ndim == 1 else weights[:, None])
    # Columns of length 1 make the cut of small singular values independent of the scale of x.
    scale = sqrt(sum(matrix * matrix, 0))
    limit = places.shape[0] * float(np.finfo(np.float64).eps) if rcond is None else rcond
    found = decompositions.lstsq(matrix / scale, values, limit)[0]
    return found / (scale if values.ndim == 1 else scale[:, None])
