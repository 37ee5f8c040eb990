"""What takes no longer to make than to load is made in the regions of control flow that use it."""

from __future__ import annotations

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block
from xdsl.rewriter import InsertPoint

from ...analysis.cost import CHEAP, body_cost
from ...analysis.levels import Level
from ...analysis.operations import operations_of_kind, used_from_above
from ...dialects import te
from ..stepwell_pass import StepwellPass


class TeSinkIntoRegionsPass(StepwellPass):
    """
    Copy computes that read nothing, such as the positions of elements, into the regions of control flow that use them.

    Before: `p = te.compute [i] { i }` stands before a `te.scan` whose steps read `p`. After: each step has a `p` of its own,
    which te-fuse computes where it is read: no kernel stores it, and what it says of indices is seen where they are used.
    """

    name = "te-sink-into-regions"
    level_in = Level.TE
    level_out = Level.TE

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for compute in operations_of_kind(op, te.ComputeOp):
            if not compute.reads and _is_cheap(compute):
                _sink(compute)


def _is_cheap(compute: te.ComputeOp) -> bool:
    """Whether each element takes no longer to make than to load, from nothing but where it is."""
    is_whole = not compute.combiners and not compute.dynamic_extents and len(compute.outputs) == 1
    return is_whole and body_cost(compute) <= CHEAP and not used_from_above(compute.body)


def _sink(compute: te.ComputeOp) -> None:
    copies: dict[Block, te.ComputeOp] = {}
    for use in [*compute.result.uses]:
        block = use.operation.parent
        if block is None or block is compute.parent or not isinstance(use.operation, te.ComputeOp):
            continue
        made = copies.get(block)
        if made is None:
            made = copies[block] = compute.clone()
            Builder(InsertPoint.at_start(block)).insert(made)
            made.result.name_hint = compute.result.name_hint
        use.operation.operands[use.index] = made.result
    if not compute.result.uses:
        compute.detach()
        compute.erase()
