"""
Two nested vector loops that copy along one and the other: a transposition in registers.

The outer loop's lanes load, a vector for each iteration of the inner one; a network of shuffles turns the
matrix in the registers; the inner loop's lanes do the rest of the body and store. The network is the
perfect shuffle of Stone, "Parallel Processing with the Perfect Shuffle", IEEE Trans. Computers C-20(2),
1971: each stage moves one bit of the row's number into the lane's.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import cast

from xdsl.dialects.builtin import VectorType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.ir.affine import AffineConstantExpr

from ..analysis.turned import chunk_lanes, pieces, powers_of_two
from ..dialects import loop
from ..dialects.dtypes import bit_width
from ..frozen import frozen
from .core_builder import CoreBuilder
from .lane_block import LaneBlock
from .lane_values import LaneValues, ScalarConverter, shuffled
from .lanes import LaneConverter


def convert_transposed(scalar: ScalarConverter, block: LaneBlock, builder: CoreBuilder) -> None:
    """Append all iterations of two vector loops, by blocks whose sides are powers of two."""
    skipped = 0
    for lanes in powers_of_two(block.outer_lanes):
        done, chunk = 0, min(_chunk(source.results[0].type, lanes) for source in block.across)
        for together in pieces(block.inner_lanes, lanes, chunk):
            parts: list[Part] = []
            for rows in together:
                parts.append((done, rows))
                done += rows
            _convert_block(scalar, block, (skipped, lanes), parts, builder)
        skipped += lanes


Part = tuple[int, int]
"""Iterations of a loop: how many are skipped, and how many there are."""


def _convert_block(
    scalar: ScalarConverter,
    block: LaneBlock,
    outer: Part,
    parts: Sequence[Part],
    builder: CoreBuilder,
) -> None:
    """
    Append a block of some lanes of the outer loop, whose rows are in several parts. One column after the other is stored, with all of its
    parts, which are near each other in memory. A part of one row has no vectors: where its elements are only loaded and stored, they are so one by one.
    """
    columns: list[dict[Operation, list[SSAValue]]] = []
    is_loaded = all(isinstance(source, loop.LoadOp) for source in block.across)
    for inner in parts:
        is_turned = inner[1] > 1 or not is_loaded
        found = _rows_of(scalar, block, outer, inner, builder) if is_turned else {}
        columns.append({source: transposed(builder, rows) for source, rows in found.items()})
    for lane in range(outer[1]):
        _set_variable(scalar, block.outer, outer[0] + lane, builder)
        for inner, found in zip(parts, columns, strict=True):
            if not found:
                _set_variable(scalar, block.inner, inner[0], builder)
                for op in block.inner.body.block.ops:
                    scalar.convert_op(op, builder)
                continue
            values = LaneValues(scalar, block.inner, *inner, builder)
            for source, vectors in found.items():
                values.bind(source.results[0], vectors[lane])
            LaneConverter(values, block.done).convert(block.inner.body.block, builder)


def _rows_of(
    scalar: ScalarConverter, block: LaneBlock, outer: Part, inner: Part, builder: CoreBuilder
) -> dict[Operation, list[SSAValue]]:
    """Of each operation that is turned a vector of the outer loop's lanes for each iteration of the inner loop."""
    values = LaneValues(scalar, block.outer, *outer, builder)
    lanes = _Rows(values)
    rows: dict[Operation, list[SSAValue]] = {source: [] for source in block.across}
    for row in range(inner[1]):
        _set_variable(scalar, block.inner, inner[0] + row, builder)
        for op in block.before:
            values.mask = None
            for condition in _conditions_around(op, block.inner):
                lanes.restrict(condition, builder)
            lanes.convert_one(op, builder)
            if op in rows:
                rows[op].append(values.vector(builder, op.results[0]))
    return rows


class _Rows(LaneConverter):
    """The lanes of the outer loop."""

    def convert_one(self, op: Operation, builder: CoreBuilder) -> None:
        """Append what an operation becomes that leads to what is turned; of conditions with loads inside masks, not branches."""
        match op:
            case loop.LoadOp():
                self.accesses.load(op, builder)
            case loop.IfOp():
                self._masked_if(op, list(op.condition_operands), builder)
            case _:
                self._elementwise(op, builder)


def _conditions_around(op: Operation, inside: loop.ForOp) -> list[loop.IfOp]:
    found: list[loop.IfOp] = []
    parent = op.parent_op()
    while parent is not inside:
        assert isinstance(parent, loop.IfOp)
        found.append(parent)
        parent = parent.parent_op()
    return found[::-1]


def _set_variable(
    scalar: ScalarConverter, for_op: loop.ForOp, number: int, builder: CoreBuilder
) -> None:
    """Give the loop's variable its value in one iteration."""
    expander, offset = scalar.expander, number * for_op.step.value.data
    (low,) = for_op.lower_map.data.results
    if isinstance(low, AffineConstantExpr):
        value = expander.constant(low.value + offset)
    else:
        operands = [scalar.values[v] for v in for_op.lower_operands]
        expr = low + offset if offset else low
        value = expander.expand(builder, expr, operands)
        expander.ranges[value] = expander.range_of(expr, operands)
    scalar.values[for_op.induction_variable] = value


# The network.


def transposed(builder: CoreBuilder, rows: Sequence[SSAValue]) -> list[SSAValue]:
    """
    The columns of a matrix whose rows are vectors, as vectors of as many lanes as there are rows.

    Both numbers are powers of two.
    """
    type_ = cast("VectorType[Attribute]", rows[0].type)
    (lanes,) = type_.get_shape()
    network = _network(len(rows), lanes, _chunk(type_.element_type, lanes))
    values = list(rows)
    for a, b, chosen in network.shuffles:
        values.append(shuffled(builder, values[a], values[b], chosen))
    return [values[number] for number in network.columns]


def _chunk(element: Attribute, lanes: int) -> int:
    return chunk_lanes(max(bit_width(element) // 8, 1), lanes)


Lanes = tuple[int, ...]


@frozen
class _Network:
    """Shuffles of two vectors each. Vectors are numbered, the rows first, then what each shuffle makes."""

    shuffles: tuple[tuple[int, int, Lanes], ...]
    columns: tuple[int, ...]


@lru_cache(maxsize=256)
def _network(rows: int, lanes: int, chunk: int) -> _Network:
    """What turns so many rows of so many lanes, whose chunks are shuffled in one instruction: blocks come again and again."""
    making = _NetworkMaking(rows, lanes)
    piece = min(lanes, rows)
    bits, chunk_bits = piece.bit_length() - 1, chunk.bit_length() - 1
    for row_bit in reversed(range(min(chunk_bits, bits))):
        making.stage(row_bit, _interleaved(lanes, chunk))
    for row_bit in range(chunk_bits, bits):
        making.stage(row_bit, _exchanged(lanes, row_bit))
    columns = tuple(making.column(n, piece) for n in range(lanes))
    return _Network(tuple(making.shuffles), columns)


Masks = tuple[Lanes, Lanes]


def _interleaved(lanes: int, chunk: int) -> Masks:
    """In each chunk the lower halves of two vectors, lane by lane in turn, and the upper halves."""
    halves: list[Lanes] = []
    for half in (0, chunk // 2):
        starts = [start + half + n for start in range(0, lanes, chunk) for n in range(chunk // 2)]
        halves.append(tuple(lane for start in starts for lane in (start, lanes + start)))
    return halves[0], halves[1]


def _exchanged(lanes: int, bit: int) -> Masks:
    """The lanes with the bit clear of both vectors, and those with it set, where the bit says which."""
    low = [lane if not lane >> bit & 1 else lanes + lane - (1 << bit) for lane in range(lanes)]
    high = [lane + (1 << bit) if not lane >> bit & 1 else lanes + lane for lane in range(lanes)]
    return tuple(low), tuple(high)


class _NetworkMaking:
    """A network while it is made."""

    def __init__(self, rows: int, lanes: int):
        self.shuffles: list[tuple[int, int, Lanes]] = []
        self._holds = [tuple((row, lane) for lane in range(lanes)) for row in range(rows)]
        """for each vector, which row and column of the matrix each of its lanes has"""
        self._registers = list(range(rows))
        """the vectors that have the matrix now"""

    def stage(self, row_bit: int, masks: Masks) -> None:
        """Shuffle the pairs of registers whose rows differ in one bit of their number."""
        old = list(self._registers)
        for low in range(len(old)):
            high = low | 1 << row_bit
            if low == high:  # the other of a pair
                continue
            for place, mask in zip((low, high), masks, strict=True):
                self._registers[place] = self._shuffled(old[low], old[high], mask)

    def column(self, column: int, piece: int) -> int:
        """One column, put together of the pieces of it, each in a register's neighbouring lanes."""
        parts: list[int] = []
        for start in range(0, len(self._registers), piece):
            parts.append(self._part(tuple((start + row, column) for row in range(piece))))
        while len(parts) > 1:
            twice = tuple(range(2 * len(self._holds[parts[0]])))
            pairs = zip(parts[::2], parts[1::2], strict=True)
            parts = [self._shuffled(a, b, twice) for a, b in pairs]
        return parts[0]

    def _part(self, wanted: tuple[tuple[int, int], ...]) -> int:
        size = len(wanted)
        for register in self._registers:
            holds = self._holds[register]
            for lane in range(0, len(holds), size):
                if holds[lane : lane + size] == wanted:
                    is_whole = size == len(holds)
                    chosen = tuple(range(lane, lane + size))
                    return register if is_whole else self._shuffled(register, register, chosen)
        raise AssertionError("the network has not brought the column together")

    def _shuffled(self, a: int, b: int, chosen: Lanes) -> int:
        both = (*self._holds[a], *self._holds[b])
        self.shuffles.append((a, b, chosen))
        self._holds.append(tuple(both[lane] for lane in chosen))
        return len(self._holds) - 1
