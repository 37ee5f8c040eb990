"""Which indices a tensor of integers holds, where they are affine in its position."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr

from ...dialects import graph
from ...dialects.dtypes import is_bool, is_float, numpy_dtype
from ...dialects.graph.affine_view import reach
from ...dialects.graph.shapes import element_count, is_static
from ...dialects.interfaces import Array
from ...dialects.shaped import tensor_type
from ...frozen import frozen


@frozen
class AffineIndices:
    """The elements of a tensor: `start`, and so much more with each step along an axis."""

    start: int
    strides: tuple[int, ...]
    shape: tuple[int, ...]

    @property
    def reach(self) -> tuple[int, int]:
        """The smallest and the largest of them."""
        return reach(self.start, self.strides, self.shape)

    def expr(self, dims: Sequence[AffineExpr]) -> AffineExpr:
        """Of these dimensions, one for each axis."""
        terms = [dim * stride for dim, stride in zip(dims, self.strides, strict=True) if stride]
        if not terms:
            return AffineExpr.constant(self.start)
        total = terms[0]
        for term in terms[1:]:
            total = total + term
        return total + self.start if self.start else total

    def within(self, extent: int) -> AffineIndices | None:
        """
        As indices of an axis counted from 0, where negative ones count from its end. None where some are out of range,
        or negative beside others that are not.
        """
        low, high = self.reach
        if low >= 0 and high < extent:
            return self
        if -extent <= low and high < 0:
            return AffineIndices(self.start + extent, self.strides, self.shape)
        return None


def affine_indices(value: SSAValue) -> AffineIndices | None:
    """What the integers are, without wrapping; None where they are not known to be affine, or there are none."""
    type_ = tensor_type(value)
    element, shape = type_.get_element_type(), tuple(type_.get_shape())
    if is_float(element) or is_bool(element) or not is_static(shape):
        return None
    if not element_count(shape):
        return None
    found = _of(value, shape)
    if found is None:
        return None
    info = np.iinfo(numpy_dtype(element))
    low, high = found.reach
    return found if info.min <= low and high <= info.max else None


def _of(value: SSAValue, shape: tuple[int, ...]) -> AffineIndices | None:
    match value.owner:
        case graph.ConstantOp() as op:
            return affine_array(op.array())
        case graph.IotaOp() as op:
            along = op.axis.value.data
            return AffineIndices(0, tuple(int(axis == along) for axis in range(len(shape))), shape)
        case graph.CastOp() as op:
            return affine_indices(op.operands[0])
        case graph.NegOp() as op:
            return _scaled(affine_indices(op.operands[0]), -1)
        case graph.AddOp() as op:
            return _sum(affine_indices(op.lhs), affine_indices(op.rhs), shape)
        case graph.SubOp() as op:
            return _sum(affine_indices(op.lhs), _scaled(affine_indices(op.rhs), -1), shape)
        case graph.MulOp() as op:
            return _product(affine_indices(op.lhs), affine_indices(op.rhs), shape)
        case graph.BroadcastToOp() as op:
            return _broadcast(affine_indices(op.operand), shape)
        case graph.TransposeOp() as op:
            return _transposed(affine_indices(op.operand), op.permutation, shape)
        case graph.ExpandDimsOp() | graph.SqueezeOp() | graph.ReshapeOp() as op:
            return _reshaped(affine_indices(op.operand), shape)
        case graph.SliceOp() as op:
            return _sliced(affine_indices(op.operand), op.bounds, shape)
        case _:
            return None


def affine_array(array: Array) -> AffineIndices | None:
    """Found at the corner and checked everywhere, one axis after another: each difference is the first one."""
    corner = (0,) * array.ndim
    start = int(array[corner])
    strides: list[int] = []
    for axis in range(array.ndim):
        if array.shape[axis] == 1:
            strides.append(0)
            continue
        steps = np.diff(array, axis=axis)
        first = steps[corner]
        # Differences may wrap: then the largest index does not fit, and `affine_indices` refuses.
        if not (steps == first).all():
            return None
        strides.append(int(array[(*corner[:axis], 1, *corner[axis + 1 :])]) - start)
    return AffineIndices(start, tuple(strides), tuple(array.shape))


def _scaled(indices: AffineIndices | None, factor: int) -> AffineIndices | None:
    if indices is None:
        return None
    strides = tuple(factor * stride for stride in indices.strides)
    return AffineIndices(factor * indices.start, strides, indices.shape)


def _broadcast(indices: AffineIndices | None, shape: tuple[int, ...]) -> AffineIndices | None:
    if indices is None:
        return None
    strides = [
        stride if extent > 1 else 0
        for stride, extent in zip(indices.strides, indices.shape, strict=True)
    ]
    new_axes = len(shape) - len(strides)
    return AffineIndices(indices.start, (*[0] * new_axes, *strides), shape)


def _sum(
    a: AffineIndices | None, b: AffineIndices | None, shape: tuple[int, ...]
) -> AffineIndices | None:
    a, b = _broadcast(a, shape), _broadcast(b, shape)
    if a is None or b is None:
        return None
    strides = tuple(x + y for x, y in zip(a.strides, b.strides, strict=True))
    return AffineIndices(a.start + b.start, strides, shape)


def _product(
    a: AffineIndices | None, b: AffineIndices | None, shape: tuple[int, ...]
) -> AffineIndices | None:
    """Of indices with a number that all elements of the other tensor are."""
    for one, other in ((a, b), (b, a)):
        if one is not None and other is not None and one.reach == (one.start, one.start):
            return _broadcast(_scaled(other, one.start), shape)
    return None


def _transposed(
    indices: AffineIndices | None, perm: Sequence[int], shape: tuple[int, ...]
) -> AffineIndices | None:
    if indices is None:
        return None
    return AffineIndices(indices.start, tuple(indices.strides[axis] for axis in perm), shape)


def _reshaped(indices: AffineIndices | None, shape: tuple[int, ...]) -> AffineIndices | None:
    """With other axes of extent 1; what joins or splits axes is not affine in general."""
    if indices is None:
        return None
    long = [
        (extent, stride)
        for extent, stride in zip(indices.shape, indices.strides, strict=True)
        if extent > 1
    ]
    if [extent for extent, _ in long] != [extent for extent in shape if extent > 1]:
        return None
    rest = iter(long)
    strides = tuple(next(rest)[1] if extent > 1 else 0 for extent in shape)
    return AffineIndices(indices.start, strides, shape)


def _sliced(
    indices: AffineIndices | None,
    bounds: Sequence[tuple[int, int, int]],
    shape: tuple[int, ...],
) -> AffineIndices | None:
    if indices is None:
        return None
    start = indices.start
    strides: list[int] = []
    for (first, _, step), stride in zip(bounds, indices.strides, strict=True):
        start += first * stride
        strides.append(stride * step)
    return AffineIndices(start, tuple(strides), shape)
