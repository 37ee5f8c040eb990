"""What may be passed to compiled code: checks and conversions of the arguments of a call."""

from __future__ import annotations

import ctypes
import math
import sys
from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from ..analysis.call_signature import ArgSpec
from ..errors import StepwellError

_addressof = ctypes.addressof
_from_buffer = ctypes.c_char.from_buffer


def address_of(array: np.ndarray) -> int:
    """The address of the first element. Never 0, for empty arrays neither."""
    try:
        return _addressof(_from_buffer(cast(Any, array)))  # six times as quick as the way below
    except (TypeError, ValueError):  # read-only or empty
        return cast(int, array.__array_interface__["data"][0])


def add_native(arguments: list[Any], spec: ArgSpec, array: np.ndarray) -> None:
    """Add what native code takes for an array: its address, then the sizes its type leaves open."""
    arguments.append(address_of(array))
    if not spec.is_static:
        sizes = zip(spec.shape, array.shape, strict=True)
        arguments += [size for extent, size in sizes if extent is None]


def prepare(function: str, spec: ArgSpec, value: Any) -> np.ndarray:
    """
    An input as a contiguous, aligned array of native byte order: `value` itself or a copy.

    Raises StepwellError for a wrong shape or dtype, and for what is no array.
    """
    array = _as_array(function, spec, value)
    if array.shape != spec.shape or array.dtype != spec.dtype:
        _check_type(function, spec, array)
    flags = array.flags
    if flags.c_contiguous and flags.aligned and array.dtype == spec.dtype:
        return array
    return np.require(array, spec.dtype, ("C", "A"))


def _as_array(function: str, spec: ArgSpec, value: Any) -> np.ndarray:
    _check_not_masked(function, spec, value, "argument", "call .filled() first")
    if isinstance(value, np.ndarray | np.generic):
        return np.asanyarray(cast(Any, value))
    if isinstance(value, bool | int | float):
        return _number(function, spec, value)
    try:
        if hasattr(value, "__dlpack__"):
            return np.from_dlpack(value)
        if hasattr(value, "__array__") or hasattr(value, "__array_interface__"):
            return np.asarray(value)
        return np.asarray(memoryview(value))
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        detail = " ".join(str(error).split())
        raise StepwellError(
            f"argument '{spec.name}' of '{function}' is a {type(value).__name__} ({detail}), expected an "
            f"array {spec}; pass a NumPy array"
        ) from None


def _check_not_masked(function: str, spec: ArgSpec, value: Any, what: str, remedy: str) -> None:
    # What is not imported has made no array; to import it takes longer than many a program.
    if "numpy.ma" in sys.modules and isinstance(value, np.ma.MaskedArray):
        raise StepwellError(
            f"{what} '{spec.name}' of '{function}' is a masked array, expected an array without a mask; {remedy}"
        )


def _number(function: str, spec: ArgSpec, value: bool | int | float) -> np.ndarray:
    """A Python number as a 0-d array of the expected dtype, if that can hold it."""
    if not _holds(spec.dtype, value):
        raise StepwellError(
            f"argument '{spec.name}' of '{function}' is {value!r}, expected a {spec.dtype}; convert it"
        )
    return np.asarray(value, spec.dtype)


def _check_type(function: str, spec: ArgSpec, array: np.ndarray, what: str = "argument") -> None:
    if array.dtype.newbyteorder("=") != spec.dtype:
        raise StepwellError(
            f"{what} '{spec.name}' of '{function}' has dtype {array.dtype}, expected {spec.dtype}; "
            f"convert it with .astype({spec.dtype})"
        )
    if not spec.fits(array.shape):
        raise StepwellError(
            f"{what} '{spec.name}' of '{function}' has shape {array.shape}, expected "
            f"{_shape(spec)}; reshape it, or compile for its shape"
        )


def _shape(spec: ArgSpec) -> str:
    extents = ["?" if extent is None else str(extent) for extent in spec.shape]
    return f"({', '.join(extents)}{',' if len(extents) == 1 else ''})"


def _check_writable(function: str, spec: ArgSpec, value: Any, what: str) -> np.ndarray:
    """Arrays that native code writes are never copied: they must be right as they are."""
    if not isinstance(value, np.ndarray):
        raise StepwellError(
            f"{what} '{spec.name}' of '{function}' is a {type(value).__name__}, expected a NumPy array "
            "to write to; pass one"
        )
    array = cast(np.ndarray, value)
    _check_not_masked(function, spec, array, what, "pass its .data")
    _check_type(function, spec, array, what)
    flags = array.flags
    if flags.carray and array.dtype.isnative:  # contiguous, aligned and writable
        return array
    lacks = (
        "contiguous"
        if not flags.c_contiguous
        else "writable"
        if not flags.writeable
        else "aligned"
        if not flags.aligned
        else "of native byte order"
    )
    raise StepwellError(
        f"{what} '{spec.name}' of '{function}' is not {lacks}, expected an array that can be written in "
        "place; pass a fresh one, such as np.empty gives"
    )


def in_place(function: str, spec: ArgSpec, value: Any) -> np.ndarray:
    """An array that is read and written where it is. Raises StepwellError when it cannot be."""
    return _check_writable(function, spec, value, "argument")


def checked_output(
    function: str, spec: ArgSpec, array: Any, taken: Sequence[np.ndarray]
) -> np.ndarray:
    """An array of `out=`. Raises StepwellError when it cannot be written or overlaps one in `taken`."""
    result = _check_writable(function, spec, array, "out array")
    if any(np.may_share_memory(result, other) for other in taken):
        raise StepwellError(
            f"out array '{spec.name}' of '{function}' overlaps another array of the call, expected memory "
            "of its own; pass a fresh one"
        )
    return result


def scalar(function: str, spec: ArgSpec, value: Any) -> int | float | bool:
    """A number passed by value. Raises StepwellError when the parameter's type cannot hold it."""
    from ..dialects.dtypes import is_float_dtype  # late: programs from the cache run without xDSL

    _check_not_masked(function, spec, value, "argument", "pass a number")
    number: Any = value
    if isinstance(value, np.generic | np.ndarray) and not cast(Any, value).shape:
        number = cast(Any, value).item()
    if not _holds(spec.dtype, number):
        raise StepwellError(
            f"argument '{spec.name}' of '{function}' is {value!r}, expected a number of type "
            f"{spec.dtype}; convert it"
        )
    return float(number) if is_float_dtype(spec.dtype) else number


def _holds(dtype: np.dtype, number: Any) -> bool:
    """Whether a scalar parameter of this dtype can take the number."""
    from ..dialects.dtypes import float_limits, is_float_dtype

    if isinstance(number, bool):
        return True
    if not isinstance(number, int | float) or dtype.kind == "b":
        return False
    if is_float_dtype(dtype):
        largest = float(float_limits(dtype).max)
        return not math.isfinite(number) or abs(number) <= largest
    limits = np.iinfo(dtype)
    return isinstance(number, int) and int(limits.min) <= number <= int(limits.max)
