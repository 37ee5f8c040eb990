"""Indices as what accesses share, and constants that are added to it."""

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
    Indices without the constants that are added to them, and how many elements these come to in all.

    Accesses that differ by constants then share one address, and each has its constant in the instruction. LLVM does so by itself where the
    constant is added in the same block, to an index whose stride is 1. Of others it keeps each sum in a register, or multiplies each by its stride.
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
