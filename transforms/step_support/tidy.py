"""Affine expressions of a function without the divisions that the ranges of its loops decide."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import gcd

from xdsl.dialects import affine, func
from xdsl.dialects.builtin import AffineMapAttr
from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir.affine import AffineConstraintExpr, AffineExpr, AffineMap

from ...analysis.affine_isl import applied
from ...analysis.domains import REMEMBERED
from ...dialects import loop
from ...dialects.affine_bounds import Range, bounds, linear_form, without_divisions
from ...dialects.affine_text import compact
from .rewrite import (
    BoundExprs,
    collected,
    lower_bound,
    set_bounds,
    set_condition,
    set_subscripts,
    upper_bound,
)


@dataclass(frozen=True)
class Known:
    """What is known of a value: its range, and a number that it is a multiple of."""

    range: Range = (None, None)
    multiple_of: int = 1


_NOTHING = Known()

Ranges = dict[SSAValue, Known]


def tidy_expressions(function: func.FuncOp) -> bool:
    """
    Work out what the loops' ranges decide in subscripts, bounds and conditions; whether any changed.

    `A[(i * 16 + v) floordiv 16, (i * 16 + v) mod 16]` becomes `A[i, v]` where `v` runs from 0 to 16.
    """
    return _tidy_block(function.body.blocks[0], {})


def _tidy_block(block: Block, ranges: Ranges) -> bool:
    changed = False
    for op in block.ops:
        if type(op) in _AFFINE:
            changed |= _tidy(op, ranges)
        if op.regions and isinstance(op, loop.ForOp):
            ranges[op.induction_variable] = Known(_range(op, ranges), _multiple_of(op, ranges))
        for region in op.regions:
            for inner in region.blocks:
                changed |= _tidy_block(inner, ranges)
    return changed


def _multiple_of(op: loop.ForOp, ranges: Ranges) -> int:
    """A number that a loop's variable always is a multiple of: of its step, if where it starts is."""
    exprs, values = lower_bound(op)
    found = op.step.value.data
    for expr in exprs:
        linear = linear_form(expr, len(values))
        if linear is None:
            return 1
        found = gcd(found, linear[1])
        for factor, value in zip(linear[0], values, strict=True):
            found = gcd(found, factor * ranges.get(value, _NOTHING).multiple_of)
    return found or 1


def _range(op: loop.ForOp, ranges: Ranges) -> Range:
    """What is known of a loop's variable in its body from what is known of its bounds."""
    lows = [low for low, _ in _bounds(lower_bound(op), ranges) if low is not None]
    highs = [high for _, high in _bounds(upper_bound(op), ranges) if high is not None]
    return max(lows, default=None), min(highs) - 1 if highs else None


def _bounds(bound: BoundExprs, ranges: Ranges) -> list[Range]:
    known = [ranges.get(value, _NOTHING).range for value in bound[1]]
    return [bounds(expr, known) for expr in bound[0]]


_AFFINE = frozenset(
    (loop.LoadOp, loop.StoreOp, loop.PrefetchOp, loop.ForOp, loop.IfOp, affine.ApplyOp)
)


def _tidy(op: Operation, ranges: Ranges) -> bool:
    match op:
        case loop.LoadOp() | loop.StoreOp() | loop.PrefetchOp():
            old, values = op.map.data.results, list(op.operands_)
            new = _worked_out(old, values, ranges)
            if new != old:
                set_subscripts(op, new, values)
        case loop.ForOp():
            lows, highs = lower_bound(op), upper_bound(op)
            old = (*lows[0], *highs[0])
            lower, upper = _worked_out(*lows, ranges), _worked_out(*highs, ranges)
            new = (*lower, *upper)
            if new != old:
                set_bounds(op, (lower, lows[1]), (upper, highs[1]))
        case loop.IfOp():
            constraints, values = op.condition.data.constraints, list(op.condition_operands)
            old = tuple(c.lhs for c in constraints)
            new = _worked_out(old, values, ranges)
            if new != old:
                parts = zip(constraints, new, strict=True)
                set_condition(
                    op,
                    [AffineConstraintExpr(c.kind, e, c.rhs, canonicalize=False) for c, e in parts],
                    values,
                )
        case affine.ApplyOp():
            old, values = (applied(op),), list(op.mapOperands)
            new = _worked_out(old, values, ranges)
            if new != old:
                exprs, used = compact(new, values)
                op.operands = used
                op.map = AffineMapAttr(AffineMap(len(used), 0, exprs))
        case _:
            return False
    return new != old


def _worked_out(
    exprs: Sequence[AffineExpr], values: Sequence[SSAValue], ranges: Ranges
) -> tuple[AffineExpr, ...]:
    known = tuple(ranges.get(value, _NOTHING) for value in values)
    return tuple(_expression(e, known) for e in exprs)


@lru_cache(REMEMBERED)
def _expression(expr: AffineExpr, known: tuple[Known, ...]) -> AffineExpr:
    within, multiples = [k.range for k in known], [k.multiple_of for k in known]
    return collected(without_divisions(expr, within, multiples))
