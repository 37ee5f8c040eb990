"""The rule for innermost loops: run them in vector lanes, blocks of several vectors at a time."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass

from xdsl.dialects import arith, math
from xdsl.dialects.func import CallOp

from ..dialects import loop
from ..dialects.loop import LoopKind
from ..dialects.schedule.steps import (
    Peel,
    Rfactor,
    Simplify,
    Split,
    Vectorize,
)
from ..targets.target import Target
from ..transforms.step_support.handles import LoopHandle
from ..transforms.step_support.refusal import Refusal
from .facts import (
    Access,
    element_bytes,
    lanes,
    stride_along,
    sums_in_any_order,
)
from .session import Session

VECTORS = 4
"""Vectors a block of an element-wise loop or a reduction has: enough to hide an addition's latency."""

VECTORS_OF_FUNCTIONS = 2
"""The same where the body has exponentials and their like, each of which needs several registers."""


@dataclass(frozen=True)
class NamedLanes:
    """A loop to vectorize: its name, and how many lanes where it has fewer iterations than that."""

    name: str
    masked: int = 0


def vectorize_innermost(session: Session, target: Target) -> None:
    """Vectorize every innermost loop that can be."""
    names = [op.loop_name.data for op in session.nest.loops() if _is_innermost(op)]
    found = [lane for name in names for lane in _in_blocks(session, target, name)]
    session.apply(Simplify(session.name))
    for lane in found:
        if session.loop(lane.name) is None:
            continue
        step = Vectorize(session.named(lane.name), lane.masked, tail="guard")
        with suppress(Refusal):
            session.apply(step)
    session.apply(Simplify(session.name))


def _is_innermost(op: loop.ForOp) -> bool:
    return not any(isinstance(inner, loop.ForOp | CallOp) for inner in op.body.walk())


def _in_blocks(session: Session, target: Target, name: str) -> list[NamedLanes]:
    """Split a loop in blocks of as many iterations as there will be lanes; the loops over lanes."""
    for_op = session.loop(name)
    if for_op is None or for_op.mode is not None or for_op.kind.data is LoopKind.SERIAL:
        return []
    accesses = [op for op in for_op.body.walk() if isinstance(op, loop.LoadOp | loop.StoreOp)]
    if not accesses or not _moves_well(accesses, for_op):
        return []
    width = _width(target, for_op, accesses)
    count = for_op.constant_trip_count()
    if width < 2 or count is None or count < 2:
        return []
    if count <= width:
        short = 1 << (count - 1).bit_length()
        return [NamedLanes(name, 0 if short == count else short)]
    block, lane = f"{name}.block", f"{name}.lane"
    session.apply(Split(session.named(name), width, block, lane))
    made = [NamedLanes(lane)]
    if for_op.kind.data is LoopKind.REDUCTION:
        before = {op.loop_name.data for op in session.nest.loops()}
        session.apply(Rfactor(session.named(lane)))
        new = [op for op in session.nest.loops() if op.loop_name.data not in before]
        made += [NamedLanes(op.loop_name.data) for op in new if _is_innermost(op)]
    if count % width:
        before = {op.loop_name.data for op in session.nest.loops()}
        session.apply(Peel(session.named(block), back=1))
        new = [op for op in session.nest.loops() if op.loop_name.data not in before]
        made += [NamedLanes(op.loop_name.data, width) for op in new if _is_innermost(op)]
    return made


def _moves_well(accesses: list[Access], for_op: loop.ForOp) -> bool:
    """
    Whether neighbouring iterations store to neighbours, or update one element as well, and most loads are
    of neighbours or one element too.
    """
    strides = {access: stride_along(access, for_op) for access in accesses}
    stores = [strides[access] for access in accesses if isinstance(access, loop.StoreOp)]
    is_sum = for_op.kind.data is LoopKind.REDUCTION
    if not stores or any(stride not in ((0, 1) if is_sum else (1,)) for stride in stores):
        return False
    if is_sum and 0 not in stores:
        return False
    sums = [access for access in accesses if is_sum and strides[access] == 0]
    if not sums_in_any_order(access for access in sums if isinstance(access, loop.StoreOp)):
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


@dataclass(frozen=True)
class Lanes:
    """A loop to run in vector lanes, and how many these are where it has fewer iterations."""

    loop: LoopHandle
    masked: int = 0


def in_blocks(s: Session, loop: LoopHandle, lanes: int) -> tuple[LoopHandle | None, list[Lanes]]:
    """
    Cut a loop into blocks of so many iterations: the loop over whole blocks, None where there is one block at
    most, and the loops to run in lanes. A reduction gets a sum in each lane. Raises the Refusal of a step.
    """
    count = loop.trips
    if count is None or count < 2:
        return None, []
    if count <= lanes:
        short = 1 << (count - 1).bit_length()
        return None, [Lanes(loop, 0 if short == count else short)]
    is_sum = loop.op.kind.data is LoopKind.REDUCTION
    block, lane = s.cut(loop, lanes, "block", "lane")
    found = [Lanes(lane)]
    if is_sum:
        partial = s.rfactor(lane)
        found += [Lanes(loops[-1]) for loops in (partial.initialise, partial.combine)]
    if count % lanes:
        back = s.peel(block, back=1).back
        assert back is not None
        found += [Lanes(copy, lanes) for copy in lane.copies_in(back)]
    return block, found


def vectorize(s: Session, lanes: Iterable[Lanes]) -> None:
    """Run loops in lanes, those that are there still."""
    for each in lanes:
        if not each.loop.is_gone:
            s.vectorize(each.loop, each.masked, tail="guard")


def vectorize_in_blocks(s: Session, loops: Iterable[tuple[LoopHandle, int]]) -> None:
    """Cut each loop into blocks of so many iterations, which run in lanes."""
    found = [each for loop, lanes in loops for each in in_blocks(s, loop, lanes)[1]]
    s.simplify(s.name)
    vectorize(s, found)
    s.simplify(s.name)
