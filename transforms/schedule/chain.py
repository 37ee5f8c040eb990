"""Perfectly nested loops: the chain from an outer loop down, with nothing but index arithmetic between."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from xdsl.ir import Operation
from xdsl.traits import is_side_effect_free

from ...dialects import loop
from ...dialects.schedule import Step
from .modes import check_unmarked
from .refusal import Refusal, refuse
from .rewrite import body_ops


def next_inside(for_op: loop.ForOp) -> loop.ForOp | None:
    """The only loop in the body of a loop, when nothing with an effect stands beside it."""
    inner = [op for op in body_ops(for_op) if not is_side_effect_free(op)]
    if len(inner) == 1 and isinstance(inner[0], loop.ForOp):
        return inner[0]
    loops = [op for op in body_ops(for_op) if isinstance(op, loop.ForOp)]
    others = [op for op in inner if op not in loops]
    return loops[0] if len(loops) == 1 and not others else None


def chain_of(step: Step, outermost: loop.ForOp, depth: int) -> tuple[loop.ForOp, ...]:
    """The loop and the `depth - 1` loops perfectly nested in it. Raises the refusal without so many."""
    chain = [outermost]
    while len(chain) < depth:
        inner = next_inside(chain[-1])
        if inner is None:
            raise not_perfect(step, chain[-1], "loop inside")
        chain.append(inner)
    check_chain(step, chain)
    return tuple(chain)


def not_perfect(step: Step, for_op: loop.ForOp, what: str) -> Refusal:
    """The refusal because a loop's body is more, or less, than one loop."""
    inside = body_ops(for_op)
    name = for_op.loop_name.data
    if not any(isinstance(op, loop.ForOp) for op in inside):
        return refuse(step, f"loop '{name}' has no loop in its body", remedy="name fewer loops")
    return refuse(
        step,
        f"loop '{name}' has more in its body than one loop, so {what} cannot be exchanged with it",
        remedy="make the nest perfect with fission first",
    )


def check_chain(step: Step, chain: Sequence[loop.ForOp]) -> None:
    """Raise the refusal of `step` for marked loops and for bounds that are computed between the loops."""
    for for_op in chain:
        check_unmarked(step, for_op)
    between = [op for for_op in chain[:-1] for op in body_ops(for_op)]
    for for_op in chain[1:]:
        for value in (*for_op.lower_operands, *for_op.upper_operands):
            if isinstance(value.owner, Operation) and value.owner in between:
                raise refuse(
                    step,
                    f"a bound of '{for_op.loop_name.data}' is computed between the loops",
                    remedy="write it as an affine bound, with simplify",
                )


def sink(chain: Sequence[loop.ForOp]) -> None:
    """Move the index arithmetic between the loops of a chain into the innermost one."""
    block = chain[-1].body.block
    for outer, inner in reversed(list(pairwise(chain))):
        first = block.first_op
        assert first is not None
        for op in body_ops(outer):
            if op is not inner:
                op.detach()
                block.insert_op_before(op, first)
