"""What is computed twice, which is computed once."""

from __future__ import annotations

from collections.abc import Hashable
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation
from xdsl.traits import IsolatedFromAbove, is_side_effect_free
from xdsl.transforms.common_subexpression_elimination import OperationInfo

from ...analysis.levels import Level
from ...analysis.operations import operands_of, operations_of
from ..stepwell_pass import StepwellPass
from .worklist import can_be_erased, is_dead


class GraphCsePass(StepwellPass):
    """
    Use the results of an earlier operation that does the same to the same operands, and erase what nothing uses.

    As xDSL's `cse`, in a third of the time; operations that only read memory, of which the graph level has none, stay.
    """

    name = "graph-cse"
    level_in: ClassVar[Level] = Level.GRAPH
    level_out: ClassVar[Level] = Level.GRAPH

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        unused: list[Operation] = []
        _share_in_regions(op, {}, unused)
        for dead in unused:
            dead.detach()
            dead.erase()


_Known = dict[Hashable, Operation]


def _share_in_regions(op: Operation, known: _Known, unused: list[Operation]) -> None:
    is_isolated = op.has_trait(IsolatedFromAbove, value_if_unregistered=True)
    for region in op.regions:
        block = region.first_block
        if block is not None and block.next_block is None:
            _share(block, {} if is_isolated else dict(known), unused)


def _share(block: Block, known: _Known, unused: list[Operation]) -> None:
    for op in operations_of(block):
        if op.regions:
            _share_in_regions(op, known, unused)
        if is_dead(op):
            unused.append(op)
        elif _can_be_shared(op):
            earlier = known.setdefault(_key(op), op)
            if earlier is not op:
                for result, same in zip(op.results, earlier.results, strict=True):
                    result.replace_all_uses_with(same)
                unused.append(op)


def _can_be_shared(op: Operation) -> bool:
    """Whether it has no effect, and is neither a terminator nor a symbol."""
    always = can_be_erased(type(op))
    is_pure = is_side_effect_free(op) if always is None else always
    return is_pure and all(len(region.blocks) == 1 for region in op.regions)


def _key(op: Operation) -> Hashable:
    """Equal for operations that do the same."""
    if op.regions:
        return OperationInfo(op)
    return (
        op.name,
        operands_of(op),
        frozenset(op.properties.items()),
        frozenset(op.attributes.items()),
        tuple([result.type for result in op.results]),
    )
