"""Affine expressions of a function without the divisions that the ranges of its loops decide."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import gcd
from typing import Any

from xdsl.dialects import affine, arith
from xdsl.dialects.builtin import AffineMapAttr, IntegerAttr
from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr, AffineMap

from ...analysis.affine_isl import applied
from ...analysis.domains import REMEMBERED, Around, LoopPart
from ...analysis.frames import Frame
from ...analysis.guards import compared, predicate_of
from ...analysis.operations import blocks_of, body_of, last_operands, operands_of, operations_of
from ...dialects import loop
from ...dialects.affine_bounds import (
    Range,
    bounds,
    has_each_term_once,
    linear_form,
    without_divisions,
)
from ...dialects.affine_text import compact
from ...dialects.leaf_operations import map_of
from ...frozen import frozen_in_types
from .dead import erase_dead
from .nest import Nest, loops_around
from .rewrite import (
    collected,
    lower_bound,
    set_bounds,
    set_left_sides,
    set_subscripts,
    upper_bound,
)


@frozen_in_types
class Known:
    """What is known of a value: its range, and a number that it is a multiple of."""

    range: Range = (None, None)
    multiple_of: int = 1


_NOTHING = Known()


def tidy_expressions(nest: Nest) -> None:
    """
    Work out what the loops' ranges decide in subscripts, bounds and conditions.

    `A[(i * 16 + v) floordiv 16, (i * 16 + v) mod 16]` becomes `A[i, v]` where `v` runs from 0 to 16.
    """
    _tidy_block(nest, body_of(nest.function), nest.frames.outermost)
    nest.is_tidy = True


def tidy_loops(nest: Nest, loops: Sequence[loop.ForOp]) -> None:
    """The same where only these loops, those around others first, and what is in them differ from when the function was tidy."""
    done: set[loop.ForOp] = set()
    for for_op in loops:
        if done.isdisjoint(loops_around(for_op)):
            assert for_op.parent is not None
            done.add(for_op)
            _tidy_with_inside(nest, for_op, nest.frames.of(for_op.parent))
    nest.is_tidy = True


def _tidy_block(nest: Nest, block: Block, frame: Frame) -> None:
    for op in operations_of(block):
        if op.parent is not None:  # else it was decided by what an operation before it is
            _tidy_with_inside(nest, op, frame)


def _tidy_with_inside(nest: Nest, op: Operation, frame: Frame) -> None:
    tidy_operation(nest, op, frame)
    if op.regions and op.parent is not None:
        for inner in blocks_of(op):
            _tidy_block(nest, inner, nest.frames.inside(op, inner, frame))


def tidy_operation(nest: Nest, op: Operation, frame: Frame) -> bool:
    """
    The same for one operation that stands in a frame, without what is inside of it; whether it changed, or is gone with
    what it decides.
    """
    if type(op) not in _AFFINE:
        return False
    maps = _MAPS.get(type(op))
    if (maps is not None and _are_plain(nest, op, maps)) or nest.tidied(op, frame):
        return False
    changed = _tidy(op, frame)
    if op.parent is not None:
        nest.tidied.add(op, frame)
    return changed


_MAPS: Mapping[type[Operation], tuple[str, ...]] = {
    loop.LoadOp: ("map",),
    loop.StoreOp: ("map",),
    loop.PrefetchOp: ("map",),
    loop.ForOp: ("lower_map", "upper_map"),
}
"""Properties of affine operations in which there may be something to work out."""


def _are_plain(nest: Nest, op: Operation, maps: Sequence[str]) -> bool:
    """Whether all expressions of some maps have each term once, as most: then nothing depends on what is around the operation."""
    known, own = nest.plain_maps, op.properties
    for name in maps:
        map_: Any = own[name]
        if id(map_) not in known:
            for expr in map_.data.results:
                if not has_each_term_once(expr):
                    return False
            known[id(map_)] = map_
    return True


@lru_cache(REMEMBERED)
def _variables(around: Around) -> tuple[Known, ...]:
    """What is known of the parameters and then of the loops' variables."""
    if around.outer is None:
        return (_NOTHING,) * around.parameters
    outer, part = _variables(around.outer), around.part
    if not isinstance(part, LoopPart):
        return outer
    ranges = [known.range for known in outer]
    lows = [low for low, _ in (bounds(e, ranges) for e in part.lower) if low is not None]
    highs = [high for _, high in (bounds(e, ranges) for e in part.upper) if high is not None]
    range_ = max(lows, default=None), min(highs) - 1 if highs else None
    return (*outer, Known(range_, _multiple_of(part, outer)))


def _multiple_of(part: LoopPart, outer: Sequence[Known]) -> int:
    """A number that a loop's variable always is a multiple of: of its step, if where it starts is."""
    found = part.step
    for expr in part.lower:
        linear = linear_form(expr, len(outer))
        if linear is None:
            return 1
        found = gcd(found, linear[1])
        for factor, known in zip(linear[0], outer, strict=True):
            found = gcd(found, factor * known.multiple_of)
    return (found or 1) if part.lower else 1


_AFFINE = frozenset(
    (
        loop.LoadOp,
        loop.StoreOp,
        loop.PrefetchOp,
        loop.ForOp,
        loop.IfOp,
        affine.ApplyOp,
        arith.CmpiOp,
    )
)


def _tidy(op: Operation, frame: Frame) -> bool:
    if type(op) is loop.LoadOp or type(op) is loop.StoreOp or type(op) is loop.PrefetchOp:
        map_ = map_of(op, "map")
        values = last_operands(op, map_.num_dims)
        new = _worked_out(map_.results, values, frame)
        if new == map_.results:
            return False
        set_subscripts(op, new, values)
    elif type(op) is loop.ForOp:
        lows, highs = lower_bound(op), upper_bound(op)
        lower, upper = _worked_out(*lows, frame), _worked_out(*highs, frame)
        if lower == lows[0] and upper == highs[0]:
            return False
        set_bounds(op, (lower, lows[1]), (upper, highs[1]))
    elif type(op) is loop.IfOp:
        constraints, values = op.condition.data.constraints, operands_of(op)
        old = tuple(c.lhs for c in constraints)
        new = _worked_out(old, values, frame)
        if new == old:
            return False
        set_left_sides(op, new, values)
    elif type(op) is affine.ApplyOp:
        old, values = (applied(op),), operands_of(op)
        new = _worked_out(old, values, frame)
        if new == old:
            return False
        exprs, used = compact(new, values)
        op.operands = used
        op.map = AffineMapAttr(AffineMap(len(used), 0, exprs))
    else:
        return type(op) is arith.CmpiOp and _decide(op, frame)
    return True


_ANSWERS: Mapping[str, tuple[bool, bool, bool]] = {
    "eq": (False, True, False),
    "ne": (True, False, True),
    "slt": (True, False, False),
    "sle": (True, True, False),
    "sgt": (False, False, True),
    "sge": (False, True, True),
}
"""What a comparison is where the first number is less than the second, equal to it, and greater."""


def _decide(op: arith.CmpiOp, frame: Frame) -> bool:
    """Work out what depends on a comparison of indices that the loops' ranges decide."""
    form, answers = compared(op), _ANSWERS.get(predicate_of(op))
    if form is None or answers is None:
        return False
    exprs = [AffineExpr.dimension(n) * factor for n, factor in enumerate(form[0].values())]
    known = _known(list(form[0]), frame)
    low, high = bounds(sum(exprs, AffineExpr.constant(form[1])), [k.range for k in known])
    possible = (
        low is None or low < 0,
        low is None or high is None or low <= 0 <= high,
        high is None or high > 0,
    )
    found = {answer for answer, can_be in zip(answers, possible, strict=True) if can_be}
    if len(found) != 1:
        return False
    return _use_decided(op.result, found == {True})


def _use_decided(condition: SSAValue, holds: bool) -> bool:
    """Let what selects by a condition take what it always does, and conditions of conditions be what they always are."""
    changed = False
    for user in [use.operation for use in condition.uses]:
        if user.parent_block() is None:
            continue  # erased with another that needed it
        match user:
            case arith.SelectOp() if user.cond is condition:
                user.result.replace_all_uses_with(user.lhs if holds else user.rhs)
            case arith.AndIOp() | arith.OrIOp():
                if holds == isinstance(user, arith.AndIOp):
                    user.result.replace_all_uses_with(_other(user, condition))
                else:
                    changed |= _use_decided(user.result, holds)
            case arith.XOrIOp():
                other = _constant_condition(_other(user, condition))
                if other is not None:
                    changed |= _use_decided(user.result, holds != other)
            case _:
                continue
        if user.parent_block() is not None and not user.results[0].uses:
            changed = True
            erase_dead(user)
    return changed


def _other(op: arith.AndIOp | arith.OrIOp | arith.XOrIOp, operand: SSAValue) -> SSAValue:
    return op.rhs if op.lhs is operand else op.lhs


def _constant_condition(value: SSAValue) -> bool | None:
    """What a condition always is, where it is a constant."""
    match value.owner:
        case arith.ConstantOp(value=IntegerAttr(value=number)):
            return bool(number.data)
        case _:
            return None


def _worked_out(
    exprs: Sequence[AffineExpr], values: Sequence[SSAValue], frame: Frame
) -> tuple[AffineExpr, ...]:
    if all(map(has_each_term_once, exprs)):  # as most: nothing to work out, whatever is known
        return tuple(exprs)
    known = _known(values, frame)
    return tuple([_expression(e, known) for e in exprs])


def _known(values: Sequence[SSAValue], frame: Frame) -> tuple[Known, ...]:
    variables = _variables(frame.around)
    return tuple(
        variables[term.position]
        if isinstance(term := frame.variables.get(value), AffineDimExpr)
        else _NOTHING
        for value in values
    )


@lru_cache(REMEMBERED)
def _expression(expr: AffineExpr, known: tuple[Known, ...]) -> AffineExpr:
    within, multiples = [k.range for k in known], [k.multiple_of for k in known]
    return collected(without_divisions(expr, within, multiples))
