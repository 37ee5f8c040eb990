"""Reductions of rows plans: several rows side by side, and sums around their results."""

from __future__ import annotations

from ..transforms.step_support.handles import LoopHandle
from .lanes import Lanes
from .register_tile import write_out
from .row_nest import RowNest
from .session import Session


def sum_rows_together(s: Session, nest: RowNest) -> None:
    """Sum up groups of rows side by side, each in lanes of its own; the rows left over one by one."""
    plan = nest.plan
    *_, row, summed = nest.in_order
    count = summed.trips or 0
    group, each = s.cut(row, plan.rows, "group", "row", tail="peel")
    block, lane = s.cut(summed, plan.lanes, "block", "lane")
    s.order(group, block, each, lane)
    partial = s.rfactor(lane)
    made = (partial.initialise, partial.combine)
    nest.lanes += [Lanes(lane), *(Lanes(loops[-1]) for loops in made)]
    if count % plan.lanes:
        back = s.peel(block, back=1).back
        assert back is not None
        nest.lanes += [Lanes(copy, plan.lanes) for copy in lane.copies_in(back)]
    nest.cut["group", plan.order[-2]] = group
    nest.written_out += [each, *(loop for loops in made for loop in loops[:-1])]


def write_rows_out(s: Session, nest: RowNest) -> None:
    """Write out the loops over the rows of a group."""
    for loop in nest.written_out:
        for copy in loop.copies:
            if copy.trips == nest.plan.rows and copy.op.mode is None:
                write_out(s, copy)


def deal_summation(s: Session, nest: RowNest) -> None:
    """Give each thread a part of a summation, whose results are added up afterwards."""
    plan = nest.plan
    *_, outer, inner = nest.in_order
    part, each = s.cut(outer, (outer.trips or 0) // plan.parts, "part", "each", tail="peel")
    partial = s.rfactor(part, axis=0)
    *around, result, combined = partial.combine
    s.order(*around, combined, result)
    nest.cut["part", plan.order[-2]] = part
    nest.summed = [each, combined]
    nest.blocked = [inner, partial.initialise[-1], result]
    s.tidy()


def jam_sums(s: Session, nest: RowNest) -> None:
    """Add several iterations up before they are added to what is there, for as many results as stay in L1."""
    plan = nest.plan
    *around, outer, inner = nest.in_order
    part: LoopHandle | None = None
    is_ragged = bool(plan.results) and bool((inner.trips or 0) % plan.results)
    if plan.results:
        part, each = s.cut(inner, plan.results, "part", "each")
        s.order(*around, part, outer, each)
        nest.cut["part", plan.order[-1]] = part
        nest.blocked = [each]
    for summed in [copy for loop in nest.summed or [outer] for copy in loop.copies]:
        if plan.jam > 1 and (summed.trips or 0) >= 2 * plan.jam:
            s.unroll_and_jam(summed, plan.jam, tail="peel")
    if part is not None and is_ragged:
        s.peel(part, back=1)
    s.tidy()


def read_in_turns(s: Session, block: LoopHandle, turns: int, lanes: list[Lanes]) -> list[Lanes]:
    """
    Let each iteration add up a block of lanes of each of several parts of a sum, where there are so many blocks. Returns
    the loops that run in lanes then.
    """
    each = (block.trips or 0) // turns
    if each < 2:
        return lanes
    part, within = s.cut(block, each, "part", "each", tail="peel")
    s.tidy()
    s.order(within, part)
    s.unroll(part)
    masks = {one.loop: one.masked for one in lanes}
    for copy in [copy for one in lanes for copy in one.loop.copies]:
        masks.setdefault(copy, 0)
    return [Lanes(*pair) for pair in masks.items() if not pair[0].is_gone]
