"""Where in a function, and in the loops and branches of it, buffers are alive."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import IsTerminator

from ..frozen import frozen
from .operations import operation_around, operations_inside


@frozen
class LiveRange:
    """A buffer of `size` bytes, in use from the operation number `first` to `last`, both included."""

    buffer: SSAValue
    size: int
    first: int
    last: int

    def overlaps(self, other: LiveRange) -> bool:
        return self.first <= other.last and other.first <= self.last


def users(buffer: SSAValue) -> Iterator[Operation]:
    """What uses the buffer, or a view of it: whatever makes a buffer from it, or yields it."""
    seen: set[SSAValue] = {buffer}
    pending = [buffer]
    while pending:
        for use in pending.pop().uses:
            yield use.operation
            maker = operation_around(use.operation) if _is_end(use.operation) else use.operation
            for result in maker.results if maker is not None else ():
                if isinstance(result.type, MemRefType) and result not in seen:
                    seen.add(result)
                    pending.append(result)


def live_ranges(block: Block, sizes: dict[SSAValue, int]) -> list[LiveRange]:
    """
    The live ranges of buffers that `block` defines, or a block inside of it; `sizes` gives their bytes.

    Operations are numbered as the text has them, those of inner blocks too. What is defined in the body of a loop is of one
    iteration: it is alive from its first use there to the last. Where an operation with inner blocks uses something that
    is defined outside, all of it does, since it may come back to its start.
    """
    ops = operations_inside(block)
    first = {id(op): number for number, op in enumerate(ops)}
    last = dict(first)
    for op in reversed(ops):
        around = id(operation_around(op))
        if around in last:
            last[around] = max(last[around], last[id(op)])
    ranges: list[LiveRange] = []
    for buffer, size in sizes.items():
        used = _users_at_home(buffer, block)
        if used:
            low, high = min(first[id(op)] for op in used), max(last[id(op)] for op in used)
            ranges.append(LiveRange(buffer, size, low, high))
    return ranges


def _is_end(op: Operation) -> bool:
    """Whether it ends a block: to ask of what is not the last of its block takes long."""
    return op.next_op is None and op.has_trait(IsTerminator)


def _users_at_home(buffer: SSAValue, outermost: Block) -> set[Operation]:
    """
    What uses a buffer, as operations of the block that it is of: the innermost one around its definition that it does not leave.
    """
    home = buffer.owner if isinstance(buffer.owner, Block) else buffer.owner.parent
    assert home is not None
    found = [*users(buffer)]
    while home is not outermost and any(_leaves(home, op) for op in found):
        home = home.parent_block()
        assert home is not None
    ancestors = (home.find_ancestor_op_in_block(op) for op in found)
    return {op for op in ancestors if op is not None}


def _leaves(block: Block, user: Operation) -> bool:
    """Whether a user of a buffer is outside of a block, or hands it on to what comes behind the block."""
    return (user.parent is block and _is_end(user)) or block.find_ancestor_op_in_block(user) is None
