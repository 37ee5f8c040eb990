"""
The steps of a plan for chains of statements with contractions among them that share their rows, such as attention.

See `analysis/plans/row_blocks.py` for the plan. Each step takes the loops and buffers that earlier steps made.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..analysis.facts import LoopFacts
from ..analysis.plans.row_blocks_cost import RowBlocksPlan, chain_of
from ..analysis.plans.row_chain import RowChain
from ..targets.target import Target
from ..transforms.step_support.handles import BufferHandle, LoopHandle
from .lanes import vectorize_in_blocks
from .row_tiles import Blocks, RowTiles, left_row, pads_of, result_axes
from .session import Session
from .threads import is_alone


def schedule_row_blocks(s: Session, plan: RowBlocksPlan, kernel: LoopFacts, target: Target) -> None:
    """Carry out a plan. Raises the Refusal of a step that is not legal."""
    chain = chain_of(plan, kernel.facts)
    loops = {
        number: tuple(s.handle(op) for op in kernel.loops[number])
        for number in range(len(kernel.loops))
        if number not in plan.inlined
    }
    buffers = {number: s.buffer(value) for number, value in enumerate(kernel.buffers)}
    for number in plan.inlined:
        s.inline(buffers[chain.buffer(number)])
    blocks = _cut_rows(s, plan, loops, buffers)
    s.normalize(s.name)
    names = {tile.number: buffers[chain.buffer(tile.number)].name for tile in plan.tiles}
    _keep_near(s, plan, chain, blocks)
    _row_by_row(s, plan, blocks)
    tiles = [RowTiles(s, plan, tile, chain, blocks, names[tile.number]) for tile in plan.tiles]
    for tile in tiles:
        tile.cut()
    _make_ahead(s, plan, chain, blocks)
    s.tidy()
    for tile in tiles:
        tile.vectorize(target)
    outside = _in_lanes(plan, blocks, loops)
    vectorize_in_blocks(s, [*outside, *(copied for tile in tiles for copied in tile.copied)])
    for tile in tiles:
        tile.write_out()
    for number, axis in () if is_alone(s) else plan.threads:
        s.parallel(blocks.around[axis] if number in plan.chain else loops[number][axis])


def _cut_rows(
    s: Session,
    plan: RowBlocksPlan,
    loops: dict[int, tuple[LoopHandle, ...]],
    buffers: dict[int, BufferHandle],
) -> Blocks:
    """Run all statements entry by entry of the batch, and those of the chain block of rows by block of rows."""
    depth = plan.depth
    batched = sorted({*plan.ahead, *plan.chain})
    batch = [loops[number][: depth - 1] for number in batched]
    for level in zip(*batch, strict=True):
        for other in level[1:]:
            s.fuse_loops(level[0], other)
    cut = {n: s.cut(loops[n][depth - 1], plan.rows, "block", "row") for n in plan.chain}
    block, *others = (made.outer for made in cut.values())
    for other in others:
        s.fuse_loops(block, other)
    return Blocks(
        block,
        batch[0],
        {number: made.inner for number, made in cut.items()},
        {number: loops[number][depth:] for number in plan.chain},
        buffers,
    )


def _keep_near(s: Session, plan: RowBlocksPlan, chain: RowChain, blocks: Blocks) -> None:
    """Each buffer between the statements is of one block of rows, padded to whole tiles where it is used in tiles."""
    apart = dict(plan.apart)
    for number in plan.near:
        sizes: dict[int, int] = {}
        for tile in plan.tiles:
            c = chain.contraction(tile.number)
            if c.result.buffer == number:
                row, column = result_axes(c)
                sizes |= {row: plan.mr, column: tile.nr}
            if c.left.buffer == number:
                sizes[left_row(c)] = plan.mr
        buffer = blocks.buffers[number]
        pads = pads_of(len(chain.facts.buffers[number].shape), sizes)
        into = f"{buffer.name}.rows"
        staged = s.stage(buffer, blocks.block, into=into, scope="arena", pads=pads)
        blocks.buffers[number] = staged.buffer
        if number in apart:
            s.storage_align(staged.buffer, axis=len(pads) - 1, factor=apart[number])


def _row_by_row(s: Session, plan: RowBlocksPlan, blocks: Blocks) -> None:
    """One loop over rows for each group, and in it one over a row's elements where a sum is of the ones just made."""
    for group in plan.groups:
        first, *others = group
        for other in others:
            s.fuse_loops(blocks.rows[first], blocks.rows[other])
    for first, second in plan.merged:
        s.fuse_loops(blocks.inner[first][0], blocks.inner[second][0])


def _in_lanes(
    plan: RowBlocksPlan, blocks: Blocks, loops: dict[int, tuple[LoopHandle, ...]]
) -> Iterator[tuple[LoopHandle, int]]:
    """The innermost loops outside of tiles that run in lanes, and the elements of a block of them."""
    for number, lanes in plan.lanes:
        if number not in plan.chain:
            yield loops[number][-1], lanes
        else:
            inner = blocks.inner[number]
            yield (inner[-1] if inner else blocks.rows[number]), lanes


def _make_ahead(s: Session, plan: RowBlocksPlan, chain: RowChain, blocks: Blocks) -> None:
    """Compute right operands where they are packed, and keep what else is made ahead for one entry of the batch."""
    computed = dict.fromkeys(tile.computed for tile in plan.tiles if tile.computed is not None)
    for number in sorted(computed):
        s.inline(blocks.buffers[chain.buffer(number)])
    for number in plan.kept:
        s.stage(blocks.buffers[number], blocks.batch[-1], scope="arena")
