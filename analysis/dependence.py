"""
Exact memory dependences between the operations of a function.

A dependence is a pair of iterations that touch the same element, at least one of them writing, in the
order they run. The whole relation is kept as an integer map, so that questions have exact answers: which
loop carries it, at what distance, and which pair of iterations a new order would swap.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property

import islpy as isl
from xdsl.dialects import func
from xdsl.ir import Operation, SSAValue

from ..dialects import loop
from .reductions import ReductionUpdate, find_updates
from .scop import Access, Scop, extract


class DependenceKind(StrEnum):
    FLOW = "flow"
    """read after write"""
    ANTI = "anti"
    """write after read"""
    OUTPUT = "output"
    """write after write"""


class Direction(StrEnum):
    """How a loop's variable changes from the source iteration to the sink."""

    LESS = "<"
    EQUAL = "="
    GREATER = ">"
    ANY = "*"


@dataclass(frozen=True)
class Iteration:
    """One iteration: the loop names with their values, outermost first."""

    values: tuple[tuple[str, int], ...]

    def __str__(self) -> str:
        return "(" + ", ".join(f"{name}={value}" for name, value in self.values) + ")"


@dataclass(frozen=True)
class Witness:
    """A concrete pair of iterations (and values of the parameters), source first."""

    source: Iteration
    sink: Iteration
    parameters: tuple[tuple[str, int], ...] = ()

    def __str__(self) -> str:
        given = ", ".join(f"{name}={value}" for name, value in self.parameters)
        return f"{self.source} and {self.sink}" + (f" with {given}" if given else "")


@dataclass(frozen=True)
class Dependence:
    """
    The iterations of `sink` that must run after those of `source`.

    `relation` maps source iterations to sink iterations. It is exact, or (`exact` false) holds at least
    all true pairs. `reduction` is set when both ends are updates `x = x ⊕ …` by the same associative and
    commutative ⊕, so that their order does not matter where reassociation is allowed.
    """

    source: Access
    sink: Access
    kind: DependenceKind
    relation: isl.Map
    exact: bool
    reduction: ReductionUpdate | None = None

    @cached_property
    def common_loops(self) -> tuple[loop.ForOp, ...]:
        """The loops around both ends, outermost first."""
        common: list[loop.ForOp] = []
        for a, b in zip(self.source.loops, self.sink.loops, strict=False):
            if a is not b:
                break
            common.append(a)
        return tuple(common)

    @cached_property
    def distances(self) -> isl.Set:
        """All differences of the common loops' variables, sink minus source."""
        depth = len(self.common_loops)
        pairs = self.relation
        for side, loops in (
            (isl.dim_type.in_, self.source.loops),
            (isl.dim_type.out, self.sink.loops),
        ):
            pairs = pairs.project_out(side, depth, len(loops) - depth)
            pairs = pairs.set_tuple_name(side, "")
        return _same_names(pairs).deltas()

    @cached_property
    def distance_vector(self) -> tuple[int | None, ...]:
        """For each common loop the one distance of all pairs, or None when it varies."""
        return tuple(
            low.to_python() if low.eq(high) else None for low, high in self._distance_bounds
        )

    @cached_property
    def direction_vector(self) -> tuple[Direction, ...]:
        """For each common loop the sign of the distance."""
        return tuple(_direction(low, high) for low, high in self._distance_bounds)

    @cached_property
    def _distance_bounds(self) -> list[tuple[isl.Val, isl.Val]]:
        distances = self.distances
        return [
            (distances.dim_min_val(n), distances.dim_max_val(n))
            for n in range(len(self.common_loops))
        ]

    def carried_by(self, for_op: loop.ForOp) -> isl.Map:
        """The pairs in the same iteration of the loops around `for_op`, in different ones of its own."""
        position = self.common_loops.index(for_op)
        pairs = self.relation
        for n in range(position):
            pairs = pairs.equate(isl.dim_type.in_, n, isl.dim_type.out, n)
        return pairs.order_lt(isl.dim_type.in_, position, isl.dim_type.out, position)

    def is_carried_by(self, for_op: loop.ForOp) -> bool:
        return for_op in self.common_loops and not self.carried_by(for_op).is_empty()

    def describe(self) -> str:
        """The kind, the buffer and the distances, for messages."""
        name = self.source.buffer.name_hint or "a buffer"
        distance = ", ".join(
            direction.value if fixed is None else str(fixed)
            for fixed, direction in zip(self.distance_vector, self.direction_vector, strict=True)
        )
        where = f" at distance ({distance})" if distance else ""
        known = "" if self.exact else " that may exist (an access is not affine)"
        return f"{self.kind} dependence through '%{name}'{where}{known}"


def _direction(low: isl.Val, high: isl.Val) -> Direction:
    if low.is_pos():
        return Direction.LESS
    if high.is_neg():
        return Direction.GREATER
    return Direction.EQUAL if low.is_zero() and high.is_zero() else Direction.ANY


def _same_names(pairs: isl.Map) -> isl.Map:
    """Give both sides the same dimension names, which `deltas` asks for."""
    for n in range(pairs.dim(isl.dim_type.in_)):
        pairs = pairs.set_dim_name(isl.dim_type.in_, n, f"d{n}")
        pairs = pairs.set_dim_name(isl.dim_type.out, n, f"d{n}")
    return pairs


@dataclass
class Dependences:
    """All the dependences of one function, and the questions transformations ask."""

    scop: Scop
    updates: dict[Operation, ReductionUpdate]
    all: list[Dependence] = field(default_factory=list[Dependence])

    def between(self, sources: Sequence[Access], sinks: Sequence[Access]) -> list[Dependence]:
        return [d for d in self.all if d.source in sources and d.sink in sinks]

    def carried_by(self, for_op: loop.ForOp) -> list[Dependence]:
        """The dependences between different iterations of the loop, reductions included."""
        return [d for d in self.all if d.is_carried_by(for_op)]

    def is_parallel(self, for_op: loop.ForOp) -> bool:
        """Whether no iteration of the loop depends on another."""
        return not self.carried_by(for_op)

    def kind_of(self, for_op: loop.ForOp) -> loop.LoopKind:
        """What the dependences say of the loop."""
        carried = self.carried_by(for_op)
        if not carried:
            return loop.LoopKind.PARALLEL
        if all(d.reduction is not None for d in carried):
            return loop.LoopKind.REDUCTION
        return loop.LoopKind.SERIAL

    def witness(self, pairs: isl.Map, dependence: Dependence) -> Witness:
        """The lexicographically first pair of a non-empty part of a dependence."""
        points = pairs.wrap()
        point = points.lexmin().sample_point()
        if point.is_void():  # isl's lexmin of a non-empty set with divisions may come out empty
            point = points.sample_point()
        values = [
            point.get_coordinate_val(isl.dim_type.set, n).to_python()
            for n in range(point.get_space().dim(isl.dim_type.set))
        ]
        depth = len(dependence.source.loops)
        return Witness(
            _iteration(dependence.source.loops, values[:depth]),
            _iteration(dependence.sink.loops, values[depth:]),
            self._parameters(point),
        )

    def _parameters(self, point: isl.Point) -> tuple[tuple[str, int], ...]:
        return tuple(
            (
                f"%{value.name_hint or n}",
                point.get_coordinate_val(isl.dim_type.param, n).to_python(),
            )
            for n, value in enumerate(self.scop.parameters)
        )


def _iteration(loops: Sequence[loop.ForOp], values: Sequence[int]) -> Iteration:
    names = [for_op.loop_name.data for for_op in loops]
    return Iteration(tuple(zip(names, values, strict=True)))


def dependences(function: func.FuncOp) -> Dependences:
    """All the dependences of a function of one block at the loop level."""
    scop = extract(function)
    updates = find_updates(function)
    result = Dependences(scop, updates)
    for group in _groups(scop):
        for source in group:
            for sink in group:
                dependence = _dependence(scop, updates, source, sink)
                if dependence is not None:
                    result.all.append(dependence)
    return result


def _groups(scop: Scop) -> list[list[Access]]:
    """Accesses that may meet: those of one buffer, and of buffers that may alias it."""
    groups: list[list[SSAValue]] = []
    for buffer in dict.fromkeys(access.buffer for access in scop.accesses):
        met = [g for g in groups if any(scop.aliases.may_alias(buffer, other) for other in g)]
        groups = [g for g in groups if g not in met]
        groups.append([*(other for g in met for other in g), buffer])
    return [[access for access in scop.accesses if access.buffer in group] for group in groups]


def _dependence(
    scop: Scop, updates: dict[Operation, ReductionUpdate], source: Access, sink: Access
) -> Dependence | None:
    if not (source.is_write or sink.is_write):
        return None
    same_buffer = source.buffer is sink.buffer
    if same_buffer:
        pairs = source.element.apply_range(sink.element.reverse())
    else:
        if not scop.aliases.may_alias(source.buffer, sink.buffer):
            return None
        pairs = isl.Map.from_domain_and_range(source.domain, sink.domain)
    pairs = pairs.intersect(source.time.lex_lt_map(sink.time))
    if pairs.is_empty():
        return None
    if source.is_write:
        kind = DependenceKind.OUTPUT if sink.is_write else DependenceKind.FLOW
    else:
        kind = DependenceKind.ANTI
    reduction = _common_reduction(updates, source, sink)
    if reduction is not None and source.op is not sink.op:
        pairs = _without_own(pairs, updates, source, sink)
        if pairs.is_empty():
            return None
    exact = same_buffer and source.exact and sink.exact
    return Dependence(source, sink, kind, pairs, exact, reduction)


def _common_reduction(
    updates: dict[Operation, ReductionUpdate], source: Access, sink: Access
) -> ReductionUpdate | None:
    first, second = updates.get(source.op), updates.get(sink.op)
    if first is None or second is None or first.operator != second.operator:
        return None
    return first


def _without_own(
    pairs: isl.Map, updates: dict[Operation, ReductionUpdate], source: Access, sink: Access
) -> isl.Map:
    """Without the pairs inside one update, whose load always runs before its store."""
    if updates[source.op] is not updates[sink.op]:
        return pairs
    depth = len(source.loops)
    same = pairs
    for n in range(depth):
        same = same.equate(isl.dim_type.in_, n, isl.dim_type.out, n)
    return pairs.subtract(same)
