"""unroll_and_jam: an outer loop unrolled, the copies of the loops inside of it joined."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import reduce

import islpy as isl
from xdsl.ir import Block, Operation
from xdsl.ir.affine import AffineConstraintExpr, AffineExpr

from ...analysis.affine_isl import constant, pw_aff
from ...analysis.dependence import Dependence
from ...analysis.scop import Access
from ...dialects import loop
from ...dialects.affine_bounds import linear_form
from ...dialects.schedule.steps import UnrollAndJam
from ...frozen import frozen
from ..step_support.copies import Copier
from ..step_support.handles import loop_handle
from ..step_support.jam import Jam, Joint, groups_of, with_effects
from ..step_support.made import UnrolledLoop
from ..step_support.modes import check_unmarked
from ..step_support.nest import Nest, Nests, regions_around
from ..step_support.order import TimeSpace, check_order, kind_after
from ..step_support.planning import planner, step_pass
from ..step_support.refusal import Refusal, refuse
from ..step_support.rewrite import (
    BoundExprs,
    lower_bound,
    room_for,
    set_bounds,
    set_step,
    substitute,
    upper_bound,
)
from ..step_support.tight_bounds import plain_bounds
from ..step_support.trip_count import TripCount
from .split import blocks_and_rest, peel_rest, plan_tail
from .unroll import check_size

_LEVEL = 4
"""Entries of the new time vectors for each loop inside: where, in which part, for which copy, its variable."""


@frozen
class UnrollAndJamPlan:
    """The loop, how many copies there will be, and how the copies of each loop inside become one."""

    nest: Nest
    for_op: loop.ForOp
    factor: int
    tail: str
    """`guard`, `peel` or, where blocks are whole or may run over, `whole`"""
    rest: str
    joints: Mapping[loop.ForOp, Joint]

    def apply(self) -> UnrolledLoop:
        for_op, step = self.for_op, self.for_op.step.value.data
        for joint in self.joints.values():
            set_bounds(joint.for_op, joint.lower, joint.upper)
        tail = None
        if self.tail == "peel":
            tail = peel_rest(self.nest, for_op, self.factor, self.rest)
        copier, name = Copier(self.nest), for_op.loop_name.data
        copies = [for_op]
        room: list[Sequence[AffineConstraintExpr]] = [()]
        operands = [for_op.induction_variable, *upper_bound(for_op)[1]]
        for number in range(1, self.factor):
            ahead = AffineExpr.dimension(0) + number * step
            copies.append(copier.loop(for_op, f"{name}.u{number}"))
            room.append(room_for(ahead, upper_bound(for_op)) if self.tail == "guard" else ())
        for number, copy in enumerate(copies[1:], 1):
            ahead = AffineExpr.dimension(0) + number * step
            substitute(copy.induction_variable, ahead, [for_op.induction_variable])
        Jam(copies, self.joints, room, operands, copier).run()
        for copy in copies[1:]:
            copy.erase()
        set_step(for_op, step * self.factor)
        for written_out in (for_op, *self.joints):
            written_out.attributes[loop.UNROLLED] = loop.MARK
        return UnrolledLoop(loop_handle(self.nest, for_op), tail)


@planner(UnrollAndJam)
def plan_unroll_and_jam(step: UnrollAndJam, nests: Nests) -> UnrollAndJamPlan:
    """
    Legal when no dependence is turned around by running `factor` iterations inside of the inner loops.

    Where the bounds of an inner loop differ between copies, what only some of them run is split off.
    """
    nest, name = nests.resolve(step.loop)
    for_op = nest.loop(name)
    check_unmarked(step, for_op)
    if step.factor < 1:
        raise refuse(step, f"factor is {step.factor}, expected at least 1")
    check_size(step, for_op, step.factor)
    joints = {inner: _joint(step, nest, for_op, inner) for inner in _loops_inside(step, for_op)}
    if not joints:
        raise refuse(step, f"loop '{name}' has no loop in its body", remedy="unroll it")
    tail = plan_tail(step, nest, for_op, TripCount(nest, for_op), step.factor, step.tail)
    if tail == "guard":
        _check_guards(step, for_op.body.block)
    times = _Times(step, nest, for_op, joints, tail == "peel")
    check_order(
        step,
        nest,
        for_op,
        times.order,
        remedy=f"unroll '{name}' without jamming, or interchange it inwards first",
        is_free=times.is_free,
    )
    joints = {inner: times.with_kind(step, joint) for inner, joint in joints.items()}
    (rest,) = nest.chosen_names((), [f"{name}.tail"])
    return UnrollAndJamPlan(nest, for_op, step.factor, tail, rest, joints)


def _loops_inside(step: UnrollAndJam, for_op: loop.ForOp) -> list[loop.ForOp]:
    """The loops to be joined, outermost first."""
    found: list[loop.ForOp] = []
    for op in for_op.body.block.ops:
        if isinstance(op, loop.ForOp):
            found += [op, *_loops_inside(step, op)]
        elif any(isinstance(inner, loop.ForOp) for inner in op.walk()):
            raise refuse(
                step,
                f"'{op.name}' stands between '{for_op.loop_name.data}' and a loop inside, whose copies "
                "may not all run",
                remedy="move the condition into the loop, or use unroll",
            )
    return found


def _joint(step: UnrollAndJam, nest: Nest, outer: loop.ForOp, for_op: loop.ForOp) -> Joint:
    """How the copies of an inner loop are joined."""
    lower, upper = lower_bound(for_op), upper_bound(for_op)
    if step.tail != "pad":  # what the bounds are beyond the end matters too where that runs
        lower, upper = plain_bounds(nest.frames, for_op)
    by = step.factor * outer.step.value.data
    lower_steps, upper_steps = (_growth(step, outer, for_op, bound) for bound in (lower, upper))
    joint = Joint(for_op, lower, upper, lower_steps, upper_steps)
    name, outer_name = for_op.loop_name.data, outer.loop_name.data
    own = for_op.step.value.data
    if any(s % own for s in lower_steps) or (own != 1 and joint.varies and len(lower[0]) > 1):
        raise refuse(
            step,
            f"loop '{name}' has the step {own} and starts at different values for its copies, which "
            "therefore share no iterations",
            remedy="normalize it first",
        )
    if for_op.mode is not None and joint.varies:
        raise refuse(
            step,
            f"the bounds of '{name}', which is marked '{for_op.mode.data.value}', depend on '{outer_name}'",
            remedy=f"unroll and jam before marking '{name}', by {by}",
        )
    return joint


def _growth(
    step: UnrollAndJam, outer: loop.ForOp, for_op: loop.ForOp, bound: BoundExprs
) -> tuple[int, ...]:
    """For each expression of a bound by how much it grows from one iteration of the outer loop to the next."""
    exprs, values = bound
    for value in values:
        if isinstance(value.owner, Operation) and outer.is_ancestor(value.owner):
            raise refuse(
                step,
                f"a bound of '{for_op.loop_name.data}' is computed inside of '{outer.loop_name.data}'",
                remedy="write it as an affine bound",
            )
    own = [n for n, value in enumerate(values) if value is outer.induction_variable]
    found: list[int] = []
    for expr in exprs:
        if expr.used_dims().isdisjoint(own):
            found.append(0)
            continue
        linear = linear_form(expr, len(values))
        if linear is None:
            raise refuse(
                step,
                f"a bound of '{for_op.loop_name.data}' is not linear in '{outer.loop_name.data}'",
                remedy="index_set_split or split the outer loop so that it is",
            )
        found.append(sum(linear[0][n] for n in own) * outer.step.value.data)
    return tuple(found)


def _check_guards(step: UnrollAndJam, block: Block) -> None:
    """Raise the refusal when a copy under a condition computes what later loops use."""
    for group in groups_of(block):
        if isinstance(group[0], loop.ForOp):
            _check_guards(step, group[0].body.block)
            continue
        for op in with_effects(group):
            for result in op.results:
                if any(not _is_within(use.operation, group) for use in result.uses):
                    raise _carried_value(step, op)


def _carried_value(step: UnrollAndJam, op: Operation) -> Refusal:
    return refuse(
        step,
        f"what '{op.name}' computes is used in a loop that follows, which conditions on copies forbid",
        remedy="use tail='peel' or a factor that divides",
    )


def _is_within(op: Operation, ancestors: Sequence[Operation]) -> bool:
    return any(ancestor.is_ancestor(op) for ancestor in ancestors)


class _Times:
    """
    When the operations inside of the loop run afterwards.

    The new time is: the block of iterations, the iteration in the rest when that is peeled, then for each
    loop inside its group in the block, the part (0 before what copies share, 1 in it, 2 after), the copy
    outside of the shared part, and its variable; at last the copy, and the old time.
    """

    def __init__(
        self,
        step: UnrollAndJam,
        nest: Nest,
        for_op: loop.ForOp,
        joints: Mapping[loop.ForOp, Joint],
        has_rest: bool,
    ):
        self.nest, self.for_op, self.joints = nest, for_op, joints
        self.factor = step.factor
        self.space = TimeSpace(nest)
        self.first = nest.time_position(for_op)
        self.depth = 1 + max(_depth(for_op, inner) for inner in joints)
        self._maps: dict[tuple[int, ...], isl.Map] = {}
        here, start = self.space.entries()[self.first], self.space.lower_bound(for_op)
        if start is None:
            name = for_op.loop_name.data
            raise refuse(step, f"the start of '{name}' is not affine, so its blocks are unknown")
        by = isl.Val(for_op.step.value.data)
        number = here.sub(start).scale_down_val(by).floor()
        self.block = number.scale_down_val(isl.Val(step.factor)).floor()
        self.copy = number.sub(self.block.scale_val(isl.Val(step.factor)))
        self.base = here.sub(self.copy.scale_val(by))
        self.rest = self._zero()
        if has_rest:
            self.rest = self._of_rest(here, step.factor * for_op.step.value.data)
        for joint in joints.values():
            if joint.varies and self._parts(joint) is None:
                name = joint.for_op.loop_name.data
                raise refuse(step, f"the bounds of '{name}' are not affine")

    def _zero(self) -> isl.PwAff:
        return constant(self.space.space, 0)

    def _of_rest(self, here: isl.PwAff, span: int) -> isl.PwAff:
        """The copy in iterations after the last whole block, 0 before."""
        _, ((exprs, values), _) = blocks_and_rest(self.nest, self.for_op, span)
        inside = isl.Set.empty(self.space.space)
        where = isl.Set.universe(self.space.space)
        for expr in exprs:
            bound = self.space.expr(expr, values)
            if bound is not None:
                where = where.intersect(here.ge_set(bound))
        return self._either(inside.union(where), self.copy, self._zero())

    @staticmethod
    def _either(where: isl.Set, yes: isl.PwAff, no: isl.PwAff) -> isl.PwAff:
        return yes.intersect_domain(where).union_add(no.subtract_domain(where))

    def order(self, access: Access) -> isl.Map:
        """From the old times of an access to its new ones."""
        path = self._path(access)
        if path not in self._maps:
            self._maps[path] = self._map(access, path)
        return self._maps[path]

    def _path(self, access: Access) -> tuple[int, ...]:
        """The group of the operation, or of the loop around it, in each block from the loop inwards."""
        groups: list[int] = []
        block = self.for_op.body.block
        while True:
            ancestor = block.find_ancestor_op_in_block(access.op)
            assert ancestor is not None
            numbered = enumerate(groups_of(block))
            groups.append(next(n for n, group in numbered if ancestor in group))
            if not isinstance(ancestor, loop.ForOp):
                return tuple(groups)
            block = ancestor.body.block

    def _map(self, access: Access, path: tuple[int, ...]) -> isl.Map:
        inside = access.loops[access.loops.index(self.for_op) + 1 :]
        zero, levels = self._zero(), list[isl.PwAff]()
        for number in range(self.depth):
            group = constant(self.space.space, path[number]) if number < len(path) else zero
            if number >= len(inside):
                levels += [group, zero, zero, zero]
                continue
            joint = self.joints[inside[number]]
            part = self._parts(joint) or constant(self.space.space, 1)
            apart = part.ne_set(constant(self.space.space, 1))
            variable = self.space.entries()[self.nest.time_position(inside[number])]
            levels += [group, part, self._either(apart, self.copy, zero), variable]
        return self.space.map(
            lambda t: [
                *t[: self.first],
                self.block,
                self.rest,
                *levels,
                self.copy,
                *t[self.first + 1 :],
            ]
        )

    def _parts(self, joint: Joint) -> isl.PwAff | None:
        """Before, in or after the iterations that all copies of an inner loop have."""
        here = self.space.entries()[self.nest.time_position(joint.for_op)]
        part = constant(self.space.space, 1)
        if any(joint.upper_steps):
            end = self._shared(joint.upper, joint.end(self.factor), isl.PwAff.min)
            if end is None:
                return None
            part = self._either(here.ge_set(end), constant(self.space.space, 2), part)
        if any(joint.lower_steps):
            start = self._shared(joint.lower, joint.start(self.factor), isl.PwAff.max)
            if start is None:
                return None
            part = self._either(here.lt_set(start), self._zero(), part)
        return part

    def _shared(
        self,
        bound: BoundExprs,
        more: Sequence[int],
        join: Callable[[isl.PwAff, isl.PwAff], isl.PwAff],
    ) -> isl.PwAff | None:
        """A bound for the first copy of a block, plus a number for each of its expressions."""
        exprs, values = bound
        dims: list[isl.PwAff] = []
        for value in values:
            is_own = value is self.for_op.induction_variable
            dim = self.base if is_own else self.space.value(value)
            if dim is None:
                return None
            dims.append(dim)
        space = self.space.space
        return reduce(join, [pw_aff(e + n, dims, space) for e, n in zip(exprs, more, strict=True)])

    def is_free(self, dependence: Dependence) -> bool:
        """
        Whether it is between updates of a reduction that stay whole: no loop stands in the midst of one,
        which would join the loads of several copies before their stores.
        """
        updates = self.nest.dependences.updates
        return dependence.reduction is not None and all(
            self._is_whole(updates[end.op].load, updates[end.op].store)
            for end in (dependence.source, dependence.sink)
        )

    def _is_whole(self, load: Operation, store: Operation) -> bool:
        block = load.parent
        assert block is not None
        return any(load in group and store in group for group in groups_of(block))

    def with_kind(self, step: UnrollAndJam, joint: Joint) -> Joint:
        """The joint with what its loop will be."""
        level = _depth(self.for_op, joint.for_op)
        position = self.first + 2 + _LEVEL * level + _LEVEL - 1
        claimed = joint.for_op.kind.data
        kind = kind_after(self.nest, joint.for_op, self.order, position, claimed)
        if joint.for_op.mode is not None and kind is not claimed:
            raise refuse(
                step,
                f"loop '{joint.for_op.loop_name.data}' is marked '{joint.for_op.mode.data.value}' and "
                f"would be {kind.value} with several iterations of '{self.for_op.loop_name.data}' in it",
                remedy="mark loops after all other steps",
            )
        return replace(joint, kind=kind)


def _depth(outer: loop.ForOp, inner: loop.ForOp) -> int:
    """How many loops stand between the two."""
    return list(regions_around(inner)).index(outer)


LoopUnrollAndJamPass = step_pass(UnrollAndJam, numerics="reassociates")
