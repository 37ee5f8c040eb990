"""Which loops of scheduled nests run on threads, from how much work each iteration is."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from ..analysis.operations import operations_of_kinds
from ..analysis.plans.threads import chosen_for_threads, pays
from ..dialects import loop
from ..dialects.loop import LoopKind
from ..targets.target import Target
from ..transforms.step_support.handles import LoopHandle
from ..transforms.step_support.nest import loops_of
from ..transforms.step_support.trip_count import TripCount
from .session import Session

COPYING = 16
"""Multiply-adds in the time of an element that is copied."""


def run_on_threads(
    s: Session, target: Target, seconds: float | None, without: Collection[LoopHandle] = ()
) -> None:
    """
    Run each nest of a contraction's function, which takes one core so many seconds, on threads that is worth it, copies of
    operands included; none where its time is not known.

    Loops `without`, and their copies, stay serial: a line at the border of their iterations would be written by
    both threads.
    """
    if seconds is None:
        return
    serial = {copy.op for handle in without for copy in handle.copies}
    tops = top_loops(s)
    computed = sum(iterations(s, op) for op in tops if not _is_copy(op))
    each = seconds / max(computed, 1)
    for op in _within_sums(tops):
        own = iterations(s, op) * each * (COPYING if _is_copy(op) else 1)
        if pays(own):
            parallel(s, target, op, own, serial)


def _is_copy(op: loop.ForOp) -> bool:
    """Whether a nest sums nothing up."""
    loops = (op, *operations_of_kinds(op, {loop.ForOp}))
    return not any(
        isinstance(inner, loop.ForOp) and inner.kind.data is LoopKind.REDUCTION for inner in loops
    )


def _within_sums(loops: Iterable[loop.ForOp]) -> Iterator[loop.ForOp]:
    """The loops, or in the place of one over blocks of a sum those in its body: each block has its own team."""
    for op in loops:
        inner = loops_of(op.regions[0].block)
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
    inner = loops_of(for_op.regions[0].block)
    return count * (sum(iterations(s, op) for op in inner) if inner else 1)


def _trips(s: Session, for_op: loop.ForOp) -> tuple[int, int | None]:
    """The least and the greatest number of iterations."""
    count = for_op.constant_trip_count()
    return (count, count) if count is not None else TripCount(s.nest, for_op).range()


def parallel(
    s: Session,
    target: Target,
    for_op: loop.ForOp,
    seconds: float,
    serial: Collection[loop.ForOp] = (),
) -> None:
    """
    Run a nest that takes one core so many seconds on threads: that of its loops with which it takes least. Loops
    that are `serial` are left out.
    """
    free = _free_loops(s, for_op)
    least = [_trips(s, op)[0] for op in free]
    work, around, shares = max(iterations(s, for_op), 1), 1, list[float]()
    for op, trips in zip(free, least, strict=True):
        shares.append(0.0 if op in serial else min(around * iterations(s, op) / work, 1.0))
        around *= trips
    chosen = chosen_for_threads(least, seconds, target, shares)
    if chosen is not None:
        s.parallel(s.handle(free[chosen]))


def _free_loops(s: Session, for_op: loop.ForOp | None) -> list[loop.ForOp]:
    """The loops from this one inwards, where most of the work is, as long as they are parallel."""
    found: list[loop.ForOp] = []
    while for_op is not None and for_op.kind.data is LoopKind.PARALLEL and for_op.mode is None:
        found.append(for_op)
        inner = loops_of(for_op.regions[0].block)
        if len(inner) > 1:
            inner = [max(inner, key=lambda op: iterations(s, op))]
        for_op = next(iter(inner), None)
    return found
