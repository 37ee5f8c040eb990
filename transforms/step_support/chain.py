"""Nested loops to be rearranged together: the chain from an outer loop down."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from xdsl.ir import Operation

from ...analysis.operations import operands_of
from ...dialects import loop
from ...dialects.schedule import Step
from .modes import check_unmarked
from .refusal import Refusal, refuse
from .rewrite import body_ops


def chain_of(step: Step, outermost: loop.ForOp, depth: int) -> tuple[loop.ForOp, ...]:
    """The loop and the only loop in its body, and so on, `depth` in all. Raises the refusal without."""
    chain = [outermost]
    while len(chain) < depth:
        chain.append(_only_loop(step, chain[-1]))
    check_chain(step, chain)
    return tuple(chain)


def chain_with(step: Step, outermost: loop.ForOp, names: Collection[str]) -> tuple[loop.ForOp, ...]:
    """The loops from `outermost` down to the innermost of those named. Raises the refusal without."""
    wanted = set(names) - {outermost.loop_name.data}
    chain = [outermost]
    while wanted:
        inside = [op for op in body_ops(chain[-1]) if type(op) is loop.ForOp]
        leading = [op for op in inside if any(_is_called(inner, wanted) for inner in op.walk())]
        if len(leading) != 1:
            raise _no_chain(step, chain[-1], sorted(wanted), leading)
        chain.append(leading[0])
        wanted.discard(leading[0].loop_name.data)
    check_chain(step, chain)
    return tuple(chain)


def _is_called(op: Operation, names: Collection[str]) -> bool:
    return type(op) is loop.ForOp and op.loop_name.data in names


def _no_chain(
    step: Step, for_op: loop.ForOp, wanted: Sequence[str], leading: Sequence[loop.ForOp]
) -> Refusal:
    name = for_op.loop_name.data
    listed = ", ".join(repr(n) for n in wanted)
    if leading:
        return refuse(
            step,
            f"the loops {listed} stand in different loops in the body of '{name}'",
            remedy="name loops that are nested in each other",
        )
    return refuse(
        step,
        f"there is no loop {listed} in the body of '{name}'",
        remedy="name loops that are nested in each other, the outermost one as the loop",
    )


def _only_loop(step: Step, for_op: loop.ForOp) -> loop.ForOp:
    inside = [op for op in body_ops(for_op) if type(op) is loop.ForOp]
    if len(inside) == 1:
        return inside[0]
    name = for_op.loop_name.data
    if not inside:
        raise refuse(step, f"loop '{name}' has no loop in its body", remedy="name fewer loops")
    listed = ", ".join(repr(op.loop_name.data) for op in inside)
    raise refuse(
        step,
        f"loop '{name}' has the loops {listed} in its body, so the nest is not perfect",
        remedy="make it perfect with fission or fuse_loops first",
    )


def check_chain(step: Step, chain: Sequence[loop.ForOp]) -> None:
    """Raise the refusal of `step` for marked loops and for bounds that are computed between the loops."""
    for for_op in chain:
        check_unmarked(step, for_op)
    between = [op for for_op in chain[:-1] for op in body_ops(for_op)]
    for for_op in chain[1:]:
        for value in operands_of(for_op):
            if isinstance(value.owner, Operation) and value.owner in between:
                raise refuse(
                    step,
                    f"a bound of '{for_op.loop_name.data}' is computed between the loops",
                    remedy="write it as an affine bound",
                )
