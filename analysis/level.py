"""The levels of the ladder. Loaded where nothing of xDSL is."""

from __future__ import annotations

from enum import StrEnum


class Level(StrEnum):
    """The five levels a program walks down, highest first."""

    GRAPH = "graph"
    TE = "te"
    LOOP = "loop"
    CORE = "core"
    LLVM = "llvm"
