"""From nests to kernels: reductions with their epilogues, and what works on the same rows."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from heapq import heapify, heappop, heappush

from xdsl.ir import Block, SSAValue

from ...dialects import te
from .grouping import NestGrouping
from .inlining import why_not_one, why_stored
from .nests import Nest, identity
from .plan import Boundary, FusionPlan, KernelPlan
from .rows import DEFAULT_CACHES, Caches, Tensors, Unit, refusal


def plan_fusion(block: Block, caches: Caches = DEFAULT_CACHES) -> FusionPlan:
    """What becomes of the computes of a block; kernels that are formed already stay as they are."""
    grouping = NestGrouping(block)
    grouping.fuse()
    kernels = _KernelGrouping(grouping, caches)
    kernels.finish_reductions()
    for contractions in (False, True):
        kernels.join(contractions)
    return kernels.plan()


class _KernelGrouping:
    """Groups of nests, which share their kernel."""

    def __init__(self, grouping: NestGrouping, caches: Caches):
        self.graph, self.caches, self.kept = grouping.graph, caches, grouping.kept
        nests = grouping.nests()
        self.number = {nest: number for number, nest in nests.items()}
        """of each nest, that of one of its computes"""
        self.maker = {value: nest for nest in self.number for value in nest.results}
        self.readers = {
            nest: [nests[reader] for reader in grouping.readers(number)]
            for nest, number in self.number.items()
        }
        self.sources: dict[Nest, list[Nest]] = {nest: [] for nest in self.number}
        for nest in self.number:
            for reader in self.readers[nest]:
                self.sources[reader].append(nest)
        self._tensors = Tensors(self.is_needed)
        self._units: dict[int, list[Unit]] = {}
        self._asked: dict[tuple[int, int, int, int, bool], str | None] = {}

    def is_needed(self, value: SSAValue, nests: Collection[Nest]) -> bool:
        """Whether something else than those nests needs a tensor."""
        if value in self.kept:
            return True
        others = (reader for reader in self.readers[self.maker[value]] if reader not in nests)
        return any(read.source is value for reader in others for read in reader.reads)

    # Epilogues.

    def finish_reductions(self) -> None:
        """Let reductions be finished by an epilogue, which works on their elements where they are."""
        finished: set[Nest] = set()
        for nest in self.number:
            anchor = self._anchor(nest, finished)
            if anchor is None:
                continue
            finished.add(anchor)
            nest.anchor = anchor
            both = (anchor, nest)
            nest.passed_on = tuple(v for v in anchor.results if self.is_needed(v, both))
            whole = identity(len(nest.space.every))
            nest.reads |= {te.Read(value, whole): None for value in nest.passed_on}
            self.graph.merge(self.number[anchor], self.number[nest])
        for nest, number in self.number.items():
            if nest not in finished:
                unit = (nest,) if nest.anchor is None else (nest.anchor, nest)
                self._units[self.graph.group(number)] = [unit]

    def _anchor(self, nest: Nest, finished: Collection[Nest]) -> Nest | None:
        """The first reduction that a nest may finish: it reads it nowhere but at its own element."""
        if nest.is_reduction:
            return None
        for anchor in self.sources[nest]:
            if (
                anchor.is_reduction
                and anchor not in finished
                and anchor.space.parallel == nest.space.parallel
                and all(nest.is_whole(read) for read in nest.reads_of(anchor.results))
                and self.graph.why_apart(self.number[anchor], self.number[nest]) is None
            ):
                return anchor
        return None

    # Rows.

    def join(self, contractions: bool) -> None:
        """Join kernels of which the one needs the other as long as that is a gain."""
        changed = True
        while changed:
            changed = False
            for one, other in self._links():
                if self._why_apart(one, other, contractions) is None:
                    units = self._units.pop(one) + self._units.pop(other)
                    self._units[self.graph.merge(one, other)] = units
                    changed = True

    def _links(self) -> Iterable[tuple[int, int]]:
        """Pairs of groups of which the one needs the other, as they are when it comes to them."""
        group, number = self.graph.group, self.number
        for nest in self.number:
            for source in self.sources[nest]:
                one, other = group(number[source]), group(number[nest])
                if one != other:
                    yield one, other

    def _why_apart(self, one: int, other: int, contractions: bool) -> str | None:
        units, others = self._units[one], self._units[other]
        asked = (one, len(units), other, len(others), contractions)  # a group only grows
        if asked not in self._asked:
            self._asked[asked] = refusal(
                units, others, self.caches, self._tensors, contractions=contractions
            )
        return self._asked[asked] or self.graph.why_apart(one, other)

    # The plan.

    def plan(self) -> FusionPlan:
        kernels = {
            group: self._kernel([nest for unit in units for nest in unit])
            for group, units in self._units.items()
        }
        order = [
            kernels[group] if group in kernels else self.graph.ops[group]
            for group in self.graph.in_order()
            if group in kernels or not isinstance(self.graph.ops[group], te.ComputeOp)
        ]
        boundaries = [
            Boundary(kernels[one], kernels[other], self._reason(one, other))
            for one, other in dict.fromkeys(self._links())
        ]
        return FusionPlan(tuple(order), tuple(boundaries))

    def _kernel(self, nests: Sequence[Nest]) -> KernelPlan:
        ordered, own = self._in_order(nests), set(nests)
        results = (v for nest in ordered for v in nest.results if self.is_needed(v, own))
        return KernelPlan(ordered, tuple(results))

    def _in_order(self, nests: Sequence[Nest]) -> tuple[Nest, ...]:
        """Nests of one kernel, each after what it needs, and else as their last computes stand in the block."""
        own = set(nests)
        missing = {nest: {s for s in self.sources[nest] if s in own} for nest in nests}
        for nest in nests:
            if nest.anchor is not None:  # what it passes on, others have from it
                for reader in self.readers[nest.anchor]:
                    if reader in own and reader is not nest:
                        missing[reader].add(nest)
        last = {nest: max(map(self.graph.position.__getitem__, nest.roots)) for nest in nests}
        readers: dict[Nest, list[Nest]] = {nest: [] for nest in nests}
        for nest, sources in missing.items():
            for source in sources:
                readers[source].append(nest)
        ready = [(last[nest], n) for n, nest in enumerate(nests) if not missing[nest]]
        heapify(ready)
        index = {nest: n for n, nest in enumerate(nests)}
        order: list[Nest] = []
        while ready:
            nest = nests[heappop(ready)[1]]
            order.append(nest)
            for reader in readers[nest]:
                missing[reader].discard(nest)
                if not missing[reader]:
                    heappush(ready, (last[reader], index[reader]))
        return tuple(order)

    def _reason(self, one: int, other: int) -> str:
        """Why two kernels, of which the one needs the other, are two."""
        reason = self._why_apart(one, other, True) or ""
        if any(nest.is_reduction for g in (one, other) for u in self._units[g] for nest in u):
            return reason
        (producer,), (consumer,) = self._units[one][0], self._units[other][0]
        reads = consumer.reads_of(producer.results)
        if producer.space == consumer.space and all(map(consumer.is_whole, reads)):
            return why_not_one(producer, consumer) or self.graph.why_apart(one, other) or ""
        readers = len(self.readers[producer])
        reasons = (why_stored(consumer, producer, read, readers) for read in reads)
        return next((found for found in reasons if found), "others need it too")
