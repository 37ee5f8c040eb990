"""Numbers for each output channel, such as those of a batch normalization, in the weights of the layer before."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import Rewriter

from ...analysis.levels import Level
from ...analysis.operations import operations_in
from ...dialects.dtypes import is_float, numpy_dtype
from ...dialects.graph import (
    AddOp,
    BatchNormOp,
    ConvOp,
    DivOp,
    MatmulOp,
    MulOp,
    SubOp,
)
from ...dialects.graph.expressions import Expr, built_before
from ...dialects.interfaces import Array
from ...dialects.shaped import shape_of, tensor_type
from ...frozen import frozen
from ..numerics import DEFAULT_FP, NumericalEffect, fp_contract
from ..remarks import remark
from ..stepwell_pass import StepwellPass
from .constant_operands import is_known, known_array, new_constant
from .layers import Layer, layer_of


def scaled_weights(layer: Layer, factors: Array) -> Array:
    """The weights that give each output channel times its factor."""
    weights = known_array(layer.weights)
    product = layer.product
    if isinstance(product, MatmulOp):
        return weights * factors
    window = (1,) * (weights.ndim - 2)
    if isinstance(product, ConvOp):
        return weights * factors.reshape(-1, 1, *window)
    # The input's channels are outside, those of a group together.
    groups = product.groups.value.data
    grouped = weights.reshape(groups, -1, *weights.shape[1:])
    return (grouped * factors.reshape(groups, 1, -1, *window)).reshape(weights.shape)


def by_channel(value: SSAValue, layer: Layer) -> Array | None:
    """A known operand's number for each output channel, None where it differs along other axes."""
    rank = len(shape_of(layer.result))
    shape = shape_of(value)
    if not is_known(value) or len(shape) > rank:
        return None
    places = range(rank - len(shape), rank)
    if any(extent != 1 and axis != layer.axis for axis, extent in zip(places, shape, strict=True)):
        return None
    return np.broadcast_to(known_array(value).reshape(-1), layer.channels)


def _along(numbers: Array, layer: Layer) -> Array:
    """Numbers of channels, shaped so that they are broadcast along all other axes."""
    return numbers.reshape(-1, *[1] * layer.behind)


def _layer_for_one(value: SSAValue, op: Operation) -> Layer | None:
    """The layer that computes a value of the type of an operation's result, for nothing but the operation."""
    return layer_of(value) if value.has_one_use() and value.type == op.results[0].type else None


def fold_factor(op: MulOp | DivOp) -> bool:
    """(x @ w + t) * s → x @ (w * s) + t * s; whether that was done"""
    sides = ((op.lhs, op.rhs), (op.rhs, op.lhs))
    for value, factor in sides if isinstance(op, MulOp) else sides[:1]:
        layer = _layer_for_one(value, op)
        numbers = by_channel(factor, layer) if layer is not None else None
        if layer is not None and numbers is not None:
            return _replace_scaled(op, layer, 1 / numbers if isinstance(op, DivOp) else numbers)
    return False


def _replace_scaled(op: MulOp | DivOp, layer: Layer, factors: Array) -> bool:
    summand = layer.summand
    with np.errstate(all="ignore"):
        dtype = numpy_dtype(tensor_type(op.result).get_element_type())
        weights = scaled_weights(layer, factors).astype(dtype, copy=False)
        if summand is not None:
            summand = summand * _along(factors, layer).astype(dtype, copy=False)
    if not all(np.isfinite(each).all() for each in (weights, summand) if each is not None):
        return False
    old = layer.product
    remark(op, f"multiplied the weights of {old.name} by {factors.size} factors")
    builder = built_before(op)
    product = old.clone()
    # Weights are the second operand of all products.
    product.operands[1] = new_constant(weights, "weights", builder).value
    product.location = old.location
    result = Expr(builder.insert(product).results[0], builder)
    if summand is not None:
        result = result + new_constant(summand, "summand", builder)
    _replace(op, result)
    return True


def fold_summand(op: AddOp | SubOp) -> bool:
    """(x @ w + t) + u → x @ w + (t + u); whether that was done"""
    sides = ((op.lhs, op.rhs), (op.rhs, op.lhs))
    for value, more in sides if isinstance(op, AddOp) else sides[:1]:
        layer = _layer_for_one(value, op)
        summand = layer.summand if layer is not None else None
        if layer is None or summand is None or by_channel(more, layer) is None:
            continue
        other = known_array(more)
        numbers = summand + other if isinstance(op, AddOp) else summand - other
        remark(op, f"joined two summands behind {layer.product.name}")
        builder = built_before(op)
        product = Expr(layer.product.result, builder)
        _replace(op, product + new_constant(numbers, "summand", builder))
        return True
    return False


def join_summands(op: AddOp) -> bool:
    """
    (x @ w + t) + (y @ v + u) → (x @ w + (t + u)) + y @ v; whether that was done

    Where a network adds a shortcut that is a layer, as residual networks do between stages, what follows the other
    layer is then the same as where the shortcut is none: the same kernel serves for both.
    """
    first, second = _layer_for_one(op.lhs, op), _layer_for_one(op.rhs, op)
    if first is None or second is None or first.axis != second.axis:
        return False
    if not (first.has_summand_by_channel and second.has_summand_by_channel):
        return False
    t, u = first.summand, second.summand
    assert t is not None and u is not None
    with np.errstate(all="ignore"):
        numbers = t + u
    if not np.isfinite(numbers).all():
        return False
    remark(op, f"joined the summands of two layers, {first.product.name} and {second.product.name}")
    builder = built_before(op)
    total = Expr(first.product.result, builder) + new_constant(numbers, "summand", builder)
    _replace(op, total + Expr(second.product.result, builder))
    return True


def scale_and_shift(op: BatchNormOp) -> None:
    """batch_norm(x) → x * s + t, with s = scale / sqrt(variance + epsilon) and t = bias - mean * s"""
    scale, bias, mean, variance = (known_array(value).astype(np.float64) for value in op.parameters)
    factors = scale / np.sqrt(variance + op.epsilon.value.data)
    builder = built_before(op)
    x = Expr(op.operand, builder)
    shape = [-1, *[1] * (x.rank - 1 - op.axis.value.data)]
    dtype = numpy_dtype(x.element)
    s, t = (
        new_constant(numbers.reshape(shape).astype(dtype), hint, builder)
        for numbers, hint in ((factors, "factors"), (bias - mean * factors, "summand"))
    )
    remark(op, "rewrote batch_norm(x) → x * s + t")
    _replace(op, x * s + t)


def _replace(op: Operation, result: Expr) -> None:
    """Put a result in the place of an operation's; what is unused then goes, as far as it was the layer's."""
    result.value.name_hint = op.results[0].name_hint
    old = list(op.operands)
    Rewriter.replace_op(op, [], [result.value])
    while old:
        owner = old.pop().owner
        if isinstance(owner, Operation) and owner.results[0].first_use is None:
            old += owner.operands
            Rewriter.erase_op(owner)


@frozen
class GraphFoldScalesPass(StepwellPass):
    """
    Multiply weights by what their products are multiplied by: `(x @ w + t) * s` → `x @ (w * s) + t * s`.

    A batch normalization with known numbers becomes a product and a sum first, so that it goes into the layer before
    it; summands for each channel that meet become one. `fp=strict` leaves everything as it is.
    """

    name = "graph-fold-scales"
    level_in: ClassVar[Level] = Level.GRAPH
    level_out: ClassVar[Level] = Level.GRAPH
    numerics: ClassVar[NumericalEffect] = "reassociates"

    fp: str = DEFAULT_FP

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if fp_contract(self.fp) == "strict":
            return
        for inner in operations_in(op):
            if isinstance(inner, BatchNormOp) and all(map(is_known, inner.parameters)):
                scale_and_shift(inner)
        for inner in operations_in(op):
            if isinstance(inner, MulOp | DivOp | AddOp | SubOp) and _is_of_floats(inner):
                _fold(inner)


def _fold(op: MulOp | DivOp | AddOp | SubOp) -> None:
    if isinstance(op, MulOp | DivOp):
        fold_factor(op)
    elif not fold_summand(op) and isinstance(op, AddOp):
        join_summands(op)


def _is_of_floats(op: Operation) -> bool:
    return is_float(tensor_type(op.results[0]).get_element_type())
