"""
Plans for products whose columns are in two parts, each with tiles of its own: those of whole vectors, and the few that are left.

Of an image of 14 x 14 pixels 192 fill vectors, and 4 are left. In vectors of their own these would take as long as 16, and outputs in lanes
for all would have to leave across their lanes. Apart, the few have outputs in lanes, and no others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...frozen import frozen
from ...targets.target import Target
from ..facts import Access, BufferFacts, Contraction, Home, KernelFacts, Statement
from .contraction_plan import ContractionPlan
from .convolution_plan import ConvolutionPlan
from .cost import beyond_share, kept_bytes, unhidden_part

OnePlan = ContractionPlan | ConvolutionPlan


@frozen
class PartedPlan:
    """The first columns by one plan, and the rest by another; weights are packed for both when the program is loaded."""

    columns: int
    """of the first part: whole vectors"""
    first: OnePlan
    rest: OnePlan

    @property
    def parts(self) -> tuple[OnePlan, OnePlan]:
        return self.first, self.rest

    def __str__(self) -> str:
        return f"columns 0 to {self.columns}: {self.first}; the others: {self.rest}"


def columns_of_vectors(c: Contraction, target: Target) -> int | None:
    """
    How many columns of a product fill vectors, where some are left, and the rows' operand is constant, so that it may be packed for
    both parts when the program is loaded; None for other products.
    """
    facts, lanes, columns = c.facts, target.core.lanes(c.result_bytes), c.extent(c.n[-1:])
    if facts.buffers[c.left.buffer].home is not Home.CONSTANT or c.computed:
        return None
    own = [n for n in (c.initialised, c.number, c.finished) if n is not None]
    places = [c.result.dimension_of(axis) or 0 for axis in c.parallel]
    is_in_order = c.parallel == tuple(range(len(places))) and places == sorted(places)
    if not is_in_order or own != list(range(len(facts.statements))):
        return None
    if any(1 in (each.extents or (1,)) for each in facts.statements):  # such loops go
        return None
    if columns < lanes or columns % lanes == 0 or c.stride(c.result, c.n[-1]) != 1:
        return None
    return columns // lanes * lanes


def ends_in_tile(plan: OnePlan, columns: int) -> bool:
    """
    Whether the last of so many columns are in a tile that has more: what is beyond is padded at the end of a result, but not where the rest
    of its columns begin.
    """
    return isinstance(plan, ContractionPlan) and not plan.peel_n and columns % plan.nr != 0


def column_axes(c: Contraction) -> list[int]:
    """Which axis of each statement goes along the columns: those that initialise or finish the result have its axes in its order."""
    column, places = c.n[-1], {axis: c.result.dimension_of(axis) or 0 for axis in c.parallel}
    number = sorted(places.values()).index(places[column])
    return [column if n == c.number else number for n in range(len(c.facts.statements))]


def waiting_for_weights(c: Contraction, part: Contraction, seconds: float, target: Target) -> float:
    """
    Seconds in which a part that takes so many waits for its copy of the weights, beyond what is known of it as a kernel by itself: both copies
    go by in a call, so that more of each leaves L2 until the next one, and all of it where constants of the whole program do.
    """
    core, last = target.core, target.core.caches[-1]
    near = kept_bytes(core.cache(2))
    weights = c.extent((*c.m, *c.k)) * c.left_bytes
    if c.facts.constants > near:  # as many go by for the part by itself, too
        missing = 1.0 - beyond_share(near, c.facts.constants / 2)
    else:
        others = c.extent((*c.n, *c.k)) * c.right_bytes + c.extent(c.parallel) * c.result_bytes
        known = part.extent((*part.n, *part.k)) * c.right_bytes
        known += part.extent(part.parallel) * c.result_bytes + weights
        missing = beyond_share(near, 2 * weights + others) - beyond_share(near, known)
    is_far = last.level < 3 or max(c.facts.constants, 2 * weights) > last.bytes // last.shared_by
    rate = (target.rates.read_memory if is_far else target.rates.beyond_l2).core
    coming = missing * weights / rate
    return unhidden_part(target) * coming + max(0.0, coming - missing * seconds)


def part_of(c: Contraction, extent: int) -> KernelFacts:
    """The facts of a product's kernel with its first so many columns alone."""
    return with_columns(c.facts, column_axes(c), extent)


def with_columns(
    facts: KernelFacts, axes: Sequence[int], extent: int, begin: int = 0
) -> KernelFacts:
    """The facts of so many columns alone, counted from where they begin, which these axes of a kernel's statements go along."""
    buffers = list(facts.buffers)
    pairs = list(zip(facts.statements, axes, strict=True))
    for statement, axis in pairs:
        for access in statement.accesses:
            buffers[access.buffer] = _narrowed(buffers[access.buffer], access, axis, extent)
    statements = tuple(_part(each, axis, extent, begin) for each, axis in pairs)
    return replace(facts, buffers=tuple(buffers), statements=statements, is_part=True)


def _narrowed(buffer: BufferFacts, access: Access, axis: int, extent: int) -> BufferFacts:
    """A buffer of which so many columns are used, which lie as far apart as before."""
    dimension = access.dimension_of(axis)
    if dimension is None:
        return buffer
    shape = list(buffer.shape)
    shape[dimension] = extent
    return replace(buffer, shape=tuple(shape))


def _part(statement: Statement, axis: int, extent: int, begin: int) -> Statement:
    axes = list(statement.axes)
    axes[axis] = replace(axes[axis], extent=extent)
    return replace(
        statement,
        axes=tuple(axes),
        reads=tuple(_counted(read, axis, begin) for read in statement.reads),
        write=_counted(statement.write, axis, begin),
    )


def _counted(access: Access, axis: int, begin: int) -> Access:
    """An access whose subscripts are without what an axis adds before its first column."""
    subscripts = (
        s and replace(s, constant=s.constant - begin * s.coefficients[axis])
        for s in access.subscripts
    )
    return replace(access, subscripts=tuple(subscripts))
