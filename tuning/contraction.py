"""
The rule for contractions: `C[i, j] += A[i, k] * B[k, j]`, with outer batch loops and any order of axes.

The loops are those of Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication", ACM
TOMS 34(3), 2008, but a tile of C sums up all of k in one go where a panel of B of that depth fits into L2, so
that C is written once, and can be worked on further while it is in L1.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod

from xdsl.ir import SSAValue

from ..analysis.constants import constant_global
from ..dialects import loop
from ..dialects.affine_bounds import linear_form
from ..dialects.schedule.steps import (
    FuseLoops,
    Parallel,
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
from .blocking import (
    PACKING_TIME,
    PARALLEL_WORK,
    Blocking,
    blocking,
    rows_collide,
    tile_time,
)
from .facts import (
    Access,
    PerfectNest,
    cache_bytes,
    element_bytes,
    lanes,
    stride_along,
)
from .packing import pack, read_along
from .session import Session

REUSES = 4
"""A copy costs a load and a store an element: it pays when each is used at least so many times."""

FROM_MEMORY = 4
"""What takes more than this part of the last-level cache, which others use too, each call reads from memory."""

COPIED_ROWS = 8
"""Rows of a panel copied at a time: those of all panels before the next ones, as a row's page is the same."""


@dataclass(frozen=True)
class Contraction:
    """An update nest and what its loops are: the axes of the result, and the one summed over."""

    nest: PerfectNest
    left: loop.LoadOp
    right: loop.LoadOp
    store: loop.StoreOp
    batch: tuple[loop.ForOp, ...]
    rows: loop.ForOp
    columns: loop.ForOp
    reduced: loop.ForOp

    def transposed(self) -> Contraction:
        """The same with rows and columns exchanged: `Cᵀ = Bᵀ Aᵀ`."""
        return replace(self, left=self.right, right=self.left, rows=self.columns, columns=self.rows)


def recognise(nest: PerfectNest) -> Contraction | None:
    """The nest as a contraction, None when it is none, or not one of two axes and one sum."""
    if not nest.is_flat or nest.extents is None or len(nest.stores) != 1:
        return None
    (store,) = nest.stores
    own = [op for op in nest.loads if op.buffer is store.buffer]
    others = [op for op in nest.loads if op.buffer is not store.buffer]
    if len(own) != 1 or len(others) != 2:
        return None
    accesses: tuple[Access, ...] = (others[0], others[1], store)
    if not all(_is_permutation(access) for access in accesses):
        return None
    parts: dict[tuple[bool, ...], list[loop.ForOp]] = {}
    for for_op in nest.loops:
        uses = tuple(bool(stride_along(access, for_op)) for access in accesses)
        parts.setdefault(uses, []).append(for_op)
    rows = parts.pop((True, False, True), [])
    columns = parts.pop((False, True, True), [])
    reduced = parts.pop((True, True, False), [])
    batch = parts.pop((True, True, True), [])
    if parts or len(rows) != 1 or len(columns) != 1 or len(reduced) != 1:
        return None
    left, right = others
    if stride_along(store, columns[0]) != 1:
        left, right, rows, columns = right, left, columns, rows
    if stride_along(store, columns[0]) != 1 or nest.loops[: len(batch)] != tuple(batch):
        return None
    return Contraction(nest, left, right, store, tuple(batch), rows[0], columns[0], reduced[0])


def _is_permutation(access: Access) -> bool:
    """Whether each subscript is a loop's variable of its own, or a constant."""
    seen: list[SSAValue] = []
    for expr in access.map.data.results:
        linear = linear_form(expr, len(access.operands_))
        if linear is None:
            return False
        coefficients, constant = linear
        moves = [c for c in coefficients if c]
        if moves and (constant or moves != [1]):
            return False
        if moves:
            seen.append(list(access.operands_)[coefficients.index(1)])
    return len(seen) == len(set(seen))


def axis_of(access: Access, for_op: loop.ForOp) -> int:
    """The axis of the buffer that the loop's variable is the subscript of."""
    operands = list(access.operands_)
    for axis, expr in enumerate(access.map.data.results):
        if any(operands[n] is for_op.induction_variable for n in expr.used_dims()):
            return axis
    raise ValueError("the access does not move along the loop")


def operand_order(update: Contraction, access: Access, last: loop.ForOp) -> tuple[int, ...]:
    """
    The axes of an operand as it is packed: those of constant subscripts, then batch, the summed one, then
    rows or columns.
    """
    moving = [axis_of(access, for_op) for for_op in (*update.batch, update.reduced, last)]
    constant = [axis for axis in range(len(access.map.data.results)) if axis not in moving]
    return (*constant, *moving)


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
    extents = {f: f.constant_trip_count() or 0 for f in update.nest.loops}
    bytes_ = element_bytes(update.store.buffer)
    if finish is None and _is_narrow(target, update, extents, bytes_):
        update = update.transposed()
    rows, columns = extents[update.rows], extents[update.columns]
    sizes = blocking(target, rows, columns, extents[update.reduced], bytes_)
    plan = _Plan(
        session, update, sizes, (rows, columns, extents[update.reduced]), finish is not None
    )
    plan.cut(init, finish)
    plan.pack()
    plan.keep_in_registers()
    right_bytes = columns * extents[update.reduced] * bytes_
    if not plan.right_is_constant or right_bytes * FROM_MEMORY > cache_bytes(target, 3):
        plan.fetch_ahead(extents[update.reduced])
    plan.vectorize(lanes(target, bytes_))
    if prod(extents.values()) >= PARALLEL_WORK:
        plan.parallel(max(target.cores, 2))


def _is_narrow(
    target: Target, update: Contraction, extents: dict[loop.ForOp, int], bytes_: int
) -> bool:
    """Whether the result has so few columns that its transpose is quicker, with rows in vector lanes."""
    rows, columns, reduced = (extents[f] for f in (update.rows, update.columns, update.reduced))
    if columns >= lanes(target, bytes_) // 2:
        return False
    time = tile_time(target, rows, columns, bytes_) * reduced
    transposed = tile_time(target, columns, rows, bytes_) * reduced
    moved = PACKING_TIME * bytes_ * rows * (reduced + columns)
    return transposed + moved < time


def _streams(left: Access, update: Contraction, rows: int) -> bool:
    """Whether the tile's rows of A can be read as they are: along each, and side by side in L1."""
    row = stride_along(left, update.rows) or 0
    along = stride_along(left, update.reduced)
    return along == 1 and not rows_collide(rows, row * element_bytes(left.buffer))


class _Plan:
    """
    The steps for one contraction.

    Where the summed axis is one block: `i.block, j.tile, i.tile, k, i.row, j.column`, with the result
    initialised in the tile's registers. What finishes it reads the tile from L1, in a loop `i.panel` around
    `i.tile`. Where it is several: `i.block, j.tile, k.block, i.tile, k.step, i.row, j.column`; a panel of
    tiles is initialised before the blocks of k, and finished after them.

    B is packed before the first block of rows. Where there is only one of these, the outermost loop is
    `j.block` instead, and B is packed block by block.
    """

    def __init__(
        self,
        session: Session,
        update: Contraction,
        sizes: Blocking,
        extents: tuple[int, int, int],
        finished: bool,
    ):
        self.session = session
        self.update = update
        self.sizes = sizes
        store = update.store
        self.batch = [f.loop_name.data for f in update.batch]
        self.left, self.right, self.result = (
            access.buffer.name_hint or "" for access in (update.left, update.right, store)
        )
        self.is_transposed = stride_along(store, update.columns) != 1
        self.by_panels = finished or self.is_transposed
        """whether the result is made in panels, that something in their loops reads"""
        self.i, self.j, self.k = (
            f.loop_name.data for f in (update.rows, update.columns, update.reduced)
        )
        self.rows, self.columns, reduced = extents
        self.axes = len(store.map.data.results)
        # The order of the result's axes in a panel or tile, where it is not that of the result.
        self.result_order = (
            (*range(self.axes - 2), self.axes - 1, self.axes - 2) if self.is_transposed else ()
        )
        self.is_deep = reduced > sizes.block_reduced
        """whether the summed axis is several blocks"""
        self.ragged_rows = bool(self.rows % sizes.tile_rows)
        self.ragged_columns = bool(self.columns % sizes.tile_columns)
        # Constants are packed at compile time, which costs a call nothing: see loop-fold-constants.
        self.left_is_constant, self.right_is_constant = (
            constant_global(access.buffer) is not None for access in (update.left, update.right)
        )
        # Of a buffer that both operands are, both read the one copy, in the right operand's layout.
        self.is_one_buffer = update.left.buffer is update.right.buffer
        self.pack_left = not self.is_one_buffer and (
            self.left_is_constant
            or self.ragged_rows
            or (
                -(-self.columns // sizes.tile_columns) >= REUSES
                and not _streams(update.left, update, sizes.tile_rows)
            )
        )
        self.pack_right = (
            self.right_is_constant
            or self.ragged_columns
            or (self.rows // sizes.tile_rows >= REUSES and self.columns > sizes.tile_columns)
            or stride_along(update.right, update.columns) != 1
        )
        self.left_order = operand_order(update, update.left, update.rows)
        self.right_order = operand_order(update, update.right, update.columns)
        i, j = self.i, self.j
        by_rows = self.rows > sizes.block_rows or self.is_deep
        self.block, self.column_tile, self.tile = (
            f"{i if by_rows else j}.block",
            f"{j}.tile",
            f"{i}.tile",
        )
        # The loops before which an operand is packed; None for in front of all.
        self.left_at = self.block if by_rows and not self.left_is_constant else None
        self.right_at = None if by_rows or self.right_is_constant else self.block
        self.shared = [self.block, self.column_tile]
        """the loops in which a part of the result is initialised, summed up and finished"""
        if self.by_panels and not self.is_deep:
            self.shared.append(f"{i}.panel")

    def _do(self, step: Step) -> None:
        self.session.apply(step)

    def cut(self, init: PerfectNest | None, finish: PerfectNest | None) -> None:
        """Cut the nests' axes into blocks and tiles, and run them block by block and tile by tile."""
        at, i, j, k = self.session.named, self.i, self.j, self.k
        joined = self.shared if self.is_deep else [*self.shared, self.tile]
        parts: list[list[str]] = []
        if init is not None:
            *batch, row, column = init.names
            if self.is_transposed:
                row, column = column, row
            inner = [f"{i}.init", f"{j}.init"]
            parts.append([*batch, *self._cut(row, column, joined, "", [], inner)])
        suffix = ".update" if parts else ""
        if self.is_deep:
            self._do(Split(at(k), self.sizes.block_reduced, f"{k}.block", f"{k}.step"))
            summed, inner = [f"{k}.block", f"{k}.step"], [f"{i}.rest", f"{j}.column"]
        else:
            summed, inner = [k], [f"{i}.row", f"{j}.column"]
        parts.append([*self.batch, *self._cut(i, j, joined, suffix, summed, inner)])
        if self.is_deep:
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
        outer: list[str],
        suffix: str,
        summed: list[str],
        inner: list[str],
    ) -> list[str]:
        """
        Cut a nest's loops over rows and columns by those called `outer` with `suffix`, which it returns.

        The nest is then these, `summed`, and `inner`: rows and columns.
        """
        at, sizes, names = self.session.named, self.sizes, [f"{name}{suffix}" for name in outer]
        if self.block == f"{self.i}.block":
            heights, widths = [sizes.block_rows], [sizes.tile_columns]
            vertical, horizontal = [names[0], *names[2:]], [names[1]]
        else:
            heights, widths = [], [sizes.block_columns, sizes.tile_columns]
            vertical, horizontal = names[2:], names[:2]
        heights += [sizes.tile_rows for _ in names[2:]]
        self._cut_axis(row, vertical, heights, inner[0])
        self._cut_axis(column, horizontal, widths, inner[1])
        outermost = horizontal[0] if self.is_transposed else vertical[0]
        self._do(Reorder(at(outermost), (*names, *summed, *inner)))
        return names

    def _cut_axis(self, name: str, outer: list[str], sizes: list[int], inner: str) -> None:
        """Cut a loop by the loops `outer`, over so many elements each; `inner` is left."""
        rests = [*(f"{name}.rest" for name in outer[:-1]), inner]
        for loop_name, size, rest in zip(outer, sizes, rests, strict=True):
            self._do(Split(self.session.named(name), size, loop_name, rest))
            name = rest

    def pack(self) -> None:
        """Copy the operands to where the tiles read them one element after the other."""
        at, sizes = self.session.named, self.sizes
        tall, wide = sizes.tile_rows, sizes.tile_columns
        front = self.batch[-1] if self.batch else ""
        if self.pack_left:
            around = "" if self.left_is_constant else self.left_at or front
            step = Stage(
                at(self.left), around, "left", "arena", self.left_order, panel=tall, pad=tall
            )
            self._do(step)
        if self.pack_right:
            around = "" if self.right_is_constant else self.right_at or front
            step = Stage(
                at(self.right), around, "right", "arena", self.right_order, panel=wide, pad=wide
            )
            self._do(step)

    def keep_in_registers(self) -> None:
        """Keep the tile in registers; a result that is worked on further only exists by panels."""
        at, sizes, result = self.session.named, self.sizes, self.result
        pads = (*(1 for _ in range(self.axes - 2)), sizes.tile_rows, sizes.tile_columns)
        if self.by_panels:
            scope, order = "arena" if self.is_deep else "stack", self.result_order
            self._do(Stage(at(result), self.shared[-1], "panel", scope, order, pads=pads))
            result = "panel"
        register = Stage(at(result), self.tile, "tile", "register", pads=pads)
        if not self.by_panels:
            self._do(register)
        rows, columns = [f"{self.i}.row"], [f"{self.j}.column"]
        if not self.is_deep:
            rows, columns = [f"{self.i}.init", *rows], [f"{self.j}.init", *columns]
        for names, size, ragged in (
            (rows, sizes.tile_rows, self.ragged_rows),
            (columns, sizes.tile_columns, self.ragged_columns),
        ):
            for name in names:
                if ragged and self.session.loop(name) is not None:
                    self._do(Split(at(name), size, f"{name}.one", f"{name}.each", tail="pad"))
        if self.by_panels:
            self._do(register)
        self._do(Simplify(self.session.name))

    def fetch_ahead(self, reduced: int) -> None:
        """While tiles use one panel of a B that is packed whole, ask for the next one: to L2."""
        tiles = min(self.rows, self.sizes.block_rows) // self.sizes.tile_rows
        is_next_panel = self.right_at is None and not self.is_one_buffer
        if self.pack_right and is_next_panel and tiles >= REUSES:
            k = f"{self.k}.step" if self.is_deep else self.k
            self._do(Prefetch(self.session.named("right"), k, reduced, locality=2))

    def vectorize(self, width: int) -> None:
        """Columns in lanes, rows written out; the copies too."""
        i, j, sizes, session = self.i, self.j, self.sizes, self.session
        row, column, init_row, init_column = (
            f"{name}.each" if ragged else name
            for name, ragged in (
                (f"{i}.row", self.ragged_rows),
                (f"{j}.column", self.ragged_columns),
                (f"{i}.init", self.ragged_rows and not self.is_deep),
                (f"{j}.init", self.ragged_columns and not self.is_deep),
            )
        )
        copies = ("tile.in", "tile.out")
        last = self.axes - 1
        for name in (column, init_column, *(f"{copy}{last}" for copy in copies), f"{j}.finish"):
            self._lanes(name, sizes.tile_columns)
        self._pack_operands(width)
        self._do(Simplify(session.name))
        written_out = [row, *(f"{copy}{last - 1}" for copy in copies), "right.prefetch0"]
        for name in [*written_out, *([] if self.is_deep else [init_row])]:
            if session.loop(name) is not None:
                self._do(Unroll(session.named(name), mark=True))

    def _pack_operands(self, width: int) -> None:
        """The copies of operands in vectors. Those of constants are gone after compilation."""
        sizes = self.sizes
        for name, order, is_constant, size, extent, at, block in (
            ("right", self.right_order, self.right_is_constant, sizes.tile_columns, self.columns,
             self.right_at, sizes.block_columns),
            ("left", self.left_order, self.left_is_constant, sizes.tile_rows, self.rows,
             self.left_at, sizes.block_rows),
        ):  # fmt: skip
            if not is_constant:
                is_cut = at is not None and self.session.loop(at) is not None
                start = f" - {block} * {at}" if is_cut else ""
                copied = [f"{name}.in{axis}" for axis in order]
                self._pack_panels(copied, size, extent, start, width)

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

    def parallel(self, threads: int) -> None:
        """The outermost loop that has an iteration for each thread, and that of a copy in front of it."""
        self._parallel([*self.batch, *self.shared], threads)
        if self.batch:
            return
        for copy, at in (("left.in", self.left_at), ("right.in", self.right_at)):
            loops = [f.loop_name.data for f in self.session.nest.loops()]
            if at is None:
                self._parallel([name for name in loops if name.startswith(copy)], threads)

    def _parallel(self, names: list[str], threads: int) -> None:
        for name in names:
            for_op = self.session.loop(name)
            if (
                for_op is not None
                and for_op.kind.data is loop.LoopKind.PARALLEL
                and self.session.trips(name)[0] >= threads
            ):
                self._do(Parallel(self.session.named(name)))
                return
