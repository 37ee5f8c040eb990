"""
The plan for what is no contraction: elements, reductions, chains of them over rows, copies and transpositions.

Memory bounds these kernels. Nests that share their outer loops are fused there, so that a row stays in the
nearest cache from its first use to its last; innermost loops run in blocks of several vectors; sums keep
their results near; what is read along one axis and written along another goes through squares in registers.
"""

from __future__ import annotations

from typing import Literal

from ...frozen import frozen, frozen_in_types

Word = Literal["whole", "part", "group", "block", "tiles", "tile"]
"""
Which loop over an axis: all of it, over parts of it (of a summation or of its results), over groups of rows, over
blocks of lanes, over squares and over blocks of squares.
"""


@frozen
class Square:
    """A transposition in registers: `side` × `side` elements along the axes that are read and written in order."""

    read: int
    written: int
    side: int
    across: int = 0
    """squares of a block in each direction, whose rows stay in L2; 0 where they are not in blocks"""
    turned: bool = False
    """whether one square follows another along what is read, and not along what is written"""


@frozen_in_types
class NestPlan:
    """
    What becomes of one nest. Axes are numbers of its statements' axes.

    Where `rows` is more than 1, so many rows are summed up side by side: in groups of rows, or, in nests that are
    fused, by joining iterations of the fused loop.
    """

    statements: tuple[int, ...]
    order: tuple[int, ...]
    """of its loops, outermost first"""
    lanes: int = 0
    """elements of a block of the innermost loop, which run in vectors together; 0 for one by one"""
    rows: int = 1
    jam: int = 1
    """iterations of a summation around its results that are added up before they are added to memory"""
    results: int = 0
    """results of such a summation that are summed up before the next ones are; 0 for all"""
    parts: int = 1
    """parts of such a summation, for as many threads, which are added up afterwards"""
    turns: int = 1
    """parts of a summation along the innermost axis that are read in turns, a block of lanes of each"""
    square: Square | None = None

    @property
    def is_elementwise(self) -> bool:
        """Whether its innermost loop runs in lanes, and nothing else was decided but the order."""
        others = (self.jam, self.results, self.parts, self.square)
        return self.lanes > 0 and self.rows == 1 and others == (1, 0, 1, None)

    def __str__(self) -> str:
        words = [f"axes {' '.join(map(str, self.order))}"]
        words += [f"blocks of {self.lanes} lanes"] if self.lanes else []
        words += [f"{self.rows} rows together"] if self.rows > 1 else []
        words += [f"sums of {self.jam} terms"] if self.jam > 1 else []
        words += [f"{self.results} results at a time"] if self.results else []
        words += [f"the sum in {self.parts} parts"] if self.parts > 1 else []
        words += [f"{self.turns} parts in turns"] if self.turns > 1 else []
        if self.square is not None:
            square = self.square
            words.append(f"squares of {square.side}x{square.side}")
            words += [f"in blocks of {square.across}x{square.across}"] if square.across else []
            words += ["one after the other along what is read"] if square.turned else []
        return ", ".join(words)


@frozen
class Fetch:
    """Ask for a buffer's elements that will be read so many blocks of lanes later, in a nest."""

    buffer: int
    nest: int
    distance: int


@frozen
class ThreadLoop:
    """A loop that runs on threads, by what it is over: one of the axes of a nest."""

    nest: int
    word: Word
    axis: int


@frozen_in_types
class RowsPlan:
    """
    What becomes of a kernel's nests, of which each statement is in one. Buffers are numbers of the facts' buffers.

    The outer `fused` loops of all nests are one, and each buffer in `staged` exists for one iteration of them, or one
    block of iterations, in the scope given. Buffers that are `nontemporal` are stored past the caches.
    """

    nests: tuple[NestPlan, ...]
    fused: int = 0
    blocks: int = 0
    """
    iterations of the innermost fused loop that all nests do in lanes before the next ones are done; 0 where each is
    done by itself
    """
    written: tuple[tuple[int, tuple[int, ...]], ...] = ()
    """
    the axes of short loops that are written out before all else, innermost, by the number of the first statement in
    them; the nests are what the statements are afterwards
    """
    staged: tuple[tuple[int, str], ...] = ()
    fetched: tuple[Fetch, ...] = ()
    nontemporal: tuple[int, ...] = ()
    threads: tuple[ThreadLoop, ...] = ()

    def __str__(self) -> str:
        words = [f"({nest})" for nest in self.nests]
        words += [
            f"axes {' '.join(map(str, axes))} of statement {n} written out"
            for n, axes in self.written
            if axes
        ]
        words += [f"{self.fused} outer loops fused"] if self.fused else []
        words += [f"{self.blocks} rows in lanes together"] if self.blocks else []
        words += [f"buffer {n} kept for a row in {scope}" for n, scope in self.staged]
        words += [f"buffer {f.buffer} fetched {f.distance} blocks ahead" for f in self.fetched]
        words += [f"buffer {n} stored past the caches" for n in self.nontemporal]
        words += [f"axis {t.axis} of nest {t.nest} on threads" for t in self.threads]
        return ", ".join(words)
