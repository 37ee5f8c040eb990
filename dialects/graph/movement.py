"""Operations that only rename indices: reshape, transpose, expand_dims, squeeze, broadcast_to."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseArrayBase, i64
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr
from xdsl.irdl import operand_def, prop_def, result_def
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern
from xdsl.utils.exceptions import VerifyException

from ..interfaces import Array, DefinedInTe
from ..shaped import Tensor, dense_tensor, shape_of, tensor_type
from ..te.builder import Access, TeBuilder
from ..te.index_maps import broadcast_indices, dims, reshape_indices
from .base import GraphOp, Value, graph_op
from .shapes import (
    broadcasts_to,
    is_static,
    normalized_axes,
    normalized_axis,
    require_canonical_axes,
    reshaped,
    shape_text,
)


class MovementOp(GraphOp, DefinedInTe, ABC):
    """One operand, the same elements at other indices. A subclass gives `numpy` and `source_indices`."""

    COMPUTES: ClassVar = False

    operand = operand_def()
    result = result_def()

    assembly_format = "$operand attr-dict `:` type($operand) `->` type($result)"

    @abstractmethod
    def source_indices(self, indices: Sequence[AffineExpr]) -> Sequence[AffineExpr]:
        """Which element of the operand the element of the result at `indices` is."""

    def define(self, te: TeBuilder) -> SSAValue:
        result = tensor_type(self.result)
        indices = self.source_indices(dims(result.get_num_dims()))
        return te.compute(result, [Access(self.operand, indices)])

    def flops(self) -> int:
        return 0


class _ReshapingOp(MovementOp, ABC):
    """The elements in the same order under a shape that has as many."""

    def source_indices(self, indices: Sequence[AffineExpr]) -> Sequence[AffineExpr]:
        return reshape_indices(shape_of(self.operand), shape_of(self.result), indices)


@graph_op
class ReshapeOp(_ReshapingOp):
    """
    The elements in row-major order under another shape.

        %r = graph.reshape %x : tensor<2x3xf32> -> tensor<6xf32>
    """

    name = "graph.reshape"

    def __init__(self, operand: Value, shape: Sequence[int]):
        """One extent of `shape` may be -1: what keeps the number of elements."""
        super().__init__(
            operands=[operand], result_types=[self.infer_type(tensor_type(operand), shape)]
        )

    @classmethod
    def infer_type(cls, operand: Tensor, shape: Sequence[int]) -> Tensor:
        """The result type. Raises VerifyException when the numbers of elements differ."""
        return dense_tensor(operand.get_element_type(), reshaped(operand.get_shape(), shape))

    def inferred_types(self) -> Sequence[Tensor]:
        target = shape_of(self.result)
        if target.count(DYNAMIC_INDEX) > 1:
            raise VerifyException(
                f"found target shape {shape_text(target)}, expected at most one '?' in it; give "
                "the other extents"
            )
        return (self.infer_type(tensor_type(self.operand), target),)

    def numpy(self, x: Array) -> Array:
        target = shape_of(self.result)
        return x.reshape([-1 if extent == DYNAMIC_INDEX else extent for extent in target])

    def simplified(self) -> SSAValue | None:
        """A reshape to the operand's shape → the operand"""
        return self.operand if self.operand.type == self.result.type else None

    @classmethod
    def get_canonicalization_patterns(cls) -> tuple[RewritePattern, ...]:
        return (ReshapeOfReshape(),)


class ReshapeOfReshape(RewritePattern):
    """
    reshape(reshape(x)) → reshape(x); expand_dims and squeeze between them count as reshapes.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ReshapeOp, rewriter: PatternRewriter) -> None:
        source = op.operand.owner
        if isinstance(source, ReshapeOp | ExpandDimsOp | SqueezeOp) and is_static(
            shape_of(op.result)
        ):
            rewriter.replace(op, ReshapeOp(source.operand, shape_of(op.result)))


@graph_op
class TransposeOp(MovementOp):
    """
    The axes in another order: axis i of the result is axis perm[i] of the operand (`numpy.transpose`).

        %r = graph.transpose %x perm = [1, 0] : tensor<2x3xf32> -> tensor<3x2xf32>
    """

    name = "graph.transpose"

    perm = prop_def(DenseArrayBase.constr(i64))
    assembly_format = "$operand `perm` `=` $perm attr-dict `:` type($operand) `->` type($result)"

    def __init__(self, operand: Value, perm: Sequence[int] | None = None):
        """`perm` may have negative axes; None reverses them all."""
        type_ = tensor_type(operand)
        rank = type_.get_num_dims()
        perm = range(rank)[::-1] if perm is None else [normalized_axis(axis, rank) for axis in perm]
        super().__init__(
            operands=[operand],
            properties={"perm": DenseArrayBase.from_list(i64, perm)},
            result_types=[self.infer_type(type_, perm)],
        )

    @classmethod
    def infer_type(cls, operand: Tensor, perm: Sequence[int]) -> Tensor:
        """The result type; `perm` counted from 0. Raises VerifyException unless it is a permutation."""
        if sorted(perm) != list(range(operand.get_num_dims())):
            raise VerifyException(
                f"found perm {list(perm)} for a tensor of rank {operand.get_num_dims()}, expected each axis "
                "once; write a permutation"
            )
        shape = operand.get_shape()
        return dense_tensor(operand.get_element_type(), [shape[axis] for axis in perm])

    def inferred_types(self) -> Sequence[Tensor]:
        return (self.infer_type(tensor_type(self.operand), self.permutation),)

    @property
    def permutation(self) -> tuple[int, ...]:
        return tuple(self.perm.get_values())

    def numpy(self, x: Array) -> Array:
        return np.transpose(x, self.permutation)

    def source_indices(self, indices: Sequence[AffineExpr]) -> Sequence[AffineExpr]:
        perm = self.permutation
        return [indices[perm.index(axis)] for axis in range(len(perm))]

    def simplified(self) -> SSAValue | None:
        """A transpose that moves no axis → the operand"""
        perm = self.permutation
        return self.operand if perm == tuple(range(len(perm))) else None

    @classmethod
    def get_canonicalization_patterns(cls) -> tuple[RewritePattern, ...]:
        return (TransposeOfTranspose(),)


class TransposeOfTranspose(RewritePattern):
    """transpose(transpose(x, p), q) → transpose(x, p[q])"""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: TransposeOp, rewriter: PatternRewriter) -> None:
        source = op.operand.owner
        if isinstance(source, TransposeOp):
            inner = source.permutation
            joined = TransposeOp(source.operand, [inner[axis] for axis in op.permutation])
            if joined.result.type == op.result.type:
                rewriter.replace(op, joined)


@graph_op
class ExpandDimsOp(_ReshapingOp):
    """
    New axes of extent 1, at these positions of the result (`numpy.expand_dims`).

        %r = graph.expand_dims %x axes = [0] : tensor<3xf32> -> tensor<1x3xf32>
    """

    name = "graph.expand_dims"

    axes = prop_def(DenseArrayBase.constr(i64))
    assembly_format = "$operand `axes` `=` $axes attr-dict `:` type($operand) `->` type($result)"

    def __init__(self, operand: Value, axes: int | Sequence[int]):
        type_ = tensor_type(operand)
        count = 1 if isinstance(axes, int) else len(axes)
        axes = normalized_axes(axes, type_.get_num_dims() + count)
        super().__init__(
            operands=[operand],
            properties={"axes": DenseArrayBase.from_list(i64, axes)},
            result_types=[self.infer_type(type_, axes)],
        )

    @classmethod
    def infer_type(cls, operand: Tensor, axes: Sequence[int]) -> Tensor:
        """The result type; `axes` counted from 0 in the result and in order."""
        shape = list(operand.get_shape())
        for axis in axes:
            shape.insert(axis, 1)
        return dense_tensor(operand.get_element_type(), shape)

    def inferred_types(self) -> Sequence[Tensor]:
        type_ = tensor_type(self.operand)
        require_canonical_axes(self.axes.get_values(), type_.get_num_dims() + len(self.axes))
        return (self.infer_type(type_, self.axes.get_values()),)

    def numpy(self, x: Array) -> Array:
        return np.expand_dims(x, tuple(self.axes.get_values()))

    def simplified(self) -> SSAValue | None:
        """No new axes → the operand"""
        return self.operand if not self.axes.get_values() else None


@graph_op
class SqueezeOp(_ReshapingOp):
    """
    Without these axes, whose extent is 1 (`numpy.squeeze`).

        %r = graph.squeeze %x axes = [0] : tensor<1x3xf32> -> tensor<3xf32>
    """

    name = "graph.squeeze"

    axes = prop_def(DenseArrayBase.constr(i64))
    assembly_format = "$operand `axes` `=` $axes attr-dict `:` type($operand) `->` type($result)"

    def __init__(self, operand: Value, axes: int | Sequence[int] | None = None):
        """`axes` of None means every axis of extent 1."""
        type_ = tensor_type(operand)
        if axes is None:
            axes = [axis for axis, extent in enumerate(type_.get_shape()) if extent == 1]
        axes = normalized_axes(axes, type_.get_num_dims())
        super().__init__(
            operands=[operand],
            properties={"axes": DenseArrayBase.from_list(i64, axes)},
            result_types=[self.infer_type(type_, axes)],
        )

    @classmethod
    def infer_type(cls, operand: Tensor, axes: Sequence[int]) -> Tensor:
        """The result type; `axes` counted from 0. Raises VerifyException for an axis not of extent 1."""
        shape = operand.get_shape()
        for axis in axes:
            if shape[axis] not in (1, DYNAMIC_INDEX):
                raise VerifyException(
                    f"found extent {shape[axis]} on axis {axis} of shape {shape_text(shape)}, expected 1: "
                    "only such an axis can be squeezed; reshape to drop others"
                )
        kept = [extent for axis, extent in enumerate(shape) if axis not in axes]
        return dense_tensor(operand.get_element_type(), kept)

    def inferred_types(self) -> Sequence[Tensor]:
        type_ = tensor_type(self.operand)
        require_canonical_axes(self.axes.get_values(), type_.get_num_dims())
        return (self.infer_type(type_, self.axes.get_values()),)

    def numpy(self, x: Array) -> Array:
        return np.squeeze(x, tuple(self.axes.get_values()))

    def simplified(self) -> SSAValue | None:
        """No axes → the operand; squeeze(expand_dims(x)) of the same axes → x"""
        source = self.operand.owner
        if isinstance(source, ExpandDimsOp) and source.axes == self.axes:
            return source.operand
        return self.operand if not self.axes.get_values() else None


@graph_op
class BroadcastToOp(MovementOp):
    """
    The elements repeated along new axes and along axes of extent 1 (`numpy.broadcast_to`).

        %r = graph.broadcast_to %x : tensor<3xf32> -> tensor<2x3xf32>
    """

    name = "graph.broadcast_to"

    def __init__(self, operand: Value, shape: Sequence[int]):
        super().__init__(
            operands=[operand], result_types=[self.infer_type(tensor_type(operand), shape)]
        )

    @classmethod
    def infer_type(cls, operand: Tensor, shape: Sequence[int]) -> Tensor:
        """The result type. Raises VerifyException when the operand's shape does not broadcast to it."""
        found = operand.get_shape()
        if not broadcasts_to(found, shape):
            raise VerifyException(
                f"found shape {shape_text(found)} to broadcast to {shape_text(shape)}, expected extents that "
                "are 1 or equal to the target's, counted from the last axis; reshape the operand"
            )
        for axis in range(-len(shape), 0):
            source = found[axis] if len(found) + axis >= 0 else 1
            if shape[axis] == DYNAMIC_INDEX and source != DYNAMIC_INDEX:
                raise VerifyException(
                    f"found target shape {shape_text(shape)}, expected '?' only where the operand's shape "
                    f"{shape_text(found)} has it; give the extent"
                )
        return dense_tensor(operand.get_element_type(), shape)

    def inferred_types(self) -> Sequence[Tensor]:
        return (self.infer_type(tensor_type(self.operand), shape_of(self.result)),)

    def numpy(self, x: Array) -> Array:
        target = list(shape_of(self.result))
        for axis in range(-x.ndim, 0):
            if target[axis] == DYNAMIC_INDEX:
                target[axis] = x.shape[axis]
        return np.broadcast_to(x, target)

    def source_indices(self, indices: Sequence[AffineExpr]) -> Sequence[AffineExpr]:
        return broadcast_indices(shape_of(self.operand), shape_of(self.result), indices)

    def simplified(self) -> SSAValue | None:
        """A broadcast to the operand's shape → the operand"""
        return self.operand if self.operand.type == self.result.type else None
