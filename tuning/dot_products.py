"""
The rule for contractions of few columns: dot products, several at a time, with the summed axis in lanes.

With columns in lanes, most of a vector would be empty. Here rows of A are read as they lie in memory, and B's
columns from a copy that has them side by side; a tile of vectors is added up lane by lane at its end.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..dialects.schedule.steps import (
    Peel,
    Prefetch,
    Reorder,
    Rfactor,
    SetScope,
    Simplify,
    Split,
    Stage,
    Unroll,
    Vectorize,
)
from ..targets.target import Target
from .blocking import register_time
from .contraction import Contraction, operand_order
from .facts import cache_bytes, element_bytes, lanes, stride_along, sums_in_any_order
from .lanes import vectorize_innermost
from .packing import pack
from .session import Session

LANES_TIME = 8
"""Cycles in which the lanes of a vector are added up, where several vectors take turns."""

NEAR, FAR = 0.5, 2
"""Cycles to load a vector, from L1 and from beyond it."""

LOOP_TIME = 0.5
"""Cycles that counting a step takes beside its multiply-adds."""

COPY_TIME = 1
"""Cycles for an element of B, of which neighbours come to lie a column apart."""


Names = tuple[str, str, str]
"""Of loops over rows, columns and the summed axis."""


def are_dot_products(target: Target, update: Contraction) -> bool:
    """Whether the summed axis is better in lanes than the columns, from the estimated times."""
    rows, columns, reduced = update.extents
    bytes_ = element_bytes(update.store.buffer)
    if stride_along(update.left, update.reduced) != 1 or not sums_in_any_order(update.nest.stores):
        return False
    if reduced < 2 * lanes(target, bytes_) or element_bytes(update.left.buffer) != bytes_:
        return False
    time = (
        -(-reduced // lanes(target, bytes_))
        * min(_tiles(target, rows, columns, reduced, bytes_))[0]
    )
    time += LANES_TIME * rows * columns + COPY_TIME * columns * reduced
    return time < register_time(target, rows, columns, reduced, bytes_) * reduced


def _tiles(
    target: Target, rows: int, columns: int, reduced: int, bytes_: int
) -> Iterator[tuple[float, int, int, int]]:
    """
    The estimated time of a step of the summation, what to prefer among equals, and a tile's sizes.

    A step loads a vector for each row and column of the tile, two a cycle from L1 and one in two cycles from
    further away. From there rows come for the first tile of columns, and for all where the operands do not
    stay in L1; columns for each tile of rows where they do not.
    """
    registers, near = target.vector_registers, cache_bytes(target, 1) * 3 // 4
    depth = reduced * bytes_
    column_load = NEAR if columns * depth <= near else FAR
    for wide in range(2, columns + 1):
        others = -(-columns // wide) - 1
        for tall in range(2, min(rows, registers) + 1):
            if tall * wide + min(tall, wide) + 1 > registers:
                break
            again = NEAR if (tall + columns) * depth <= near else FAR
            row_load = (FAR + others * again) / (others + 1)
            parts = [
                (rows // tall * (columns // wide), tall, wide),
                (columns // wide, rows % tall, wide),
                (rows // tall, tall, columns % wide),
                (1, rows % tall, columns % wide),
            ]
            time = sum(
                n * (max(r * c / 2, r * row_load + c * column_load, 4) + LOOP_TIME)
                for n, r, c in parts
                if r * c
            )
            yield time, -wide, tall, wide


def schedule_dot_products(session: Session, target: Target, update: Contraction) -> None:
    """Tiles of rows and columns, whose sums are vectors in registers. Raises the Refusal of a step."""
    extents, bytes_ = update.extents, element_bytes(update.store.buffer)
    width = lanes(target, bytes_)
    _, _, tall, wide = min(_tiles(target, *extents, bytes_))
    i, j, k = (f.loop_name.data for f in (update.rows, update.columns, update.reduced))
    outer, inner = (
        (f"{i}.tile", f"{j}.tile", f"{k}.block"),
        (f"{i}.row", f"{j}.column", f"{k}.lane"),
    )
    sizes = tall, wide, width
    # Decided now, as steps put other loops in the place of these.
    copy = _copy_of_right(session, update, inner[1], width)
    row = stride_along(update.left, update.rows) or 0
    _cut(session, (i, j, k), sizes, outer, inner)
    session.apply(copy)
    session.apply(Rfactor(session.named(inner[2]), "tile"))
    session.apply(SetScope(session.named("tile"), "register"))
    for extent, size, name in reversed([*zip(extents, sizes, outer, strict=True)]):
        if extent % size:
            session.apply(Peel(session.named(name), back=1))
    session.apply(Simplify(session.name))
    if extents[0] * row * bytes_ > cache_bytes(target, 2):
        near = 2 * tall * row * bytes_ <= cache_bytes(target, 1)
        _fetch_next_tile(session, update, outer[2], tall * row // width, near=near)
    for name in _families(session, inner[2], "tile.init2"):
        whole, at = session.trips(name) == (width, width), session.named(name)
        session.apply(Vectorize(at) if whole else Vectorize(at, width, tail="guard"))
    for name in _families(session, *inner[:2], "tile.init0", "tile.init1", "tile.0", "tile.1"):
        session.apply(Unroll(session.named(name), mark=True))
    _pack(session, f"right.in{copy.order[-1]}", width)
    vectorize_innermost(session, target)


def _cut(
    session: Session,
    loops: Names,
    sizes: tuple[int, int, int],
    outer: Names,
    inner: Names,
) -> None:
    """Cut rows, columns and the summed axis by the sizes of a tile."""
    for name, size, around, rest in zip(loops, sizes, outer, inner, strict=True):
        session.apply(Split(session.named(name), size, around, rest))
    # The vectors that stay in registers beside the sums are those of the axis written out inside.
    tall, wide, _ = sizes
    tile = inner[:2] if wide <= tall else inner[1::-1]
    session.apply(Reorder(session.named(outer[0]), (*outer, *tile, inner[2])))


def _copy_of_right(session: Session, update: Contraction, columns: str, width: int) -> Stage:
    """The copy of B in which each column lies along the lanes, padded to whole vectors."""
    *others, summed, column = operand_order(update, update.right, update.columns)
    place = update.batch[-1].loop_name.data if update.batch else ""
    along = columns if update.right.buffer is update.left.buffer else ""
    name, order = session.named(update.right.buffer.name_hint or ""), (*others, column, summed)
    return Stage(name, place, "right", "arena", order, pad=width, along=along)


def _fetch_next_tile(
    session: Session, update: Contraction, at: str, ahead: int, *, near: bool
) -> None:
    """Ask for the rows of the next tile, as each is a stream that begins anew: to L1 where a tile is small."""
    name = update.left.buffer.name_hint or ""
    session.apply(Prefetch(session.named(name), at, ahead, locality=3 if near else 2))
    for hints in session.family(f"{name}.prefetch0"):
        session.apply(Unroll(session.named(hints), mark=True))


def _pack(session: Session, summed: str, width: int) -> None:
    """B's columns, in blocks of a vector."""
    block, lane = f"{summed}.block", f"{summed}.lane"
    session.apply(Split(session.named(summed), width, block, lane))
    session.apply(Simplify(session.name))
    if session.trips(block)[0] > 1 and session.loop(block) is not None:
        session.apply(Peel(session.named(block), back=1))
        session.apply(Simplify(session.name))
    for name in session.family(lane):
        pack(session, "right.in", name, width)


def _families(session: Session, *names: str) -> list[str]:
    return [found for name in names for found in session.family(name)]
