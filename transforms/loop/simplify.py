"""simplify: what other steps leave, cleaned up: bounds, conditions, loops of one iteration."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir.affine import (
    AffineConstantExpr,
    AffineConstraintExpr,
    AffineConstraintKind,
    AffineExpr,
)

from ...analysis.extremes import corners, iterations, never_runs
from ...analysis.frames import Frame
from ...analysis.operations import blocks_of, body_of, operands_of
from ...dialects import loop
from ...dialects.affine_atoms import constant_expr, dim_expr
from ...dialects.affine_bounds import linear_form, simplified
from ...dialects.leaf_operations import map_of
from ...dialects.schedule.steps import Simplify
from ...frozen import frozen
from ..step_support.dead_conditions import simplify_condition
from ..step_support.made import Nothing
from ..step_support.nest import Nest, Nests
from ..step_support.planning import planner, step_pass
from ..step_support.rewrite import (
    BoundExprs,
    body_ops,
    erase_body,
    insert_before,
    lower_bound,
    replace_loop,
    set_bounds,
    shifted_to,
    substitute,
    upper_bound,
)
from ..step_support.tidy import tidy_operation
from ..step_support.tight_bounds import BoundTerms, tightened
from ..step_support.trip_count import TripCount


@frozen
class SimplifyPlan:
    """The function whose loops and conditions are simplified until nothing changes."""

    nest: Nest

    def apply(self) -> Nothing:
        walk = _Walk(self.nest)
        while walk.goes_on():
            pass
        self.nest.is_tidy = True
        return Nothing()


class _Walk:
    """
    Through all of a function, until nothing changes.

    Loops inside see the ones around as they will be, and what changes is looked at again at once, with the condition
    before it and with what is around it. So one walk is enough, but where a comparison of indices has been decided:
    what selects by it may stand anywhere.
    """

    def __init__(self, nest: Nest):
        self._nest = nest
        self._is_decided = False
        """whether this walk has decided a comparison"""
        self._changes = 0
        """of loops, conditions and comparisons"""

    def goes_on(self) -> bool:
        """Walk through the function once; whether another walk may find something to do."""
        self._is_decided = False
        self._simplify_block(body_of(self._nest.function), self._nest.frames.outermost)
        return self._is_decided

    def _simplify_block(self, block: Block, frame: Frame) -> None:
        last, op = None, block.first_op
        while op is not None:
            is_comparison = type(op) is arith.CmpiOp
            if tidy_operation(self._nest, op, frame) and is_comparison:
                self._is_decided = True
                self._changes += 1
            elif op.regions and self._is_changed(op, frame):
                self._changes += 1
            elif op.parent is block:
                last, op = op, op.next_op
                continue
            if last is not None and last.parent is not block:
                last = None  # gone with what has been decided
            if op.parent is not block:  # what has taken its place is simplified, too
                op = block.first_op if last is None else last.next_op
            if type(last) is loop.IfOp:  # it may be one with what follows it now
                last, op = last.prev_op, last

    def _is_changed(self, op: Operation, frame: Frame) -> bool:
        """Whether an operation that stands in a frame has been changed, before what is inside of it or because of that."""
        if self._simplify(op, frame):
            return True
        block, before = op.parent, self._changes
        for inner in blocks_of(op):
            self._simplify_block(inner, self._nest.frames.inside(op, inner, frame))
        return self._changes != before and op.parent is block and self._simplify(op, frame)

    def _simplify(self, op: Operation, frame: Frame) -> bool:
        """Whether an operation that stands in a frame has been changed."""
        if type(op) is loop.ForOp:
            return _simplify_bounds(self._nest, op, frame) or _take_in_condition(op)
        return type(op) is loop.IfOp and simplify_condition(self._nest, op, frame)


def _simplify_bounds(nest: Nest, for_op: loop.ForOp, outside: Frame) -> bool:
    """What takes isl to decide: superfluous in a loop that is plain."""
    is_empty = type(body_of(for_op).first_op) is loop.YieldOp
    if not is_empty and (_is_plain(for_op) or nest.simplified(for_op, outside)):
        return False
    lower, upper, step = lower_bound(for_op), upper_bound(for_op), for_op.step.value.data
    terms = outside.terms(*lower), outside.terms(*upper)
    counts = _counts_seen(outside, terms, step)
    if is_empty or _never_runs(nest, outside, for_op, counts):
        erase_body(for_op)
        replace_loop(for_op, ())
        return True
    bounds = tightened(outside, lower, upper, step, terms)
    is_tightened = not (_is_same(bounds[0], lower) and _is_same(bounds[1], upper))
    if is_tightened:  # `max(0, 4)..min(8, 16)` → `4..8`
        set_bounds(for_op, *bounds)
    if counts <= {1} and _replace_by_body(nest, for_op, outside):
        return True
    if counts == {0, 1} and _has_begun(nest, for_op, outside):
        return True
    nest.simplified.add(for_op, outside)
    return is_tightened


def _is_plain(for_op: loop.ForOp) -> bool:
    """Whether the loop runs from one number to another more than once."""
    if operands_of(for_op):
        return False
    lows, highs = map_of(for_op, "lower_map").results, map_of(for_op, "upper_map").results
    if len(lows) != 1 or len(highs) != 1:
        return False
    first, end = lows[0], highs[0]
    if type(first) is not AffineConstantExpr or type(end) is not AffineConstantExpr:
        return False
    return end.value - first.value > for_op.step.value.data


def _counts_seen(outside: Frame, terms: BoundTerms, step: int) -> set[int]:
    """
    How many iterations a loop has in the first and the last one of the loops around, where that is seen at once: as far as tells
    whether it runs, and whether it does more than once.
    """
    found: set[int] = set()
    lower, upper = terms
    if lower and upper:
        for point in corners(outside.around):
            count = len(iterations(lower, upper, step, point))
            found.add(count)
            if count > 1:
                break
    return found


def _never_runs(nest: Nest, outside: Frame, for_op: loop.ForOp, counts: set[int]) -> bool:
    return not any(counts) and never_runs(nest.frames.in_loop(for_op, outside).around)


def _is_same(a: BoundExprs, b: BoundExprs) -> bool:
    return tuple(a[0]) == tuple(b[0]) and tuple(a[1]) == tuple(b[1])


def _replace_by_body(nest: Nest, for_op: loop.ForOp, outside: Frame) -> bool:
    """`for i in 4..5: S(i)` → `S(4)`"""
    trip_count = TripCount(nest, for_op, outside)
    first = trip_count.first() if trip_count.constant() == 1 else None
    if first is None:
        return False
    substitute(for_op.induction_variable, first[0][0], first[1])
    body = body_ops(for_op)
    for op in body:
        op.detach()
    insert_before(for_op, body)
    replace_loop(for_op, ())
    return True


def _has_begun(nest: Nest, for_op: loop.ForOp, outside: Frame) -> bool:
    """`for i in 4..min(n, 5): S(i)` → `for i in 4..min(n, 5): S(4)`"""
    if not for_op.induction_variable.uses:
        return False
    trip_count = TripCount(nest, for_op, outside)
    first = trip_count.first() if trip_count.range()[1] == 1 else None
    if first is None:
        return False
    substitute(for_op.induction_variable, first[0][0], first[1])
    return True


def _take_in_condition(for_op: loop.ForOp) -> bool:
    """`for i in L..U: if (i - p >= 0): S` → `for i in max(L, p)..U: S`"""
    if_op = body_of(for_op).first_op
    if (
        type(if_op) is not loop.IfOp
        or len(body_ops(for_op)) != 1
        or for_op.mode is not None
        or if_op.else_region.blocks
        or if_op.outputs
    ):
        return False
    lower, upper = lower_bound(for_op), upper_bound(for_op)
    values = list(if_op.condition_operands)
    for constraint in if_op.condition.data.constraints:
        bounds = _as_bounds(for_op, constraint, values)
        if bounds is None:
            return False
        lower, upper = _join(lower, (bounds[0], values)), _join(upper, (bounds[1], values))
    set_bounds(for_op, lower, upper)
    for op in list(if_op.then_region.block.ops):
        if not isinstance(op, loop.YieldOp):
            op.detach()
            insert_before(if_op, [op])
    if_op.detach()
    if_op.erase()
    return True


def _join(a: BoundExprs, b: BoundExprs) -> BoundExprs:
    return [*a[0], *shifted_to(b[0], len(a[1]))], [*a[1], *b[1]]


def _as_bounds(
    for_op: loop.ForOp, constraint: AffineConstraintExpr, values: Sequence[SSAValue]
) -> tuple[list[AffineExpr], list[AffineExpr]] | None:
    """The lower and upper bounds on the loop's variable that a constraint is; None when it is none."""
    own = next((n for n, v in enumerate(values) if v is for_op.induction_variable), None)
    linear = linear_form(constraint.lhs, len(values))
    if own is None or linear is None or linear[0][own] == 0:
        return None
    coefficients, number = linear
    sign = -1 if constraint.kind is AffineConstraintKind.le else 1
    rest = constant_expr(number * sign)
    for n, coefficient in enumerate(coefficients):
        if n != own:
            rest = rest + dim_expr(n) * (coefficient * sign)
    rest = simplified(rest, len(values))
    factor = coefficients[own] * sign
    lower: list[AffineExpr] = []
    upper: list[AffineExpr] = []
    # factor * i + rest >= 0, and with an equality also -factor * i - rest >= 0.
    sides = [(factor, rest)]
    if constraint.kind is AffineConstraintKind.eq:
        sides.append((-factor, rest * -1))
    for a, b in sides:
        if a > 0:
            lower.append(simplified(b * -1, len(values)).ceil_div(a) if a != 1 else b * -1)
        else:
            upper.append((b // -a if a != -1 else b) + 1)
    # Another start would move the iterations of a loop that leaves some out.
    return None if lower and for_op.step.value.data != 1 else (lower, upper)


@planner(Simplify)
def plan_simplify(step: Simplify, nests: Nests) -> SimplifyPlan:
    """Always legal: the same operations run in the same order."""
    nest, _ = nests.resolve(f"{step.function}/" if step.function else "")
    return SimplifyPlan(nest)


LoopSimplifyPass = step_pass(Simplify)
