"""What an operation's constant operands are, however large, and new constants made of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.builder import Builder
from xdsl.dialects.builtin import DenseResourceAttr
from xdsl.ir import SSAValue

from ...dialects.graph import ConstantOp, ExpandDimsOp, ReshapeOp, SqueezeOp, TransposeOp
from ...dialects.graph.expressions import Expr
from ...dialects.interfaces import Array
from ...dialects.resources import joined_elements, tensor_elements


def is_known(value: SSAValue) -> bool:
    """Whether it is a constant, or one with its axes moved, as a weight is that an exporter kept transposed."""
    owner = value.owner
    while isinstance(owner, TransposeOp | ReshapeOp | ExpandDimsOp | SqueezeOp):
        owner = owner.operand.owner
    return isinstance(owner, ConstantOp)


def known_array(value: SSAValue) -> Array:
    """The elements of what `is_known`; a view of the constant where that is possible."""
    owner = value.owner
    if isinstance(owner, ConstantOp):
        return owner.array()
    assert isinstance(owner, TransposeOp | ReshapeOp | ExpandDimsOp | SqueezeOp)
    return owner.numpy(known_array(owner.operand))


def new_constant(array: Array, hint: str, builder: Builder) -> Expr:
    """A constant with these elements, which nobody changes any more and which are named `hint` in the text."""
    constant = builder.insert(ConstantOp(tensor_elements(array, hint, is_ours=True)))
    return Expr(constant.result, builder).named(hint)


def joined_constant(values: Sequence[SSAValue], axis: int, hint: str, builder: Builder) -> Expr:
    """A constant that holds what `is_known` one after the other along an axis; it may be written later."""
    parts = [
        value.owner.value
        for value in values
        if isinstance(value.owner, ConstantOp) and isinstance(value.owner.value, DenseResourceAttr)
    ]
    elements = joined_elements(parts, axis, hint) if len(parts) == len(values) else None
    if elements is None:
        arrays = [known_array(value) for value in values]
        return new_constant(np.concatenate(arrays, axis=axis), hint, builder)
    constant = builder.insert(ConstantOp(elements))
    return Expr(constant.result, builder).named(hint)
