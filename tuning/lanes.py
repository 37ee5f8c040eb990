"""The rule for innermost loops: run them in vector lanes, blocks of several vectors at a time."""

from __future__ import annotations

from xdsl.dialects import arith, math
from xdsl.dialects.func import CallOp

from ..dialects import loop
from ..dialects.loop import LoopKind
from ..dialects.schedule.steps import Peel, Rfactor, Simplify, Split, Vectorize
from ..runtime.target import Target
from ..transforms.schedule.refusal import Refusal
from .facts import Access, element_bytes, lanes, stride_along
from .session import Session

VECTORS = 4
"""Vectors a block of an element-wise loop or a reduction has: enough to hide an addition's latency."""

VECTORS_OF_FUNCTIONS = 2
"""The same where the body has exponentials and their like, each of which needs several registers."""


def vectorize_innermost(session: Session, target: Target) -> int:
    """Vectorize every innermost loop that can be; how many were."""
    names = [op.loop_name.data for op in session.nest.loops() if _is_innermost(op)]
    return sum(vectorize_loop(session, target, name) for name in names)


def _is_innermost(op: loop.ForOp) -> bool:
    return not any(isinstance(inner, loop.ForOp | CallOp) for inner in op.body.walk())


def vectorize_loop(session: Session, target: Target, name: str) -> bool:
    """Run one innermost loop in lanes; whether that was possible and worth it."""
    for_op = session.loop(name)
    if for_op is None or for_op.mode is not None or for_op.kind.data is LoopKind.SERIAL:
        return False
    accesses = [op for op in for_op.body.walk() if isinstance(op, loop.LoadOp | loop.StoreOp)]
    if not accesses or not _moves_well(accesses, for_op):
        return False
    width = _width(target, for_op, accesses)
    count = for_op.constant_trip_count()
    if width < 2 or count is None or count < 2:
        return False
    reduces = for_op.kind.data is LoopKind.REDUCTION
    if count <= width:
        return _short(session, name, count)
    return _reduction(session, name, width) if reduces else _blocks(session, name, width)


def _moves_well(accesses: list[Access], for_op: loop.ForOp) -> bool:
    """
    Whether neighbouring iterations store to neighbours, or all update one element, and most loads are of
    neighbours or one element too.
    """
    strides = {access: stride_along(access, for_op) for access in accesses}
    stores = [access for access in accesses if isinstance(access, loop.StoreOp)]
    wanted = (0,) if for_op.kind.data is LoopKind.REDUCTION else (1,)
    if not stores or any(strides[store] not in wanted for store in stores):
        return False
    loads = [access for access in accesses if isinstance(access, loop.LoadOp)]
    return sum(strides[load] in (0, 1) for load in loads) * 2 >= len(loads)


def _width(target: Target, for_op: loop.ForOp, accesses: list[Access]) -> int:
    bytes_ = max(element_bytes(access.buffer) for access in accesses)
    heavy = any(
        op.dialect_name() == "math" or isinstance(op, arith.DivfOp) for op in for_op.body.walk()
    )
    calls = any(isinstance(op, math.PowFOp) for op in for_op.body.walk())
    vectors = 1 if calls else VECTORS_OF_FUNCTIONS if heavy else VECTORS
    return lanes(target, bytes_) * vectors


def _short(session: Session, name: str, count: int) -> bool:
    """One vector, its lanes beyond the end masked."""
    width = 1 << (count - 1).bit_length()
    step = Vectorize(session.named(name), 0 if width == count else width, tail="guard")
    return _try(session, step)


def _try(session: Session, step: Vectorize) -> bool:
    try:
        session.apply(step)
    except Refusal:
        return False
    return True


def _blocks(session: Session, name: str, width: int) -> bool:
    """Whole blocks, and a last one whose lanes beyond the end are masked."""
    block, lane = f"{name}.block", f"{name}.lane"
    count = session.trips(name)[0]
    session.apply(Split(session.named(name), width, block, lane))
    return _in_lanes(session, block, lane, width, bool(count % width))


def _in_lanes(session: Session, block: str, lane: str, width: int, ragged: bool) -> bool:
    if ragged:
        session.apply(Peel(session.named(block), back=1))
    session.apply(Simplify(session.name))
    done = session.loop(lane) is not None and _try(session, Vectorize(session.named(lane)))
    if ragged:
        last = next((n for n in (f"{lane}.back", f"{lane}.back_1") if session.loop(n)), None)
        if last is not None:
            _try(session, Vectorize(session.named(last), width, tail="guard"))
    return done


def _reduction(session: Session, name: str, width: int) -> bool:
    """A partial result for each lane of a block, which are combined at the end."""
    block, lane, count = f"{name}.block", f"{name}.lane", session.trips(name)[0]
    before = {op.loop_name.data for op in session.nest.loops()}
    session.apply(Split(session.named(name), width, block, lane))
    session.apply(Rfactor(session.named(lane)))
    made = [op.loop_name.data for op in session.nest.loops() if op.loop_name.data not in before]
    done = _in_lanes(session, block, lane, width, bool(count % width))
    for other in made:
        for_op = session.loop(other)
        if for_op is not None and other not in (block, lane) and for_op.mode is None:
            is_whole = for_op.constant_trip_count() == width and _is_innermost(for_op)
            if is_whole:
                _try(session, Vectorize(session.named(other)))
    return done
