"""Where a loop and the operations that are to go into it part ways."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Block, Operation
from xdsl.traits import get_effects

from ...dialects import loop
from ...dialects.loop import RunMode
from ...dialects.schedule import Step
from ...frozen import frozen
from .nest import Nest, loops_around
from .order import check_effects, check_structured
from .refusal import refuse
from .slices import used_from_outside


@frozen
class CommonBlock:
    """
    The innermost block around a loop and around operations outside of it.

    `head` is its operation that is or holds the loop, `others` are those that hold the operations.
    """

    block: Block
    head: Operation
    others: tuple[Operation, ...]

    @property
    def depth(self) -> int:
        """How many loops are around the block."""
        parent = self.block.parent_op()
        if parent is None:
            return 0
        return len(loops_around(parent)) + isinstance(parent, loop.ForOp)


def common_block(step: Step, at: loop.ForOp, ops: Sequence[Operation], what: str) -> CommonBlock:
    """
    Where the paths to `at` and to `ops`, described by `what`, part.

    Raises the refusal of `step` when some of them are in `at`, or closer to it than others.
    """
    name = at.loop_name.data
    if any(at.is_ancestor(op) for op in ops):
        raise refuse(step, f"{what} is inside of loop '{name}' already")
    head: Operation = at
    while True:
        block = head.parent
        if block is None:
            raise refuse(step, f"{what} is not in the function of loop '{name}'")
        others = [block.find_ancestor_op_in_block(op) for op in ops]
        found = [op for op in others if op is not None]
        if head in found:
            raise refuse(
                step,
                f"{what} is in several places, some inside and some outside of the loops "
                f"around '{name}'",
            )
        if len(found) == len(ops):
            unique = dict.fromkeys(found)
            return CommonBlock(block, head, tuple(op for op in block.ops if op in unique))
        parent = block.parent_op()
        if parent is None:
            raise refuse(step, f"{what} is not in the function of loop '{name}'")
        head = parent


def check_may_move(step: Step, at: loop.ForOp, ops: Sequence[Operation]) -> None:
    """Raise the refusal of `step` when operations cannot stand in the loop whatever they touch."""
    check_structured(step, at)
    check_effects(step, ops)
    around = [op.mode.data for op in (*loops_around(at), at) if op.mode is not None]
    if RunMode.VECTOR in around:
        raise refuse(
            step,
            f"loop '{at.loop_name.data}' or one around it runs in vector lanes",
            remedy="mark loops after all other steps",
        )
    if RunMode.THREADS not in around:
        return
    for op in (inner for root in ops for inner in root.walk()):
        if isinstance(op, loop.ForOp) and op.mode is not None and op.mode.data is RunMode.THREADS:
            raise refuse(
                step,
                f"loop '{op.loop_name.data}' runs on threads, and so does one around "
                f"'{at.loop_name.data}'",
                remedy="mark one of the two",
            )


def to_hoist(step: Step, common: CommonBlock, ops: Sequence[Operation]) -> tuple[Operation, ...]:
    """
    What stands between `head` and operations after it that these use, and has to go in front of `head`.

    Raises the refusal of `step` when something of it cannot be computed there.
    """
    found: set[Operation] = set()
    pending = list(ops)
    while pending:
        for value in used_from_outside(pending.pop()):
            owner = value.owner
            if not isinstance(owner, Operation) or owner.parent is not common.block:
                continue
            if owner in found or owner.is_before_in_block(common.head):
                continue
            if not (isinstance(owner, loop.AllocOp) or get_effects(owner) == set()):
                raise refuse(
                    step,
                    f"it uses the value of '{owner.name}', which is computed after the loop it would go "
                    "into",
                )
            found.add(owner)
            pending.append(owner)
    return tuple(op for op in common.block.ops if op in found)


def new_names(nest: Nest, ops: Sequence[Operation]) -> dict[loop.ForOp, str]:
    """Names for those of the loops in `ops` that share theirs with a loop elsewhere."""
    moved = [op for root in ops for op in root.walk() if isinstance(op, loop.ForOp)]
    taken = {op.loop_name.data for op in nest.loops() if op not in moved}
    taken_inside = {op.loop_name.data for op in moved}
    renamed: dict[loop.ForOp, str] = {}
    for op in moved:
        name = op.loop_name.data
        if name not in taken:
            continue
        candidate, number = name, 0
        while candidate in taken or candidate in taken_inside:
            number += 1
            candidate = f"{name}_{number}"
        taken.add(candidate)
        renamed[op] = candidate
    return renamed


def rename(names: dict[loop.ForOp, str]) -> None:
    """Give loops other names."""
    for for_op, name in names.items():
        for_op.loop_name = StringAttr(name)
