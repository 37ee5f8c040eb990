"""
How threads share the iterations of a loop: each begins in a part of its own, and goes on with what others leave.

The iterations, counted from 0, are cut into as many parts as there are threads, which lie side by side. A thread claims the
next few iterations of its part by one atomic addition, and when that is empty, of the next part, until all are. So any
number of threads does all the work, even one, and threads of unequal speed end together. Where the loops of a program walk
over the same data, a thread finds in its own cache what it wrote there in the loop before, and lines pass from core to core
where two parts meet alone (affinity scheduling: Markatos and LeBlanc, "Using Processor Affinity in Loop Scheduling on
Shared-Memory Multiprocessors", IEEE Transactions on Parallel and Distributed Systems 1994, there with queues that
are locked).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import llvm
from xdsl.dialects.builtin import i1, i32, i64
from xdsl.ir import Block, SSAValue

from ...analysis.plans.threads import CLAIMS
from ...dialects.upstream.llvm import AtomicRMWOp
from ..llvm_text import THREAD_NUMBER
from .emitter import Emitter
from .types import Index

MOST_PARTS = 64
"""Where more threads than that share a loop, several begin in the same part."""

PARTS, COUNT, CLAIM, FIRST_PASSED = range(4)
"""
The fields of the struct that threads get: the parts, how many there are, how many iterations are claimed at a time,
and from the last on what the body uses.
"""

_PART = llvm.LLVMArrayType(16, i64)
"""
What is said of a part: its next iteration, and where it ends. Each has two lines of a cache for itself, which prefetchers
of some processors fetch together.
"""

_NEXT, _END = range(2)


def struct_of(parts: Index, count: Index, passed: Sequence[SSAValue]) -> llvm.LLVMStructType:
    """What threads get. Where the number of parts is not known, there is room for the most there may be."""
    most = min(n for n in (parts, count, MOST_PARTS) if isinstance(n, int))
    fields = (llvm.LLVMArrayType(most, _PART), i64, i64, *(value.type for value in passed))
    return llvm.LLVMStructType.from_type_list(fields)


def extreme(e: Emitter, intrinsic: str, a: Index, b: Index) -> Index:
    """The larger or the smaller of two numbers, by `llvm.smax.i64` or `llvm.smin.i64`."""
    if isinstance(a, int) and isinstance(b, int):
        return max(a, b) if intrinsic == "llvm.smax.i64" else min(a, b)
    value = e.call_intrinsic(intrinsic, (e.ssa(a), e.ssa(b)), i64)
    assert value is not None
    return value


def number_of_parts(e: Emitter, threads: Index) -> Index:
    """One for each thread that may come."""
    return extreme(e, "llvm.smin.i64", threads, MOST_PARTS)


def claim_size(e: Emitter, count: Index, team: Index) -> Index:
    """ceil(count / (team * CLAIMS)): how many iterations a thread claims at a time."""
    return _quotient(e, count, e.mul(team, CLAIMS))


def _quotient(e: Emitter, a: Index, b: Index) -> Index:
    """ceil(a / b) of numbers that are not negative, b not 0."""
    if isinstance(a, int) and isinstance(b, int):
        return -(-a // b)
    rounded = e.add(a, e.add(b, -1))
    return e.emit(llvm.UDivOp, (e.ssa(rounded), e.ssa(b)), i64)


def store_parts(
    e: Emitter, data: SSAValue, struct: llvm.LLVMStructType, count: Index, parts: Index
) -> None:
    """Cut `count` iterations into parts of one size, the last ones smaller or empty."""
    size = _quotient(e, count, parts)
    header, inside, after = Block(arg_types=[i64]), Block(), Block()
    part = header.args[0]
    part.name_hint = "part"
    e.branch(header, (e.constant(0),))
    e.start(header)
    e.branch_if(e.compare("slt", part, e.ssa(parts), i1), inside, after)
    e.start(inside)
    begin = e.mul(part, size)
    for number, place in ((_NEXT, begin), (_END, e.add(begin, size))):
        bound = extreme(e, "llvm.smin.i64", place, count)
        e.store(e.ssa(bound), e.pointer_at(data, (0, PARTS, part, number), struct), 8)
    e.branch(header, (e.ssa(e.add(part, 1)),))
    e.start(after)


@dataclass
class Search:
    """
    Blocks that claim iterations for a thread.

    `look` takes a part and how many there are left to look into, this one included. It goes on to `found` with the
    first iteration claimed, the end of its part, that part, and how many are left; and to `none` when all are empty.
    """

    look: Block
    found: Block
    none: Block


def search_blocks() -> Search:
    """Blocks that are not in a function yet."""
    search = Search(Block(arg_types=[i64] * 2), Block(arg_types=[i64] * 4), Block())
    for block, hints in ((search.look, _LOOK), (search.found, _FOUND)):
        for argument, hint in zip(block.args, hints, strict=True):
            argument.name_hint = hint
    return search


_LOOK = ("part", "left")
_FOUND = ("first", "end", *_LOOK)


def emit_search(
    e: Emitter,
    search: Search,
    data: SSAValue,
    struct: llvm.LLVMStructType,
    parts: SSAValue,
    claim: SSAValue,
) -> None:
    """The block `look`, and those it needs."""
    part, left = search.look.args
    empty = Block()
    e.start(search.look)
    claimed = AtomicRMWOp(e.pointer_at(data, (0, PARTS, part, _NEXT), struct), claim)
    e.append(claimed)
    first = claimed.res
    end = e.load(e.pointer_at(data, (0, PARTS, part, _END), struct), i64, 8)
    some = e.compare("slt", first, end, i1)
    e.branch_if(some, search.found, empty, (first, end, part, left))
    e.start(empty)
    following = e.ssa(e.add(part, 1))
    is_last = e.compare("eq", following, parts, i1)
    wrapped = e.emit(llvm.SelectOp, (is_last, e.constant(0), following), i64)
    fewer = e.ssa(e.add(left, -1))
    more = e.compare("sgt", fewer, e.constant(0), i1)
    e.branch_if(more, search.look, search.none, (wrapped, fewer))


def own_part(e: Emitter, parts: SSAValue) -> SSAValue:
    """The part in which the thread that runs this begins: it has the same number in all loops."""
    number = e.call(THREAD_NUMBER, (), i32)
    assert number is not None
    wide = e.emit(llvm.ZExtOp, (number,), i64)
    return e.emit(llvm.URemOp, (wide, parts), i64)
