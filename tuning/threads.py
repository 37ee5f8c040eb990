"""Which loops of scheduled nests run on threads, from how much work each iteration is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from math import prod

from xdsl.ir import SSAValue

from ..analysis.memory_plan import bytes_of
from ..analysis.operations import operations_of_kinds
from ..analysis.plans.threads import chosen_for_threads, pays
from ..dialects import loop
from ..dialects.loop import LoopKind
from ..dialects.shaped import memref_type
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
    tops, work = top_loops(s), _Work(s)
    computed = sum(work.of(op) for op in tops if not _is_copy(op))
    each = seconds / max(computed, 1)
    for op in _within_sums(tops):
        own = work.of(op) * each * (COPYING if _is_copy(op) else 1)
        if pays(own):
            _parallel(s, work, target, op, own, serial)


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


class _Work:
    """How often loops run, which stay as they are while they are put on threads."""

    def __init__(self, s: Session):
        self._nest = s.nest
        self._of: dict[loop.ForOp, int] = {}
        self._trips: dict[loop.ForOp, tuple[int, int | None]] = {}

    def of(self, for_op: loop.ForOp) -> int:
        """How often the innermost loops inside run their bodies, at most: their work, in multiply-adds."""
        found = self._of.get(for_op)
        if found is None:
            inner = loops_of(for_op.regions[0].block)
            count = self.trips(for_op)[1] or 0
            found = self._of[for_op] = count * (sum(map(self.of, inner)) if inner else 1)
        return found

    def trips(self, for_op: loop.ForOp) -> tuple[int, int | None]:
        """The least and the greatest number of iterations."""
        found = self._trips.get(for_op)
        if found is None:
            count = for_op.constant_trip_count()
            is_number = count is not None
            found = (count, count) if is_number else TripCount(self._nest, for_op).range()
            self._trips[for_op] = found
        return found


def _parallel(
    s: Session,
    work: _Work,
    target: Target,
    for_op: loop.ForOp,
    seconds: float,
    serial: Collection[loop.ForOp] = (),
) -> None:
    """
    Run a nest that takes one core so many seconds on threads: that of its loops with which it takes least. Loops
    that are `serial` are left out.
    """
    free = _free_loops(work, for_op)
    least = [work.trips(op)[0] for op in free]
    whole, around, shares = max(work.of(for_op), 1), 1, list[float]()
    for op, trips in zip(free, least, strict=True):
        shares.append(0.0 if op in serial else min(around * work.of(op) / whole, 1.0))
        around *= trips
    fetching = [_read_by_all(work, for_op, op) / target.rates.beyond_l2.core for op in free]
    chosen = chosen_for_threads(least, seconds, target, shares, fetching)
    if chosen is not None:
        s.parallel(s.handle(free[chosen]))


def _read_by_all(work: _Work, nest: loop.ForOp, for_op: loop.ForOp) -> int:
    """
    The bytes of buffers from outside of a nest that each iteration of one of its loops reads the same part of: no more of a buffer
    than the iterations of the loops that its loads move with.
    """
    variable, inside = for_op.regions[0].block.args[0], operations_of_kinds(nest, {loop.ForOp})
    loops = [op for op in (nest, *inside) if isinstance(op, loop.ForOp)]
    trips: dict[SSAValue, int] = {
        op.regions[0].block.args[0]: work.trips(op)[1] or 0 for op in loops
    }
    moving, elements = set[SSAValue](), Counter[SSAValue]()
    for load in operations_of_kinds(nest, {loop.LoadOp}):
        if isinstance(load, loop.LoadOp) and not nest.is_ancestor(load.buffer.owner):
            moving |= {load.buffer} if variable in load.operands_ else set()
            elements[load.buffer] += prod(trips.get(value, 1) for value in {*load.operands_})
    read = 0
    for buffer, count in elements.items():
        type_ = memref_type(buffer)
        if buffer not in moving and type_.has_static_shape():
            whole = bytes_of(type_)
            read += min(count * whole // max(prod(type_.get_shape()), 1), whole)
    return read


def _free_loops(work: _Work, for_op: loop.ForOp | None) -> list[loop.ForOp]:
    """The loops from this one inwards, where most of the work is, as long as they are parallel."""
    found: list[loop.ForOp] = []
    while for_op is not None and for_op.kind.data is LoopKind.PARALLEL and for_op.mode is None:
        found.append(for_op)
        inner = loops_of(for_op.regions[0].block)
        if len(inner) > 1:
            inner = [max(inner, key=work.of)]
        for_op = next(iter(inner), None)
    return found
