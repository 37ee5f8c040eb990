"""Innermost loops in vector lanes, blocks of several vectors at a time."""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.dialects import arith, memref
from xdsl.ir import SSAValue
from xdsl.traits import Pure

from ..dialects.dtypes import bit_width, is_element_type
from ..dialects.loop import ForOp, LoadOp, LoopKind, StoreOp
from ..frozen import frozen
from ..transforms.step_support.handles import LoopHandle
from .session import Session

GATHERED_BITS = 32
"""The narrowest elements that AVX2, AVX-512 and SVE gather; wider indices take more operations to bring into range."""

LOOKUPS = 4
"""Steps of lookups that are written out, and operations on elements beside each that do not make lanes worth while."""


@frozen
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
    for buffer in _sums(s, block, lane) if is_sum else ():
        partial = s.rfactor(lane, of=buffer)
        found += [Lanes(loops[-1]) for loops in (partial.initialise, partial.combine)]
    if count % lanes:
        back = s.peel(block, back=1).back
        assert back is not None
        found += [Lanes(copy, lanes) for copy in lane.copies_in(back)]
    return block, found


def _sums(s: Session, block: LoopHandle, lane: LoopHandle) -> list[str]:
    """
    The buffers of which the iterations of a loop over blocks, and of one over their lanes, update one element; where
    there is one only, it need not be named.
    """
    variables = {block.op.induction_variable, lane.op.induction_variable}
    stores = [op for op in lane.op.walk() if isinstance(op, StoreOp)]
    sums = [store.buffer for store in stores if not variables & set(store.operands_)]
    names = [s.buffer(buffer).name for buffer in dict.fromkeys(sums)]
    return names if len(names) > 1 else [""]


def vectorize(s: Session, lanes: Iterable[Lanes]) -> None:
    """Run loops in lanes, those that are there still; a few steps at a time those that little but look narrow numbers up."""
    for each in lanes:
        if each.loop.is_gone:
            continue
        if _is_narrow_lookup(each.loop.op):
            s.unroll(each.loop, LOOKUPS, tail="peel")
        else:
            s.vectorize(each.loop, each.masked, tail="guard")


def _is_narrow_lookup(for_op: ForOp) -> bool:
    """
    Whether lanes would be taken apart for each number that is looked up, and put together again, for little work in them.

    No instruction gathers elements of less than 32 bits.
    """
    inside = [op for op in for_op.walk() if not isinstance(op, arith.ConstantOp)]
    widths = [bit_width(op.res.type) for op in inside if isinstance(op, memref.LoadOp)]
    own = [bit_width(op.result.type) for op in inside if isinstance(op, LoadOp)]
    is_narrow = (
        bool(widths) and max(widths) < GATHERED_BITS and max(own, default=0) <= GATHERED_BITS
    )
    work = [op for op in inside if op.has_trait(Pure) and any(map(_is_element, op.results))]
    return is_narrow and len(work) <= LOOKUPS * len(widths)


def _is_element(value: SSAValue) -> bool:
    return is_element_type(value.type)


def vectorize_in_blocks(s: Session, loops: Iterable[tuple[LoopHandle, int]]) -> None:
    """Cut each loop that is there still into blocks of so many iterations, which run in lanes."""
    found = [
        each for loop, lanes in loops if not loop.is_gone for each in in_blocks(s, loop, lanes)[1]
    ]
    if not found:
        return
    s.tidy()
    vectorize(s, found)
    s.tidy()
