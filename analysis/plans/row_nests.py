"""What plans ask of a nest that is no contraction: which way its accesses move along each of its axes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import prod

from ...frozen import frozen
from ...lazy import cached_property
from ..facts import Access, Axis, KernelFacts, Role, Subscript, groups_of
from ..interleaved import MOST_APART


@frozen
class Nest:
    """
    The loops of one or several statements that share all of them.

    `is_alone` says that no other statement is in any of them, `is_innermost` that no loop is inside of them.
    """

    facts: KernelFacts
    statements: tuple[int, ...]
    is_alone: bool
    is_innermost: bool

    @cached_property
    def axes(self) -> tuple[Axis, ...]:
        return self.facts.statements[self.statements[0]].axes

    @cached_property
    def writes(self) -> tuple[Access, ...]:
        return tuple(self.facts.statements[n].write for n in self.statements)

    @cached_property
    def reads(self) -> tuple[Access, ...]:
        """What is read, the elements that are updated included."""
        every = (self.facts.statements[n] for n in self.statements)
        return tuple(
            read
            for statement in every
            for read in (*statement.reads, *([statement.write] if statement.combiner else []))
        )

    @cached_property
    def accesses(self) -> tuple[Access, ...]:
        return (*self.reads, *self.writes)

    @cached_property
    def distinct_reads(self) -> tuple[Access, ...]:
        """The reads, equal ones once."""
        return tuple(dict.fromkeys(self.reads))

    @cached_property
    def distinct_writes(self) -> tuple[Access, ...]:
        return tuple(dict.fromkeys(self.writes))

    @cached_property
    def distinct(self) -> tuple[Access, ...]:
        """The accesses, equal reads once, and equal writes."""
        return (*self.distinct_reads, *self.distinct_writes)

    @cached_property
    def distinct_places(self) -> tuple[Access, ...]:
        """The accesses, what is read and written once."""
        return tuple(dict.fromkeys(self.accesses))

    @cached_property
    def operations(self) -> dict[str, int]:
        """The scalar operations of one iteration by name."""
        counted: dict[str, int] = {}
        for statement in (self.facts.statements[n] for n in self.statements):
            for name, count in statement.operations:
                counted[name] = counted.get(name, 0) + count
            if statement.combiner is not None:
                counted[statement.combiner] = counted.get(statement.combiner, 0) + 1
        return counted

    @cached_property
    def element_bytes(self) -> int:
        """The size of the largest element that is read, written or computed on the way."""
        computed = max(self.facts.statements[n].widest for n in self.statements)
        return max(computed, *(self.facts.element_bytes(access) for access in self.accesses))

    @cached_property
    def is_flat(self) -> bool:
        """Whether nothing in it is under a condition."""
        return not any(access.is_guarded for access in self.accesses)

    @cached_property
    def extents(self) -> tuple[int, ...] | None:
        """The extents when all are numbers, else None."""
        return self.facts.statements[self.statements[0]].extents

    def extent(self, axis: int) -> int:
        """The extent of an axis, 0 where it is not known: nothing is worth doing for it then."""
        extent = self.axes[axis].extent
        return extent if isinstance(extent, int) else 0

    @cached_property
    def points(self) -> int:
        """The iterations of all loops together, 0 where that is not known."""
        return prod(self.extents or [0])

    def stride(self, access: Access, axis: int) -> int | None:
        """As of `KernelFacts.stride`, worked out once: all that is looked at of a plan asks for it."""
        asked = access, axis
        known = self._strides
        if asked not in known:
            known[asked] = self.facts.stride(access, axis)
        return known[asked]

    @cached_property
    def _strides(self) -> dict[tuple[Access, int], int | None]:
        return {}

    def role(self, axis: int) -> Role:
        return self.axes[axis].role

    @cached_property
    def is_parallel(self) -> bool:
        return all(axis.role is Role.PARALLEL for axis in self.axes)

    @property
    def sums_in_any_order(self) -> bool:
        """Whether all that is stored may be summed up in another order: the sums of `fp=strict` may not."""
        return all(self.facts.statements[n].reassociates for n in self.statements)


def nests_of(facts: KernelFacts) -> tuple[Nest, ...]:
    """The nests of a kernel in order; each statement is in one."""
    return tuple(_nest(facts, group) for group in groups_of(facts))


def _nest(facts: KernelFacts, group: tuple[int, ...]) -> Nest:
    first, after = facts.statements[group[0]], facts.statements[group[-1] + 1 : group[-1] + 2]
    depth = len(first.axes)
    is_alone = not first.shared and not any(s.shared for s in after)
    # A neighbour that shares all of these loops and has more is inside of them.
    is_innermost = first.shared < depth and not any(s.shared == depth for s in after)
    return Nest(facts, group, is_alone, is_innermost)


def best_order(nest: Nest) -> tuple[int, ...]:
    """
    The axes with that one innermost along which most accesses are of neighbours or of one element; of several,
    the one along which more is stored to neighbours, and the present order where that is as good.
    """
    axes = range(len(nest.axes))
    present = tuple(axes)
    may_reorder = nest.is_alone and nest.is_flat and nest.extents is not None and len(axes) > 1
    if not may_reorder or not _is_free(nest):
        return present
    best = max(axes, key=lambda axis: _score(nest, axis))
    if _score(nest, best) <= _score(nest, present[-1]):
        return present
    return (*(axis for axis in axes if axis != best), best)


def _is_free(nest: Nest) -> bool:
    """Whether the loops may be in any order: none carries anything but a sum."""
    if any(axis.role is Role.SERIAL for axis in nest.axes):
        return False
    return nest.is_parallel or (len(nest.statements) == 1 and nest.sums_in_any_order)


def _score(nest: Nest, axis: int) -> tuple[int, int]:
    near = [nest.stride(access, axis) in (0, 1) for access in nest.accesses]
    return sum(near), sum(nest.stride(write, axis) == 1 for write in nest.writes)


def transposed_axes(nest: Nest) -> tuple[int, int] | None:
    """The axes along which most of what is read, and what is written, are neighbours, where these differ."""
    if not nest.is_alone or not nest.is_flat or nest.extents is None or not nest.is_parallel:
        return None
    if len(nest.writes) != 1 or len(nest.axes) < 2:
        return None
    axes = range(len(nest.axes))
    # Of axes of one element there are several.
    written = [axis for axis in axes if nest.stride(nest.writes[0], axis) == 1]
    pairs = [
        (read, axis)
        for axis in written
        for read in axes
        if any(_is_across(nest, load, read, axis) for load in nest.reads)
    ]
    across = [
        load
        for load in nest.reads
        if any(_is_across(nest, load, read, axis) for axis in written for read in axes)
    ]
    # What is the same for all that is written in order, as a summand for each row, is read once.
    moving = [load for load in nest.reads if any(nest.stride(load, axis) != 0 for axis in written)]
    return pairs[0] if pairs and len(across) * 2 >= len(moving) else None


def _is_across(nest: Nest, load: Access, read: int, written: int) -> bool:
    """Whether a load is of neighbours along one axis, and neither that nor of one element along the other."""
    return nest.stride(load, read) == 1 and nest.stride(load, written) not in (0, 1)


def is_sum_of_rows(nest: Nest, order: Sequence[int]) -> bool:
    """Whether the innermost axis sums up neighbours for each iteration of the parallel one around it."""
    if len(order) < 2 or not nest.is_alone or not nest.is_flat or nest.extents is None:
        return False
    row, summed = order[-2:]
    return (
        len(nest.writes) == 1
        and nest.role(row) is Role.PARALLEL
        and nest.role(summed) is Role.REDUCTION
        and all(nest.stride(access, summed) in (0, 1) for access in nest.accesses)
        and nest.stride(nest.writes[0], summed) == 0
        and nest.sums_in_any_order
    )


def is_one_sum(nest: Nest, order: Sequence[int]) -> bool:
    """Whether the only axis sums up neighbours to one number."""
    if len(order) != 1 or not nest.is_alone or not nest.is_flat or nest.extents is None:
        return False
    return (
        nest.role(order[0]) is Role.REDUCTION
        and all(nest.stride(access, order[0]) in (0, 1) for access in nest.accesses)
        and all(nest.stride(write, order[0]) == 0 for write in nest.writes)
        and nest.sums_in_any_order
    )


def is_sum_around_results(nest: Nest, order: Sequence[int]) -> bool:
    """Whether a summation runs around the loop over its results, which are neighbours."""
    if len(order) < 2 or not nest.is_alone or not nest.is_flat or not nest.points:
        return False
    outer, inner = order[-2:]
    return (
        len(nest.writes) == 1
        and nest.role(outer) is Role.REDUCTION
        and nest.role(inner) is Role.PARALLEL
        and nest.stride(nest.writes[0], outer) == 0
        and nest.stride(nest.writes[0], inner) == 1
    )


def runs_in_lanes(nest: Nest, axis: int) -> bool:
    """
    Whether neighbouring iterations store to neighbours, or update one element as well, and most loads are
    of neighbours or one element too, or of elements that are a few apart. Stores that are a few apart are to fill what is
    between together.
    """
    if not nest.is_innermost or nest.extent(axis) < 2:
        return False
    if nest.role(axis) is Role.SERIAL:
        return is_running(nest, axis)
    is_sum = nest.role(axis) is Role.REDUCTION
    stored = {n: nest.stride(nest.facts.statements[n].write, axis) for n in nest.statements}
    alone = [n for n, stride in stored.items() if stride not in ((0, 1) if is_sum else (1,))]
    if alone and (is_sum or not fill_neighbours(nest, axis, alone)):
        return False
    if is_sum and 0 not in stored.values():
        return False
    sums = [n for n, stride in stored.items() if is_sum and stride == 0]
    if not all(nest.facts.statements[n].reassociates for n in sums):
        return False
    near = [are_near(nest.stride(read, axis)) for read in nest.reads]
    return sum(near) * 2 >= len(near)


def is_running(nest: Nest, axis: int) -> bool:
    """
    Whether a serial axis updates one element, in any order, and stores what it is by then to neighbours: a running sum.
    """
    statements = [nest.facts.statements[n] for n in nest.statements]
    strides = [nest.stride(each.write, axis) for each in statements]
    updated = [
        each.write.buffer
        for each, stride in zip(statements, strides, strict=True)
        if stride == 0 and each.combiner is not None and each.reassociates
    ]
    return (
        nest.role(axis) is Role.SERIAL
        and len(updated) == 1
        and sorted(stride or 0 for stride in strides) == [0] + [1] * (len(strides) - 1)
        and all(read.buffer in updated or nest.stride(read, axis) in (0, 1) for read in nest.reads)
    )


def are_near(stride: int | None) -> bool:
    """Whether what neighbouring iterations use is in vectors of neighbours, a few of them at most."""
    return stride is not None and abs(stride) <= MOST_APART


def fill_neighbours(nest: Nest, axis: int, statements: Sequence[int]) -> bool:
    """Whether stores whose neighbouring iterations are a few elements apart fill all that is between."""
    places: dict[tuple[object, ...], list[int]] = {}
    for write in (nest.facts.statements[n].write for n in statements):
        stride, place = nest.stride(write, axis), linear_place(nest, write)
        if stride is None or not 1 < stride <= MOST_APART or place is None:
            return False
        coefficients = tuple(s.coefficients for s in write.subscripts if s is not None)
        places.setdefault((write.buffer, stride, coefficients), []).append(place)
    return all(
        sorted(found) == list(range(min(found), min(found) + len(found)))
        and len(found) % key[1] == 0
        for key, found in places.items()
        if isinstance(key[1], int)
    )


def linear_place(nest: Nest, access: Access) -> int | None:
    """The place in memory, in elements, of what the first iteration of all loops accesses."""
    strides = nest.facts.buffers[access.buffer].strides
    total = 0
    for subscript, stride in zip(access.subscripts, strides, strict=True):
        if subscript is None or (subscript.constant and stride is None):
            return None
        total += subscript.constant * (stride or 0)
    return total


def may_be_fused(nests: Sequence[Nest], orders: Sequence[Sequence[int]], depth: int) -> bool:
    """
    Whether the loops at a depth of all nests, of those further out being fused, may be one: they are parallel,
    have the same trip counts, and what one iteration stores only the same iteration of another uses.
    """
    if any(len(order) <= depth for order in orders):
        return False
    axes = [order[depth] for order in orders]
    extents = {nest.axes[axis].extent for nest, axis in zip(nests, axes, strict=True)}
    if len(extents) != 1 or not all(isinstance(extent, int) for extent in extents):
        return False
    if any(nest.role(axis) is not Role.PARALLEL for nest, axis in zip(nests, axes, strict=True)):
        return False
    facts = nests[0].facts
    # What is allocated inside of the loop is each iteration's own already.
    stored = {
        write.buffer
        for nest in nests
        for write in nest.writes
        if facts.buffers[write.buffer].depth <= depth
    }
    used = [
        {
            (access.buffer, _own_parts(access, axis))
            for access in nest.accesses
            if access.buffer in stored
        }
        for nest, axis in zip(nests, axes, strict=True)
    ]
    return all(
        not one[1].isdisjoint(other[1])
        for first, second in combinations(used, 2)
        for one in first
        for other in second
        if one[0] == other[0]
    )


def _own_parts(access: Access, axis: int) -> frozenset[tuple[int, int, int]]:
    """
    The subscripts that an axis alone moves, as dimension, coefficient and number: two accesses that have one in common are of one
    element only in the same iteration of their axes.
    """
    return frozenset(
        (dimension, by, subscript.constant)
        for dimension, subscript in enumerate(access.subscripts)
        if subscript is not None and (by := _only_coefficient(subscript, axis))
    )


def _only_coefficient(subscript: Subscript, axis: int) -> int:
    """The coefficient of an axis that alone moves the subscript, else 0."""
    return subscript.coefficients[axis] if sum(map(bool, subscript.coefficients)) == 1 else 0
