"""Gathers whose indices are affine in their position, which are slices or views: nothing has to be computed or loaded for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from ...dialects.graph import (
    AffineViewOp,
    ConcatOp,
    ConstantOp,
    GatherNdOp,
    GatherOp,
    ReshapeOp,
    SliceOp,
)
from ...dialects.graph.gather import nearest_in_range
from ...dialects.graph.shapes import is_static
from ...dialects.interfaces import Array
from ...dialects.shaped import shape_of, tensor_type
from ..remarks import remark
from .affine_indices import AffineIndices, affine_array, affine_indices
from .worklist import Pattern


class GatherOfAffine(Pattern):
    """gather(x, [1, 3, 5]) → slice(x); gather(x, [[0, 1, 2], [2, 3, 4]]) → affine_view(x)"""

    ROOTS: ClassVar = (GatherOp,)

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: GatherOp, rewriter: PatternRewriter) -> None:
        shape, axis = shape_of(op.operand), op.axis.value.data
        indices = _known(op.indices, shape[axis]) if is_static(shape) else None
        if indices is None:
            return
        slices = [slice(None)] * len(shape)
        if (part := _as_slice(indices)) is not None:
            slices[axis] = part
            remark(op, "rewrote gather(x, [first, first + step, ...]) → slice(x)")
            _replace(op, [SliceOp(op.operand, slices)], rewriter)
            return
        rank, count = len(shape), len(indices.shape)
        dims = [AffineExpr.dimension(number) for number in range(rank - 1 + count)]
        index = indices.expr(dims[axis : axis + count])
        map_ = AffineMap(len(dims), 0, (*dims[:axis], index, *dims[axis + count :]))
        remark(op, f"rewrote gather(x, indices) → affine_view(x), as an index is {index}")
        _replace(op, [AffineViewOp(op.operand, map_, shape_of(op.result))], rewriter)


class GatherNdOfAffine(Pattern):
    """gather_nd(x, tuples) → affine_view(x), where each index of the tuples is affine in their position"""

    ROOTS: ClassVar = (GatherNdOp,)

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: GatherNdOp, rewriter: PatternRewriter) -> None:
        shape = shape_of(op.operand)
        if op.batch_dims.value.data or not is_static(shape):
            return
        parts = _parts(op.indices)
        if parts is None:
            return
        found = [part and part.within(extent) for part, extent in zip(parts, shape, strict=False)]
        outer = tensor_type(op.indices).get_num_dims() - 1
        rank = outer + len(shape) - len(parts)
        dims = [AffineExpr.dimension(number) for number in range(rank)]
        exprs = [part.expr(dims[:outer]) for part in found if part is not None]
        if len(exprs) < len(found):
            return
        remark(
            op,
            f"rewrote gather_nd(x, tuples) → affine_view(x), as they are {', '.join(map(str, exprs))}",
        )
        map_ = AffineMap(rank, 0, (*exprs, *dims[outer:]))
        _replace(op, [AffineViewOp(op.operand, map_, shape_of(op.result))], rewriter)


def _known(value: SSAValue, extent: int) -> AffineIndices | None:
    """The indices of an axis, counted from 0 and in range; of a constant, after those that are not were moved there."""
    found = affine_indices(value)
    inside = found and found.within(extent)
    if inside is None and isinstance(value.owner, ConstantOp) and 0 not in shape_of(value):
        return affine_array(nearest_in_range(value.owner.array(), extent))
    return inside


def _as_slice(indices: AffineIndices) -> slice | None:
    """Where all indices are different and in a row-major progression."""
    step, count = 0, 1
    for extent, stride in reversed(list(zip(indices.shape, indices.strides, strict=True))):
        if extent == 1:
            continue
        step = step or stride
        if stride == 0 or stride != step * count:
            return None
        count *= extent
    step = step or 1
    end = indices.start + step * count
    return slice(indices.start, end if end >= 0 else None, step)


def _parts(tuples: SSAValue) -> list[AffineIndices | None] | None:
    """Each index of the tuples, which lie along the last axis, without this axis."""
    shape, owner = shape_of(tuples), tuples.owner
    if isinstance(owner, ConstantOp):
        if 0 in shape:
            return None
        array = owner.array()
        return [affine_array(_column(array, number)) for number in range(shape[-1])]
    if not isinstance(owner, ConcatOp) or owner.axis.value.data != len(shape) - 1:
        return None
    if any(shape_of(each)[-1] != 1 for each in owner.inputs):
        return None
    parts = [affine_indices(each) for each in owner.inputs]
    return [
        part and AffineIndices(part.start, part.strides[:-1], part.shape[:-1]) for part in parts
    ]


def _column(array: Array, number: int) -> Array:
    return array[..., number]


def _replace(
    op: GatherOp | GatherNdOp, made: Sequence[Operation], rewriter: PatternRewriter
) -> None:
    ops = list(made)
    if ops[-1].results[0].type != op.result.type:
        ops.append(ReshapeOp(ops[-1].results[0], shape_of(op.result)))
    for new in ops:
        new.location = op.location
    ops[-1].results[0].name_hint = op.result.name_hint
    rewriter.replace(op, ops)
