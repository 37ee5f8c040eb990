"""
The rule for contractions: `C[i, j] += A[i, k] * B[k, j]`, with outer batch loops and any order of axes.

The loops are those of Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication", ACM
TOMS 34(3), 2008, with the loop over column panels outside of the one over blocks of k: a block of A is packed
once for all columns, a panel of B just before it is used, and a panel of C is done with, and can be worked on
further, while it is in the cache.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import SSAValue

from ..dialects import loop
from ..dialects.affine_bounds import linear_form
from ..dialects.schedule.steps import (
    FuseLoops,
    Parallel,
    Reorder,
    Simplify,
    Split,
    Stage,
    Unroll,
    Vectorize,
)
from ..runtime.target import Target
from .facts import (
    Access,
    PerfectNest,
    balanced,
    cache_bytes,
    element_bytes,
    lanes,
    round_up,
    stride_along,
)
from .packing import pack, read_along
from .session import Session

REUSES = 4
"""A copy costs a load and a store an element: it pays when each is used at least so many times."""

COPIED_ROWS = 8
"""Rows of a panel copied at a time: those of all panels before the next ones, as a row's page is the same."""

PARALLEL_WORK = 1 << 21
"""Multiply-adds from which threads pay: about 20 microseconds of one core, several times a team's start."""


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
    """Whether each subscript is a loop's variable of its own."""
    seen: set[SSAValue] = set()
    for expr in access.map.data.results:
        linear = linear_form(expr, len(access.operands_))
        if linear is None or linear[1] or sorted(c for c in linear[0] if c) != [1]:
            return False
        seen.add(list(access.operands_)[linear[0].index(1)])
    return len(seen) == len(access.map.data.results)


def axis_of(access: Access, for_op: loop.ForOp) -> int:
    """The axis of the buffer that the loop's variable is the subscript of."""
    operands = list(access.operands_)
    for axis, expr in enumerate(access.map.data.results):
        if any(operands[n] is for_op.induction_variable for n in expr.used_dims()):
            return axis
    raise ValueError("the access does not move along the loop")


@dataclass(frozen=True)
class Blocking:
    """Sizes in elements: the register tile, and the blocks of rows and of the summed axis."""

    tile_rows: int
    tile_columns: int
    block_rows: int
    block_reduced: int


def register_tile(target: Target, rows: int, columns: int, bytes_: int) -> tuple[int, int]:
    """
    Rows and columns of the accumulators that stay in registers over the summation.

    Each step of it loads a vector for each of the tile's column vectors and broadcasts one element for
    each row. The tile is the one with the least estimated time over the whole result: two multiply-adds
    or two loads a cycle, no less than the eight multiply-adds that hide each other's latency, and one for
    the loop.
    """
    width = lanes(target, bytes_)
    while width > 1 and width // 2 >= columns:
        width //= 2
    # LLVM loads A's elements by pairs on AArch64, the next pair while the last is in use.
    broadcast = 4 if target.triple.startswith("aarch64") else 1
    best: tuple[float, int, int] | None = None
    for vectors in (1, 2, 4):
        if vectors > 1 and (vectors - 1) * width >= columns:
            break
        for tile_rows in range(1, min(rows, target.vector_registers) + 1):
            if tile_rows * vectors + vectors + broadcast > target.vector_registers:
                break
            tiles = -(-rows // tile_rows) * -(-columns // (vectors * width))
            time = tiles * (max(tile_rows * vectors, 1.25 * (tile_rows + vectors), 8) + 1)
            if rows % tile_rows or columns % (vectors * width):
                time = time * 21 // 20  # ragged edges are copied
            candidate = (time, -tile_rows * vectors, vectors)
            if best is None or candidate < best:
                best, chosen = candidate, (tile_rows, vectors * width)
    assert best is not None
    return chosen  # pyright: ignore[reportPossiblyUnboundVariable]


def blocking(target: Target, rows: int, columns: int, reduced: int, bytes_: int) -> Blocking:
    """
    A panel of B (block of k by tile columns) fills at most a quarter of L2, from which it streams as fast
    as it is used, and a block of A three quarters; but that has at least 8 tiles, so that fetching B's
    panels again for each block costs little.
    """
    tile_rows, tile_columns = register_tile(target, rows, columns, bytes_)
    deep = max(cache_bytes(target, 2) // 4 // (tile_columns * bytes_), 64)
    tall = max(cache_bytes(target, 2) * 3 // 4 // (reduced * bytes_), 8 * tile_rows)
    block_rows = balanced(rows, tall, tile_rows)
    threads = max(target.cores, 2)
    if rows * columns * reduced >= PARALLEL_WORK and rows >= threads * tile_rows:
        blocks = round_up(-(-rows // block_rows), threads)
        block_rows = round_up(-(-rows // blocks), tile_rows)
    return Blocking(tile_rows, tile_columns, block_rows, balanced(reduced, deep))


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
    rows, columns = extents[update.rows], extents[update.columns]
    bytes_ = element_bytes(update.store.buffer)
    sizes = blocking(target, rows, columns, extents[update.reduced], bytes_)
    plan = _Plan(
        session, update, sizes, (rows, columns, extents[update.reduced]), finish is not None
    )
    plan.cut(init, finish)
    plan.pack()
    plan.keep_in_registers()
    plan.vectorize(lanes(target, bytes_))
    if _work(extents) >= PARALLEL_WORK:
        plan.parallel(max(target.cores, 2))


def _work(extents: dict[loop.ForOp, int]) -> int:
    product = 1
    for extent in extents.values():
        product *= extent
    return product


class _Plan:
    """
    The steps for one contraction.

    Where the summed axis is one block: `i.block, j.tile, i.tile, k, i.row, j.column`, with the result
    initialised in the tile's registers. What finishes it reads the tile from L1, in a loop `i.panel` around
    `i.tile`. Where it is several: `i.block, j.tile, k.block, i.tile, k.step, i.row, j.column`; a panel of
    tiles is initialised before the blocks of k, and finished after them.
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
        self.finished = finished
        """whether a nest that reads the result is done along with it"""
        self.i, self.j, self.k = (
            f.loop_name.data for f in (update.rows, update.columns, update.reduced)
        )
        self.batch = [f.loop_name.data for f in update.batch]
        self.left, self.right, self.result = (
            access.buffer.name_hint or "" for access in (update.left, update.right, update.store)
        )
        self.rows, self.columns, reduced = extents
        self.axes = len(update.store.map.data.results)
        self.is_deep = reduced > sizes.block_reduced
        """whether the summed axis is several blocks"""
        self.ragged_rows = bool(self.rows % sizes.tile_rows)
        self.ragged_columns = bool(self.columns % sizes.tile_columns)
        self.pack_left = self.ragged_rows or -(-self.columns // sizes.tile_columns) >= REUSES
        self.pack_right = (
            self.ragged_columns
            or self.rows // sizes.tile_rows >= REUSES
            or stride_along(update.right, update.columns) != 1
        )
        self.pack_right_whole = self.rows > sizes.block_rows
        """whether all panels are packed before the first is used, as each is used by several blocks"""
        self.left_order = self._order(update.left, update.rows)
        self.right_order = self._order(update.right, update.columns)
        i, j = self.i, self.j
        self.block, self.column_tile, self.tile = f"{i}.block", f"{j}.tile", f"{i}.tile"
        self.shared = [self.block, self.column_tile]
        """the loops in which a part of the result is initialised, summed up and finished"""
        if finished and not self.is_deep:
            self.shared.append(f"{i}.panel")

    def _order(self, access: Access, last: loop.ForOp) -> tuple[int, ...]:
        """The axes of an operand as it is packed: batch, the summed one, then rows or columns."""
        loops = (*self.update.batch, self.update.reduced, last)
        return tuple(axis_of(access, for_op) for for_op in loops)

    def _do(self, step: object) -> None:
        self.session.apply(step)  # pyright: ignore[reportArgumentType]

    def cut(self, init: PerfectNest | None, finish: PerfectNest | None) -> None:
        """Cut the nests' axes into blocks and tiles, and run them block by block and tile by tile."""
        at, i, j, k = self.session.named, self.i, self.j, self.k
        joined = self.shared if self.is_deep else [*self.shared, self.tile]
        parts: list[list[str]] = []
        if init is not None:
            *batch, row, column = init.names
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
        self._do(Split(at(column), sizes.tile_columns, names[1], inner[1]))
        heights = [sizes.block_rows, *(sizes.tile_rows for _ in names[2:])]
        cuts = [names[0], *names[2:]]
        rests = [*(f"{name}.rest" for name in cuts[:-1]), inner[0]]
        for name, height, rest in zip(cuts, heights, rests, strict=True):
            self._do(Split(at(row), height, name, rest))
            row = rest
        self._do(Reorder(at(names[0]), (*names, *summed, *inner)))
        return names

    def pack(self) -> None:
        """Copy the operands to where the tiles read them one element after the other."""
        at, sizes = self.session.named, self.sizes
        tall, wide = sizes.tile_rows, sizes.tile_columns
        if self.pack_left:
            step = Stage(
                at(self.left), self.block, "left", "arena", self.left_order, panel=tall, pad=tall
            )
            self._do(step)
        if not self.pack_right:
            return
        if self.pack_right_whole:
            around, panel = self.batch[-1] if self.batch else "", wide
        else:
            around, panel = f"{self.k}.block" if self.is_deep else self.column_tile, 0
        step = Stage(
            at(self.right), around, "right", "arena", self.right_order, panel=panel, pad=wide
        )
        self._do(step)

    def keep_in_registers(self) -> None:
        """Keep the tile in registers; a result that is worked on further only exists by panels."""
        at, sizes, result = self.session.named, self.sizes, self.result
        pads = (*(1 for _ in range(self.axes - 2)), sizes.tile_rows, sizes.tile_columns)
        if self.finished:
            scope = "arena" if self.is_deep else "stack"
            self._do(Stage(at(result), self.shared[-1], "panel", scope, pads=pads))
            result = "panel"
        register = Stage(at(result), self.tile, "tile", "register", pads=pads)
        if not self.finished:
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
        if self.finished:
            self._do(register)
        self._do(Simplify(self.session.name))

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
        written_out = [row, *(f"{copy}{last - 1}" for copy in copies)]
        for name in [*written_out, *([] if self.is_deep else [init_row])]:
            if session.loop(name) is not None:
                self._do(Unroll(session.named(name), mark=True))

    def _pack_operands(self, width: int) -> None:
        """The copies of operands in vectors."""
        sizes = self.sizes
        right = [f"right.in{axis}" for axis in self.right_order]
        if self.pack_right_whole:
            self._pack_panels(right, sizes.tile_columns, self.columns, "", width)
        else:
            pack(self.session, "right.", right[-1], width)
        is_cut = self.session.loop(self.block) is not None
        start = f" - {sizes.block_rows} * {self.block}" if is_cut else ""
        left = [f"left.in{axis}" for axis in self.left_order]
        self._pack_panels(left, sizes.tile_rows, self.rows, start, width)

    def _pack_panels(
        self, copied: list[str], size: int, extent: int, start: str, width: int
    ) -> None:
        """A copy, by loops `copied`, in panels of `size` that are whole apart from the last ones."""
        session, at = self.session, self.session.named
        *_, summed, name = copied
        if session.loop(name) is None or size == 1:
            return
        copy = f"{name.split('.', 1)[0]}."
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
        if self.pack_right_whole and not self.batch:
            copies = [f.loop_name.data for f in self.session.nest.loops()]
            self._parallel([name for name in copies if name.startswith("right.in")], threads)

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
