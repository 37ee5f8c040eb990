"""What a kernel's facts are once short loops are written out: their iterations one after the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product

from ...frozen import replaced
from .kernel import Access, Axis, KernelFacts, Role, Statement, Subscript, distributed


def groups_of(facts: KernelFacts) -> list[tuple[int, ...]]:
    """The statements of a kernel in order, those that share all of their loops together."""
    groups: list[list[int]] = []
    for number, statement in enumerate(facts.statements):
        depth = len(statement.axes)
        if groups and depth == len(facts.statements[number - 1].axes) == statement.shared:
            groups[-1].append(number)
        else:
            groups.append([number])
    return [tuple(group) for group in groups]


def written_out(facts: KernelFacts, short: Mapping[int, tuple[int, ...]]) -> KernelFacts:
    """
    The facts with short loops written out, after loop distribution and without the loops of one iteration.

    What sets a sum to its start is then in the loops of its terms. `short` are axes, by the first of the statements that
    share all of their loops, whose extents are numbers and whose loops go innermost first. A read under a condition that
    holds in all iterations then, or in none, loses it or is gone.
    """
    facts = distributed(facts)
    statements: list[Statement] = []
    for group in groups_of(facts):
        own = [facts.statements[number] for number in group]
        gone = short.get(group[0], ())
        axes = own[0].axes
        left = [n for n, axis in enumerate(axes) if n not in gone and axis.extent != 1]
        copies = product(*(range(_extent(axes[n])) for n in gone))
        made = [
            _at(facts, statement, left, dict(zip(gone, place, strict=True)))
            for place in copies
            for statement in own
        ]
        is_begun = bool(gone) and _initialises(statements[-len(own) :], made)
        statements += [
            replaced(each, shared=len(left) if n or is_begun else 0) for n, each in enumerate(made)
        ]
    return replaced(facts, statements=tuple(statements))


def _initialises(before: Sequence[Statement], made: Sequence[Statement]) -> bool:
    """Whether statements set what others, in as many parallel loops, add up in one iteration of these."""
    return (
        bool(before)
        and all(not each.reads and each.combiner is None for each in before)
        and all(each.axes == made[0].axes for each in before)
        and all(axis.role is Role.PARALLEL for axis in made[0].axes)
        and [each.write for each in before] == [each.write for each in made[: len(before)]]
        and len({each.write for each in made}) == len(before)
    )


def _extent(axis: Axis) -> int:
    assert isinstance(axis.extent, int), (
        "only loops of a known number of iterations are written out"
    )
    return axis.extent


def _at(
    facts: KernelFacts, statement: Statement, left: Sequence[int], at: Mapping[int, int]
) -> Statement:
    """A statement in one iteration of the loops that are gone, with the axes that are left."""
    axes = tuple(statement.axes[n] for n in left)
    reads = (_access(facts, read, axes, left, at) for read in statement.reads)
    write = _access(facts, statement.write, axes, left, at)
    assert write is not None
    kept = tuple(read for read in reads if read is not None)
    return replaced(statement, axes=axes, reads=kept, write=write)


def _access(
    facts: KernelFacts,
    access: Access,
    axes: tuple[Axis, ...],
    left: Sequence[int],
    at: Mapping[int, int],
) -> Access | None:
    """The access there; None where it is of no element."""
    subscripts = tuple(
        s
        and Subscript(
            tuple(s.coefficients[n] for n in left),
            s.constant + sum(s.coefficients[axis] * place for axis, place in at.items()),
        )
        for s in access.subscripts
    )
    made = replaced(access, subscripts=subscripts)
    if not access.is_guarded or not made.is_affine:
        return made
    ranges = [_range(s, axes) for s in subscripts if s is not None]
    shape = facts.buffers[access.buffer].shape
    if any(found is None for found in ranges) or not all(isinstance(n, int) for n in shape):
        return made
    pairs = [
        (low, high, size)
        for (low, high), size in zip((r for r in ranges if r), shape, strict=True)
        if isinstance(size, int)
    ]
    if any(high < 0 or low >= size for low, high, size in pairs):
        return None
    return replaced(made, is_guarded=not all(low >= 0 and high < size for low, high, size in pairs))


def _range(subscript: Subscript, axes: tuple[Axis, ...]) -> tuple[int, int] | None:
    """The least and the greatest value of a subscript."""
    low = high = subscript.constant
    for by, axis in zip(subscript.coefficients, axes, strict=True):
        if not by:
            continue
        if not isinstance(axis.extent, int):
            return None
        last = by * (axis.extent - 1)
        low, high = low + min(last, 0), high + max(last, 0)
    return low, high
