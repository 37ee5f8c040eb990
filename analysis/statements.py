"""The statements of a function: operations of one block that belong together and run at one time."""

from __future__ import annotations

from collections.abc import Iterator

import islpy as isl
from xdsl.dialects import affine, arith
from xdsl.ir import Block, Operation
from xdsl.traits import IsTerminator

from ..dialects import loop
from ..errors import StepwellError
from ..frozen import frozen
from .scop import Access, Scop


@frozen
class Statement:
    """
    Operations connected by the values they pass on, with what they touch.

    Constants and index arithmetic (`affine.apply`) belong to no statement: they can be made anywhere.
    """

    name: str
    ops: tuple[Operation, ...]
    loops: tuple[loop.ForOp, ...]
    accesses: tuple[Access, ...]

    @property
    def domain(self) -> isl.Set:
        """The iterations in which some access runs, named as the statement."""
        result = self.accesses[0].domain.set_tuple_name(self.name)
        for access in self.accesses[1:]:
            result = result.union(access.domain.set_tuple_name(self.name))
        return result.coalesce()

    @property
    def time(self) -> isl.Map:
        """When it starts: the time of its first access, for all iterations."""
        return self.accesses[0].time.set_tuple_name(isl.dim_type.in_, self.name)


def is_free(op: Operation) -> bool:
    """Whether the operation depends on no memory and can be repeated wherever its value is needed."""
    return isinstance(op, arith.ConstantOp | affine.ApplyOp)


def is_structure(op: Operation) -> bool:
    """Whether the operation holds statements rather than being part of one."""
    return isinstance(op, loop.ForOp) or (isinstance(op, loop.IfOp) and not op.outputs)


def find_statements(scop: Scop) -> list[Statement]:
    """
    The statements in textual order.

    Raises StepwellError where a value made in one block is used in a loop or branch inside of it.
    """
    found: list[Statement] = []
    for block in _blocks(scop.function.body.block):
        for group in _groups(block):
            accesses = tuple(access for op in group for access in scop.inside(op))
            if accesses:
                found.append(Statement(f"S{len(found)}", tuple(group), accesses[0].loops, accesses))
    return found


def _blocks(block: Block) -> Iterator[Block]:
    yield block
    for op in block.ops:
        if is_structure(op):
            for region in op.regions:
                for inner in region.blocks:
                    yield from _blocks(inner)


def _groups(block: Block) -> list[list[Operation]]:
    """The operations of the block that belong together, each group in order."""
    members = [
        op
        for op in block.ops
        if not (is_structure(op) or is_free(op) or op.has_trait(IsTerminator))
        and not isinstance(op, loop.AllocOp)
    ]
    group_of = {op: n for n, op in enumerate(members)}
    for op in members:
        for user in (use.operation for result in op.results for use in result.uses):
            other = block.find_ancestor_op_in_block(user)
            if other is None or is_structure(other):
                raise StepwellError(
                    f"the value of '{op.name}' is used in a loop or branch inside of its block, which "
                    "no statement can do; store it to a buffer, or compute it where it is used",
                    op=op,
                )
            if other in group_of:
                old, new = group_of[other], group_of[op]
                group_of = {o: new if n == old else n for o, n in group_of.items()}
    groups: dict[int, list[Operation]] = {}
    for op in members:
        groups.setdefault(group_of[op], []).append(op)
    return list(groups.values())
