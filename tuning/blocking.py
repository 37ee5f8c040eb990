"""Sizes of a contraction's register tile and cache blocks, from its extents and the target's caches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from ..targets.core import LINE_BYTES
from ..targets.target import Target
from .facts import balanced, cache_bytes, lanes, round_up
from .threads import PARALLEL_WORK, team

PACKING_TIME = 0.3
"""Cycles for each byte of an operand that is copied to panels, from a cache to the next."""

WAY_BYTES = 4096
"""Lines so far apart are in one set of L1: a page, by which it can look up before it knows the page's address."""

WAYS = 8
"""Lines that a set of L1 holds at least."""

LEVEL_2_WAYS = 16
"""Lines that a set of L2 holds, of most."""


@dataclass(frozen=True)
class Blocking:
    """Sizes in elements: the register tile, and the blocks of rows, of columns and of the summed axis."""

    tile_rows: int
    tile_columns: int
    block_rows: int
    block_columns: int
    block_reduced: int


def register_tile(
    target: Target, rows: int, columns: int, reduced: int, bytes_: int
) -> tuple[int, int]:
    """
    Rows and columns of the accumulators that stay in registers over the summation.

    The tile is the one with the least estimated time over the whole result.
    """
    _, _, tile_columns, tile_rows = min(_tiles(target, rows, columns, reduced, bytes_))
    return tile_rows, tile_columns


def register_time(target: Target, rows: int, columns: int, reduced: int, bytes_: int) -> float:
    """The estimated cycles of one step of the summation over the whole result."""
    return min(_tiles(target, rows, columns, reduced, bytes_))[0]


def _tiles(
    target: Target, rows: int, columns: int, reduced: int, bytes_: int
) -> Iterator[tuple[float, int, int, int]]:
    """
    The estimated time with a tile, what to prefer among equals (a large one), its columns and its rows.

    B streams from L2, so that among those of one size narrow ones are better, and much so those whose
    panel of B leaves most of L2 to A.

    Each step of the summation loads a vector for each of the tile's column vectors and broadcasts one
    element for each row: two multiply-adds or two loads a cycle, no less than the eight multiply-adds that
    hide each other's latency and two to spare, and one for the loop. The last rows and columns have tiles of
    their own size; but with several blocks of rows A is packed where it does not come to whole tiles.
    """
    level_2 = cache_bytes(target, 2)
    several_blocks = min(rows * 2 // 3, columns) * reduced * bytes_ > level_2 // 2
    width = lanes(target, bytes_)
    while width > 1 and width // 2 >= columns:
        width //= 2
    # LLVM loads A's elements by pairs on AArch64, the next pair while the last is in use.
    broadcast = 4 if target.triple.startswith("aarch64") else 1
    for vectors in (1, 2, 3, 4):
        if vectors > 1 and (vectors - 1) * width >= columns:
            break
        for tile_rows in range(1, min(rows, target.vector_registers) + 1):
            if tile_rows * vectors + vectors + broadcast > target.vector_registers:
                break
            heights = [(rows // tile_rows, tile_rows), (1, rows % tile_rows)]
            wide = vectors * width
            widths = [(columns // wide, vectors), (1, -(-(columns % wide) // width))]
            time = sum(
                tall * across * (max(r * v, 1.25 * (r + v), 10) + 1) / 2
                for tall, r in heights
                for across, v in widths
                if r and v
            )
            if columns % wide:
                time *= 1.01  # the edge is cut off when it is stored
            if wide * reduced * bytes_ > level_2 // 4:
                time *= 1.03
            if rows % tile_rows:
                time += PACKING_TIME * bytes_ * rows if several_blocks else time * 0.01
            yield time, -tile_rows * vectors, wide, tile_rows


def blocking(target: Target, rows: int, columns: int, reduced: int, bytes_: int) -> Blocking:
    """
    A panel of B (block of k by tile columns) fills at most half of L2, from which it streams as fast
    as it is used, and a block of A three quarters; but that has at least 8 tiles, so that fetching B's
    panels again for each block costs little. Where there are few panels, all stay in L2, and a tile of A,
    which is a block then, goes to each of them.

    Where all of A is one block, B is cut into blocks of as many columns as fill a quarter of L2.
    """
    level_2 = cache_bytes(target, 2)
    tile_rows, tile_columns = register_tile(target, rows, columns, reduced, bytes_)
    threads = team(target) if rows * columns * reduced >= PARALLEL_WORK else 1
    deep = max(level_2 // 2 // (tile_columns * bytes_), 64)
    tall = max(level_2 * 3 // 4 // (reduced * bytes_), 8 * tile_rows)
    wide = max(level_2 // 4 // (reduced * bytes_), tile_columns)
    block_rows, block_columns = balanced(rows, tall, tile_rows), round_up(columns, tile_columns)
    all_panels, result = block_columns * reduced * bytes_, rows * columns * bytes_
    if (
        reduced <= deep
        and all_panels <= level_2 // 2
        and (rows > block_rows or result > level_2 // 2)
    ):
        block_rows = tile_rows
    elif reduced <= deep and rows <= block_rows and columns >= threads * tile_columns:
        block_columns = _dealt(columns, wide, tile_columns, threads, 0)
    elif rows > block_rows and rows >= threads * tile_rows:
        block_rows = _dealt(rows, tall, tile_rows, threads, tile_rows)
    return Blocking(tile_rows, tile_columns, block_rows, block_columns, balanced(reduced, deep))


def _dealt(extent: int, most: int, unit: int, threads: int, cost: int) -> int:
    """
    The size of equal blocks as of `balanced`, as many for each thread.

    There are up to twice as many blocks as are needed where a thread has less to do by that: the sizes are
    multiples of `unit`, and what is left for the last thread may be little. A block costs as much as so many
    rows or columns more: for B's panels, which each block of rows fetches again.
    """
    least = round_up(-(-extent // balanced(extent, most, unit)), threads)
    sizes = {
        blocks: round_up(-(-extent // blocks), unit)
        for blocks in range(least, 2 * least + 1, threads)
    }
    return min(sizes.items(), key=lambda pair: (pair[0] // threads * (pair[1] + cost), pair[0]))[1]


def rows_collide(rows: int, stride: int) -> bool:
    """Whether lines of so many rows, `stride` bytes apart, do not fit into L1 together."""
    return _most_in_a_set(rows, stride, WAY_BYTES) > WAYS


def lines_collide(target: Target, rows: int, stride: int) -> bool:
    """Whether lines of so many rows, `stride` bytes apart, take more than a quarter of the sets of L2 they are in."""
    return _most_in_a_set(rows, stride, cache_bytes(target, 2) // LEVEL_2_WAYS) > LEVEL_2_WAYS // 4


def _most_in_a_set(rows: int, stride: int, way: int) -> int:
    """How many of the lines are in one set, of a cache whose ways have so many bytes."""
    return max(Counter(row * stride % way // LINE_BYTES for row in range(rows)).values())


def vector_span(extent: int, width: int) -> int:
    """The lanes of the vectors of up to `width` that hold so many elements."""
    return round_up(extent, width) if extent > width // 2 else 1 << max(extent - 1, 0).bit_length()
