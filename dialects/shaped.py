"""The types of tensors and buffers, with the element type that xDSL's annotations leave open."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, TypeAlias, TypeVar, cast

from xdsl.dialects.builtin import ArrayAttr, IntAttr, MemRefType, NoneAttr, TensorType
from xdsl.ir import Attribute, BlockArgument, Operation, OpResult, SSAValue
from xdsl.utils.exceptions import VerifyException

ElementT = TypeVar("ElementT", bound=Attribute)
AttributeT = TypeVar("AttributeT", bound=Attribute)

Tensor: TypeAlias = TensorType[Attribute]
Buffer: TypeAlias = MemRefType[Attribute]


def is_tensor(value: SSAValue) -> bool:
    return isinstance(value.type, TensorType)


def tensor_type(value: SSAValue | Operation) -> Tensor:
    """The type of a value that is a tensor. Raises VerifyException for any other type."""
    type_: Attribute = _value_of(value).type
    if not isinstance(type_, TensorType):
        raise VerifyException(
            f"found a value of type {type_}, expected a ranked tensor; operations on tensors take no others"
        )
    return cast(Tensor, type_)


def _value_of(value: SSAValue | Operation) -> SSAValue:
    """A value as it is, and of an operation its one result."""
    if type(value) is OpResult or type(value) is BlockArgument:
        return value  # `SSAValue.get` asks abstract classes, and this is asked of each operand of each operation
    return SSAValue.get(value)


def shape_of(value: SSAValue | Operation) -> tuple[int, ...]:
    """The extents of a value that is a tensor. Raises VerifyException for any other type."""
    return tensor_type(value).get_shape()


@lru_cache(maxsize=1024)
def contiguous(type_: Tensor) -> Buffer:
    """The type of a buffer with a tensor's elements in row-major order. Types are compared sooner than made."""
    return row_major(type_.get_element_type(), type_.get_shape())


def row_major(element: ElementT, shape: Sequence[int]) -> MemRefType[ElementT]:
    """As `MemRefType(element, shape)`, which asks at length whether all of its parts are attributes."""
    return cast("MemRefType[ElementT]", _row_major(element, tuple(shape)))


def dense_tensor(element: ElementT, shape: Sequence[int]) -> TensorType[ElementT]:
    """As `TensorType(element, shape)`, likewise."""
    return cast("TensorType[ElementT]", _dense_tensor(element, tuple(shape)))


@lru_cache(maxsize=1024)
def _row_major(element: Attribute, shape: tuple[int, ...]) -> Buffer:
    return _unchecked(
        MemRefType, shape=_sizes(shape), element_type=element, layout=_PLAIN, memory_space=_PLAIN
    )


@lru_cache(maxsize=1024)
def _dense_tensor(element: Attribute, shape: tuple[int, ...]) -> Tensor:
    return _unchecked(TensorType, shape=_sizes(shape), element_type=element, encoding=_PLAIN)


def _sizes(shape: tuple[int, ...]) -> ArrayAttr[IntAttr]:
    return ArrayAttr([IntAttr(size) for size in shape])


def _unchecked(kind: type[AttributeT], **parameters: Attribute) -> AttributeT:
    made: Any = object.__new__(kind)
    made.__dict__.update(parameters)
    return made


_PLAIN = NoneAttr()


def memref_type(value: SSAValue) -> Buffer:
    """The type of a value that is a buffer."""
    type_: Attribute = value.type
    assert isinstance(type_, MemRefType)
    return cast(Buffer, type_)
