"""Computes and loops that stand in a function itself, as kernels whose nests stand there."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.builder import Builder
from xdsl.dialects import func
from xdsl.ir import Block, Region, SSAValue
from xdsl.rewriter import InsertPoint

from ...analysis.operations import used_from_above
from ...dialects import te
from ...dialects.control_flow import ControlFlow


def group_loose_computes(function: func.FuncOp) -> None:
    """
    Put each run of computes and loops that follow one another in the function's block, or in that of control flow in it,
    into a `te.kernel inline`.
    """
    _group_in(function.sym_name.data, function.body.block)


def _group_in(name: str, block: Block) -> None:
    run: list[te.ComputeOp | te.LoopsOp] = []
    for op in [*block.ops]:
        if isinstance(op, te.ComputeOp | te.LoopsOp):
            run.append(op)
            continue
        if run:
            _group(name, run)
            run = []
        if isinstance(op, ControlFlow):
            for region in op.regions:
                _group_in(name, region.block)


def _group(name: str, computes: Sequence[te.ComputeOp | te.LoopsOp]) -> None:
    inputs = _used_from_outside(computes)
    block = Block(arg_types=[value.type for value in inputs])
    mapping: dict[SSAValue, SSAValue] = {}
    for value, arg in zip(inputs, block.args, strict=True):
        arg.name_hint = value.name_hint
        mapping[value] = arg
    builder = Builder(InsertPoint.at_end(block))
    for compute in computes:
        builder.insert(compute.clone(mapping))
    results = [
        result
        for compute in computes
        for result in compute.results
        if any(use.operation not in computes for use in result.uses)
    ]
    builder.insert(te.YieldOp(*(mapping[result] for result in results)))
    types = [result.type for result in results]
    kernel = te.KernelOp(name, inputs, types, Region(block), inline=True)
    kernel.location = computes[0].location
    Builder(InsertPoint.before(computes[0])).insert(kernel)
    for result, output in zip(results, kernel.outputs, strict=True):
        output.name_hint = result.name_hint
        result.replace_uses_with_if(output, lambda use: use.operation not in computes)
    for compute in reversed(computes):
        compute.detach()
        compute.erase()


def _used_from_outside(computes: Sequence[te.ComputeOp | te.LoopsOp]) -> list[SSAValue]:
    """What the computes use and do not define, in their bodies too."""
    own = {result for compute in computes for result in compute.results}
    used = dict.fromkeys(
        value
        for compute in computes
        for value in (*compute.operands, *used_from_above(compute.body))
    )
    return [value for value in used if value not in own]
