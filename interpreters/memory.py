"""
Buffers as NumPy arrays: allocation, checked accesses and views.

A memref is an array, with its strides; whoever makes a view shares its memory. NumPy takes a negative
index from the end, so every access checks for it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn, cast

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType, MemRefType, NoneAttr, ShapedType
from xdsl.ir import Attribute, Operation

from ..errors import StepwellError
from .evaluators import Evaluator, poison, value_dtype


def memref_type(type_: Attribute) -> MemRefType[Attribute]:
    assert isinstance(type_, MemRefType)
    return cast("MemRefType[Attribute]", type_)


def out_of_bounds(op: Operation, index: Sequence[int], shape: Sequence[int]) -> NoReturn:
    raise StepwellError(
        f"found '{op.name}' at index {list(map(int, index))} of a buffer of shape {list(shape)}, expected every "
        "index to be at least 0 and below its extent; mend the subscripts or the loop bounds",
        op=op,
    )


def resolved_shape(type_: ShapedType, dynamic: Sequence[int], op: Operation) -> tuple[int, ...]:
    """The shape of a type with `?` replaced by the values given, in order. Raises on negative ones."""
    return mixed(type_.get_shape(), dynamic, op)


def mixed(static: Sequence[int], dynamic: Sequence[int], op: Operation) -> tuple[int, ...]:
    """Static values with each DYNAMIC_INDEX replaced by the next dynamic one."""
    values = iter(dynamic)
    result = tuple(int(next(values)) if size == DYNAMIC_INDEX else size for size in static)
    if any(value < 0 for value in result):
        raise StepwellError(
            f"found the sizes or offsets {list(result)} in '{op.name}', expected none below 0; "
            "mend the values that are passed",
            op=op,
        )
    return result


def allocate(type_: MemRefType[Attribute], shape: tuple[int, ...], op: Operation) -> np.ndarray:
    """Poisoned memory for a memref of this type, laid out as it says."""
    dtype = value_dtype(type_, op)
    if isinstance(type_.layout, NoneAttr):
        return np.full(shape, poison(dtype), dtype)
    strides, offset = type_.get_strides(), type_.get_offset()
    if strides is None or offset is None or None in strides:
        raise StepwellError(
            f"found '{op.name}' of type {type_}, expected static strides and offset; "
            "allocate it contiguous and take a view",
            op=op,
        )
    known = [stride for stride in strides if stride is not None]
    last = sum((size - 1) * stride for size, stride in zip(shape, known, strict=True))
    return strided(np.full(offset + last + 1, poison(dtype), dtype), offset, shape, known, op)


def buffer_of(array: np.ndarray) -> np.ndarray:
    """
    The array that owns the memory of a view.

    `memref.view` goes through a memoryview, where NumPy's chain of bases ends: its result is a buffer
    of its own, as in MLIR.
    """
    return array.base if type(array.base) is np.ndarray else array


def offset_in_buffer(array: np.ndarray) -> int:
    """Elements from the start of the buffer to the first element of the view."""
    start = buffer_of(array).__array_interface__["data"][0]
    return (array.__array_interface__["data"][0] - start) // array.itemsize


def element_strides(array: np.ndarray) -> tuple[int, ...]:
    return tuple(stride // array.itemsize for stride in array.strides)


def strided(
    buffer: np.ndarray, offset: int, shape: Sequence[int], strides: Sequence[int], op: Operation
) -> np.ndarray:
    """A view given in elements. Raises StepwellError when it leaves the buffer."""
    try:
        return np.ndarray(
            tuple(shape),
            buffer.dtype,
            cast(Any, buffer.reshape(-1)),
            offset * buffer.itemsize,
            tuple(stride * buffer.itemsize for stride in strides),
        )
    except (TypeError, ValueError):
        raise StepwellError(
            f"found '{op.name}' of shape {list(shape)}, strides {list(strides)} and offset {offset} in a "
            f"buffer of {buffer.size} elements, expected it to lie inside; mend the sizes",
            op=op,
        ) from None


def loader(op: Operation, rank: int, element: Attribute) -> Evaluator:
    """`(array, *indices) -> element` with bounds checked; written out for the common ranks."""
    if isinstance(element, IndexType):
        load = general_loader(op)

        def load_index(array: np.ndarray, *index: int) -> int:
            return int(load(array, *index))

        return load_index
    if rank == 1:

        def load1(array: np.ndarray, i: int) -> Any:
            if i < 0:
                out_of_bounds(op, (i,), array.shape)
            try:
                return array[i]
            except IndexError:
                out_of_bounds(op, (i,), array.shape)

        return load1
    if rank == 2:

        def load2(array: np.ndarray, i: int, j: int) -> Any:
            if i < 0 or j < 0:
                out_of_bounds(op, (i, j), array.shape)
            try:
                return array[i, j]
            except IndexError:
                out_of_bounds(op, (i, j), array.shape)

        return load2
    return general_loader(op)


def general_loader(op: Operation) -> Callable[..., Any]:
    def load(array: np.ndarray, *index: int) -> Any:
        if index and min(index) < 0:
            out_of_bounds(op, index, array.shape)
        try:
            return array[index]
        except IndexError:
            out_of_bounds(op, index, array.shape)

    return load


def storer(op: Operation, rank: int) -> Evaluator:
    """`(value, array, *indices) -> None` with bounds and writability checked."""
    if rank == 1:

        def store1(value: Any, array: np.ndarray, i: int) -> None:
            if i < 0:
                out_of_bounds(op, (i,), array.shape)
            try:
                array[i] = value
            except (IndexError, ValueError):
                refused_store(op, (i,), array)

        return store1
    if rank == 2:

        def store2(value: Any, array: np.ndarray, i: int, j: int) -> None:
            if i < 0 or j < 0:
                out_of_bounds(op, (i, j), array.shape)
            try:
                array[i, j] = value
            except (IndexError, ValueError):
                refused_store(op, (i, j), array)

        return store2

    def store(value: Any, array: np.ndarray, *index: int) -> None:
        if index and min(index) < 0:
            out_of_bounds(op, index, array.shape)
        try:
            array[index] = value
        except (IndexError, ValueError):
            refused_store(op, index, array)

    return store


def refused_store(op: Operation, index: Sequence[int], array: np.ndarray) -> NoReturn:
    if not array.flags.writeable:
        raise StepwellError(
            f"found '{op.name}' into constant memory, expected a buffer that may be written; "
            "copy the constant first",
            op=op,
        )
    out_of_bounds(op, index, array.shape)
