"""reorder: nested loops in another order (loop interchange)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

import islpy as isl
from xdsl.ir import Block, Operation, Region, SSAValue

from ...analysis.affine_isl import as_map, variable
from ...analysis.dependence import Dependence
from ...analysis.operations import body_of, operands_of
from ...analysis.values import as_expressions
from ...dialects import loop
from ...dialects.loop import LoopKind, kind_attribute
from ...dialects.schedule.steps import Reorder
from ...frozen import frozen
from ..step_support.bounds import NestBounds, nest_bounds
from ..step_support.chain import chain_with
from ..step_support.handles import loop_handle
from ..step_support.made import SomeLoops
from ..step_support.nest import Nest, Nests, loops_around
from ..step_support.order import (
    TimeSpace,
    check_order,
    check_structured,
    is_free_within,
    is_reduction,
    kind_after,
)
from ..step_support.planning import planner, step_pass
from ..step_support.refusal import refuse
from ..step_support.rewrite import (
    BoundExprs,
    body_ops,
    insert_before,
    lower_bound,
    normalise_step,
    set_bounds,
)
from ..step_support.sinking import Sinking, plan_sinking
from ..step_support.tight_bounds import plain_bounds, tighten


@frozen
class ReorderPlan:
    """The loops as they are, outermost first, in their new order, and what stands between them."""

    nest: Nest
    old: tuple[loop.ForOp, ...]
    new: tuple[loop.ForOp, ...]
    kinds: Mapping[loop.ForOp, LoopKind]
    sinking: Sinking
    origins: Mapping[loop.ForOp, BoundExprs]
    bounds: NewBounds | None
    """None where the bounds of each loop still hold"""

    def apply(self) -> SomeLoops:
        self.sinking.apply()
        if self.bounds is not None:
            self._count_by_one()
            variables = [op.induction_variable for op in self.new]
            for number, for_op in enumerate(self.new):
                set_bounds(for_op, *self.bounds.of(number, variables[:number]))
        for for_op in self.new:
            for_op.kind = kind_attribute(self.kinds[for_op])
        self._nest()
        return SomeLoops(tuple(loop_handle(self.nest, for_op) for for_op in self.new))

    def _nest(self) -> None:
        """Put each loop into the one before it in the new order, and the body into the last one."""
        block, following = self.old[0].parent, self.old[0].next_op
        assert block is not None and following is not None, "a terminator follows"
        body = body_ops(self.old[-1])
        for op in (*self.old, *body):
            op.detach()
        for outer, inside in zip(self.new, [*([op] for op in self.new[1:]), body], strict=True):
            end = body_of(outer).last_op
            assert end is not None
            insert_before(end, inside)
        outermost = self.new[0] if self.bounds is None else self.bounds.guarded(self.new[0])
        block.insert_op_before(outermost, following)

    def _count_by_one(self) -> None:
        for for_op in self.old:
            if for_op.step.value.data != 1:
                tighten(self.nest.frames, for_op)
                normalise_step(for_op, self.origins.get(for_op))


@frozen
class NewBounds:
    """Bounds for the loops in their new order, counted by one."""

    nest: NestBounds
    around: tuple[SSAValue, ...]
    parameters: tuple[SSAValue, ...]

    def of(self, number: int, outer: Sequence[SSAValue]) -> tuple[BoundExprs, BoundExprs]:
        """The bounds of the new loop `number`, given the variables of those before it."""
        level = self.nest.levels[number]
        values = [*self.around, *outer, *self.parameters]
        return (level.lower, values), (level.upper, values)

    def guarded(self, for_op: loop.ForOp) -> Operation:
        """The outermost loop under the condition the bounds take for granted, if there is one."""
        if not self.nest.guard:
            return for_op
        block = Block([for_op, loop.YieldOp()])
        return loop.IfOp(self.nest.guard, [*self.around, *self.parameters], Region(block))


def counting_origins(nest: Nest, chain: Sequence[loop.ForOp]) -> dict[loop.ForOp, BoundExprs]:
    """
    For loops of a nest with a step, and a start that depends on the nest: what all values of the variable are a
    multiple of the step from, where that does not.

    Counted from there, not from its start, a loop that was skewed stays skewed.
    """
    inside = nest.frames.of(chain[-1].body.block)
    depth = len(inside.loops) - len(chain)
    variables = [op.induction_variable for op in inside.loops[:depth]]
    found: dict[loop.ForOp, BoundExprs] = {}
    for number, for_op in enumerate(chain, depth):
        step, starts = for_op.step.value.data, inside.values(*lower_bound(for_op))
        if step == 1 or starts is None:
            continue
        if not any(s.involves_dims(isl.dim_type.in_, depth, len(chain)) for s in starts):
            continue
        residue = as_map([variable(inside.space, number).mod_val(isl.Val(step))])
        residue = residue.intersect_domain(inside.domain)
        residue = residue.project_out(isl.dim_type.in_, depth, len(chain))
        exprs = as_expressions(residue) if residue.is_single_valued() else None
        if exprs is not None:
            found[for_op] = exprs, [*variables, *nest.dependences.scop.parameters]
    return found


def _iterations(
    nest: Nest, old: Sequence[loop.ForOp], new: Sequence[loop.ForOp], starts: Sequence[BoundExprs]
) -> isl.Set:
    """
    What the loops run through, over the variables of the loops around and then the new loops'.

    Loops with a step other than 1 are counted by one, from 0 at `starts`.
    """
    inside = nest.frames.of(old[-1].body.block)
    depth = len(inside.loops) - len(old)
    given = iter(starts)
    counted: dict[loop.ForOp, isl.PwAff] = {}
    for number, for_op in enumerate(inside.loops):
        counted[for_op] = variable(inside.space, number)
        if number >= depth and for_op.step.value.data != 1:
            start = inside.values(*next(given))
            assert start is not None, "checked by the planner"
            from_zero = counted[for_op].sub(start[0])
            counted[for_op] = from_zero.scale_down_val(isl.Val(for_op.step.value.data)).floor()
    order = (*inside.loops[:depth], *new)
    return inside.domain.apply(as_map([counted[for_op] for for_op in order]))


@planner(Reorder)
def plan_reorder(step: Reorder, nests: Nests) -> ReorderPlan:
    """
    Legal when no dependence is turned around; bounds of non-rectangular nests are computed anew, and loops with a step
    are then counted by one. One that was skewed stays so, where all of its values are a multiple of the step apart.

    Statements beside a loop of the nest move into it, where they run in its first or last iteration.
    """
    nest, name = nests.resolve(step.loop)
    if len(set(step.order)) != len(step.order):
        raise refuse(step, "a loop is named twice", remedy="name each loop once")
    old = chain_with(step, nest.loop(name), step.order)
    if len(old) != len(step.order):
        left_out = [op.loop_name.data for op in old if op.loop_name.data not in step.order]
        raise refuse(
            step,
            f"the order leaves out {', '.join(map(repr, left_out))} of the nest from '{name}' down",
            remedy=f"name all of {', '.join(repr(op.loop_name.data) for op in old)} in their new order",
        )
    check_structured(step, old[0])
    by_name = {op.loop_name.data: op for op in old}
    new = tuple(by_name[n] for n in step.order)
    sinking = plan_sinking(step, nest, old)
    keeps = _keeps_bounds(old, new)
    origins = {} if keeps else counting_origins(nest, old)
    kinds = _check(step, nest, old, new, sinking, origins)
    bounds = None if keeps else _new_bounds(step, nest, old, new, origins)
    return ReorderPlan(nest, old, new, kinds, sinking, origins, bounds)


def _check(
    step: Reorder,
    nest: Nest,
    old: tuple[loop.ForOp, ...],
    new: tuple[loop.ForOp, ...],
    sinking: Sinking,
    origins: Mapping[loop.ForOp, BoundExprs],
) -> dict[loop.ForOp, LoopKind]:
    """What the loops will be, once it is known that the new order is legal."""
    first = nest.time_position(old[0])
    keeps = _keeps_bounds(old, new)

    @cache
    def order() -> isl.Map:
        space = TimeSpace(nest)
        variables = sinking.variables(space)
        if not keeps:
            variables = _counted(nest, old, sinking, space, variables, origins)
        moved = dict(zip(old, variables, strict=True))
        return space.map(lambda t: [*t[:first], *(moved[op] for op in new), *t[first + 1 :]])

    is_perfect = not sinking.segments
    others: list[Dependence] = []  # than those that stay in one iteration of all of the loops
    check_order(
        step,
        nest,
        old[0],
        lambda _: order(),
        remedy="skew the inner loop by the outer one, or leave the order of these two",
        is_free=is_free_within(old, others) if is_perfect else is_reduction,
    )
    given = len(loops_around(old[0]))

    def kind(number: int, for_op: loop.ForOp) -> LoopKind:
        def stays(dependence: Dependence) -> bool:
            # The loops that its start depends on are around it still, so that its variable is the same too.
            return is_perfect and keeps and dependence.stays_inside([for_op], given)

        position, claimed = first + number, for_op.kind.data
        among = others if is_perfect and keeps else None
        return kind_after(nest, old[0], lambda _: order(), position, claimed, among, stays)

    return {op: kind(n, op) for n, op in enumerate(new)}


def _counted(
    nest: Nest,
    old: Sequence[loop.ForOp],
    sinking: Sinking,
    space: TimeSpace,
    variables: Sequence[isl.PwAff],
    origins: Mapping[loop.ForOp, BoundExprs],
) -> list[isl.PwAff]:
    """The variables as they will be: those of loops with a step other than 1 count their iterations."""
    found: list[isl.PwAff] = []
    for number, (for_op, value) in enumerate(zip(old, variables, strict=True)):
        step = isl.Val(for_op.step.value.data)
        lower, _ = plain_bounds(nest.frames, for_op)
        if for_op in origins:
            (expr,), values = origins[for_op]
            origin = space.expr(expr, values)
            assert origin is not None, "over loops and parameters"
            value = value.sub(origin).scale_down_val(step).floor()
        # Without an affine start there will be no new bounds either.
        elif not step.is_one() and len(lower[0]) == 1 and space.lower_bound(for_op) is not None:
            start = sinking.value(space, variables[:number], for_op, first=True)
            value = value.sub(start).scale_down_val(step).floor()
        found.append(value)
    return found


def _keeps_bounds(old: Sequence[loop.ForOp], new: Sequence[loop.ForOp]) -> bool:
    """Whether each loop stays inside of those its bounds depend on."""
    variables = {op.induction_variable: op for op in old}
    for number, for_op in enumerate(new):
        for value in operands_of(for_op):
            if value in variables and variables[value] not in new[:number]:
                return False
    return True


def _new_bounds(
    step: Reorder,
    nest: Nest,
    old: tuple[loop.ForOp, ...],
    new: tuple[loop.ForOp, ...],
    origins: Mapping[loop.ForOp, BoundExprs],
) -> NewBounds:
    """Bounds for the loops where their own would name loops that are now inside."""
    space = TimeSpace(nest)
    starts: list[BoundExprs] = []
    for for_op in old:
        name = for_op.loop_name.data
        if space.lower_bound(for_op) is None or space.upper_bound(for_op) is None:
            raise refuse(step, f"the bounds of '{name}' are not affine, so new ones are unknown")
        if for_op.step.value.data == 1:
            continue
        lower = origins.get(for_op) or plain_bounds(nest.frames, for_op)[0]
        if len(lower[0]) > 1:
            raise refuse(
                step,
                f"loop '{name}' has a step and starts at a maximum of several expressions",
                remedy="index_set_split it first",
            )
        starts.append(lower)
    block = old[0].parent
    assert block is not None
    around = nest.frames.of(block)
    bounds = nest_bounds(_iterations(nest, old, new, starts), around.domain)
    if bounds is None:
        raise refuse(
            step,
            "the iterations are no nest of loops with affine bounds in the new order",
            remedy="split the iteration space with index_set_split first",
        )
    variables = tuple(op.induction_variable for op in around.loops)
    return NewBounds(bounds, variables, tuple(nest.dependences.scop.parameters))


LoopReorderPass = step_pass(Reorder, numerics="reassociates")
