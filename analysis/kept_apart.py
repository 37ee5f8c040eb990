"""Which results of kernels keep out of an operand's buffer, so that equal kernels are one function."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from xdsl.dialects import arith
from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import SSAValue

from ..dialects import te
from ..dialects.shaped import is_tensor, shape_of
from .structure import Numbered, Structure, kernel_structure

WORK_OF_AN_ELEMENT = 32
"""
Products summed for each element that is read or written, from which on a kernel does not wait for memory: cores of today
reach their peak of f32 multiply-adds at 8 to 20 for each float (Williams et al., "Roofline", 2009, has the argument).
"""


def kept_apart(
    kernels: Sequence[te.KernelOp], taken: Mapping[SSAValue, SSAValue], *, are_others: bool = False
) -> dict[SSAValue, str]:
    """
    Of the results that could be written in place of an operand (`taken`), those that are not, with the reason.

    That saves traffic. A kernel that waits for its arithmetic gains nothing by it, and another that is equal but for its
    constants, whose operand is needed later or not its own, would be a second function to schedule and compile. With
    `are_others` there may be such a one in another function, for the operands of which that is so.
    """
    equal: dict[Structure, list[te.KernelOp]] = {}
    said = Numbered()
    for kernel in kernels if taken else ():
        if waits_for_arithmetic(kernel):
            structure = kernel_structure(kernel, contents=False, said=said)
            equal.setdefault(structure, []).append(kernel)
    apart: dict[SSAValue, str] = {}
    for group in equal.values():
        for results in zip(*(kernel.outputs for kernel in group), strict=True):
            if are_others or not all(result in taken for result in results):
                reason = "an equal kernel cannot, and the two are one function"
                apart |= {result: reason for result in results if result in taken}
    return apart


def waits_for_arithmetic(kernel: te.KernelOp) -> bool:
    """Whether a kernel computes so much that it does not wait for memory; see `WORK_OF_AN_ELEMENT`."""
    body = kernel.body.block
    constants = [op.result for op in body.ops if isinstance(op, arith.ConstantOp)]
    moved = (*kernel.inputs, *constants, *kernel.outputs)
    shapes = [shape_of(value) for value in moved if is_tensor(value)]
    spaces = [
        op.static_extents
        for op in body.ops
        if isinstance(op, te.ComputeOp) and op.combining is not None
    ]
    if any(DYNAMIC_INDEX in extents for extents in (*shapes, *spaces)):
        return False
    return sum(map(prod, spaces)) >= WORK_OF_AN_ELEMENT * sum(map(prod, shapes))
