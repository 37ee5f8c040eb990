"""What the model of a contraction's plans asks of it, as numbers: equal problems have equal plans."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...dialects.dtypes import bit_width
from ...frozen import frozen, replaced
from ...targets.core import Core
from ..constants import least_constant_bytes
from ..cost import name_cost
from ..facts import Access, Contraction, Home
from ..partitioning import bytes_of_others
from .computed_operands import Computing, computing, stride_of_sources
from .cost import split_part

FINISH_WRITTEN_OUT = 8
"""Additions for each element of a tile, or what takes as long, that are written out where it is finished."""


@frozen
class Operand:
    """
    What the model asks of an operand: bytes, strides along its rows' or columns' axis and along K.

    Elements that are extended to a wider type are so while they are packed, or by each tile that reads them.
    """

    element_bytes: int
    """of an element that is computed with, and of a packed one"""
    stored_bytes: int
    along: int | None
    """elements from one row (of A) or column (of B) to the next"""
    summed: int | None
    """elements from one term to the next"""
    is_constant: bool
    is_everybodys: bool
    """whether all entries of the batch read the same elements"""
    computing: Computing | None = None
    """what its elements are computed by, where they are not stored before"""
    may_split: bool = False
    """whether its vectors may lie across two lines where tiles read it as it is: arrays of callers begin anywhere"""
    read_along: int | None = None
    """as `along`, of what the elements are read from when they are packed or computed"""
    read_summed: int | None = None
    constants: int = 0
    """of a constant, the bytes of all that the program has, about, where they are many: as many go by between two calls"""

    @property
    def is_in_order(self) -> bool:
        """Whether its elements can be computed in the order in which they are stored, by loads of neighbours."""
        rows, terms = (self.along, self.read_along), (self.summed, self.read_summed)
        return self.computing is None or (1, 1) in (rows, terms)

    @property
    def least_between_calls(self) -> int:
        """The bytes of constants that go by for sure between two calls that use it, where it is a constant."""
        return least_constant_bytes(self.constants)

    @property
    def is_extended(self) -> bool:
        return self.stored_bytes != self.element_bytes

    @property
    def source_bytes(self) -> int:
        """Bytes that are read for an element that is packed or computed."""
        return self.stored_bytes if self.computing is None else self.computing.read_bytes

    def split_part(self, core: Core, *, is_packed: bool) -> float:
        """Which part of its vectors lies across two lines, where they may begin with any element, or where rows do that are no whole vectors."""
        if is_packed:
            return 0
        if self.may_split or self.along != 1 or self.summed is None:
            return split_part(core) if self.may_split else 0
        return split_part(core, self.summed * self.stored_bytes)

    def read_bytes(self, *, is_packed: bool) -> int:
        """Bytes of an element where tiles read it."""
        return self.element_bytes if is_packed else self.stored_bytes


@frozen
class Problem:
    """A contraction as the model sees it; equal problems have equal plans."""

    m: int
    n: int
    k: int
    batch: int
    left: Operand
    right: Operand
    result_bytes: int
    result_along_n: int | None
    sums: int
    """the axes that are summed over"""
    is_finished: bool
    """whether another statement works on the result tile by tile"""
    reassociates: bool
    exact_terms: int = 0
    """how many products of integers have a sum that is exact in f32"""
    is_symmetric: bool = False
    """whether the result is a symmetric matrix, as both operands are one read in two ways"""
    is_of_one_buffer: bool = False
    """whether both operands are parts of the same buffer"""
    finished_with: int = 0
    """bytes that come for each element when it is finished: what is read then, as in a residual block, and further results"""
    of_others: tuple[int, int, int] = (0, 0, 0)
    """
    bytes of buffers that the program's threads share another way than where rows are dealt out to them, where columns are, and
    where entries of the batch are: see `bytes_of_others`
    """

    @property
    def updates_in_place(self) -> bool:
        """Whether tiles of the result may be read and written again for each block of the sum."""
        return not self.is_finished and self.result_along_n == 1

    @property
    def turned(self) -> Problem:
        """Cᵀ = Bᵀ Aᵀ, whose rows are columns of C."""
        return replaced(
            self,
            m=self.n,
            n=self.m,
            left=self.right,
            right=self.left,
            result_along_n=None,
            of_others=(self.of_others[1], self.of_others[0], self.of_others[2]),
        )


def problem_of(contraction: Contraction) -> Problem:
    """What the plan of a contraction depends on. Tiles are of the innermost axes of M and of N."""
    outer = (*contraction.batch, *contraction.m[:-1], *contraction.n[:-1])
    m, n = contraction.m[-1:], contraction.n[-1:]
    return Problem(
        contraction.extent(m),
        contraction.extent(n),
        contraction.extent(contraction.k),
        contraction.extent(outer),
        _operand(contraction, contraction.left, m[0], outer),
        _operand(contraction, contraction.right, n[0], outer),
        contraction.result_bytes,
        contraction.stride(contraction.result, n[0]),
        len(contraction.k),
        contraction.finished is not None,
        contraction.statement.reassociates,
        contraction.exact_terms,
        contraction.is_symmetric,
        contraction.left.buffer == contraction.right.buffer,
        _finished_with(contraction),
        (
            _of_others(contraction, m),
            _of_others(contraction, n),
            _of_others(contraction, [axis for axis in outer if contraction.extent((axis,)) > 1]),
        ),
    )


def _of_others(contraction: Contraction, axes: Sequence[int]) -> int:
    """With that of several axes dealt out by which it is least."""
    found = (bytes_of_others(contraction.facts, contraction.statement, axis) for axis in axes)
    return min(found, default=0)


def finishing_work(contraction: Contraction) -> float:
    """What each element of the result is finished with, in additions; 0 where it is not."""
    facts = contraction.facts
    finished = () if contraction.finished is None else facts.nest(contraction.finished)
    counts = (facts.statements[number].operations for number in finished)
    return sum(count * name_cost(name) for operations in counts for name, count in operations)


def is_finish_written_out(contraction: Contraction) -> bool:
    """
    Whether what finishes a register tile is written out, so that the tile goes there in registers. Of functions that are many
    instructions each there is one copy, in a loop, which takes the tile from the stack.
    """
    return finishing_work(contraction) <= FINISH_WRITTEN_OUT


def tiles(
    problem: Problem, mr: int, nr: int, peels: tuple[bool, bool], *, mirrored: bool = False
) -> Iterator[tuple[int, int, int]]:
    """How many tiles there are of how many rows and columns: those at the edges have fewer where they are peeled."""
    rest_m, rest_n = problem.m % mr, problem.n % nr
    below = rest_m if peels[0] else mr
    # Where there is one tile of columns, the first is the last.
    ends = dict.fromkeys((0, problem.n - rest_n))
    for first in range(0, problem.n, nr) if mirrored else ends:
        is_last = first + nr > problem.n
        if is_last and not rest_n:
            continue
        columns = rest_n if is_last and peels[1] else nr
        count = 1 if mirrored or is_last else problem.n // nr
        above = first // mr if mirrored else 0
        yield count * (problem.m // mr - above), mr, columns
        if rest_m:
            yield count, below, columns


def _finished_with(contraction: Contraction) -> int:
    facts, streams = contraction.facts, contraction.streams
    written = {statement.write.buffer for statement in facts.statements}
    result = next((buffer for buffer in streams if buffer in written), None)
    return sum(facts.buffers[buffer].element_bytes for buffer in streams if buffer != result)


def _operand(contraction: Contraction, access: Access, own: int, outer: tuple[int, ...]) -> Operand:
    stored, last = contraction.facts.element_bytes(access), contraction.k[-1]
    extension = access.extension
    is_constant = contraction.facts.buffers[access.buffer].home is Home.CONSTANT
    return Operand(
        stored if extension is None else bit_width(extension.element) // 8,
        stored,
        contraction.stride(access, own),
        contraction.stride(access, last),
        is_constant,
        not any(access.moves_along(axis) for axis in outer),
        computing(contraction, access),
        contraction.facts.buffers[access.buffer].is_callers,
        stride_of_sources(contraction, access, own),
        stride_of_sources(contraction, access, last),
        contraction.facts.constants if is_constant else 0,
    )
