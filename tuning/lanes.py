"""Innermost loops in vector lanes, blocks of several vectors at a time."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ..dialects.loop import LoopKind, StoreOp
from ..transforms.step_support.handles import LoopHandle
from .session import Session


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
    """Run loops in lanes, those that are there still."""
    for each in lanes:
        if not each.loop.is_gone:
            s.vectorize(each.loop, each.masked, tail="guard")


def vectorize_in_blocks(s: Session, loops: Iterable[tuple[LoopHandle, int]]) -> None:
    """Cut each loop that is there still into blocks of so many iterations, which run in lanes."""
    found = [
        each for loop, lanes in loops if not loop.is_gone for each in in_blocks(s, loop, lanes)[1]
    ]
    s.tidy()
    vectorize(s, found)
    s.tidy()
