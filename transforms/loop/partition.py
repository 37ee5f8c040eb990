"""partition: the iterations of a loop that its conditions tell apart, in loops of their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.ir import BlockArgument, SSAValue
from xdsl.ir.affine import AffineConstraintExpr, AffineConstraintKind, AffineExpr

from ...dialects import loop
from ...dialects.affine_bounds import linear_form, simplified
from ...dialects.schedule.steps import Partition
from ...frozen import frozen
from ..step_support.copies import Copier
from ..step_support.dead_conditions import simplify_condition
from ..step_support.handles import loop_handle
from ..step_support.made import PeeledLoops
from ..step_support.modes import check_unmarked
from ..step_support.nest import Nest, Nests
from ..step_support.planning import planner, step_pass
from ..step_support.refusal import Refusal, refuse
from ..step_support.rewrite import (
    BoundExprs,
    insert_after,
    insert_before,
    is_sure_maximum,
    joined_bounds,
    lower_bound,
    set_bounds,
    upper_bound,
)
from ..step_support.tight_bounds import plain_bounds

_NONE: BoundExprs = ((), ())


@frozen
class PartitionPlan:
    """The loop, where the iterations begin and end that meet all conditions, and the names of the loops beside it."""

    nest: Nest
    for_op: loop.ForOp
    lower: BoundExprs
    upper: BoundExprs
    start: BoundExprs
    """no expression, or one: where conditions begin to hold"""
    end: BoundExprs
    """the same for where they cease to"""
    front_name: str
    back_name: str

    def apply(self) -> PeeledLoops:
        """
        `for i in L..U` → `for i.front in L..min(U, S)`, `for i in max(L, S)..min(U, E)` and
        `for i.back in max(L, S, E)..U`
        """
        for_op, copier = self.for_op, Copier(self.nest)
        front = copier.loop(for_op, self.front_name) if self.start[0] else None
        back = copier.loop(for_op, self.back_name) if self.end[0] else None
        begin = joined_bounds(self.lower, self.start, smallest=False)
        if front is not None:
            set_bounds(front, self.lower, joined_bounds(self.upper, self.start, smallest=True))
            insert_before(for_op, [front])
        if back is not None:
            set_bounds(back, joined_bounds(begin, self.end, smallest=False), self.upper)
            insert_after(for_op, [back])
        set_bounds(for_op, begin, joined_bounds(self.upper, self.end, smallest=True))
        for if_op in [op for op in for_op.walk() if isinstance(op, loop.IfOp)]:
            while for_op.is_ancestor(if_op) and self._simplify(if_op):
                pass
        parts = [op and loop_handle(self.nest, op) for op in (front, back)]
        return PeeledLoops(parts[0], loop_handle(self.nest, for_op), parts[1])

    def _simplify(self, if_op: loop.IfOp) -> bool:
        block = if_op.parent
        assert block is not None
        return simplify_condition(self.nest, if_op, self.nest.frames.of(block))


@planner(Partition)
def plan_partition(step: Partition, nests: Nests) -> PartitionPlan:
    """Always legal: the order of iterations stays."""
    nest, name = nests.resolve(step.loop)
    for_op = nest.loop(name)
    check_unmarked(step, for_op)
    if for_op.step.value.data != 1:
        raise refuse(step, f"loop '{name}' counts by more than 1", remedy="normalize it first")
    start, end = _Points(step, for_op).found()
    if not start[0] and not end[0]:
        raise refuse(
            step,
            f"no condition inside of loop '{name}' depends on it",
            remedy="index_set_split it at a point, or peel it",
        )
    lower, upper = plain_bounds(nest.frames, for_op)
    if any(is_sure_maximum(low, point) for low in lower[0] for point in start[0]):
        start = _NONE
    if any(is_sure_maximum(point, high) for high in upper[0] for point in end[0]):
        end = _NONE
    if not start[0] and not end[0]:
        raise refuse(
            step,
            f"all conditions on loop '{name}' hold in all of its iterations",
            remedy="simplify drops them",
        )
    front_name, back_name = nest.chosen_names((), [f"{name}.front", f"{name}.back"])
    return PartitionPlan(nest, for_op, lower, upper, start, end, front_name, back_name)


@dataclass
class _Side:
    """Points over values, where conditions begin to hold, or where they cease to."""

    points: list[AffineExpr] = field(default_factory=list[AffineExpr])
    values: list[list[SSAValue]] = field(default_factory=list[list[SSAValue]])


class _Points:
    """From where on, and until where, the conditions inside of a loop hold whatever the loops inside of it do."""

    def __init__(self, step: Partition, for_op: loop.ForOp):
        self.step, self.for_op = step, for_op
        self.own = for_op.induction_variable

    def found(self) -> tuple[BoundExprs, BoundExprs]:
        """The first iteration, and the one behind the last; each with no expression or one."""
        starts, ends = _Side(), _Side()
        for if_op in self.for_op.body.walk():
            if not isinstance(if_op, loop.IfOp):
                continue
            operands = list(if_op.condition_operands)
            for constraint in if_op.condition.data.constraints:
                own, rest, values = self._condition(constraint, operands)
                if own:
                    side = starts if own > 0 else ends
                    point = _ceil(rest * -1, own) if own > 0 else _floor(rest, -own) + 1
                    side.points.append(simplified(point, len(values)))
                    side.values.append(values)
        return self._one(starts, is_start=True), self._one(ends, is_start=False)

    def _condition(
        self, constraint: AffineConstraintExpr, operands: Sequence[SSAValue]
    ) -> tuple[int, AffineExpr, list[SSAValue]]:
        """`own * i + rest >= 0`, with the least that `rest` is, over values outside of the loop. `own` is 0 without i."""
        linear = linear_form(constraint.lhs - constraint.rhs, len(operands))
        if linear is None:
            if self.own in operands:
                raise self._refuse("is not linear in it")
            return 0, AffineExpr.constant(0), []
        sign = -1 if constraint.kind is AffineConstraintKind.le else 1
        by: dict[SSAValue, int] = {self.own: 0}
        for value, factor in zip(operands, linear[0], strict=True):
            by[value] = by.get(value, 0) + sign * factor
        number = self._take_out_inner(by, sign * linear[1])
        own = by.pop(self.own)
        if own and constraint.kind is AffineConstraintKind.eq:
            raise self._refuse("is an equation, which no range of iterations meets")
        rest = AffineExpr.constant(number)
        for n, factor in enumerate(by.values()):
            rest = rest + AffineExpr.dimension(n) * factor
        return own, simplified(rest, len(by)), list(by)

    def _take_out_inner(self, by: dict[SSAValue, int], number: int) -> int:
        """
        Put the first or last iteration of each loop inside in the place of its variable, whichever makes the sum of
        values times factors, and of the number, least; the new number.
        """
        while inner := next((value for value in by if by[value] and self._is_inside(value)), None):
            factor, for_op = by.pop(inner), self._loop_of(inner)
            exprs, values = lower_bound(for_op) if factor > 0 else upper_bound(for_op)
            linear = linear_form(exprs[0], len(values)) if len(exprs) == 1 else None
            if linear is None:
                if not by[self.own] and self.own not in values:
                    continue  # it does not depend on the loop, as far as is seen
                raise self._refuse(
                    f"depends on loop '{for_op.loop_name.data}', whose bounds are several"
                )
            number += factor * (linear[1] - (factor < 0))
            for value, each in zip(values, linear[0], strict=True):
                by[value] = by.get(value, 0) + factor * each
        return number

    def _is_inside(self, value: SSAValue) -> bool:
        owner = value.owner if isinstance(value, BlockArgument) else value.owner.parent
        return owner is not None and value is not self.own and self.for_op.is_ancestor(owner)

    def _loop_of(self, value: SSAValue) -> loop.ForOp:
        around = value.owner.parent_op() if isinstance(value, BlockArgument) else None
        if not isinstance(around, loop.ForOp):
            raise self._refuse("uses an index that is computed inside of it")
        return around

    def _one(self, side: _Side, *, is_start: bool) -> BoundExprs:
        """The last of the points where conditions begin to hold, or the first of those where they cease to."""
        joined = _NONE
        for point, values in zip(side.points, side.values, strict=True):
            if (list(joined[0]), list(joined[1])) != ([point], values):
                joined = joined_bounds(joined, ([point], values), smallest=not is_start)
        if len(joined[0]) > 1:
            raise self._refuse(
                f"{'begins' if is_start else 'ceases'} to hold at another point than the next one, and it is not known "
                "which is first"
            )
        return joined

    def _refuse(self, what: str) -> Refusal:
        name = self.for_op.loop_name.data
        return refuse(
            self.step,
            f"a condition inside of loop '{name}' {what}",
            remedy="index_set_split it where the condition changes",
        )


def _ceil(expr: AffineExpr, divisor: int) -> AffineExpr:
    return expr if divisor == 1 else expr.ceil_div(divisor)


def _floor(expr: AffineExpr, divisor: int) -> AffineExpr:
    return expr if divisor == 1 else expr // divisor


LoopPartitionPass = step_pass(Partition)
