"""Which buffers are constants: globals whose contents never change once the program is loaded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from xdsl.dialects import func, memref
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, DenseResourceAttr, ModuleOp
from xdsl.ir import Attribute, Block, BlockArgument, SSAValue
from xdsl.traits import SymbolTable

from ..dialects import loop
from ..dialects.finite import is_constant_finite
from ..dialects.resources import GLOBAL_VALUE, ElementsAttr


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
