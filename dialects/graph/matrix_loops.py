"""Parts of algorithms on matrices, as loops over buffers: rotations, magnitudes, vectors in order; and what vectors' signs are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Operation, SSAValue

from ..interfaces import Array
from ..scalar import ScalarBuilder
from ..shaped import memref_type, shape_of, tensor_type
from ..te.builder import TeBuilder
from ..te.loop_builder import Index, LoopBuilder

OneMatrix: TypeAlias = Callable[
    [LoopBuilder, Sequence[SSAValue], SSAValue, Sequence[SSAValue], int], None
]
"""Writes what is computed of one square matrix: where to write, its place in the batch, operand, results and size."""


Row: TypeAlias = tuple[SSAValue, Sequence[Index]]
"""A buffer, and where in it the row is."""


def matrix_by_matrix(te: TeBuilder, op: Operation, one_matrix: OneMatrix) -> Sequence[SSAValue]:
    """The results of an operation on a batch of square matrices, one after the other."""
    (operand,) = op.operands
    *batch, size, _ = shape_of(operand)

    def body(w: LoopBuilder, sources: Sequence[SSAValue], results: Sequence[SSAValue]) -> None:
        with w.loops(batch) as lane:
            one_matrix(w, lane, sources[0], results, size)

    return te.loops([operand], [tensor_type(one) for one in op.results], body)


def signs_of_columns(vectors: Array) -> Array:
    """
    1 or -1 for each column, of extent 1 in the axis of rows: the sign of its element of the greatest magnitude, which makes
    vectors that are known up to their sign the same for every algorithm.
    """
    if not vectors.size:
        return np.ones_like(vectors[..., :1, :])
    places = np.expand_dims(np.abs(vectors).argmax(-2), -2)
    greatest = np.take_along_axis(vectors, places, -2)
    return np.where(greatest < 0, -1, 1).astype(vectors.dtype)


def real_of(w: LoopBuilder, buffer: SSAValue) -> ScalarBuilder:
    """A builder of computations with the elements of a buffer."""
    return w.scalar(memref_type(buffer).get_element_type())


def signed(real: ScalarBuilder, magnitude: SSAValue, like: SSAValue) -> SSAValue:
    """The magnitude, or its negative beside a negative number."""
    is_negative = real.compare("lt", like, real.constant(0))
    return real.select(is_negative, real.neg(magnitude), magnitude)


def greatest_magnitude(
    w: LoopBuilder, matrix: SSAValue, lane: Sequence[SSAValue], extents: Sequence[int]
) -> SSAValue:
    """The greatest magnitude in a matrix, NaN where there is one; 1 of a matrix of zeros."""
    real = real_of(w, matrix)
    greatest = w.cell(real.type, real.constant(0), "greatest")
    with w.loops(extents, ("row", "column")) as at:
        size = real.abs(w.load(matrix, [*lane, *at]))
        greatest.set(real.maximum(greatest.get(), size))
    is_zero = real.compare("eq", greatest.get(), real.constant(0))
    return real.select(is_zero, real.constant(1), greatest.get())


TOGETHER = 4
"""Rows that are taken from another one at a time: that one is loaded and stored once for as many products."""

LEAST_ROWS = 5 * TOGETHER
"""Of smaller matrices, what loops over short rows cost exceeds what they save: measured, half as long again at 16 rows."""


def subtract_rows(
    w: LoopBuilder,
    row: Row,
    others: Callable[[Index], Row],
    factor: Callable[[Index], SSAValue],
    known: tuple[Index, Index],
    columns: tuple[Index, Index],
) -> None:
    """
    `row[j] -= factor(n) * others(n)[j]` for every column j and each known n, in the order of these; both ranges without
    their ends.
    """
    if memref_type(row[0]).get_shape()[-2] < LEAST_ROWS:
        with w.loop("known", *known) as number:
            _subtract(w, row, [(factor(number), others(number))], columns)
        return
    index = w.index
    first, last = (index.constant(n) if isinstance(n, int) else n for n in known)
    four = index.constant(TOGETHER)
    blocks = index.emit(arith.DivUIOp(index.sub(last, first), four))
    with w.loop("together", 0, blocks) as block:
        start = index.add(first, index.mul(block, four))
        numbers = [start, *(index.add(start, index.constant(n)) for n in range(1, TOGETHER))]
        _subtract(w, row, [(factor(n), others(n)) for n in numbers], columns)
    with w.loop("rest", index.add(first, index.mul(blocks, four)), last) as number:
        _subtract(w, row, [(factor(number), others(number))], columns)


def _subtract(
    w: LoopBuilder,
    row: Row,
    others: Sequence[tuple[SSAValue, Row]],
    columns: tuple[Index, Index],
) -> None:
    real = real_of(w, row[0])
    with w.loop("column", *columns) as column:
        rest = w.load(row[0], [*row[1], column])
        for factor, (buffer, place) in others:
            rest = real.sub(rest, real.mul(factor, w.load(buffer, [*place, column])))
        w.store(rest, row[0], [*row[1], column])


def rotate_rows(
    w: LoopBuilder,
    matrix: SSAValue,
    rows: tuple[Index, Index],
    cosine: SSAValue,
    sine: SSAValue,
) -> None:
    """Rows x and y of a matrix become `c x - s y` and `s x + c y`."""
    real = real_of(w, matrix)
    with w.loop("along", 0, memref_type(matrix).get_shape()[-1]) as at:
        x, y = (w.load(matrix, [row, at]) for row in rows)
        first = real.sub(real.mul(cosine, x), real.mul(sine, y))
        second = real.add(real.mul(sine, x), real.mul(cosine, y))
        w.store(first, matrix, [rows[0], at])
        w.store(second, matrix, [rows[1], at])


def sort_rows(
    w: LoopBuilder, keys: SSAValue, matrices: Sequence[SSAValue], *, descending: bool = False
) -> None:
    """The keys in order by exchanges, each of the rows of the matrices with its key."""
    real, index = real_of(w, keys), w.index
    (count,) = memref_type(keys).get_shape()
    with w.loop("place", 0, count) as place:
        best = w.cell(real.type, w.load(keys, [place]), "best")
        chosen = w.cell(IndexType(), place, "chosen")
        with w.loop("later", index.add(place, index.constant(1)), count) as later:
            key = w.load(keys, [later])
            is_before = real.compare("gt" if descending else "lt", key, best.get())
            best.set(real.select(is_before, key, best.get()))
            chosen.set(index.select(is_before, later, chosen.get()))
        row = chosen.get()
        with w.when("moves", index.compare("ne", row, place)):
            exchange(w, keys, [place], [row])
            for matrix in matrices:
                with w.loop("along", 0, memref_type(matrix).get_shape()[-1]) as at:
                    exchange(w, matrix, [place, at], [row, at])


def exchange(
    w: LoopBuilder, buffer: SSAValue, one: Sequence[SSAValue], other: Sequence[SSAValue]
) -> None:
    """Two elements in each other's place."""
    first, second = w.load(buffer, one), w.load(buffer, other)
    w.store(first, buffer, other)
    w.store(second, buffer, one)


def sign_of_greatest(w: LoopBuilder, matrix: SSAValue, row: Index) -> SSAValue:
    """-1 where the first of the elements of greatest magnitude of a row is negative, else 1."""
    real = real_of(w, matrix)
    greatest = w.cell(real.type, real.constant(0), "greatest")
    sign = w.cell(real.type, real.constant(1), "sign")
    with w.loop("along", 0, memref_type(matrix).get_shape()[-1]) as at:
        element = w.load(matrix, [row, at])
        is_greater = real.compare("gt", real.abs(element), greatest.get())
        greatest.set(real.select(is_greater, real.abs(element), greatest.get()))
        sign.set(real.select(is_greater, signed(real, real.constant(1), element), sign.get()))
    return sign.get()
