"""The rule for the copies that pack operands: in vectors, transposed in registers where that is needed."""

from __future__ import annotations

from contextlib import suppress

from ..dialects import loop
from ..dialects.schedule.steps import IndexSetSplit, Peel, Reorder, Simplify, Split, Vectorize
from ..transforms.step_support.refusal import Refusal
from .facts import perfect_nest, stride_along
from .session import Session


def pack(
    session: Session, copy: str, stored: str, width: int, panels: tuple[str, str] | None = None
) -> None:
    """
    Vectorize a copy, whose loops' names begin with `copy`; along `stored` it stores neighbours.

    Where it reads neighbours along another loop, blocks of `width` are transposed in registers. `panels`
    are the loop around and the condition under which an iteration of it copies no padding.
    """
    across = session.loop(stored)
    if across is None:
        return
    read, is_guarded = read_along(session, stored), _is_guarded(across)
    transposes = read not in (None, stored)
    with suppress(Refusal):
        if read is not None and transposes:
            _tile(session, stored, read, width)
        if panels is not None and is_guarded:
            session.apply(IndexSetSplit(session.named(panels[0]), panels[1]))
        session.apply(Simplify(session.name))
    for for_op in session.nest.loops():
        name = for_op.loop_name.data
        if name.startswith(copy) and _is_innermost(for_op):
            is_rest = panels is not None or name.endswith(".back")
            whole = not (is_rest and _is_guarded(for_op))
            around = _lanes_around(for_op, width) if transposes else []
            # Of what is not whole and runs seldom, only that one: the code stays small.
            names = [for_op.loop_name.data] if whole or not around else []
            with suppress(Refusal):
                for lane in [*names, *around]:
                    session.apply(Vectorize(session.named(lane)))


def _is_guarded(for_op: loop.ForOp) -> bool:
    return any(isinstance(op, loop.IfOp) for op in for_op.body.walk())


def read_along(session: Session, stored: str) -> str | None:
    """The loop, `stored` or one inside, along which a copy reads neighbours; None when there is none."""
    across = session.loop(stored)
    if across is None:
        return None
    loads = [op for op in across.body.walk() if isinstance(op, loop.LoadOp)]
    for for_op in perfect_nest(across).loops:
        if len(loads) == 1 and stride_along(loads[0], for_op) == 1:
            return for_op.loop_name.data
    return None


def _tile(session: Session, stored: str, along: str, width: int) -> None:
    """`for stored: for along` → `for along.block: for along.lane: for stored`"""
    across = session.loop(stored)
    assert across is not None
    inside = [f.loop_name.data for f in perfect_nest(across).loops[1:]]
    inside.remove(along)
    count = session.trips(along)[0]
    if count > width:
        block, lane = f"{along}.block", f"{along}.lane"
        session.apply(Split(session.named(along), width, block, lane))
        session.apply(Reorder(session.named(stored), (*inside, block, lane, stored)))
        if count % width:
            session.apply(Peel(session.named(block), back=1))
    else:
        session.apply(Reorder(session.named(stored), (*inside, along, stored)))


def _is_innermost(op: loop.ForOp) -> bool:
    return not any(isinstance(inner, loop.ForOp) for inner in op.body.walk())


def _lanes_around(innermost: loop.ForOp, width: int) -> list[str]:
    """The loop around one over lanes, when its iterations fit into lanes too."""
    around = innermost.parent_op()
    if isinstance(around, loop.ForOp) and 1 < (around.constant_trip_count() or 0) <= width:
        return [around.loop_name.data]
    return []
