"""Loops that have nothing but the next one in them."""

from __future__ import annotations

from stepwell.dialects import loop


def perfect_nest(outermost: loop.ForOp) -> list[loop.ForOp]:
    """The loop and those perfectly nested in it, outermost first."""
    found = [outermost]
    while True:
        inside = [op for op in found[-1].body.block.ops if not isinstance(op, loop.YieldOp)]
        if len(inside) != 1 or not isinstance(inside[0], loop.ForOp):
            return found
        found.append(inside[0])
