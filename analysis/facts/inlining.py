"""The facts of a kernel after values are computed where they are read, and not stored."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from .kernel import Access, Home, KernelFacts, Statement, Subscript, sort_key


def can_inline(facts: KernelFacts, number: int, *, guards: bool = False) -> bool:
    """
    Whether what a statement stores can be computed where it is read instead.

    It alone stores to a scratch buffer, every element by one iteration of its own, from what is not written again.
    With `guards` what it reads may be under a condition, as a padded operand is.
    """
    statement = facts.statements[number]
    write = statement.write
    return (
        facts.buffers[write.buffer].home is Home.SCRATCH
        and facts.writers(write.buffer) == [number]
        and facts.is_perfect(number)
        and statement.combiner is None
        and all(access.is_affine for access in statement.accesses)
        and not write.is_guarded
        and (guards or not any(read.is_guarded for read in statement.reads))
        and write.is_permutation
        and all(write.moves_along(axis) for axis in range(len(statement.axes)))
        and all(read.buffer != write.buffer for read in statement.reads)
        and all(n < number for read in statement.reads for n in facts.writers(read.buffer))
        and all(
            read.is_affine
            for other in facts.statements
            for read in other.reads
            if read.buffer == write.buffer
        )
    )


def inlined(facts: KernelFacts, numbers: Iterable[int]) -> KernelFacts:
    """
    The facts after such statements are inlined, one after the other.

    Statements keep their numbers: those that are gone stay in their places, and nothing reads what they store.
    """
    statements = list(facts.statements)
    for number in numbers:
        made = statements[number]
        for n, other in enumerate(statements):
            if any(read.buffer == made.write.buffer for read in other.reads):
                statements[n] = _with_inlined(other, made)
    return replace(facts, statements=tuple(statements))


def read_through(made: Statement, read: Access) -> tuple[Access, ...]:
    """What is read in the place of an element, when it is computed there as a statement computes it."""
    points: list[Subscript] = []
    for axis in range(len(made.axes)):
        dimension = made.write.dimension_of(axis)
        point = None if dimension is None else read.subscripts[dimension]
        assert point is not None, "such a statement is not inlined"
        points.append(point)
    count = len(read.subscripts[0].coefficients) if read.subscripts and read.subscripts[0] else 0
    return tuple(
        Access(
            operand.buffer,
            tuple(s and _composed(s, points, count) for s in operand.subscripts),
            read.is_guarded,
        )
        for operand in made.reads
    )


def _composed(outer: Subscript, points: list[Subscript], count: int) -> Subscript:
    """A subscript over iterations that are themselves linear in other iterations, of so many axes."""
    pairs = list(zip(outer.coefficients, points, strict=True))
    return Subscript(
        tuple(sum(by * point.coefficients[axis] for by, point in pairs) for axis in range(count)),
        outer.constant + sum(by * point.constant for by, point in pairs),
    )


def _with_inlined(reader: Statement, made: Statement) -> Statement:
    reads: list[Access] = []
    operations = Counter(dict(reader.operations))
    for read in reader.reads:
        if read.buffer == made.write.buffer:
            reads += read_through(made, read)
            operations.update(dict(made.operations))
        else:
            reads.append(read)
    unique = sorted(dict.fromkeys(reads), key=sort_key)
    return replace(reader, reads=tuple(unique), operations=tuple(sorted(operations.items())))
