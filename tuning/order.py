"""The rule for the order of a nest's loops: neighbours in memory innermost, sums kept in the nearest cache."""

from __future__ import annotations

from contextlib import suppress
from math import prod

from ..dialects import loop
from ..dialects.loop import LoopKind
from ..dialects.schedule.steps import Reorder, Split, UnrollAndJam
from ..runtime.target import Target
from ..transforms.schedule.refusal import Refusal
from .facts import PerfectNest, cache_bytes, element_bytes, lanes, perfect_nest, stride_along
from .session import Session

JAMMED = 4
"""Iterations of a summation that are added up in registers before they are added to memory."""


def put_in_order(session: Session, target: Target) -> None:
    """Order the loops of each nest at the function's top."""
    for nest in _nests(session):
        if not nest.is_flat or nest.extents is None or len(nest.loops) < 2:
            continue
        with suppress(Refusal):
            if _moves_across(nest):
                _tile(session, target, nest)
            else:
                _stride_one_innermost(session, nest)


def _nests(session: Session) -> list[PerfectNest]:
    block = session.nest.function.body.block
    return [perfect_nest(op) for op in block.ops if isinstance(op, loop.ForOp)]


def _score(nest: PerfectNest, for_op: loop.ForOp) -> tuple[int, int]:
    """How many accesses are of neighbours or of one element in following iterations; how many stores."""
    near = [stride_along(access, for_op) in (0, 1) for access in (*nest.loads, *nest.stores)]
    return sum(near), sum(stride_along(store, for_op) == 1 for store in nest.stores)


def _stride_one_innermost(session: Session, nest: PerfectNest) -> None:
    best = max(nest.loops, key=lambda for_op: _score(nest, for_op))
    if _score(nest, best) <= _score(nest, nest.loops[-1]):
        return
    others = [for_op for for_op in nest.loops if for_op is not best]
    order = [for_op.loop_name.data for for_op in (*others, best)]
    session.apply(Reorder(session.named(nest.names[0]), tuple(order)))


def _moves_across(nest: PerfectNest) -> bool:
    """Whether what is read along one loop is written along another, as in a transposition."""
    loops = nest.loops
    if len(nest.stores) != 1 or any(f.kind.data is not LoopKind.PARALLEL for f in loops):
        return False
    written = [f for f in loops if stride_along(nest.stores[0], f) == 1]
    across = [
        load
        for load in nest.loads
        for f in loops
        if stride_along(load, f) == 1 and f not in written
    ]
    return bool(written) and len(across) * 2 > len(nest.loads)


def _tile(session: Session, target: Target, nest: PerfectNest) -> None:
    """Squares of a few vectors' length: of each line that is fetched all elements are used."""
    store = nest.stores[0]
    written = next(f for f in nest.loops if stride_along(store, f) == 1)
    read = next(
        f
        for f in nest.loops
        for load in nest.loads
        if stride_along(load, f) == 1 and f is not written
    )
    side = 2 * lanes(target, element_bytes(store.buffer))
    rows, columns = (f.loop_name.data for f in (read, written))
    for for_op, name in ((read, rows), (written, columns)):
        if (for_op.constant_trip_count() or 0) <= side:
            return
        session.apply(
            Split(session.named(name), side, f"{name}.tile", f"{name}.inner", tail="guard")
        )
    others = [f.loop_name.data for f in nest.loops if f not in (read, written)]
    order = (*others, f"{rows}.tile", f"{columns}.tile", f"{rows}.inner", f"{columns}.inner")
    first = next(n for n in _names_around(session, f"{columns}.inner"))
    session.apply(Reorder(session.named(first), order))


def _names_around(session: Session, name: str) -> list[str]:
    """The loops of the nest that the loop is in, outermost first."""
    found: list[str] = []
    op = session.loop(name)
    while isinstance(op, loop.ForOp):
        found.insert(0, op.loop_name.data)
        parent = op.parent_op()
        op = parent if isinstance(parent, loop.ForOp) else None
    return found


def jam_sums(session: Session, target: Target) -> None:
    """
    Where a summation runs around the loop over its results: block the results so that they stay in L1,
    and add several iterations up before they are added to what is there.
    """
    for nest in _nests(session):
        if len(nest.loops) < 2 or not nest.is_flat or len(nest.stores) != 1 or nest.extents is None:
            continue
        outer, inner = nest.loops[-2:]
        store = nest.stores[0]
        if (
            outer.kind.data is not LoopKind.REDUCTION
            or inner.kind.data is not LoopKind.PARALLEL
            or stride_along(store, outer) != 0
            or stride_along(store, inner) != 1
            or (outer.constant_trip_count() or 0) < 2 * JAMMED
        ):
            continue
        with suppress(Refusal):
            _block_results(session, target, nest)
            name = session.named(outer.loop_name.data)
            session.apply(UnrollAndJam(name, JAMMED, tail="peel"))


def _block_results(session: Session, target: Target, nest: PerfectNest) -> None:
    outer, inner = nest.loops[-2:]
    name = inner.loop_name.data
    most = cache_bytes(target, 1) // 4 // element_bytes(nest.stores[0].buffer)
    if prod(nest.extents or ()) == 0 or (inner.constant_trip_count() or 0) <= 2 * most:
        return
    session.apply(Split(session.named(name), most, f"{name}.part", f"{name}.each"))
    around = [f.loop_name.data for f in nest.loops[:-2]]
    order = (*around, f"{name}.part", outer.loop_name.data, f"{name}.each")
    session.apply(Reorder(session.named((around or [outer.loop_name.data])[0]), order))
