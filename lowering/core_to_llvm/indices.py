"""What indices are the sums of."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import llvm
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Block

from .types import Index


def without_numbers(
    indices: Sequence[Index], strides: Sequence[Index], block: Block
) -> tuple[list[Index], int]:
    """
    Indices without the numbers that blocks before this one add to them, and how many elements further these are in all.

    LLVM looks for such numbers in a block: a sum from outside of a loop is a value of its own there, kept and multiplied by itself,
    where elements that are numbers apart have one address, and each its number in the instruction.
    """
    bases, further = list(indices), 0
    for place, (index, stride) in enumerate(zip(indices, strides, strict=True)):
        if isinstance(index, int) or not isinstance(stride, int):
            continue
        op = index.owner
        if not isinstance(op, llvm.AddOp) or op.parent is block:
            continue
        base, number = op.operands
        if isinstance(number.owner, llvm.ConstantOp):
            value = number.owner.value
            assert isinstance(value, IntegerAttr)
            bases[place] = base
            further += value.value.data * stride
    return bases, further
