"""The greatest common divisor of integers, by Euclid's algorithm."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from xdsl.dialects import arith
from xdsl.ir import SSAValue
from xdsl.irdl import AnyAttr, VarConstraint, operand_def, result_def

from ..dtypes import bit_width
from ..interfaces import Array, DefinedInTe
from ..shaped import Tensor, tensor_type
from ..te.builder import TeBuilder
from ..te.loop_builder import LoopBuilder
from .base import INTEGERS, GraphOp, Value, graph_op

SKIPPED = 8
"""Steps that are skipped together once the rest is 0: about as many as numbers of four digits take."""


@graph_op
class GcdOp(GraphOp, DefinedInTe):
    """
    The greatest number that divides both elements, 0 of two zeros.

        %r = graph.gcd %a, %b : tensor<2x3xi32>
    """

    name = "graph.gcd"
    ELEMENTS: ClassVar = INTEGERS

    T: ClassVar = VarConstraint("T", AnyAttr())
    lhs = operand_def(T)
    rhs = operand_def(T)
    result = result_def(T)

    assembly_format = "$lhs `,` $rhs attr-dict `:` type($result)"

    def __init__(self, lhs: Value, rhs: Value):
        super().__init__(operands=[lhs, rhs], result_types=[tensor_type(lhs)])

    def inferred_types(self) -> Sequence[Tensor]:
        return (tensor_type(self.lhs),)

    def numpy(self, x: Array, y: Array) -> Array:
        return np.gcd(x, y)

    def define(self, te: TeBuilder) -> SSAValue:
        type_ = tensor_type(self.lhs)
        element = type_.get_element_type()
        # A step takes at least a golden ratio off (Lamé), which is 2 to the power of more than 9/13.
        steps = bit_width(element) * 13 // 9 + 2

        def body(w: LoopBuilder, sources: Sequence[SSAValue], results: Sequence[SSAValue]) -> None:
            (x, y), (divisors,) = sources, results
            b = w.scalar(element)
            zero = b.constant(0)
            with w.loops(type_.get_shape()) as at:
                greater = w.cell(element, b.abs(w.load(x, at)), "greater")
                lesser = w.cell(element, b.abs(w.load(y, at)), "lesser")
                # Few numbers need all steps: those that are left are skipped some at a time.
                with (
                    w.loop("t", 0, -(-steps // SKIPPED)),
                    w.when("v", b.compare("ne", lesser.get(), zero)),
                    w.loop("s", 0, SKIPPED),
                    w.when("w", b.compare("ne", lesser.get(), zero)),
                ):
                    divisor = lesser.get()
                    # Without a sign, so that the least integer has a magnitude too.
                    lesser.set(b.emit(arith.RemUIOp(greater.get(), divisor)))
                    greater.set(divisor)
                w.store(greater.get(), divisors, at)

        (value,) = te.loops([self.lhs, self.rhs], [type_], body)
        return value
