"""
Dominators of the blocks of a region.

xDSL's `xdsl.irdl.dominance` counts a block that nothing reaches as a way into its successors, and so
finds too few dominators; it also keeps a set of blocks for every block. This is the algorithm of Cooper,
Harvey and Kennedy, "A Simple, Fast Dominance Algorithm" (2001).
"""

from __future__ import annotations

from xdsl.ir import Block, Region

from .operations import successors_of


def reachable_order(region: Region) -> list[Block]:
    """The blocks that the entry block reaches, in reverse postorder: the entry block first."""
    entry = region.first_block
    if entry is None:
        return []
    postorder: list[Block] = []
    seen = {id(entry)}  # xDSL's hash of a block takes a call
    pending = [(entry, iter(successors_of(entry)))]
    while pending:
        block, successors = pending[-1]
        for successor in successors:
            if id(successor) not in seen:
                seen.add(id(successor))
                pending.append((successor, iter(successors_of(successor))))
                break
        else:
            postorder.append(block)
            pending.pop()
    return postorder[::-1]


def dominator_tree(order: list[Block]) -> dict[Block, list[Block]]:
    """
    Block -> the blocks it dominates immediately, for the blocks of `reachable_order`.
    """
    number = {block: position for position, block in enumerate(order)}
    predecessors: list[list[int]] = [[] for _ in order]
    for block in order:
        for successor in successors_of(block):
            if successor in number:
                predecessors[number[successor]].append(number[block])
    dominator = _immediate_dominators(predecessors)
    children: dict[Block, list[Block]] = {}
    for position in range(1, len(order)):
        children.setdefault(order[dominator[position]], []).append(order[position])
    return children


def _immediate_dominators(predecessors: list[list[int]]) -> list[int]:
    """For blocks numbered in reverse postorder; block 0, the entry, is given itself."""
    unknown = -1
    dominator = [unknown] * len(predecessors)
    dominator[0] = 0

    def common(a: int, b: int) -> int:
        while a != b:
            if a > b:
                a = dominator[a]
            else:
                b = dominator[b]
        return a

    changed = True
    while changed:
        changed = False
        for block in range(1, len(predecessors)):
            known = [p for p in predecessors[block] if dominator[p] != unknown]
            new = known[0]
            for other in known[1:]:
                new = common(new, other)
            if dominator[block] != new:
                dominator[block] = new
                changed = True
    return dominator
