"""`arith.remf` as upstream has it: the one operation on floats that xDSL 0.74's `arith` lacks."""

from __future__ import annotations

from xdsl.dialects.arith import FloatingPointLikeBinaryOperation
from xdsl.irdl import irdl_op_definition, traits_def
from xdsl.traits import Pure


@irdl_op_definition
class RemFOp(FloatingPointLikeBinaryOperation):
    """
    C's `fmod`, which is exact: `arith.remf %a, %b : f32`, the remainder with the dividend's sign.

    Of an infinite dividend or by zero it is NaN; by an infinite divisor it is the dividend.
    """

    name = "arith.remf"

    traits = traits_def(Pure())
