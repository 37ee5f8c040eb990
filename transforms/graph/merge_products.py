"""Products of one tensor with several weights, such as queries, keys and values, as one product."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, SSAValue
from xdsl.rewriter import Rewriter

from ...analysis.levels import Level
from ...dialects.graph import AddOp, ElementwiseOp, MatmulOp, SplitOp
from ...dialects.graph.expressions import Expr, built_before
from ...dialects.shaped import shape_of, tensor_type
from ..remarks import remark
from ..stepwell_pass import StepwellPass
from .constant_operands import is_known, known_array, new_constant


@dataclass(frozen=True)
class Layer:
    """`x @ weight`, or `x @ weight + bias`, with constants for weight and bias."""

    product: MatmulOp
    sum: AddOp | None
    bias: SSAValue | None

    @property
    def result(self) -> SSAValue:
        return self.product.result if self.sum is None else self.sum.result

    @property
    def columns(self) -> int:
        return shape_of(self.product.rhs)[1]

    @property
    def key(self) -> Hashable:
        """Layers can be one product where these are equal: operand, extents, element type, and whether they have a bias."""
        return (
            self.product.lhs,
            tensor_type(self.product.rhs).get_element_type(),
            self.sum is None,
        )


def layer_at(product: MatmulOp) -> Layer | None:
    """The layer of a product; None where its result goes into element-wise operations, which are then computed on tiles."""
    if (
        len(shape_of(product.rhs)) != 2
        or len(shape_of(product.lhs)) < 2
        or not is_known(product.rhs)
    ):
        return None
    user = product.result.get_user_of_unique_use()
    layer = Layer(product, None, None)
    if isinstance(user, AddOp):
        bias = user.rhs if user.lhs is product.result else user.lhs
        if shape_of(bias) == (layer.columns,) and is_known(bias):
            layer = Layer(product, user, bias)
    users = [use.operation for use in layer.result.uses]
    return None if any(isinstance(user, ElementwiseOp) for user in users) else layer


def merge(layers: Sequence[Layer]) -> None:
    """x @ v, x @ w → split(x @ concat(v, w)), with the biases likewise"""
    first = layers[0].product
    builder = built_before(first)
    x = Expr(first.lhs, builder)
    weights = np.concatenate([known_array(layer.product.rhs) for layer in layers], axis=1)
    result = (x @ new_constant(weights, "weights", builder)).named("products")
    biases = [known_array(layer.bias) for layer in layers if layer.bias is not None]
    if biases:
        result = result + new_constant(np.concatenate(biases), "biases", builder)
    parts = x.all_made(SplitOp(result.value, [layer.columns for layer in layers], axis=-1))
    remark(first, f"computes {len(layers)} products of {x.value.name_hint or 'one tensor'} as one")
    for layer, part in zip(layers, parts, strict=True):
        last = layer.product if layer.sum is None else layer.sum
        part.value.name_hint = layer.result.name_hint
        Rewriter.replace_op(last, [], [part.value])
        if last is not layer.product:
            Rewriter.erase_op(layer.product)


def merge_products(block: Block) -> None:
    """Merge what can be in a block. The results stand where the first product was: they need `x` and constants alone."""
    groups: defaultdict[Hashable, list[Layer]] = defaultdict(list)
    for op in block.ops:
        layer = layer_at(op) if isinstance(op, MatmulOp) else None
        if layer is not None:
            groups[layer.key].append(layer)
    for layers in groups.values():
        if len(layers) > 1:
            merge(layers)


@dataclass(frozen=True)
class GraphMergeProductsPass(StepwellPass):
    """
    Compute products of one tensor with several constant matrices as one product, whose columns are split.

    The tensor is packed once, and the larger product has fewer partial tiles; the parts are views. Each element is the
    sum of the same products as before.
    """

    name = "graph-merge-products"
    level_in: ClassVar[Level] = Level.GRAPH
    level_out: ClassVar[Level] = Level.GRAPH

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for inner in list(op.walk()):
            for region in inner.regions:
                for block in region.blocks:
                    merge_products(block)
