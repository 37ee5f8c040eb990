"""The rule for innermost loops: run them in vector lanes, blocks of several vectors at a time."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import prod

from xdsl.dialects import arith, math
from xdsl.dialects.func import CallOp

from ..dialects import loop
from ..dialects.loop import LoopKind
from ..dialects.schedule.steps import (
    Peel,
    Reorder,
    Rfactor,
    Simplify,
    Split,
    Unroll,
    UnrollAndJam,
    Vectorize,
)
from ..dialects.shaped import memref_type
from ..targets.target import Target
from ..transforms.step_support.refusal import Refusal
from .facts import (
    Access,
    PerfectNest,
    cache_bytes,
    element_bytes,
    lanes,
    perfect_nest,
    stride_along,
    sums_in_any_order,
)
from .session import Session

VECTORS = 4
"""Vectors a block of an element-wise loop or a reduction has: enough to hide an addition's latency."""

VECTORS_OF_FUNCTIONS = 2
"""The same where the body has exponentials and their like, each of which needs several registers."""


ROWS = 4
"""Rows that are added up side by side."""


PAIR = 2
"""Rows that are reduced side by side where each is a nest of its own."""


@dataclass(frozen=True)
class Lanes:
    """A loop to vectorize: its name, and how many lanes where it has fewer iterations than that."""

    name: str
    masked: int = 0


def vectorize_innermost(
    session: Session, target: Target, prepared: Sequence[Lanes] = (), rows: Collection[str] = ()
) -> None:
    """
    Vectorize every innermost loop that can be.

    `prepared` are in blocks already (`several_rows`); of `rows`, those over a group of rows are written out.
    """
    names = [op.loop_name.data for op in session.nest.loops() if _is_innermost(op)]
    names = [name for name in names if name not in rows]
    pair = _sums_of_a_row(session, target)
    lanes_ = [*prepared]
    lanes_ += [lane for name in names for lane in _in_blocks(session, target, name)]
    session.apply(Simplify(session.name))
    if pair is not None:
        with suppress(Refusal):
            session.apply(UnrollAndJam(session.named(pair), PAIR))
    for lane in lanes_:
        if session.loop(lane.name) is None:
            continue
        step = Vectorize(session.named(lane.name), lane.masked, tail="guard")
        with suppress(Refusal):
            session.apply(step)
    session.apply(Simplify(session.name))
    for name in sorted(rows):
        for_op = session.loop(name)
        if for_op is not None and for_op.constant_trip_count() == ROWS and for_op.mode is None:
            session.apply(Unroll(session.named(name), mark=True))


def _names(session: Session) -> set[str]:
    return {op.loop_name.data for op in session.nest.loops()}


def several_rows(session: Session, target: Target) -> tuple[list[Lanes], set[str]]:
    """
    Add up several rows at a time, where that is all a function does: each is a stream from memory, and
    one alone does not use all of its bandwidth.

    The loops over lanes, and the names of all loops made. The rows left over are not blocked.
    """
    all_before = _names(session)
    block = session.nest.function.body.block
    nests = [perfect_nest(op) for op in block.ops if isinstance(op, loop.ForOp)]
    sums = [nest for nest in nests if _is_sum_of_rows(nest)]
    if len(sums) != 1 or len(nests) > 3:
        return [], set()
    (nest,) = sums
    row, summed = (f.loop_name.data for f in nest.loops[-2:])
    accesses = [*nest.loads, *nest.stores]
    width = lanes(target, max(element_bytes(a.buffer) for a in accesses)) * 2
    count = nest.loops[-1].constant_trip_count() or 0
    if width < 2 or count < 4 * width:
        return [], set()
    at = session.named
    group, each, part, lane = f"{row}.group", f"{row}.row", f"{summed}.block", f"{summed}.lane"
    try:
        session.apply(Split(at(row), ROWS, group, each, tail="peel"))
        session.apply(Split(at(summed), width, part, lane))
        session.apply(Reorder(at(group), (group, part, each, lane)))
        before = _names(session)
        session.apply(Rfactor(at(lane)))
        if count % width:
            session.apply(Peel(at(part), back=1))
    except Refusal:
        return [], set()
    tail = {f"{row}.tail", f"{summed}.tail"}
    made = [op for op in session.nest.loops() if op.loop_name.data not in before]
    masked = width if count % width else 0
    found = [Lanes(lane)] + [
        Lanes(name, masked if name.startswith(lane) and ".back" in name else 0)
        for op in made
        if _is_innermost(op) and (name := op.loop_name.data)
    ]
    return found, _names(session) - all_before - tail


def _is_sum_of_rows(nest: PerfectNest) -> bool:
    if len(nest.loops) < 2 or not nest.is_flat or nest.extents is None or len(nest.stores) != 1:
        return False
    row, summed = nest.loops[-2:]
    strides = [stride_along(access, summed) for access in (*nest.loads, *nest.stores)]
    return (
        row.kind.data is LoopKind.PARALLEL
        and summed.kind.data is LoopKind.REDUCTION
        and nest.extents[-2] >= 4 * ROWS
        and all(stride in (0, 1) for stride in strides)
        and stride_along(nest.stores[0], summed) == 0
        and sums_in_any_order(nest.stores)
    )


def _sums_of_a_row(session: Session, target: Target) -> str | None:
    """
    The loop over rows where all that a function does is to add up each: two at a time, as two streams use
    more of the memory's bandwidth than one does.
    """
    tops = [op for op in session.nest.function.body.block.ops if isinstance(op, loop.ForOp)]
    loops = list(session.nest.loops())
    if len(tops) != 1 or len(loops) != 2 or tops[0].kind.data is not LoopKind.PARALLEL:
        return None
    row, summed = loops
    stores = [op for op in summed.body.block.ops if isinstance(op, loop.StoreOp)]
    loads = [op for op in summed.body.block.ops if isinstance(op, loop.LoadOp)]
    read = sum(
        prod(memref_type(load.buffer).get_shape()) * element_bytes(load.buffer) for load in loads
    )
    is_sum = len(stores) == 1 and isinstance(stores[0].value.owner, arith.AddfOp | arith.AddiOp)
    is_row = all(stride_along(access, summed) in (0, 1) for access in (*loads, *stores))
    count = row.constant_trip_count() or 0
    if (
        not is_sum
        or not is_row
        or read <= cache_bytes(target, 2)
        or count < 2 * PAIR
        or count % PAIR
    ):
        return None
    return row.loop_name.data


def _is_innermost(op: loop.ForOp) -> bool:
    return not any(isinstance(inner, loop.ForOp | CallOp) for inner in op.body.walk())


def _in_blocks(session: Session, target: Target, name: str) -> list[Lanes]:
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
        return [Lanes(name, 0 if short == count else short)]
    block, lane = f"{name}.block", f"{name}.lane"
    session.apply(Split(session.named(name), width, block, lane))
    made = [Lanes(lane)]
    if for_op.kind.data is LoopKind.REDUCTION:
        before = {op.loop_name.data for op in session.nest.loops()}
        session.apply(Rfactor(session.named(lane)))
        new = [op for op in session.nest.loops() if op.loop_name.data not in before]
        made += [Lanes(op.loop_name.data) for op in new if _is_innermost(op)]
    if count % width:
        before = {op.loop_name.data for op in session.nest.loops()}
        session.apply(Peel(session.named(block), back=1))
        new = [op for op in session.nest.loops() if op.loop_name.data not in before]
        made += [Lanes(op.loop_name.data, width) for op in new if _is_innermost(op)]
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
