"""
The operations inside of others, what these take from around, and which of them may trap.

What looks at every operation reads the private links between them: xDSL's properties take several times as long.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import cache
from typing import Any, TypeVar

from xdsl.dialects import arith
from xdsl.ir import Block, Operation, OpResult, Region, SSAValue

from ..dialects import loop

OperationT = TypeVar("OperationT", bound=Operation)

INTEGER_DIVISIONS = (
    arith.DivSIOp,
    arith.DivUIOp,
    arith.FloorDivSIOp,
    arith.CeilDivSIOp,
    arith.CeilDivUIOp,
    arith.RemSIOp,
    arith.RemUIOp,
)


def operations_in(op: Operation) -> list[Operation]:
    """
    The operations in the regions of `op`, at any depth, in textual order.

    As `op.walk()` without `op`, which takes several times as long: it passes each operation on through a
    generator for every level that it is inside of.
    """
    found: list[Operation] = []
    for region in op.regions:
        _add_all(region, found)
    return found


def operations_within(region: Region) -> list[Operation]:
    """The operations in a region, at any depth, in textual order."""
    found: list[Operation] = []
    _add_all(region, found)
    return found


def blocks_in(op: Operation) -> list[Block]:
    """The blocks in the regions of `op`, at any depth, in textual order."""
    return [block for outer in (op, *operations_in(op)) for block in blocks_of(outer)]


def has_any_of(operations: Iterable[Operation], kinds: Collection[type[Operation]]) -> bool:
    """Whether one of the operations is of one of these kinds: asked at once, what the most passes look for is rarely there."""
    return not set(map(type, operations)).isdisjoint(kinds)


def operations_of_kind(op: Operation, kind: type[OperationT]) -> list[OperationT]:
    """Those of `operations_in` of one class: as `operations_of_kinds`."""
    return [inner for inner in operations_in(op) if type(inner) is kind]


def operations_inside(block: Block) -> list[Operation]:
    """As `operations_in`, of one block."""
    found: list[Operation] = []
    _add(block, found)
    return found


def operations_of_kinds(op: Operation, kinds: Collection[type[Operation]]) -> list[Operation]:
    """
    Those of `operations_in` whose class is one of these, a set for preference.

    Classes of operations are abstract: to ask `isinstance` of each takes longer than to go through them.
    """
    return [inner for inner in operations_in(op) if type(inner) in kinds]


def operations_of(block: Block) -> list[Operation]:
    """The operations of a block, as they are now: `list(block.ops)` in a fraction of the time."""
    found: list[Operation] = []
    op = block._first_op
    while op is not None:
        found.append(op)
        op = op._next_op
    return found


def body_of(op: Operation) -> Block:
    """The only block of an operation's first region: `op.regions[0].block`, which looks for others first."""
    block = op.regions[0]._first_block
    assert block is not None
    return block


def blocks_of(op: Operation) -> list[Block]:
    """The blocks of an operation's regions, as they are now, in order."""
    found: list[Block] = []
    for region in op.regions:
        block = region._first_block
        while block is not None:
            found.append(block)
            block = block._next_block
    return found


def targets_of(op: Operation) -> tuple[Block, ...]:
    """The blocks that an operation branches to: `op.successors`, which makes a view each time."""
    return tuple(op._successors)


def successors_of(block: Block) -> tuple[Block, ...]:
    """The blocks that the end of a block may branch to."""
    last = block._last_op
    return () if last is None else targets_of(last)


def operation_around(op: Operation) -> Operation | None:
    """As `op.parent_op()`, which asks one method after the other."""
    block = op.parent
    region = None if block is None else block.parent
    return None if region is None else region.parent


def operands_of(op: Operation) -> tuple[SSAValue, ...]:
    """
    The operands, as the very tuple in which the operation holds them: another one as soon as one of them changes.

    In code that looks at every operation, `op.operands` takes several times as long: it makes a view each time.
    """
    return op._operands


def operands_before_and_after(
    op: Operation, number: int
) -> tuple[tuple[SSAValue, ...], tuple[SSAValue, ...]]:
    """The first operands, so many, and the others. (A slice of xDSL's own tuple takes several times as long.)"""
    operands = tuple(op._operands)
    return operands[:number], operands[number:]


def last_operands(op: Operation, number: int) -> tuple[SSAValue, ...]:
    """The last operands, so many."""
    return tuple(op._operands)[len(op._operands) - number :]


@cache
def is_of_scalars(kind: type[Operation]) -> bool:
    """Whether operations of a class have no buffers for operands or results, and nothing inside, or only end a body."""
    return kind is loop.YieldOp or kind.name.partition(".")[0] in ("arith", "math")


def may_trap(op: Operation) -> bool:
    """Whether a scalar operation may stop the program: an integer division, where the divisor is 0 or the quotient has no room."""
    return isinstance(op, INTEGER_DIVISIONS)


def block_of(value: SSAValue) -> Block | None:
    """The block that a value is an argument of, or is computed in."""
    if type(value) is OpResult:  # as most: xDSL's `owner` takes a call
        return value.op.parent
    owner: Any = value.owner
    return owner if type(owner) is Block else owner.parent


def is_before(value: SSAValue, op: Operation) -> bool:
    """Whether a value that is used behind an operation of its block, or deeper, is there before the operation."""
    owner = value.owner
    if isinstance(owner, Block) or owner.parent is not op.parent:
        return True
    return owner.is_before_in_block(op)


def comes_after(user: Operation, op: Operation) -> bool:
    """Whether an operation, or what it stands in, comes after another one in that one's block."""
    around: Operation | None = user
    while around is not None and around.parent is not op.parent:
        around = around.parent_op()
    return around is not None and op.is_before_in_block(around)


def used_from_above(region: Region) -> list[SSAValue]:
    """The values that are used in a region and defined above it, in order: MLIR's `getUsedValuesDefinedAbove`."""
    used: dict[SSAValue, None] = {}
    own: set[SSAValue] = {arg for block in region.blocks for arg in block._args}
    for op in operations_within(region):
        used |= dict.fromkeys(op._operands)
        own.update(op.results)
        if op.regions:
            own.update(arg for inner in op.regions for block in inner.blocks for arg in block._args)
    return [value for value in used if value not in own]


def _add_all(region: Region, found: list[Operation]) -> None:
    block = region._first_block
    while block is not None:
        _add(block, found)
        block = block._next_block


def _add(block: Block, found: list[Operation]) -> None:
    op = block._first_op
    while op is not None:
        found.append(op)
        if op.regions:
            for region in op.regions:  # as `_add_all`, without a call
                inner = region._first_block
                while inner is not None:
                    _add(inner, found)
                    inner = inner._next_block
        op = op._next_op
