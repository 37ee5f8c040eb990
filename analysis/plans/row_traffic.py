"""What goes between memory and the caches: results stored past them, and rows asked for ahead of their use."""

from __future__ import annotations

from collections.abc import Sequence

from ...targets.core import LINE_BYTES
from ...targets.target import Target
from ..cost import name_cost
from ..facts import Access, Home, KernelFacts
from .cost import kept_bytes
from .row_nests import Nest
from .rows_plan import Fetch, NestPlan, RowsPlan


def traffic(facts: KernelFacts) -> int:
    """The bytes of the arrays and constants that a kernel is given, those of unknown size apart."""
    given = sum(facts.buffers[n].bytes or 0 for n in _arguments(facts))
    constants = (n for n, buffer in enumerate(facts.buffers) if buffer.home is Home.CONSTANT)
    return given + sum(_read_of(facts, number) for number in constants)


def _read_of(facts: KernelFacts, buffer: int) -> int:
    """The bytes that are read of a buffer: of a table no more than is looked up."""
    points = sum(
        statement.points or 0
        for statement in facts.statements
        if any(read.buffer == buffer for read in statement.reads)
    )
    found = facts.buffers[buffer]
    return min(found.bytes or 0, points * found.element_bytes)


def _arguments(facts: KernelFacts) -> list[int]:
    outside = (Home.ARGUMENT, Home.RESULT)
    return [n for n, buffer in enumerate(facts.buffers) if buffer.home in outside]


def passing_caches(
    facts: KernelFacts,
    nests: Sequence[Nest],
    plan: RowsPlan,
    target: Target,
) -> tuple[int, ...]:
    """
    The results that may be stored past the caches: all stores but those under conditions are of whole lines.

    What another kernel reads next is not among them, unless the last cache would lose it before.
    """
    last = target.core.caches[-1]
    found: list[int] = []
    for number in _arguments(facts):
        buffer = facts.buffers[number]
        is_lost = not buffer.is_passed_on or (buffer.bytes or 0) > last.bytes
        if is_lost and _is_written_in_lines(number, nests, plan):
            found.append(number)
    return tuple(found)


def _is_written_in_lines(buffer: int, nests: Sequence[Nest], plan: RowsPlan) -> bool:
    """Whether a buffer is only stored to, unless under a condition by lanes that fill lines."""
    if any(read.buffer == buffer for nest in nests for read in nest.reads):
        return False
    stores = [
        (nest, own, write)
        for nest, own in zip(nests, plan.nests, strict=True)
        for write in nest.writes
        if write.buffer == buffer and not write.is_guarded
    ]
    return bool(stores) and all(_fills_lines(*store) for store in stores)


def _fills_lines(nest: Nest, plan: NestPlan, write: Access) -> bool:
    """Whether lanes store neighbours, so many that rows of lines begin where one of them does."""
    line = LINE_BYTES // nest.facts.element_bytes(write)
    if not plan.order or nest.stride(write, plan.order[-1]) != 1:
        return False
    axis = plan.order[-1]
    together = nest.extent(axis)
    if plan.square is not None:
        side = plan.square.side
        lanes = [min(nest.extent(axis), side), nest.extent(axis) % side if together > side else 0]
        # A single row that is left over is no square.
        is_whole = nest.extent(plan.square.read) % side != 1
        if not is_whole or any(n % line for n in lanes):
            return False
    elif not plan.lanes or min(plan.lanes, together) % line:
        return False
    elif together <= plan.lanes and together & (together - 1):
        return False  # all of it is under a condition
    strides = [nest.stride(write, other) for other in plan.order[:-1] if nest.extent(other) != 1]
    return all(stride and stride % line == 0 for stride in strides)


def fetched_ahead(
    facts: KernelFacts, nests: Sequence[Nest], plan: RowsPlan, target: Target
) -> tuple[Fetch, ...]:
    """
    Ask for the next rows of arrays that several nests read.

    The hardware fetches along a row by itself, but stops while the row in the caches is worked on. A core has no more than
    a few lines under way, and waits when it asks for others: so the nest that asks is the one that has most to compute
    meanwhile, and of those that store no results, which need such lines as well, if there is one.
    """
    found: list[Fetch] = []
    for buffer in _arguments(facts):
        readers = [n for n, nest in enumerate(nests) if any(r.buffer == buffer for r in nest.reads)]
        if len(readers) < 2 or (facts.buffers[buffer].bytes or 0) <= target.core.cache(2).bytes:
            continue
        asking = [
            Fetch(buffer, n, distance)
            for n in readers
            if (distance := _distance(nests[n], plan.nests[n], buffer, plan.fused, target))
        ]
        if asking:
            found.append(max(asking, key=lambda fetch: _leisure(facts, nests[fetch.nest])))
    return tuple(found)


def _leisure(facts: KernelFacts, nest: Nest) -> tuple[bool, float]:
    """How well lines come while a nest computes: whether it stores none itself, and the arithmetic of one element."""
    outside = _arguments(facts)
    stores = any(write.buffer in outside for write in nest.writes)
    return not stores, sum(count * name_cost(name) for name, count in nest.operations.items())


def _distance(nest: Nest, plan: NestPlan, buffer: int, fused: int, target: Target) -> int:
    """How many blocks a row is. 0 where the nest is not in blocks of a row, or two rows leave L2 together."""
    read = next(read for read in nest.reads if read.buffer == buffer)
    axis, row = plan.order[-1], plan.order[fused - 1]
    if not plan.lanes or nest.extent(axis) <= plan.lanes or read.is_guarded or axis == row:
        return 0
    length, step = nest.stride(read, row), (nest.stride(read, axis) or 0) * plan.lanes
    if not length or step <= 0 or length < 2 * step:
        return 0
    if 2 * length * nest.facts.element_bytes(read) > kept_bytes(target.core.cache(2)):
        return 0
    return length // step
