"""Copies of a loop's body joined: straight code one copy after the other, loops inside of it as one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineConstraintExpr

from ...dialects import loop
from ...dialects.loop import LoopKind
from .rewrite import (
    BoundExprs,
    clone_loop,
    insert_after,
    insert_before,
    lower_bound,
    set_bounds,
    shifted_to,
    upper_bound,
)
from .sinking import bound_to_effects


@dataclass(frozen=True)
class Joint:
    """
    How the copies of an inner loop become one: they share the iterations that all of them have.

    Its bounds are those of the first copy plus `start` and `end`; the rest of each copy runs before or
    after. `lower_step` and `upper_step` say how much the bounds grow from one copy to the next.
    """

    for_op: loop.ForOp
    lower: BoundExprs
    upper: BoundExprs
    lower_step: int
    upper_step: int
    kind: LoopKind = LoopKind.SERIAL

    def start(self, copies: int) -> int:
        return max(0, self.lower_step * (copies - 1))

    def end(self, copies: int) -> int:
        return min(0, self.upper_step * (copies - 1))


def groups_of(block: Block) -> list[list[Operation]]:
    """The operations of a block in groups: each loop alone, straight code between loops together."""
    groups: list[list[Operation]] = []
    for op in block.ops:
        if isinstance(op, loop.YieldOp):
            continue
        alone = isinstance(op, loop.ForOp)
        if alone or not groups or isinstance(groups[-1][0], loop.ForOp):
            groups.append([])
        groups[-1].append(op)
    return groups


@dataclass
class Jam:
    """Joins copies of a loop's body into that of the first copy."""

    copies: Sequence[loop.ForOp]
    """the loop and its clones, in each of which the variable has been replaced"""
    joints: Mapping[loop.ForOp, Joint]
    """by the loops in the first copy"""
    room: Sequence[Sequence[AffineConstraintExpr]]
    """for each copy the conditions under which it runs, over `operands`; empty: always"""
    operands: Sequence[SSAValue]
    taken: set[str]

    def run(self) -> None:
        self._blocks([copy.body.block for copy in self.copies])

    def _blocks(self, blocks: Sequence[Block]) -> None:
        groups = [groups_of(block) for block in blocks]
        for parallel in zip(*groups, strict=True):
            first = parallel[0][0]
            if isinstance(first, loop.ForOp):
                self._loops(
                    [op for group in parallel for op in group if isinstance(op, loop.ForOp)]
                )
            else:
                self._segments(parallel)

    def _segments(self, segments: Sequence[Sequence[Operation]]) -> None:
        last = segments[0][-1]
        for number, segment in enumerate(segments[1:], 1):
            for op in segment:
                op.detach()
            added = self._guarded(number, segment)
            insert_after(last, added)
            last = added[-1]

    def _guarded(self, number: int, ops: Sequence[Operation]) -> Sequence[Operation]:
        """The operations of a copy under its condition, those without effect in front of it."""
        if not self.room[number]:
            return ops
        bound = with_effects(ops)
        free = [op for op in ops if op not in bound]
        if not bound:
            return free
        block = Block([*bound, loop.YieldOp()])
        return [*free, loop.IfOp(self.room[number], self.operands, Region(block))]

    def _loops(self, loops: Sequence[loop.ForOp]) -> None:
        joint = self.joints[loops[0]]
        count, first = len(loops), loops[0]
        common_lower = _plus(lower_bound(first), joint.start(count))
        common_upper = _plus(upper_bound(first), joint.end(count))
        before: list[Operation] = []
        after: list[Operation] = []
        for number, for_op in enumerate(loops):
            if joint.lower_step * number != joint.start(count):
                part = self._part(for_op, ".pre")
                end = _both(common_lower, upper_bound(for_op))
                set_bounds(part, lower_bound(for_op), end)
                before += self._guarded(number, [part])
            if joint.upper_step * number != joint.end(count):
                part = self._part(for_op, ".post")
                start = _aligned(common_lower, common_upper, for_op.step.value.data)
                set_bounds(part, _both(common_lower, start), upper_bound(for_op))
                after += self._guarded(number, [part])
        insert_before(first, before)
        insert_after(first, after)
        set_bounds(first, common_lower, common_upper)
        first.kind = loop.LoopKindAttr(joint.kind)
        for other in loops[1:]:
            other.induction_variable.replace_all_uses_with(first.induction_variable)
        self._blocks([for_op.body.block for for_op in loops])
        for other in loops[1:]:
            other.detach()
            other.erase()

    def _part(self, for_op: loop.ForOp, suffix: str) -> loop.ForOp:
        name, number = for_op.loop_name.data + suffix, 0
        while name in self.taken:
            number += 1
            name = f"{for_op.loop_name.data}{suffix}_{number}"
        return clone_loop(for_op, name, self.taken)


def with_effects(ops: Sequence[Operation]) -> list[Operation]:
    """The operations that cannot run under a wrong condition: with effects, or using what those compute."""
    allocations = [op for op in ops if isinstance(op, loop.AllocOp)]
    return [op for op in bound_to_effects(ops) if op not in allocations]


def _plus(bound: BoundExprs, amount: int) -> BoundExprs:
    exprs, values = bound
    return [(expr + amount).simplify(len(values), 0) for expr in exprs], values


def _both(a: BoundExprs, b: BoundExprs) -> BoundExprs:
    return [*a[0], *shifted_to(b[0], len(a[1]))], [*a[1], *b[1]]


def _aligned(lower: BoundExprs, upper: BoundExprs, step: int) -> BoundExprs:
    """The first value at or after `upper` that a loop from `lower` on reaches."""
    if step == 1:
        return upper
    (low,), low_values = lower
    (high,) = shifted_to(upper[0], len(low_values))
    values = [*low_values, *upper[1]]
    return [low + (high - low).simplify(len(values), 0).ceil_div(step) * step], values
