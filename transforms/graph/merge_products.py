"""Products of one tensor with several weights, such as queries, keys and values, as one; convolutions too."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence
from typing import ClassVar

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import Rewriter

from ...analysis.levels import Level
from ...analysis.operations import blocks_in, operations_of
from ...dialects.graph import (
    AddOp,
    ConcatOp,
    ConvOp,
    ConvTransposeOp,
    ElementwiseOp,
    MatmulOp,
    SplitOp,
)
from ...dialects.graph.elementwise import UnaryElementwiseOp
from ...dialects.graph.expressions import Expr, built_before
from ...dialects.shaped import shape_of, tensor_type
from ...frozen import frozen
from ..remarks import remark
from ..stepwell_pass import StepwellPass
from .constant_operands import joined_constant, new_constant
from .layers import Layer, Product, layer_from, product_of


def _tail(layer: Layer) -> UnaryElementwiseOp | None:
    """The operation of one operand that the layer alone goes into, which is computed on its tiles."""
    user = layer.result.get_user_of_unique_use()
    return user if isinstance(user, UnaryElementwiseOp) else None


def key_of(layer: Layer) -> Hashable:
    """
    Layers can be one where these are equal: the kind of product, what it multiplies and how the window moves over
    that, whether there is a bias, and what is computed of the result element by element.
    """
    tail, window = _tail(layer), ()
    if isinstance(layer.product, ConvOp):
        window = tuple(layer.product.properties.items()), tuple(shape_of(layer.weights)[2:])
    return (
        type(layer.product),
        layer.operand,
        tensor_type(layer.weights).get_element_type(),
        window,
        layer.sum is None,
        tail and (type(tail), tuple(tail.properties.items())),
    )


def mergeable(op: Operation) -> Layer | None:
    """
    The layer of a product, with a bias for each channel where there is one; None where it is none, or is better alone.

    So it is where its result goes into other element-wise operations, which are computed on its tiles, and where it is
    a part of a concatenation, in whose place it is computed.
    """
    product = product_of(op)
    if product is None or isinstance(product, ConvTransposeOp):
        return None
    if isinstance(product, ConvOp) and product.groups.value.data != 1:
        return None
    layer = layer_from(product)
    if layer.sum is not None and not (
        isinstance(layer.sum, AddOp) and layer.has_summand_by_channel
    ):
        layer = Layer(product)
    tail = _tail(layer)
    users = [use.operation for use in (tail.result if tail else layer.result).uses]
    return None if any(isinstance(user, ElementwiseOp | ConcatOp) for user in users) else layer


def merge(layers: Sequence[Layer]) -> None:
    """x @ v, x @ w → split(x @ concat(v, w)), with the biases likewise, and so for convolutions"""
    first = layers[0]
    product, channels = first.product, [layer.channels for layer in layers]
    builder = built_before(product)
    outputs = 1 if isinstance(product, MatmulOp) else 0
    constant = joined_constant([layer.weights for layer in layers], outputs, "weights", builder)
    x = Expr(first.operand, builder)
    result = x.made(_with_weights(product, constant.value)).named("products")
    biases = [summand for layer in layers if (summand := layer.summand) is not None]
    if biases:
        result = result + new_constant(np.concatenate(biases), "biases", builder)
    tail = _tail(first)
    if tail is not None:
        result = x.made(
            type(tail).create(
                operands=[result.value], result_types=[result.type], properties=tail.properties
            )
        )
    parts = x.all_made(SplitOp(result.value, channels, axis=first.axis))
    remark(
        product, f"computes {len(layers)} products of {x.value.name_hint or 'one tensor'} as one"
    )
    for layer, part in zip(layers, parts, strict=True):
        _replace(layer, part)


def _with_weights(product: Product, weights: SSAValue) -> Operation:
    """The same product with other weights."""
    if isinstance(product, MatmulOp):
        return MatmulOp(product.lhs, weights)
    return ConvOp(
        product.image,
        weights,
        product.strides.get_values(),
        product.dilations.get_values(),
        product.before.get_values(),
        product.after.get_values(),
    )


def _replace(layer: Layer, part: Expr) -> None:
    """Let a part stand for what a layer computes, with its tail, and erase these."""
    steps = (_tail(layer), layer.sum, layer.product)
    ops = [op for op in steps if op is not None]
    part.value.name_hint = ops[0].results[0].name_hint
    Rewriter.replace_op(ops[0], [], [part.value])
    for op in ops[1:]:
        Rewriter.erase_op(op)


def merge_products(block: Block) -> None:
    """Merge what can be in a block. The results stand where the first product was: they need `x` and constants alone."""
    groups: defaultdict[Hashable, list[Layer]] = defaultdict(list)
    for op in operations_of(block):
        layer = mergeable(op)
        if layer is not None:
            groups[key_of(layer)].append(layer)
    for layers in groups.values():
        if len(layers) > 1:
            merge(layers)


@frozen
class GraphMergeProductsPass(StepwellPass):
    """
    Compute products of one tensor with several constant matrices as one product, whose columns are split.

    So are convolutions of one image with windows of one geometry.

    The tensor is packed once, and the larger product has fewer partial tiles; the parts are views. Each element is the
    sum of the same products as before.
    """

    name = "graph-merge-products"
    level_in: ClassVar[Level] = Level.GRAPH
    level_out: ClassVar[Level] = Level.GRAPH

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for block in blocks_in(op):
            merge_products(block)
