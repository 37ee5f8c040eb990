"""StableHLO → graph."""

from __future__ import annotations

from typing import ClassVar

from ..upstream.functions_to_graph import UpstreamToGraphPass
from ..upstream.operations import Operations
from . import indexing as indexing
from . import operators as operators
from .registry import hlo


class ConvertStablehloToGraphPass(UpstreamToGraphPass):
    """Bring StableHLO and CHLO, as JAX prints them, to the graph level; private functions are inlined."""

    name = "convert-stablehlo-to-graph"
    OPERATIONS: ClassVar[Operations] = hlo
