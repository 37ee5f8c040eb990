"""Loops that write at computed places: no lanes can run them, and a few of their steps are written out."""

from __future__ import annotations

from collections import Counter

from xdsl.dialects import memref
from xdsl.ir import Operation

from ..analysis.operations import operations_of
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
    loops = [*s.nest.loops()]
    names = Counter(for_op.loop_name.data for for_op in loops)
    for for_op in loops:
        if names[for_op.loop_name.data] > 1 or not _is_updating(for_op):
            continue  # a step of one of several loops of a name would not say which
        s.unroll(s.handle(for_op), STEPS, tail="peel")


def _is_updating(for_op: loop.ForOp) -> bool:
    """Whether it stays a loop of single steps, a short one each, of which one or another stores at a computed place."""
    body = operations_of(for_op.regions[0].block)
    if not any(type(op) is memref.StoreOp for op in body):
        return False
    trips = for_op.constant_trip_count()
    if for_op.mode is not None or trips is None or trips < 2 * STEPS or len(body) > MOST_OPERATIONS:
        return False
    if loop.UNROLLED in for_op.attributes or any(op.regions for op in body):
        return False
    return any(isinstance(op, memref.StoreOp) and _is_computed_in(for_op, op) for op in body)


def _is_computed_in(for_op: loop.ForOp, store: memref.StoreOp) -> bool:
    """
    Whether each iteration computes where it stores. Where it stores to the next place along an axis, of a row that is
    computed outside, LLVM has lanes for it.
    """
    body = for_op.body.block
    return any(isinstance(i.owner, Operation) and i.owner.parent is body for i in store.indices)
