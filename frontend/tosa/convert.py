"""TOSA → graph."""

from __future__ import annotations

from typing import ClassVar

from ..upstream.functions_to_graph import UpstreamToGraphPass
from ..upstream.operations import Operations
from . import elementwise as elementwise
from . import movement as movement
from . import rescaling as rescaling
from . import windows as windows
from .registry import tosa


class ConvertTosaToGraphPass(UpstreamToGraphPass):
    """Bring TOSA 1.0, as mlir-opt prints it, to the graph level; private functions are inlined."""

    name = "convert-tosa-to-graph"
    OPERATIONS: ClassVar[Operations] = tosa
