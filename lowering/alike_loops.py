"""The loops that LLVM writes out: of a function those whose iterations are alike, where that is so of all that use a buffer."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.ir import Operation, SSAValue

from ..analysis.operations import blocks_of, operations_of
from ..dialects import loop
from .lane_count import is_alike, is_written_out

_ACCESSES = (loop.LoadOp, loop.StoreOp)


def alike_loops(function: Operation) -> set[loop.ForOp]:
    """
    The loops that are written out and whose iterations are alike (`is_alike`), but for those that share a scratch buffer with others
    that are written out here. Only here are the elements of a buffer known whose subscripts are numbers, which keeps them in
    registers (`core-mem2reg`), and only LLVM knows those that it writes out itself: a buffer needs all of its accesses in one place.
    """
    alike: dict[loop.ForOp, set[SSAValue]] = {}
    here: set[SSAValue] = set()
    for op in _written_out(function):
        if is_alike(op):
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


def _written_out(op: Operation) -> Iterator[loop.ForOp]:
    """Loops that are written out, but not those inside of one whose iterations are alike."""
    for block in blocks_of(op):
        for inner in operations_of(block):
            is_one_for_all = False
            if isinstance(inner, loop.ForOp) and is_written_out(inner):
                yield inner
                is_one_for_all = is_alike(inner)
            if inner.regions and not is_one_for_all:
                yield from _written_out(inner)


def _accesses(op: loop.ForOp) -> Iterator[loop.LoadOp | loop.StoreOp]:
    return (inner for inner in op.walk() if isinstance(inner, _ACCESSES))


def _is_scratch(buffer: SSAValue) -> bool:
    return isinstance(buffer.owner, loop.AllocOp)
