"""Computes grouped into kernels, each of which becomes one native function."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects import arith, func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Region, SSAValue
from xdsl.rewriter import InsertPoint

from ...analysis.fusion import is_epilogue_of
from ...analysis.levels import Level
from ...dialects import te
from ...dialects.shaped import is_tensor
from ..stepwell_pass import StepwellPass


@dataclass(frozen=True)
class KernelPlan:
    """The computes of one kernel in order; the last one's result is the kernel's."""

    computes: tuple[te.ComputeOp, ...]

    @property
    def name(self) -> str:
        """What the kernel computes, from the names of its values."""
        hints = [compute.result.name_hint for compute in self.computes]
        return "_".join(hint for hint in hints if hint) or "kernel"


def plan_kernels(block: Block) -> list[KernelPlan]:
    """One kernel for each compute of the block, a reduction together with its epilogue."""
    computes = [op for op in block.ops if isinstance(op, te.ComputeOp)]
    epilogue_of: dict[te.ComputeOp, te.ComputeOp] = {}
    joined: set[te.ComputeOp] = set()
    for compute in computes:
        for read in compute.reads:
            producer = read.source.owner
            if (
                isinstance(producer, te.ComputeOp)
                and producer.parent is block
                and producer not in epilogue_of
                and compute not in joined
                and is_epilogue_of(compute, producer)
            ):
                epilogue_of[producer] = compute
                joined.add(compute)
    anchor_of = {epilogue: anchor for anchor, epilogue in epilogue_of.items()}
    return [
        KernelPlan((anchor_of[compute], compute) if compute in anchor_of else (compute,))
        for compute in computes
        if compute not in epilogue_of
    ]


def form_kernel(plan: KernelPlan) -> te.KernelOp:
    """Move the computes of the plan into a new kernel in place of the last one."""
    used = _used_from_outside(plan.computes)
    constants = [value.owner for value in used if _is_scalar_constant(value)]
    inputs = [value for value in used if not _is_scalar_constant(value)]
    block = Block(arg_types=[value.type for value in inputs])
    builder = Builder(InsertPoint.at_end(block))
    mapping: dict[SSAValue, SSAValue] = {}
    for value, arg in zip(inputs, block.args, strict=True):
        arg.name_hint = value.name_hint
        mapping[value] = arg
    for constant in constants:
        assert isinstance(constant, arith.ConstantOp)
        builder.insert(constant.clone(mapping))
    for compute in plan.computes:
        builder.insert(compute.clone(mapping))
    last = plan.computes[-1]
    builder.insert(te.YieldOp(mapping[last.result]))
    kernel = te.KernelOp(plan.name, inputs, [last.result.type], Region(block))
    kernel.outputs[0].name_hint = last.result.name_hint
    kernel.location = last.location
    Builder(InsertPoint.before(last)).insert(kernel)
    last.result.replace_all_uses_with(kernel.outputs[0])
    for compute in reversed(plan.computes):
        compute.detach()
        compute.erase()
    return kernel


def _is_scalar_constant(value: SSAValue) -> bool:
    return isinstance(value.owner, arith.ConstantOp) and not is_tensor(value)


def _used_from_outside(computes: Sequence[te.ComputeOp]) -> list[SSAValue]:
    """What the computes use and do not define, in their bodies too: a kernel sees nothing around it."""
    own: set[SSAValue] = set()
    used: list[SSAValue] = []
    for compute in computes:
        for op in compute.walk():
            used += op.operands
            own.update(op.results)
            own.update(
                arg for region in op.regions for block in region.blocks for arg in block.args
            )
    return [value for value in dict.fromkeys(used) if value not in own]


@dataclass(frozen=True)
class TeFormKernelsPass(StepwellPass):
    """Groups computes into kernels: each reduction or contraction with its element-wise epilogue."""

    name = "te-form-kernels"
    level_in = Level.TE
    level_out = Level.TE

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.ops:
            if isinstance(function, func.FuncOp):
                for block in function.body.blocks:
                    for plan in plan_kernels(block):
                        form_kernel(plan)
