"""
Constant data: NumPy arrays as `dense` or `dense_resource` attributes, and back.

Small constants are `dense` and stand in the text. Large ones are resources: a name in the text, the bytes beside it.
A name ends in a digest of the contents, or of the names of what is joined, so that equal names mean equal bytes: xDSL
keeps the blobs in one table for the whole process, where modules would otherwise overwrite each other's.

See resource_handles.py for how long they are kept, and `Loan` for when they are not copied.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from math import prod
from threading import Event
from types import TracebackType
from typing import Any, Self, TypeAlias, cast

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
from xxhash import xxh3_64_hexdigest, xxh3_64_intdigest

from ..background import BackgroundThread
from ..errors import StepwellError
from ..targets.large_memory import LARGE_BYTES, Regions, bring_pages
from .dtypes import element_type, numpy_dtype
from .late_copy import ArrayChanged, LateCopy
from .leaf_operations import leaf
from .resource_handles import decoded, forget, handle_of, remember, storage
from .shaped import contiguous, dense_tensor

INLINE_LIMIT = 64
"""Constants of more elements than this, unless all are equal, are kept beside the text."""

_ALIGNMENT = 64
"""Alignment in bytes that a blob's header promises (upstream's blob format: 4 bytes, then the data)."""

_MEMORY = Regions(huge_pages=False)
"""of copies of arrays, most of which are read once, when they are packed"""

_PART = 1 << 16

_WORTH_A_THREAD = 1 << 20
"""Bytes that take longer to join, in new pages, than a thread takes to start."""

_JOINING = BackgroundThread()
_JOINING.ends_before_forks()

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

    loan: Loan | None
    """whose bytes they are; None for those that are kept"""
    parts: tuple[str, ...]
    """what they are joined from, where they are: the names of other resources, and how"""
    found: dict[str, bool]
    """what has been found of the elements"""
    late: LateCopy | None
    """what makes them, where they are a copy that is yet to be made"""
    _checksum: int | None
    _raw: np.ndarray
    _joined: Event | None
    """set when all of them are there; None where they were from the start"""

    def __new__(
        cls,
        raw: np.ndarray,
        checksum: int | None,
        *,
        loan: Loan | None = None,
        parts: tuple[str, ...] = (),
        late: LateCopy | None = None,
        joined: Event | None = None,
    ) -> _BlobText:
        blob = super().__new__(cls, "0x")
        blob._raw, blob._checksum, blob._joined, blob.late = raw, checksum, joined, late
        blob.loan, blob.parts, blob.found = loan, parts, {}
        return blob

    @property
    def raw(self) -> np.ndarray:
        """The bytes, all of them. Raises ArrayChanged where they were to be copied and are others now."""
        late, joined = self.late, self._joined
        if late is not None:
            late.make()
            self.late = None
        if joined is not None:
            joined.wait()
            self._joined = None
        return self._raw

    @property
    def checksum(self) -> int:
        if self._checksum is None:
            self._checksum = checksum(self.raw)
        return self._checksum

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


class Loan:
    """
    Arrays that resources share with their owners, who leave them as they are until the loan ends.

    Then the bytes are gone: the IR that refers to them can only be thrown away.
    """

    def __init__(self) -> None:
        self.names: list[str] = []
        """of the resources that share an array"""
        self.readers: list[Event] = []
        """each set when a thread that reads such arrays has done so"""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for reader in self.readers:
            reader.wait()
        for name in self.names:
            if _loan_of(storage().lookup(name)) is not None:
                forget(name)


def _loan_of(blob: str | None) -> Loan | None:
    return blob.loan if isinstance(blob, _BlobText) else None


def declare(
    array: np.ndarray,
    hint: str = "constant",
    loan: Loan | None = None,
    *,
    is_ours: bool = False,
    copies_later: bool = False,
) -> StringAttr:
    """
    Keep the bytes of `array`, a copy of them or those of `loan`, under a name made from `hint` and a digest.

    With `is_ours` nobody will change the array, and it is kept itself, as views of `bytes` are; with `copies_later`
    nobody will before `is_changed` or `copy_now` copies it. The handle with that name: the bytes are kept for as long as it
    is.
    """
    raw, can_be_read = _bytes(array), array.flags.c_contiguous and array.flags.aligned
    loan, is_ours = loan if can_be_read else None, is_ours or _is_immutable(array)
    stem = re.sub(r"[^0-9A-Za-z_]", "_", hint) or "constant"
    stem = f"c{stem}" if stem[0].isdigit() else stem
    sum_, table = checksum(raw), storage()
    for digits in _digests(array, raw, sum_):
        name = f"{stem}_{digits}"
        handle, known = handle_of(name), table.lookup(name)
        if isinstance(known, _BlobText) and known.late is not None and known.late.is_lost():
            known = None  # these are the bytes that it was to have
        if known and not _are_equal(_bytes_of(name, known), raw):
            continue
        if not known and loan is not None:
            table.parse_resource(name, _BlobText(_read_only(raw.view()), sum_, loan=loan))
            loan.names.append(name)
        elif not known or (loan is None and _loan_of(known) is not None):
            is_itself = is_ours and can_be_read
            table.parse_resource(name, _kept(raw, sum_, hint, is_itself, copies_later))
        return handle
    raise StepwellError(
        f"found two arrays of the same digests for '{stem}', expected one; call one of them something else"
    )


def joined_elements(
    parts: Sequence[DenseResourceAttr], axis: int, hint: str = "constant"
) -> DenseResourceAttr | None:
    """
    The attribute that holds resources one after the other along an axis: a thread joins them while the program goes on.

    Its name is made from those of the parts. A loan that has some of their bytes does not end before they are joined. None
    where it is too little for a thread, or one lacks its bytes.

    Raises ArrayChanged where one was to be copied, and has changed before.
    """
    types = [_shaped(part.type) for part in parts]
    shape = list(types[0].get_shape())
    shape[axis] = sum(type_.get_shape()[axis] for type_ in types)
    element = types[0].get_element_type()
    type_, dtype = TensorType(element, shape), numpy_dtype(element)
    size = prod(shape) * dtype.itemsize
    table, names = storage(), [part.resource_handle.data for part in parts]
    blobs = [table.lookup(name) for name in names]
    if size < _WORTH_A_THREAD or not all(blobs):
        return None
    made_of = (*names, *map(str, types), str(axis))
    name = f"{hint}_{hashlib.sha256(repr(made_of).encode()).hexdigest()[:12]}"
    handle, known = handle_of(name), table.lookup(name)
    if known and not (isinstance(known, _BlobText) and known.parts == made_of):
        return None  # a name that something else has
    if not known:
        for part in parts:
            copy_now(part)  # in this thread, which is told what has changed
        copy = _MEMORY.empty(size)
        sources = [partial(elements_to_numpy, part) for part in parts]
        joined = _JOINING.do(partial(_join, copy.view(dtype).reshape(shape), sources, axis))
        for loan in {loan for loan in map(_loan_of, blobs) if loan is not None}:
            loan.readers.append(joined)
        blob = _BlobText(_read_only(copy.view()), None, parts=made_of, joined=joined)
        table.parse_resource(name, blob)
    return DenseResourceAttr(handle, type_)


def _join(target: np.ndarray, sources: Sequence[Callable[[], np.ndarray]], axis: int) -> None:
    """Write arrays one after the other into a new one. Each is asked for now: those that were to be joined before are."""
    bring_pages(target)
    np.concatenate([source() for source in sources], axis, out=target)


def _kept(
    raw: np.ndarray, checksum: int, hint: str, is_ours: bool, copies_later: bool
) -> _BlobText:
    """The text of bytes that are kept: themselves where they are ours, a copy otherwise."""
    if is_ours:
        return _BlobText(_read_only(raw.view()), checksum)
    copy = _MEMORY.empty(raw.nbytes)
    if copies_later and raw.nbytes >= LARGE_BYTES:
        return _BlobText(
            _read_only(copy.view()), checksum, late=LateCopy(copy, raw, checksum, hint)
        )
    copy[...] = raw
    return _BlobText(_read_only(copy), checksum)


def checksum(raw: np.ndarray) -> int:
    """
    64 bits that most likely change with any of the bytes, or with their order: xxHash's XXH3, which reads memory at its speed.
    """
    return xxh3_64_intdigest(raw.data)


def _digests(array: np.ndarray, raw: np.ndarray, checksum: int) -> Iterator[str]:
    """
    Twelve hexadecimal digits that tell an array from others, and others for when they do not: a checksum costs less
    than a digest, and who finds a name that is known compares the bytes.
    """
    about = repr((array.shape, array.dtype.str)).encode()
    yield xxh3_64_hexdigest(about, seed=checksum)[:12]
    yield hashlib.sha256(about + raw.tobytes()).hexdigest()[:12]


def _bytes(array: np.ndarray) -> np.ndarray:
    """The bytes of an array in C order: its own, where it is in that order."""
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def _is_immutable(array: np.ndarray) -> bool:
    """Whether it is a view of `bytes`, as the elements are that a file was read for."""
    holder: object = array
    while isinstance(holder, np.ndarray):
        if holder.flags.writeable:
            return False
        holder = cast("object", holder.base)
    return isinstance(holder, bytes)


def _are_equal(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether two arrays hold the same bytes, compared in parts for which the cache has room."""
    return one.size == other.size and all(
        np.array_equal(one[start : start + _PART], other[start : start + _PART])
        for start in range(0, one.size, _PART)
    )


def aligned_copy(array: np.ndarray) -> np.ndarray:
    """A read-only copy in C order, where code can use it as it is."""
    copy = _MEMORY.empty(array.nbytes).view(array.dtype).reshape(array.shape)
    copy[...] = array
    return _read_only(copy)


def _read_only(array: np.ndarray) -> np.ndarray:
    array.setflags(write=False)
    return array


def numpy_to_elements(
    array: np.ndarray,
    type_: Shaped,
    hint: str = "constant",
    loan: Loan | None = None,
    *,
    is_ours: bool = False,
    copies_later: bool = False,
) -> ElementsAttr:
    """
    The attribute of type `type_` holding `array`, of the same shape and element width, in C order.

    The others are as for `declare`.
    """
    dtype = numpy_dtype(type_.get_element_type())
    if not array.flags.c_contiguous or array.dtype != dtype:
        array, is_ours = np.ascontiguousarray(array, dtype).reshape(array.shape), True
    flat = array.reshape(-1)
    # Most large constants differ in their ends, which is quick to see.
    if array.size <= INLINE_LIMIT or flat[0].tobytes() == flat[-1].tobytes():
        data = array.tobytes()
        is_splat = array.size > 0 and data == data[: array.itemsize] * array.size
        # xDSL prints values that are all equal as one; of 0.0 and -0.0 that would lose the signs.
        is_ambiguous = not is_splat and array.size > 0 and bool((flat == flat[0]).all())
        if is_splat or (array.size <= INLINE_LIMIT and not is_ambiguous):
            return _dense(type_, data)
    name = declare(array, hint, loan, is_ours=is_ours, copies_later=copies_later)
    return DenseResourceAttr.from_params(name, type_)


def tensor_elements(
    array: np.ndarray,
    hint: str = "constant",
    loan: Loan | None = None,
    *,
    is_ours: bool = False,
    copies_later: bool = False,
) -> ElementsAttr:
    """The attribute holding `array` as a tensor of its own shape and dtype; the others are as for `declare`."""
    array = np.asarray(array)
    type_ = dense_tensor(element_type(array.dtype), array.shape)
    return numpy_to_elements(array, type_, hint, loan, is_ours=is_ours, copies_later=copies_later)


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
    count = prod(shape)
    if flat.size == 1 and count != 1:
        return np.broadcast_to(flat, shape)
    return flat.reshape(shape)


def is_changed(attr: ElementsAttr, array: np.ndarray) -> bool:
    """Whether an array of the attribute's shape and dtype does not hold the elements any more that it was made from."""
    blob = (
        storage().lookup(attr.resource_handle.data) if isinstance(attr, DenseResourceAttr) else ""
    )
    raw = _bytes(array)
    if isinstance(blob, _BlobText):
        late = blob.late
        if late is not None:
            try:
                is_copied_now = late.make()
            except ArrayChanged:
                return True
            if is_copied_now and late.is_of(raw):
                return False
        return checksum(raw) != blob.checksum
    return not _are_equal(_bytes(elements_to_numpy(attr)), raw)


def copy_now(attr: ElementsAttr) -> None:
    """
    Copy the array that the elements are made from, where that is left: afterwards it may change.

    Raises ArrayChanged where it has changed before.
    """
    if isinstance(attr, DenseResourceAttr):
        blob = storage().lookup(attr.resource_handle.data)
        assert not isinstance(blob, _BlobText) or blob.raw is not None


def is_lent(attr: ElementsAttr) -> bool:
    """Whether its contents are those of a `Loan`."""
    if not isinstance(attr, DenseResourceAttr):
        return False
    return _loan_of(storage().lookup(attr.resource_handle.data)) is not None


def found_once(attr: DenseResourceAttr, what: str, find: Callable[[], bool]) -> bool | None:
    """What `find` says of the elements of a resource, asked once for all that have it; None where it has no bytes."""
    blob = storage().lookup(attr.resource_handle.data)
    if not blob:
        return None
    if not isinstance(blob, _BlobText):
        return find()
    if what not in blob.found:
        blob.found[what] = find()
    return blob.found[what]


def _resource_array(name: str, dtype: np.dtype, shape: tuple[int, ...]) -> np.ndarray:
    blob = storage().lookup(name)
    if not blob:
        raise StepwellError(
            f"resource '{name}' has no bytes; give them in the file's dialect_resources section"
        )
    raw = _bytes_of(name, blob)
    expected = prod(shape) * dtype.itemsize
    if raw.size != expected:
        raise StepwellError(
            f"resource '{name}' holds {raw.size} bytes, but its type needs {expected}; "
            "mend the bytes or the type"
        )
    return raw.view(dtype).reshape(shape)


def _bytes_of(name: str, blob: str) -> np.ndarray:
    """The bytes that a text of xDSL's table stands for."""
    raw = blob.raw if isinstance(blob, _BlobText) else decoded(name, blob)
    if raw is None:
        raw = np.frombuffer(bytes.fromhex(blob[2:])[4:], np.uint8)
        remember(name, blob, raw)
    return raw


def constant_global_op(name: str, value: ElementsAttr) -> memref.GlobalOp:
    """A private constant that holds `value`, of a tensor type, in row-major order."""
    tensor = _shaped(value.type)
    assert isinstance(tensor, TensorType)
    is_resource = isinstance(value, DenseResourceAttr)
    properties: dict[str, Attribute] = {
        "sym_name": StringAttr(name),
        "type": contiguous(tensor),
        "initial_value": UnitAttr() if is_resource else value,
        "sym_visibility": StringAttr("private"),
        "constant": UnitAttr(),
    }
    return leaf(memref.GlobalOp, (), (), properties, {GLOBAL_VALUE: value} if is_resource else {})


def retyped(attr: ElementsAttr, type_: Shaped) -> ElementsAttr:
    """The same bytes under another type of the same number of elements and width (no copy)."""
    if isinstance(attr, DenseResourceAttr):
        return DenseResourceAttr(attr.resource_handle, type_)
    return _dense(type_, attr.data.data)
