"""
Compound functions that are recognised, because taken one operation at a time they would be inexact.

    1 / (1 + exp(-x))           → sigmoid(x): exp overflows where the result is still a subnormal number
    x · ½ · (1 + erf(x · √½))   → gelu(x): 1 + erf cancels for negative x
"""

from __future__ import annotations

import math as numbers

from xdsl.dialects import arith, math, vector
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, FloatAttr
from xdsl.ir import Operation, SSAValue

from ....analysis.operations import operands_of
from .functions import GELU, SIGMOID, Function
from .lanes import Lanes, element_of, is_supported

ENDS_OF_IDIOMS = (arith.DivfOp, arith.MulfOp)
"""Kinds of operations that can be the last one of a function."""

_ROOT_HALF = numbers.sqrt(0.5)


def match_idiom(op: Operation) -> tuple[Function, SSAValue] | None:
    """The function that an operation is the last one of, and its operand."""
    if type(op) is arith.DivfOp and is_supported(op.result.type):
        x = _sigmoid_operand(op)
        return None if x is None else (SIGMOID, x)
    if type(op) is arith.MulfOp and is_supported(op.result.type):
        x = _gelu_operand(op)
        return None if x is None else (GELU, x)
    return None


def _sigmoid_operand(op: arith.DivfOp) -> SSAValue | None:
    if not _is(op.lhs, 1.0):
        return None
    exponential = _one_plus(op.rhs)
    if exponential is None or not isinstance(exponential.owner, math.ExpOp):
        return None
    negation = exponential.owner.operand.owner
    return negation.operand if isinstance(negation, arith.NegfOp) else None


def _gelu_operand(op: arith.MulfOp) -> SSAValue | None:
    """The product's three factors may come in any order and grouping."""
    factors = _factors(op)
    halves = [factor for factor in factors if _is(factor, 0.5)]
    curves = [factor for factor in factors if _one_plus(factor) is not None]
    if len(factors) != 3 or len(halves) != 1 or len(curves) != 1:
        return None
    (x,) = (factor for factor in factors if factor not in (halves[0], curves[0]))
    curve = _one_plus(curves[0])
    if curve is None or not isinstance(curve.owner, math.ErfOp):
        return None
    scaled = curve.owner.operand.owner
    if not isinstance(scaled, arith.MulfOp):
        return None
    operands = (scaled.lhs, scaled.rhs)
    if x not in operands:
        return None
    scale = scaled.rhs if scaled.lhs is x else scaled.lhs
    return x if _is(scale, _ROOT_HALF) else None


def _factors(op: arith.MulfOp) -> list[SSAValue]:
    """Of a product of up to three."""
    lhs, rhs = operands_of(op)
    for inner, other in ((lhs, rhs), (rhs, lhs)):
        owner = inner.owner
        if type(owner) is arith.MulfOp:
            return [*operands_of(owner), other]
    return [lhs, rhs]


def _one_plus(value: SSAValue) -> SSAValue | None:
    """y, if the value is 1 + y."""
    sum_ = value.owner
    if not isinstance(sum_, arith.AddfOp):
        return None
    if _is(sum_.lhs, 1.0):
        return sum_.rhs
    return sum_.lhs if _is(sum_.rhs, 1.0) else None


def _is(value: SSAValue, number: float) -> bool:
    """Whether a value is a constant, or a splat of one: `number` rounded to its type."""
    owner = value.owner
    if isinstance(owner, vector.BroadcastOp):
        return _is(owner.source, number)
    if not isinstance(owner, arith.ConstantOp):
        return False
    found = owner.value
    if isinstance(found, DenseIntOrFPElementsAttr) and found.is_splat():
        found = next(iter(found.get_attrs()))
    if not isinstance(found, FloatAttr):
        return False
    constant = found.value.data
    element = element_of(value.type)
    return is_supported(element) and Lanes.same_number(element, constant, number)
