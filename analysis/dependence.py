"""
Exact memory dependences between the operations of a function.

A dependence is a pair of iterations that touch the same element, at least one of them writing, in the
order they run. The whole relation is kept as an integer map, so that questions have exact answers: which
loop carries it, at what distance, and which pair of iterations a new order would swap.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from enum import StrEnum
from functools import reduce

import islpy as isl
from xdsl.dialects import func
from xdsl.ir import Operation

from ..dialects import loop
from ..frozen import frozen, frozen_in_types
from ..lazy import cached_property
from .alias import is_allocation
from .domains import Around, Place
from .first_point import first_point
from .frames import Frames
from .iteration_pairs import carried, is_carried, meet_at_first, within
from .operations import operations_in
from .reductions import ReductionUpdate, Updates
from .scop import Access, Scop, extract, groups_that_may_meet
from .subscript_tests import equal_loops


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


@frozen
class Iteration:
    """One iteration: the loop names with their values, outermost first."""

    values: tuple[tuple[str, int], ...]

    def __str__(self) -> str:
        return "(" + ", ".join(f"{name}={value}" for name, value in self.values) + ")"


@frozen
class Witness:
    """A concrete pair of iterations (and values of the parameters), source first."""

    source: Iteration
    sink: Iteration
    parameters: tuple[tuple[str, int], ...] = ()

    def __str__(self) -> str:
        given = ", ".join(f"{name}={value}" for name, value in self.parameters)
        return f"{self.source} and {self.sink}" + (f" with {given}" if given else "")


@frozen_in_types
class Dependence:
    """
    The iterations of `sink` that must run after those of `source`.

    What takes more than a look at the two is found when it is first asked for, which has to be before the function is
    rewritten.
    """

    source: Access
    sink: Access
    kind: DependenceKind
    is_before: bool
    """whether the source stands before the sink"""
    _updates: Updates

    __eq__ = object.__eq__
    __hash__ = object.__hash__

    @cached_property
    def exact(self) -> bool:
        """Whether the relation is exact, and does not hold more than all true pairs."""
        same_buffer = self.source.buffer is self.sink.buffer
        return same_buffer and self.source.exact and self.sink.exact

    @cached_property
    def reduction(self) -> ReductionUpdate | None:
        """
        The update `x = x ⊕ …` that the source belongs to, where the sink belongs to one by the same associative and
        commutative ⊕, so that their order does not matter where reassociation is allowed.
        """
        first, second = self._updates.of(self.source.op), self._updates.of(self.sink.op)
        if first is None or second is None or first.operator != second.operator:
            return None
        return first

    @cached_property
    def is_later(self) -> bool:
        """Whether the sink runs after the source in one iteration of all common loops: there are pairs in it too."""
        if not self.is_before or self.source.op.parent is not self.sink.op.parent:
            return self.is_before
        # The load of one update, which is in the block of its store, always runs before that.
        update = self._updates.of(self.source.op)
        return update is None or update is not self._updates.of(self.sink.op)

    @cached_property
    def exists(self) -> bool:
        """Whether there is any pair. Dependences that are asked for by `between` and its like have some."""
        return (
            (self.is_later and meet_at_first(*self._ends))
            or self.leaves(len(self.common_loops))
            or self._within is not None
        )

    @cached_property
    def relation(self) -> isl.Map:
        """From source iterations to sink iterations."""
        found = self.inside(0)
        assert found is not None, "asked of a dependence that does not exist"
        return found

    def inside(self, depth: int) -> isl.Map | None:
        """
        The pairs in the same iteration of the `depth` outermost common loops; None where there are none.

        The rest of `relation` is not asked for.
        """
        parts = [self._carried(n) for n in range(depth, len(self.common_loops))]
        found = [self._named(part) for part in parts if part is not None]
        found += [] if self._within is None else [self._within]
        return reduce(isl.Map.union, found) if found else None

    def leaves(self, depth: int) -> bool:
        """Whether there is a pair in different iterations of the `depth` outermost common loops."""
        if self.equal_loops(depth, 0).issuperset(range(depth)):
            return False  # as mostly, which is seen for all of the loops at once
        return any(is_carried(*self._ends, n) for n in range(depth))

    def _carried(self, loop_number: int) -> isl.Map | None:
        return carried(*self._ends, loop_number)

    @cached_property
    def _within(self) -> isl.Map | None:
        """The pairs in one iteration of all common loops."""
        found = within(*self._ends, len(self.common_loops)) if self.is_later else None
        return None if found is None else self._named(found)

    @cached_property
    def _ends(self) -> tuple[Around, Place | None, Around, Place | None]:
        if self.source.buffer is not self.sink.buffer:
            return self.source.around, None, self.sink.around, None
        return self.source.around, self.source.place, self.sink.around, self.sink.place

    def _named(self, pairs: isl.Map) -> isl.Map:
        """The pairs under the names of the two accesses."""
        named = pairs.set_tuple_name(isl.dim_type.in_, self.source.name)
        return named.set_tuple_name(isl.dim_type.out, self.sink.name)

    def stays_inside(self, loops: Sequence[loop.ForOp], given: int) -> bool:
        """
        Whether it is seen without integer sets that no pair is in different iterations of these common
        loops, among the pairs in the same iteration of the `given` outermost ones.
        """
        common = self.common_loops
        numbers = [common.index(op) for op in loops if op in common]
        return len(numbers) == len(loops) and self.equal_loops(len(common), given).issuperset(
            numbers
        )

    def equal_loops(self, depth: int, given: int) -> frozenset[int]:
        """See `equal_loops` in `subscript_tests.py`."""
        source, at, sink, to = self._ends
        if at is None or to is None:
            return frozenset()
        if not self.is_before:  # what is so one way is so the other way, and is looked for once
            source, at, sink, to = sink, to, source, at
        return equal_loops(source, at, sink, to, depth, given)

    @cached_property
    def common_loops(self) -> tuple[loop.ForOp, ...]:
        """The loops around both ends, outermost first."""
        return _common_loops(self.source, self.sink)

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
        part = self._carried(self.common_loops.index(for_op))
        return isl.Map.empty(self.relation.get_space()) if part is None else self._named(part)

    def is_carried_by(self, for_op: loop.ForOp) -> bool:
        common = self.common_loops
        return for_op in common and is_carried(*self._ends, common.index(for_op))

    def describe(self) -> str:
        """The kind, the buffer and the distances, for messages."""
        name = loop.buffer_name(self.source.buffer) or "a buffer"
        distance = ", ".join(
            direction.value if fixed is None else str(fixed)
            for fixed, direction in zip(self.distance_vector, self.direction_vector, strict=True)
        )
        where = f" at distance ({distance})" if distance else ""
        known = ""
        if self.source.buffer is not self.sink.buffer:
            other = loop.buffer_name(self.sink.buffer) or "another buffer"
            known = f" that may exist ('%{other}' may be the same memory)"
        elif not self.exact:
            known = " that may exist (an access is not affine)"
        return f"{self.kind} dependence through '%{name}'{where}{known}"


def _common_loops(source: Access, sink: Access) -> tuple[loop.ForOp, ...]:
    common: list[loop.ForOp] = []
    for a, b in zip(source.loops, sink.loops, strict=False):
        if a is not b:
            break
        common.append(a)
    return tuple(common)


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


Unless = Callable[[Dependence], bool]
"""Whether a dependence does not matter to a question."""


def _never(_: Dependence) -> bool:
    return False


class Dependences:
    """
    All the dependences of one function, and the questions transformations ask.

    Each is found when a question is first asked that it may be the answer to.
    """

    def __init__(
        self,
        function: func.FuncOp,
        frames: Frames | None = None,
        operations: Sequence[Operation] | None = None,
    ):
        """`frames` are the function's, and `operations` all that are in it, in textual order."""
        if operations is None:
            operations = operations_in(function)
        self.scop = extract(frames or Frames(function), operations)
        self.updates = Updates(operations, self.scop.aliases)
        self._finder = _Finder(self.scop, self.updates)

    @property
    def all(self) -> list[Dependence]:
        return self.between(self.scop.accesses, self.scop.accesses)

    def inside(self, operations: Iterable[Operation], unless: Unless = _never) -> list[Dependence]:
        """The dependences both of whose ends are in some of the operations; `unless` is as for `between`."""
        accesses = {access for op in operations for access in self.scop.inside(op)}
        return self.between(accesses, accesses, unless)

    def between(
        self,
        sources: Collection[Access],
        sinks: Collection[Access],
        unless: Unless = _never,
    ) -> list[Dependence]:
        """
        The dependences from one of some accesses to one of others.

        Those of which `unless` is true are left out before integer sets are asked whether there are any: it
        saves most of the time.
        """
        return [d for d in self.possible(sources, sinks) if not unless(d) and d.exists]

    def carried_by(self, for_op: loop.ForOp, unless: Unless = _never) -> list[Dependence]:
        """The dependences between different iterations of the loop, with reductions; `unless` is as for `between`."""
        accesses = self.scop.inside(for_op)
        # Of a buffer that is made in the loop each iteration has its own.
        made = filter(is_allocation, {access.buffer for access in accesses})
        own = {buffer for buffer in made if for_op.is_ancestor(buffer.owner)}
        shared = [access for access in accesses if access.buffer not in own]
        possible = self.possible(shared, shared)
        return [d for d in possible if not unless(d) and d.is_carried_by(for_op)]

    @cached_property
    def _groups(self) -> list[list[Access]]:
        return groups_that_may_meet(self.scop)

    def possible(
        self, sources: Collection[Access], sinks: Collection[Access]
    ) -> Iterator[Dependence]:
        """All pairs of accesses of which one writes what the other may touch: some of them do not exist."""
        first, second = set(sources), set(sinks)
        for group in self._groups:
            ours = [access for access in group if access in first]
            others = [access for access in group if access in second] if ours else []
            for source in ours:
                for sink in others:
                    if source.is_write or sink.is_write:
                        dependence = self._finder.dependence(source, sink)
                        if dependence is not None:
                            yield dependence

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

    def witness(self, pairs: isl.Map, source: Access, sink: Access) -> Witness:
        """The lexicographically first of some pairs of iterations of two accesses, of which there are any."""
        point = first_point(pairs.wrap())
        values = [
            point.get_coordinate_val(isl.dim_type.set, n).to_python()
            for n in range(point.get_space().dim(isl.dim_type.set))
        ]
        depth = len(source.loops)
        return Witness(
            _iteration(source.loops, values[:depth]),
            _iteration(sink.loops, values[depth:]),
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
    return Dependences(function)


def pairs_in_order(source: Access, sink: Access) -> isl.Map | None:
    """The iterations of two accesses of one buffer that touch the same element, the first one before; None where there are none."""
    ends = source.around, source.place, sink.around, sink.place
    common = len(_common_loops(source, sink))
    parts = [carried(*ends, n) for n in range(common)]
    if source.number < sink.number:
        parts.append(within(*ends, common))
    found = [part for part in parts if part is not None]
    if not found:
        return None
    pairs = reduce(isl.Map.union, found).set_tuple_name(isl.dim_type.in_, source.name)
    return pairs.set_tuple_name(isl.dim_type.out, sink.name)


class _Finder:
    """Pairs accesses of one function."""

    def __init__(self, scop: Scop, updates: Updates):
        self._scop, self._updates = scop, updates
        self._found: dict[tuple[Access, Access], Dependence | None] = {}

    def dependence(self, source: Access, sink: Access) -> Dependence | None:
        """The dependence of which it is not known yet whether it exists; None for buffers that never meet."""
        ends = source, sink
        if ends not in self._found:
            self._found[ends] = self._find(source, sink)
        return self._found[ends]

    def _find(self, source: Access, sink: Access) -> Dependence | None:
        same_buffer = source.buffer is sink.buffer
        if not same_buffer and not self._scop.aliases.may_alias(source.buffer, sink.buffer):
            return None
        if source.is_write:
            kind = DependenceKind.OUTPUT if sink.is_write else DependenceKind.FLOW
        else:
            kind = DependenceKind.ANTI
        is_before = source.number < sink.number and source.op is not sink.op
        return Dependence(source, sink, kind, is_before, self._updates)
