"""Which level of the ladder a module stands on."""

from __future__ import annotations

from enum import StrEnum

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from ..dialects.dtypes import ui8
from ..dialects.shaped import is_tensor, tensor_type


class Level(StrEnum):
    """The five levels a program walks down, highest first."""

    GRAPH = "graph"
    TE = "te"
    LOOP = "loop"
    CORE = "core"
    LLVM = "llvm"


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
    found: set[Level] = set()
    for op in module.walk():
        level = _LEVEL_OF_DIALECT.get(op.dialect_name()) or _level_of_types(op)
        if level is Level.GRAPH:
            return Level.GRAPH
        if level is not None:
            found.add(level)
    return next((level for level in Level if level in found), Level.CORE)


def _level_of_types(op: Operation) -> Level | None:
    """What the tensors an operation gives or its blocks take say about the level."""
    arguments = (arg for region in op.regions for block in region.blocks for arg in block.args)
    tensors = [tensor_type(v) for v in (*op.results, *arguments) if is_tensor(v)]
    if not tensors:
        return None
    return Level.GRAPH if any(t.get_element_type() == ui8 for t in tensors) else Level.TE
