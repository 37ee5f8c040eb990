"""Normalisations of batches of images, lines or volumes, with numbers for each channel."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, FloatAttr, IntegerAttr, f64, i64
from xdsl.ir import SSAValue
from xdsl.irdl import (
    AnyAttr,
    VarConstraint,
    operand_def,
    prop_def,
    result_def,
    var_operand_def,
)
from xdsl.utils.exceptions import VerifyException

from ...errors import StepwellError
from ..interfaces import Array
from ..shaped import Tensor, shape_of, tensor_type
from .base import FLOATS, GraphOp, Value, graph_op
from .expressions import Decomposable, Expr, rsqrt
from .means import MeanOp
from .shapes import (
    element_count,
    is_compatible,
    is_static,
    normalized_axis,
    require_canonical_axis,
    shape_text,
)


def _along(array: Array, axis: int, rank: int) -> Array:
    """One number for each channel, as it broadcasts to a tensor of this rank with the channels on `axis`."""
    return array.reshape([-1 if i == axis else 1 for i in range(rank)])


def _require_channels(parameters: Sequence[SSAValue], names: Sequence[str], extent: int) -> None:
    """Raise VerifyException unless there are these parameters, with one number for each channel."""
    if len(parameters) != len(names):
        raise VerifyException(
            f"found {len(parameters)} parameters, expected {', '.join(names)}; give each"
        )
    for value in parameters:
        if not is_compatible(shape_of(value), (extent,)):
            raise VerifyException(
                f"found a parameter of shape {shape_text(shape_of(value))}, expected one number for each of the "
                f"{extent} channels; reshape it"
            )


@graph_op
class BatchNormOp(GraphOp, Decomposable):
    """
    (x - mean) / sqrt(variance + epsilon) · scale + bias, with numbers for each channel that are known before (ONNX
    BatchNormalization of a trained model). The channels are on `axis`.

        %r = graph.batch_norm %x, %scale, %bias, %mean, %variance axis = 1 epsilon = 1.000000e-05
            : tensor<2x8x5xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
    """

    name = "graph.batch_norm"
    ELEMENTS: ClassVar = FLOATS
    T: ClassVar = VarConstraint("T", AnyAttr())

    operand = operand_def(T)
    parameters = var_operand_def()
    axis = prop_def(IntegerAttr.constr(i64))
    epsilon = prop_def(FloatAttr.constr(f64))
    result = result_def(T)

    assembly_format = (
        "$operand `,` $parameters `axis` `=` $axis `epsilon` `=` $epsilon attr-dict "
        "`:` type($operand) `,` type($parameters)"
    )

    def __init__(
        self,
        operand: Value,
        scale: Value,
        bias: Value,
        mean: Value,
        variance: Value,
        *,
        axis: int = 1,
        epsilon: float = 1e-5,
    ):
        type_ = tensor_type(operand)
        axis = normalized_axis(axis, type_.get_num_dims())
        super().__init__(
            operands=[operand, [scale, bias, mean, variance]],
            properties={"axis": IntegerAttr(axis, i64), "epsilon": FloatAttr(float(epsilon), f64)},
            result_types=[type_],
        )

    def inferred_types(self) -> Sequence[Tensor]:
        type_ = tensor_type(self.operand)
        axis = self.axis.value.data
        require_canonical_axis(axis, type_.get_num_dims())
        names = ("scale", "bias", "mean", "variance")
        _require_channels(self.parameters, names, type_.get_shape()[axis])
        return (type_,)

    def numpy(self, x: Array, scale: Array, bias: Array, mean: Array, variance: Array) -> Array:
        axis = self.axis.value.data
        inverse = 1 / np.sqrt(variance + x.dtype.type(self.epsilon.value.data)) * scale
        centered = x - _along(mean, axis, x.ndim)
        return centered * _along(inverse, axis, x.ndim) + _along(bias, axis, x.ndim)

    def decompose(self, x: Expr, scale: Expr, bias: Expr, mean: Expr, variance: Expr) -> Expr:
        """batch_norm(x) → (x - mean) · (rsqrt(variance + epsilon) · scale) + bias"""
        behind = range(1, x.rank - self.axis.value.data)

        def along(channels: Expr) -> Expr:
            return channels.expand_dims(behind) if behind else channels

        epsilon = x.constant(self.epsilon.value.data, "epsilon")
        inverse = (rsqrt(variance + epsilon) * scale).named("inverse")
        return ((x - along(mean)) * along(inverse) + along(bias)).named("normalized")

    def flops(self) -> int | None:
        count = element_count(shape_of(self.operand))
        return None if count is None else 3 * count


@graph_op
class GroupNormOp(GraphOp, Decomposable):
    """
    (x - mean) / sqrt(variance + epsilon) over each group of channels of each element of the batch, times scale, plus
    bias, which are given for each channel (ONNX GroupNormalization; with as many groups as channels,
    InstanceNormalization). The channels are on axis 1.

        %r = graph.group_norm %x, %scale, %bias groups = 2 epsilon = 1.000000e-05
            : tensor<2x8x5xf32>, tensor<8xf32>, tensor<8xf32>
    """

    name = "graph.group_norm"
    ELEMENTS: ClassVar = FLOATS
    T: ClassVar = VarConstraint("T", AnyAttr())

    operand = operand_def(T)
    parameters = var_operand_def()
    groups = prop_def(IntegerAttr.constr(i64))
    epsilon = prop_def(FloatAttr.constr(f64))
    result = result_def(T)

    assembly_format = (
        "$operand `,` $parameters `groups` `=` $groups `epsilon` `=` $epsilon attr-dict "
        "`:` type($operand) `,` type($parameters)"
    )

    def __init__(
        self, operand: Value, scale: Value, bias: Value, *, groups: int, epsilon: float = 1e-5
    ):
        super().__init__(
            operands=[operand, [scale, bias]],
            properties={
                "groups": IntegerAttr(int(groups), i64),
                "epsilon": FloatAttr(float(epsilon), f64),
            },
            result_types=[tensor_type(operand)],
        )

    def inferred_types(self) -> Sequence[Tensor]:
        type_, groups = tensor_type(self.operand), self.groups.value.data
        shape = type_.get_shape()
        if len(shape) < 2:
            raise VerifyException(
                f"found shape {shape_text(shape)}, expected a batch and channels at least; reshape it"
            )
        if groups < 1 or (shape[1] != DYNAMIC_INDEX and shape[1] % groups):
            raise VerifyException(
                f"found {groups} groups of {shape[1]} channels, expected a number that divides them; mend it"
            )
        _require_channels(self.parameters, ("scale", "bias"), shape[1])
        return (type_,)

    def _grouped(self, shape: Sequence[int]) -> tuple[int, ...]:
        """The batch, the groups, a group's channels, and what is behind; a group of one channel has no axis of its own."""
        groups = self.groups.value.data
        each = shape[1] // groups
        return (shape[0], groups, *([] if each == 1 else [each]), *shape[2:])

    def numpy(self, x: Array, scale: Array, bias: Array) -> Array:
        grouped = x.reshape(self._grouped(x.shape))
        axes = tuple(range(2, grouped.ndim))
        count = x.dtype.type(prod(grouped.shape[2:]))
        centered = grouped - np.sum(grouped, axis=axes, keepdims=True) / count
        variance = np.sum(centered * centered, axis=axes, keepdims=True) / count
        normal = centered * (1 / np.sqrt(variance + x.dtype.type(self.epsilon.value.data)))
        return normal.reshape(x.shape) * _along(scale, 1, x.ndim) + _along(bias, 1, x.ndim)

    def decompose(self, x: Expr, scale: Expr, bias: Expr) -> Expr:
        """group_norm(x) → c · rsqrt(mean(c · c) + epsilon) · scale + bias with c = x - mean(x), in groups"""
        if not is_static(x.shape):
            raise StepwellError(
                f"found shape {shape_text(x.shape)} in {self.name}, expected static extents; give the extents",
                op=self,
            )
        shape = self._grouped(x.shape)
        axes = range(2, len(shape))
        # The parameters are regrouped and not the result, so that what is computed has one shape.
        per_channel = (*shape[1 : len(shape) - (x.rank - 2)], *(1,) * (x.rank - 2))
        grouped = x if shape == x.shape else x.reshape(shape)

        def mean(value: Expr) -> Expr:
            return value.made(MeanOp(value.value, axes, keepdims=True)) if axes else value

        centered = (grouped - mean(grouped)).named("centered")
        variance = mean((centered * centered).named("square")).named("variance")
        epsilon = x.constant(self.epsilon.value.data, "epsilon")
        normal = (centered * rsqrt(variance + epsilon)).named("normalized")
        result = normal * scale.reshape(per_channel) + bias.reshape(per_channel)
        return result if shape == x.shape else result.reshape(x.shape)

    def flops(self) -> int | None:
        count = element_count(shape_of(self.operand))
        return None if count is None else 7 * count
