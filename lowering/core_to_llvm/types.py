"""
Types of level 4 as types of level 5.

A scalar or 1-D vector becomes one LLVM type. A memref becomes a pointer to its first element, followed
by an i64 for every size and stride its type leaves open (`MemRefValue`): a memref of static shape and
identity layout is exactly one pointer. The offset of a strided layout is part of the pointer, so that
it needs no value of its own.
"""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import TypeAlias, TypeGuard, cast

from xdsl.dialects import llvm
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AffineMapAttr,
    BFloat16Type,
    Float16Type,
    Float32Type,
    Float64Type,
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    NoneAttr,
    Signedness,
    StridedLayoutAttr,
    VectorType,
    i1,
    i8,
    i16,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue

from ...dialects.leaf_operations import vector_of
from ...dialects.type_memo import remembered
from ...errors import StepwellError
from ...frozen import frozen
from ...lazy import cached_property

POINTER = llvm.LLVMPointerType()

AnyMemRef: TypeAlias = MemRefType[Attribute]
AnyVector: TypeAlias = VectorType[Attribute]

Index: TypeAlias = "int | SSAValue"
"""A size, stride or index that is known (an int) or computed (an i64)."""


def is_vector(type_: Attribute) -> TypeGuard[AnyVector]:
    return isinstance(type_, VectorType)


def is_memref(type_: Attribute) -> TypeGuard[AnyMemRef]:
    return isinstance(type_, MemRefType)


@frozen
class Layout:
    """Sizes and strides of a memref type in elements; None where the type leaves them open."""

    sizes: tuple[int | None, ...]
    strides: tuple[int | None, ...]
    offset: int | None
    is_identity: bool

    @property
    def number_of_dynamic(self) -> int:
        """How many i64 follow the pointer."""
        strides = 0 if self.is_identity else self.strides.count(None)
        return self.sizes.count(None) + strides


@frozen
class MemRefValue:
    """A memref while it is lowered: a pointer to the first element, sizes and strides in elements."""

    type: AnyMemRef
    pointer: SSAValue
    sizes: tuple[Index, ...]
    strides: tuple[Index, ...]

    @cached_property
    def nested(self) -> Attribute | None:
        """`nested_array` of its strides, where they are known."""
        if not all(isinstance(stride, int) for stride in self.strides):
            return None
        element = memory_type(self.type.element_type)
        return nested_array(cast("tuple[int, ...]", self.strides), element)


@remembered
def layout_of(type_: AnyMemRef) -> Layout:
    """The layout of a memref type. Raises ValueError with what is wrong with it."""
    if not isinstance(type_.memory_space, NoneAttr):
        space = type_.memory_space
        if not (isinstance(space, IntegerAttr) and space.value.data == 0):
            raise ValueError(f"{type_} in a memory space")
    shape = type_.get_shape()
    sizes = tuple(None if size == DYNAMIC_INDEX else size for size in shape)
    layout = type_.layout
    if isinstance(layout, StridedLayoutAttr):
        strides = tuple(layout.get_strides())
        if len(strides) != len(sizes):
            raise ValueError(f"{type_} with {len(strides)} strides for {len(sizes)} sizes")
        offset = layout.get_offset()
        return Layout(sizes, strides, offset, offset == 0 and strides == row_major(sizes))
    if isinstance(layout, AffineMapAttr) and layout.data != type(layout.data).identity(len(sizes)):
        raise ValueError(f"{type_} with an affine layout")
    return Layout(sizes, row_major(sizes), 0, True)


def row_major(sizes: tuple[int | None, ...]) -> tuple[int | None, ...]:
    """The strides of a contiguous buffer; None from the first open size outwards."""
    strides: list[int | None] = []
    stride: int | None = 1
    for size in reversed(sizes):
        strides.append(stride)
        stride = None if stride is None or size is None else stride * size
    return tuple(reversed(strides))


@remembered
def scalar_type(type_: Attribute) -> Attribute:
    """The LLVM type of a scalar or 1-D vector in a register. Raises ValueError for other types."""
    match type_:
        case IndexType():
            return i64
        case IntegerType():
            if type_.signedness.data is not Signedness.SIGNLESS:
                raise ValueError(f"{type_}, which has a sign")
            return type_
        case Float32Type() | Float64Type() | Float16Type():
            return type_
        case BFloat16Type():
            return i16  # its bits: nothing computes with it here
        case VectorType():
            if type_.get_num_dims() != 1 or type_.get_num_scalable_dims():
                raise ValueError(f"{type_}, which is not a fixed 1-D vector")
            return vector_of(scalar_type(type_.element_type), *type_.get_shape())
        case llvm.LLVMPointerType() | llvm.LLVMStructType() | llvm.LLVMArrayType():
            return type_
        case _:
            raise ValueError(str(type_))


@remembered
def memory_type(type_: Attribute) -> Attribute:
    """
    The LLVM type of an element or 1-D vector in memory.

    An i1 takes a byte, so that LLVM can vectorize loads and stores of it.
    """
    register = scalar_type(type_)
    if register == i1:
        return i8
    if is_vector(register) and register.element_type == i1:
        return vector_of(i8, *register.get_shape())
    return register


@remembered
def flat_types(type_: Attribute) -> tuple[Attribute, ...]:
    """The LLVM types that stand for one value of `type_` in signatures and block arguments."""
    if is_memref(type_):
        layout = layout_of(type_)
        memory_type(type_.element_type)  # raises for elements that have none
        return (POINTER,) + (i64,) * layout.number_of_dynamic
    return (scalar_type(type_),)


@remembered
def element_bytes(type_: Attribute) -> int:
    """Bytes of one element, or of a 1-D vector, in memory."""
    match memory_type(type_):
        case VectorType() as vector:
            return vector.get_shape()[0] * element_bytes(vector.element_type)
        case IntegerType() as integer:
            return max(1, (integer.width.data + 7) // 8)
        case Float16Type():
            return 2
        case Float32Type():
            return 4
        case _:
            return 8


def static_bytes(type_: AnyMemRef) -> int | None:
    """Bytes of a static memref of identity layout, or None."""
    layout = layout_of(type_)
    if not layout.is_identity or None in layout.sizes:
        return None
    return prod(cast("tuple[int, ...]", layout.sizes)) * element_bytes(type_.element_type)


@lru_cache(maxsize=4096)
def nested_array(strides: tuple[int, ...], element: Attribute) -> Attribute | None:
    """
    The type for one `getelementptr` that takes the indices as they are: `array<s0/s1 x array<...>>`.

    None when a stride is not a positive multiple of the next one.
    """
    nested, inner = element, 1
    for level, stride in enumerate(reversed(strides)):
        if stride <= 0 or stride % inner:
            return None
        if level or stride != 1:
            nested = llvm.LLVMArrayType(stride // inner, nested)
        inner = stride
    return nested


def checked(type_: Attribute, op: Operation) -> tuple[Attribute, ...]:
    """`flat_types`, or a StepwellError that names the operation."""
    try:
        return flat_types(type_)
    except ValueError as error:
        raise StepwellError(
            f"'{op.name}' has a value of type {error}, expected scalars of f16, bf16, f32, f64, integers or index, "
            "1-D vectors of them, or memrefs of strided layout; convert it before convert-core-to-llvm",
            op=op,
        ) from None
