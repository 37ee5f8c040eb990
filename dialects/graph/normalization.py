"""Compound operations along axes: softmax, log_softmax, layer_norm. All decompose."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from xdsl.builder import Builder
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, UnitAttr, f64, i64
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import (
    AnyAttr,
    VarConstraint,
    operand_def,
    prop_def,
    result_def,
    var_operand_def,
)
from xdsl.utils.exceptions import VerifyException

from ..dtypes import numpy_dtype
from ..interfaces import Array, Decomposable
from ..scalar import NONPOSITIVE
from ..shaped import Tensor, shape_of, tensor_type
from .base import FLOATS, GraphOp, Value, graph_op
from .binary import AddOp, DivOp, MulOp, SubOp
from .constants import ConstantOp
from .reductions import MaxOp, MeanOp, SumOp
from .shapes import (
    broadcasts_to,
    element_count,
    normalized_axis,
    require_canonical_axis,
    shape_text,
)
from .unary import ExpOp, LogOp, RsqrtOp


def _insert(builder: Builder, op: Operation, hint: str) -> SSAValue:
    builder.insert(op)
    op.results[0].name_hint = hint
    return op.results[0]


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

    def shifted(self, builder: Builder) -> SSAValue:
        """x - max(x): at most 0, so that its exponential does not overflow."""
        axis = self.axis.value.data
        greatest = _insert(builder, MaxOp(self.operand, axis, keepdims=True), "max")
        return _insert(builder, SubOp(self.operand, greatest), "shifted")

    def exponential(self, builder: Builder, shifted: SSAValue) -> SSAValue:
        """exp of what `shifted` gives, marked as that of numbers up to 0."""
        op = ExpOp(shifted)
        op.attributes[NONPOSITIVE] = UnitAttr()
        return _insert(builder, op, "exp")

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

    def decompose(self, builder: Builder) -> Sequence[SSAValue]:
        """softmax(x) → e / sum(e) with e = exp(x - max(x))"""
        if self.is_empty():
            return (self.operand,)
        exp = self.exponential(builder, self.shifted(builder))
        total = _insert(builder, SumOp(exp, self.axis.value.data, keepdims=True), "sum")
        return (_insert(builder, DivOp(exp, total), "softmax"),)


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

    def decompose(self, builder: Builder) -> Sequence[SSAValue]:
        """log_softmax(x) → s - log(sum(exp(s))) with s = x - max(x)"""
        if self.is_empty():
            return (self.operand,)
        shifted = self.shifted(builder)
        exp = self.exponential(builder, shifted)
        total = _insert(builder, SumOp(exp, self.axis.value.data, keepdims=True), "sum")
        log = _insert(builder, LogOp(total), "log_sum")
        return (_insert(builder, SubOp(shifted, log), "log_softmax"),)


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

    def decompose(self, builder: Builder) -> Sequence[SSAValue]:
        """layer_norm(x) → c · rsqrt(mean(c · c) + epsilon) [· scale] [+ bias] with c = x - mean(x)"""
        centered = _insert(
            builder, SubOp(self.operand, self._mean(builder, self.operand)), "centered"
        )
        square = _insert(builder, MulOp(centered, centered), "square")
        variance = self._mean(builder, square)
        variance.name_hint = "variance"
        number = numpy_dtype(tensor_type(self.operand).get_element_type()).type
        epsilon = _insert(builder, ConstantOp(number(self.epsilon.value.data)), "epsilon")
        guarded = _insert(builder, AddOp(variance, epsilon), "guarded")
        deviation = _insert(builder, RsqrtOp(guarded), "rsqrt")
        result = _insert(builder, MulOp(centered, deviation), "normalized")
        if self.scale is not None:
            result = _insert(builder, MulOp(result, self.scale), "scaled")
        if self.bias is not None:
            result = _insert(builder, AddOp(result, self.bias), "shifted")
        return (result,)

    def _mean(self, builder: Builder, value: SSAValue) -> SSAValue:
        return _insert(builder, MeanOp(value, self.axes, keepdims=True), "mean")

    def flops(self) -> int | None:
        count = element_count(shape_of(self.operand))
        # Sum, subtraction, square, sum, product, then scale and bias.
        return None if count is None else (5 + len(self.parameters)) * count
