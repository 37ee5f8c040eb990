"""Compound operations along axes: softmax, log_softmax, layer_norm, rms_norm. All decompose."""

from __future__ import annotations

from abc import ABC
from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, UnitAttr, f64, i64
from xdsl.ir import Attribute, SSAValue
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
from ..scalar import NAN_LEFT_OPEN, NONPOSITIVE
from ..shaped import Tensor, shape_of, tensor_type
from .base import FLOATS, GraphOp, Value, graph_op
from .expressions import Decomposable, Expr, log, rsqrt
from .means import MeanOp
from .reductions import MaxOp
from .rows import RowWise
from .shapes import (
    broadcasts_to,
    element_count,
    normalized_axis,
    require_canonical_axis,
    shape_text,
)
from .unary import ExpOp


class _AlongAxisOp(GraphOp, Decomposable, RowWise, ABC):
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

    def row_operands(self) -> Sequence[SSAValue] | None:
        is_last = self.axis.value.data == len(shape_of(self.operand)) - 1
        return [self.operand] if is_last else None

    def row_properties(self) -> Mapping[str, Attribute]:
        return {**self.properties, "axis": IntegerAttr(1, i64)}

    def shifted(self, x: Expr) -> Expr:
        """
        x - max(x): at most 0, so that its exponential does not overflow. Where x is NaN this is, which makes the sum of a
        row's exponentials NaN, and with it all of the row, unless `fp=fast` promises that there is no NaN.
        """
        top = MaxOp(x.value, self.axis.value.data, keepdims=True)
        top.attributes[NAN_LEFT_OPEN] = UnitAttr()
        return (x - x.made(top)).named("shifted")

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


class _OverTrailingAxesOp(GraphOp, Decomposable, RowWise, ABC):
    """
    A normalisation over the axes from `axis` on, with parameters that broadcast to these axes and may be left out from
    the last one.
    """

    ELEMENTS: ClassVar = FLOATS
    PARAMETERS: ClassVar[tuple[str, ...]]

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
        *parameters: Value | None,
        axis: int = -1,
        epsilon: float = 1e-5,
    ):
        type_ = tensor_type(operand)
        axis = normalized_axis(axis, type_.get_num_dims())
        super().__init__(
            operands=[operand, [value for value in parameters if value is not None]],
            properties={"axis": IntegerAttr(axis, i64), "epsilon": FloatAttr(float(epsilon), f64)},
            result_types=[type_],
        )

    def inferred_types(self) -> Sequence[Tensor]:
        type_ = tensor_type(self.operand)
        axis = self.axis.value.data
        require_canonical_axis(axis, type_.get_num_dims())
        normalized = type_.get_shape()[axis:]
        if len(self.parameters) > len(self.PARAMETERS):
            raise VerifyException(
                f"found {len(self.parameters)} parameters, expected {' and '.join(self.PARAMETERS)}; drop the others"
            )
        for what, value in zip(self.PARAMETERS, self.parameters, strict=False):
            shape = shape_of(value)
            if not broadcasts_to(shape, normalized):
                raise VerifyException(
                    f"found {what} of shape {shape_text(shape)}, expected one that broadcasts to the "
                    f"normalized shape {shape_text(normalized)}; reshape it"
                )
        return (type_,)

    @property
    def axes(self) -> tuple[int, ...]:
        """The axes normalized over."""
        return tuple(range(self.axis.value.data, tensor_type(self.operand).get_num_dims()))

    def row_operands(self) -> Sequence[SSAValue] | None:
        is_last = self.axis.value.data == len(shape_of(self.operand)) - 1
        return [self.operand] if is_last else None

    def row_properties(self) -> Mapping[str, Attribute]:
        return {**self.properties, "axis": IntegerAttr(1, i64)}

    def mean(self, x: Expr) -> Expr:
        """The mean over the axes normalized over, which stay with an extent of 1."""
        return x.made(MeanOp(x.value, self.axes, keepdims=True))

    def inverse_root(self, squares: Expr) -> Expr:
        """rsqrt(squares + epsilon)"""
        epsilon = squares.constant(self.epsilon.value.data, "epsilon")
        return rsqrt((squares + epsilon).named("guarded"))

    def flops(self) -> int | None:
        count = element_count(shape_of(self.operand))
        # Sum, subtraction, square, sum, product, then scale and bias.
        return None if count is None else (5 + len(self.parameters)) * count


@graph_op
class LayerNormOp(_OverTrailingAxesOp):
    """
    Over the axes from `axis` on: (x - mean) / sqrt(variance + epsilon), times scale, plus bias (ONNX
    LayerNormalization). The variance is the mean of the squares of x - mean: no cancellation.

        %r = graph.layer_norm %x, %scale, %bias axis = 1 epsilon = 1.000000e-05
            : tensor<2x8xf32>, tensor<8xf32>, tensor<8xf32> -> tensor<2x8xf32>
    """

    name = "graph.layer_norm"
    PARAMETERS: ClassVar = ("scale", "bias")

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
        super().__init__(operand, scale, bias, axis=axis, epsilon=epsilon)

    def numpy(self, x: Array, scale: Array | None = None, bias: Array | None = None) -> Array:
        count = x.dtype.type(np.prod([x.shape[axis] for axis in self.axes]))
        centered = x - np.sum(x, axis=self.axes, keepdims=True) / count
        variance = np.sum(centered * centered, axis=self.axes, keepdims=True) / count
        result = centered * (1 / np.sqrt(variance + x.dtype.type(self.epsilon.value.data)))
        result = result if scale is None else result * scale
        return result if bias is None else result + bias

    def decompose(self, x: Expr, scale: Expr | None = None, bias: Expr | None = None) -> Expr:
        """layer_norm(x) → c · rsqrt(mean(c · c) + epsilon) [· scale] [+ bias] with c = x - mean(x)"""
        centered = (x - self.mean(x)).named("centered")
        variance = self.mean((centered * centered).named("square")).named("variance")
        result = (centered * self.inverse_root(variance)).named("normalized")
        if scale is not None:
            result = (result * scale).named("scaled")
        return result if bias is None else (result + bias).named("shifted")


@graph_op
class RmsNormOp(_OverTrailingAxesOp):
    """
    Over the axes from `axis` on: x / sqrt(mean of squares + epsilon), times scale (ONNX RMSNormalization; Zhang and
    Sennrich, arXiv:1910.07467).

        %r = graph.rms_norm %x, %scale axis = 1 epsilon = 1.000000e-05
            : tensor<2x8xf32>, tensor<8xf32> -> tensor<2x8xf32>
    """

    name = "graph.rms_norm"
    PARAMETERS: ClassVar = ("scale",)

    def numpy(self, x: Array, scale: Array | None = None) -> Array:
        count = x.dtype.type(np.prod([x.shape[axis] for axis in self.axes]))
        squares = np.sum(x * x, axis=self.axes, keepdims=True) / count
        result = x * (1 / np.sqrt(squares + x.dtype.type(self.epsilon.value.data)))
        return result if scale is None else result * scale

    def decompose(self, x: Expr, scale: Expr | None = None) -> Expr:
        """rms_norm(x) → x · rsqrt(mean(x · x) + epsilon) [· scale]"""
        squares = self.mean((x * x).named("square")).named("mean_square")
        result = (x * self.inverse_root(squares)).named("normalized")
        return result if scale is None else (result * scale).named("scaled")
