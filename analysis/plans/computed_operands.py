"""
Operands of contractions that are computed element by element: where that is done, and how long it takes.

An operand that is packed is computed while it is. One that is not is computed block of rows by block of rows,
where a plan has such blocks, into a copy that stays near while the tiles use it; else all of it is, before the
contraction begins.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...frozen import frozen
from ...targets.core import Core
from ..cost import name_cost
from ..facts import Access, Contraction
from .contraction_plan import ContractionPlan
from .lanes import block_lanes, hiding_vectors
from .row_nests import nests_of


@frozen
class Computing:
    """What an element of an operand is computed by: operations, in additions, and loads of so many bytes in all."""

    work: float
    loads: int
    read_bytes: int


def computing(c: Contraction, operand: Access) -> Computing | None:
    """What the elements of an operand are computed by; None where they are stored before."""
    maker = c.maker(operand)
    if maker is None:
        return None
    statement = c.facts.statements[maker]
    work = sum(count * name_cost(name) for name, count in statement.operations)
    moving = [r for r in statement.reads if _is_whole(c, r, len(statement.axes))]
    read = sum(c.facts.element_bytes(each) for each in moving)
    return Computing(work, len(statement.reads), read)


def _is_whole(c: Contraction, read: Access, axes: int) -> bool:
    """Whether each element that is computed reads another one, as it does not of a bias or a scale."""
    return all(read.moves_along(axis) for axis in range(axes))


def is_along(c: Contraction, operand: Access, axis: int) -> bool:
    """Whether neighbours along an axis are neighbours in memory in most of what an operand's elements are read from."""
    sources = c.sources(operand)
    near = [c.stride(read, axis) in (0, 1) for read in sources]
    moves = any(c.stride(read, axis) == 1 for read in sources)
    return moves and 2 * sum(near) >= len(near)


def stride_of_sources(c: Contraction, operand: Access, axis: int) -> int | None:
    """The stride of what an operand's elements are read from: 1 where most are neighbours."""
    if c.maker(operand) is None:
        return c.stride(operand, axis)
    return 1 if is_along(c, operand, axis) else None


def keeps_rows(plan: ContractionPlan, m: int, k: int) -> bool:
    """Whether a plan has blocks of rows, for which a left operand that is computed and not packed is so."""
    return plan.mc < m or (plan.kc < k and not plan.k_outside)


def order_of_rows(c: Contraction, order: Sequence[int]) -> tuple[int, ...]:
    """
    The dimensions of a copy of rows, of those of packed panels: the last one is along which neighbours are read.
    """
    *outer, summed, row = order
    return (*outer, summed, row) if is_along(c, c.left, c.m[-1]) else (*outer, row, summed)


def lanes_of(c: Contraction, operand: Access, core: Core) -> int:
    """How many elements of an operand are computed together, or extended where nothing computes them."""
    number = c.maker(operand)
    if number is None:
        return core.lanes(c.result_bytes) * hiding_vectors(core)
    return block_lanes(next(nest for nest in nests_of(c.facts) if number in nest.statements), core)
