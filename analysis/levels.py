"""Which level of the ladder a module stands on."""

from __future__ import annotations

from enum import StrEnum

from xdsl.dialects.builtin import ModuleOp, TensorType


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

    A module with none of our dialects and no `llvm` is at core, unless it computes on tensors, which
    only te and graph do.
    """
    found: set[Level] = set()
    for op in module.walk():
        level = _LEVEL_OF_DIALECT.get(op.dialect_name())
        if level is Level.GRAPH:
            return Level.GRAPH
        if level is not None:
            found.add(level)
        elif any(isinstance(value.type, TensorType) for value in op.results) or any(
            isinstance(arg.type, TensorType)
            for region in op.regions
            for block in region.blocks
            for arg in block.args
        ):
            found.add(Level.TE)
    return next((level for level in Level if level in found), Level.CORE)
