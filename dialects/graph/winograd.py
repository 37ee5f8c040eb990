"""Winograd convolution's two transforms of images: `winograd_input` and `winograd_output`."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from itertools import product as every
from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerAttr, TensorType, f32, f64, i64
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.irdl import operand_def, prop_def, result_def
from xdsl.utils.exceptions import VerifyException

from .. import loop
from ..interfaces import Array, DefinedInTe
from ..minimal_filtering import (
    TILES,
    ArrayArithmetic,
    Matrix,
    MinimalFiltering,
    minimal_filtering,
    on_both_axes,
)
from ..shaped import Tensor, shape_of, tensor_type
from ..te.builder import TeBuilder
from ..te.index_maps import dims
from ..te.loop_builder import LoopBuilder
from .base import GraphOp, Value, graph_op
from .shapes import element_count, shape_text

Sizes = Sequence[int]


class WinogradOp(GraphOp, DefinedInTe, ABC):
    """One of the transforms around the products of a convolution by F(tile, 3) along both axes."""

    ELEMENTS: ClassVar = (f32, f64)

    operand = operand_def()
    tile = prop_def(IntegerAttr.constr(i64))
    result = result_def()

    @property
    def filtering(self) -> MinimalFiltering:
        return minimal_filtering(self.tile.value.data)

    def flops(self) -> int | None:
        """About two additions along each axis for each element of a transformed tile."""
        counts = [element_count(shape_of(value)) or 0 for value in (self.operand, self.result)]
        return 4 * max(counts)


@graph_op
class WinogradInputOp(WinogradOp):
    """
    The tiles of an image (n, h, w, c), transformed: `B^T d B` of the `tile + 2` by `tile + 2` elements that the
    `tile` by `tile` outputs of each see, as (points, tiles, c): tiles by rows, image after image.

        %v = graph.winograd_input %x tile = 4 : tensor<1x58x58x64xf32> -> tensor<36x196x64xf32>
    """

    name = "graph.winograd_input"

    assembly_format = "$operand `tile` `=` $tile attr-dict `:` type($operand) `->` type($result)"

    def __init__(self, operand: Value, tile: int):
        """`tile` is 2 or 4, the outputs of a tile along an axis."""
        super().__init__(
            operands=[operand],
            properties={"tile": IntegerAttr(tile, i64)},
            result_types=[self.infer_type(tensor_type(operand), tile)],
        )

    @classmethod
    def infer_type(cls, operand: Tensor, tile: int) -> Tensor:
        """The result type. Raises VerifyException for what is no tile, and for an image without whole tiles."""
        shape = checked_shape(operand, tile)
        if len(shape) != 4 or any(size < 3 or (size - 2) % tile for size in shape[1:3]):
            raise VerifyException(
                f"found an image of shape {shape_text(shape)}, expected (n, h, w, c) with h and w a multiple of "
                f"{tile}, and 2 more; pad it"
            )
        n, h, w, c = shape
        tiles = n * ((h - 2) // tile) * ((w - 2) // tile)
        return TensorType(operand.get_element_type(), ((tile + 2) ** 2, tiles, c))

    def inferred_types(self) -> Sequence[Tensor]:
        return (self.infer_type(tensor_type(self.operand), self.tile.value.data),)

    def numpy(self, x: Array) -> Array:
        tile, (_, height, width, channels) = self.tile.value.data, x.shape
        places = [
            (slice(a, a + height - 2, tile), slice(b, b + width - 2, tile))
            for a, b in every(range(self.filtering.size), repeat=2)
        ]
        arithmetic = ArrayArithmetic(x.dtype)
        elements = [x[:, rows, columns] for rows, columns in places]
        v = on_both_axes(arithmetic, self.filtering.of_input, elements)
        return np.stack(v).reshape(len(v), -1, channels)

    def define(self, te: TeBuilder) -> SSAValue:
        """All points of a tile at once: they share sums."""
        tile, (images, height, width, channels) = self.tile.value.data, shape_of(self.operand)
        extents = images, (height - 2) // tile, (width - 2) // tile, channels
        n, h, w, c = dims(4)
        square = every(range(self.filtering.size), repeat=2)
        read = [AffineMap(4, 0, (n, h * tile + a, w * tile + b, c)) for a, b in square]
        written = _points(len(read), extents)
        return _tile_by_tile(te, self, extents, self.filtering.of_input, read, written)


@graph_op
class WinogradOutputOp(WinogradOp):
    """
    Images (n, h, w, c) from the products (points, tiles, c) of their transformed tiles: `A^T m A` of each. `rows` by
    `columns` tiles are an image.

        %y = graph.winograd_output %m tile = 4 rows = 14 columns = 14 : tensor<36x196x64xf32> -> tensor<1x56x56x64xf32>
    """

    name = "graph.winograd_output"

    rows = prop_def(IntegerAttr.constr(i64))
    columns = prop_def(IntegerAttr.constr(i64))

    assembly_format = (
        "$operand `tile` `=` $tile `rows` `=` $rows `columns` `=` $columns attr-dict `:` type($operand) `->` "
        "type($result)"
    )

    def __init__(self, operand: Value, tile: int, rows: int, columns: int):
        numbers = {"tile": tile, "rows": rows, "columns": columns}
        super().__init__(
            operands=[operand],
            properties={name: IntegerAttr(number, i64) for name, number in numbers.items()},
            result_types=[self.infer_type(tensor_type(operand), **numbers)],
        )

    @classmethod
    def infer_type(cls, operand: Tensor, tile: int, rows: int, columns: int) -> Tensor:
        """The result type. Raises VerifyException for what is no tile, and for other tiles than of whole images."""
        shape = checked_shape(operand, tile)
        if rows < 1 or columns < 1:
            raise VerifyException(
                f"found images of {rows} by {columns} tiles, expected at least one; give other numbers"
            )
        if len(shape) != 3 or shape[0] != (tile + 2) ** 2 or shape[1] % (rows * columns):
            raise VerifyException(
                f"found products of shape {shape_text(shape)}, expected ({(tile + 2) ** 2}, tiles, c) for images of "
                f"{rows} by {columns} tiles of {tile} by {tile}; mend one of them"
            )
        _, tiles, c = shape
        result = tiles // (rows * columns), rows * tile, columns * tile, c
        return TensorType(operand.get_element_type(), result)

    def inferred_types(self) -> Sequence[Tensor]:
        numbers = (attr.value.data for attr in (self.tile, self.rows, self.columns))
        return (self.infer_type(tensor_type(self.operand), *numbers),)

    def numpy(self, m: Array) -> Array:
        tile, (images, height, width, channels) = self.tile.value.data, shape_of(self.result)
        y = on_both_axes(ArrayArithmetic(m.dtype), self.filtering.of_output, list(m))
        tiles = (tile, tile, images, height // tile, width // tile, channels)
        return np.stack(y).reshape(tiles).transpose(2, 3, 0, 4, 1, 5).reshape(shape_of(self.result))

    def define(self, te: TeBuilder) -> SSAValue:
        """All elements of a tile at once: they share sums."""
        tile, (images, _, _, channels) = self.tile.value.data, shape_of(self.result)
        extents = images, self.rows.value.data, self.columns.value.data, channels
        n, h, w, c = dims(4)
        read = _points(self.filtering.size**2, extents)
        square = every(range(tile), repeat=2)
        written = [AffineMap(4, 0, (n, h * tile + i, w * tile + j, c)) for i, j in square]
        return _tile_by_tile(te, self, extents, self.filtering.of_output, read, written)


def checked_shape(operand: Tensor, tile: int) -> Sizes:
    """The operand's shape. Raises VerifyException where an extent is not known, and for what is no tile."""
    if tile not in TILES:
        raise VerifyException(
            f"found tiles of {tile} outputs, expected {' or '.join(map(str, TILES))}; choose one of them"
        )
    shape = operand.get_shape()
    if DYNAMIC_INDEX in shape:
        raise VerifyException(
            f"found shape {shape_text(shape)}, expected static extents; give them"
        )
    return shape


def _points(count: int, extents: Sizes) -> list[AffineMap]:
    """For each point its element of a tile and channel, by image, row of tiles, column of tiles and channel."""
    _, rows, columns, _ = extents
    n, h, w, c = dims(4)
    tile = (n * rows + h) * columns + w
    return [AffineMap(4, 0, (AffineExpr.constant(point), tile, c)) for point in range(count)]


def _tile_by_tile(
    te: TeBuilder,
    op: WinogradOp,
    extents: Sizes,
    matrix: Matrix,
    read: Sequence[AffineMap],
    written: Sequence[AffineMap],
) -> SSAValue:
    """
    Loops over batch, tiles and channels that read a square of elements each, row by row, and write that of
    `matrix @ square @ matrix^T`.
    """
    result = tensor_type(op.result)

    def body(w: LoopBuilder, sources: Sequence[SSAValue], results: Sequence[SSAValue]) -> None:
        (source,), (target,) = sources, results
        names = ["n", "th", "tw", "c"]
        with w.loops(extents, names, loop.LoopKind.PARALLEL) as at:
            elements = [w.builder.insert(loop.LoadOp(source, map_, at)).result for map_ in read]
            b = w.scalar(result.get_element_type())
            for value, map_ in zip(on_both_axes(b, matrix, elements), written, strict=True):
                w.builder.insert(loop.StoreOp(value, target, map_, at))

    (value,) = te.loops([op.operand], [result], body)
    return value
