"""Along which dimension of each of its buffers a kernel goes when one of its loops is dealt out to threads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from .facts import Access, Home, KernelFacts, Role, Statement

Cuts: TypeAlias = Mapping[int, int]
"""Buffers, with the dimension of each that the iterations of a loop move along."""


def is_shared(facts: KernelFacts) -> bool:
    """Whether the program's threads share a buffer of the kernel between its kernels, so that it matters which thread computes what."""
    return any(buffer.shared is not None for buffer in facts.buffers)


def written_last(facts: KernelFacts) -> Statement | None:
    """The last statement that writes what belongs to others; None where there is none, or what is computed is not all known."""
    written = [s for s in facts.statements if facts.buffers[s.write.buffer].home is Home.RESULT]
    return written[-1] if written and facts.is_complete else None


def axis_along(statement: Statement, access: Access, dimension: int) -> int | None:
    """The axis that moves an access most along a dimension: of two in one subscript that of what is outside."""
    subscript = access.subscripts[dimension]
    if subscript is None:
        return None
    moved = [(abs(by), -n) for n, by in enumerate(subscript.coefficients) if by]
    parallel = [(by, n) for by, n in moved if statement.axes[-n].role is Role.PARALLEL]
    return -max(parallel)[1] if parallel else None


def cuts(facts: KernelFacts, last: Statement, dimension: int) -> Cuts:
    """
    Along which dimension all buffers are dealt out where what the last statement writes is along one of its own, from there
    backwards; without those that all iterations read the same part of.
    """
    found = {last.write.buffer: dimension}
    for statement in reversed(facts.statements):
        cut = found.get(statement.write.buffer)
        axis = None if cut is None else axis_along(statement, statement.write, cut)
        if axis is None:
            continue
        for read in statement.reads:
            moved = [n for n, s in enumerate(read.subscripts) if s and s.coefficients[axis]]
            if moved:
                found.setdefault(read.buffer, moved[0])
    return found


def bytes_of_others(facts: KernelFacts, statement: Statement, axis: int) -> int:
    """
    The bytes of all buffers that the program's threads share another way than those that a statement's axis is dealt out to:
    a thread has had its part of these before, and not the one that it reads or writes now.
    """
    marked = {n: one for n, one in enumerate(facts.buffers) if one.shared is not None}
    last = written_last(facts) if marked else None
    if last is None:
        return 0
    for dimension in range(len(last.write.subscripts)):
        own = cuts(facts, last, dimension)
        cut = own.get(statement.write.buffer)
        if cut is not None and axis_along(statement, statement.write, cut) == axis:
            others = [one.bytes or 0 for n, one in marked.items() if own.get(n) != one.shared]
            return sum(others)
    return 0
