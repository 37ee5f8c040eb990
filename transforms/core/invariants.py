"""Operations that no iteration of a loop changes, moved before it."""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.dialects import scf
from xdsl.ir import Operation
from xdsl.traits import is_side_effect_free

from ...analysis.operations import block_of, operands_of


def varies_in_part(op: Operation) -> bool:
    """Whether some of its operands are the same in all iterations of the loop it stands in, and others are not."""
    if not isinstance(op.parent_op(), scf.ForOp):
        return False
    return len({block_of(operand) is op.parent for operand in operands_of(op)}) == 2


def move_before_loops(ops: Iterable[Operation]) -> None:
    """
    Move each operation before the `scf.for`s that it does not depend on, the operations being in the order of the text.

    Only operations without effects and regions are moved. Such a loop may have no iteration: the operations must be
    defined for all operands, as arithmetic on floats and bits is, and divisions of integers are not.
    """
    for op in ops:
        if not op.regions and is_side_effect_free(op):
            _move(op)


def _move(op: Operation) -> None:
    needed = {block_of(operand) for operand in operands_of(op)}
    block, place = op.parent, op
    while block is not None and block not in needed and isinstance(block.parent_op(), scf.ForOp):
        loop = block.parent_op()
        assert loop is not None
        place, block = loop, loop.parent
    if place is not op and block is not None:
        op.detach()
        block.insert_op_before(op, place)
