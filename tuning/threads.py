"""Which loops of scheduled nests run on threads, from how much work each iteration is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from math import prod

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.traits import is_side_effect_free

from ..analysis.memory_plan import bytes_of
from ..analysis.operations import body_of, operations_in, operations_of, operations_of_kinds
from ..analysis.plans.cost import kept_bytes
from ..analysis.plans.threads import (
    AWAKE_SECONDS,
    CLAIMS,
    TEAM_SECONDS,
    least_seconds,
    line_seconds,
    pays,
    seconds_on_threads,
    seconds_outermost,
    team,
)
from ..dialects import loop
from ..dialects.loop import LoopKind, RunMode
from ..dialects.shaped import memref_type
from ..targets.core import LINE_BYTES
from ..targets.target import Target
from ..transforms.step_support.handles import LoopHandle
from ..transforms.step_support.nest import loops_of
from ..transforms.step_support.trip_count import TripCount
from .outermost import can_be_parted, make_outermost
from .session import Session

BLOCKS = 4
"""Blocks of rows for each thread, at most: one that is late leaves some of its own to others."""

COPYING = 16
"""Multiply-adds in the time of an element that is copied."""

LONG = 10 * TEAM_SECONDS
"""Of an iteration on threads: of shorter ones a thread that is late leaves enough to others."""


def run_on_threads(
    s: Session,
    target: Target,
    seconds: float | None,
    without: Collection[LoopHandle] = (),
    *,
    keeps_order: bool = False,
) -> None:
    """
    Run each nest of a contraction's function, which takes one core so many seconds, on threads that is worth it, copies of
    operands included; none where its time is not known, or where the program leaves it to one thread.

    Loops `without`, and their copies, stay serial: a line at the border of their iterations would be written by
    both threads. With `keeps_order`, no loop is made the outermost one for this.
    """
    if seconds is None or is_alone(s):
        return
    serial = {copy.op for handle in without for copy in handle.copies}
    tops, work = top_loops(s), _Work(s, keeps_order)
    computed = sum(work.of(op) for op in tops if not work.is_copy(op))
    each = seconds / max(computed, 1)
    for op in _within_sums(tops):
        own = work.of(op) * each * (COPYING if work.is_copy(op) else 1)
        if pays(own + _waiting_alone(work, target, op)):
            _parallel(s, work, target, op, own, serial)
    if work.shared:
        _beside_copies(s, work, target)


def is_alone(s: Session) -> bool:
    """Whether the program leaves all of the kernel to one thread."""
    return loop.ALONE in s.nest.function.attributes


def _beside_copies(s: Session, work: _Work, target: Target) -> None:
    """
    Run what writes the border of a copy on threads as the copy is: each of its lines is in the cache of one of them, and the
    others would wait for it.
    """
    tops = [op for op in top_loops(s) if op.kind.data is LoopKind.PARALLEL]
    dealt = {
        (buffer, work.trips(op)) for op in tops if _runs_on_threads(op) for buffer in _written(op)
    }
    for op in tops:
        if not _is_on_threads(op) and any(
            (buffer, work.trips(op)) in dealt for buffer in _written(op)
        ):
            lines = LINE_BYTES * work.of(op) * (1 - 1 / team(target))
            if line_seconds(lines, target) > AWAKE_SECONDS:
                s.parallel(s.handle(op))


def _written(nest: loop.ForOp) -> set[SSAValue]:
    stores = operations_of_kinds(nest, {loop.StoreOp})
    return {op.buffer for op in stores if isinstance(op, loop.StoreOp)}


def _within_sums(loops: Iterable[loop.ForOp]) -> Iterator[loop.ForOp]:
    """The loops, or in the place of one over blocks of a sum those in its body: each block has its own team."""
    for op in loops:
        inner = loops_of(body_of(op))
        if op.kind.data is LoopKind.PARALLEL or not inner:
            yield op
        else:
            yield from _within_sums(inner)


def top_loops(s: Session) -> list[loop.ForOp]:
    """The outermost loops of the function, in order."""
    return loops_of(body_of(s.nest.function))


def _shared(s: Session) -> dict[SSAValue, int]:
    function = s.nest.function
    marks = function.arg_attrs.data if function.arg_attrs else ()
    found = zip(
        body_of(function).args, (mark.data.get(loop.SHARED) for mark in marks), strict=False
    )
    return {value: said.value.data for value, said in found if isinstance(said, IntegerAttr)}


class _Work:
    """How often loops run, which stay as they are while they are put on threads."""

    def __init__(self, s: Session, keeps_order: bool = False):
        self.keeps_order = keeps_order
        self._nest = s.nest
        self.shared = _shared(s)
        """the arguments that the program's threads share, with the dimension along which they do"""
        self._copies: dict[int, bool] = {}
        """by the identity of each nest"""
        self._of: dict[loop.ForOp, int] = {}
        self._trips: dict[loop.ForOp, tuple[int, int | None]] = {}
        self._loads: dict[loop.ForOp, list[tuple[SSAValue, set[SSAValue], int]]] = {}

    def is_copy(self, nest: loop.ForOp) -> bool:
        """Whether a nest sums nothing up."""
        found = self._copies.get(id(nest))
        if found is None:
            loops = [op for op in (nest, *operations_in(nest)) if type(op) is loop.ForOp]
            found = all(op.kind.data is not LoopKind.REDUCTION for op in loops)
            self._copies[id(nest)] = found
        return found

    def of(self, for_op: loop.ForOp) -> int:
        """How often the innermost loops inside run their bodies, at most: their work, in multiply-adds."""
        found = self._of.get(for_op)
        if found is None:
            inner = loops_of(body_of(for_op))
            count = self.trips(for_op)[1] or 0
            found = self._of[for_op] = count * (sum(map(self.of, inner)) if inner else 1)
        return found

    def trips_by_variable(self, nest: loop.ForOp) -> dict[SSAValue, int]:
        """The greatest number of iterations of each loop of a nest, by its variable."""
        inside = operations_of_kinds(nest, {loop.ForOp})
        loops = [op for op in (nest, *inside) if isinstance(op, loop.ForOp)]
        return {body_of(op).args[0]: self.trips(op)[1] or 0 for op in loops}

    def loads_from_outside(self, nest: loop.ForOp) -> list[tuple[SSAValue, set[SSAValue], int]]:
        """Of the loads in a nest from buffers that are not made in it: the buffer, the values that it moves with, and how often it runs."""
        found = self._loads.get(nest)
        if found is None:
            trips, found = self.trips_by_variable(nest), list[tuple[SSAValue, set[SSAValue], int]]()
            inside = operations_of_kinds(nest, {loop.LoadOp})
            loads = [load for load in inside if isinstance(load, loop.LoadOp)]
            buffers = dict.fromkeys([load.buffer for load in loads])
            made = {buffer for buffer in buffers if nest.is_ancestor(buffer.owner)}
            for load in loads:
                if load.buffer not in made:
                    values = set(load.operands_)
                    count = prod(trips.get(value, 1) for value in values)
                    found.append((load.buffer, values, count))
            self._loads[nest] = found
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
    waiting = [_waiting(work, target, for_op, op) for op in free]
    start = AWAKE_SECONDS if work.shared else TEAM_SECONDS
    found = seconds_on_threads(least, seconds, target, shares, waiting, start)
    if not work.shared or not found:
        chosen = least_seconds(found, seconds)
        if chosen is not None:
            _inside_on_threads(s, work, target, free[: chosen + 1], seconds, serial)
        return
    if work.keeps_order and _by_blocks_of_rows(s, target, free, least, seconds, found, waiting):
        return
    # One core alone would wait for what all others have.
    chosen = min(found, key=lambda number: (found[number], number))
    inside = [n for n in found if n and not work.keeps_order and can_be_parted(free[:n])]
    others = {
        n: _outermost(free[: n + 1], least[n], seconds, target, shares[n], waiting[n])
        for n in inside
    }
    inner = min(others, key=lambda number: others[number], default=chosen)
    if inner in others and others[inner] + TEAM_SECONDS < found[chosen]:
        _outermost_on_threads(s, target, free[: inner + 1], seconds, serial)
    else:
        _inside_on_threads(s, work, target, free[: chosen + 1], seconds, serial)


def _inside_on_threads(
    s: Session,
    work: _Work,
    target: Target,
    chain: Sequence[loop.ForOp],
    seconds: float,
    serial: Collection[loop.ForOp],
) -> None:
    """
    Run the last of several loops in each other on threads where it is, of a nest that takes one core so many seconds. What stands beside
    these loops, as copies and last rows do, would be left to one thread: it has teams of its own where it is worth them.
    """
    each = seconds / max(work.of(chain[0]), 1)
    for around, inside in pairwise(chain):
        for op in loops_of(body_of(around)):
            own = work.of(op) * each * (COPYING if work.is_copy(op) else 1)
            if op is not inside and pays(own):
                _parallel(s, work, target, op, own, serial)
    _in_short_iterations(s, work, target, chain[-1], each * work.of(chain[-1]), serial)


def _in_short_iterations(
    s: Session,
    work: _Work,
    target: Target,
    for_op: loop.ForOp,
    seconds: float,
    serial: Collection[loop.ForOp],
) -> None:
    """
    Run a loop, which takes one core so many seconds, on threads: as one with the loops in it where its own iterations are few and long. At the end
    a thread waits for what another one has claimed, and has nothing to take over where that has come late, or is slower, with its last iteration.
    """
    handle, trips = s.handle(for_op), work.trips(for_op)[0]
    while trips < CLAIMS * team(target) and seconds / max(trips, 1) > LONG:
        inner = _only_loop(handle.op)
        count = inner and inner.constant_trip_count()
        if not inner or not count or inner in serial or not _is_free(inner):
            break
        handle, trips = s.fuse(handle, s.handle(inner)).loop, trips * count
    s.parallel(handle)


def _only_loop(for_op: loop.ForOp) -> loop.ForOp | None:
    """The loop that is all of a loop's body but for arithmetic."""
    inner = loops_of(body_of(for_op))
    others = (op for op in operations_of(body_of(for_op)) if op not in inner)
    return inner[0] if len(inner) == 1 and all(map(_is_arithmetic, others)) else None


def _is_arithmetic(op: Operation) -> bool:
    return is_side_effect_free(op) or isinstance(op, loop.YieldOp)


def _by_blocks_of_rows(
    s: Session,
    target: Target,
    free: Sequence[loop.ForOp],
    trips: Sequence[int],
    seconds: float,
    found: Mapping[int, float],
    waiting: Sequence[float],
) -> bool:
    """
    Cut a loop inside of others into equal blocks and run these on threads, outside of all, where that takes less than each loop of
    `found` where it is: the order inside of a block is the one of the nest, and each block an image of its own for its windows.
    """
    others: dict[int, float] = {}
    for number in range(1, len(free)):
        if _blocks(trips[number], target) and can_be_parted(free[:number]):
            others[number] = seconds / team(target) + AWAKE_SECONDS + waiting[number]
    best = least_seconds(others, min(found.values()))
    if best is None:
        return False
    count = _blocks(trips[best], target)
    parts = s.cut(s.handle(free[best]), trips[best] // count, "block", "row", "perfect")
    make_outermost(s, [*free[:best], parts.outer.op])
    s.parallel(parts.outer)
    return True


def _blocks(trips: int, target: Target) -> int:
    """How many equal blocks of iterations there are for threads, as many for each, some for each where that goes; 0 where none."""
    threads = team(target)
    counts = (count * threads for count in range(BLOCKS, 0, -1))
    return next((count for count in counts if not trips % count), 0)


def _outermost(
    chain: Sequence[loop.ForOp],
    trips: int,
    seconds: float,
    target: Target,
    share: float,
    waiting: float,
) -> float:
    """What a nest takes with the last of several loops in each other on threads, as the outermost one."""
    beside = sum(len(loops_of(body_of(op))) - 1 for op in chain[:-1])
    return seconds_outermost(trips, seconds, target, share, waiting, beside)


def _outermost_on_threads(
    s: Session,
    target: Target,
    chain: Sequence[loop.ForOp],
    seconds: float,
    serial: Collection[loop.ForOp],
) -> None:
    """Run the last of several loops in each other on threads as the outermost one, and those that were beside it apart."""
    before = set(top_loops(s)) - {chain[0]}
    whole = _Work(s).of(chain[0])
    make_outermost(s, chain)
    work = _Work(s)
    share = work.of(chain[-1]) / max(whole, 1)
    _in_short_iterations(s, work, target, chain[-1], seconds * share, serial)
    for op in top_loops(s):
        own = seconds * work.of(op) / max(whole, 1)
        if op not in before and op is not chain[-1] and not _is_on_threads(op) and pays(own):
            _parallel(s, work, target, op, own, serial)


def _is_on_threads(nest: loop.ForOp) -> bool:
    return any(map(_runs_on_threads, (nest, *operations_of_kinds(nest, {loop.ForOp}))))


def _runs_on_threads(op: Operation) -> bool:
    return isinstance(op, loop.ForOp) and op.mode is not None and op.mode.data is RunMode.THREADS


def _waiting(work: _Work, target: Target, nest: loop.ForOp, for_op: loop.ForOp) -> float:
    """
    How long each thread waits where a loop is on threads: for what all iterations read, which one thread has made its part of
    before and gets the others' from their caches; and for lines of buffers that the program's threads share another way.
    """
    others = 1 - 1 / team(target)
    seconds = others * _read_by_all(work, nest, for_op) / target.rates.beyond_l2.core
    kept = _kept(nest, target) if work.shared else 0.0
    for buffer, dimension in work.shared.items():
        moved = _moved(nest, for_op, buffer)
        if moved and dimension not in moved:
            part = kept * _touched(work, nest, buffer) / team(target)
            seconds += line_seconds(others * part, target)
    return seconds


def _waiting_alone(work: _Work, target: Target, nest: loop.ForOp) -> float:
    """How long one thread would wait, which had all of a nest, for what the program's other threads have of the buffers that they share."""
    if not work.shared:
        return 0.0
    shared = sum(_touched(work, nest, buffer) for buffer in work.shared if _accesses(nest, buffer))
    return line_seconds(_kept(nest, target) * shared * (1 - 1 / team(target)), target)


def _touched(work: _Work, nest: loop.ForOp, buffer: SSAValue) -> int:
    """How many bytes of a buffer a nest reads or writes, at most: one of its accesses reaches all of them."""
    trips = work.trips_by_variable(nest)
    reached = max(
        prod(trips.get(value, 1) for value in {*op.operands_}) for op in _accesses(nest, buffer)
    )
    type_ = memref_type(buffer)
    whole = bytes_of(type_)
    return min(reached * whole // max(prod(type_.get_shape()), 1), whole)


def _accesses(nest: loop.ForOp, buffer: SSAValue) -> list[loop.LoadOp | loop.StoreOp]:
    found = operations_of_kinds(nest, {loop.LoadOp, loop.StoreOp})
    return [
        op for op in found if isinstance(op, loop.LoadOp | loop.StoreOp) and op.buffer is buffer
    ]


def _kept(nest: loop.ForOp, target: Target) -> float:
    """Which part of what all threads read and write stays in their caches until the next kernel."""
    found = operations_of_kinds(nest, {loop.LoadOp, loop.StoreOp})
    buffers = {op.buffer for op in found if isinstance(op, loop.LoadOp | loop.StoreOp)}
    arguments = (buffer for buffer in buffers if isinstance(buffer, BlockArgument))
    bytes_ = sum(bytes_of(memref_type(buffer)) for buffer in arguments)
    return min(kept_bytes(target.core.cache(2)) * team(target) / max(bytes_, 1), 1.0)


def _moved(nest: loop.ForOp, for_op: loop.ForOp, buffer: SSAValue) -> set[int]:
    """The dimensions of a buffer along which a loop moves what its nest reads and writes there."""
    variable, moved = body_of(for_op).args[0], set[int]()
    for op in _accesses(nest, buffer):
        used = [n for n, value in enumerate(op.operands_) if value is variable]
        for n, expr in enumerate(op.map.data.results):
            moved |= {n} if any(d in expr.used_dims() for d in used) else set()
    return moved


def _read_by_all(work: _Work, nest: loop.ForOp, for_op: loop.ForOp) -> int:
    """
    The bytes of buffers from outside of a nest that each iteration of one of its loops reads the same part of: no more of a buffer
    than the iterations of the loops that its loads move with.
    """
    variable = body_of(for_op).args[0]
    moving, elements = set[SSAValue](), Counter[SSAValue]()
    for buffer, values, count in work.loads_from_outside(nest):
        moving |= {buffer} if variable in values else set()
        elements[buffer] += count
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
    while for_op is not None and _is_free(for_op):
        found.append(for_op)
        inner = loops_of(body_of(for_op))
        if len(inner) > 1:
            inner = [max(inner, key=work.of)]
        for_op = next(iter(inner), None)
    return found


def _is_free(for_op: loop.ForOp) -> bool:
    return for_op.kind.data is LoopKind.PARALLEL and for_op.mode is None
