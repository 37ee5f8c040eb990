"""
The dtype an operation on traced values computes in: NumPy 2's promotion (NEP 50).

Arrays promote as `numpy.result_type` says. A Python scalar is weak: it takes the dtype of the arrays it
meets, unless it is of a higher kind (bool < int < float), when it is int64 or float64.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias, TypeGuard

import numpy as np
from xdsl.dialects.builtin import bf16

from ..dialects.dtypes import BFLOAT16, ELEMENT_TYPES, has_element_type, is_float_dtype, numpy_dtype
from ..errors import StepwellError

Scalar: TypeAlias = bool | int | float
"""A Python scalar, whose type is weak."""

_NAMES = ", ".join(
    (
        *(BFLOAT16 if attr == bf16 else str(numpy_dtype(attr)) for attr in ELEMENT_TYPES),
        *("complex64", "complex128"),
    )
)
"""Of the dtypes that Stepwell has element types for, and of those that are pairs of them while tracing."""

BOOL = np.dtype(np.bool_)
INT8 = np.dtype(np.int8)
INT64 = np.dtype(np.int64)
UINT64 = np.dtype(np.uint64)
FLOAT32 = np.dtype(np.float32)
FLOAT64 = np.dtype(np.float64)


def is_scalar(value: object) -> TypeGuard[Scalar]:
    """Whether `value` is a weak Python scalar; NumPy's own scalars are arrays, also `numpy.float64`."""
    return isinstance(value, bool | int | float) and not isinstance(value, np.generic)


def require_supported(dtype: np.dtype, what: str) -> np.dtype:
    """`dtype` itself. Raises StepwellError, naming `what` has it, when Stepwell has no type for it."""
    if has_element_type(dtype):
        return dtype
    raise StepwellError(
        f"found dtype {dtype} for {what}, expected one of {_NAMES}; convert it with .astype"
    )


def dtype_named(dtype: Any) -> np.dtype:
    """The dtype a `dtype=` argument means. Raises StepwellError when there is none, or not in Stepwell."""
    try:
        # NumPy knows the name of bfloat16 only once the package that it is from is loaded.
        found = numpy_dtype(bf16) if dtype == "bfloat16" else np.dtype(dtype)
    except TypeError:
        raise StepwellError(
            f"found dtype {dtype!r:.60}, expected one of {_NAMES}; name one of these"
        ) from None
    return require_supported(found, "the result")


def default_dtype(scalar: Scalar) -> np.dtype:
    """What NumPy makes of a Python scalar that meets no array."""
    return BOOL if isinstance(scalar, bool) else INT64 if isinstance(scalar, int) else FLOAT64


def weak_scalar(dtype: np.dtype) -> Scalar:
    """A Python number that a traced value of this dtype stands for, as far as promotion sees it."""
    return {"b": False, "i": 0}.get(dtype.kind, 0.0)


def result_dtype(operands: Sequence[np.dtype | Scalar]) -> np.dtype:
    """
    The dtype that arrays of these dtypes and these Python scalars have in common.

    Raises StepwellError when there is none, as of float16 and bfloat16 before ml_dtypes 0.7.
    """
    arrays = [operand for operand in operands if isinstance(operand, np.dtype)]
    scalars = [operand for operand in operands if not isinstance(operand, np.dtype)]
    try:
        result = np.result_type(*arrays) if arrays else BOOL
    except TypeError:
        result = None
    if result is None or not has_element_type(result):
        found = " and ".join(dict.fromkeys(map(str, arrays)))
        what = (
            "which NumPy promotes to no dtype"
            if result is None
            else f"which NumPy promotes to {result}, a dtype Stepwell does not have"
        )
        raise StepwellError(f"found operands of {found}, {what}; convert one of them with .astype")
    for scalar in scalars:
        weak = default_dtype(scalar)
        if _kind(weak) > _kind(result):
            result = weak
    return result


def scalar_array(scalar: Scalar, dtype: np.dtype) -> np.ndarray:
    """
    The scalar as a 0-d array of `dtype`.

    Raises StepwellError for an integer that `dtype` does not hold, as NumPy 2 does.
    """
    if dtype.kind in "iu" and not isinstance(scalar, bool):
        limits = np.iinfo(dtype)
        if not limits.min <= scalar <= limits.max:
            raise StepwellError(
                f"found {_integer_text(scalar)} beside {dtype}, expected {limits.min} to {limits.max}; "
                "convert the tensor with .astype first"
            )
    try:
        with np.errstate(over="ignore"):  # 1e300 beside float32 is inf, as in NumPy
            return np.asarray(scalar, dtype)
    except OverflowError:
        raise StepwellError(
            f"found {_integer_text(scalar)} beside {dtype}, expected one that converts to a float; "
            "write a float, such as float('inf')"
        ) from None


_MOST_BITS = 128
"""Of an integer that messages show: Python makes no text of one of many thousands."""


def _integer_text(value: Scalar) -> str:
    is_long = isinstance(value, int) and value.bit_length() > _MOST_BITS
    return (
        f"a Python integer of {int(value).bit_length()} bits"
        if is_long
        else f"the Python integer {value}"
    )


def float_dtype(dtype: np.dtype) -> np.dtype:
    """
    The dtype in which exp, sqrt … of `dtype` is computed: itself for floats, float64 for integers of 32 and 64 bits.

    NumPy takes float16 for int8, uint8 and bool, and float32 for int16 and uint16. Stepwell, where float16 is a type for
    storage, takes float32 for all of these.
    """
    if is_float_dtype(dtype):
        return dtype
    return FLOAT32 if dtype.itemsize <= 2 else FLOAT64


def common_float_dtype(operands: Sequence[np.dtype | Scalar]) -> np.dtype:
    """
    The dtype in which a function of several real numbers is computed: of integers, the widest of what `float_dtype` says of
    each, as NumPy chooses a loop to which each operand converts by itself.
    """
    arrays = [operand for operand in operands if isinstance(operand, np.dtype)]
    common = result_dtype(operands)
    if is_float_dtype(common) or not arrays or common != result_dtype(arrays):
        return float_dtype(common)
    return result_dtype([float_dtype(dtype) for dtype in arrays])


def number_dtype(dtype: np.dtype) -> np.dtype:
    """The dtype in which `//`, `%` and `**` are computed: int8 for bool, as NumPy does."""
    return INT8 if dtype == BOOL else dtype


def division_dtype(dtype: np.dtype) -> np.dtype:
    """The dtype in which `/` is computed: float64 for every integer and bool."""
    return dtype if is_float_dtype(dtype) else FLOAT64


def accumulation_dtype(dtype: np.dtype) -> np.dtype:
    """
    The dtype of sum and prod: int64 for bool and every integer with a sign, uint64 for those without one.
    """
    if is_float_dtype(dtype):
        return dtype
    return UINT64 if dtype.kind == "u" else INT64


def _kind(dtype: np.dtype) -> int:
    return 2 if is_float_dtype(dtype) else "bi".index("i" if dtype.kind == "u" else dtype.kind)
