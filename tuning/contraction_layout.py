"""How a contraction is cut into blocks and tiles, and which of its operands are packed: decided from its sizes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from ..analysis.constants import constant_global
from ..dialects import loop
from ..targets.target import Target
from .blocking import Blocking, blocking, lines_collide, rows_collide, vector_span
from .contraction import Contraction, operand_order
from .facts import Access, element_bytes, lanes, stride_along

REUSES = 4
"""A copy costs a load and a store an element: it pays when each is used at least so many times."""

WORTH_PEELING = 0.03
"""A tile of its own for the last columns is more code: it is for more than this part of the multiply-adds."""


@dataclass(frozen=True)
class Outer:
    """A loop around the tile, over so many elements of the rows or the columns in each iteration."""

    name: str
    axis: Literal["rows", "columns"]
    size: int


@dataclass(frozen=True)
class Packing:
    """
    An operand's copy, its last axis padded to a multiple of `size` and, unless it is one panel, cut into
    panels of that.

    It is made in front of the loop `at`; of the innermost batch loop's body, or of all, where that is None.
    Constants are packed at compile time, which costs a call nothing: see loop-fold-constants.
    """

    access: Access
    order: tuple[int, ...]
    size: int
    is_one_panel: bool
    at: str | None
    is_constant: bool


@dataclass(frozen=True)
class Layout:
    """
    The loops around the register tile, outermost first, and the operands' copies.

    Where the summed axis is one block: `i.block, j.tile, i.tile, k, i.row, j.column`, with the result
    initialised in the tile's registers. What finishes it reads the tile from L1, in a loop `i.panel` around
    `i.tile`. Where it is several: `i.block, j.tile, k.block, i.tile, k.step, i.row, j.column`; a panel of
    tiles is initialised before the blocks of k, and finished after them.

    Where all rows are one block there is no `i.block`. Then B is packed, if it is, by blocks of columns, in
    front of an outermost `j.block`; otherwise before the first block of rows.

    Where rows or columns do not come to whole tiles, the last tiles are peeled off, with sizes of their own,
    or else the operands are padded.
    """

    sizes: Blocking
    outer: tuple[Outer, ...]
    is_deep: bool
    """whether the summed axis is several blocks"""
    by_panels: bool
    """whether the result is made in panels, that something in their loops reads"""
    left: Packing | None
    right: Packing | None
    peeled: tuple[str, ...]
    """loops whose last iterations have tiles of their own"""
    rest: Packing | None
    """of B's last columns alone, where they are peeled off and come to no whole vectors"""


def layout(target: Target, update: Contraction, *, finished: bool) -> Layout:
    """Decide from the extents, strides and caches. `finished`: another nest reads the result panel by panel."""
    return _Decisions(target, update, finished).layout()


class _Decisions:
    def __init__(self, target: Target, update: Contraction, finished: bool):
        self.update, self.target = update, target
        self.rows, self.columns, self.reduced = update.extents
        bytes_ = element_bytes(update.store.buffer)
        self.sizes = sizes = blocking(target, self.rows, self.columns, self.reduced, bytes_)
        self.is_deep = self.reduced > sizes.block_reduced
        self.by_panels = finished or stride_along(update.store, update.columns) != 1
        self.by_rows = self.is_deep or self.rows > sizes.block_rows
        self.by_tiles = self.by_rows and sizes.block_rows == sizes.tile_rows
        """whether each block of rows is one tile"""
        self.row_tiles = self.rows // sizes.tile_rows
        self.column_tiles = -(-self.columns // sizes.tile_columns)
        self.rest = self.columns % sizes.tile_columns
        """the columns beyond the whole tiles"""
        self.span = vector_span(self.rest, lanes(target, bytes_))
        """those, in whole vectors"""
        self.pays_to_pack_right = self._pays_to_pack_right()
        one_block = self.by_rows or self.columns <= sizes.block_columns
        self.by_columns = self.pays_to_pack_right and not one_block

    def layout(self) -> Layout:
        update, sizes = self.update, self.sizes
        i, j = (f.loop_name.data for f in (update.rows, update.columns))
        pack_left, peel_rows = self._left()
        pack_right, peel_columns = self._right()
        outer = self._outer(i, j)
        outermost = outer[0].name
        left_at = outermost if self.by_rows else None
        right_at = outermost if self.by_columns else None
        left = self._packing(update.left, update.rows, sizes.tile_rows, left_at)
        right = self._packing(update.right, update.columns, sizes.tile_columns, right_at)
        rest = replace(right, size=self.span, is_one_panel=True, at=f"{j}.tile.back")
        pack_rest = peel_columns and not pack_right and self.span != self.rest
        peeled = [next(made.name for made in outer if made.axis == "rows")] if peel_rows else []
        return Layout(
            sizes,
            tuple(outer),
            self.is_deep,
            self.by_panels,
            left if pack_left else None,
            right if pack_right else None,
            (*peeled, *([f"{j}.tile"] if peel_columns else [])),
            rest if pack_rest else None,
        )

    def _outer(self, i: str, j: str) -> list[Outer]:
        sizes = self.sizes
        outer = [Outer(f"{j}.tile", "columns", sizes.tile_columns)]
        if self.by_rows:
            outer.insert(0, Outer(f"{i}.block", "rows", sizes.block_rows))
        elif self.by_columns:
            outer.insert(0, Outer(f"{j}.block", "columns", sizes.block_columns))
        if self.by_panels and not self.is_deep:
            outer.append(Outer(f"{i}.panel", "rows", sizes.tile_rows))
        return outer if self.is_deep else [*outer, Outer(f"{i}.tile", "rows", sizes.tile_rows)]

    def _packing(self, access: Access, last: loop.ForOp, size: int, at: str | None) -> Packing:
        is_constant = constant_global(access.buffer) is not None
        order = operand_order(self.update, access, last)
        return Packing(access, order, size, False, None if is_constant else at, is_constant)

    def _left(self) -> tuple[bool, bool]:
        """Whether A is packed, and whether the last rows are peeled off instead."""
        left, sizes = self.update.left, self.sizes
        is_ragged = bool(self.rows % sizes.tile_rows)
        if constant_global(left.buffer) is not None:
            return True, False
        if self.column_tiles >= REUSES and not self._rows_stream():
            return True, False
        one_loop = not self.is_deep and (not self.by_rows or self.by_tiles)
        return is_ragged and not one_loop, is_ragged and one_loop

    def _pays_to_pack_right(self) -> bool:
        """Whether B is packed even where its columns come to whole tiles."""
        right = self.update.right
        is_used_often = self.row_tiles >= REUSES and self.columns > self.sizes.tile_columns
        is_fetched_again = self.by_rows and not self.by_tiles
        return (
            constant_global(right.buffer) is not None
            or stride_along(right, self.update.columns) != 1
            or (is_used_often and (is_fetched_again or not self._panels_stream()))
        )

    def _right(self) -> tuple[bool, bool]:
        """Whether B is packed, and whether the last columns are peeled off."""
        wide = self.sizes.tile_columns
        can_peel = 0 < self.rest < self.columns and not self.is_deep and not self.by_columns
        saved = (wide - self.span) / (self.column_tiles * wide)
        # Unless packed, the last columns would be copied for each tile of rows.
        is_copied_often = self.by_tiles and self.span != self.rest
        if self.pays_to_pack_right or (self.rest and not can_peel) or is_copied_often:
            return True, can_peel and saved > WORTH_PEELING
        return False, can_peel

    def _rows_stream(self) -> bool:
        """Whether the tile's rows of A can be read as they are: along each, and side by side in L1."""
        left = self.update.left
        row = stride_along(left, self.update.rows) or 0
        along = stride_along(left, self.update.reduced)
        return along == 1 and not rows_collide(
            self.sizes.tile_rows, row * element_bytes(left.buffer)
        )

    def _panels_stream(self) -> bool:
        """Whether the parts of B's rows that a tile uses can be read as they are, from L2."""
        right = self.update.right
        row = stride_along(right, self.update.reduced) or 0
        return not lines_collide(self.target, self.reduced, row * element_bytes(right.buffer))
