"""The rule for threads: from how much work they pay, and which loops of a nest have as much for each."""

from __future__ import annotations

from ..dialects import loop
from ..dialects.loop import LoopKind
from ..dialects.schedule.steps import Parallel
from ..targets.target import Target
from .session import Session

PARALLEL_WORK = 1 << 20
"""Multiply-adds from which threads pay: about ten microseconds of one core, several times a team's start."""

PARALLEL_BYTES = 1 << 19
"""Memory traffic from which threads pay: tens of microseconds of one core."""

MANY = 8
"""Iterations for each thread from which it matters little that one has one more."""


def team(target: Target) -> int:
    """The threads that a schedule deals its work to; it is the same for fewer."""
    return max(target.cores, 2)


def top_loops(session: Session) -> list[loop.ForOp]:
    """The outermost loops of the function, in order."""
    block = session.nest.function.body.block
    return [op for op in block.ops if isinstance(op, loop.ForOp)]


def iterations(session: Session, for_op: loop.ForOp) -> int:
    """How often the innermost loops inside run their bodies, at most: their work, in multiply-adds."""
    count = for_op.constant_trip_count()
    if count is None:
        count = session.trips(for_op.loop_name.data)[1] or 0
    inner = [op for op in for_op.body.block.ops if isinstance(op, loop.ForOp)]
    return count * (sum(iterations(session, op) for op in inner) if inner else 1)


def parallel(session: Session, target: Target, for_op: loop.ForOp, without: str = "") -> None:
    """
    Run a nest on threads: the outermost of its loops that has many iterations for each thread, or as many for
    all; without one, the outermost that has one for each. Loops made of the one called `without` stay serial.
    """
    threads = team(target)
    names = [
        n for n in _free_loops(session, for_op) if not without or not n.startswith(f"{without}.")
    ]
    free = [(name, session.trips(name)[0]) for name in names]
    enough = [(name, trips) for name, trips in free if trips >= threads]
    even = [n for n, trips in enough if trips >= MANY * threads or trips % threads == 0]
    chosen = even or [name for name, _ in enough]
    if chosen:
        session.apply(Parallel(session.named(chosen[0])))


def _free_loops(session: Session, for_op: loop.ForOp | None) -> list[str]:
    """The loops from this one inwards, where most of the work is, as long as they are parallel."""
    names: list[str] = []
    while for_op is not None and for_op.kind.data is LoopKind.PARALLEL and for_op.mode is None:
        names.append(for_op.loop_name.data)
        inner = [op for op in for_op.body.block.ops if isinstance(op, loop.ForOp)]
        for_op = max(inner, key=lambda op: iterations(session, op), default=None)
    return names
