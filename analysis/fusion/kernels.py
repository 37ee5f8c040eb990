"""From nests to kernels: reductions with their epilogues, and what works on the same rows."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from heapq import heapify, heappop, heappush
from typing import TypeAlias

from xdsl.ir import Block, SSAValue

from ...dialects import te
from ..plans.cost import RESOLUTION, time_text
from .factors import can_factor, factored
from .grouping import NestGrouping
from .inlining import is_one_of_equal_slices, why_not_one, why_stored
from .nests import Nest, identity
from .plan import Boundary, FusionPlan, KernelPlan
from .rows import DEFAULT_CACHES, Caches, Tensors, Unit, refusal

Seconds: TypeAlias = Callable[[KernelPlan], float | None]
"""The predicted time of a kernel; None where there is no prediction."""


def plan_fusion(
    block: Block,
    caches: Caches = DEFAULT_CACHES,
    seconds: Seconds = lambda _: None,
    *,
    reassociates: bool = True,
) -> FusionPlan:
    """
    What becomes of the computes of a block; kernels that are formed already stay as they are.

    `seconds` weighs whether operands of a product are computed in its kernel, which they are not where it is None.
    `reassociates` says whether sums of floats may be added up in another order.
    """
    grouping = NestGrouping(block)
    grouping.fuse()
    kernels = _KernelGrouping(grouping, caches, seconds)
    kernels.finish_reductions()
    kernels.join_rows(contractions=False)
    kernels.join_rows(contractions=True)
    kernels.join_operands()
    return replace(kernels.plan(), factored=kernels.factored(reassociates))


class _KernelGrouping:
    """Groups of nests, which share their kernel."""

    def __init__(self, grouping: NestGrouping, caches: Caches, seconds: Seconds):
        self.graph, self.caches, self.kept = grouping.graph, caches, grouping.kept
        self.seconds = seconds
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
        self._times: dict[tuple[Nest, ...], float | None] = {}

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

    def join_rows(self, contractions: bool) -> None:
        """
        Join kernels of which the one needs the other as long as that is a gain.

        What computes an operand of a product waits until it is known whether the product is part of a longer chain.
        """
        changed = True
        while changed:
            changed = False
            for one, other in self._links():
                if self._is_operand(one, other):
                    continue
                if self._why_apart(one, other, contractions) is None:
                    units = self._units.pop(one) + self._units.pop(other)
                    self._units[self.graph.merge(one, other)] = units
                    changed = True

    # Operands.

    def join_operands(self) -> None:
        """Let products compute their operands, where that is a gain, and chains those of their products."""
        for one, other in self._links():
            if not self._is_operand(one, other):
                continue
            if self._why_stored_before(one, other) is None:
                (producer,), (product,) = self._units.pop(one), self._units.pop(other)
                self._units[self.graph.merge(one, other)] = [(*producer, *product)]
        self.join_rows(contractions=True)

    def _is_operand(self, one: int, other: int) -> bool:
        """
        Whether a group only computes an operand, element by element, of a product that has no other group's work beside
        that of its epilogue.
        """
        producers, products = self._units[one], self._units[other]
        if len(producers) != 1 or len(products) != 1:
            return False
        (producer, *more), unit = producers[0], products[0]
        if more or producer.is_reduction or len(producer.stored) != 1:
            return False
        readers = [nest for nest in unit if nest.reads_of(producer.stored)]
        return len(readers) == 1 and readers[0].is_matrix_product

    def _computes_operands(self, group: int) -> bool:
        """Whether a group is a product with what computes its operands."""
        first = self._units[group][0]
        return len(first) > 1 and not first[0].is_reduction

    def _why_stored_before(self, one: int, other: int) -> str | None:
        """Why a product does not compute an operand of its own; None when it does."""
        (producer,), (product,) = self._units[one], self._units[other]
        if producer[0].is_reshape or is_one_of_equal_slices(producer[0]):
            return "the operand is a view of what is stored"
        if any(self.is_needed(value, (*producer, *product)) for value in producer[0].stored):
            return "others need the operand too"
        times = [self._seconds(nests) for nests in (producer, product, (*producer, *product))]
        apart, alone, together = times
        if apart is None or alone is None or together is None:
            return "there is no prediction of what the product takes"
        # One kernel of the same time is one call and one buffer fewer.
        if together > (apart + alone) * RESOLUTION:
            return (
                f"the product with its operand computed is predicted to take {time_text(together)}, both apart "
                f"{time_text(apart + alone)}"
            )
        return self.graph.why_apart(one, other)

    def _seconds(self, nests: Unit) -> float | None:
        """What a kernel of these nests is predicted to take."""
        if nests not in self._times:
            known = all(map(self._tensors.is_static, nests))
            self._times[nests] = self.seconds(self._kernel(nests)) if known else None
        return self._times[nests]

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
        if self._computes_operands(one) or self._computes_operands(other):
            return "a product that computes its operands has a kernel of its own"
        asked = (one, len(units), other, len(others), contractions)  # a group only grows
        if asked not in self._asked:
            self._asked[asked] = refusal(
                units, others, self.caches, self._tensors, contractions=contractions
            )
        return self._asked[asked] or self.graph.why_apart(one, other)

    # Reductions over all axes.

    def factored(self, reassociates: bool) -> tuple[te.ComputeOp, ...]:
        """The reductions that are better done row by row first, in the chains that make their operands."""
        return tuple(
            root
            for nest in self.number
            if can_factor(nest, reassociates) and self._tensors.is_static(nest)
            for root in (nest.roots if self._reduces_rows_of_others(nest) else ())
        )

    def _reduces_rows_of_others(self, nest: Nest) -> bool:
        """Whether a chain that goes by rows already would take in what a nest makes of each of its rows."""
        by_rows, other = factored(nest), self.graph.group(self.number[nest])
        for one in dict.fromkeys(self.graph.group(self.number[s]) for s in self.sources[nest]):
            units = self._units[one]
            chain = [each for unit in units for each in unit]
            if one == other or not any(each.is_reduction for each in chain):
                continue
            rows = self._tensors.shared_rows(chain)
            is_alike = rows == self._tensors.shared_rows([*chain, by_rows])
            why_apart = refusal(units, [(by_rows,)], self.caches, self._tensors)
            if is_alike and (why_apart or self.graph.why_apart(one, other)) is None:
                return True
        return False

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
        if self._is_operand(one, other):
            return self._why_stored_before(one, other) or ""
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
