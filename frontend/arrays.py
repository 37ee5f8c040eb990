"""What counts as an array where a function of Stepwell is called, and how it becomes a NumPy array."""

from __future__ import annotations

import sys
from typing import Any, cast

import numpy as np

from ..errors import StepwellError
from .promotion import require_supported


def is_array(value: object) -> bool:
    """Whether `value` is a NumPy array or scalar, or offers DLPack or the buffer protocol."""
    if isinstance(value, np.ndarray | np.generic):
        return True
    if hasattr(value, "__dlpack__"):
        return True
    try:
        memoryview(value)  # pyright: ignore[reportArgumentType]
    except TypeError:
        return False
    return True


def as_array(value: Any, what: str) -> np.ndarray:
    """
    `value` as a NumPy array of a dtype Stepwell has, sharing memory where that is possible.

    `what` names it in messages. Raises StepwellError for a dtype Stepwell does not have, for a masked
    array, and for what cannot be read.
    """
    if _is_masked(value):
        raise StepwellError(
            f"found a masked array for {what}, expected an array without a mask; call .filled() first"
        )
    if isinstance(value, np.matrix):
        raise StepwellError(
            f"found a numpy.matrix for {what}, expected an array: `*` is element-wise here; convert it with numpy.asarray, and "
            "write @ for products"
        )
    array = _converted(value, what)
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    require_supported(array.dtype, what)
    return array


def _is_masked(value: Any) -> bool:
    # `numpy.ma` takes longer to import than a small function to trace, and without it there is no such array.
    return "numpy.ma" in sys.modules and isinstance(value, np.ma.MaskedArray)


def _converted(value: Any, what: str) -> np.ndarray:
    if isinstance(value, np.ndarray | np.generic):
        return np.asarray(cast("Any", value))
    try:
        if hasattr(value, "__dlpack__"):
            return np.from_dlpack(value)
        return np.asarray(memoryview(value))
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise StepwellError(
            f"found a {type(value).__name__} for {what} that cannot be read ({reason}), expected an array in "
            "the CPU's memory; convert it to a NumPy array"
        ) from None
