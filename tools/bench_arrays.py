"""The arrays that `stepwell bench` calls programs with."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
import numpy.typing as npt

from ..dialects.dtypes import is_float_dtype
from ..errors import StepwellError
from ..frontend.array_memory import check_memory
from ..runtime.engine import aligned_empty
from .shape_text import parse_shape

Array = npt.NDArray[Any]

SEED = 0

ALLOCATOR_NOTES = 16
"""
Bytes that glibc's malloc, which NumPy asks, keeps in front of what it returns. Large blocks begin with a page, so that NumPy's
large arrays begin so far in a cache line: users who call any library with arrays of NumPy have them there.
"""


def generate(name: str, text: str, seed: int = SEED) -> Array:
    """Numbers in [-1, 1) for an array written `2x3xf32`, always the same for a name."""
    shape, dtype = parse_shape(text, f"shape '{text}' for '{name}'")
    if dtype is None:
        raise StepwellError(
            f"found shape '{text}' for '{name}', expected extents and a dtype as in 2x3xf32; write it so"
        )
    check_memory(shape, dtype, f"array '{name}'")
    generator = np.random.default_rng((seed, zlib.crc32(name.encode())))
    if is_float_dtype(dtype):
        return placed(generator.random(shape, np.float32).astype(dtype) * 2 - 1)
    return placed(generator.integers(0, 8, shape).astype(dtype))


def generate_weight(name: str, text: str) -> Array:
    """
    As `generate`, at the start of a cache line, as libraries keep weights; a matrix is scaled so that its products are
    about as large as their arguments.
    """
    array = generate(name, text)
    if array.ndim >= 2:
        array = (array * np.sqrt(3 / array.shape[-2])).astype(array.dtype)
    return placed(array, 0)


def placed(array: Array, offset: int = ALLOCATOR_NOTES) -> Array:
    """A copy that begins so many bytes past the start of a cache line: as large arrays of NumPy do, if nothing is said."""
    copy = aligned_empty(offset + array.nbytes)[offset:].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy
