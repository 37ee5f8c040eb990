"""The operations inside of others."""

from __future__ import annotations

from xdsl.ir import Block, Operation


def operations_in(op: Operation) -> list[Operation]:
    """
    The operations in the regions of `op`, at any depth, in textual order.

    As `op.walk()` without `op`, which takes several times as long: it passes each operation on through a
    generator for every level that it is inside of.
    """
    found: list[Operation] = []
    for region in op.regions:
        for block in region.blocks:
            _add(block, found)
    return found


def _add(block: Block, found: list[Operation]) -> None:
    for op in block.ops:
        found.append(op)
        if op.regions:
            for region in op.regions:
                for inner in region.blocks:
                    _add(inner, found)
