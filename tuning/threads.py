"""Which loops of scheduled nests run on threads, from how much work each iteration is."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from ..analysis.operations import operations_of_kinds
from ..analysis.plans.threads import MANY, PARALLEL_WORK, team
from ..dialects import loop
from ..dialects.loop import LoopKind
from ..targets.target import Target
from ..transforms.step_support.handles import LoopHandle
from ..transforms.step_support.nest import loops_of
from ..transforms.step_support.trip_count import TripCount
from .session import Session

COPYING = 16
"""Multiply-adds in the time of an element that is copied."""


def run_on_threads(s: Session, target: Target, without: Collection[LoopHandle] = ()) -> None:
    """
    Run each nest of a contraction's function on threads that is worth it, copies of operands included.

    Loops `without`, and their copies, stay serial: a line at the border of their iterations would be written by
    both threads.
    """
    serial = {copy.op for handle in without for copy in handle.copies}
    for op in _within_sums(top_loops(s)):
        loops = (op, *operations_of_kinds(op, {loop.ForOp}))
        is_copy = not any(
            isinstance(inner, loop.ForOp) and inner.kind.data is LoopKind.REDUCTION
            for inner in loops
        )
        if iterations(s, op) * (COPYING if is_copy else 1) >= PARALLEL_WORK:
            parallel(s, target, op, serial)


def _within_sums(loops: Iterable[loop.ForOp]) -> Iterator[loop.ForOp]:
    """The loops, or in the place of one over blocks of a sum those in its body: each block has its own team."""
    for op in loops:
        inner = loops_of(op.body.block)
        if op.kind.data is LoopKind.PARALLEL or not inner:
            yield op
        else:
            yield from _within_sums(inner)


def top_loops(s: Session) -> list[loop.ForOp]:
    """The outermost loops of the function, in order."""
    return loops_of(s.nest.function.body.block)


def iterations(s: Session, for_op: loop.ForOp) -> int:
    """How often the innermost loops inside run their bodies, at most: their work, in multiply-adds."""
    count = _trips(s, for_op)[1] or 0
    inner = loops_of(for_op.body.block)
    return count * (sum(iterations(s, op) for op in inner) if inner else 1)


def _trips(s: Session, for_op: loop.ForOp) -> tuple[int, int | None]:
    """The least and the greatest number of iterations."""
    count = for_op.constant_trip_count()
    return (count, count) if count is not None else TripCount(s.nest, for_op).range()


def parallel(
    s: Session, target: Target, for_op: loop.ForOp, serial: Collection[loop.ForOp] = ()
) -> None:
    """
    Run a nest on threads: the outermost of its loops that has many iterations for each thread, or as many for
    all; without one, the outermost that has one for each. Loops that are `serial` are left out.
    """
    threads = team(target)
    free = [(op, _trips(s, op)[0]) for op in _free_loops(s, for_op) if op not in serial]
    enough = [(op, trips) for op, trips in free if trips >= threads]
    even = [op for op, trips in enough if trips >= MANY * threads or trips % threads == 0]
    chosen = even or [op for op, _ in enough]
    if chosen:
        s.parallel(s.handle(chosen[0]))


def _free_loops(s: Session, for_op: loop.ForOp | None) -> list[loop.ForOp]:
    """The loops from this one inwards, where most of the work is, as long as they are parallel."""
    found: list[loop.ForOp] = []
    while for_op is not None and for_op.kind.data is LoopKind.PARALLEL and for_op.mode is None:
        found.append(for_op)
        inner = loops_of(for_op.body.block)
        if len(inner) > 1:
            inner = [max(inner, key=lambda op: iterations(s, op))]
        for_op = next(iter(inner), None)
    return found
