"""Statements between the loops of a nest, moved into the innermost loop to make the nest perfect."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import islpy as isl
from xdsl.dialects import memref
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineConstraintExpr, AffineConstraintKind, AffineExpr
from xdsl.traits import is_side_effect_free

from ...analysis.affine_isl import constant, pw_aff
from ...dialects import loop
from ...dialects.affine_bounds import simplified
from ...dialects.schedule import Step
from ...frozen import frozen
from .nest import Nest
from .order import TimeSpace
from .refusal import refuse
from .rewrite import BoundExprs, body_ops, insert_before, shifted_to
from .tight_bounds import plain_bounds
from .trip_count import TripCount


@frozen
class Segment:
    """Operations in the body of `chain[level]`, before or after the next loop of the chain."""

    level: int
    is_before: bool
    ops: tuple[Operation, ...]


@frozen
class Sinking:
    """
    What stands between the loops of a chain, and how it gets inside.

    `free` operations have no effect and run in every iteration of the innermost loop. Those of a segment
    run under a condition: in the first iteration of the loops further inside, or in the last. There are no loops
    among them.
    """

    nest: Nest
    chain: tuple[loop.ForOp, ...]
    free: tuple[Operation, ...]
    segments: tuple[Segment, ...]

    def apply(self) -> None:
        """`for i: S(i); for j in L..U: T(i, j)` → `for i: for j in L..U: (if j == L: S(i)); T(i, j)`"""
        block = self.chain[-1].body.block
        first, end = block.first_op, block.last_op
        assert first is not None and end is not None
        for op in self.free:
            op.detach()
            insert_before(first, [op])
        before = [s for s in self.segments if s.is_before]
        after = [s for s in reversed(self.segments) if not s.is_before]
        insert_before(first, [self._guarded(segment) for segment in before])
        insert_before(end, [self._guarded(segment) for segment in after])

    def _guarded(self, segment: Segment) -> loop.IfOp:
        for op in segment.ops:
            op.detach()
        body = Region(Block([*segment.ops, loop.YieldOp()]))
        exprs: list[AffineExpr] = []
        operands: list[SSAValue] = []
        for for_op in self.chain[segment.level + 1 :]:
            (value,), values = self.extreme(for_op, first=segment.is_before)
            (value,) = shifted_to([value], len(operands) + 1)
            exprs.append(simplified(AffineExpr.dimension(len(operands)) - value, 128))
            operands += [for_op.induction_variable, *values]
        zero = AffineExpr.constant(0)
        constraints = [
            AffineConstraintExpr(AffineConstraintKind.eq, expr, zero, canonicalize=False)
            for expr in exprs
        ]
        return loop.IfOp(constraints, operands, body)

    def extreme(self, for_op: loop.ForOp, *, first: bool) -> BoundExprs:
        """The first or last value of a loop's variable."""
        (lows, low_values), (highs, high_values) = plain_bounds(self.nest.frames, for_op)
        if first:
            return lows, low_values
        step = for_op.step.value.data
        (high,) = shifted_to(highs, len(low_values))
        values = [*low_values, *high_values]
        if step == 1:
            return [high - 1], values
        count = simplified(high - lows[0], len(values)).ceil_div(step)
        return [lows[0] + (count - 1) * step], values

    # Time.

    def variables(self, space: TimeSpace) -> list[isl.PwAff]:
        """The chain's variables in the iteration each operation inside of it will run in."""
        entries = space.entries()
        found = [entries[self.nest.time_position(self.chain[0])]]
        nothing = isl.Set.empty(space.space)
        before, after, inside = nothing, nothing, isl.Set.universe(space.space)
        for level, (outer, inner) in enumerate(pairwise(self.chain)):
            if not self.segments:
                found.append(entries[self.nest.time_position(inner)])
                continue
            here = entries[self.nest.time_position(outer) + 1]
            position = constant(space.space, list(outer.body.block.ops).index(inner))
            before = before.union(inside.intersect(here.lt_set(position)))
            after = after.union(inside.intersect(here.gt_set(position)))
            inside = inside.intersect(here.eq_set(position))
            own = entries[self.nest.time_position(inner)].intersect_domain(inside)
            for where, first in ((before, True), (after, False)):
                # Where nothing stands, the extreme may be no single expression.
                if any(s.is_before is first and s.level <= level for s in self.segments):
                    value = self.value(space, found, inner, first=first)
                    own = own.union_add(value.intersect_domain(where))
            found.append(own)
        return found

    def value(
        self, space: TimeSpace, outer: Sequence[isl.PwAff], for_op: loop.ForOp, *, first: bool
    ) -> isl.PwAff:
        """The first or last value of a loop of the chain as a function of time."""
        (expr,), values = self.extreme(for_op, first=first)
        variables = {op.induction_variable: v for op, v in zip(self.chain, outer, strict=False)}
        dims = [variables[v] if v in variables else space.value(v) for v in values]
        known = [dim for dim in dims if dim is not None]
        assert len(known) == len(dims), "checked by plan_sinking"
        return pw_aff(expr, known, space.space)


def plan_sinking(step: Step, nest: Nest, chain: tuple[loop.ForOp, ...]) -> Sinking:
    """
    How the statements between the loops of a chain get inside. Raises the refusal of `step` when they cannot.

    Whether they may run there is not asked: that is for the new order to decide.
    """
    free: list[Operation] = []
    segments: list[Segment] = []
    for level, (outer, inner) in enumerate(pairwise(chain)):
        ops = body_ops(outer)
        position = ops.index(inner)
        for part, is_before in ((ops[:position], True), (ops[position + 1 :], False)):
            bound = bound_to_effects(part)
            free += [op for op in part if op not in bound]
            if bound:
                segments.append(Segment(level, is_before, tuple(bound)))
    sinking = Sinking(nest, chain, tuple(free), tuple(segments))
    for segment in segments:
        _check_segment(step, sinking, segment)
    return sinking


def bound_to_effects(ops: Sequence[Operation]) -> list[Operation]:
    """
    The operations with an effect, and those that use what they compute.

    So are views, which must not begin outside of their buffer.
    """
    bound: list[Operation] = []
    for op in ops:
        is_pure = is_side_effect_free(op) and not isinstance(op, memref.SubviewOp)
        if not is_pure or any(v.owner in bound for v in _used(op)):
            bound.append(op)
    return bound


def _used(op: Operation) -> Iterator[SSAValue]:
    for inner in op.walk():
        yield from inner.operands


def _check_segment(step: Step, sinking: Sinking, segment: Segment) -> None:
    outer = sinking.chain[segment.level].loop_name.data
    _check_no_loops(step, sinking, segment)
    for op in segment.ops:
        for result in op.results:
            if any(not _is_within(use.operation, segment.ops) for use in result.uses):
                name = f"'%{result.name_hint}'" if result.name_hint else "its result"
                raise refuse(
                    step,
                    f"'{op.name}' stands beside a loop in the body of '{outer}', and {name} is used "
                    "elsewhere",
                    remedy="make the nest perfect with fission or by storing it to a buffer first",
                )
    for for_op in sinking.chain[segment.level + 1 :]:
        _check_runs(step, sinking.nest, for_op, outer, segment)


def _check_no_loops(step: Step, sinking: Sinking, segment: Segment) -> None:
    """A whole loop under a condition in the innermost one would be correct, and is never what is meant."""
    outer, inner = (for_op.loop_name.data for for_op in sinking.chain[segment.level :][:2])
    for op in segment.ops:
        beside = next((inside for inside in op.walk() if isinstance(inside, loop.ForOp)), None)
        if beside is None:
            continue
        name = beside.loop_name.data
        raise refuse(
            step,
            f"loop '{name}' stands beside '{inner}' in the body of '{outer}', and would run under a condition "
            f"in '{sinking.chain[-1].loop_name.data}'",
            remedy=f'fission("{outer}", after="{name if segment.is_before else inner}") first, which gives '
            f"'{name}' a nest of its own",
        )


def _check_runs(step: Step, nest: Nest, for_op: loop.ForOp, outer: str, segment: Segment) -> None:
    """A statement moved into a loop needs an iteration to run in."""
    name = for_op.loop_name.data
    trip_count = TripCount(nest, for_op)
    lower, upper = plain_bounds(nest.frames, for_op)
    which = "first" if segment.is_before else "last"
    if not trip_count.is_known or trip_count.range()[0] < 1:
        raise refuse(
            step,
            f"'{segment.ops[0].name}' stands beside '{name}' in the body of '{outer}', and would not "
            f"run where '{name}' has no iteration",
            remedy="make the nest perfect with fission first",
        )
    if len(lower[0]) > 1 or (not segment.is_before and len(upper[0]) > 1):
        raise refuse(
            step,
            f"'{segment.ops[0].name}' stands beside '{name}' in the body of '{outer}', and the {which} "
            f"iteration of '{name}' is no affine expression",
            remedy="make the nest perfect with fission first",
        )


def _is_within(op: Operation, ancestors: Sequence[Operation]) -> bool:
    return any(ancestor.is_ancestor(op) for ancestor in ancestors)
