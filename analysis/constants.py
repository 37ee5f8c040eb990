"""Which buffers are constants: globals whose contents never change once the program is loaded."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import cast

from xdsl.dialects import arith, func, memref
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    DenseResourceAttr,
    IntegerAttr,
    ModuleOp,
    i64,
)
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue
from xdsl.traits import SymbolTable

from ..dialects import loop
from ..dialects.dtypes import bit_width
from ..dialects.finite import is_constant_finite
from ..dialects.resources import GLOBAL_VALUE, ElementsAttr
from ..dialects.shaped import is_tensor, tensor_type
from .operations import operations_of_kinds

LEAST_COUNTED = 1 << 20
"""Bytes of constants from which they are counted: a second-level cache has room for less."""


def globals_of(module: ModuleOp) -> dict[str, memref.GlobalOp]:
    """The globals of a module by name, for who asks for many."""
    return {op.sym_name.data: op for op in module.ops if isinstance(op, memref.GlobalOp)}


def constant_global(
    buffer: SSAValue, known: Mapping[str, memref.GlobalOp] | None = None
) -> memref.GlobalOp | None:
    """
    The constant whose memory the buffer is; None of a buffer that is written or not a global.

    It is looked up among the globals that are `known`, without which xDSL walks the module.
    """
    get = buffer.owner
    if not isinstance(get, memref.GetGlobalOp):
        return None
    if known is not None:
        found = known.get(get.name_.string_value())
    else:
        found = SymbolTable.lookup_symbol(get, get.name_)
    if not isinstance(found, memref.GlobalOp):
        return None
    return found if found.constant is not None or loop.LOAD in found.attributes else None


def count_constants(module: ModuleOp) -> None:
    """Say on a module at te how many bytes of constants its program has."""
    constants = operations_of_kinds(module, {arith.ConstantOp})
    count = sum(_bytes(v) for op in constants for v in op.results if is_tensor(v))
    if count >= LEAST_COUNTED:
        rounded = 1 << (count - 1).bit_length()
        module.attributes[loop.CONSTANT_BYTES] = IntegerAttr(rounded, i64)


def least_constant_bytes(counted: int) -> int:
    """How many bytes of constants a program has for sure of which `count_constants` says so many: it rounds up to a power of two."""
    return counted // 2


def _bytes(value: SSAValue) -> int:
    type_ = tensor_type(value)
    return prod(type_.get_shape()) * bit_width(type_.get_element_type()) // 8


def constant_bytes(op: Operation) -> int:
    """How many bytes of constants the program has that an operation is in, about; 0 where they are few, or were not counted."""
    while (around := op.parent_op()) is not None:
        op = around
    count = op.attributes.get(loop.CONSTANT_BYTES)
    return count.value.data if isinstance(count, IntegerAttr) else 0


def is_constant_argument(buffer: SSAValue) -> bool:
    """Whether it is an argument of a function that is marked as constant: every caller gives a constant for it."""
    return loop.CONSTANT in _marks(buffer)


def _marks(buffer: SSAValue) -> Mapping[str, Attribute]:
    """The attributes of an argument of a function; none of another value."""
    block = buffer.owner
    function = block.parent_op() if isinstance(block, Block) else None
    if not isinstance(function, func.FuncOp) or function.arg_attrs is None:
        return {}
    assert isinstance(buffer, BlockArgument)
    return function.arg_attrs.data[buffer.index].data


def contents_of(op: memref.GlobalOp) -> ElementsAttr | None:
    """What a global holds at the start, None when that is not said."""
    value: Attribute = op.attributes.get(GLOBAL_VALUE, op.initial_value)
    is_known = isinstance(value, DenseIntOrFPElementsAttr | DenseResourceAttr)
    return cast(ElementsAttr, value) if is_known else None


def is_finite_argument(buffer: SSAValue) -> bool:
    """Whether it is an argument of which no element is infinite or no number."""
    return loop.FINITE in _marks(buffer)


def is_global_finite(op: memref.GlobalOp) -> bool:
    """Whether all that a constant holds is known, and finite."""
    value = contents_of(op)
    return value is not None and is_constant_finite(value) is True
