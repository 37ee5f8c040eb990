"""Loops of blocks that branch to each other (Aho, Sethi, Ullman, "Compilers", section 9.6: natural loops)."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Block

from .operations import successors_of


def innermost_loops(order: Sequence[Block]) -> list[set[Block]]:
    """
    The blocks of each loop that has no other inside. `order` is a reverse postorder, as of `reachable_order`.

    Where an edge goes back to a block that can be reached around (irreducible control flow), the loop has all
    blocks on the way.
    """
    # Blocks are numbered: xDSL's hash of a block takes a call.
    numbers = {id(block): number for number, block in enumerate(order)}
    before: list[list[int]] = [[] for _ in order]
    back: dict[int, list[int]] = {}
    for number, block in enumerate(order):
        for successor in successors_of(block):
            to = numbers[id(successor)]
            before[to].append(number)
            if to <= number:
                back.setdefault(to, []).append(number)
    loops = {header: _between(header, ends, before) for header, ends in back.items()}
    return [
        {order[number] for number in inside}
        for inside in loops.values()
        if len(loops.keys() & inside) == 1  # the header of its own alone
    ]


def _between(header: int, ends: Sequence[int], before: Sequence[Sequence[int]]) -> set[int]:
    found = {header}
    pending = list(ends)
    while pending:
        number = pending.pop()
        if number not in found:
            found.add(number)
            pending += before[number]
    return found
