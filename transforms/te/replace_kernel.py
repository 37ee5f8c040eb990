"""A kernel in the place of another."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from ...dialects import te


def replace_kernel(kernel: te.KernelOp, inputs: Sequence[SSAValue], body: Region) -> te.KernelOp:
    """
    Put a kernel with other inputs and another body, which yields values of the same types, in the place of one.

    It has the name, the attributes, the location and the names of the results of the one, which is erased.
    """
    types = [value.type for value in kernel.outputs]
    made = te.KernelOp(kernel.kernel_name.data, inputs, types, body)
    made.attributes |= kernel.attributes
    made.location = kernel.location
    Rewriter.insert_op(made, InsertPoint.before(kernel))
    for old, output in zip(kernel.outputs, made.outputs, strict=True):
        output.name_hint = old.name_hint
    Rewriter.replace_op(kernel, [], made.outputs)
    return made
