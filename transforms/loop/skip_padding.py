"""skip_padding: without the iterations in which a reduction joins nothing but the padding of what it reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import FloatAttr, IntegerAttr
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir.affine import AffineConstraintExpr, AffineConstraintKind, AffineExpr

from ...analysis.constants import is_finite_argument
from ...analysis.domains import LoopPart
from ...analysis.operations import operations_in
from ...analysis.reductions import ReductionUpdate
from ...dialects import loop
from ...dialects.affine_bounds import linear_form, simplified
from ...dialects.combiner import Combiner
from ...dialects.finite import is_constant_finite
from ...dialects.schedule.steps import SkipPadding
from ...frozen import frozen
from ..step_support.handles import loop_handle
from ..step_support.made import OneLoop
from ..step_support.modes import check_unmarked
from ..step_support.nest import Nest, Nests
from ..step_support.order import check_effects
from ..step_support.planning import planner, step_pass
from ..step_support.refusal import refuse
from ..step_support.rewrite import (
    BoundExprs,
    joined_bounds,
    lower_bound,
    set_bounds,
    upper_bound,
)
from ..step_support.tight_bounds import tightened

Form = tuple[Mapping[SSAValue, int], int]
"""A sum of values times numbers, and a number."""

_EXTENSIONS = arith.ExtFOp | arith.ExtSIOp | arith.ExtUIOp


@frozen
class SkipPaddingPlan:
    """The loop, and the bounds between which there is something to join."""

    nest: Nest
    for_op: loop.ForOp
    lower: BoundExprs
    upper: BoundExprs

    def apply(self) -> OneLoop:
        """`for k in 0..3` → `for k in max(0, 1 - i)..min(3, 11 - i)`"""
        set_bounds(self.for_op, self.lower, self.upper)
        return OneLoop(loop_handle(self.nest, self.for_op))


@planner(SkipPadding)
def plan_skip_padding(step: SkipPadding, nests: Nests) -> SkipPaddingPlan:
    """
    Legal when all that the loop does is to update one buffer by a reduction that may be reordered, and what it joins is the
    reduction's identity wherever a read is outside of its buffer: that number itself, or of sums a product of zero with
    integers, or with floats that are known to be finite (those of arguments that are marked `stepwell.finite`, and of copies
    of these). Results are the same but for the signs of zeros.
    """
    nest, name = nests.resolve(step.loop)
    for_op = nest.loop(name)
    check_unmarked(step, for_op)
    check_effects(step, for_op)
    if for_op.step.value.data != 1:
        raise refuse(step, f"loop '{name}' counts by more than 1", remedy="normalize it first")
    guards = _Joined(_update(step, nest, for_op)).guards
    if not guards:
        raise refuse(
            step,
            f"what loop '{name}' joins is not known to leave a result as it is where a read is outside of its buffer",
            remedy="mark constants that are finite, or skip nothing",
        )
    lower, upper = lower_bound(for_op), upper_bound(for_op)
    for guard in guards:
        for own, rest, values in _needed(guard, for_op):
            if own > 0:
                start = simplified(_quotient(rest * -1, own, up=True), len(values))
                lower = joined_bounds(lower, ([start], values), smallest=False)
            else:
                end = simplified(_quotient(rest, -own, up=False) + 1, len(values))
                upper = joined_bounds(upper, ([end], values), smallest=True)
    if not _leaves_out(nest, for_op, lower, upper):
        raise refuse(step, f"no iteration of loop '{name}' reads outside of a buffer alone")
    assert for_op.parent is not None
    lower, upper = tightened(nest.frames.of(for_op.parent), lower, upper, 1)
    return SkipPaddingPlan(nest, for_op, lower, upper)


def _update(step: SkipPadding, nest: Nest, for_op: loop.ForOp) -> ReductionUpdate:
    """The only thing that a loop does. Raises the refusal where there is more."""
    name = for_op.loop_name.data
    stores = [op for op in operations_in(for_op) if isinstance(op, loop.StoreOp)]
    if len(stores) != 1:
        raise refuse(
            step,
            f"loop '{name}' has {len(stores)} stores, expected one",
            remedy="fission it first",
        )
    update = nest.dependences.updates.of(stores[0])
    if update is None:
        raise refuse(step, f"loop '{name}' updates nothing by a reduction that may be reordered")
    return update


def _leaves_out(nest: Nest, for_op: loop.ForOp, lower: BoundExprs, upper: BoundExprs) -> bool:
    """Whether a loop has fewer iterations with new bounds."""
    assert for_op.parent is not None
    outside = nest.frames.of(for_op.parent)

    def iterations(lower: BoundExprs, upper: BoundExprs) -> LoopPart | None:
        lows, highs = outside.terms(*lower), outside.terms(*upper)
        return None if lows is None or highs is None else LoopPart(tuple(lows), tuple(highs), 1)

    old = iterations(lower_bound(for_op), upper_bound(for_op))
    new = iterations(lower, upper)
    if old is None or new is None or old == new:
        return False
    return not outside.around.within(old).domain.is_equal(outside.around.within(new).domain)


class _Joined:
    """What a reduction joins with its buffer."""

    def __init__(self, update: ReductionUpdate):
        self.update = update
        (value,) = (v for v in update.combine.operands if v is not update.load.result)
        self.guards: list[loop.IfOp] = []
        """conditions of which each leaves the identity where it does not hold"""
        operators = {str(combiner) for combiner in Combiner}
        if update.operator in operators:
            combiner = Combiner(update.operator)
            self.guards = list(_guards(value, combiner.identity(value.type).value.data))


def _guards(value: SSAValue, number: float) -> Iterator[loop.IfOp]:
    """The conditions where each of which does not hold a value is a number."""
    owner = value.owner
    if isinstance(owner, loop.IfOp) and len(owner.outputs) == 1:
        last = owner.else_region.block.last_op
        if last is not None and _is_number(last.operands[0], number):
            yield owner
    elif number == 0 and isinstance(owner, _EXTENSIONS):
        yield from _guards(owner.operands[0], number)
    elif number == 0 and isinstance(owner, arith.MulfOp | arith.MuliOp):
        for one, other in ((owner.lhs, owner.rhs), (owner.rhs, owner.lhs)):
            if _is_annihilated(owner, other):
                yield from _guards(one, number)


def _is_number(value: SSAValue, number: float) -> bool:
    owner = value.owner
    if not isinstance(owner, arith.ConstantOp):
        return False
    attribute = owner.value
    return isinstance(attribute, FloatAttr | IntegerAttr) and attribute.value.data == number


def _is_annihilated(product: arith.MulfOp | arith.MuliOp, value: SSAValue) -> bool:
    """Whether zero times a value is zero: not so of infinity, and of what is no number."""
    if isinstance(product, arith.MuliOp):
        return True
    free = {FastMathFlag.NO_NANS, FastMathFlag.NO_INFS}
    return free <= set(product.fastmath.data) or _is_finite(value)


def _is_finite(value: SSAValue, *, is_copied: bool = False) -> bool:
    """Whether a value is finite: of what is loaded from a copy it is asked once where that is from."""
    owner = value.owner
    if isinstance(owner, _EXTENSIONS):
        return _is_finite(owner.operands[0], is_copied=is_copied)
    if isinstance(owner, arith.ConstantOp):
        return is_constant_finite(owner.value) is True
    if isinstance(owner, loop.IfOp) and len(owner.outputs) == 1:
        ends = [region.block.last_op for region in owner.regions]
        return all(end and _is_finite(end.operands[0], is_copied=is_copied) for end in ends)
    if not isinstance(owner, loop.LoadOp):
        return False
    return is_finite_argument(owner.buffer) or (not is_copied and _is_finite_copy(owner.buffer))


def _is_finite_copy(buffer: SSAValue) -> bool:
    """Whether all that is stored in a scratch buffer is finite."""
    users = [use.operation for use in buffer.uses]
    stores = [op for op in users if isinstance(op, loop.StoreOp)]
    known = loop.LoadOp | loop.StoreOp | loop.PrefetchOp
    return (
        isinstance(buffer.owner, loop.AllocOp)
        and all(isinstance(op, known) for op in users)
        and all(_is_finite(op.value, is_copied=True) for op in stores)
    )


def _needed(
    guard: loop.IfOp, for_op: loop.ForOp
) -> Iterator[tuple[int, AffineExpr, list[SSAValue]]]:
    """
    For what must hold of a loop's variable v if the condition holds for some iteration of the loops inside of it: the
    factor, and over values outside of the loop the rest, of `factor * v + rest >= 0`.
    """
    values = list(guard.condition_operands)
    for constraint in guard.condition.data.constraints:
        for form in _forms(constraint, values):
            for by, number in _greatest(form, for_op):
                own = by.get(for_op.induction_variable, 0)
                outside = {v: f for v, f in by.items() if f and v is not for_op.induction_variable}
                rest = AffineExpr.constant(number)
                for n, factor in enumerate(outside.values()):
                    rest = rest + AffineExpr.dimension(n) * factor
                if own:
                    yield own, rest, list(outside)


def _forms(constraint: AffineConstraintExpr, values: Sequence[SSAValue]) -> Iterator[Form]:
    """Sums that are not negative where a constraint holds."""
    linear = linear_form(constraint.lhs - constraint.rhs, len(values))
    if linear is None:
        return
    by: dict[SSAValue, int] = {}
    for value, factor in zip(values, linear[0], strict=True):
        by[value] = by.get(value, 0) + factor
    kind = constraint.kind
    if kind is not AffineConstraintKind.le:
        yield by, linear[1]
    if kind is not AffineConstraintKind.ge:
        yield {value: -factor for value, factor in by.items()}, -linear[1]


def _greatest(form: Form, for_op: loop.ForOp) -> Iterator[Form]:
    """
    The greatest that a sum is over the iterations of the loops inside of another, over values outside of these: by each
    of the bounds that these loops have. None where it uses an index that is computed there.
    """
    by, number = dict(form[0]), form[1]
    inside = next((v for v in by if by[v] and _is_inside(v, for_op)), None)
    if inside is None:
        yield by, number
        return
    inner = inside.owner.parent_op() if isinstance(inside.owner, Block) else None
    if not isinstance(inner, loop.ForOp):
        return
    factor = by.pop(inside)
    exprs, values = upper_bound(inner) if factor > 0 else lower_bound(inner)
    for expr in exprs:
        linear = linear_form(expr, len(values))
        if linear is None:
            continue
        more = dict(by)
        for value, each in zip(values, linear[0], strict=True):
            more[value] = more.get(value, 0) + factor * each
        yield from _greatest((more, number + factor * (linear[1] - (factor > 0))), for_op)


def _is_inside(value: SSAValue, for_op: loop.ForOp) -> bool:
    owner = value.owner
    around = owner if isinstance(owner, Operation) else owner.parent_op()
    return around is not None and around is not for_op and for_op.is_ancestor(around)


def _quotient(expr: AffineExpr, divisor: int, *, up: bool) -> AffineExpr:
    if divisor == 1:
        return expr
    return expr.ceil_div(divisor) if up else expr // divisor


LoopSkipPaddingPass = step_pass(SkipPadding, numerics="reassociates")
