"""The rule for the order of a nest's loops: neighbours in memory innermost, sums kept in the nearest cache."""

from __future__ import annotations

from contextlib import suppress
from math import isqrt, prod

from ..dialects import loop
from ..dialects.loop import LoopKind
from ..dialects.schedule.steps import (
    Peel,
    Reorder,
    Rfactor,
    Simplify,
    Split,
    UnrollAndJam,
    Vectorize,
)
from ..targets.target import Target
from ..transforms.step_support.refusal import Refusal
from .facts import (
    PerfectNest,
    cache_bytes,
    element_bytes,
    lanes,
    perfect_nest,
    stride_along,
    sums_in_any_order,
)
from .session import Session
from .threads import PARALLEL_BYTES, team
from .traffic import traffic

JAMMED = 4
"""Iterations of a summation that are added up in registers before they are added to memory."""

MOST_SIDE = 16
"""The largest square that is transposed in registers: it takes as many of them, and there are 32 at most."""


Square = tuple[str, str]
"""What the names of the loops begin with along which a transposition reads and writes neighbours."""


def put_in_order(session: Session, target: Target) -> list[Square]:
    """Order the loops of each nest at the function's top; the transpositions found."""
    squares: list[Square] = []
    for nest in _nests(session):
        if not nest.is_flat or nest.extents is None or len(nest.loops) < 2:
            continue
        with suppress(Refusal):
            if _moves_across(nest):
                squares.append(_tile(session, target, nest))
            else:
                _stride_one_innermost(session, nest)
    return squares


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
        load for load in nest.loads if any(_is_across(load, f, w) for f in loops for w in written)
    ]
    return bool(written) and len(across) * 2 > len(nest.loads)


def _is_across(load: loop.LoadOp, read: loop.ForOp, written: loop.ForOp) -> bool:
    """Whether a load is of neighbours along one loop, and neither that nor of one element along the other."""
    return stride_along(load, read) == 1 and stride_along(load, written) not in (0, 1)


def _tile(session: Session, target: Target, nest: PerfectNest) -> Square:
    """Squares of vectors, transposed in registers, in blocks of which both sides stay in L2."""
    store = nest.stores[0]
    # Of axes of one element there are several.
    written, read = next(
        (w, f)
        for w in nest.loops
        if stride_along(store, w) == 1
        for f in nest.loops
        if any(_is_across(load, f, w) for load in nest.loads)
    )
    names = read.loop_name.data, written.loop_name.data
    bytes_ = element_bytes(store.buffer)
    side = min(lanes(target, bytes_), target.vector_registers // 2, MOST_SIDE)
    counts = {f.loop_name.data: f.constant_trip_count() or 0 for f in (read, written)}
    tiled = [name for name, count in counts.items() if count > side]
    for name in tiled:
        session.apply(Split(session.named(name), side, f"{name}.tile", f"{name}.lane"))
    others = [f.loop_name.data for f in nest.loops if f not in (read, written)]
    inner = [f"{name}.lane" if name in tiled else name for name in counts]
    first = _names_around(session, inner[0])[0]
    order = (*others, *(f"{name}.tile" for name in tiled), *inner)
    session.apply(Reorder(session.named(first), order))
    ragged = [name for name in reversed(tiled) if counts[name] % side]
    for name in ragged:
        session.apply(Peel(session.named(f"{name}.tile"), back=1))
    session.apply(Simplify(session.name))
    across = isqrt(cache_bytes(target, 2) // (4 * bytes_)) // side
    if not ragged and all(counts[name] > 2 * across * side for name in counts):
        _block_tiles(session, tiled, across)
    return names


def _block_tiles(session: Session, tiled: list[str], across: int) -> None:
    for name in tiled:
        tile = f"{name}.tile"
        session.apply(Split(session.named(tile), across, f"{name}.block", tile))
    order = tuple(f"{name}.{part}" for part in ("block", "tile") for name in tiled)
    session.apply(Reorder(session.named(order[0]), order))


def transpose_in_registers(session: Session, square: Square) -> None:
    """Vectorize the loops over lanes, two by two: those of what is read around those of what is written."""
    for for_op in session.nest.loops():
        around = for_op.parent_op()
        if not isinstance(around, loop.ForOp) or for_op.mode is not None:
            continue
        both = (around, for_op)
        if all(_is_part(f, name) for f, name in zip(both, square, strict=True)) and _is_innermost(
            for_op
        ):
            with suppress(Refusal):
                session.apply(Vectorize(session.named(for_op.loop_name.data)))
                session.apply(Vectorize(session.named(around.loop_name.data)))


def _is_part(for_op: loop.ForOp, name: str) -> bool:
    """Whether the loop is over lanes, of the loop that was called so."""
    own, count = for_op.loop_name.data, for_op.constant_trip_count()
    return count is not None and count <= MOST_SIDE and (own == name or own.startswith(f"{name}."))


def _is_innermost(for_op: loop.ForOp) -> bool:
    return not any(isinstance(op, loop.ForOp) for op in for_op.body.walk())


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
    Where a summation runs around the loop over its results: give each thread a part of it, block the
    results so that they stay in L1, and add several iterations up before they are added to what is there.
    """
    for nest in _sums_around_results(session):
        with suppress(Refusal):
            _deal_summation(session, target, nest)
            session.apply(Simplify(session.name))
    for nest in _sums_around_results(session):
        with suppress(Refusal):
            _jam(session, target, nest)
            session.apply(Simplify(session.name))


def _jam(session: Session, target: Target, nest: PerfectNest) -> None:
    outer, inner = nest.loops[-2:]
    most = _near_results(target, nest)
    is_long = _is_long(inner, most)
    if is_long:
        _block_results(session, target, nest)
    if (outer.constant_trip_count() or 0) >= 2 * JAMMED:
        session.apply(UnrollAndJam(session.named(outer.loop_name.data), JAMMED, tail="peel"))
    if is_long and (inner.constant_trip_count() or 0) % most:
        session.apply(Peel(session.named(f"{inner.loop_name.data}.part"), back=1))


def _sums_around_results(session: Session) -> list[PerfectNest]:
    return [nest for nest in _nests(session) if _is_sum_around_results(nest)]


def _is_sum_around_results(nest: PerfectNest) -> bool:
    if (
        len(nest.loops) < 2
        or not nest.is_flat
        or len(nest.stores) != 1
        or not prod(nest.extents or [0])
    ):
        return False
    outer, inner = nest.loops[-2:]
    store = nest.stores[0]
    return (
        outer.kind.data is LoopKind.REDUCTION
        and inner.kind.data is LoopKind.PARALLEL
        and stride_along(store, outer) == 0
        and stride_along(store, inner) == 1
        and (outer.constant_trip_count() or 0) >= 2 * JAMMED
    )


def _near_results(target: Target, nest: PerfectNest) -> int:
    """How many results stay in L1 beside what is added to them."""
    return cache_bytes(target, 1) // 4 // element_bytes(nest.stores[0].buffer)


def _is_long(for_op: loop.ForOp, most: int) -> bool:
    return (for_op.constant_trip_count() or 0) > 2 * most


def _deal_summation(session: Session, target: Target, nest: PerfectNest) -> None:
    """Where no other loop has an iteration for each thread: sums of as many parts, added up afterwards."""
    outer, inner = nest.loops[-2:]
    around, threads = prod((nest.extents or [])[:-2]), team(target)
    count, name = outer.constant_trip_count() or 0, outer.loop_name.data
    if (
        traffic(session) < PARALLEL_BYTES
        or around >= threads
        or _is_long(inner, _near_results(target, nest))
        or count < 2 * JAMMED * threads
        or not sums_in_any_order(nest.stores)
    ):
        return
    part, each = f"{name}.part", f"{name}.each"
    session.apply(Split(session.named(name), count // threads, part, each, tail="peel"))
    before = {op.loop_name.data for op in session.nest.loops()}
    session.apply(Rfactor(session.named(part), axis=0))
    made = [op for op in session.nest.loops() if op.loop_name.data not in before]
    for combined in (f for op in made if len(f := perfect_nest(op).loops) == 2):
        if combined[1].kind.data is LoopKind.REDUCTION:
            names = [op.loop_name.data for op in reversed(combined)]
            session.apply(Reorder(session.named(names[1]), tuple(names)))


def _block_results(session: Session, target: Target, nest: PerfectNest) -> None:
    """Parts of the results that stay in L1, of one size but for the last."""
    outer, inner = nest.loops[-2:]
    name = inner.loop_name.data
    part, each = f"{name}.part", f"{name}.each"
    session.apply(Split(session.named(name), _near_results(target, nest), part, each))
    around = [f.loop_name.data for f in nest.loops[:-2]]
    order = (*around, part, outer.loop_name.data, each)
    session.apply(Reorder(session.named((around or [outer.loop_name.data])[0]), order))
