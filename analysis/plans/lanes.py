"""How many elements of an innermost loop run in vectors together, by what its body computes."""

from __future__ import annotations

from ...targets.core import Core
from .row_nests import Nest

VECTORS = 4
"""Vectors of a block of an element-wise loop or a reduction: enough to hide an addition's latency."""

VECTORS_OF_FUNCTIONS = 2
"""The same where the body has exponentials and their like, each of which needs several registers."""


def block_lanes(nest: Nest, core: Core) -> int:
    """The elements of a block of a nest's innermost loop."""
    return core.lanes(nest.element_bytes) * _vectors(nest)


def _vectors(nest: Nest) -> int:
    names = nest.operations
    if "math.powf" in names:
        return 1
    is_heavy = any(name.startswith("math.") or name == "arith.divf" for name in names)
    return VECTORS_OF_FUNCTIONS if is_heavy else VECTORS
