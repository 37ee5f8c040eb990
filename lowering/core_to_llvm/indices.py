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
    Indices without the numbers that are added to them, and how many elements further these are in all.

    Elements that are numbers apart have one address then, and each its number in the instruction. LLVM finds those for itself that are added
    in the same block, and not multiplied: others become values of their own, each kept, or multiplied by itself.
    """
    bases, further = list(indices), 0
    for place, (index, stride) in enumerate(zip(indices, strides, strict=True)):
        if isinstance(index, int) or not isinstance(stride, int):
            continue
        op = index.owner
        if not isinstance(op, llvm.AddOp) or (op.parent is block and stride == 1):
            continue
        base, number = op.operands
        if isinstance(number.owner, llvm.ConstantOp):
            value = number.owner.value
            assert isinstance(value, IntegerAttr)
            bases[place] = base
            further += value.value.data * stride
    return bases, further
