"""
The rule for nests that share their outer loops: softmax, normalisations, reductions and what is around them.

The nests are fused at the loops that they share, and what passes from one to the next is kept for one
iteration of those loops only: a row stays in the nearest cache from its first use to its last.
"""

from __future__ import annotations

from contextlib import suppress
from math import prod

from ..dialects import loop
from ..dialects.loop import LoopKind
from ..dialects.schedule.steps import FuseLoops, Stage
from ..dialects.shaped import memref_type
from ..targets.target import Target
from ..transforms.step_support.refusal import Refusal
from .facts import cache_bytes, element_bytes
from .lanes import several_rows, vectorize_innermost
from .order import jam_sums, put_in_order, transpose_in_registers
from .session import Session
from .threads import PARALLEL_BYTES, iterations, parallel, top_loops
from .traffic import fetch_next_row, store_past_caches, traffic

LARGE_SHARE = 8
"""A nest with less than this part of the work is not worth the start of a team."""


def rows(session: Session, target: Target) -> bool:
    """Fuse what shares loops, keep rows near, and run innermost loops in lanes."""
    squares = put_in_order(session, target)
    prepared, in_rows = several_rows(session, target)
    shared = fuse_shared(session)
    if shared:
        keep_near(session, target, shared)
    jam_sums(session, target)
    for square in squares:
        transpose_in_registers(session, square)
    vectorize_innermost(session, target, prepared, in_rows)
    if shared:
        fetch_next_row(session, target, shared[-1])
    store_past_caches(session, target)
    parallel_outermost(session, target)
    return True


def fuse_shared(session: Session) -> list[str]:
    """Fuse the loops that all nests have in common, outermost first; the names of those that were."""
    shared: list[str] = []
    while True:
        block = session.nest.function.body.block
        if shared:
            inner = session.loop(shared[-1])
            assert inner is not None
            block = inner.body.block
        loops = [op for op in block.ops if isinstance(op, loop.ForOp)]
        if any(isinstance(op, loop.StoreOp) for op in block.ops) or not _are_alike(loops):
            return shared
        first = loops[0].loop_name.data
        try:
            for other in loops[1:]:
                step = FuseLoops(session.named(first), other.loop_name.data)
                session.apply(step)
        except Refusal:
            return shared
        shared.append(first)


def _are_alike(loops: list[loop.ForOp]) -> bool:
    """Whether there are loops, all parallel, which run from 0 to the same number."""
    counts = {op.constant_trip_count() for op in loops}
    return (
        len(counts) == 1
        and None not in counts
        and all(op.kind.data is LoopKind.PARALLEL for op in loops)
    )


def keep_near(session: Session, target: Target, shared: list[str]) -> None:
    """Give each buffer between the nests one row's worth of memory."""
    extents = [session.trips(name)[0] for name in shared]
    buffers = [
        op
        for op in session.nest.function.body.block.ops
        if isinstance(op, loop.AllocOp) and op.scope.data is loop.Scope.ARENA
    ]
    for op in buffers:
        size = prod(memref_type(op.buffer).get_shape()) // max(prod(extents), 1)
        bytes_ = size * element_bytes(op.buffer)
        if size <= 1:
            scope = "register"
        else:
            scope = "stack" if bytes_ <= cache_bytes(target, 1) else "arena"
        name = loop.buffer_name(op.buffer) or ""
        step = Stage(session.named(name), shared[-1], into=f"{name}.row", scope=scope)
        with suppress(Refusal):
            session.apply(step)


def parallel_outermost(session: Session, target: Target) -> None:
    """Run nests on threads when there is enough to do, and much of it is in them."""
    if traffic(session) < PARALLEL_BYTES:
        return
    nests = top_loops(session)
    work = [iterations(session, nest) for nest in nests]
    for nest, own in zip(nests, work, strict=True):
        if own * LARGE_SHARE >= sum(work):
            parallel(session, target, nest)
