"""How many bytes an array takes, and whether the machine has them."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence

import numpy as np

from ..errors import StepwellError


def array_bytes(shape: Sequence[int], dtype: np.dtype) -> int:
    """The bytes of an array of this shape."""
    return math.prod(shape) * dtype.itemsize


def check_memory(shape: Sequence[int], dtype: np.dtype, what: str) -> None:
    """Raises StepwellError, naming `what` it is, when an array is larger than the machine's memory."""
    there_is = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if (needed := array_bytes(shape, dtype)) > there_is:
        raise StepwellError(
            f"found {what} of {needed / 2**30:.3g} GiB, expected at most the {there_is / 2**30:.3g} GiB of "
            "memory that this machine has; make it smaller"
        )
