"""The loops that LLVM writes out: of a function those whose iterations are alike, where that is so of all that use a buffer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from xdsl.ir import Operation, SSAValue
from xdsl.traits import is_side_effect_free

from ..analysis.effects import has_no_effect
from ..analysis.operations import blocks_of, body_of, operands_of, operations_in, operations_of
from ..dialects import loop
from .lane_block import lane_block
from .lane_count import LaneCounter, is_written_out, lane_count

LEAST_ALIKE = 4
"""
Iterations from which a loop that LLVM writes out is less work than to write them out: its control is as much as two or three. Two are
enough where vectors are turned in them, which is much more than that.
"""

_ACCESSES = (loop.LoadOp, loop.StoreOp)


def alike_loops(loops: Iterable[loop.ForOp], lanes_of: LaneCounter = lane_count) -> set[loop.ForOp]:
    """
    Of a function's loops those that are written out and whose iterations are alike (`is_alike`), but for those that share a scratch
    buffer with others that are written out here. Only here are the elements of a buffer known whose subscripts are numbers, which
    keeps them in registers (`core-mem2reg`), and only LLVM knows those that it writes out itself: a buffer needs all of its accesses
    in one place.
    """
    alike: dict[loop.ForOp, set[SSAValue]] = {}
    here: set[SSAValue] = set()
    for op in loops:
        if not is_written_out(op):
            continue
        if is_alike(op, lanes_of):
            alike[op] = {b for access in _accesses(op) if _is_scratch(b := access.buffer)}
        else:
            users = (use.operation for use in op.induction_variable.uses)
            here.update(
                user.buffer
                for user in users
                if isinstance(user, _ACCESSES) and _is_scratch(user.buffer)
            )
    while mixed := [op for op, buffers in alike.items() if buffers & here]:
        for op in mixed:
            here |= alike.pop(op)
    return set(alike)


def _accesses(op: loop.ForOp) -> Iterator[loop.LoadOp | loop.StoreOp]:
    for inner in operations_in(op):
        if type(inner) is loop.LoadOp or type(inner) is loop.StoreOp:
            yield inner


def _is_scratch(buffer: SSAValue) -> bool:
    return isinstance(buffer.owner, loop.AllocOp)


def is_alike(for_op: loop.ForOp, lanes_of: LaneCounter) -> bool:
    """
    Whether the iterations of a loop that is written out are alike, as the rows of a register tile are: as many each time, of
    which each does the same in lanes to elements of its own. One of them says what all do. Of loops inside of each other that are
    written out LLVM keeps no elements in registers.
    """
    count = for_op.constant_trip_count()
    if count is None or count < 2 or operands_of(for_op):
        return False
    inside = [op for op in operations_of(body_of(for_op)) if type(op) is loop.ForOp]
    if not inside or (count < LEAST_ALIKE and not any(map(lane_block, inside))):
        return False
    return _is_same_in_all(for_op, lanes_of)


def _is_same_in_all(for_op: loop.ForOp, lanes_of: LaneCounter) -> bool:
    """Whether the variable is in subscripts alone, and all that is inside is accesses, arithmetic and vector loops."""
    if not all(type(use.operation) in _ACCESSES for use in for_op.induction_variable.uses):
        return False
    body = operations_of(body_of(for_op))
    return all(_is_same_each_time(op, lanes_of) for op in body)


def _is_same_each_time(op: Operation, lanes_of: LaneCounter) -> bool:
    kind = type(op)
    if kind in _ACCESSES or kind is loop.YieldOp:
        return True
    if not op.regions:
        return has_no_effect(kind) or is_side_effect_free(op)
    is_in_lanes = isinstance(op, loop.ForOp) and not is_written_out(op) and lanes_of(op) is not None
    if isinstance(op, loop.ForOp) and not is_in_lanes and lane_block(op) is not None:
        return True  # a transposition is all vectors
    return (is_in_lanes or kind is loop.IfOp) and all(
        _is_same_each_time(inner, lanes_of)
        for block in blocks_of(op)
        for inner in operations_of(block)
    )
