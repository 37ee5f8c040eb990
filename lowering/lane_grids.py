"""
Loads of every s-th element that share whole vectors: those of a grid, at multiples of what all lanes move along.

Where neighbouring windows overlap, as in a convolution with a stride, each phase is read again a few lanes further. That is no
other vector in memory, which would lie across two lines: it is a shuffle of what has been dealt out of the grid's
vectors, and of the next one. Vectors that reach beyond an end of a row are loaded by masks of what is there; as these do
not depend on which lanes run, all loads share such vectors, too. (Eichenberger, Wu and O'Brien, "Vectorization for SIMD
Architectures with Alignment Constraints", PLDI 2004, shift whole vectors in registers for the same reason.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.ir import SSAValue

from ..frozen import frozen
from .core_builder import CoreBuilder
from .lane_values import shuffled

Exist = tuple[bool, ...]
"""Which elements of a vector there are."""


@frozen
class Grid:
    """
    The vectors of two blocks of a grid: of as many each as the lanes are elements apart, the first of which has the first
    lane's element.
    """

    apart: int
    width: int
    at: int
    """the place of the first lane's element in the first block"""
    exist: tuple[Exist | None, ...]
    """of each vector which elements there are; None where that is not known"""
    load: Callable[[int, Exist], SSAValue]
    """the vector of that number, with zeros for what does not exist"""
    zeros: Callable[[], SSAValue]
    deal_out: Callable[[list[SSAValue], int], SSAValue]
    """of the vectors of a block, every element at a phase"""


@frozen
class _Source:
    """A vector in which some lanes find their elements."""

    vector: SSAValue
    places: tuple[int | None, ...]
    """of each lane's element; None for those that are elsewhere"""
    is_zero: tuple[bool, ...]
    """of which places, as nothing is there in memory"""


def load_from_grid(
    grid: Grid, runs: Sequence[bool], builder: CoreBuilder
) -> tuple[SSAValue, bool] | None:
    """
    The elements of the lanes that run, and whether the others are zero; None where it is not known which elements exist.
    """
    sources: list[_Source] = []
    for block in range(2):
        numbers = _vectors(grid, block, runs)
        if any(grid.exist[number] is None for number in numbers):
            return None
        if numbers:
            sources.append(_source(grid, block, numbers, builder))
    if not sources:
        return grid.zeros(), True
    rest = [lane for lane, one in enumerate(runs) if not one]
    if len(sources) == 1 and not all(_finds_zero(sources[0], lane) for lane in rest):
        nowhere: tuple[None, ...] = (None,) * grid.width
        sources.append(_Source(grid.zeros(), nowhere, (True,) * grid.width))
    return _chosen(grid, sources, runs, builder)


def _finds_zero(source: _Source, lane: int) -> bool:
    at = source.places[lane]
    return at is not None and source.is_zero[at]


def _vectors(grid: Grid, block: int, runs: Sequence[bool]) -> list[int]:
    """The numbers of the vectors of a block that have elements of lanes that run; all of them, if there are several."""
    size = grid.apart * grid.width
    at = [grid.at + grid.apart * lane for lane, one in enumerate(runs) if one]
    found = sorted({place // grid.width for place in at if place // size == block})
    return found if len(found) < 2 else [block * grid.apart + n for n in range(grid.apart)]


def _source(grid: Grid, block: int, numbers: Sequence[int], builder: CoreBuilder) -> _Source:
    """The one vector of a block that is needed, or what is dealt out of all of them."""
    apart, width = grid.apart, grid.width
    exist = [grid.exist[number] or () for number in numbers]
    vectors = [grid.load(number, there) for number, there in zip(numbers, exist, strict=True)]
    first = numbers[0] * width
    phase = 0 if len(numbers) == 1 else grid.at % apart
    by = 1 if len(numbers) == 1 else apart
    places: list[int | None] = []
    for lane in range(width):
        at, rest = divmod(grid.at + apart * lane - first - phase, by)
        places.append(at if not rest and 0 <= at < width else None)
    elements = [one for there in exist for one in there]
    is_zero = tuple(not elements[phase + by * n] for n in range(width))
    vector = vectors[0] if len(numbers) == 1 else grid.deal_out(vectors, phase)
    return _Source(vector, tuple(places), is_zero)


def _chosen(
    grid: Grid, sources: Sequence[_Source], runs: Sequence[bool], builder: CoreBuilder
) -> tuple[SSAValue, bool]:
    """The lanes of one or two sources. Lanes that do not run take a zero, where there is one."""
    width = grid.width
    is_zero = [zero for source in sources for zero in source.is_zero]
    zero = next((n for n, one in enumerate(is_zero) if one), None)
    chosen: list[int] = []
    for lane, one in enumerate(runs):
        found = [
            n * width + at for n, s in enumerate(sources) if (at := s.places[lane]) is not None
        ]
        place = found[0] if found else lane
        if not one and not is_zero[place] and zero is not None:
            place = zero
        chosen.append(place)
    rest = all(is_zero[place] for place, one in zip(chosen, runs, strict=True) if not one)
    first = sources[0].vector
    if chosen == list(range(width)):
        return first, rest
    return shuffled(builder, first, sources[-1].vector, chosen), rest
