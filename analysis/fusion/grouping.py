"""From computes to nests: what is evaluated where it is read, and what shares its loops."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from xdsl.ir import Block, Operation, SSAValue

from ...dialects import te
from .graph import Graph
from .inlining import MAX_RESULTS, is_one_of_equal_slices, why_not_one, why_stored
from .nests import Nest, Space

ROUNDS = 4
"""What is joined may be inlined then, and the other way round; mostly the second round finds nothing."""


class NestGrouping:
    """The nests of a block, which become fewer and larger."""

    def __init__(self, block: Block):
        self.graph = Graph(block)
        self._nests: dict[int, Nest] = {
            number: Nest.of(op)
            for number, op in enumerate(self.graph.ops)
            if isinstance(op, te.ComputeOp)
        }
        self._computes = list(self._nests)
        self.kept = {
            value
            for number in self._computes
            for value in self.graph.ops[number].results
            if _is_needed_elsewhere(value)
        }
        """values that something else than a compute needs, or that nothing needs"""
        self._changed: set[int] = set()
        self._last_reader: dict[tuple[Space, te.Read], int] = {}

    def fuse(self) -> None:
        """Inline and join until nothing changes."""
        numbers = self._computes
        for _ in range(ROUNDS):
            self._last_reader.clear()
            self._changed.clear()
            for number in numbers:
                self._inline(number)
            for number in numbers:
                self._join(number)
            numbers = self._near_changes()
            if not numbers:
                break

    def _near_changes(self) -> list[int]:
        """The computes of the nests that have changed, and of those that need them or that they need."""
        changed = {self.graph.group(number) for number in self._changed} & self._nests.keys()
        found: set[int] = set()
        for group in changed:
            near = [group, *self.readers(group)]
            near += [n for r in self._nests[group].reads if (n := self._source(r)) is not None]
            found.update(member for each in near for member in self.graph.members(each))
        return sorted(found)

    def nests(self) -> dict[int, Nest]:
        """The nests by the representatives of their groups, with the results that others need."""
        found = dict(sorted(self._nests.items(), key=lambda pair: min(self.graph.members(pair[0]))))
        for number, nest in found.items():
            nest.roots = dict.fromkeys(sorted(nest.roots, key=self.graph.position.__getitem__))
            own = {number}
            nest.results = tuple(
                value
                for root in nest.roots
                for value in root.outputs
                if self._is_needed(value, own)
            )
        return found

    def nest(self, number: int) -> Nest | None:
        """The nest of the group that an operation is in; None when it is none, or is evaluated elsewhere."""
        return self._nests.get(self.graph.group(number))

    def readers(self, number: int) -> list[int]:
        """The groups of the other nests that need this one."""
        own = self.graph.group(number)
        found = (
            self.graph.group(r) for m in self.graph.members(own) for r in self.graph.readers[m]
        )
        return [each for each in dict.fromkeys(found) if each != own and each in self._nests]

    def _source(self, read: te.Read) -> int | None:
        """The group of the nest that a read's tensor comes from."""
        owner = read.source.owner
        if not isinstance(owner, Operation) or owner not in self.graph.position:
            return None
        group = self.graph.group(self.graph.position[owner])
        return group if group in self._nests else None

    # Inlining.

    def _inline(self, number: int) -> None:
        """
        Evaluate a nest where it is read, if all of its readers can, or those that can where it only moves data, or makes
        the same in a wider type.
        """
        producer = self._nests.get(number)
        if producer is None or producer.is_reduction:
            return
        is_kept = any(value in self.kept for value in producer.results)
        is_for_each = producer.is_movement or producer.is_extension
        if is_kept and not is_for_each:
            return
        readers = self.readers(number)
        if len(producer.roots) > 1 and len(readers) > 1:
            return
        can = [reader for reader in readers if self.why_stored(number, reader) is None]
        if len(can) < len(readers) and not is_for_each:
            return
        self._changed.update(can)
        for reader in can:
            consumer = self._nests[reader]
            consumer.absorb(producer, consumer.reads_of(producer.results))
            self._bypass(number, reader)
        if can and len(can) == len(readers) and not is_kept:
            self._forget(number)

    def why_stored(self, number: int, reader: int) -> str | None:
        """Why a nest is not evaluated where another reads it; None when it may be."""
        producer, consumer = self._nests[number], self._nests[reader]
        readers = len(self.readers(number))
        reads = consumer.reads_of(producer.results)
        is_epilogue = self.is_epilogue(producer)
        if self._is_of_contraction(consumer) and is_one_of_equal_slices(producer):
            return "it is a view, as other slices of its shape: what reads them may be one kernel"
        for read in reads:
            if is_epilogue and (readers > 1 or not consumer.is_whole(read)):
                return "the producer is the epilogue of a reduction"
            reason = why_stored(consumer, producer, read, readers)
            if reason is not None:
                return reason
        return None if reads else "the consumer reads it at computed indices"

    def _is_of_contraction(self, nest: Nest) -> bool:
        """Whether a nest is a contraction, or works on the elements of one."""
        return nest.is_contraction or (
            not nest.is_reduction
            and any(self._nests[number].is_contraction for number in self._anchors(nest))
        )

    def is_epilogue(self, nest: Nest) -> bool:
        """Whether a nest works on the elements that a reduction has finished."""
        return not nest.is_reduction and any(True for _ in self._anchors(nest))

    def _anchors(self, nest: Nest) -> Iterator[int]:
        for read in nest.reads:
            group = self._source(read)
            if group is None or not nest.is_whole(read):
                continue
            source = self._nests[group]
            if source.is_reduction and source.space.parallel == nest.space.parallel:
                yield group

    def _bypass(self, producer: int, reader: int) -> None:
        """Let a reader need what the producer needs, and not the producer."""
        graph = self.graph
        members = set(graph.members(reader))
        for own in graph.members(producer):
            for user in [user for user in graph.readers[own] if user in members]:
                graph.disconnect(own, user)
            for source in graph.sources[own]:
                if graph.group(source) != graph.group(producer):
                    graph.connect(source, next(iter(members)))

    def _forget(self, producer: int) -> None:
        for own in self.graph.members(producer):
            for source in list(self.graph.sources[own]):
                self.graph.disconnect(source, own)
        del self._nests[producer]

    # Joining.

    def _join(self, number: int) -> None:
        """Join a nest with one that it needs, and with one before that reads what it reads."""
        if self.graph.group(number) not in self._nests:
            return
        for group in self._neighbours(number):
            one, other = self.graph.group(group), self.graph.group(number)
            if one != other and self.why_apart(one, other) is None:
                results = self._results_of_both(one, other)
                first, second = self._nests.pop(one), self._nests.pop(other)
                first.join(second)
                first.results = results
                self._nests[self.graph.merge(one, other)] = first
                self._changed.add(number)

    def _neighbours(self, number: int) -> list[int]:
        """The nests that this one might share its loops with: what it needs, and the last reader of the same before."""
        nest = self._nests[self.graph.group(number)]
        found: dict[int, None] = {}
        for read in nest.reads:
            group = self._source(read)
            if group is not None and not nest.is_reduction:
                found[group] = None
            if _is_streamed(nest, read):
                before = self._last_reader.get((nest.space, read))
                if before is not None and self.nest(before) is not None:
                    found[before] = None
                self._last_reader[nest.space, read] = number
        return list(found)

    def why_apart(self, one: int, other: int) -> str | None:
        """Why two nests do not share their loops, of which the one is before the other; None when they may."""
        first, second = self._nests[one], self._nests[other]
        reason = why_not_one(first, second)
        if reason is not None:
            return reason
        if self._is_left_to_loops(other):
            return "loops that read it make its elements of those that are stored"
        needs = second.reads_of(first.results) or first.reads_of(second.results)
        if not needs and all(map(_is_only_for_loops, (*first.results, *second.results))):
            return "loops read them, which may compute the elements"
        anchors = {*self._anchors(first), *self._anchors(second)}
        if not needs and not first.is_reduction and len(anchors) > 1:
            return "they finish different reductions"
        results = self._results_of_both(one, other)
        if len(results) > MAX_RESULTS:
            stored = sum(self._is_stored(value, first.space, (one, other)) for value in results)
            if stored > MAX_RESULTS:
                return f"together they would have {stored} results, more than {MAX_RESULTS}"
        return self.graph.why_apart(one, other)

    def _is_stored(self, value: SSAValue, space: Space, groups: Collection[int]) -> bool:
        """Whether something needs a result that could not be in the same loops, where it need not be stored."""
        if value in self.kept:
            return True
        number = self.graph.position[value.owner]  # pyright: ignore[reportArgumentType]
        others = {self.graph.group(r) for r in self.graph.readers[number]} - {*groups}
        return not all(self._may_follow(other, value, space) for other in others)

    def _may_follow(self, group: int, value: SSAValue, space: Space) -> bool:
        """Whether a nest reads elements of its own iterations alone of a result, element by element over one space."""
        nest = self._nests.get(group)
        return (
            nest is not None
            and nest.space == space
            and not (nest.is_reduction or nest.is_movement)
            and all(map(nest.is_whole, nest.reads_of([value])))
        )

    def _is_left_to_loops(self, group: int) -> bool:
        """Whether a nest only has elements of a stored tensor in a wider type, and only loops need them."""
        nest = self._nests[group]
        if not nest.is_extension:
            return False
        (read,) = nest.reads
        users = [use.operation for value in nest.results for use in value.uses]
        is_for_loops = all(isinstance(op, te.ComputeOp | te.LoopsOp) for op in users)
        return read.source in self.kept and is_for_loops and not self.readers(group)

    def _results_of_both(self, one: int, other: int) -> tuple[SSAValue, ...]:
        """What of two nests others need."""
        pair, nests = {one, other}, (self._nests[one], self._nests[other])
        return tuple(
            value for nest in nests for value in nest.results if self._is_needed(value, pair)
        )

    def _is_needed(self, value: SSAValue, groups: Collection[int]) -> bool:
        """Whether something else than those groups needs the result of a nest."""
        number = self.graph.position[value.owner]  # pyright: ignore[reportArgumentType]
        readers = self.graph.readers[number]
        return value in self.kept or any(self.graph.group(r) not in groups for r in readers)


def _is_needed_elsewhere(value: SSAValue) -> bool:
    """Whether something else than a compute of the same block reads a value, or nothing does."""
    block = value.owner.parent if not isinstance(value.owner, Block) else None
    uses = [use.operation for use in value.uses]
    return not uses or any(
        not isinstance(op, te.ComputeOp) or op.parent is not block or value in op.dynamic_extents
        for op in uses
    )


def _is_only_for_loops(value: SSAValue) -> bool:
    """Whether only `te.loops` read a value."""
    return all(isinstance(use.operation, te.LoopsOp) for use in value.uses)


def _is_streamed(nest: Nest, read: te.Read) -> bool:
    """Whether a read goes through a tensor as the iterators go through theirs, rather than reading a part again."""
    if read.map is None:
        return False
    used = read.map.used_dims()
    return all(extent == 1 or n in used for n, extent in enumerate(nest.space.every))
