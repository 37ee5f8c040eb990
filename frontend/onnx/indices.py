"""Arrays of indices, and how large they may be at import."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import StepwellError
from ..numpy import manipulation
from ..numpy.counting import iota
from .registry import Value

MANY = 1 << 21
"""Indices up to this number are known at import, where shapes may be made of them; the program counts longer rows."""


def counting(count: int) -> Value:
    """0, 1, 2, … in 64 bits."""
    return np.arange(count) if count <= MANY else iota(count)


def counting_along(axis: int, count: int, rank: int) -> Value:
    """0, 1, 2, … along an axis of a tensor of this rank, the others of extent 1."""
    shape = [count if one == axis else 1 for one in range(rank)]
    return manipulation.reshape(counting(count), shape)


def padded_indices(extent: int, low: int, high: int, mode: str) -> np.ndarray:
    """The indices 0 to `extent` padded in a mode of `numpy.pad`: where a padded axis has its elements from."""
    if low + extent + high > MANY:
        raise StepwellError(
            f"found pads {low} and {high} in mode '{mode}', expected at most {MANY} elements in all; "
            "pad with a constant"
        )
    pad: Any = np.pad  # its overloads do not have a mode that is a variable
    return pad(np.arange(extent), (low, high), mode)
