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
from .packing import pack
from .session import Session

REUSES = 4
"""A copy costs a load and a store an element: it pays when each is used at least so many times."""

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
    A panel of B (block of k by tile columns) fills half of L1, a block of A three quarters of L2; but it
    has at least 16 tiles, so that packing B's panels again for each block costs little.
    """
    tile_rows, tile_columns = register_tile(target, rows, columns, bytes_)
    deep = max(cache_bytes(target, 1) // 2 // (tile_columns * bytes_), 64)
    tall = max(cache_bytes(target, 2) * 3 // 4 // (reduced * bytes_), 16 * tile_rows)
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
    plan = _Plan(session, update, sizes, rows, columns, lanes(target, bytes_))
    plan.tile()
    plan.join(init, finish)
    plan.stage(finish is not None)
    plan.vectorize()
    if _work(extents) >= PARALLEL_WORK:
        plan.parallel(max(target.cores, 2))


def _work(extents: dict[loop.ForOp, int]) -> int:
    product = 1
    for extent in extents.values():
        product *= extent
    return product


class _Plan:
    """The steps for one contraction."""

    def __init__(
        self,
        session: Session,
        update: Contraction,
        sizes: Blocking,
        rows: int,
        columns: int,
        width: int,
    ):
        self.session = session
        self.update = update
        self.sizes = sizes
        self.i, self.j, self.k = (
            f.loop_name.data for f in (update.rows, update.columns, update.reduced)
        )
        self.batch = [f.loop_name.data for f in update.batch]
        self.left, self.right, self.result = (
            access.buffer.name_hint or "" for access in (update.left, update.right, update.store)
        )
        self.rows, self.columns = rows, columns
        self.width = width
        """elements of a vector"""
        self.ragged_rows = bool(rows % sizes.tile_rows)
        self.ragged_columns = bool(columns % sizes.tile_columns)
        self.pack_left = self.ragged_rows or -(-columns // sizes.tile_columns) >= REUSES
        self.pack_right = (
            self.ragged_columns
            or sizes.block_rows // sizes.tile_rows >= REUSES
            or stride_along(update.right, update.columns) != 1
        )
        self.left_order = self._order(update.left, update.rows)
        self.right_order = self._order(update.right, update.columns)
        self.outer = [f"{self.i}.block", f"{self.j}.tile"]
        """the loops over blocks of rows and column tiles, inside which all of the result's work is"""

    def _order(self, access: Access, last: loop.ForOp) -> tuple[int, ...]:
        """The axes of an operand as it is packed: batch, the summed one, then rows or columns."""
        loops = (*self.update.batch, self.update.reduced, last)
        return tuple(axis_of(access, for_op) for for_op in loops)

    def _do(self, step: object) -> None:
        self.session.apply(step)  # pyright: ignore[reportArgumentType]

    def tile(self) -> None:
        """Blocks of rows, column tiles, blocks of k, row tiles, and inside them k and the tile."""
        i, j, k, sizes, at = self.i, self.j, self.k, self.sizes, self.session.named
        block, tile = (f"{name}.update" for name in self.outer)
        self._do(Split(at(k), sizes.block_reduced, f"{k}.block", f"{k}.step"))
        self._do(Split(at(i), sizes.block_rows, block, f"{i}.rest"))
        self._do(Split(at(f"{i}.rest"), sizes.tile_rows, f"{i}.tile", f"{i}.row"))
        self._do(Split(at(j), sizes.tile_columns, tile, f"{j}.column"))
        inner = [f"{k}.block", f"{i}.tile", f"{k}.step", f"{i}.row", f"{j}.column"]
        self._do(Reorder(at(block), (block, tile, *inner)))

    def join(self, init: PerfectNest | None, finish: PerfectNest | None) -> None:
        """Initialise and finish the result where it is summed up, a panel of column tiles at a time."""
        at, update = self.session.named, [f"{name}.update" for name in self.outer]
        parts: list[list[str]] = []
        for nest, suffix in ((init, "init"), (finish, "finish")):
            if nest is None:
                continue
            *batch, i, j = nest.names
            outer = self.outer if suffix == "init" else [f"{n}.{suffix}" for n in self.outer]
            self._do(Split(at(i), self.sizes.block_rows, outer[0], f"{self.i}.{suffix}"))
            self._do(Split(at(j), self.sizes.tile_columns, outer[1], f"{self.j}.{suffix}"))
            inner = (f"{self.i}.{suffix}", f"{self.j}.{suffix}")
            self._do(Reorder(at(outer[0]), (*outer, *inner)))
            parts.append([*batch, *outer])
        parts.insert(0 if init is None else 1, [*self.batch, *update])
        first, *others = parts
        for other in others:
            for kept, joined in zip(first, other, strict=True):
                self._do(FuseLoops(at(kept), at(joined).split("/", 1)[1]))
        self.batch, self.outer = first[:-2], first[-2:]

    def stage(self, contracted: bool) -> None:
        """Pack the operands, and keep the tile in registers."""
        at, sizes, axes = self.session.named, self.sizes, len(self.update.store.map.data.results)
        block, tile = self.outer
        if self.pack_left:
            step = Stage(
                at(self.left),
                block,
                "left",
                "arena",
                self.left_order,
                panel=sizes.tile_rows,
                pad=sizes.tile_rows,
            )
            self._do(step)
        result = self.result
        pads = (*(1 for _ in range(axes - 2)), sizes.tile_rows, sizes.tile_columns)
        if contracted:
            self._do(Stage(at(result), tile, "panel", "arena", pads=pads))
            result = "panel"
        if self.pack_right:
            step = Stage(
                at(self.right), f"{self.k}.block", "right", "arena", self.right_order,
                pad=sizes.tile_columns,
            )  # fmt: skip
            self._do(step)
        too_narrow = self.columns < sizes.tile_columns and not contracted
        register = Stage(
            at(result), f"{self.i}.tile", "tile", "register", pads=pads if too_narrow else ()
        )
        if not contracted:
            self._do(register)
        for name, size, ragged in (
            (f"{self.i}.row", sizes.tile_rows, self.ragged_rows),
            (f"{self.j}.column", sizes.tile_columns, self.ragged_columns),
        ):
            if ragged:
                self._do(Split(at(name), size, f"{name}.one", f"{name}.each", tail="pad"))
        if contracted:
            self._do(register)
        self._do(Simplify(self.session.name))

    def vectorize(self) -> None:
        """Columns in lanes, rows written out; the copies too."""
        at, sizes, session = self.session.named, self.sizes, self.session
        row = f"{self.i}.row.each" if self.ragged_rows else f"{self.i}.row"
        column = f"{self.j}.column.each" if self.ragged_columns else f"{self.j}.column"
        axes = len(self.update.store.map.data.results)
        wide = sizes.tile_columns
        for name in (
            column,
            f"tile.in{axes - 1}",
            f"tile.out{axes - 1}",
            f"{self.j}.init",
            f"{self.j}.finish",
        ):
            self._lanes(name, wide)
        self._pack()
        self._do(Simplify(session.name))
        for name in (row, f"tile.in{axes - 2}", f"tile.out{axes - 2}"):
            if session.loop(name) is not None:
                self._do(Unroll(at(name), mark=True))

    def _pack(self) -> None:
        """The copies of operands. Panels of A are whole, apart from the last ones."""
        session, tall = self.session, self.sizes.tile_rows
        pack(session, "right.", f"right.in{self.right_order[-1]}", self.width)
        rows = f"left.in{self.left_order[-1]}"
        if session.loop(rows) is None or tall == 1:
            return
        if session.trips(rows)[0] <= tall:
            pack(session, "left.", rows, self.width)
            return
        panel, row = f"{rows}.panel", f"{rows}.row"
        self._do(Split(session.named(rows), tall, panel, row, tail="perfect"))
        self._do(Simplify(session.name))
        last = f"{self.rows - tall} - {tall} * {panel}"
        if session.loop(self.outer[0]) is not None:
            last += f" - {self.sizes.block_rows} * {self.outer[0]}"
        pack(session, "left.", row, self.width, (panel, f"{last} >= 0"))

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
        """The outermost loop that has an iteration for each thread."""
        for name in (*self.batch, *self.outer):
            for_op = self.session.loop(name)
            if (
                for_op is not None
                and for_op.kind.data is loop.LoopKind.PARALLEL
                and self.session.trips(name)[0] >= threads
            ):
                self._do(Parallel(self.session.named(name)))
                return
