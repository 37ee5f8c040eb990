"""A contraction inside of a block of rows: register tiles, above each other and side by side."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from ..analysis.constants import constant_global
from ..dialects import loop
from ..dialects.loop import LoadOp, StoreOp
from ..dialects.schedule.steps import (
    FuseLoops,
    Reorder,
    Rfactor,
    Simplify,
    Split,
    Stage,
    Step,
    Unroll,
    Vectorize,
)
from ..targets.target import Target
from ..transforms.step_support.refusal import Refusal
from .contraction import Contraction, axis_of, operand_order
from .facts import Access, PerfectNest, element_bytes, lanes, stride_along
from .packing import pack
from .session import Session

WAYS = ("in", "out")
"""What the loops of a copy are called, after the copy: to it and from it."""


@dataclass(frozen=True)
class Attached:
    """The nests that are done tile by tile with a contraction: they run where its result is in registers."""

    init: PerfectNest | None
    """sets what is summed up to"""
    finish: PerfectNest | None
    """alone reads the result, element by element"""
    reduced: PerfectNest | None
    """reduces each row of the result"""


class RowTiles:
    """
    The steps for one contraction, of whose `total` rows a tile has `tall`. `places` are the loops around,
    innermost first. A right operand that is `computed` is packed, and computed where it is.

    The loops become, from the outside, those over column tiles, over the tiles above each other, the summation,
    and the tile. A panel of the right operand stays in L1 while all rows of the block use it.
    """

    def __init__(
        self,
        session: Session,
        target: Target,
        update: Contraction,
        attached: Attached,
        total: int,
        tall: int,
        places: Sequence[str],
        *,
        computed: bool = False,
    ):
        self.session, self.tall, self.places = session, tall, places
        self.i, self.j, self.k = (
            f.loop_name.data for f in (update.rows, update.columns, update.reduced)
        )
        self.result, self.left, self.right = (
            loop.buffer_name(access.buffer) or ""
            for access in (update.store, update.left, update.right)
        )
        self.extent = update.columns.constant_trip_count() or 0
        self.lanes = lanes(target, element_bytes(update.store.buffer))
        self.wide = _tile_columns(target, update, tall)
        self.is_scratch = False
        """whether the result is of one block of rows, and padded"""
        self.in_lanes: list[str] = []
        self.rows_written_out: list[str] = []
        self.ragged_rows = bool(total % tall)
        self.ragged_columns = bool(self.extent % self.wide)
        self.attached = self._names(attached)
        self.row_loops = {self.i, *(row for row, _ in self.attached.values())}
        """over rows, of all nests that are done tile by tile"""
        # Asked now, as steps put other loops in the place of these.
        self.right_order = operand_order(update, update.right, update.columns)
        self.left_axes = len(update.left.map.data.results)
        self.left_axis = axis_of(update.left, update.rows)
        self.row_axis = axis_of(update.store, update.rows)
        is_near = stride_along(update.right, update.columns) == 1
        self.right_is_constant = constant_global(update.right.buffer) is not None
        """whether it is packed at compile time"""
        self.pack_right = computed or self.right_is_constant or self.ragged_columns or not is_near
        # Of a buffer that others use too the copy is for this operand alone.
        self.right_along = self.j if _is_shared(update.right) else ""
        self.left_along = f"{self.i}.row" if _is_shared(update.left) else ""
        self.column_axis = axis_of(update.store, update.columns)
        self.axes = len(update.store.map.data.results)
        self.prefix = self.result
        self.in_registers = [(f"{self.prefix}.tile", self.row_axis, self.column_axis)]
        """what is of one tile, and its axes of rows and columns"""
        self.finished = ""
        """what the nests attached make of the result and reduce"""
        if {"finish", "reduced"} <= self.attached.keys() and attached.finish is not None:
            store, loops = attached.finish.stores[0], attached.finish.loops[-2:]
            if all(stride_along(store, for_op) for for_op in loops):
                row, column = (axis_of(store, for_op) for for_op in loops)
                self.finished = loop.buffer_name(store.buffer) or ""
                self.in_registers.append((f"{self.prefix}.finished", row, column))

    def _names(self, attached: Attached) -> dict[str, tuple[str, str]]:
        """
        The loops over rows and columns of the nests attached.

        What is beyond the last row or column would be seen by others than the one that initialises.
        """
        nests = {"init": attached.init}
        if not (self.ragged_rows or self.ragged_columns):
            nests |= {"finish": attached.finish, "reduced": attached.reduced}
        return {
            name: (nest.names[-2], nest.names[-1])
            for name, nest in nests.items()
            if nest is not None
        }

    def rename(self, buffer: str, near: str) -> None:
        """What the contraction calls a buffer that has a copy for each block of rows."""
        if self.result == buffer:
            self.result, self.is_scratch = near, True
        if self.left == buffer:
            self.left = near
        if self.finished == buffer:
            self.finished = near

    def do(self, step: Step) -> None:
        self.session.apply(step)

    def tile(self) -> None:
        """A tile of columns, in it one of rows, for it the summation, and inside that rows and columns."""
        self._stage_operands()
        outer = f"{self.j}.tile", f"{self.i}.tile"
        inner: list[tuple[str, str]] = []
        for name in ("init", "update", "finish", "reduced"):
            if name not in self.attached and name != "update":
                continue
            cut = (f"{outer[0]}.{name}", f"{outer[1]}.{name}") if inner else outer
            suffix, summed = ("", (self.k,)) if name == "update" else (f".{name}", ())
            inner.append((f"{self.i}.row{suffix}", f"{self.j}.column{suffix}"))
            self._cut(self.attached.get(name, (self.i, self.j)), cut, (*summed, *inner[-1]))
            if name == "reduced":
                with suppress(Refusal):  # then each row has one result, which is as legal
                    self.do(Rfactor(self.session.named(inner[-1][1])))
            if cut != outer:
                for kept, joined in zip(outer, cut, strict=True):
                    self.do(FuseLoops(self.session.named(kept), joined))
        pads = [1] * self.axes
        pads[self.row_axis], pads[self.column_axis] = self.tall, self.wide
        register = Stage(
            self.session.named(self.result), outer[1], f"{self.prefix}.tile", "register",
            pads=tuple(pads),
        )  # fmt: skip
        if not self.is_scratch:
            self.do(register)
        for rows, columns in inner:
            self.rows_written_out.append(self._whole(rows, self.tall, self.ragged_rows))
            self.in_lanes.append(self._whole(columns, self.wide, self.ragged_columns))
        if self.is_scratch:
            self.do(register)
        if self.finished:
            into = f"{self.prefix}.finished"
            with suppress(Refusal):  # then it is read from memory
                self.do(Stage(self.session.named(self.finished), outer[1], into, "register"))

    def _cut(self, loops: tuple[str, str], outer: tuple[str, str], inner: tuple[str, ...]) -> None:
        """`for i: for j: …` in tiles, whose loops go outside of the others."""
        at, (i, j), (columns, rows) = self.session.named, loops, outer
        self.do(Split(at(f"{i}.row"), self.tall, rows, inner[-2]))
        self.do(Split(at(j), self.wide, columns, inner[-1]))
        self.do(Reorder(at(rows), (columns, rows, *inner)))

    def _whole(self, name: str, size: int, is_ragged: bool) -> str:
        """The loop, run to the end of a tile also where that is not all in use."""
        if not is_ragged:
            return name
        step = Split(self.session.named(name), size, f"{name}.one", f"{name}.each", tail="pad")
        self.do(step)
        return f"{name}.each"

    def _stage_operands(self) -> None:
        """The right operand in panels, and the left one with rows beyond the last one."""
        at, (block, *around) = self.session.named, self.places
        if self.pack_right:
            place = "" if self.right_is_constant else (*around, "")[0]
            step = Stage(
                at(self.right), place, f"{self.prefix}.right", "arena",
                self.right_order, panel=self.wide, pad=self.wide, along=self.right_along,
            )  # fmt: skip
            self.do(step)
        if self.ragged_rows and not self.left.endswith(".rows"):
            pads = [1] * self.left_axes
            pads[self.left_axis] = self.tall
            step = Stage(
                at(self.left), block, f"{self.prefix}.left", "arena",
                pads=tuple(pads), along=self.left_along,
            )  # fmt: skip
            self.do(step)

    def vectorize(self) -> None:
        """Columns in lanes, in the tile and where it is copied; operands packed in vectors."""
        session = self.session
        self._pack()
        copies = [f"{tile}.{way}{axis}" for tile, _, axis in self.in_registers for way in WAYS]
        for name in (*self.in_lanes, *copies):
            for_op = session.loop(name)
            if for_op is None or for_op.mode is not None:
                continue
            width = 0 if session.trips(name) == (self.wide, self.wide) else self.wide
            with suppress(Refusal):
                self.do(Vectorize(session.named(name), width, tail="guard"))

    def _pack(self) -> None:
        """Panel by panel, and in each a vector's width at a time: so much can be transposed in registers."""
        copy, at = f"{self.prefix}.right.", self.session.named
        column = f"{copy}in{self.right_order[-1]}"
        if self.session.loop(column) is None or self.right_is_constant:
            return
        panel, part, whole = f"{column}.panel", f"{column}.part", None
        if self.session.trips(column)[0] > self.wide:
            self.do(Split(at(column), self.wide, panel, column, tail="perfect"))
            whole = panel, f"{self.extent - self.wide} - {self.wide} * {panel} >= 0"
        if self.wide > self.lanes:
            self.do(Split(at(column), self.lanes, part, column, tail="perfect"))
        self.do(Simplify(self.session.name))
        pack(self.session, copy, column, self.lanes, whole)

    def write_out(self) -> None:
        """The rows of the tile, one after the other."""
        copies = [f"{tile}.{way}{axis}" for tile, axis, _ in self.in_registers for way in WAYS]
        for name in (*self.rows_written_out, *copies):
            if self.session.loop(name) is not None:
                self.do(Unroll(self.session.named(name), mark=True))


def _is_shared(operand: Access) -> bool:
    """Whether there are other loads and stores of the operand's buffer."""
    return any(
        use.operation is not operand and isinstance(use.operation, LoadOp | StoreOp)
        for use in operand.buffer.uses
    )


def is_ragged(target: Target, update: Contraction, tall: int) -> bool:
    """Whether the last tile of rows or columns would not be whole."""
    rows, columns = (f.constant_trip_count() or 0 for f in (update.rows, update.columns))
    return bool(rows % tall or columns % _tile_columns(target, update, tall))


def _tile_columns(target: Target, update: Contraction, tall: int) -> int:
    width = lanes(target, element_bytes(update.store.buffer))
    columns = update.columns.constant_trip_count() or 0
    wide = width * _vectors(target, tall, columns, width)
    while wide // 2 >= columns:
        wide //= 2
    return wide


def _vectors(target: Target, tall: int, columns: int, width: int) -> int:
    """How many vectors wide a tile of so many rows is: the accumulators, with as many as are loaded, fit."""
    vectors = 1
    while (
        vectors < 4
        and 2 * vectors * (tall + 1) + 1 <= target.vector_registers
        and vectors * width < columns
    ):
        vectors *= 2
    return vectors
