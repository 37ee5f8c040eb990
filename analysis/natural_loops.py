"""Loops of blocks that branch to each other (Aho, Sethi, Ullman, "Compilers", section 9.6: natural loops)."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Block

from .dominance import successors_of


def innermost_loops(order: Sequence[Block]) -> list[set[Block]]:
    """
    The blocks of each loop that has no other inside. `order` is a reverse postorder, as of `reachable_order`.

    Where an edge goes back to a block that can be reached around (irreducible control flow), the loop has all
    blocks on the way.
    """
    position = {block: number for number, block in enumerate(order)}
    before: dict[Block, list[Block]] = {block: [] for block in order}
    back: dict[Block, list[Block]] = {}
    for block in order:
        for successor in successors_of(block):
            before[successor].append(block)
            if position[successor] <= position[block]:
                back.setdefault(successor, []).append(block)
    loops = {header: _blocks_between(header, ends, before) for header, ends in back.items()}
    return [
        blocks
        for header, blocks in loops.items()
        if not any(other in blocks for other in loops if other is not header)
    ]


def _blocks_between(
    header: Block, ends: Sequence[Block], before: dict[Block, list[Block]]
) -> set[Block]:
    found = {header}
    pending = list(ends)
    while pending:
        block = pending.pop()
        if block not in found:
            found.add(block)
            pending += before[block]
    return found
