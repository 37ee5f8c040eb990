"""
The steps of a plan for few columns: dot products, several at a time, with the summed axis in lanes.

With columns in lanes, most of a vector would be empty. Here rows of A are read as they lie in memory, and B's
columns from a copy that has them side by side; a tile of vectors is added up lane by lane at its end.
"""

from __future__ import annotations

from ..analysis.facts import Contraction, LoopFacts
from ..analysis.plans.dot_products import DotProductPlan
from ..analysis.plans.lanes import hiding_vectors
from ..targets.target import Target
from ..transforms.step_support.handles import LoopHandle
from ..transforms.step_support.made import StagedBuffer
from .lanes import vectorize_in_blocks
from .panels import Packing, vectorize_packing
from .register_tile import write_out
from .session import Session


def schedule_dot_products(
    s: Session, plan: DotProductPlan, kernel: LoopFacts, c: Contraction, target: Target
) -> tuple[LoopHandle, ...]:
    """Tiles of rows and columns, whose sums are vectors in registers; the loops over columns. Raises the Refusal of a step."""
    width = plan.kr
    loops = [s.handle(op) for op in kernel.loops[c.number]]
    i, j, k = (loops[axes[-1]] for axes in (c.m, c.n, c.k))
    rows, row = s.cut(i, plan.mr, "tile", "row")
    columns, column = s.cut(j, plan.nr, "tile", "column")
    block, lane = s.cut(k, width, "block", "lane")
    # The vectors that stay in registers beside the sums are those of the axis written out inside.
    inner = (row, column) if plan.nr <= plan.mr else (column, row)
    s.order(rows, columns, block, *inner, lane)
    s.normalize(s.name)
    copy, order = _copy_of_right(s, kernel, c, loops, column, width)
    partial = s.rfactor(lane, "tile")
    s.set_scope(partial.buffer, "register")
    extents = (c.extent(c.m[-1:]), c.extent(c.n[-1:]), c.extent(c.k[-1:]))
    for extent, size, loop in reversed(
        [*zip(extents, (plan.mr, plan.nr, width), (rows, columns, block), strict=True)]
    ):
        if extent % size:
            for each in loop.copies:
                s.peel(each, back=1)
    s.tidy()
    hints: tuple[LoopHandle, ...] = ()
    if plan.prefetch:
        left = s.buffer(kernel.buffers[c.left.buffer])
        hints = s.prefetch(left, block, plan.prefetch, locality=plan.locality).loops
    *first, last = partial.initialise
    for loop in (*lane.copies, *last.copies):
        if loop.trips == width:
            s.vectorize(loop)
        elif not loop.is_gone:
            s.vectorize(loop, width, tail="guard")
    combined = partial.combine[:-1]
    for loop in (
        *hints,
        *row.copies,
        *column.copies,
        *(x for f in (*first, *combined) for x in f.copies),
    ):
        write_out(s, loop)
    summed, across = (c.stride(c.right, axis) == 1 for axis in (c.k[-1], c.n[-1]))
    vectorize_packing(s, Packing(copy, order, width, extents[2], summed, across), width)
    ending = [(copy, width) for copy in partial.combine[-1].copies]
    if c.initialised is not None:
        first_loop = s.handle(kernel.loops[c.initialised][-1])
        ending += [(first_loop, hiding_vectors(target.core) * target.core.lanes(c.result_bytes))]
    vectorize_in_blocks(s, ending)
    return (columns,)


def _copy_of_right(
    s: Session,
    kernel: LoopFacts,
    c: Contraction,
    loops: list[LoopHandle],
    column: LoopHandle,
    width: int,
) -> tuple[StagedBuffer, tuple[int, ...]]:
    """The copy of B in which each column lies along the lanes, padded to whole vectors."""
    batch = [a for a in range(len(loops)) if a not in (c.m[-1], c.n[-1], c.k[-1])]
    moving = [a for a in batch if c.right.moves_along(a)]
    axes = [c.right.dimension_of(axis) for axis in (*moving, c.n[-1], c.k[-1])]
    dimensions = [n for n in axes if n is not None]
    order = (*(n for n in range(len(c.right.subscripts)) if n not in dimensions), *dimensions)
    staged = s.stage(
        s.buffer(kernel.buffers[c.right.buffer]),
        loops[moving[-1]] if moving else "",
        into="right",
        scope="arena",
        order=order,
        pad=width,
        along=column if c.right.buffer == c.left.buffer else "",
    )
    return staged, order
