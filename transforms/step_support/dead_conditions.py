"""Conditions that always or never hold where they stand, and conditions that can be one."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import islpy as isl
from xdsl.builder import Builder
from xdsl.ir import Block, Operation, Region
from xdsl.ir.affine import AffineConstraintExpr, AffineConstraintKind, AffineExpr
from xdsl.rewriter import InsertPoint

from ...analysis.affine_isl import constraint_set
from ...analysis.counters import counters, extent, linear
from ...analysis.domains import REMEMBERED, Around
from ...analysis.extremes import corners, is_kept_up_by_a_bound, is_met
from ...analysis.frames import Frame
from ...dialects import loop
from .nest import Nest
from .rewrite import set_condition, shifted_to


def simplify_condition(nest: Nest, if_op: loop.IfOp, around: Frame) -> bool:
    """
    Take a condition apart that is decided where it stands, or make it smaller. Whether anything changed.

    A condition that always holds is replaced by its first branch, one that never does by its second.
    Constraints that follow from the rest and from the loops around are dropped. Conditions directly in
    each other, and equal ones after each other, become one.
    """
    if not nest.simplified(if_op, around):
        if _simplify_constraints(around, if_op):
            return True
        nest.simplified.add(if_op, around)
    return _drop_empty(if_op) or _merge_inner(if_op) or _merge_next(if_op)


def _simplify_constraints(around: Frame, if_op: loop.IfOp) -> bool:
    constraints = if_op.condition.data.constraints
    terms = around.terms([c.lhs for c in constraints], list(if_op.condition_operands))
    if terms is None:
        return False
    needed = _needed(around.around, tuple(map(_with_lhs, constraints, terms)))
    if needed is None:
        _replace(if_op, if_op.else_region)
    elif not needed:
        _replace(if_op, if_op.then_region)
    elif len(needed) < len(constraints):
        kept = [constraints[n] for n in needed]
        set_condition(if_op, kept, list(if_op.condition_operands))
    else:
        return False
    return True


@lru_cache(REMEMBERED)
def _needed(around: Around, constraints: tuple[AffineConstraintExpr, ...]) -> Sequence[int] | None:
    """The constraints that are not implied by the others and what is around; None if they never hold."""
    kept = list(range(len(constraints)))
    for number, constraint in enumerate(constraints):
        others = [constraints[n] for n in kept if n != number]
        if _follows(around, others, constraint):
            kept.remove(number)
    return kept if not kept or _can_hold(around, [constraints[n] for n in kept]) else None


def _follows(
    around: Around, given: Sequence[AffineConstraintExpr], constraint: AffineConstraintExpr
) -> bool:
    """Whether a constraint holds in all iterations in which others do: mostly their corners say so in plain numbers."""
    if _extent(around, constraint)[0]:
        return True
    forms = [linear(each.lhs, around) for each in (constraint, *given)]
    for point in corners(around, forms):
        if not is_met(constraint, point) and all(is_met(each, point) for each in given):
            return False
    is_lower = constraint.kind is AffineConstraintKind.ge
    if is_lower and is_kept_up_by_a_bound(around, constraint.lhs):
        return True
    return _holding(around, given).is_subset(_holding(around, [constraint]))


def _can_hold(around: Around, constraints: Sequence[AffineConstraintExpr]) -> bool:
    """Whether all constraints hold in some iteration."""
    if any(_extent(around, constraint)[1] for constraint in constraints):
        return False
    forms = [linear(each.lhs, around) for each in constraints]
    for point in corners(around, forms):
        if all(is_met(constraint, point) for constraint in constraints):
            return True
    return not _holding(around, constraints).is_empty()


def _extent(around: Around, constraint: AffineConstraintExpr) -> tuple[bool, bool]:
    """Whether interval arithmetic shows that an inequality always holds, and that it never does."""
    form = linear(constraint.lhs, around)
    if form is None or constraint.kind is not AffineConstraintKind.ge:
        return False, False
    low, high = extent(form, counters(around).ranges)
    return low is not None and low >= 0, high is not None and high < 0


def _holding(around: Around, constraints: Sequence[AffineConstraintExpr]) -> isl.Set:
    """The iterations in which constraints hold."""
    result = around.domain
    for constraint in constraints:
        result = result.intersect(constraint_set(constraint, around.variables, around.space))
    return result


def _replace(if_op: loop.IfOp, region: Region) -> None:
    """Put a branch in the place of its condition."""
    body = list(region.block.ops) if region.blocks else []
    builder = Builder(InsertPoint.before(if_op))
    for op in body:
        if isinstance(op, loop.YieldOp):
            for output, value in zip(if_op.outputs, op.values, strict=True):
                output.replace_all_uses_with(value)
            continue
        op.detach()
        builder.insert(op)
    _erase(if_op)


def _erase(op: Operation) -> None:
    op.detach()
    op.erase()


def _drop_empty(if_op: loop.IfOp) -> bool:
    """Drop branches without operations, and then the condition."""
    if if_op.outputs:
        return False
    if if_op.else_region.blocks and _is_empty(if_op.else_region):
        if_op.detach_region(if_op.else_region)
        if_op.add_region(Region())
        return True
    if not if_op.else_region.blocks and _is_empty(if_op.then_region):
        _erase(if_op)
        return True
    return False


def _is_empty(region: Region) -> bool:
    return all(isinstance(op, loop.YieldOp) for op in region.block.ops)


def _merge_inner(if_op: loop.IfOp) -> bool:
    """`if a: if b: S` → `if a and b: S`"""
    inner = if_op.then_region.block.first_op
    if (
        not isinstance(inner, loop.IfOp)
        or not isinstance(inner.next_op, loop.YieldOp)
        or if_op.else_region.blocks
        or inner.else_region.blocks
    ):
        return False
    outer_values = list(if_op.condition_operands)
    outer, nested = if_op.condition.data.constraints, inner.condition.data.constraints
    moved = shifted_to([c.lhs for c in nested], len(outer_values))
    joined = [*outer, *(_with_lhs(c, e) for c, e in zip(nested, moved, strict=True))]
    merged = loop.IfOp(
        joined,
        [*outer_values, *inner.condition_operands],
        inner.detach_region(inner.then_region),
    )
    Builder(InsertPoint.before(if_op)).insert(merged)
    _erase(if_op)
    return True


def _with_lhs(constraint: AffineConstraintExpr, lhs: AffineExpr) -> AffineConstraintExpr:
    return AffineConstraintExpr(constraint.kind, lhs, constraint.rhs, canonicalize=False)


def _merge_next(if_op: loop.IfOp) -> bool:
    """`if a: S` followed by `if a: T` → `if a: S; T`"""
    following = if_op.next_op
    if (
        not isinstance(following, loop.IfOp)
        or following.condition != if_op.condition
        or tuple(following.condition_operands) != tuple(if_op.condition_operands)
        or if_op.outputs
        or following.outputs
        or bool(if_op.else_region.blocks) != bool(following.else_region.blocks)
    ):
        return False
    for own, other in zip(if_op.regions, following.regions, strict=True):
        if own.blocks:
            _append(own.block, other.block)
    _erase(following)
    return True


def _append(target: Block, source: Block) -> None:
    last = target.last_op
    assert last is not None
    for op in list(source.ops):
        if not isinstance(op, loop.YieldOp):
            op.detach()
            target.insert_op_before(op, last)
