"""
The element types Stepwell computes with, and what NumPy calls them.

`f16` and `bf16` are storage types: arithmetic on them is that of f32, and what is stored is rounded, to nearest and
ties to even. NumPy has no bf16 of its own: the package `ml_dtypes` gives it one, which is loaded when it is first met.

At the graph level unsigned integers are `ui8`, `ui16`, `ui32` and `ui64`. From te down types are signless, as in MLIR's
`arith`: `ui8` becomes `i8` and the operations carry the signedness. The function argument or result keeps the
attribute `stepwell.unsigned`, so that callers still pass and receive `numpy.uint8` and the like.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import (
    BFloat16Type,
    Float16Type,
    Float32Type,
    Float64Type,
    IndexType,
    IntegerType,
    Signedness,
    bf16,
    f16,
    f32,
    f64,
    i1,
    i8,
    i16,
    i32,
    i64,
)
from xdsl.ir import Attribute

from ..errors import StepwellError
from .type_memo import remembered

ui8 = IntegerType(8, Signedness.UNSIGNED)
ui16 = IntegerType(16, Signedness.UNSIGNED)
ui32 = IntegerType(32, Signedness.UNSIGNED)
ui64 = IntegerType(64, Signedness.UNSIGNED)

_NUMPY_OF: dict[Attribute, np.dtype] = {
    f32: np.dtype(np.float32),
    f64: np.dtype(np.float64),
    f16: np.dtype(np.float16),
    i8: np.dtype(np.int8),
    ui8: np.dtype(np.uint8),
    i16: np.dtype(np.int16),
    ui16: np.dtype(np.uint16),
    i32: np.dtype(np.int32),
    ui32: np.dtype(np.uint32),
    i64: np.dtype(np.int64),
    ui64: np.dtype(np.uint64),
    i1: np.dtype(np.bool_),
}
"""Of all types but bf16."""
_SIGNLESS: dict[Attribute, Attribute] = {ui8: i8, ui16: i16, ui32: i32, ui64: i64}
_TYPE_OF = {dtype: attr for attr, dtype in _NUMPY_OF.items()}

ElementType = Float16Type | BFloat16Type | Float32Type | Float64Type | IntegerType
"""The Python type of an element type attribute."""

ELEMENT_TYPES: tuple[ElementType, ...] = (
    f32,
    f64,
    f16,
    bf16,
    i8,
    ui8,
    i16,
    ui16,
    i32,
    ui32,
    i64,
    ui64,
    i1,
)

_SIGNIFICAND_BITS: dict[Attribute, int] = {f16: 11, bf16: 8, f32: 24, f64: 53}

BFLOAT16 = "bfloat16"
"""The name of the dtype that `ml_dtypes` gives NumPy."""


@cache
def _bfloat16() -> np.dtype:
    """
    NumPy's dtype for bf16. Raises StepwellError where the package that has it is not installed.
    """
    try:
        return np.dtype(import_module("ml_dtypes").bfloat16)
    except ImportError:
        raise StepwellError(
            "found bf16 and no package 'ml_dtypes', which gives NumPy this dtype; install it with "
            "'pip install ml_dtypes'"
        ) from None


def is_element_type(attr: Attribute) -> bool:
    """Whether a tensor or buffer of Stepwell may hold elements of this type."""
    return attr in _NUMPY_OF or attr == bf16


def numpy_dtype(attr: Attribute) -> np.dtype:
    """The NumPy dtype of an element type. `index` is int64. Raises KeyError for other types."""
    if isinstance(attr, IndexType):
        return np.dtype(np.int64)
    return _bfloat16() if attr == bf16 else _NUMPY_OF[attr]


def element_type(dtype: np.dtype) -> ElementType:
    """The element type of a NumPy dtype. Raises KeyError when Stepwell has none for it."""
    dtype = np.dtype(dtype)
    known = _TYPE_OF.get(dtype)  # asked first: NumPy puts the name together anew each time
    if known is None and dtype.name == BFLOAT16:
        return bf16
    return cast(ElementType, _TYPE_OF[dtype] if known is None else known)


def has_element_type(dtype: np.dtype) -> bool:
    """Whether Stepwell has an element type for a NumPy dtype."""
    return dtype in _TYPE_OF or dtype.name == BFLOAT16


def is_float_dtype(dtype: np.dtype) -> bool:
    """Whether a dtype is one of real numbers: NumPy does not count bfloat16 among those of kind 'f'."""
    return dtype.kind == "f" or dtype.name == BFLOAT16


def converted(array: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """
    `array.astype(dtype)`, which from float64 to bfloat16 would round twice, by way of float32.

    The first rounding is to odd: then the second one is the only one that counts. (Boldo and Melquiond, "Emulation of
    FMA and correctly rounded sums: proved algorithms using rounding to odd", IEEE Trans. Computers 57(4), 2008.)
    """
    if dtype.name != BFLOAT16 or array.dtype != np.float64:
        return array.astype(dtype)
    with np.errstate(all="ignore"):
        single = np.asarray(array.astype(np.float32))
        exact = (single == array) | np.isnan(array)
        toward_zero = single.view(np.int32) - (np.abs(single) > np.abs(array))
    odd = np.where(exact, single.view(np.int32), toward_zero | 1)
    return odd.astype(np.int32).view(np.float32).astype(dtype)


def float_limits(dtype: np.dtype) -> Any:
    """`numpy.finfo`, of bfloat16 too."""
    return import_module("ml_dtypes").finfo(dtype) if dtype.name == BFLOAT16 else np.finfo(dtype)


# Sets of classes: xDSL's have a metaclass that makes isinstance slow where the answer is no.
_NARROW_FLOATS = frozenset((Float16Type, BFloat16Type))
_FLOATS = frozenset((Float32Type, Float64Type)) | _NARROW_FLOATS


def is_float(attr: Attribute) -> bool:
    return type(attr) in _FLOATS


def is_narrow_float(attr: Attribute) -> bool:
    """Whether numbers are only stored in this type, and computed with in f32."""
    return type(attr) in _NARROW_FLOATS


def significand_bits(attr: Attribute) -> int:
    """The bits of a float type's significand, the hidden one included: integers of as many bits are exact in it."""
    return _SIGNIFICAND_BITS[attr]


def is_bool(attr: Attribute) -> bool:
    return attr == i1


def is_unsigned(attr: Attribute) -> bool:
    """Whether integer operations on this type are unsigned: `ui8` … `ui64`, and `i1`, whose values are 0 and 1."""
    return attr in _SIGNLESS or attr == i1


def signless(attr: Attribute) -> Attribute:
    """The type of the same width without a sign, as used from te down."""
    return _SIGNLESS.get(attr, attr)


@remembered
def bit_width(attr: Attribute) -> int:
    """Bits of one element; an i1 takes a whole byte in memory but is one bit here."""
    match attr:
        case Float16Type() | BFloat16Type():
            return 16
        case Float32Type():
            return 32
        case Float64Type() | IndexType():
            return 64
        case _:
            return cast("IntegerType[int, Signedness]", attr).width.data
