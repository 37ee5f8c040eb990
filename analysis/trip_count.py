"""How many iterations a loop has, as far as its bounds tell."""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Block, BlockArgument, SSAValue
from xdsl.ir.affine import AffineExpr

from ..dialects import loop
from ..dialects.affine_bounds import Range, bounds
from ..dialects.affine_text import compact


def trip_count(for_op: loop.ForOp) -> tuple[int, int | None]:
    """
    The least and the greatest number of iterations, the latter None when nothing is known.

    Both are bounds: a loop of a nest need not reach them.
    """
    low_exprs, low_values = for_op.lower_map.data.results, list(for_op.lower_operands)
    high_exprs, high_values = for_op.upper_map.data.results, list(for_op.upper_operands)
    shift = [AffineExpr.dimension(len(low_values) + n) for n in range(len(high_values))]
    spans: list[Range] = []
    for high in high_exprs:
        for low in low_exprs:
            span = high.replace_dims_and_symbols(shift, ()) - low
            (span,), values = compact([span], [*low_values, *high_values])
            spans.append(bounds(span, [value_range(value) for value in values]))
    # The shortest of the spans is the loop's.
    lows = [low for low, _ in spans if low is not None]
    highs = [high for _, high in spans if high is not None]
    least = min(lows) if len(lows) == len(spans) else 0
    greatest = min(highs) if highs else None
    step = for_op.step.value.data
    return _count(least, step), None if greatest is None else _count(greatest, step)


def value_range(value: SSAValue) -> Range:
    """The least and greatest value of an index: a loop's variable, or a constant."""
    owner = value.owner
    if isinstance(owner, arith.ConstantOp) and isinstance(owner.value, IntegerAttr):
        return owner.value.value.data, owner.value.value.data
    if not isinstance(value, BlockArgument):
        return None, None
    assert isinstance(owner, Block)
    for_op = owner.parent_op()
    return _variable_range(for_op) if isinstance(for_op, loop.ForOp) else (None, None)


def _variable_range(for_op: loop.ForOp) -> Range:
    low_ranges = [value_range(value) for value in for_op.lower_operands]
    high_ranges = [value_range(value) for value in for_op.upper_operands]
    lows = [bounds(expr, low_ranges)[0] for expr in for_op.lower_map.data.results]
    highs = [bounds(expr, high_ranges)[1] for expr in for_op.upper_map.data.results]
    known_lows = [low for low in lows if low is not None]
    known_highs = [high for high in highs if high is not None]
    first = max(known_lows) if known_lows else None
    last = min(known_highs) - 1 if known_highs else None
    if first is not None and last is not None and not for_op.lower_operands:
        last -= max(0, last - first) % for_op.step.value.data
    return first, last


def _count(span: int, step: int) -> int:
    return max(0, -(-span // step))
