"""The types of tensors and buffers, with the element type that xDSL's annotations leave open."""

from __future__ import annotations

from typing import TypeAlias, cast

from xdsl.dialects.builtin import MemRefType, TensorType
from xdsl.ir import Attribute, SSAValue

Tensor: TypeAlias = TensorType[Attribute]
Buffer: TypeAlias = MemRefType[Attribute]


def is_tensor(value: SSAValue) -> bool:
    return isinstance(value.type, TensorType)


def tensor_type(value: SSAValue) -> Tensor:
    """The type of a value that is a tensor."""
    type_: Attribute = value.type
    assert isinstance(type_, TensorType)
    return cast(Tensor, type_)


def memref_type(value: SSAValue) -> Buffer:
    """The type of a value that is a buffer."""
    type_: Attribute = value.type
    assert isinstance(type_, MemRefType)
    return cast(Buffer, type_)
