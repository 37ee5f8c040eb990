"""Where in straight-line code buffers are alive."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import IsTerminator

from ..frozen import frozen


@frozen
class LiveRange:
    """A buffer of `size` bytes, in use from the operation number `first` to `last`, both included."""

    buffer: SSAValue
    size: int
    first: int
    last: int

    def overlaps(self, other: LiveRange) -> bool:
        return self.first <= other.last and other.first <= self.last


def _position_in(block: Block, op: Operation, numbers: dict[Operation, int]) -> int:
    """The number of the operation of `block` that is or contains `op`."""
    ancestor = block.find_ancestor_op_in_block(op)
    assert ancestor is not None
    return numbers[ancestor]


def users(buffer: SSAValue) -> Iterator[Operation]:
    """What uses the buffer, or a view of it: whatever makes a buffer from it, or yields it."""
    seen: set[SSAValue] = {buffer}
    pending = [buffer]
    while pending:
        for use in pending.pop().uses:
            yield use.operation
            ends_region = use.operation.has_trait(IsTerminator)
            maker = use.operation.parent_op() if ends_region else use.operation
            for result in maker.results if maker is not None else ():
                if isinstance(result.type, MemRefType) and result not in seen:
                    seen.add(result)
                    pending.append(result)


def live_ranges(block: Block, sizes: dict[SSAValue, int]) -> list[LiveRange]:
    """The live ranges, within `block`, of the buffers it defines; `sizes` gives their bytes."""
    numbers = {op: number for number, op in enumerate(block.ops)}
    ranges: list[LiveRange] = []
    for buffer, size in sizes.items():
        uses = [_position_in(block, user, numbers) for user in users(buffer)]
        if uses:
            ranges.append(LiveRange(buffer, size, min(uses), max(uses)))
    return ranges
