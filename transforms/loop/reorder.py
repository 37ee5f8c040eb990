"""reorder: perfectly nested loops in another order (loop interchange)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import islpy as isl
from xdsl.ir import SSAValue

from ...analysis.scop import iteration_domain
from ...dialects import loop
from ...dialects.schedule.steps import Reorder
from ..schedule.bounds import loop_bounds
from ..schedule.nest import Nest, Nests, loops_around
from ..schedule.order import TimeSpace, check_order
from ..schedule.planning import planner, step_pass
from ..schedule.refusal import refuse
from ..schedule.rewrite import BoundExprs, as_bound, body_ops, lower_bound, move_body, upper_bound


@dataclass(frozen=True)
class ReorderPlan:
    """The loops as they are, outermost first, in their new order, and the nest they are in."""

    nest: Nest
    old: tuple[loop.ForOp, ...]
    new: tuple[loop.ForOp, ...]
    domain: isl.Set | None
    """The iterations, over the loops around and then `old`; None when no bound depends on `old`."""

    def apply(self) -> None:
        outermost, innermost = self.old[0], self.old[-1]
        parent = outermost.parent
        assert parent is not None
        made: dict[loop.ForOp, loop.ForOp] = {}
        for number, for_op in enumerate(self.new):
            lower, upper = lower_bound(for_op), upper_bound(for_op)
            if self.domain is not None:
                variables = [made[op].induction_variable for op in self.new[:number]]
                bounds = _bounds_in_order(self, number, variables)
                assert bounds is not None, "checked by the planner"
                lower, upper = bounds
            copy = loop.ForOp(
                for_op.loop_name.data,
                as_bound(lower),
                as_bound(upper),
                step=for_op.step.value.data,
                kind=for_op.kind.data,
                mode=for_op.mode.data if for_op.mode is not None else None,
            )
            copy.induction_variable.name_hint = for_op.induction_variable.name_hint
            made[for_op] = copy
        for outer, inner in zip(self.new, self.new[1:], strict=False):
            last = made[outer].body.block.last_op
            assert last is not None
            made[outer].body.block.insert_op_before(made[inner], last)
        for old, copy in made.items():
            old.induction_variable.replace_all_uses_with(copy.induction_variable)
        move_body(innermost, made[self.new[-1]].body.block)
        parent.insert_op_before(made[self.new[0]], outermost)
        outermost.detach()
        outermost.erase()


@planner(Reorder)
def plan_reorder(step: Reorder, nests: Nests) -> ReorderPlan:
    """Legal when no dependence is turned around; bounds of non-rectangular nests are computed anew."""
    nest, name = nests.resolve(step.loop)
    old = _chain(step, nest, nest.loop(name))
    by_name = {op.loop_name.data: op for op in old}
    new = tuple(by_name[n] for n in step.order)
    space = TimeSpace(nest)
    positions = [nest.time_position(op) for op in old]

    def reordered(entries: list[isl.PwAff]) -> list[isl.PwAff]:
        result = list(entries)
        for position, for_op in zip(positions, new, strict=True):
            result[position] = entries[nest.time_position(for_op)]
        return result

    check_order(
        step,
        nest,
        old[0],
        space.map(reordered),
        remedy="skew the inner loop by the outer one, or leave the order of these two",
    )
    if _is_rectangular(old):
        return ReorderPlan(nest, old, new, None)
    return _with_new_bounds(step, ReorderPlan(nest, old, new, _domain(nest, old)))


def _chain(step: Reorder, nest: Nest, outermost: loop.ForOp) -> tuple[loop.ForOp, ...]:
    """The perfectly nested loops from `outermost` down that hold all loops of the order."""
    wanted = set(step.order)
    if len(wanted) != len(step.order):
        raise refuse(step, "a loop is named twice", remedy="name each loop once")
    chain: list[loop.ForOp] = []
    current = outermost
    while True:
        chain.append(current)
        wanted.discard(current.loop_name.data)
        if not wanted:
            break
        inner = body_ops(current)
        if len(inner) != 1 or not isinstance(inner[0], loop.ForOp):
            missing = ", ".join(f"'{n}'" for n in sorted(wanted))
            raise refuse(
                step,
                f"loop '{current.loop_name.data}' has more in its body than one loop, so {missing} "
                "cannot be exchanged with it",
                remedy="make the nest perfect with fission first",
            )
        current = inner[0]
    if len(chain) != len(step.order):
        left_out = [op.loop_name.data for op in chain if op.loop_name.data not in step.order]
        raise refuse(
            step,
            f"the loops {', '.join(map(repr, left_out))} stand between those named",
            remedy=f"name all of {', '.join(repr(op.loop_name.data) for op in chain)} in their new order",
        )
    return tuple(chain)


def _is_rectangular(chain: Sequence[loop.ForOp]) -> bool:
    variables = {op.induction_variable for op in chain}
    return not any(
        value in variables for op in chain for value in (*op.lower_operands, *op.upper_operands)
    )


def _domain(nest: Nest, chain: Sequence[loop.ForOp]) -> isl.Set:
    return iteration_domain(nest.dependences.scop, [*loops_around(chain[0]), *chain])


def _with_new_bounds(step: Reorder, plan: ReorderPlan) -> ReorderPlan:
    """The plan, once it is known that the new loops have affine bounds."""
    if any(op.step.value.data != 1 for op in plan.old):
        raise refuse(
            step,
            "bounds depend on the loops to be exchanged and a step is not 1",
            remedy="normalise the steps with simplify first",
        )
    for number in range(len(plan.new)):
        variables = [op.induction_variable for op in plan.new[:number]]
        if _bounds_in_order(plan, number, variables) is None:
            raise refuse(
                step,
                f"loop '{plan.new[number].loop_name.data}' has no affine bounds in the new order",
                remedy="split the iteration space with index_set_split first",
            )
    return plan


def _bounds_in_order(
    plan: ReorderPlan, number: int, variables: Sequence[SSAValue]
) -> tuple[BoundExprs, BoundExprs] | None:
    """The bounds of the new loop `number`, over the loops around and the new loops before it."""
    assert plan.domain is not None
    around = loops_around(plan.old[0])
    depth = len(around)
    wanted = [*range(depth), *(depth + plan.old.index(op) for op in plan.new[: number + 1])]
    space = plan.domain.get_space()
    local = isl.LocalSpace.from_space(space)
    target = space.params().add_dims(isl.dim_type.set, len(wanted))
    select = isl.MultiAff.zero(isl.Space.map_from_domain_and_range(space, target))
    for n, position in enumerate(wanted):
        select = select.set_aff(n, isl.Aff.var_on_domain(local, isl.dim_type.set, position))
    projected = plan.domain.apply(isl.Map.from_multi_aff(select))
    outer = [*(op.induction_variable for op in around), *variables]
    return loop_bounds(projected, outer, plan.nest.dependences.scop.parameters)


LoopReorderPass = step_pass(Reorder)
