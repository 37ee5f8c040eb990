"""Arrays of complex numbers as their parts. Without xDSL, which a program from the cache runs without."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, cast

import numpy as np

_NAMES = ("complex64", "complex128")
"""The dtypes of complex numbers that there are here."""

_ALIASES = ("complex", "csingle", "cdouble", "c8", "c16")
"""Other texts for them, of those that mean nothing else: "F" is an order of elements too."""


class Pair:
    """Complex numbers that are kept as two arrays: the base of the traced ones."""

    __slots__ = ()
    _traced: ClassVar[Callable[[Any, Any], Any]]

    def __init_subclass__(cls) -> None:
        Pair._traced = cls

    @property
    def parts(self) -> tuple[Any, Any]:
        raise NotImplementedError

    @staticmethod
    def of_parts(real: Any, imag: Any) -> Any:
        """The complex numbers with these parts, an array of arrays."""
        if isinstance(real, float) and not isinstance(real, np.generic):
            return complex(real, imag)
        if not isinstance(real, np.ndarray | np.generic):
            return Pair._traced(real, imag)
        part = np.asarray(cast("np.ndarray", real))
        found = np.empty(part.shape, complex_dtype(part.dtype))
        found.real, found.imag = part, imag
        return found


def complex_dtype(part: np.dtype) -> np.dtype:
    """The dtype of complex numbers whose parts are of this one."""
    return np.dtype(np.complex128 if part == np.float64 else np.complex64)


def part_dtype(dtype: np.dtype) -> np.dtype:
    """The dtype of the parts of complex numbers of this one."""
    return np.dtype(np.float64 if dtype == np.complex128 else np.float32)


def is_complex_array(value: object) -> bool:
    """Whether `value` is an array, or a number, of NumPy's complex dtypes that there are here."""
    if not isinstance(value, np.ndarray | np.generic):
        return False
    dtype = cast("np.ndarray", value).dtype
    return dtype.kind == "c" and dtype.name in _NAMES


def is_complex_dtype(value: object) -> bool:
    """Whether a `dtype=` means complex numbers."""
    if isinstance(value, np.dtype):
        return cast("np.dtype", value).name in _NAMES
    if isinstance(value, str):
        return value in (*_NAMES, *_ALIASES)
    return isinstance(value, type) and value in (complex, np.complex64, np.complex128)


def side_by_side(array: np.ndarray) -> np.ndarray:
    """A complex array as a real one, with the real and imaginary parts along a new last axis."""
    parts = np.ascontiguousarray(array).view(part_dtype(array.dtype))
    return parts.reshape((*array.shape, 2))


def from_side_by_side(array: np.ndarray) -> np.ndarray:
    """The complex array of which `side_by_side` made this one."""
    return array.view(complex_dtype(array.dtype))[..., 0]
