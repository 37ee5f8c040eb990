"""
Whether a module is valid, said in one line at the place of the first mistake.

xDSL's own `op.verify()` prints the whole module into the exception and does not check that a value is
defined before it is used. This one does the opposite on both counts, and finds operations outside of the module that use
its values: patterns would rewrite them too.
"""

from __future__ import annotations

from collections.abc import Iterable
from operator import is_
from typing import TypeAlias

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, OpResult, Region, SSAValue
from xdsl.traits import IsolatedFromAbove, IsTerminator, NoTerminator
from xdsl.utils.exceptions import VerifyException

from ..errors import StepwellError, location_of
from .dominance import dominator_tree, reachable_order

Snapshot: TypeAlias = "list[object]"
"""What `snapshot` finds. It keeps what it has, so that nothing new is taken for it."""


def snapshot(module: Operation) -> Snapshot:
    """
    Everything in `module` that `verify` looks at, in order: operations and blocks where they stand, what operations take, and
    the attributes and types of all. None of these changes by itself, so that of two snapshots that are `same` nothing is to be verified again.
    """
    found: Snapshot = []
    for op in module.walk():
        found += (op, op.parent, *op.operands, *op.successors)
        for attributes in (op.properties, op.attributes):
            found += (None, *attributes, *attributes.values())
        for value in op.results:
            found += (value, value.type)
        for region in op.regions:
            found.append(region)
            for block in region.blocks:
                found.append(block)
                for value in block.args:
                    found += (value, value.type)
    return found


def same(one: Snapshot, other: Snapshot) -> bool:
    """Whether there is no change between two snapshots."""
    return len(one) == len(other) and all(map(is_, one, other))


def verify(module: Operation) -> None:
    """
    Check every operation of `module`, its structure, that definitions dominate their uses, and that nothing else uses them.

    Raises StepwellError for the first operation that is wrong, with its position. Operations are
    checked after those nested in them.
    """
    _Verifier().check(module)
    check_users(module)


class _Verifier:
    """One walk over a module. `_visible` holds the identities of the values an operation may use."""

    def __init__(self) -> None:
        self._visible: set[int] = set()

    def check(self, op: Operation) -> None:
        for operand in op.operands:
            if id(operand) not in self._visible:
                raise StepwellError(_why_invisible(op, operand), op=op)
        if op.regions:
            self._check_regions(op)
        _check_position(op)
        try:
            op.verify_()
        except VerifyException as error:
            raise StepwellError(_failure(op, error), op=op) from error

    def _check_regions(self, op: Operation) -> None:
        outside = self._visible
        if op.has_trait(IsolatedFromAbove, value_if_unregistered=False):
            self._visible = set()
        for region in op.regions:
            # In a module the order of operations says nothing, as in MLIR's graph regions.
            self._check_region(region, ordered=not isinstance(op, ModuleOp))
        self._visible = outside

    def _check_region(self, region: Region, *, ordered: bool) -> None:
        if region.first_block is None:
            return
        if region.first_block.next_block is None:
            before = [] if ordered else _definitions(region.first_block)
            self._check_block(region.first_block, before)
            self._leave(region.first_block)
            return
        reachable = reachable_order(region)
        self._check_dominated(reachable[0], dominator_tree(reachable))
        # A block that nothing reaches never runs: there, everything in the region counts as defined.
        for block in set(region.blocks).difference(reachable):
            everything = [value for other in region.blocks for value in _definitions(other)]
            added = [id(value) for value in everything if id(value) not in self._visible]
            self._check_block(block, everything)
            self._visible.difference_update(added)

    def _check_dominated(self, entry: Block, children: dict[Block, list[Block]]) -> None:
        """Walk the dominator tree; a block sees what its ancestors in the tree define."""
        pending: list[tuple[Block, bool]] = [(entry, False)]
        while pending:
            block, is_done = pending.pop()
            if is_done:
                self._leave(block)
                continue
            self._check_block(block)
            pending.append((block, True))
            pending.extend((child, False) for child in children.get(block, ()))

    def _check_block(self, block: Block, before: Iterable[SSAValue] = ()) -> None:
        visible = self._visible
        visible.update(id(value) for value in before)
        visible.update(id(arg) for arg in block.args)
        if block.last_op is None:
            _check_empty(block)
        for op in block.ops:
            if op.parent is not block:
                raise StepwellError(
                    f"'{op.name}' is listed in a block that is not its parent; "
                    "a rewrite has corrupted the module",
                    op=op,
                )
            self.check(op)
            visible.update(id(result) for result in op.results)

    def _leave(self, block: Block) -> None:
        self._visible.difference_update(id(value) for value in _definitions(block))


def check_users(module: Operation) -> None:
    """
    Check that nothing outside of `module` uses its values, which a snapshot does not show.

    Raises StepwellError for the first value that is used.
    """
    operations = list(module.walk())
    inside = set(map(id, operations))
    for op in operations:
        for value in _defined_by(op):
            for use in value.uses:
                if id(use.operation) not in inside:
                    raise StepwellError(
                        f"'{use.operation.name}' uses {_called(value)}, {_kind(value)}, from outside of the module; "
                        "a rewrite has made it and left it behind",
                        op=op,
                    )


def _defined_by(op: Operation) -> list[SSAValue]:
    """Its results, and the arguments of its blocks."""
    blocks = (block for region in op.regions for block in region.blocks)
    return [*op.results, *(arg for block in blocks for arg in block.args)]


def _definitions(block: Block) -> list[SSAValue]:
    return [*block.args, *(result for op in block.ops for result in op.results)]


def _check_position(op: Operation) -> None:
    """Successors, and that blocks end in terminators (what `Operation.verify` checks of xDSL's)."""
    block = op.parent
    if op.successors:
        if block is None or block.last_op is not op:
            raise StepwellError(
                f"'{op.name}' branches to other blocks but is not the last operation of its block; "
                "move it to the end",
                op=op,
            )
        for successor in op.successors:
            if successor.parent is not block.parent:
                raise StepwellError(
                    f"'{op.name}' branches to a block of another region, expected one of its own; "
                    "branch within the region",
                    op=op,
                )
    if block is None or block.last_op is not op or op.has_trait(IsTerminator):
        return
    parent = _op_needing_terminator(block)
    if parent is None:
        return
    raise StepwellError(
        f"found '{op.name}' at the end of a block of '{parent.name}', expected a terminator; "
        "end the block with a return, yield or branch",
        op=op,
    )


def _check_empty(block: Block) -> None:
    parent = _op_needing_terminator(block)
    if parent is None:
        return
    raise StepwellError(
        f"found an empty block in '{parent.name}', expected a terminator; "
        "end the block with a return, yield or branch",
        op=parent,
    )


def _op_needing_terminator(block: Block) -> Operation | None:
    """The operation that `block` belongs to, unless its blocks may end in anything."""
    parent = block.parent_op()
    if parent is None or block.parent is None:
        return None
    is_single = block.next_block is None and block.prev_block is None
    return None if is_single and parent.has_trait(NoTerminator) else parent


def _why_invisible(op: Operation, operand: SSAValue) -> str:
    name, what = _called(operand), _kind(operand)
    if isinstance(operand, OpResult):
        home, place = operand.op.parent, location_of(operand.op)
    else:
        home = operand.owner if isinstance(operand.owner, Block) else None
        place = None
    if home is None:
        return (
            f"'{op.name}' uses {name}, {what}, which is no longer in the module; "
            "a rewrite has erased a value that is still used"
        )
    at = f" ({place})" if place else ""
    if not _encloses(home, op):
        return (
            f"'{op.name}' uses {name}, {what}{at}, which is not defined on every way to this use; "
            "define it in an enclosing block before, or pass it as a block argument"
        )
    if barrier := _isolation_between(home, op):
        return (
            f"'{op.name}' uses {name}, {what}{at}, from outside of '{barrier.name}', which sees "
            "nothing around it; pass the value in as an argument"
        )
    return f"'{op.name}' uses {name}, {what}{at}, before its definition; move the definition up"


def _called(value: SSAValue) -> str:
    return f"%{value.name_hint}" if value.name_hint else "a value"


def _kind(value: SSAValue) -> str:
    return f"the result of '{value.op.name}'" if isinstance(value, OpResult) else "a block argument"


def _encloses(home: Block, op: Operation) -> bool:
    return home.find_ancestor_op_in_block(op) is not None


def _isolation_between(home: Block, op: Operation) -> Operation | None:
    current = op.parent_op()
    while current is not None and home.find_ancestor_op_in_block(current) is not None:
        if current.has_trait(IsolatedFromAbove, value_if_unregistered=False):
            return current
        current = current.parent_op()
    return None


def _failure(op: Operation, error: VerifyException) -> str:
    """The operation's name and what its verifier said, on one line."""
    message = " ".join(str(error).split())
    return message if message.startswith(("found ", f"'{op.name}'")) else f"'{op.name}': {message}"
