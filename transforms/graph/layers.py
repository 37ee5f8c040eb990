"""Layers: products with known weights, and a known summand where there is one."""

from __future__ import annotations

from typing import TypeAlias

from xdsl.ir import SSAValue

from ...dialects.graph import AddOp, ConvOp, ConvTransposeOp, MatmulOp, SubOp
from ...dialects.interfaces import Array
from ...dialects.shaped import shape_of
from ...frozen import frozen
from .constant_operands import is_known, known_array

Product: TypeAlias = MatmulOp | ConvOp | ConvTransposeOp


@frozen
class Layer:
    """`x @ w` or a convolution, or the sum of one and a summand, with known weights and summand."""

    product: Product
    sum: AddOp | SubOp | None = None

    @property
    def operand(self) -> SSAValue:
        """What is multiplied with the weights."""
        return self.product.lhs if isinstance(self.product, MatmulOp) else self.product.image

    @property
    def weights(self) -> SSAValue:
        return self.product.rhs if isinstance(self.product, MatmulOp) else self.product.weights

    @property
    def result(self) -> SSAValue:
        return self.product.result if self.sum is None else self.sum.result

    @property
    def axis(self) -> int:
        """The result's axis of output channels."""
        is_matmul = isinstance(self.product, MatmulOp)
        return len(shape_of(self.product.result)) - 1 if is_matmul else 1

    @property
    def channels(self) -> int:
        return shape_of(self.product.result)[self.axis]

    @property
    def behind(self) -> int:
        """How many axes follow that of the channels."""
        return len(shape_of(self.product.result)) - 1 - self.axis

    @property
    def summand(self) -> Array | None:
        """What is added to the product; of a difference its negative."""
        if self.sum is None:
            return None
        is_first = self.sum.lhs is self.product.result
        known = known_array(self.sum.rhs if is_first else self.sum.lhs)
        return -known if isinstance(self.sum, SubOp) else known

    @property
    def has_summand_by_channel(self) -> bool:
        """Whether there is a summand, with one number for each channel."""
        summand = self.summand
        return summand is not None and summand.shape == (self.channels, *(1,) * self.behind)


def product_of(op: object) -> Product | None:
    """The operation itself, where it is a product with known weights, which have an axis of output channels."""
    match op:
        case MatmulOp(lhs=x, rhs=weights):
            is_matrix = len(shape_of(weights)) == 2 and len(shape_of(x)) > 1
            return op if is_matrix and is_known(weights) else None
        case ConvOp() | ConvTransposeOp():
            return op if is_known(op.weights) else None
        case _:
            return None


def _with_sum(product: Product, op: object) -> Layer | None:
    """The layer of a product and the operation that uses it, where that adds or subtracts what is known."""
    value = product.result
    if not isinstance(op, AddOp | SubOp) or op.result.type != value.type:
        return None
    if op.lhs is value and is_known(op.rhs):
        return Layer(product, op)
    is_added = isinstance(op, AddOp) and op.rhs is value and is_known(op.lhs)
    return Layer(product, op) if is_added else None


def layer_of(value: SSAValue) -> Layer | None:
    """The layer that computes a value, of which nothing else uses what is between; None where there is none."""
    op = value.owner
    product = product_of(op)
    if product is not None:
        return Layer(product)
    if not isinstance(op, AddOp | SubOp):
        return None
    for operand in op.operands:
        inner = product_of(operand.owner)
        layer = _with_sum(inner, op) if inner is not None and operand.has_one_use() else None
        if layer is not None:
            return layer
    return None


def layer_from(product: Product) -> Layer:
    """The layer of a product with known weights, with a summand where adding one is its only use."""
    return _with_sum(product, product.result.get_user_of_unique_use()) or Layer(product)
