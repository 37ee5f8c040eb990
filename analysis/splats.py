"""Numbers that scalars, or all lanes of vectors, are known to be."""

from __future__ import annotations

from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, FloatAttr, IntegerAttr
from xdsl.ir import SSAValue


def number_in_all_lanes(value: SSAValue) -> int | float | None:
    """The number that a constant, or all lanes of a vector of one constant, have; None of other values."""
    owner = value.owner
    if isinstance(owner, vector.BroadcastOp):
        return number_in_all_lanes(owner.source)
    if not isinstance(owner, arith.ConstantOp):
        return None
    if isinstance(owner.value, IntegerAttr | FloatAttr):
        return owner.value.value.data
    if isinstance(owner.value, DenseIntOrFPElementsAttr) and owner.value.is_splat():
        number = owner.value.get_values()[0]
        return number if isinstance(number, int | float) else None
    return None
