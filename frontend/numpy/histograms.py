"""Histograms of several variables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...errors import StepwellError
from ..promotion import FLOAT64, is_scalar
from ..recording import as_tensor, cast_to
from ..tensor import Tensor, TensorLike
from ..traceable import traceable
from .differences import diff
from .elementwise import where
from .joining import stack
from .manipulation import ravel, reshape
from .reductions import sum
from .searching import counted, histogram_bin_edges
from .sorting import searchsorted


@traceable
def histogramdd(
    sample: TensorLike,
    /,
    bins: Any = 10,
    range: Sequence[Any] | None = None,
    density: bool | None = None,
    weights: TensorLike = None,
) -> tuple[Tensor, list[Tensor]]:
    """
    How many points, the rows of `sample` (n, d), or a list of d vectors of coordinates, fall into each box of a grid:
    float64 of as many axes as there are coordinates, and the edges of the bins of each.

    `bins` is a number, or a number or edges for each coordinate; points outside are not counted, the last bin has its
    upper edge. `weights` (n,) are summed instead; with `density`, divided by their sum and the boxes' sizes.

    Raises StepwellError for points of other axes than two, and for bins or ranges of another number of coordinates.

    >>> import numpy as np, stepwell as sw
    >>> counts, edges = sw.histogramdd(np.array([[0.0, 0.0], [1.0, 2.0], [1.0, 1.0]]), 2)
    >>> counts
    array([[1., 0.],
           [0., 2.]])
    """
    points = (
        stack([ravel(each) for each in sample], -1) if type(sample) in (list, tuple) else sample
    )
    points = as_tensor(points)
    if points.ndim != 2:
        raise StepwellError(
            f"found points of shape {list(points.shape)}, expected one row of coordinates for each; reshape them"
        )
    rank = points.shape[1]
    wanted: list[Any] = [bins] * rank if _is_number(bins) else list(bins)
    if len(wanted) != rank or (range is not None and len(range) != rank):
        raise StepwellError(
            f"found bins or ranges of another number of coordinates than the {rank} of the points, expected one for each; "
            "give as many"
        )
    edges: list[Tensor] = []
    places: list[Tensor] = []
    for number, each in enumerate(wanted):
        column = points[:, number]
        limits = None if range is None else range[number]
        edges.append(_edges(column, each, limits))
        places.append(_bins_of(column, edges[-1]))
    shape = [edge.shape[0] - 1 for edge in edges]
    place, is_inside = places[0], (places[0] >= 0) & (places[0] < shape[0])
    for other, extent in zip(places[1:], shape[1:], strict=True):
        is_inside = is_inside & (other >= 0) & (other < extent)
        place = place * extent + other
    size = int(np.prod(shape))
    counts = counted(where(is_inside, place, np.int64(size)), size, weights)
    counts = reshape(cast_to(counts, FLOAT64), shape)
    if density:
        counts = counts / sum(counts)
        for axis, edge in enumerate(edges):
            width = cast_to(diff(edge), FLOAT64)
            counts = counts / reshape(width, [*[1] * axis, -1, *[1] * (rank - 1 - axis)])
    return counts, edges


def _is_number(value: Any) -> bool:
    return is_scalar(value) or isinstance(value, np.integer)


def _edges(column: Tensor, bins: Any, limits: Any) -> Tensor:
    if limits is None or not _is_number(bins):
        return histogram_bin_edges(column, bins)
    # NumPy computes them in double precision here, and not in one dimension.
    lower, upper = limits
    return as_tensor(np.histogram_bin_edges(np.zeros(0), bins, (lower, upper)))


def _bins_of(column: Tensor, edges: Tensor) -> Tensor:
    """The number of the bin of each element, from -1 to their count."""
    place = searchsorted(edges, column, "right")
    return where(column == edges[-1], place - 1, place) - 1


@traceable
def histogram2d(
    x: TensorLike,
    y: TensorLike,
    /,
    bins: Any = 10,
    range: Sequence[Any] | None = None,
    density: bool | None = None,
    weights: TensorLike = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """
    How many of the points (x, y) fall into each box of a grid, float64, and the edges along x and along y: `histogramdd`
    of two coordinates. `bins` is a number, a pair of numbers or edges, or the edges along both.

    >>> import numpy as np, stepwell as sw
    >>> sw.histogram2d(np.array([0.0, 1.0, 1.0]), np.array([0.0, 2.0, 1.0]), 2)[0]
    array([[1., 0.],
           [0., 2.]])
    """
    is_of_both = not _is_number(bins) and len(bins) not in (1, 2)
    counts, (first, second) = histogramdd(
        [x, y], [bins, bins] if is_of_both else bins, range, density, weights
    )
    return counts, first, second
