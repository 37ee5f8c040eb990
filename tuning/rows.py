"""
The steps of a plan for elements, reductions, chains of them over rows, copies and transpositions.

See `analysis/plans/rows_plan.py` for the plan. Each step takes the loops that earlier steps made.
"""

from __future__ import annotations

from ..analysis.facts import LoopFacts, facts_of_loops, written_out
from ..analysis.plans.rows_plan import RowsPlan
from ..errors import StepwellError
from ..transforms.step_support.handles import BufferHandle, LoopHandle
from .distribution import distribute_loops
from .lanes import Lanes, in_blocks, vectorize
from .register_tile import write_out
from .row_nest import RowNest
from .row_order import put_in_order, transpose_in_registers
from .row_sums import (
    deal_summation,
    jam_sums,
    read_in_turns,
    sum_rows_together,
    write_rows_out,
)
from .session import Session
from .threads import is_alone


def schedule_rows(s: Session, plan: RowsPlan, kernel: LoopFacts) -> None:
    """Carry out a plan. Raises the Refusal of a step that is not legal."""
    if plan.written:
        kernel = write_short_loops_out(s, plan, kernel)
    if plan.blocks:
        do_rows_in_lanes(s, plan, kernel)
        return
    nests = [RowNest.of(s, own, kernel) for own in plan.nests]
    if not plan.fused:
        for nest in nests:
            nest.split_outer_loops(s)
    buffers = [s.buffer(value) for value in kernel.buffers]
    for nest in nests:
        put_in_order(s, nest)
    if not plan.fused:
        for nest in nests:
            if nest.plan.rows > 1:
                sum_rows_together(s, nest)
    row = fuse_outer_loops(s, plan, nests)
    if row is not None:
        for number, scope in plan.staged:
            s.stage(buffers[number], row, into="row", scope=scope)
    for nest in nests:
        if nest.plan.parts > 1:
            deal_summation(s, nest)
    for nest in nests:
        if nest.plan.jam > 1 or nest.plan.results:
            jam_sums(s, nest)
    for nest in nests:
        transpose_in_registers(s, nest)
    _in_lanes(s, plan, nests)
    for fetch in plan.fetched:
        block = nests[fetch.nest].cut["block", plan.nests[fetch.nest].order[-1]]
        for loop in s.prefetch(buffers[fetch.buffer], block, fetch.distance).loops:
            write_out(s, loop)
    _finish(s, plan, nests, buffers)


def _finish(s: Session, plan: RowsPlan, nests: list[RowNest], buffers: list[BufferHandle]) -> None:
    """Say what is stored past the caches, and what runs on threads."""
    for number in plan.nontemporal:
        s.nontemporal(buffers[number])
    for thread in () if is_alone(s) else plan.threads:
        s.parallel(nests[thread.nest].loop(thread.word, thread.axis))


def write_short_loops_out(s: Session, plan: RowsPlan, kernel: LoopFacts) -> LoopFacts:
    """
    Write short loops out; the kernel as it is then, which the rest of the plan is for. Raises a StepwellError where that
    is not what the plan expects.
    """
    expected = written_out(kernel.facts, dict(plan.written))
    if not kernel.facts.is_distributed:
        distribute_loops(s)
        kernel = facts_of_loops(s.nest.function)
    for number, axes in plan.written:
        loops = [s.handle(op) for op in kernel.loops[number]]
        short = [loops[axis] for axis in axes]
        s.order(*(loop for loop in loops if loop not in short), *short)
        for loop in reversed(short):
            s.unroll(loop)
    s.tidy()
    kernel = facts_of_loops(s.nest.function)
    if [each.extents for each in kernel.facts.statements] != [
        each.extents for each in expected.statements
    ]:
        raise StepwellError(
            "found other loops after short ones were written out than were expected"
        )
    for number, wanted in enumerate(expected.statements):
        if kernel.facts.statements[number].shared < wanted.shared:
            for kept, joined in zip(kernel.loops[number - 1], kernel.loops[number], strict=True):
                s.fuse_loops(s.handle(kept), s.handle(joined))
    return facts_of_loops(s.nest.function)


def do_rows_in_lanes(s: Session, plan: RowsPlan, kernel: LoopFacts) -> None:
    """Cut the rows into blocks, and let every nest do a block in lanes before the next block begins."""
    nests = [RowNest.of(s, own, kernel) for own in plan.nests]
    buffers = [s.buffer(value) for value in kernel.buffers]
    row = plan.nests[0].order[-1]
    ragged = (nests[0].loops[row].trips or 0) % plan.blocks
    lanes: list[LoopHandle] = []
    for nest in nests:
        block, lane = s.cut(nest.loops[row], plan.blocks, "block", "lane")
        nest.loops[row] = nest.cut["block", row] = block
        lanes.append(lane)
    around = fuse_outer_loops(s, plan, nests)
    assert around is not None, "rows that are done in blocks are fused"
    for number, scope in plan.staged:
        order = _with_lanes_last(kernel, number, row)
        s.stage(buffers[number], around, into="row", scope=scope, order=order)
    found = [Lanes(lane) for lane in lanes]
    if ragged:
        back = s.peel(around, back=1).back
        assert back is not None
        found += [Lanes(copy, plan.blocks) for lane in lanes for copy in lane.copies_in(back)]
    s.tidy()
    vectorize(s, found)
    s.tidy()
    _finish(s, plan, nests, buffers)


def _with_lanes_last(kernel: LoopFacts, buffer: int, row: int) -> tuple[int, ...]:
    """The dimensions of a buffer, that which the rows move along last."""
    writes = (each.write for each in kernel.facts.statements if each.write.buffer == buffer)
    moved = next(writes).dimension_of(row)
    dimensions = range(len(kernel.facts.buffers[buffer].shape))
    return (*(n for n in dimensions if n != moved), *(n for n in dimensions if n == moved))


def fuse_outer_loops(s: Session, plan: RowsPlan, nests: list[RowNest]) -> LoopHandle | None:
    """Make the outer loops of all nests one, depth by depth; the innermost of these."""
    kept: LoopHandle | None = None
    for depth in range(plan.fused):
        kept = nests[0].loops[plan.nests[0].order[depth]]
        for nest in nests[1:]:
            axis = nest.plan.order[depth]
            if nest.loops[axis] != kept:
                if not nest.loops[axis].is_gone:  # else it is one with that of the nest before
                    s.fuse_loops(kept, nest.loops[axis])
                nest.loops[axis] = kept
    return kept


def _in_lanes(s: Session, plan: RowsPlan, nests: list[RowNest]) -> None:
    """Run innermost loops in lanes, and two rows side by side where that is the plan."""
    for nest in nests:
        for loop in [copy for blocked in nest.blocked for copy in blocked.copies]:
            block, lanes = in_blocks(s, loop, nest.plan.lanes)
            if block is not None:
                nest.cut.setdefault(("block", nest.plan.order[-1]), block)
                if nest.plan.turns > 1:
                    lanes = read_in_turns(s, block, nest.plan.turns, lanes)
            nest.lanes += lanes
    s.tidy()
    split = [nest.split_blocks(s) for nest in nests]
    if any(split):
        s.tidy()
    if plan.fused:
        for nest in nests:
            if nest.plan.rows > 1:
                _join_rows(s, nests, nest.loops[nest.plan.order[plan.fused - 1]], nest.plan.rows)
    for nest in nests:
        vectorize(s, nest.lanes)
    s.tidy()
    for nest in nests:
        write_rows_out(s, nest)


def _join_rows(s: Session, nests: list[RowNest], row: LoopHandle, rows: int) -> None:
    joined = s.unroll_and_jam(row, rows).loop
    for nest in nests:
        nest.loops = [joined if loop == row else loop for loop in nest.loops]
