"""Loops that write at computed places: no lanes can run them, and a few of their steps are written out."""

from __future__ import annotations

from xdsl.dialects import memref

from ..dialects import loop
from .session import Session

STEPS = 4
"""
Steps that are written out. Updates take turns between rows of their own, at most this many (`ROWS` in
`dialects/graph/scatter.py`), so that which row a step is for is known in each.
"""

MOST_OPERATIONS = 64
"""Steps of more operations than this have little to gain: what counts and jumps is a few operations."""


def write_updates_out(s: Session) -> None:
    """Write out a few steps of innermost loops that store at computed places. Raises the Refusal of a step."""
    found = [op for op in s.nest.function.walk() if isinstance(op, loop.ForOp) and _is_updating(op)]
    for for_op in found:
        s.unroll(s.handle(for_op), STEPS, tail="peel")


def _is_updating(for_op: loop.ForOp) -> bool:
    """Whether it stays a loop of single steps, a short one each, of which one or another stores at a computed place."""
    trips, body = for_op.constant_trip_count(), list(for_op.body.block.ops)
    if for_op.mode is not None or trips is None or trips < 2 * STEPS or len(body) > MOST_OPERATIONS:
        return False
    if loop.UNROLLED in for_op.attributes or any(op.regions for op in body):
        return False
    return any(isinstance(op, memref.StoreOp) for op in body)
