"""Computes grouped into kernels, each of which becomes one native function."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects import arith, func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint
from xdsl.traits import is_side_effect_free

from ...analysis.fusion import is_epilogue_of
from ...analysis.levels import Level
from ...analysis.row_fusion import DEFAULT_CACHES, Caches, Unit, refusal
from ...dialects import te
from ..remarks import remark
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


def join_rows(
    block: Block, plans: Sequence[KernelPlan], caches: Caches = DEFAULT_CACHES
) -> tuple[list[KernelPlan], list[tuple[KernelPlan, KernelPlan, str]]]:
    """
    The plans, those joined that work on the same rows and are better one kernel; and why others are not.

    First the chains of plain reductions and element-wise computes, such as a softmax, then the
    contractions that are better at one with such a chain than apart.
    """
    grouping = _Grouping(block, plans)
    for contractions in (False, True):
        grouping.join(caches, contractions)
    ends = grouping.ends(caches)
    return grouping.plans(), ends


class _Grouping:
    """Groups of plans, and the order in which the operations of a block need each other."""

    def __init__(self, block: Block, plans: Sequence[KernelPlan]):
        self._position = {op: number for number, op in enumerate(block.ops)}
        self._units: dict[int, list[Unit]] = {}
        self._asked: dict[tuple[int, int, int, int, bool], str | None] = {}
        self._group_of: dict[Operation, int] = dict(self._position)
        for plan in plans:
            group = self._position[plan.computes[-1]]
            self._units[group] = [plan.computes]
            self._group_of |= dict.fromkeys(plan.computes, group)
        self._readers = {op: _readers_in(block, op) for op in block.ops}
        self._links = [
            (producer, compute)
            for plan in plans
            for compute in plan.computes
            for producer in dict.fromkeys(value.owner for value in compute.sources)
            if isinstance(producer, te.ComputeOp) and producer.parent is block
        ]

    def join(self, caches: Caches, contractions: bool) -> None:
        """Join linked groups as long as that is a gain."""
        changed = True
        while changed:
            changed = False
            for producer, consumer in self._links:
                one, other = self._group_of[producer], self._group_of[consumer]
                if one != other and self._refusal(one, other, caches, contractions) is None:
                    self._merge(one, other)
                    changed = True

    def ends(self, caches: Caches) -> list[tuple[KernelPlan, KernelPlan, str]]:
        """Each pair of linked groups, with why they are two."""
        pairs = dict.fromkeys((self._group_of[a], self._group_of[b]) for a, b in self._links)
        return [
            (self._plan(one), self._plan(other), self._refusal(one, other, caches, True) or "")
            for one, other in pairs
            if one != other
        ]

    def plans(self) -> list[KernelPlan]:
        return [self._plan(group) for group in sorted(self._units)]

    def _plan(self, group: int) -> KernelPlan:
        computes = [compute for unit in self._units[group] for compute in unit]
        return KernelPlan(tuple(sorted(computes, key=self._position.__getitem__)))

    def _refusal(self, one: int, other: int, caches: Caches, contractions: bool) -> str | None:
        units, others = self._units[one], self._units[other]
        asked = (one, len(units), other, len(others), contractions)  # a group only grows
        if asked not in self._asked:
            self._asked[asked] = refusal(units, others, caches, contractions=contractions)
        reason = self._asked[asked]
        if reason is None and self._is_between(one, other):
            return "something outside needs the one and is needed by the other"
        return reason

    def _merge(self, one: int, other: int) -> None:
        self._units[other] = self._units.pop(one) + self._units[other]
        for op, group in self._group_of.items():
            if group == one:
                self._group_of[op] = other

    def _is_between(self, one: int, other: int) -> bool:
        """Whether a third operation or group needs the group `one` and the group `other` needs it."""
        members: dict[int, list[Operation]] = {}
        for op, group in self._group_of.items():
            members.setdefault(group, []).append(op)
        seen = {one}
        pending = [one]
        while pending:
            current = pending.pop()
            for op in members[current]:
                for reader in self._readers[op]:
                    group = self._group_of[reader]
                    if group == other and current != one:
                        return True
                    if group != other and group not in seen:
                        seen.add(group)
                        pending.append(group)
        return False


def _readers_in(block: Block, op: Operation) -> list[Operation]:
    """What comes after `op` in the block because it needs its results, or has effects as it has."""
    users = [use.operation for result in op.results for use in result.uses]
    found = [block.find_ancestor_op_in_block(user) for user in users]
    readers = [reader for reader in found if reader is not None]
    if not is_side_effect_free(op):
        readers += islice((later for later in _after(op) if not is_side_effect_free(later)), 1)
    return readers


def _after(op: Operation) -> Iterator[Operation]:
    while op.next_op is not None:
        op = op.next_op
        yield op


def _move_readers_behind(computes: Sequence[te.ComputeOp]) -> None:
    """
    Move what needs a tensor of the computes, which are in order, behind the last one.

    Their kernel stands there, and all of its results are defined there.
    """
    last = computes[-1]
    block = last.parent
    assert block is not None
    moved: set[Operation] = set()
    pending: list[Operation] = list(computes)
    while pending:
        for reader in _readers_in(block, pending.pop()):
            is_other = reader not in computes and reader not in moved
            if is_other and reader.is_before_in_block(last):
                moved.add(reader)
                pending.append(reader)
    place: Operation = last
    for op in [op for op in block.ops if op in moved]:
        op.detach()
        block.insert_op_after(op, place)
        place = op


def form_kernel(plan: KernelPlan) -> te.KernelOp:
    """Move the computes of the plan into a new kernel in place of the last one."""
    around = plan.computes[0].parent
    assert around is not None
    # Not the order of the plan: what an earlier kernel made wait has moved.
    computes = [op for op in around.ops if isinstance(op, te.ComputeOp) and op in plan.computes]
    _move_readers_behind(computes)
    used = _used_from_outside(computes)
    constants = [value.owner for value in used if isinstance(value.owner, arith.ConstantOp)]
    inputs = [value for value in used if not isinstance(value.owner, arith.ConstantOp)]
    block = Block(arg_types=[value.type for value in inputs])
    builder = Builder(InsertPoint.at_end(block))
    mapping: dict[SSAValue, SSAValue] = {}
    for value, arg in zip(inputs, block.args, strict=True):
        arg.name_hint = value.name_hint
        mapping[value] = arg
    for constant in constants:
        builder.insert(constant.clone(mapping))
    for compute in computes:
        builder.insert(compute.clone(mapping))
    last = computes[-1]
    results = _needed_outside(computes)
    builder.insert(te.YieldOp(*(mapping[result] for result in results)))
    kernel = te.KernelOp(plan.name, inputs, [result.type for result in results], Region(block))
    kernel.location = last.location
    Builder(InsertPoint.before(last)).insert(kernel)
    for result, output in zip(results, kernel.outputs, strict=True):
        output.name_hint = result.name_hint
        result.replace_uses_with_if(output, lambda use: use.operation not in computes)
    for compute in reversed(computes):
        compute.detach()
        compute.erase()
    for constant in constants:
        if not any(result.uses for result in constant.results):
            constant.detach()
            constant.erase()
    return kernel


def _needed_outside(computes: Sequence[te.ComputeOp]) -> list[SSAValue]:
    """The results that something else uses; the last one where nothing is."""
    needed: list[SSAValue] = [
        compute.result
        for compute in computes
        if any(use.operation not in computes for use in compute.result.uses)
    ]
    return needed or [computes[-1].result]


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
    """
    Groups computes into kernels: each reduction with its epilogue, and what works on the same rows.

    A chain over the same rows, such as a softmax or attention, is one kernel when that saves traffic
    (analysis/row_fusion.py has the formula). `block_bytes` is what a block of rows may take, such as the
    second-level cache; `cache_bytes` is the last-level cache.
    """

    name = "te-form-kernels"
    level_in = Level.TE
    level_out = Level.TE

    block_bytes: int = Caches.block
    cache_bytes: int = Caches.last_level

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        caches = Caches(self.block_bytes, self.cache_bytes)
        for function in op.ops:
            if isinstance(function, func.FuncOp):
                for block in function.body.blocks:
                    plans, ends = join_rows(block, plan_kernels(block), caches)
                    for one, other, reason in ends:
                        message = f"not one kernel, '{one.name}' and '{other.name}': {reason}"
                        remark(other.computes[0], message, missed=True)
                    for plan in plans:
                        names = ", ".join(c.result.name_hint or "?" for c in plan.computes)
                        kernel = form_kernel(plan)
                        remark(kernel, f"kernel '{plan.name}': {names}")
