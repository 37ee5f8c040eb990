"""A loop inside of others made the outermost one, whatever stands beside it."""

from __future__ import annotations

from collections.abc import Sequence

from ..dialects import loop
from ..transforms.step_support.nest import loops_around, loops_of
from .session import Session


def can_be_parted(loops: Sequence[loop.ForOp]) -> bool:
    """Whether what stands in several loops can: a buffer that is made there stays with all that uses it."""
    return not any(
        isinstance(op, loop.AllocOp) for each in loops for op in each.regions[0].block.ops
    )


def make_outermost(s: Session, chain: Sequence[loop.ForOp]) -> None:
    """
    Put the last of several loops in each other around the others. What stands beside one of them there gets nests of its own.

    Before: `for f: { front(f); for i: row(f, i); back(f) }`. After: `for f: front(f)`, then `for i: for f: row(f, i)`, then
    `for f.rest: back(f)`. Raises the Refusal of a step that is not legal.
    """
    inner = chain[-1]
    for _ in chain[1:]:
        around = _around(inner)
        inside = loops_of(around.regions[0].block)
        at = inside.index(inner)
        if at + 1 < len(inside):
            s.fission(s.handle(around), after=s.handle(inner))
        if at:
            s.fission(s.handle(around), after=s.handle(inside[at - 1]))
        inner = _around(inner)
    loops = [s.handle(op) for op in loops_around(chain[-1])]
    s.reorder(loops[0], [s.handle(chain[-1]), *loops])


def _around(op: loop.ForOp) -> loop.ForOp:
    found = op.parent_op()
    assert isinstance(found, loop.ForOp), "a loop of a chain is in the one before"
    return found
