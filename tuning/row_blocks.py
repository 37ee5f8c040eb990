"""
The rule for chains of nests with contractions among them that share their rows, such as attention.

A block of rows goes through all the nests before the next block does, so that what passes between them, the
scores of attention, is never in memory as a whole. (The idea is that of Rabe and Staats, "Self-attention Does
Not Need O(n^2) Memory", 2021, without their running maximum: a row of scores fits the caches.)
"""

from __future__ import annotations

from contextlib import suppress

from xdsl.ir import Block

from ..dialects import loop
from ..dialects.schedule.steps import FuseLoops, Reorder, Simplify, Split, Stage, Unroll, Vectorize
from ..runtime.target import Target
from ..transforms.schedule.refusal import Refusal
from .contraction import Contraction, axis_of, recognise, register_tile
from .facts import PerfectNest, element_bytes, lanes, perfect_nest, stride_along
from .lanes import vectorize_innermost
from .rows import parallel_outermost
from .session import Session


def row_blocks(session: Session, target: Target) -> bool:
    """Block the rows that all nests share, and give each contraction a register tile."""
    nests = _top(session)
    found = {nest.names[0]: c for nest in nests if (c := recognise(nest)) is not None}
    if len(found) < 1 or len(nests) < 4:
        return False
    depth = _shared_depth(nests)
    if depth < 1 or any(len(c.batch) != depth - 1 for c in found.values()):
        return False
    if any(c.rows is not c.nest.loops[depth - 1] for c in found.values()):
        return False
    _Chain(session, target, nests, list(found.values()), depth).schedule()
    return True


def _top(session: Session) -> list[PerfectNest]:
    block = session.nest.function.body.block
    return [perfect_nest(op) for op in block.ops if isinstance(op, loop.ForOp)]


def _shared_depth(nests: list[PerfectNest]) -> int:
    """How many outer loops of all nests are parallel and have the same trip counts."""
    depth = 0
    for level in zip(*(nest.loops for nest in nests), strict=False):
        counts = {for_op.constant_trip_count() for for_op in level}
        if len(counts) != 1 or None in counts:
            break
        if any(for_op.kind.data is not loop.LoopKind.PARALLEL for for_op in level):
            break
        depth += 1
    return depth


class _Chain:
    """The steps for one chain."""

    def __init__(
        self,
        session: Session,
        target: Target,
        nests: list[PerfectNest],
        contractions: list[Contraction],
        depth: int,
    ):
        self.session, self.target = session, target
        self.batch = [[f.loop_name.data for f in nest.loops[: depth - 1]] for nest in nests]
        self.row = [nest.loops[depth - 1].loop_name.data for nest in nests]
        self.total = nests[0].loops[depth - 1].constant_trip_count() or 0
        first = contractions[0]
        columns = first.columns.constant_trip_count() or 0
        bytes_ = element_bytes(first.store.buffer)
        self.rows, _ = register_tile(target, self.total, columns, bytes_)
        self.contractions = [_Inner(self, c) for c in contractions]

    def do(self, step: object) -> None:
        self.session.apply(step)  # pyright: ignore[reportArgumentType]

    def schedule(self) -> None:
        at = self.session.named
        for level in zip(*self.batch, strict=True):
            for other in level[1:]:
                self.do(FuseLoops(at(level[0]), other))
        blocks = [f"{name}.block" for name in self.row]
        for name, block in zip(self.row, blocks, strict=True):
            self.do(Split(at(name), self.rows, block, f"{name}.row"))
        for block in blocks[1:]:
            self.do(FuseLoops(at(blocks[0]), block))
        self.block = blocks[0]
        self.around = self.batch[0][-1] if self.batch[0] else ""
        self._keep_near()
        for inner in self.contractions:
            inner.tile()
        self.do(Simplify(self.session.name))
        for inner in self.contractions:
            inner.vectorize()
        self._rest()
        for inner in self.contractions:
            inner.write_out()
        parallel_outermost(self.session, self.target)

    def _keep_near(self) -> None:
        """Each buffer between the nests is of one block of rows."""
        results = {inner.result: inner for inner in self.contractions}
        buffers = [
            op
            for op in self.session.nest.function.body.block.ops
            if isinstance(op, loop.AllocOp) and op.scope.data is loop.Scope.ARENA
        ]
        for op in buffers:
            name = op.buffer.name_hint or ""
            shape = [int(size) for size in op.buffer.type.get_shape()]  # pyright: ignore[reportUnknownMemberType, reportAttributeAccessIssue, reportUnknownVariableType]
            row_axis = len(self.batch[0])
            pads = [1] * len(shape)
            pads[row_axis] = self.rows
            if name in results:
                pads[-1] = results[name].columns
            step = Stage(
                self.session.named(name), self.block, f"{name}.rows", "arena", pads=tuple(pads)
            )
            with suppress(Refusal):
                self.do(step)
                if name in results:
                    results[name].result, results[name].is_scratch = f"{name}.rows", True
                for inner in self.contractions:
                    if inner.left == name:
                        inner.left = f"{name}.rows"

    def _inside(self) -> Block:
        """Where the nests of a block of rows stand: loops of one iteration are there no more."""
        for name in (self.block, *reversed(self.batch[0])):
            for_op = self.session.loop(name)
            if for_op is not None:
                return for_op.body.block
        return self.session.nest.function.body.block

    def _rest(self) -> None:
        """What is not a contraction: row by row, in lanes."""
        # `simplify` leaves out a loop over one block only, and over one batch.
        outer = [self.block, *reversed(self.batch[0])]
        around = next((op for name in outer if (op := self.session.loop(name)) is not None), None)
        body = (self.session.nest.function if around is None else around).body.block
        groups: list[list[str]] = [[]]
        for op in body.ops:
            if isinstance(op, loop.ForOp):
                name = op.loop_name.data
                if any(name.startswith(inner.tile_loop) for inner in self.contractions):
                    groups.append([])
                else:
                    groups[-1].append(name)
        for group in groups:
            with suppress(Refusal):
                for other in group[1:]:
                    self.do(FuseLoops(self.session.named(group[0]), other))
        vectorize_innermost(self.session, self.target)


class _Inner:
    """One contraction inside a block of rows."""

    def __init__(self, chain: _Chain, update: Contraction):
        self.chain, self.update = chain, update
        self.i, self.j, self.k = (
            f.loop_name.data for f in (update.rows, update.columns, update.reduced)
        )
        bytes_ = element_bytes(update.store.buffer)
        width, target = lanes(chain.target, bytes_), chain.target
        extent = update.columns.constant_trip_count() or 0
        vectors = 1
        while (
            vectors < 4
            and chain.rows * vectors * 2 + vectors * 2 + 1 <= target.vector_registers
            and vectors * width < extent
        ):
            vectors *= 2
        self.columns = vectors * width
        while self.columns // 2 >= extent:
            self.columns //= 2
        self.extent = extent
        self.result = update.store.buffer.name_hint or ""
        self.left = update.left.buffer.name_hint or ""
        self.right = update.right.buffer.name_hint or ""
        self.is_scratch = False
        self.ragged_rows = bool(chain.total % chain.rows)
        self.ragged_columns = bool(extent % self.columns)
        self.tile_loop = f"{self.j}.tile"
        # Asked now, as steps put other loops in the place of these.
        axes = (*update.batch, update.reduced, update.columns)
        self.right_order = tuple(axis_of(update.right, for_op) for for_op in axes)
        self.left_rank = len(update.left.map.data.results)
        self.left_axis = axis_of(update.left, update.rows)
        self.is_near = stride_along(update.right, update.columns) == 1
        self.last = len(update.store.map.data.results) - 1
        self.prefix = self.result

    def tile(self) -> None:
        """A tile of columns, for it the summation, and inside that rows and columns."""
        chain, at = self.chain, self.chain.session.named
        row, column = f"{self.i}.row", f"{self.j}.column"
        if self.ragged_columns or not self.is_near:
            place = chain.around or chain.block
            step = Stage(
                at(self.right), place, f"{self.prefix}.right", "arena", self.right_order,
                panel=self.columns, pad=self.columns,
            )  # fmt: skip
            chain.do(step)
        if self.ragged_rows and not self.left.endswith(".rows"):
            pads = [1] * self.left_rank
            pads[self.left_axis] = chain.rows
            step = Stage(
                at(self.left), chain.block, f"{self.prefix}.left", "arena", pads=tuple(pads)
            )
            chain.do(step)
        chain.do(Split(at(self.j), self.columns, self.tile_loop, column))
        chain.do(Reorder(at(row), (self.tile_loop, self.k, row, column)))
        register = Stage(at(self.result), self.tile_loop, f"{self.prefix}.tile", "register")
        if not self.is_scratch:
            chain.do(register)
        for name, size, ragged in (
            (row, chain.rows, self.ragged_rows),
            (column, self.columns, self.ragged_columns),
        ):
            if ragged:
                chain.do(Split(at(name), size, f"{name}.one", f"{name}.each", tail="pad"))
        if self.is_scratch:
            chain.do(register)

    def vectorize(self) -> None:
        """Columns in lanes, in the tile and where it is copied."""
        session, last = self.chain.session, self.last
        packing = f"{self.prefix}.right.in{self.right_order[-1]}"
        if session.loop(packing) is not None and session.trips(packing)[0] > self.columns:
            step = Split(
                session.named(packing), self.columns, f"{packing}.panel", f"{packing}.lane",
                tail="perfect",
            )  # fmt: skip
            self.chain.do(step)
            self.chain.do(Simplify(session.name))
            packing = f"{packing}.lane"
        column = f"{self.j}.column.each" if self.ragged_columns else f"{self.j}.column"
        tile = f"{self.prefix}.tile"
        for name in (column, f"{tile}.in{last}", f"{tile}.out{last}", packing):
            for_op = session.loop(name)
            if for_op is None or for_op.mode is not None:
                continue
            least, greatest = session.trips(name)
            whole = least == greatest == self.columns
            with suppress(Refusal):
                width = 0 if whole else self.columns
                self.chain.do(Vectorize(session.named(name), width, tail="guard"))

    def write_out(self) -> None:
        """The rows of the tile, one after the other."""
        last = self.last
        row = f"{self.i}.row.each" if self.ragged_rows else f"{self.i}.row"
        tile, session = f"{self.prefix}.tile", self.chain.session
        for name in (row, f"{tile}.in{last - 1}", f"{tile}.out{last - 1}"):
            if session.loop(name) is not None:
                self.chain.do(Unroll(session.named(name), mark=True))
