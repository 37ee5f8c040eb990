"""
Two nested vector loops that copy along one and the other: a transposition in registers.

The outer loop's lanes load, a vector for each iteration of the inner one; a network of shuffles turns the
matrix in the registers; the inner loop's lanes do the rest of the body and store. The network is the
perfect shuffle of Stone, "Parallel Processing with the Perfect Shuffle", IEEE Trans. Computers C-20(2),
1971: each stage moves one bit of the row's number into the lane's.
"""

from __future__ import annotations

from collections.abc import Sequence
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


@frozen
class _Register:
    """A vector, and which row and column of the matrix each of its lanes has."""

    value: SSAValue
    holds: tuple[tuple[int, int], ...]


def transposed(builder: CoreBuilder, rows: Sequence[SSAValue]) -> list[SSAValue]:
    """
    The columns of a matrix whose rows are vectors, as vectors of as many lanes as there are rows.

    Both numbers are powers of two.
    """
    type_ = cast("VectorType[Attribute]", rows[0].type)
    lanes = _size(rows[0])
    registers = [
        _Register(value, tuple((row, lane) for lane in range(lanes)))
        for row, value in enumerate(rows)
    ]
    chunk = _chunk(type_.element_type, lanes)
    piece = min(lanes, len(rows))
    bits, chunk_bits = piece.bit_length() - 1, chunk.bit_length() - 1
    for row_bit in reversed(range(min(chunk_bits, bits))):
        registers = _stage(builder, registers, row_bit, _interleaved(lanes, chunk))
    for row_bit in range(chunk_bits, bits):
        registers = _stage(builder, registers, row_bit, _exchanged(lanes, row_bit))
    return [_column(builder, registers, n, piece) for n in range(lanes)]


def _chunk(element: Attribute, lanes: int) -> int:
    return chunk_lanes(max(bit_width(element) // 8, 1), lanes)


Masks = tuple[list[int], list[int]]


def _interleaved(lanes: int, chunk: int) -> Masks:
    """In each chunk the lower halves of two vectors, lane by lane in turn, and the upper halves."""
    halves: list[list[int]] = []
    for half in (0, chunk // 2):
        starts = [start + half + n for start in range(0, lanes, chunk) for n in range(chunk // 2)]
        halves.append([lane for start in starts for lane in (start, lanes + start)])
    return halves[0], halves[1]


def _exchanged(lanes: int, bit: int) -> Masks:
    """The lanes with the bit clear of both vectors, and those with it set, where the bit says which."""
    low = [lane if not lane >> bit & 1 else lanes + lane - (1 << bit) for lane in range(lanes)]
    high = [lane + (1 << bit) if not lane >> bit & 1 else lanes + lane for lane in range(lanes)]
    return low, high


def _stage(
    builder: CoreBuilder, registers: Sequence[_Register], row_bit: int, masks: Masks
) -> list[_Register]:
    """Shuffle the pairs of registers whose rows differ in one bit of their number."""
    new = list(registers)
    for low in range(len(registers)):
        high = low | 1 << row_bit
        if low == high:  # the other of a pair
            continue
        a, b = registers[low], registers[high]
        for place, mask in zip((low, high), masks, strict=True):
            both = (*a.holds, *b.holds)
            value = shuffled(builder, a.value, b.value, mask)
            new[place] = _Register(value, tuple(both[lane] for lane in mask))
    return new


def _column(
    builder: CoreBuilder, registers: Sequence[_Register], column: int, piece: int
) -> SSAValue:
    """One column, put together of the pieces of it, each in a register's neighbouring lanes."""
    parts: list[SSAValue] = []
    for start in range(0, len(registers), piece):
        wanted = tuple((row, column) for row in range(start, start + piece))
        value, lane = _found(registers, wanted)
        parts.append(_part(builder, value, lane, piece))
    while len(parts) > 1:
        twice = range(2 * _size(parts[0]))
        pairs = zip(parts[::2], parts[1::2], strict=True)
        parts = [shuffled(builder, a, b, twice) for a, b in pairs]
    return parts[0]


def _found(
    registers: Sequence[_Register], wanted: tuple[tuple[int, int], ...]
) -> tuple[SSAValue, int]:
    for register in registers:
        for lane in range(0, len(register.holds), len(wanted)):
            if register.holds[lane : lane + len(wanted)] == wanted:
                return register.value, lane
    raise AssertionError("the network has not brought the column together")


def _part(builder: CoreBuilder, value: SSAValue, lane: int, size: int) -> SSAValue:
    if size == _size(value):
        return value
    return shuffled(builder, value, value, range(lane, lane + size))


def _size(value: SSAValue) -> int:
    return cast("VectorType[Attribute]", value.type).get_shape()[0]
