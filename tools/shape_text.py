"""Arrays as the command line writes them: `2x3xf32`."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from ..analysis.call_signature import ArgSpec, FunctionSignature
from ..dialects.dtypes import ELEMENT_TYPES, numpy_dtype
from ..dialects.int64 import is_int64
from ..errors import StepwellError
from ..frontend.array_memory import array_bytes
from ..spelling import did_you_mean, few_names, one_line

DTYPES = {str(type_): type_ for type_ in ELEMENT_TYPES}
"""The element types of the command line by name."""


def parse_shape(text: str, option: str) -> tuple[tuple[int, ...], np.dtype | None]:
    """
    The extents and the dtype in `2x3xf32`; the dtype is None where it is left out.

    `option` is what messages quote. Raises StepwellError for what is neither, and for more bytes than 64
    bits can count.
    """
    parts = text.split("x")
    element = DTYPES.get(parts[-1])
    dtype = None if element is None else numpy_dtype(element)
    if dtype is None and _looks_like_a_name(parts[-1]):
        remedy = did_you_mean(parts[-1], DTYPES, "write it so")
        raise StepwellError(
            f"found the dtype '{one_line(parts[-1], 40)}' in {option}, expected one of "
            f"{', '.join(DTYPES)}; {remedy}"
        )
    extents = parts if dtype is None else parts[:-1]
    for extent in extents:
        if not (extent.isascii() and extent.isdigit() and is_int64(extent)):
            raise StepwellError(
                f"found the extent '{one_line(extent, 40)}' in {option}, expected extents of at least 0 and "
                "a dtype as in 2x3xf32; write it so"
            )
    shape = tuple(map(int, extents))
    if not is_int64(array_bytes(shape, dtype or np.dtype(np.float64))):
        raise StepwellError(
            f"found {math.prod(shape)} elements in {option}, expected as many as 64 bits can address; "
            "write smaller extents"
        )
    return shape, dtype


def shape_for(spec: ArgSpec, text: str) -> tuple[int, ...]:
    """The extents in `2x3xf32` or `2x3`. Raises StepwellError where they, or the dtype, are not those that `spec` has."""
    shape, dtype = parse_shape(text, f"--shape {spec.name}={text}")
    # Not `dtype in (None, …)`: to NumPy None is equal to float64.
    if not spec.fits(shape) or (dtype or spec.dtype) != spec.dtype:
        raise StepwellError(
            f"found --shape {spec.name}={text}, expected one that fits {spec}; mend it"
        )
    return shape


def check_names(signature: FunctionSignature, names: Iterable[str]) -> None:
    """Raises StepwellError for a name that is of none of a function's arguments."""
    known = [spec.name for spec in signature.inputs]
    for name in names:
        if name not in known:
            has = few_names("it has", known, "`stepwell compile --emit graph` shows them")
            raise StepwellError(
                f"found a value for '{name}', expected an argument of '{signature.name}'; "
                f"{did_you_mean(name, known, has)}"
            )


def _looks_like_a_name(text: str) -> bool:
    return text[:1].isalpha()
