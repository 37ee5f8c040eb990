"""Loop distribution: each statement in loops of its own, as the families' steps expect nests."""

from __future__ import annotations

from ..dialects import loop
from ..dialects.schedule.steps import Fission
from .session import Session


def distribute_loops(s: Session) -> None:
    """
    Distribute loops until each body is one statement or one loop, innermost loops first.

    What te → loop makes is so already; code that a person or another compiler wrote often initialises a sum in
    the loops around it. Raises the Refusal of a fission that is not legal.
    """
    while (found := _several_parts(s)) is not None:
        for_op, after = found
        s.apply(Fission(s.handle(for_op).target, after))


def _several_parts(s: Session) -> tuple[loop.ForOp, str] | None:
    """The innermost loop whose body is several parts, and what the first of these is called."""
    for for_op in reversed(list(s.nest.loops())):
        # A part ends with a store or a loop; loads and arithmetic go with the store that uses them.
        parts = [op for op in for_op.body.block.ops if isinstance(op, loop.ForOp | loop.StoreOp)]
        if len(parts) > 1:
            first = parts[0]
            is_loop = isinstance(first, loop.ForOp)
            return for_op, first.loop_name.data if is_loop else s.buffer(first.buffer).name
    return None
