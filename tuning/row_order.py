"""The order of a nest's loops, and transpositions in squares that fit the registers."""

from __future__ import annotations

from ..analysis.plans.rows_plan import Square
from ..transforms.step_support.handles import LoopHandle
from .row_nest import RowNest
from .session import Session


def put_in_order(s: Session, nest: RowNest) -> None:
    """Order a nest's loops as its plan says; those of a transposition in squares, or blocks of them."""
    if nest.plan.square is not None:
        _cut_squares(s, nest, nest.plan.square)
    elif nest.plan.order != tuple(sorted(nest.plan.order)):
        s.order(*nest.in_order)


def _cut_squares(s: Session, nest: RowNest, square: Square) -> None:
    axes = (square.read, square.written)
    extents = {axis: nest.loops[axis].trips or 0 for axis in axes}
    tiled = [axis for axis in axes if extents[axis] > square.side]
    inner = {axis: nest.loops[axis] for axis in axes}
    tiles: dict[int, LoopHandle] = {}
    for axis in tiled:
        tiles[axis], inner[axis] = s.cut(nest.loops[axis], square.side, "tile", "lane")
    others = [loop for loop in nest.in_order if loop not in (nest.loops[axis] for axis in axes)]
    order = tiled[::-1] if square.turned else tiled
    s.order(*others, *(tiles[axis] for axis in order), *inner.values())
    for axis in reversed(order):
        if extents[axis] % square.side:
            s.peel(tiles[axis], back=1)
    s.tidy()
    if square.across:
        blocks: dict[int, LoopHandle] = {}
        for axis in order:
            blocks[axis], tiles[axis] = s.cut(tiles[axis], square.across, "block", "tile")
            nest.cut["tiles", axis] = blocks[axis]
        s.order(*blocks.values(), *(tiles[axis] for axis in order))
    for axis in tiled:
        nest.cut["tile", axis] = tiles[axis]
    nest.squares = (inner[square.read], inner[square.written])


def transpose_in_registers(s: Session, nest: RowNest) -> None:
    """Run the loops of each square in lanes: those of what is read around those of what is written."""
    if nest.squares is None:
        return
    around, written = nest.squares
    for outer in around.copies:
        for inner in written.copies_in(outer):
            s.vectorize(inner)
            s.vectorize(outer)
