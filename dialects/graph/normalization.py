"""Compound operations along axes: softmax, log_softmax, layer_norm. All decompose."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, UnitAttr, f64, i64
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

from ..interfaces import Array
from ..scalar import NONPOSITIVE
from ..shaped import Tensor, shape_of, tensor_type
from .base import FLOATS, GraphOp, Value, graph_op
from .expressions import Decomposable, Expr, log, rsqrt
from .means import MeanOp
from .shapes import (
    broadcasts_to,
    element_count,
    normalized_axis,
    require_canonical_axis,
    shape_text,
)
from .unary import ExpOp


class _AlongAxisOp(GraphOp, Decomposable, ABC):
    """An operation of floats along one axis, with a result of the operand's type."""

    ELEMENTS: ClassVar = FLOATS
    T: ClassVar = VarConstraint("T", AnyAttr())

    operand = operand_def(T)
    axis = prop_def(IntegerAttr.constr(i64))
    result = result_def(T)

    assembly_format = "$operand `axis` `=` $axis attr-dict `:` type($operand)"

    def __init__(self, operand: Value, axis: int = -1):
        type_ = tensor_type(operand)
        axis = normalized_axis(axis, type_.get_num_dims())
        super().__init__(
            operands=[operand],
            properties={"axis": IntegerAttr(axis, i64)},
            result_types=[type_],
        )

    def inferred_types(self) -> Sequence[Tensor]:
        type_ = tensor_type(self.operand)
        require_canonical_axis(self.axis.value.data, type_.get_num_dims())
        return (type_,)

    def shifted(self, x: Expr) -> Expr:
        """x - max(x): at most 0, so that its exponential does not overflow."""
        return (x - x.max(self.axis.value.data, keepdims=True)).named("shifted")

    def exponential(self, shifted: Expr) -> Expr:
        """exp of what `shifted` gives, marked as that of numbers up to 0."""
        op = ExpOp(shifted.value)
        op.attributes[NONPOSITIVE] = UnitAttr()
        return shifted.made(op)

    def is_empty(self) -> bool:
        return element_count(shape_of(self.operand)) == 0

    def flops(self) -> int | None:
        count = element_count(shape_of(self.operand))
        # Maximum, subtraction, exponential, sum, and the division or second subtraction.
        return None if count is None else 5 * count


@graph_op
class SoftmaxOp(_AlongAxisOp):
    """
    exp(x) / sum(exp(x)) along an axis, computed from x - max(x).

        %r = graph.softmax %x axis = 1 : tensor<2x3xf32>
    """

    name = "graph.softmax"

    def numpy(self, x: Array) -> Array:
        axis = self.axis.value.data
        if x.size == 0:
            return x
        exponentials = np.exp(x - np.max(x, axis=axis, keepdims=True))
        return exponentials / np.sum(exponentials, axis=axis, keepdims=True)

    def decompose(self, x: Expr) -> Expr:
        """softmax(x) → e / sum(e) with e = exp(x - max(x))"""
        if self.is_empty():
            return x
        e = self.exponential(self.shifted(x))
        return (e / e.sum(self.axis.value.data, keepdims=True)).named("softmax")


@graph_op
class LogSoftmaxOp(_AlongAxisOp):
    """
    log(softmax(x)) along an axis, computed as s - log(sum(exp(s))) with s = x - max(x).

        %r = graph.log_softmax %x axis = 1 : tensor<2x3xf32>
    """

    name = "graph.log_softmax"

    def numpy(self, x: Array) -> Array:
        axis = self.axis.value.data
        if x.size == 0:
            return x
        shifted = x - np.max(x, axis=axis, keepdims=True)
        return shifted - np.log(np.sum(np.exp(shifted), axis=axis, keepdims=True))

    def decompose(self, x: Expr) -> Expr:
        """log_softmax(x) → s - log(sum(exp(s))) with s = x - max(x)"""
        if self.is_empty():
            return x
        s = self.shifted(x)
        total = self.exponential(s).sum(self.axis.value.data, keepdims=True)
        return (s - log(total).named("log_sum")).named("log_softmax")


@graph_op
class LayerNormOp(GraphOp, Decomposable):
    """
    Over the axes from `axis` on: (x - mean) / sqrt(variance + epsilon), times scale, plus bias (ONNX
    LayerNormalization). The variance is the mean of the squares of x - mean: no cancellation.

        %r = graph.layer_norm %x, %scale, %bias axis = 1 epsilon = 1.000000e-05
            : tensor<2x8xf32>, tensor<8xf32>, tensor<8xf32> -> tensor<2x8xf32>
    """

    name = "graph.layer_norm"
    ELEMENTS: ClassVar = FLOATS

    operand = operand_def()
    parameters = var_operand_def()
    axis = prop_def(IntegerAttr.constr(i64))
    epsilon = prop_def(FloatAttr.constr(f64))
    result = result_def()

    assembly_format = (
        "$operand (`,` $parameters^)? `axis` `=` $axis `epsilon` `=` $epsilon "
        "attr-dict `:` type($operand) (`,` type($parameters)^)? `->` type($result)"
    )

    def __init__(
        self,
        operand: Value,
        scale: Value | None = None,
        bias: Value | None = None,
        *,
        axis: int = -1,
        epsilon: float = 1e-5,
    ):
        if scale is None and bias is not None:
            raise VerifyException(
                "found a bias without a scale, expected both; give a scale of ones"
            )
        type_ = tensor_type(operand)
        axis = normalized_axis(axis, type_.get_num_dims())
        super().__init__(
            operands=[operand, [value for value in (scale, bias) if value is not None]],
            properties={"axis": IntegerAttr(axis, i64), "epsilon": FloatAttr(float(epsilon), f64)},
            result_types=[type_],
        )

    def inferred_types(self) -> Sequence[Tensor]:
        type_ = tensor_type(self.operand)
        axis = self.axis.value.data
        require_canonical_axis(axis, type_.get_num_dims())
        normalized = type_.get_shape()[axis:]
        if len(self.parameters) > 2:
            raise VerifyException(
                f"found {len(self.parameters)} parameters, expected scale and bias; drop the others"
            )
        for what, value in zip(("scale", "bias"), self.parameters, strict=False):
            shape = shape_of(value)
            if not broadcasts_to(shape, normalized):
                raise VerifyException(
                    f"found {what} of shape {shape_text(shape)}, expected one that broadcasts to the "
                    f"normalized shape {shape_text(normalized)}; reshape it"
                )
        return (type_,)

    @property
    def scale(self) -> SSAValue | None:
        return self.parameters[0] if self.parameters else None

    @property
    def bias(self) -> SSAValue | None:
        return self.parameters[1] if len(self.parameters) > 1 else None

    @property
    def axes(self) -> tuple[int, ...]:
        """The axes normalized over."""
        return tuple(range(self.axis.value.data, tensor_type(self.operand).get_num_dims()))

    def numpy(self, x: Array, scale: Array | None = None, bias: Array | None = None) -> Array:
        count = x.dtype.type(np.prod([x.shape[axis] for axis in self.axes]))
        centered = x - np.sum(x, axis=self.axes, keepdims=True) / count
        variance = np.sum(centered * centered, axis=self.axes, keepdims=True) / count
        result = centered * (1 / np.sqrt(variance + x.dtype.type(self.epsilon.value.data)))
        result = result if scale is None else result * scale
        return result if bias is None else result + bias

    def decompose(self, x: Expr, scale: Expr | None = None, bias: Expr | None = None) -> Expr:
        """layer_norm(x) → c · rsqrt(mean(c · c) + epsilon) [· scale] [+ bias] with c = x - mean(x)"""
        centered = (x - self._mean(x)).named("centered")
        variance = self._mean((centered * centered).named("square")).named("variance")
        epsilon = x.constant(self.epsilon.value.data, "epsilon")
        result = (centered * rsqrt((variance + epsilon).named("guarded"))).named("normalized")
        if scale is not None:
            result = (result * scale).named("scaled")
        return result if bias is None else (result + bias).named("shifted")

    def _mean(self, x: Expr) -> Expr:
        return x.made(MeanOp(x.value, self.axes, keepdims=True))

    def flops(self) -> int | None:
        count = element_count(shape_of(self.operand))
        # Sum, subtraction, square, sum, product, then scale and bias.
        return None if count is None else (5 + len(self.parameters)) * count
