"""Functions of the user's, applied along axes, and what is written with brackets: `r_` and `c_`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np

from ...errors import StepwellError
from ..recording import as_tensor
from ..tensor import Tensor, TensorLike
from ..traceable import traceable
from .arguments import integers, normalized, single_axis
from .counting import arange
from .creation import linspace
from .joining import concatenate, stack
from .manipulation import atleast_1d, expand_dims, moveaxis, reshape

MOST_SLICES = 1000
"""Of an array, to each of which a function may be applied: each is traced by itself."""


@traceable
def apply_along_axis(
    func1d: Callable[..., Any], axis: int, arr: TensorLike, /, *args: Any, **kwargs: Any
) -> Tensor:
    """
    `func1d(slice, *args, **kwargs)` of each vector along an axis, in the place of that axis: a number or an array each.

    Every slice is traced by itself: a function of whole arrays with `axis=`, or `stepwell.map`, compiles faster. Raises
    StepwellError for more than 1000 slices.

    >>> import numpy as np, stepwell as sw
    >>> sw.apply_along_axis(lambda v: v.max() - v[0], 1, np.array([[1, 5, 2], [3, 3, 9]]))
    array([4, 6])
    """
    x = as_tensor(arr)
    place = normalized(single_axis(axis), x.ndim)
    rows = moveaxis(x, place, -1)
    count = int(np.prod(rows.shape[:-1]))
    if not 0 < count <= MOST_SLICES:
        raise StepwellError(
            f"found {count} slices for apply_along_axis, expected 1 to {MOST_SLICES}: each is traced by itself; write the "
            "function on whole arrays, with axis=, or use stepwell.map"
        )
    rows_of = reshape(rows, (count, x.shape[place]))
    found = stack([as_tensor(func1d(rows_of[number], *args, **kwargs)) for number in range(count)])
    rank = found.ndim - 1
    found = reshape(found, (*rows.shape[:-1], *found.shape[1:]))
    sources = [*range(found.ndim - rank, found.ndim)]
    return moveaxis(found, sources, [*range(place, place + rank)])


@traceable
def apply_over_axes(
    func: Callable[..., Any], a: TensorLike, axes: int | Sequence[int], /
) -> Tensor:
    """
    `func(a, axis)` for one axis after the other, each of which may keep its axis or leave it out, which is then put back.

    >>> import numpy as np, stepwell as sw
    >>> sw.apply_over_axes(sw.sum, np.ones((2, 3, 4)), [0, 2])
    array([[[8.],
            [8.],
            [8.]]])
    """
    x = as_tensor(a)
    for axis in integers(axes, "axes"):
        place = normalized(axis, x.ndim)
        found = as_tensor(func(x, place))
        x = found if found.ndim == x.ndim else expand_dims(found, place)
    return x


class Joined:
    """`r_[...]` and `c_[...]`: what is in the brackets, with slices as ranges, joined along an axis."""

    def __init__(self, name: str, *, as_columns: bool):
        self.__name__ = name
        self.__doc__ = (
            "Arrays, numbers and ranges in brackets as the columns of a matrix: `c_[x, y]`"
            if as_columns
            else "Arrays, numbers and ranges in brackets, one behind the other along the first axis: `r_[x, 0, 1:5]`"
        )
        self._as_columns = as_columns

    def __repr__(self) -> str:
        return f"<stepwell.{self.__name__}>"

    def __getitem__(self, key: Any) -> Any:
        written = cast("tuple[Any, ...]", key if isinstance(key, tuple) else (key,))
        parts = [self._part(part) for part in written]
        return concatenate(parts, -1 if self._as_columns else 0)

    def _part(self, part: Any) -> Any:
        if isinstance(part, str):
            raise StepwellError(
                f"found {part!r:.20} in {self.__name__}[...], expected arrays, numbers and ranges; use stepwell.stack or "
                "concatenate with axis="
            )
        found = atleast_1d(_range(cast(Any, part)) if isinstance(part, slice) else part)
        return expand_dims(found, 1) if self._as_columns and found.ndim == 1 else found


def _range(part: slice[Any, Any, Any]) -> Any:
    """The numbers of a slice, of a step that is imaginary so many with the last."""
    start, step = part.start or 0, 1 if part.step is None else part.step
    if isinstance(step, complex):
        return linspace(start, part.stop, int(abs(step)))
    return arange(start, part.stop, step)


R_ = Joined("r_", as_columns=False)
C_ = Joined("c_", as_columns=True)
