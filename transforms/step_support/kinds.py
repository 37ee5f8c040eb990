"""What is known of loops that are joined or cut, and which ones are parallel."""

from __future__ import annotations

from ...dialects import loop
from ...dialects.loop import LoopKind
from .nest import Nest, loops_around

_WEAKEST_FIRST = (LoopKind.SERIAL, LoopKind.REDUCTION, LoopKind.PARALLEL)


def weakest(*kinds: LoopKind) -> LoopKind:
    """The kind of a loop that is all of these."""
    return min(kinds, key=_WEAKEST_FIRST.index)


def parallel_loops(nest: Nest, for_op: loop.ForOp) -> str:
    """The loops around and inside that could run on threads, in words."""
    inside = [op for op in for_op.body.walk() if isinstance(op, loop.ForOp)]
    names = [
        f"'{op.loop_name.data}'"
        for op in (*loops_around(for_op), *inside)
        if nest.dependences.is_parallel(op)
    ]
    return " or ".join(names) + (", which is parallel" if len(names) == 1 else "") if names else ""
