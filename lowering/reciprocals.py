"""Divisions by what a loop does not change, where the contract allows a product with the reciprocal."""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.builtin import FloatAttr
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import SSAValue

from .affine_to_arith import AffineExpander
from .core_builder import CoreBuilder


def may_multiply(op: arith.DivfOp) -> bool:
    return FastMathFlag.ALLOW_RECIP in op.fastmath.data


def shared_reciprocal(
    builder: CoreBuilder, expander: AffineExpander, op: arith.DivfOp, divisor: SSAValue
) -> SSAValue:
    """
    One over a scalar, with the flags of `op`, before the loops that the scalar does not depend on.

    LLVM does the same where it moves invariants, and where one block has several divisions by one value.
    """
    one = expander.constant_of(FloatAttr(1.0, divisor.type))  # pyright: ignore[reportArgumentType, reportCallIssue]
    flags = {"fastmath": op.fastmath}
    return builder.shared(arith.DivfOp, (one, divisor), divisor.type, flags, mark=op.fastmath)
