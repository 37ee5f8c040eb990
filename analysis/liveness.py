"""Where in straight-line code values are alive, and which memory they can share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import IsTerminator

ALIGNMENT = 64
"""Every offset is a multiple of this: a cache line, and the widest vector's natural alignment."""


@dataclass(frozen=True)
class LiveRange:
    """A buffer of `size` bytes, in use from the operation number `first` to `last`, both included."""

    buffer: SSAValue
    size: int
    first: int
    last: int

    def overlaps(self, other: LiveRange) -> bool:
        return self.first <= other.last and other.first <= self.last


@dataclass(frozen=True)
class Placement:
    """Byte offsets for buffers in one arena of `total` bytes."""

    offsets: dict[SSAValue, int]
    total: int


def _position_in(block: Block, op: Operation, numbers: dict[Operation, int]) -> int:
    """The number of the operation of `block` that is or contains `op`."""
    ancestor = block.find_ancestor_op_in_block(op)
    assert ancestor is not None
    return numbers[ancestor]


def _users(buffer: SSAValue) -> Iterator[Operation]:
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
        uses = [_position_in(block, user, numbers) for user in _users(buffer)]
        if uses:
            ranges.append(LiveRange(buffer, size, min(uses), max(uses)))
    return ranges


def place(ranges: Sequence[LiveRange]) -> Placement:
    """
    Greedy offsets, largest buffer first, each at the lowest place free during its life.

    The strategy is "greedy by size for offset calculation" of Pisarchyk and Lee, Efficient Memory
    Management for Deep Neural Net Inference, 2020.
    """
    placed: list[tuple[int, LiveRange]] = []
    for candidate in sorted(ranges, key=lambda r: (-r.size, r.first)):
        offset = 0
        for other_offset, other in sorted(placed, key=lambda pair: pair[0]):
            if not other.overlaps(candidate):
                continue
            if other_offset - offset >= candidate.size:
                break
            offset = max(offset, _aligned(other_offset + other.size))
        placed.append((offset, candidate))
    total = max((offset + r.size for offset, r in placed), default=0)
    return Placement({r.buffer: offset for offset, r in placed}, _aligned(total))


def _aligned(offset: int) -> int:
    return -(-offset // ALIGNMENT) * ALIGNMENT
