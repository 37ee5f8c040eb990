"""Elements of a tensor at indices that are affine in the position: affine_view."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import AffineMapAttr, TensorType
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
    AffineMap,
)
from xdsl.irdl import prop_def
from xdsl.utils.exceptions import VerifyException

from ..interfaces import Array
from ..shaped import Tensor, shape_of, tensor_type
from .base import Value, graph_op
from .movement import MovementOp
from .shapes import Shape, element_count, is_static, shape_text


@graph_op
class AffineViewOp(MovementOp):
    """
    At each position the element of the operand whose indices are affine in it (`numpy.lib.stride_tricks.as_strided`):
    frames that overlap, diagonals, and whatever else arrays of indices say that go up by steps.

        %r = graph.affine_view %x map = affine_map<(d0, d1) -> (d0 * 2 + d1)> : tensor<9xf32> -> tensor<4x3xf32>
    """

    name = "graph.affine_view"

    map = prop_def(AffineMapAttr)
    assembly_format = "$operand `map` `=` $map attr-dict `:` type($operand) `->` type($result)"

    def __init__(self, operand: Value, map_: AffineMap, shape: Sequence[int]):
        """`map_` gives the index on each axis of the operand for a position in a result of this shape."""
        element = tensor_type(operand).get_element_type()
        super().__init__(
            operands=[operand],
            properties={"map": AffineMapAttr(map_)},
            result_types=[TensorType(element, shape)],
        )

    def inferred_types(self) -> Sequence[Tensor]:
        shape, result, map_ = shape_of(self.operand), shape_of(self.result), self.map.data
        if not is_static(shape) or not is_static(result):
            raise VerifyException(
                f"found a view of {shape_text(shape)} as {shape_text(result)}, expected static extents; give them"
            )
        if (map_.num_dims, map_.num_symbols, len(map_.results)) != (len(result), 0, len(shape)):
            raise VerifyException(
                f"found map {map_} for a view of rank {len(result)} of a tensor of rank {len(shape)}, expected a "
                "dimension for each axis of the result and an index for each of the operand; write these"
            )
        for axis, (extent, expr) in enumerate(zip(shape, map_.results, strict=True)):
            self._verify_index(axis, extent, expr, tuple(result))
        element = tensor_type(self.operand).get_element_type()
        return (TensorType(element, result),)

    def _verify_index(self, axis: int, extent: int, expr: AffineExpr, shape: Shape) -> None:
        if not _is_linear(expr):
            raise VerifyException(
                f"found index {expr}, expected a sum of dimensions times numbers; write such a sum"
            )
        if element_count(shape) == 0:
            return
        low, high = reach(*strided(expr, len(shape)), shape)
        if low < 0 or high >= extent:
            raise VerifyException(
                f"found indices from {low} to {high} for axis {axis} of extent {extent}, expected ones inside; "
                "make the result smaller"
            )

    def numpy(self, x: Array) -> Array:
        shape = shape_of(self.result)
        if 0 in shape:
            return np.empty(shape, x.dtype)
        positions = np.indices(shape, sparse=True)
        index: list[Array] = []
        for expr in self.map.data.results:
            start, strides = strided(expr, len(shape))
            terms = [stride * along for stride, along in zip(strides, positions, strict=True)]
            index.append(np.asarray(sum(terms, np.int64(start))))
        return np.broadcast_to(x[tuple(index)], shape)

    def source_indices(self, indices: Sequence[AffineExpr]) -> Sequence[AffineExpr]:
        return [expr.replace_dims_and_symbols(indices, []) for expr in self.map.data.results]


def _is_linear(expr: AffineExpr) -> bool:
    match expr:
        case AffineBinaryOpExpr(kind=AffineBinaryOpKind.Add, lhs=lhs, rhs=rhs):
            return _is_linear(lhs) and _is_linear(rhs)
        case AffineBinaryOpExpr(kind=AffineBinaryOpKind.Mul, lhs=lhs, rhs=rhs):
            numbers = sum(isinstance(part, AffineConstantExpr) for part in (lhs, rhs))
            return numbers > 0 and _is_linear(lhs) and _is_linear(rhs)
        case _:
            return isinstance(expr, AffineDimExpr | AffineConstantExpr)


def strided(expr: AffineExpr, rank: int) -> tuple[int, tuple[int, ...]]:
    """The value of a linear expression at the origin, and how far each of so many dimensions moves it."""
    origin = [0] * rank
    start = expr.eval(origin, [])
    steps = (
        expr.eval([*origin[:axis], 1, *origin[axis + 1 :]], []) - start for axis in range(rank)
    )
    return start, tuple(steps)


def reach(start: int, strides: Sequence[int], shape: Sequence[int]) -> tuple[int, int]:
    """The smallest and the largest of the indices; of no positions, the start."""
    spans = [stride * max(extent - 1, 0) for stride, extent in zip(strides, shape, strict=True)]
    return start + sum(min(span, 0) for span in spans), start + sum(max(span, 0) for span in spans)
