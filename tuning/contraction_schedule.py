"""
The rule for contractions.

The loops are those of Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication", ACM
TOMS 34(3), 2008, but a tile of C sums up all of k in one go where a panel of B of that depth fits into L2, so
that C is written once, and can be worked on further while it is in L1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..dialects import loop
from ..dialects.loop import LoopKind
from ..dialects.schedule.steps import (
    FuseLoops,
    Peel,
    Prefetch,
    Reorder,
    Simplify,
    Split,
    Stage,
    Step,
    Unroll,
    Vectorize,
)
from ..targets.target import Target
from .blocking import vector_span
from .contraction import Contraction, axis_of
from .contraction_layout import REUSES, Layout, Packing, layout
from .dot_products import are_dot_products, schedule_dot_products
from .facts import PerfectNest, cache_bytes, element_bytes, lanes, stride_along
from .packing import pack, read_along
from .session import Session
from .threads import PARALLEL_WORK, iterations, parallel, team, top_loops

FROM_MEMORY = 4
"""What takes more than this part of the last-level cache, which others use too, each call reads from memory."""

LONG_ROW = 1 << 15
"""Multiply-adds in several times the time in which a line goes from one core to another and back."""

COPYING = 16
"""Multiply-adds in the time of an element that is copied."""

COPIED_ROWS = 8
"""Rows of a panel copied at a time: those of all panels before the next ones, as a row's page is the same."""


def schedule_contraction(
    session: Session,
    target: Target,
    update: Contraction,
    init: PerfectNest | None,
    finish: PerfectNest | None,
) -> None:
    """
    Block, pack, and keep the accumulators in registers. `finish` is the nest that reads the result, when
    nothing else does: it is done panel by panel. Raises the Refusal of a step that is not legal.
    """
    if are_dot_products(target, update):
        schedule_dot_products(session, target, update)
    else:
        _schedule_tiles(session, target, update, init, finish)
    _run_on_threads(session, target, update)


def _schedule_tiles(
    session: Session,
    target: Target,
    update: Contraction,
    init: PerfectNest | None,
    finish: PerfectNest | None,
) -> None:
    if _is_narrow(target, update, finish):
        update = update.transposed()
    width = lanes(target, element_bytes(update.store.buffer))
    plan = _Plan(session, update, layout(target, update, finished=finish is not None))
    plan.cut(init, finish)
    plan.pack()
    plan.peel()
    plan.fetch_ahead(target)
    plan.keep_in_registers(width)
    plan.vectorize(width)


def _run_on_threads(session: Session, target: Target, update: Contraction) -> None:
    """
    What is worth it of the product and the copies in front of it. By columns only where a row of them is long
    work: its line at the border is written by both threads.
    """
    _, columns, reduced = update.extents
    is_short = columns * reduced < LONG_ROW * team(target)
    without = update.columns.loop_name.data if is_short else ""
    for nest in top_loops(session):
        loops = [op for op in nest.walk() if isinstance(op, loop.ForOp)]
        is_copy = not any(op.kind.data is LoopKind.REDUCTION for op in loops)
        work = iterations(session, nest) * (COPYING if is_copy else 1)
        if work >= PARALLEL_WORK:
            parallel(session, target, nest, without)


def _is_narrow(target: Target, update: Contraction, finish: PerfectNest | None) -> bool:
    """Whether rows are better in vector lanes: there are few columns, and A has its rows side by side."""
    columns = update.columns.constant_trip_count() or 0
    few = lanes(target, element_bytes(update.store.buffer)) // 2
    return finish is None and columns < few and stride_along(update.left, update.rows) == 1


@dataclass(frozen=True)
class _Tile:
    """A loop whose iterations are register tiles of one size, and the loops inside that are in registers."""

    at: str
    panel_at: str
    """the loop around it in which a panel of the result is made"""
    suffix: str
    """what its buffers' names end in"""
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    tall: int
    wide: int
    ragged_rows: bool
    """whether some tiles have fewer rows, and are padded"""
    ragged_columns: bool


class _Plan:
    """The steps for one contraction, as its Layout says."""

    def __init__(self, session: Session, update: Contraction, layout: Layout):
        self.session, self.update, self.layout = session, update, layout
        self.sizes = layout.sizes
        self.extents = {f: f.constant_trip_count() or 0 for f in update.nest.loops}
        self.batch = [f.loop_name.data for f in update.batch]
        self.i, self.j, self.k = (
            f.loop_name.data for f in (update.rows, update.columns, update.reduced)
        )
        self.result = update.store.buffer.name_hint or ""
        self.axes = len(update.store.map.data.results)
        rows, columns = (axis_of(update.store, f) for f in (update.rows, update.columns))
        self.result_order: tuple[int, ...] = ()
        """of the result's axes in a panel, where it is not that of the result"""
        self.is_transposed = stride_along(update.store, update.columns) != 1
        if self.is_transposed:
            order = list(range(self.axes))
            order[rows], order[columns] = columns, rows
            self.result_order, rows, columns = tuple(order), columns, rows
        self.row_axis, self.column_axis = rows, columns
        """of a tile"""
        self.tile = f"{self.i}.tile"
        self.outer = [made.name for made in layout.outer]
        shared = [name for name in self.outer if name != self.tile]
        self.shared = shared
        """the loops in which a part of the result is initialised, summed up and finished"""
        self.tiles: list[_Tile] = []

    def _do(self, step: Step) -> None:
        self.session.apply(step)

    def cut(self, init: PerfectNest | None, finish: PerfectNest | None) -> None:
        """Cut the nests' axes into blocks and tiles, and run them block by block and tile by tile."""
        at, i, j, k = self.session.named, self.i, self.j, self.k
        is_deep = self.layout.is_deep
        parts: list[list[str]] = []
        if init is not None:
            *batch, row, column = init.names
            if self.is_transposed:
                row, column = column, row
            inner = [f"{i}.init", f"{j}.init"]
            parts.append([*batch, *self._cut(row, column, self.outer, "", [], inner)])
        suffix = ".update" if parts else ""
        if is_deep:
            self._do(Split(at(k), self.sizes.block_reduced, f"{k}.block", f"{k}.step"))
            summed, inner = [f"{k}.block", f"{k}.step"], [f"{i}.rest", f"{j}.column"]
        else:
            summed, inner = [k], [f"{i}.row", f"{j}.column"]
        parts.append([*self.batch, *self._cut(i, j, self.outer, suffix, summed, inner)])
        if is_deep:
            self._do(Split(at(f"{i}.rest"), self.sizes.tile_rows, self.tile, f"{i}.row"))
            order = (f"{k}.block", self.tile, f"{k}.step", f"{i}.row", f"{j}.column")
            self._do(Reorder(at(f"{k}.block"), order))
        if finish is not None:
            *batch, row, column = finish.names
            inner = [f"{i}.finish", f"{j}.finish"]
            parts.append([*batch, *self._cut(row, column, self.shared, ".finish", [], inner)])
        first, *others = parts
        self.batch = first[: len(self.batch)]
        for other in others:
            for kept, fused in zip(first, other, strict=False):
                self._do(FuseLoops(at(kept), at(fused).split("/", 1)[1]))

    def _cut(
        self,
        row: str,
        column: str,
        outer: Sequence[str],
        suffix: str,
        summed: list[str],
        inner: list[str],
    ) -> list[str]:
        """
        Cut a nest's loops over rows and columns by those called `outer` with `suffix`, which it returns.

        The nest is then these, `summed`, and `inner`: rows and columns.
        """
        names = [f"{name}{suffix}" for name in outer]
        for axis, name, last in (("rows", row, inner[0]), ("columns", column, inner[1])):
            cuts = [
                (cut, made.size)
                for cut, made in zip(names, self.layout.outer, strict=False)
                if made.axis == axis
            ]
            self._cut_axis(name, cuts, last)
        outermost = "columns" if self.is_transposed else "rows"
        axes = [made.axis for made in self.layout.outer]
        first = names[axes.index(outermost)]
        self._do(Reorder(self.session.named(first), (*names, *summed, *inner)))
        return names

    def _cut_axis(self, name: str, cuts: Sequence[tuple[str, int]], inner: str) -> None:
        """Cut a loop by others, over so many elements each; `inner` is left."""
        rests = [*(f"{cut}.rest" for cut, _ in cuts[:-1]), inner]
        for (cut, size), rest in zip(cuts, rests, strict=True):
            self._do(Split(self.session.named(name), size, cut, rest))
            name = rest

    def pack(self) -> None:
        """Copy the operands to where the tiles read them one element after the other."""
        for into, packing in (("left", self.layout.left), ("right", self.layout.right)):
            if packing is not None:
                self._stage(packing, into)

    def _stage(self, packing: Packing, into: str, suffix: str = "") -> None:
        place, size = packing.at, packing.size
        if place is None:
            place = self.batch[-1] if self.batch and not packing.is_constant else ""
        along = ""
        if self.update.left.buffer is self.update.right.buffer:
            along = f"{self.i}.row" if into == "left" else f"{self.j}.column{suffix}"
        name = self.session.named(packing.access.buffer.name_hint or "")
        panel = 0 if packing.is_one_panel else size
        step = Stage(name, place, into, "arena", packing.order, panel, pad=size, along=along)
        self._do(step)

    def peel(self) -> None:
        """Give the last columns and rows loops of their own, and the columns a copy where they need padding."""
        columns = f"{self.j}.tile"
        if columns in self.layout.peeled:
            self._do(Peel(self.session.named(columns), back=1))
        if self.layout.rest is not None:
            self._stage(self.layout.rest, "right", ".back")
        for rows in self.layout.peeled:
            if rows != columns:
                for name in self.session.family(rows):
                    self._do(Peel(self.session.named(name), back=1))

    def fetch_ahead(self, target: Target) -> None:
        """
        While tiles use one panel of a B that is packed whole, ask for the next one: to L2, unless it is there.
        """
        right = self.layout.right
        if right is None or right.at is not None:
            return
        reduced, bytes_ = self.extents[self.update.reduced], element_bytes(right.access.buffer)
        near = cache_bytes(target, 3) // FROM_MEMORY
        if not right.is_constant:
            near = cache_bytes(target, 2) // 2  # it has just been written
        tiles = min(self.extents[self.update.rows], self.sizes.block_rows) // self.sizes.tile_rows
        if tiles >= REUSES and self.extents[self.update.columns] * reduced * bytes_ > near:
            k = f"{self.k}.step" if self.layout.is_deep else self.k
            self._do(Prefetch(self.session.named("right"), k, reduced, locality=2))

    def keep_in_registers(self, width: int) -> None:
        """Keep the tiles in registers; a result that is worked on further only exists by panels."""
        self.tiles = [self._tile(name, width) for name in self.session.family(self.tile)]
        for tile in self.tiles:
            self._keep_in_registers(tile)
        self._do(Simplify(self.session.name))

    def _tile(self, name: str, width: int) -> _Tile:
        session, i, j = self.session, self.i, self.j
        starts = [] if self.layout.is_deep else ["init"]

        def inside(axis: str, last: str) -> tuple[str, ...]:
            parts = [f"{axis}.{part}" for part in (*starts, last)]
            return tuple(found for part in parts for found in session.family(part, name))

        rows, columns = inside(i, "row"), inside(j, "column")
        fewest, tall = session.trips(rows[-1])
        narrowest, widest = session.trips(columns[-1])
        wide = vector_span(widest or 1, width)
        panels = [f for f in session.family(self.shared[-1]) if name in session.family(name, f)]
        return _Tile(
            name,
            panels[-1],
            name.removeprefix(self.tile).replace("_", ""),  # xDSL's name hints end before `_1`
            rows,
            columns,
            tall or 1,
            wide,
            fewest != tall,
            narrowest != wide,
        )

    def _keep_in_registers(self, tile: _Tile) -> None:
        at, result = self.session.named, self.result
        sizes = {self.row_axis: tile.tall, self.column_axis: tile.wide}
        pads = tuple(sizes.get(axis, 1) for axis in range(self.axes))
        if self.layout.by_panels:
            scope = "arena" if self.layout.is_deep else "stack"
            panel, order = f"panel{tile.suffix}", self.result_order
            self._do(Stage(at(result), tile.panel_at, panel, scope, order, pads=pads))
            result = panel
        register = Stage(at(result), tile.at, f"tile{tile.suffix}", "register", pads=pads)
        if not self.layout.by_panels:
            self._do(register)
        for names, size, ragged in (
            (tile.rows, tile.tall, tile.ragged_rows),
            (tile.columns, tile.wide, tile.ragged_columns),
        ):
            for name in names if ragged else ():
                self._do(Split(at(name), size, f"{name}.one", f"{name}.each", tail="pad"))
        if self.layout.by_panels:
            self._do(register)

    def vectorize(self, width: int) -> None:
        """Columns in lanes, rows written out; the copies too."""
        session = self.session
        for tile in self.tiles:
            in_lanes = [f"{name}.each" if tile.ragged_columns else name for name in tile.columns]
            copies = [f"tile{tile.suffix}.{way}{self.column_axis}" for way in ("in", "out")]
            for name in (*in_lanes, *copies):
                self._lanes(name, tile.wide)
        others = [f"{self.j}.finish", *([f"{self.j}.init"] if self.layout.is_deep else [])]
        for name in (found for other in others for found in session.family(other)):
            self._lanes(name, vector_span(session.trips(name)[1] or 1, width))
        self._pack_operands(width)
        self._do(Simplify(session.name))
        for tile in self.tiles:
            rows = [f"{name}.each" if tile.ragged_rows else name for name in tile.rows]
            copies = [f"tile{tile.suffix}.{way}{self.row_axis}" for way in ("in", "out")]
            for name in (*rows, *copies):
                self._write_out(name)
        self._write_out("right.prefetch0")

    def _write_out(self, name: str) -> None:
        if self.session.loop(name) is not None:
            self._do(Unroll(self.session.named(name), mark=True))

    def _pack_operands(self, width: int) -> None:
        """The copies of operands in vectors. Those of constants are gone after compilation."""
        for name, packing, axis in (
            ("right", self.layout.right or self.layout.rest, self.update.columns),
            ("left", self.layout.left, self.update.rows),
        ):
            if packing is not None and not packing.is_constant:
                block = self.layout.outer[0]
                is_cut = block.name == packing.at and self.session.loop(block.name) is not None
                start = f" - {block.size} * {block.name}" if is_cut else ""
                copied = [f"{name}.in{number}" for number in packing.order]
                extent = self.extents[axis]
                self._pack_panels(copied, packing.size, extent, start, width)

    def _pack_panels(
        self, copied: list[str], size: int, extent: int, start: str, width: int
    ) -> None:
        """A copy, by loops `copied`, in panels of `size` that are whole apart from the last ones."""
        session, at = self.session, self.session.named
        *_, summed, name = copied
        if session.loop(name) is None or size == 1:
            return
        copy = f"{name.split('.', 1)[0]}.in"
        if session.trips(name)[0] <= size:
            pack(session, copy, name, width)
            return
        panel, element = f"{name}.panel", f"{name}.element"
        self._do(Split(at(name), size, panel, element, tail="perfect"))
        self._do(Simplify(session.name))
        if read_along(session, element) == element and session.trips(summed)[0] > COPIED_ROWS:
            block, row = f"{summed}.block", f"{summed}.row"
            self._do(Split(at(summed), COPIED_ROWS, block, row))
            self._do(Reorder(at(block), (block, panel, row, element)))
        is_whole = f"{extent - size} - {size} * {panel}{start} >= 0"
        pack(session, copy, element, width, (panel, is_whole))

    def _lanes(self, name: str, wide: int) -> None:
        """Run a loop of at most `wide` iterations in as many lanes, those beyond its end masked."""
        if self.session.loop(name) is None:
            return
        least, greatest = self.session.trips(name)
        if least == greatest == wide:
            self._do(Vectorize(self.session.named(name)))
        else:
            self._do(Vectorize(self.session.named(name), wide, tail="guard"))
