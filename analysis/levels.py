"""Which level of the ladder a module stands on."""

from __future__ import annotations

from functools import lru_cache
from typing import cast

from xdsl.dialects.builtin import IntegerType, ModuleOp, Signedness, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation

from ..dialects.shaped import Tensor
from .level import Level
from .operations import operations_in

_LEVEL_OF_DIALECT = {
    "graph": Level.GRAPH,
    "te": Level.TE,
    "loop": Level.LOOP,
    "llvm": Level.LLVM,
}


def level_of(module: ModuleOp) -> Level:
    """
    The highest level that has an operation in the module.

    A module with none of our dialects and no `llvm` is at core, unless it computes on tensors: then it is
    at graph when it has unsigned elements, which lower levels do not know, and else at te.
    """
    operations = operations_in(module)
    of_kinds = {kind: _level_of_kind(kind) for kind in set(map(type, operations))}
    found = set(of_kinds.values())
    if Level.GRAPH not in found and None in found:  # the others are known by their types
        found |= {_level_of_types(op) for op in operations if of_kinds[type(op)] is None}
    return next((level for level in Level if level in found), Level.CORE)


@lru_cache(maxsize=1024)
def _level_of_kind(kind: type[Operation]) -> Level | None:
    return _LEVEL_OF_DIALECT.get(kind.dialect_name())


def _level_of_types(op: Operation) -> Level | None:
    """What the tensors that an operation gives, its blocks take or its callers pass say about the level."""
    types: list[Attribute] = [*op.result_types]
    types += (arg for region in op.regions for block in region.blocks for arg in block.arg_types)
    if isinstance(op, FuncOp):
        types += (*op.function_type.inputs, *op.function_type.outputs)
    elements = [cast(Tensor, t).get_element_type() for t in types if isinstance(t, TensorType)]
    if not elements:
        return None
    return Level.GRAPH if any(map(_is_unsigned, elements)) else Level.TE


def _is_unsigned(element: Attribute) -> bool:
    if not isinstance(element, IntegerType):
        return False
    return cast("IntegerType[int, Signedness]", element).signedness.data is Signedness.UNSIGNED
