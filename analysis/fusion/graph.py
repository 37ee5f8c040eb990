"""What needs what among the operations of a block, and which of them are one group."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from heapq import heappop, heappush

from xdsl.ir import Block, Operation
from xdsl.traits import IsTerminator, is_side_effect_free

SEARCHED_GROUPS = 256
"""A search for a path between two groups gives up after so many others, so that planning stays linear."""


class Graph:
    """
    Operations by their positions in a block, with edges to those that need them, and groups of them.

    Groups only grow (union-find). What has effects comes after what had effects before it.
    """

    def __init__(self, block: Block):
        self.ops = list(block.ops)
        self.position = {op: number for number, op in enumerate(self.ops)}
        count = len(self.ops)
        self.readers: list[dict[int, None]] = [{} for _ in range(count)]
        self.sources: list[dict[int, None]] = [{} for _ in range(count)]
        self._parent = list(range(count))
        self._members: list[list[int]] = [[number] for number in range(count)]
        self._first = list(range(count))
        self._last = list(range(count))
        effect: int | None = None
        for number, op in enumerate(self.ops):
            for source in self._needed_by(op):
                self.connect(source, number)
            if not is_side_effect_free(op) or op.has_trait(IsTerminator):
                if effect is not None:
                    self.connect(effect, number)
                effect = number

    def _needed_by(self, op: Operation) -> Iterator[int]:
        """The operations of the block whose results an operation uses, in its regions too."""
        for inner in op.walk() if op.regions else (op,):
            for operand in inner.operands:
                owner = operand.owner
                if isinstance(owner, Operation) and owner in self.position and owner is not op:
                    yield self.position[owner]

    def connect(self, source: int, reader: int) -> None:
        self.readers[source][reader] = None
        self.sources[reader][source] = None

    def disconnect(self, source: int, reader: int) -> None:
        self.readers[source].pop(reader, None)
        self.sources[reader].pop(source, None)

    # Groups.

    def group(self, number: int) -> int:
        """The representative of the group that an operation is in."""
        root = number
        while self._parent[root] != root:
            root = self._parent[root]
        while self._parent[number] != root:
            self._parent[number], number = root, self._parent[number]
        return root

    def members(self, number: int) -> Sequence[int]:
        return self._members[self.group(number)]

    def merge(self, one: int, other: int) -> int:
        """Make two groups one; its representative."""
        one, other = self.group(one), self.group(other)
        if one == other:
            return one
        if len(self._members[one]) < len(self._members[other]):
            one, other = other, one
        self._parent[other] = one
        self._members[one] += self._members[other]
        self._members[other] = []
        self._first[one] = min(self._first[one], self._first[other])
        self._last[one] = max(self._last[one], self._last[other])
        return one

    def why_apart(self, one: int, other: int) -> str | None:
        """Why two groups cannot be one; None when nothing else is between them in the order of the program."""
        one, other = self.group(one), self.group(other)
        for before, after in ((one, other), (other, one)):
            found = self._is_between(before, after)
            if found is None:
                return f"more than {SEARCHED_GROUPS} operations may be between them"
            if found:
                return "something outside needs the one and is needed by the other"
        return None

    def _is_between(self, before: int, after: int) -> bool | None:
        """Whether a third group needs the one and is needed by the other; None where that takes too long to say."""
        seen = {before}
        pending = [before]
        while pending:
            current = pending.pop()
            for member in self._members[current]:
                for reader in self.readers[member]:
                    group = self.group(reader)
                    if group == after and current != before:
                        return True
                    # What stands behind the last of them cannot lead back to it.
                    if group in seen or group == after or self._first[group] > self._last[after]:
                        continue
                    if len(seen) > SEARCHED_GROUPS:
                        return None
                    seen.add(group)
                    pending.append(group)
        return False

    def in_order(self) -> list[int]:
        """The representatives of all groups, each after what it needs, and else as they stand in the block."""
        groups = dict.fromkeys(self.group(number) for number in range(len(self.ops)))
        sources = {
            group: {self.group(s) for m in self._members[group] for s in self.sources[m]} - {group}
            for group in groups
        }
        readers: dict[int, list[int]] = {group: [] for group in groups}
        for group, needed in sources.items():
            for source in needed:
                readers[source].append(group)
        ready: list[tuple[int, int]] = []
        for group in groups:
            if not sources[group]:
                heappush(ready, (self._last[group], group))
        order: list[int] = []
        while ready:
            _, group = heappop(ready)
            order.append(group)
            for reader in readers[group]:
                sources[reader].discard(group)
                if not sources[reader]:
                    heappush(ready, (self._last[reader], reader))
        assert len(order) == len(groups), "groups of operations need each other in a circle"
        return order
