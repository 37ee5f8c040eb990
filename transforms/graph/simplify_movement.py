"""Operations that only move elements: what cancels, joins or becomes smaller."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, ClassVar, cast

from ...dialects import graph
from ...dialects.graph.expressions import Expr
from ...dialects.graph.shapes import is_static
from ...frozen import frozen
from .affine_gathers import GatherNdOfAffine, GatherOfAffine
from .functions import (
    broadcast_to,
    expand_dims,
    max_of,
    mean,
    min_of,
    pad,
    prod_of,
    reshape,
    slice_of,
    squeeze,
    sum_of,
    transpose,
)
from .movement_patterns import (
    BroadcastIntoElementwise,
    ConcatOfConcat,
    ConcatOfParts,
    PadIntoConvolution,
    ReductionOfBroadcast,
    ReductionOfSameElements,
    SliceOfConcat,
    SliceOfSort,
)
from .rules import EquationsPass, Rule
from .terms import Apply, Setting, Variable

x = Variable("x")
axes, more, keepdims = Setting("axes"), Setting("more"), Setting("keepdims")
perm, value = Setting("perm"), Setting("value")
low, high, low2, high2 = map(Setting, ("low", "high", "low2", "high2"))
starts, stops, steps = map(Setting, ("starts", "stops", "steps"))
starts2, stops2, steps2 = map(Setting, ("starts2", "stops2", "steps2"))

Axes = tuple[int, ...]

REDUCTIONS = (sum_of, prod_of, max_of, min_of, mean)


# Reshapes.


def _is_static(result: Expr) -> bool:
    return is_static(result.shape)


def _reshaped(x: Expr, result: Expr) -> Expr:
    return x if x.shape == result.shape else x.reshape(result.shape)


def _broadcast(x: Expr, result: Expr) -> Expr:
    return x.broadcast_to(result.shape)


def _is_one_element(x: Expr, result: Expr) -> bool:
    return is_static(result.shape) and prod(x.shape) == 1


def _one_element_broadcast(x: Expr, result: Expr) -> Expr:
    return (x.reshape(()) if x.shape else x).broadcast_to(result.shape)


def _moves_only_ones(x: Expr, perm: Axes) -> bool:
    """Whether the axes with more than one element stay in order: nothing moves in memory."""
    moved = [axis for axis in perm if x.shape[axis] != 1]
    return is_static(x.shape) and moved == sorted(moved)


_RESHAPING = (reshape(x), expand_dims(x, axes=axes), squeeze(x, axes=axes))

_RESHAPES = tuple(
    Rule(outer, _reshaped, text="reshape(x)", when=_is_static, may_share=True)
    for inner in _RESHAPING
    for outer in (expand_dims(inner, axes=more), squeeze(inner, axes=more))
)

_OF_ONE_ELEMENT = tuple(
    Rule(
        outer,
        _one_element_broadcast,
        text="broadcast_to(x)",
        when=_is_one_element,
        may_share=True,
    )
    for inner in (broadcast_to(x),)
    for outer in (
        reshape(inner),
        expand_dims(inner, axes=more),
        squeeze(inner, axes=more),
        transpose(inner, perm=perm),
        slice_of(inner, starts=starts, stops=stops, steps=steps),
    )
)


# Reductions.


def _reduced(op: type[graph.ReductionOp], x: Expr, perm: Axes, axes: Axes, keepdims: bool) -> Expr:
    """The reduction over the same axes by their names before the transpose, and the transpose of what is left."""
    before = [perm[axis] for axis in axes]
    reduced = x.made(op(x.value, before, keepdims))
    if keepdims:
        return reduced.transpose(perm)
    left = sorted(axis for axis in perm if axis not in before)
    return reduced.transpose([left.index(axis) for axis in perm if axis not in before])


def _keeps_order(perm: Axes, axes: Axes) -> bool:
    """Whether the axes that are reduced are in order before the transpose too: sums add up in the same order."""
    before = [perm[axis] for axis in axes]
    return before == sorted(before)


def _rules_of(reduction: Callable[..., Apply]) -> tuple[Rule, ...]:
    op = cast("type[graph.ReductionOp]", reduction(x).op)

    def after(x: Expr, perm: Axes, axes: Axes, keepdims: bool) -> Expr:
        return _reduced(op, x, perm, axes, keepdims)

    kept, dropped = (reduction(x, axes=axes, keepdims=flag) for flag in (True, False))
    return (
        Rule(
            reduction(transpose(x, perm=perm), axes=axes, keepdims=keepdims),
            after,
            when=_keeps_order,
            text=f"transpose({op.name.rpartition('.')[2]}(x))",
        ),
        Rule(expand_dims(dropped, axes=axes), kept),
        Rule(squeeze(kept, axes=axes), dropped),
    )


# Pads and slices.


def _sum(first: Sequence[int], second: Sequence[int]) -> list[int]:
    return [x + y for x, y in zip(first, second, strict=True)]


def _padded_once(x: Expr, low: Axes, high: Axes, low2: Axes, high2: Axes, value: Any) -> Expr:
    return x.pad(_sum(low, low2), _sum(high, high2), value)


def _sliced(x: Expr, slices: Sequence[tuple[int, int, int]]) -> Expr:
    """`x` at (start, stop, step) of each axis, with a stop of -1 for what goes on to the first element."""
    return x[[slice(start, None if stop < 0 else stop, step) for start, stop, step in slices]]


def _sliced_once(
    x: Expr, starts: Axes, stops: Axes, steps: Axes, starts2: Axes, stops2: Axes, steps2: Axes
) -> Expr:
    """A slice of a slice, by what Python says of ranges."""
    joined: list[tuple[int, int, int]] = []
    first, second = (
        zip(starts, stops, steps, strict=True),
        zip(starts2, stops2, steps2, strict=True),
    )
    for inner, outer in zip(first, second, strict=True):
        found = range(*inner)[slice(outer[0], None if outer[1] < 0 else outer[1], outer[2])]
        joined.append((found.start, found.stop, found.step))
    return _sliced(x, joined)


def _is_inside(x: Expr, low: Axes, starts: Axes, stops: Axes, steps: Axes) -> bool:
    """Whether a slice of padded elements has none of the pads."""
    return all(
        step == 1 and before <= start and stop <= before + extent
        for before, start, stop, step, extent in zip(
            low, starts, stops, steps, x.shape, strict=True
        )
    )


def _unpadded(x: Expr, low: Axes, starts: Axes, stops: Axes) -> Expr:
    return x[
        [
            slice(start - before, stop - before)
            for before, start, stop in zip(low, starts, stops, strict=True)
        ]
    ]


_PADS_AND_SLICES = (
    Rule(
        pad(pad(x, low=low, high=high, value=value), low=low2, high=high2, value=value),
        _padded_once,
        text="pad(x, low=low + low2, high=high + high2, value=value)",
    ),
    Rule(
        slice_of(
            slice_of(x, starts=starts, stops=stops, steps=steps),
            starts=starts2,
            stops=stops2,
            steps=steps2,
        ),
        _sliced_once,
        text="slice(x)",
        when=_is_static,
        may_share=True,
    ),
    Rule(
        slice_of(pad(x, low=low, high=high, value=value), starts=starts, stops=stops, steps=steps),
        _unpadded,
        text="slice(x)",
        when=_is_inside,
        may_share=True,
    ),
)

MOVEMENTS = (
    *_RESHAPES,
    *_OF_ONE_ELEMENT,
    Rule(
        transpose(x, perm=perm),
        _reshaped,
        text="reshape(x)",
        when=_moves_only_ones,
    ),
    Rule(broadcast_to(broadcast_to(x)), _broadcast, text="broadcast_to(x)", may_share=True),
    *(rule for reduction in REDUCTIONS for rule in _rules_of(reduction)),
    *_PADS_AND_SLICES,
)


@frozen
class GraphSimplifyMovementPass(EquationsPass):
    """Cancel and join reshapes, transposes, broadcasts, pads, slices and concats, and reduce before a transpose."""

    name = "graph-simplify-movement"
    RULES: ClassVar = MOVEMENTS
    PATTERNS: ClassVar = (
        BroadcastIntoElementwise(),
        ConcatOfParts(),
        ConcatOfConcat(),
        SliceOfConcat(),
        PadIntoConvolution(),
        ReductionOfBroadcast(),
        ReductionOfSameElements(),
        GatherOfAffine(),
        GatherNdOfAffine(),
        SliceOfSort(),
    )
