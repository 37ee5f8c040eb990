"""
`cf` to `llvm`, and the blocks of a function or of a structured operation's region.

Blocks are lowered in reverse post-order, so that a value is known before it is used wherever the text
puts its block. Blocks that cannot be reached are dropped.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import cf, llvm
from xdsl.ir import Block, Operation, Region, SSAValue

from ...analysis.dominance import reachable_order
from ...errors import StepwellError
from .emitter import Emitter, Handler


def lower_region(e: Emitter, region: Region, op: Operation) -> None:
    """
    Lower the blocks of `region` from the current place on.

    The arguments of its first block are bound already.
    """
    first = region.blocks.first
    assert first is not None
    order = reachable_order(region)
    if len(order) == 1:
        e.lower_block(first)
        return
    if any(block.last_op is not None and first in block.last_op.successors for block in order):
        raise StepwellError(
            f"'{op.name}' branches back to its entry block, expected an entry block that nothing "
            "branches to; add a block before it",
            op=op,
        )
    for block in order[1:]:
        e.blocks[block] = e.block_for(block.args, op)
    for block in order:
        if block is not first:
            new = e.blocks[block]
            e.start(new)
            e.unflatten(block.args, new.args)
        e.lower_block(block)


def _convert_branch(e: Emitter, op: Operation) -> None:
    assert isinstance(op, cf.BranchOp)
    e.branch(e.blocks[op.successor], e.flatten(op.arguments))


def _convert_conditional_branch(e: Emitter, op: Operation) -> None:
    assert isinstance(op, cf.ConditionalBranchOp)
    e.branch_if(
        e.value(op.cond),
        e.blocks[op.then_block],
        e.blocks[op.else_block],
        e.flatten(op.then_arguments),
        e.flatten(op.else_arguments),
    )


def _convert_switch(e: Emitter, op: Operation) -> None:
    """A chain of comparisons: xDSL's llvm dialect has no `switch`, and LLVM makes one of the chain."""
    assert isinstance(op, cf.SwitchOp)
    flag = e.value(op.flag)
    values: Sequence[int] = ()
    if op.case_values is not None:
        values = [int(value) for value in op.case_values.get_values()]
    cases = [
        (value, e.blocks[block], e.flatten(arguments))
        for value, block, arguments in zip(values, op.case_blocks, op.case_operand, strict=True)
    ]
    branch_on(e, flag, cases)
    e.branch(e.blocks[op.default_block], e.flatten(op.default_operands))


def branch_on(
    e: Emitter, flag: SSAValue, cases: Sequence[tuple[int, Block, Sequence[SSAValue]]]
) -> None:
    """Branch to the case that equals `flag`; the place after is where none does."""
    for value, block, arguments in cases:
        otherwise = Block()
        e.branch_if(e.equals(flag, value), block, otherwise, arguments)
        e.start(otherwise)


def _convert_assert(e: Emitter, op: Operation) -> None:
    """A failed assertion ends the process as C's `assert` does: it never goes on with wrong data."""
    assert isinstance(op, cf.AssertOp)
    failed, after = Block(), Block()
    e.branch_if(e.value(op.arg), after, failed)
    e.start(failed)
    e.symbols.declare("abort", llvm.LLVMFunctionType(()), op)
    e.call("abort", (), None)
    e.append(llvm.UnreachableOp())
    e.start(after)


CF: dict[type[Operation], Handler] = {
    cf.AssertOp: _convert_assert,
    cf.BranchOp: _convert_branch,
    cf.ConditionalBranchOp: _convert_conditional_branch,
    cf.SwitchOp: _convert_switch,
}
