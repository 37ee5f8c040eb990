"""Copies of a loop's body joined: straight code one copy after the other, loops inside of it as one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineConstraintExpr

from ...dialects import loop
from ...dialects.affine_bounds import simplified
from ...dialects.loop import LoopKind
from ...frozen import frozen
from .copies import Copier
from .rewrite import (
    BoundExprs,
    insert_after,
    insert_before,
    lower_bound,
    set_bounds,
    shifted_to,
    upper_bound,
)
from .sinking import bound_to_effects


@frozen
class Joint:
    """
    How the copies of an inner loop become one: they share the iterations that all of them have.

    Its bounds are those of the first copy plus `start` and `end`; the rest of each copy runs before or
    after. `lower_steps` and `upper_steps` say how much each expression of the bounds grows from one copy to
    the next.
    """

    for_op: loop.ForOp
    lower: BoundExprs
    upper: BoundExprs
    lower_steps: tuple[int, ...]
    upper_steps: tuple[int, ...]
    kind: LoopKind = LoopKind.SERIAL

    @property
    def varies(self) -> bool:
        """Whether the copies have different bounds."""
        return any(self.lower_steps) or any(self.upper_steps)

    def start(self, copies: int) -> list[int]:
        return [max(0, step * (copies - 1)) for step in self.lower_steps]

    def end(self, copies: int) -> list[int]:
        return [min(0, step * (copies - 1)) for step in self.upper_steps]


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
    copier: Copier

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
            starts = _different(common_lower, joint.start(count), joint.lower_steps, number)
            ends = _different(common_upper, joint.end(count), joint.upper_steps, number)
            before += self._before(number, for_op, starts)
            after += self._after(number, for_op, common_lower, ends)
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

    def _before(
        self, number: int, for_op: loop.ForOp, starts: Sequence[BoundExprs]
    ) -> Sequence[Operation]:
        """
        The iterations of a copy before the shared ones, which begin at a maximum of a, b …

        From its own start to a, then from a to b where that is greater, and so on.
        """
        parts: list[Operation] = []
        passed: BoundExprs = [], ()
        for each in starts:
            part = self._part(for_op, ".pre")
            set_bounds(part, _both(lower_bound(for_op), passed), _both(each, upper_bound(for_op)))
            parts += self._guarded(number, [part])
            passed = _both(passed, each)
        return parts

    def _after(
        self, number: int, for_op: loop.ForOp, start: BoundExprs, ends: Sequence[BoundExprs]
    ) -> Sequence[Operation]:
        """
        The iterations of a copy after the shared ones, which end at a minimum of a, b …

        From b to a where that is greater, then from a to its own end.
        """
        parts: list[Operation] = []
        before: BoundExprs = [], ()
        for each in ends:
            part = self._part(for_op, ".post")
            first = _aligned(start, each, for_op.step.value.data)
            set_bounds(part, _both(start, first), _both(before, upper_bound(for_op)))
            parts = [*self._guarded(number, [part]), *parts]
            before = _both(before, each)
        return parts

    def _part(self, for_op: loop.ForOp, suffix: str) -> loop.ForOp:
        return self.copier.loop(for_op, self.copier.fresh(for_op.loop_name.data + suffix))


def with_effects(ops: Sequence[Operation]) -> list[Operation]:
    """The operations that cannot run under a wrong condition: with effects, or using what those compute."""
    allocations = [op for op in ops if isinstance(op, loop.AllocOp)]
    return [op for op in bound_to_effects(ops) if op not in allocations]


def _plus(bound: BoundExprs, amounts: Sequence[int]) -> BoundExprs:
    exprs, values = bound
    more = zip(exprs, amounts, strict=True)
    return [simplified(expr + amount, len(values)) for expr, amount in more], values


def _different(
    common: BoundExprs, added: Sequence[int], steps: Sequence[int], number: int
) -> list[BoundExprs]:
    """The expressions of the shared bound, one by one, that are not those of copy `number` anyway."""
    exprs, values = common
    every = zip(exprs, added, steps, strict=True)
    return [([expr], values) for expr, more, step in every if step * number != more]


def _both(a: BoundExprs, b: BoundExprs) -> BoundExprs:
    return [*a[0], *shifted_to(b[0], len(a[1]))], [*a[1], *b[1]]


def _aligned(lower: BoundExprs, upper: BoundExprs, step: int) -> BoundExprs:
    """The first value at or after `upper` that a loop from `lower` on reaches."""
    if step == 1:
        return upper
    (low,), low_values = lower
    (high,) = shifted_to(upper[0], len(low_values))
    values = [*low_values, *upper[1]]
    return [low + simplified(high - low, len(values)).ceil_div(step) * step], values
