"""Axes of reductions and contractions that are next to each other everywhere become one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import cast

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import (
    IndexType,
    ModuleOp,
    TensorType,
)
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.rewriter import InsertPoint

from ...analysis.collapsible import Collapse, Runs, plan_collapse
from ...analysis.levels import Level
from ...analysis.operations import operations_of_kind
from ...dialects import loop, te
from ...dialects.shaped import Tensor, memref_type, tensor_type
from ..stepwell_pass import StepwellPass
from .recast import recast


class TeCollapsePass(StepwellPass):
    """
    Join the axes of a reduction or a contraction that are next to each other in all operands, and drop sums of one term.

    Before: `y[f, oh, ow] = sum_(c, kh = 1, kw = 1) x[c, oh + kh, ow + kw] * w[f, c, kh, kw]`, a convolution.
    After: `y[f, oh_ow] = sum_c x[c, oh_ow] * w[f, c, 0, 0]`, a product of matrices. The mean over the rows and columns of
    an image is so one over its pixels. The kernel's buffers are viewed so: nothing is copied, and a buffer whose rows
    lie apart, as inside of a pad, keeps its axes.
    """

    name = "te-collapse"
    level_in = Level.TE
    level_out = Level.TE

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in operations_of_kind(op, te.KernelOp):
            # What is needed of a result is said along its axes.
            plan = None if loop.NEEDED in kernel.attributes else plan_collapse(kernel)
            if plan is not None:
                collapse(kernel, plan)


def collapse(kernel: te.KernelOp, plan: Collapse) -> None:
    """Replace a kernel by one with fewer axes."""
    builder = Builder(InsertPoint.before(kernel))
    views: dict[SSAValue, SSAValue] = {}

    def view(passed: SSAValue, inside: SSAValue) -> SSAValue:
        runs = plan.tensors.get(inside, ())
        if len(runs) == _rank(inside):
            return passed
        if passed not in views:
            views[passed] = _view(builder, passed, runs)
        return views[passed]

    inner = kernel.body.block
    pairs = list(zip(kernel.inputs, inner.args, strict=True))
    outputs = list(zip(kernel.destinations, kernel.yielded, strict=True))
    inputs = [view(passed, arg) for passed, arg in pairs]
    destinations = [view(passed, value) for passed, value in outputs]
    new = te.KernelOp(
        kernel.kernel_name.data,
        inputs,
        (),
        Region(_body(kernel, plan)),
        destinations=destinations,
        inline=kernel.inline is not None,
    )
    new.attributes |= kernel.attributes
    new.location = kernel.location
    builder.insert(new)
    kernel.detach()
    kernel.erase()


def _rank(value: SSAValue) -> int:
    return len(tensor_type(value).get_shape())


def _view(builder: Builder, buffer: SSAValue, runs: Runs) -> SSAValue:
    """A buffer with the dimensions of each run as one; a view is made of what the buffer is a view of."""
    type_ = memref_type(buffer)
    shape = [prod(type_.get_shape()[n] for n in run) for run in runs]
    all_strides = type_.get_strides()
    assert all_strides is not None
    strides = [cast(int, all_strides[run[-1]]) for run in runs]
    return recast(builder, buffer, shape, strides)


def _body(kernel: te.KernelOp, plan: Collapse) -> Block:
    """The body of a kernel over fewer axes, which takes the old computes' bodies over."""
    old = kernel.body.block
    new = Block(arg_types=[_collapsed_type(arg, plan) for arg in old.args])
    values: dict[SSAValue, SSAValue] = dict(zip(old.args, new.args, strict=True))
    for before, after in zip(old.args, new.args, strict=True):
        after.name_hint = before.name_hint
    for op in old.ops:
        if not isinstance(op, te.ComputeOp):
            new.add_op(op.clone(values))
            continue
        compute = _compute(op, plan, values)
        new.add_op(compute)
        for before, after in zip(op.outputs, compute.outputs, strict=True):
            after.name_hint = before.name_hint
            values[before] = after
    return new


def _collapsed_type(value: SSAValue, plan: Collapse) -> Attribute:
    if value not in plan.tensors:
        return value.type
    type_ = tensor_type(value)
    shape = [prod(type_.get_shape()[n] for n in run) for run in plan.tensors[value]]
    return TensorType(type_.get_element_type(), shape)


def _compute(op: te.ComputeOp, plan: Collapse, values: Mapping[SSAValue, SSAValue]) -> te.ComputeOp:
    runs = [run for run in plan.computes[op] if run[0] not in plan.single[op]]
    iterators, parallel = op.iterators, len(op.parallel)
    place = {n: number for number, run in enumerate(runs) for n in run}
    # Of a run the first axis stands for all, and what has the others alone goes with their dimensions.
    dims = [AffineExpr.dimension(place.get(n, 0)) for n in range(len(iterators))]
    reads = [
        te.Read(
            values[read.source],
            AffineMap(
                len(runs),
                0,
                tuple(
                    subscripts[run[0]].replace_dims_and_symbols(dims, [])
                    for run in plan.tensors[read.source]
                ),
            ),
            read.pad,
        )
        for read, subscripts in zip(op.reads, plan.maps[op], strict=True)
    ]
    joined = [_joined([iterators[n] for n in run], values) for run in runs]
    first = sum(run[0] < parallel for run in runs)
    body = op.detach_region(op.body)
    _join_arguments(body.block, runs, [iterator.name for iterator in joined])
    types = [cast(Tensor, _collapsed_type(result, plan)) for result in op.outputs]
    new = te.ComputeOp(
        joined[:first], reads, types, body, reduction=joined[first:], combiner=op.combiners
    )
    new.attributes |= op.attributes
    new.location = op.location
    return new


def _joined(iterators: Sequence[te.Iterator], values: Mapping[SSAValue, SSAValue]) -> te.Iterator:
    if len(iterators) > 1:
        name = "_".join(iterator.name for iterator in iterators)
        return te.Iterator(name, prod(cast(int, iterator.extent) for iterator in iterators))
    (iterator,) = iterators
    extent = iterator.extent
    return iterator if isinstance(extent, int) else te.Iterator(iterator.name, values[extent])


def _join_arguments(block: Block, runs: Sequence[Sequence[int]], names: Sequence[str]) -> None:
    """Leave one argument for each run, before those for the operands."""
    kept = {run[0]: name for run, name in zip(runs, names, strict=True)}
    iterators = [arg for arg in block.args if arg.type == IndexType()]
    for n, arg in enumerate(iterators):
        if n in kept:
            arg.name_hint = kept[n]
        else:
            block.erase_arg(arg)
