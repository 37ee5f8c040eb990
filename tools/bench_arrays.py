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
        return aligned(generator.random(shape, np.float32).astype(dtype) * 2 - 1)
    return aligned(generator.integers(0, 8, shape).astype(dtype))


def generate_weight(name: str, text: str, seed: int = SEED) -> Array:
    """As `generate`; a matrix is scaled so that its products are about as large as their arguments."""
    array = generate(name, text, seed)
    if array.ndim < 2:
        return array
    return aligned((array * np.sqrt(3 / array.shape[-2])).astype(array.dtype))


def aligned(array: Array) -> Array:
    """A copy at the start of a cache line."""
    copy = aligned_empty(array.nbytes).view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy
