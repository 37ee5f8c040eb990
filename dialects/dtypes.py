"""
The element types Stepwell computes with, and what NumPy calls them.

At the graph level unsigned integers are `ui8` and `ui64`. From te down types are signless, as in MLIR's `arith`:
`ui8` becomes `i8` and the operations carry the signedness. The function argument or result keeps the
attribute `stepwell.unsigned`, so that callers still pass and receive `numpy.uint8` or `numpy.uint64`.
"""

from __future__ import annotations

from typing import cast

import numpy as np
from xdsl.dialects.builtin import (
    Float32Type,
    Float64Type,
    IndexType,
    IntegerType,
    Signedness,
    f32,
    f64,
    i1,
    i8,
    i32,
    i64,
)
from xdsl.ir import Attribute

ui8 = IntegerType(8, Signedness.UNSIGNED)
ui64 = IntegerType(64, Signedness.UNSIGNED)

_NUMPY_OF: dict[Attribute, np.dtype] = {
    f32: np.dtype(np.float32),
    f64: np.dtype(np.float64),
    i8: np.dtype(np.int8),
    ui8: np.dtype(np.uint8),
    ui64: np.dtype(np.uint64),
    i32: np.dtype(np.int32),
    i64: np.dtype(np.int64),
    i1: np.dtype(np.bool_),
}
_SIGNLESS: dict[Attribute, Attribute] = {ui8: i8, ui64: i64}
_TYPE_OF = {dtype: attr for attr, dtype in _NUMPY_OF.items()}

ElementType = Float32Type | Float64Type | IntegerType
"""The Python type of an element type attribute."""

ELEMENT_TYPES: tuple[ElementType, ...] = (f32, f64, i8, ui8, i32, i64, ui64, i1)


def is_element_type(attr: Attribute) -> bool:
    """Whether a tensor or buffer of Stepwell may hold elements of this type."""
    return attr in _NUMPY_OF


def numpy_dtype(attr: Attribute) -> np.dtype:
    """The NumPy dtype of an element type. `index` is int64. Raises KeyError for other types."""
    if isinstance(attr, IndexType):
        return np.dtype(np.int64)
    return _NUMPY_OF[attr]


def element_type(dtype: np.dtype) -> ElementType:
    """The element type of a NumPy dtype. Raises KeyError when Stepwell has none for it."""
    return cast(ElementType, _TYPE_OF[np.dtype(dtype)])


def is_float(attr: Attribute) -> bool:
    return isinstance(attr, Float32Type | Float64Type)


def is_bool(attr: Attribute) -> bool:
    return attr == i1


def is_unsigned(attr: Attribute) -> bool:
    """Whether integer operations on this type are unsigned: `ui8`, `ui64`, and `i1`, whose values are 0 and 1."""
    return attr in (ui8, ui64, i1)


def signless(attr: Attribute) -> Attribute:
    """The type of the same width without a sign, as used from te down."""
    return _SIGNLESS.get(attr, attr)


def bit_width(attr: Attribute) -> int:
    """Bits of one element; an i1 takes a whole byte in memory but is one bit here."""
    if isinstance(attr, Float32Type):
        return 32
    if isinstance(attr, Float64Type | IndexType):
        return 64
    return cast("IntegerType[int, Signedness]", attr).width.data
