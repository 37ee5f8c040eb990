"""How arguments of the public functions that are no arrays are read: axes, integers, numbers."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any
from typing import cast as cast_type

import numpy as np

from ...errors import StepwellError


def number(value: Any, what: str) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise StepwellError(
            f"found {value!r:.60} for {what}, expected a Python number; convert it"
        ) from None


AxisLike = int | Sequence[int] | None


def integers(value: Any, what: str) -> tuple[int, ...]:
    """An integer, or several, as a tuple. Raises StepwellError for anything else."""
    try:
        is_several = isinstance(value, list | tuple | range | np.ndarray)
        items = cast_type("Sequence[Any]", value) if is_several else (value,)
        return tuple(operator.index(item) for item in items)
    except TypeError:
        raise StepwellError(
            f"found {value!r:.60} for {what}, expected an integer or a tuple of integers; convert it"
        ) from None


def axes_of(axis: AxisLike) -> tuple[int, ...] | None:
    """An `axis=` argument as a tuple; None stays."""
    return None if axis is None else integers(axis, "axis")


def single_axis(axis: Any) -> int:
    """An `axis=` argument that must be one integer."""
    axes = integers(axis, "axis")
    if len(axes) != 1:
        raise StepwellError(f"found axes {list(axes)}, expected a single axis; give one integer")
    return axes[0]


def normalized(axis: int, rank: int, what: str = "axis") -> int:
    """An axis counted from 0. Raises StepwellError when there is no such axis."""
    if -rank <= axis < rank:
        return axis % rank
    raise StepwellError(
        f"found {what} {axis} for a tensor of {rank} axes, expected {-rank} to {rank - 1}"
        if rank
        else f"found {what} {axis} for a tensor without axes, expected at least one axis; reshape it"
    )
