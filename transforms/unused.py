"""Operations that nothing needs any more."""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import Rewriter
from xdsl.transforms.dead_code_elimination import is_trivially_dead


def erase_unused(values: Iterable[SSAValue]) -> None:
    """Erase what made the values, and what made its operands, as far as it has no effects and nothing uses its results."""
    waiting = list(values)
    while waiting:
        op = waiting.pop().owner
        if isinstance(op, Operation) and op.parent is not None and is_trivially_dead(op):
            waiting += op.operands
            Rewriter.erase_op(op)


def erase_unused_in(block: Block) -> None:
    """Erase the operations of a block that have no effects and whose results nothing uses."""
    for op in reversed(list(block.ops)):
        if is_trivially_dead(op):
            Rewriter.erase_op(op)
