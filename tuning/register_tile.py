"""Register tiles: a part of a result that stays in registers while a loop adds to it."""

from __future__ import annotations

from dataclasses import replace

from ..analysis.facts import Contraction
from ..analysis.plans.contraction_problem import is_finish_written_out
from ..analysis.plans.cost import round_up
from ..frozen import frozen
from ..transforms.step_support.handles import BufferHandle, LoopHandle
from ..transforms.step_support.made import StagedBuffer
from .session import Session


@frozen
class Tile:
    """
    The tiles of one size that a loop `at` goes through, MR (`tall`) × NR (`wide`) elements each.

    `rows` and `columns` are the loops inside that go over a tile's rows and columns, of each nest that is done
    there. Of ragged ones some tiles have fewer, and are padded.
    """

    at: LoopHandle
    rows: tuple[LoopHandle, ...]
    columns: tuple[LoopHandle, ...]
    tall: int
    wide: int
    ragged_rows: bool
    ragged_columns: bool


def keep_in_registers(
    s: Session,
    result: BufferHandle,
    tile: Tile,
    pads: tuple[int, ...],
    into: str = "tile",
    element: str = "",
    *,
    accumulate: bool = False,
) -> StagedBuffer:
    """
    Keep the tile's part of a result in registers for an iteration of the loop around it, as `element` where given, or
    what is added to it there.
    """
    return s.stage(
        result,
        tile.at,
        into=into,
        scope="register",
        pads=pads,
        element=element,
        accumulate=accumulate,
    )


def pad_loops(s: Session, tile: Tile) -> Tile:
    """Run the loops of ragged rows and columns to the end of the tile: what is beyond is padding."""
    if tile.ragged_rows:
        rows = tuple(s.cut(loop, tile.tall, "one", "each", tail="pad").inner for loop in tile.rows)
        tile = replace(tile, rows=rows)
    if tile.ragged_columns:
        columns = (s.cut(loop, tile.wide, "one", "each", tail="pad") for loop in tile.columns)
        tile = replace(tile, columns=tuple(made.inner for made in columns))
    return tile


def in_lanes(s: Session, loop: LoopHandle | None, wide: int) -> None:
    """Run a loop of at most `wide` iterations in as many lanes, those beyond its end masked."""
    if loop is None or loop.is_gone:
        return
    if loop.trips == wide:
        s.vectorize(loop)
    else:
        s.vectorize(loop, wide, tail="guard")


def write_out(s: Session, loop: LoopHandle | None) -> None:
    """Mark a loop to be unrolled, if it is still there: loops of one iteration are simplified away."""
    if loop is not None and not loop.is_gone:
        s.unroll(loop, mark=True)


def write_out_finish(s: Session, rows: LoopHandle, contraction: Contraction) -> None:
    """
    Write out the rows of what finishes a tile, if this is little: then the tile's elements go there in registers, and not
    by a copy in memory.
    """
    if is_finish_written_out(contraction):
        for loop in rows.copies:
            write_out(s, loop)


def write_out_terms(s: Session, loop: LoopHandle, count: int) -> None:
    """Write out so many terms of a tile's sum in an iteration, if there are at least two such iterations."""
    if count > 1 and not loop.is_gone and loop.trips is not None and loop.trips >= 2 * count:
        s.unroll(loop, count)


def result_dimensions(c: Contraction) -> tuple[int, int, tuple[int, ...]]:
    """
    The dimensions of rows and columns in a contraction's result, or in a panel of it, which has columns last; and the order of the result's
    dimensions in a panel, empty where it is the result's own.
    """
    row, column = (c.result.dimension_of(axis) for axis in (c.m[-1], c.n[-1]))
    assert row is not None and column is not None, "a contraction's subscripts are single axes"
    if c.stride(c.result, c.n[-1]) == 1:
        return row, column, ()
    order = list(range(len(c.result.subscripts)))
    order[row], order[column] = column, row
    return column, row, tuple(order)


def vector_span(extent: int, width: int) -> int:
    """The lanes of the vectors of up to `width` that hold so many elements."""
    return round_up(extent, width) if extent > width // 2 else 1 << max(extent - 1, 0).bit_length()
