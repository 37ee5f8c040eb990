"""What a chain of statements that share their rows is: which are its rows, what is made ahead, what goes together."""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache
from itertools import pairwise

from ...frozen import frozen
from ...lazy import cached_property
from ..facts import (
    Access,
    Contraction,
    Home,
    KernelFacts,
    Role,
    Statement,
    can_inline,
    find_contractions,
    inlined,
)

CHEAP = {"arith.addf", "arith.subf", "arith.mulf"}

CHEAP_OPERATIONS = 2
"""So many additions and products are sooner done again at each read than stored and loaded."""

LEAST_STATEMENTS = 4
"""Fewer are a contraction with what initialises and finishes it, which has plans of its own."""


@frozen
class RowChain:
    """
    The statements of a kernel, by number: `rows` go through by blocks of rows, those `ahead` make the right operands
    of contractions, of which the first block of rows needs all. The outer `depth` axes of `rows` are alike.
    """

    facts: KernelFacts
    live: tuple[int, ...]
    ahead: tuple[int, ...]
    contractions: tuple[Contraction, ...]
    depth: int

    # `row_chain` gives the same one for the same kernel, which is found by its identity therefore.
    __eq__ = object.__eq__
    __hash__ = object.__hash__

    @cached_property
    def rows(self) -> tuple[int, ...]:
        return tuple(number for number in self.live if number not in self.ahead)

    @property
    def is_complete(self) -> bool:
        """Whether the contractions' rows are the innermost axis that all statements share, the batch the others."""
        batch = tuple(range(self.depth - 1))
        return (
            bool(self.contractions)
            and len(self.rows) >= LEAST_STATEMENTS
            and self.depth >= 1
            and all(c.number not in self.ahead for c in self.contractions)
            and all(c.batch == batch and c.m == (self.depth - 1,) for c in self.contractions)
            and all(len(c.n) == len(c.k) == 1 for c in self.contractions)
        )

    def statement(self, number: int) -> Statement:
        return self.facts.statements[number]

    def buffer(self, number: int) -> int:
        """The buffer that a statement writes."""
        return self.statement(number).write.buffer

    def is_scratch(self, buffer: int) -> bool:
        return self.facts.buffers[buffer].home is Home.SCRATCH

    def contraction(self, number: int) -> Contraction:
        return next(c for c in self.contractions if c.number == number)

    def readers(self, buffer: int) -> list[int]:
        return [number for number in self.live if self.reads(number, buffer)]

    def reads(self, number: int, buffer: int) -> bool:
        return any(read.buffer == buffer for read in self.statement(number).reads)

    def is_flat(self, number: int) -> bool:
        """Whether it is done for every element in the same way, with no condition."""
        return not any(access.is_guarded for access in self.statement(number).accesses)

    def is_over_elements(self, number: int) -> bool:
        """Whether it has one axis inside of the rows, over the elements of a row."""
        return len(self.statement(number).axes) == self.depth + 1 and self.is_flat(number)

    def is_sum(self, number: int) -> bool:
        """Whether it reduces along its innermost axis."""
        return self.statement(number).axes[-1].role is Role.REDUCTION

    def is_parallel(self, number: int) -> bool:
        return all(axis.role is Role.PARALLEL for axis in self.statement(number).axes)

    # What is done again, and what is made ahead.

    def cheap(self, finished: Collection[int]) -> tuple[int, ...]:
        """The statements that cost next to nothing, but for operands of contractions and what is `finished`."""
        kept = {read.buffer for c in self.contractions for read in (c.left, c.right)}
        kept.update(finished)
        return tuple(
            number
            for number in self.live
            if self.buffer(number) not in kept
            and self._is_cheap(number)
            and can_inline(self.facts, number)
        )

    def _is_cheap(self, number: int) -> bool:
        statement = self.statement(number)
        count = sum(count for _, count in statement.operations)
        return (
            bool(statement.reads)
            and self.is_flat(number)
            and self.is_parallel(number)
            and count <= CHEAP_OPERATIONS
            and all(name in CHEAP for name, _ in statement.operations)
        )

    def is_batched(self, number: int) -> bool:
        """Whether the outer axes of a statement made ahead are those of the batch."""
        axes = self.statement(number).axes[: self.depth - 1]
        return axes == self.statement(self.rows[0]).axes[: self.depth - 1]

    def computed(self, c: Contraction) -> int | None:
        """The statement that makes the right operand, where only right operands are made of it element by element."""
        buffer = c.right.buffer
        writers = [number for number in self.ahead if self.buffer(number) == buffer]
        rights = {other.number for other in self.contractions if other.right.buffer == buffer}
        others = [
            number
            for number in self.readers(buffer)
            if number not in rights or self.contraction(number).left.buffer == buffer
        ]
        if len(writers) != 1 or others or not self.is_parallel(writers[0]):
            return None
        has_reads = bool(self.statement(writers[0]).reads)
        return writers[0] if has_reads and can_inline(self.facts, writers[0]) else None

    # What goes with a contraction.

    def initialising(self, c: Contraction) -> int | None:
        """The statement that sets what the contraction sums up to."""
        for number in self.rows:
            if self.buffer(number) != c.result.buffer or number == c.number:
                continue
            statement = self.statement(number)
            is_init = self.is_over_elements(number) and not statement.reads
            return number if is_init and self.is_aligned(statement.write, c.result, c) else None
        return None

    def is_aligned(self, access: Access, result: Access, c: Contraction) -> bool:
        """Whether an access of a statement over elements has a contraction's rows and columns where it has them."""
        mine = [access.dimension_of(axis) for axis in (self.depth - 1, self.depth)]
        return mine == [result.dimension_of(axis) for axis in (c.m[-1], c.n[-1])]

    # What goes row by row.

    @cached_property
    def near(self) -> tuple[int, ...]:
        """The scratch buffers between the statements, of which one block of rows is kept."""
        made = {self.buffer(number) for number in self.ahead}
        used = {access.buffer for number in self.rows for access in self.statement(number).accesses}
        return tuple(b for b in sorted(used - made) if self.is_scratch(b))

    def groups(self, in_tiles: Collection[int]) -> tuple[tuple[int, ...], ...]:
        """
        The statements that are not done in tiles, in groups that are done row by row.

        What a statement sums up is used by another group: a row's sum takes its last steps while others begin.
        """
        groups: list[list[int]] = [[]]
        summed: set[int] = set()
        for number in self.rows:
            if number in in_tiles:
                groups.append([])
                continue
            own = self.buffer(number)
            uses_sum = any(r.buffer in summed - {own} for r in self.statement(number).reads)
            if uses_sum or not all(
                self._goes_with(other, number, self.depth - 1) for other in groups[-1]
            ):
                groups.append([])
            groups[-1].append(number)
            summed |= {own} if self.is_sum(number) else set()
        return tuple(tuple(group) for group in groups if group)

    def _goes_with(self, first: int, second: int, axis: int) -> bool:
        """Whether an iteration of the axis of one statement needs just the same one of the other."""
        return all(
            a.dimension_of(axis) is not None and a.dimension_of(axis) == b.dimension_of(axis)
            for a in self.statement(first).accesses
            for b in self.statement(second).accesses
            if a.buffer == b.buffer and a.buffer in (self.buffer(first), self.buffer(second))
        )

    def merged(self, groups: tuple[tuple[int, ...], ...]) -> tuple[tuple[int, int], ...]:
        """
        The sums that can take each element as the statement before makes it.

        Only in any order: one element after the other would keep what makes them from running in lanes.
        """
        found: list[tuple[int, int]] = []
        for group in groups:
            whole = [n for n in group if len(self.statement(n).axes) == self.depth + 1]
            for first, second in pairwise(whole):
                extents = {self.statement(n).axes[-1].extent for n in (first, second)}
                made = self.buffer(first)
                between = group[group.index(first) + 1 : group.index(second)]
                if (
                    len(extents) == 1
                    and self.is_sum(second)
                    and self.statement(second).reassociates
                    and self.reads(second, made)
                    and self._goes_with(first, second, self.depth)
                    and not any(self._touches(number, first) for number in between)
                ):
                    found.append((first, second))
        return tuple(found)

    def _touches(self, number: int, first: int) -> bool:
        """Whether a statement reads what the first one makes, or writes what that uses."""
        used = {access.buffer for access in self.statement(first).accesses}
        return self.reads(number, self.buffer(first)) or self.buffer(number) in used


@lru_cache(maxsize=64)
def row_chain(facts: KernelFacts, gone: tuple[int, ...]) -> RowChain | None:
    """The chain that a kernel is after statements are inlined; None when its statements are no nests of their own."""
    facts = inlined(facts, gone)
    live = tuple(n for n in range(len(facts.statements)) if n not in gone)
    whole = all(facts.is_perfect(n) and facts.statements[n].axes for n in live)
    if not facts.is_complete or not whole:
        return None
    contractions = tuple(c for c in find_contractions(facts) if c.number in live)
    ahead = _makers(facts, live, {c.right.buffer for c in contractions})
    rows = [facts.statements[number] for number in live if number not in ahead]
    return RowChain(facts, live, ahead, contractions, _shared_depth(rows))


def _makers(facts: KernelFacts, live: tuple[int, ...], wanted: set[int]) -> tuple[int, ...]:
    """The statements, in order, that write one of the buffers, or what these are made from."""
    found: list[int] = []
    for number in reversed(live):
        statement = facts.statements[number]
        if statement.write.buffer in wanted:
            found.insert(0, number)
            wanted |= {read.buffer for read in statement.reads}
    return tuple(found)


def _shared_depth(statements: list[Statement]) -> int:
    """How many outer axes of all statements are parallel and of the same number of iterations."""
    depth = 0
    for level in zip(*(statement.axes for statement in statements), strict=False):
        is_same = len({axis.extent for axis in level}) == 1 and isinstance(level[0].extent, int)
        if not is_same or any(axis.role is not Role.PARALLEL for axis in level):
            break
        depth += 1
    return depth


def finishing(chain: RowChain, c: Contraction) -> int | None:
    """The statement that alone reads what the contraction has summed up, element by element."""
    buffer = c.result.buffer
    readers = [number for number in chain.readers(buffer) if number != c.number]
    if len(readers) != 1 or not chain.is_scratch(buffer):
        return None
    (number,) = readers
    statement = chain.statement(number)
    rank = sum(s is None or any(s.coefficients) for s in c.result.subscripts)
    reads = [read for read in statement.reads if read.buffer == buffer]
    is_finish = chain.is_flat(number) and chain.is_parallel(number)
    return number if is_finish and len(statement.axes) == rank and _in_rows(reads, c) else None


def _in_rows(reads: list[Access], c: Contraction) -> bool:
    """Whether a statement's last two axes are the rows and the columns of the contraction's result."""
    wanted = [c.result.dimension_of(axis) for axis in (c.m[-1], c.n[-1])]
    count = len(c.batch)
    return all([r.dimension_of(axis) for axis in (count, count + 1)] == wanted for r in reads)


def reducing(chain: RowChain, c: Contraction, finish: int | None) -> int | None:
    """The first statement after the contraction, or what finishes it, when it reduces each row of the result."""
    last = c.number if finish is None else finish
    write = chain.statement(last).write
    rows = chain.rows
    for number in rows[rows.index(last) + 1 :]:
        statement = chain.statement(number)
        if not chain.reads(number, write.buffer):
            if statement.reads:
                return None
            continue
        is_sum = chain.is_sum(number) and chain.is_over_elements(number) and statement.reassociates
        if not is_sum:
            return None
        reads = [read for read in statement.reads if read.buffer == write.buffer]
        axes = (c.m[-1], c.n[-1]) if finish is None else (chain.depth - 1, chain.depth)
        wanted = [write.dimension_of(axis) for axis in axes]
        mine = [[r.dimension_of(a) for a in (chain.depth - 1, chain.depth)] for r in reads]
        return number if all(dimensions == wanted for dimensions in mine) else None
    return None
