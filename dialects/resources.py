"""
Constant data: NumPy arrays as `dense` or `dense_resource` attributes, and back.

Small constants are `dense` and stand in the text. Large ones are resources: a name in the text, the
bytes beside it. A name ends in a digest of the contents, so that equal names mean equal bytes: xDSL
keeps the blobs in one table for the whole process, where modules would otherwise overwrite each
other's.

See resource_handles.py for how long they are kept.
"""

from __future__ import annotations

import hashlib
import re
from typing import Any, TypeAlias, cast

import numpy as np
from xdsl.dialects import memref
from xdsl.dialects.builtin import (
    BytesAttr,
    DenseIntOrFPElementsAttr,
    DenseResourceAttr,
    MemRefType,
    StringAttr,
    TensorType,
    UnitAttr,
)
from xdsl.ir import Attribute

from ..errors import StepwellError
from .dtypes import element_type, numpy_dtype
from .resource_handles import decoded, handle_of, remember, storage

INLINE_LIMIT = 64
"""Constants of more elements than this, unless all are equal, are kept beside the text."""

_ALIGNMENT = 64
"""Alignment in bytes that a blob's header promises (upstream's blob format: 4 bytes, then the data)."""

ElementsAttr = DenseIntOrFPElementsAttr | DenseResourceAttr
Shaped: TypeAlias = TensorType[Attribute] | MemRefType[Attribute]

GLOBAL_VALUE = "stepwell.value"
"""
Attribute of an uninitialized `memref.global`: the resource with its contents.

xDSL 0.74 admits no `dense_resource` as a global's initial value, though MLIR does.
"""


def _shaped(attr: Attribute) -> Shaped:
    assert isinstance(attr, TensorType | MemRefType)
    return cast(Shaped, attr)


def _dense(type_: Shaped, data: bytes) -> DenseIntOrFPElementsAttr:
    return DenseIntOrFPElementsAttr(cast(Any, type_), BytesAttr(data))


class _BlobText(str):
    """
    The text that xDSL's table has of a resource, made of the bytes when it is printed or compared.

    It would take twice the memory of the bytes, and longer than all else that is done to a large constant.
    """

    raw: np.ndarray

    def __new__(cls, raw: np.ndarray) -> _BlobText:
        blob = super().__new__(cls, "0x")
        blob.raw = raw
        return blob

    def __str__(self) -> str:
        alignment = _ALIGNMENT.to_bytes(4, "little").hex()
        return f"0x{alignment}{self.raw.data.hex().upper()}"

    def __format__(self, format_spec: str) -> str:
        return format(str(self), format_spec)

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, str) and str(self) == str(other))

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(str(self))


def declare(array: np.ndarray, hint: str = "constant") -> StringAttr:
    """
    Keep the bytes of `array` under a name made from `hint` and a digest of them.

    The handle with that name: the bytes are kept for as long as it is.
    """
    raw = _aligned_copy(array)
    digester = hashlib.sha256(repr((array.shape, array.dtype.str)).encode())
    digester.update(raw.data)
    digest = digester.hexdigest()[:12]
    stem = re.sub(r"[^0-9A-Za-z_]", "_", hint) or "constant"
    name = f"{stem}_{digest}" if not stem[0].isdigit() else f"c{stem}_{digest}"
    table, handle = storage(), handle_of(name)
    if not table.lookup(name):
        table.parse_resource(name, _BlobText(raw))
    return handle


def _aligned_copy(array: np.ndarray) -> np.ndarray:
    """The bytes of an array in C order, where code can use them as they are."""
    memory = np.empty(array.nbytes + _ALIGNMENT, np.uint8)
    start = -memory.ctypes.data % _ALIGNMENT
    raw = memory[start : start + array.nbytes]
    raw.view(array.dtype).reshape(array.shape)[...] = array
    raw.setflags(write=False)
    return raw


def numpy_to_elements(array: np.ndarray, type_: Shaped, hint: str = "constant") -> ElementsAttr:
    """The attribute of type `type_` holding `array`; same shape and element width, C order."""
    array = np.ascontiguousarray(array, numpy_dtype(type_.get_element_type())).reshape(array.shape)
    flat = array.reshape(-1)
    # Most large constants differ in their ends, which is quick to see.
    if array.size <= INLINE_LIMIT or flat[0].tobytes() == flat[-1].tobytes():
        data = array.tobytes()
        is_splat = array.size > 0 and data == data[: array.itemsize] * array.size
        # xDSL prints values that are all equal as one; of 0.0 and -0.0 that would lose the signs.
        is_ambiguous = not is_splat and array.size > 0 and bool((flat == flat[0]).all())
        if is_splat or (array.size <= INLINE_LIMIT and not is_ambiguous):
            return _dense(type_, data)
    return DenseResourceAttr.from_params(declare(array, hint), type_)


def tensor_elements(array: np.ndarray, hint: str = "constant") -> ElementsAttr:
    """The attribute holding `array` as a tensor of its own shape and dtype."""
    array = np.asarray(array)
    return numpy_to_elements(array, TensorType(element_type(array.dtype), array.shape), hint)


def elements_to_numpy(attr: ElementsAttr) -> np.ndarray:
    """
    The contents as a read-only array of the attribute's shape.

    Raises StepwellError when a resource has no bytes, or not as many as its type needs.
    """
    type_ = _shaped(attr.type)
    dtype = numpy_dtype(type_.get_element_type())
    shape = type_.get_shape()
    if isinstance(attr, DenseResourceAttr):
        return _resource_array(attr.resource_handle.data, dtype, shape)
    flat = np.frombuffer(attr.data.data, dtype)
    if dtype == np.bool_:  # xDSL packs true as 0xFF, NumPy knows 0 and 1
        flat = flat.view(np.uint8) != 0
    count = int(np.prod(shape, dtype=np.int64))
    if flat.size == 1 and count != 1:
        return np.broadcast_to(flat, shape)
    return flat.reshape(shape)


def _resource_array(name: str, dtype: np.dtype, shape: tuple[int, ...]) -> np.ndarray:
    blob = storage().lookup(name)
    if not blob:
        raise StepwellError(
            f"resource '{name}' has no bytes; give them in the file's dialect_resources section"
        )
    raw = blob.raw if isinstance(blob, _BlobText) else decoded(name, blob)
    if raw is None:
        raw = np.frombuffer(bytes.fromhex(blob[2:])[4:], np.uint8)
        remember(name, blob, raw)
    expected = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    if raw.size != expected:
        raise StepwellError(
            f"resource '{name}' holds {raw.size} bytes, but its type needs {expected}; "
            "mend the bytes or the type"
        )
    return raw.view(dtype).reshape(shape)


def constant_global_op(name: str, value: ElementsAttr) -> memref.GlobalOp:
    """A private constant that holds `value`, of a tensor type, in row-major order."""
    tensor = _shaped(value.type)
    is_resource = isinstance(value, DenseResourceAttr)
    op = memref.GlobalOp.get(
        StringAttr(name),
        MemRefType(tensor.get_element_type(), tensor.get_shape()),
        UnitAttr() if is_resource else value,
        sym_visibility=StringAttr("private"),
        constant=UnitAttr(),
    )
    if is_resource:
        op.attributes[GLOBAL_VALUE] = value
    return op


def retyped(attr: ElementsAttr, type_: Shaped) -> ElementsAttr:
    """The same bytes under another type of the same number of elements and width (no copy)."""
    if isinstance(attr, DenseResourceAttr):
        return DenseResourceAttr(attr.resource_handle, type_)
    return _dense(type_, attr.data.data)
