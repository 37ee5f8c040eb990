"""Whether kernels over buffers may write where they do: into no argument, and into nothing that they have twice."""

from __future__ import annotations

import islpy as isl
from xdsl.dialects import arith, func, memref
from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerAttr
from xdsl.ir import BlockArgument, SSAValue

from ..dialects import te
from ..dialects.loop import ARENA, RESULT
from ..dialects.shaped import memref_type
from ..errors import StepwellError
from .alias import Aliases
from .constants import constant_global
from .operations import operations_in
from .strided_views import Placing


def check_kernel_buffers(function: func.FuncOp) -> None:
    """
    Check the kernels of a function that write `into` buffers.

    A destination may not share an element with another operand of its kernel, unless it is that operand: then the kernel
    updates it in place. Arguments of a function with marked results are inputs, and are not written; nor are constants.
    Raises StepwellError for the first kernel that breaks this.
    """
    kernels = [
        op
        for op in operations_in(function)
        if isinstance(op, te.KernelOp) and op.destinations and not _is_inside_of_kernel(op)
    ]
    if not kernels:
        return
    aliases = Aliases(function)
    for kernel in kernels:
        for destination in kernel.destinations:
            _check_written(kernel, destination, aliases)
            _check_apart(kernel, destination, aliases)


def _is_inside_of_kernel(op: te.KernelOp) -> bool:
    around = op.parent_op()
    while around is not None and not isinstance(around, te.KernelOp):
        around = around.parent_op()
    return around is not None


def _check_written(op: te.KernelOp, destination: SSAValue, aliases: Aliases) -> None:
    root = aliases.root(destination)
    what = None
    if constant_global(root) is not None:
        what = "a constant"
    elif (
        isinstance(root, BlockArgument)
        and root.block is aliases.function.body.block
        and aliases.function.arg_attrs is not None
    ):
        marks = [attrs.data for attrs in aliases.function.arg_attrs]
        if any(RESULT in data for data in marks) and not {RESULT, ARENA} & marks[root.index].keys():
            what = f"the argument %{root.name_hint or root.index}"
    if what is not None:
        raise StepwellError(
            f"found kernel '{op.kernel_name.data}' writing into {what}, which is only read, expected a result or "
            "a buffer; give it another destination",
            op=op,
        )


def _check_apart(op: te.KernelOp, destination: SSAValue, aliases: Aliases) -> None:
    root = aliases.root(destination)
    for other in (*op.inputs, *op.destinations):
        if other is destination or aliases.root(other) is not root:
            continue
        if _may_overlap(destination, other, root):
            raise StepwellError(
                f"found kernel '{op.kernel_name.data}' writing into elements of another operand, expected buffers "
                "that are apart, or one operand that it updates in place; give it another destination",
                op=op,
            )


def _may_overlap(one: SSAValue, other: SSAValue, root: SSAValue) -> bool:
    """Whether two views of a buffer share an element; also where it is not known."""
    first, second = _placing(one, root), _placing(other, root)
    if first is None or second is None:
        return True
    return not _addresses(one, first).is_disjoint(_addresses(other, second))


def _placing(value: SSAValue, root: SSAValue) -> Placing | None:
    """Where a view lies in the buffer, counted in elements; None where that is not known."""
    op = value.owner
    if value is root:
        return Placing.contiguous(memref_type(value).get_shape())
    if not isinstance(op, memref.ReinterpretCastOp) or op.source is not root:
        return None
    (offset,), strides = op.static_offsets.get_values(), op.static_strides.get_values()
    if op.offsets:
        constant = op.offsets[0].owner
        if not isinstance(constant, arith.ConstantOp) or not isinstance(
            constant.value, IntegerAttr
        ):
            return None
        offset = constant.value.value.data
    return None if DYNAMIC_INDEX in strides else Placing(offset, tuple(strides))


def _addresses(value: SSAValue, placing: Placing) -> isl.Set:
    """The elements of the buffer that a view has."""
    shape = memref_type(value).get_shape()
    names = [f"i{axis}" for axis in range(len(shape))]
    bounds = [
        f"{name} >= 0 and {name} < {size}" if size != DYNAMIC_INDEX else f"{name} >= 0"
        for name, size in zip(names, shape, strict=True)
    ]
    terms = [f"{stride} * {name}" for stride, name in zip(placing.strides, names, strict=True)]
    address = " + ".join([str(placing.offset), *terms])
    inside = " and ".join([f"a = {address}", *bounds])
    return isl.Set(
        f"{{ [a] : exists {', '.join(names)} : {inside} }}" if names else f"{{ [a] : {inside} }}"
    )
