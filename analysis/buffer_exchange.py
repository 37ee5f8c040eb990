"""
Which states of a loop change buffers from step to step, instead of being copied (double buffering).

A step that cannot compute its next state in place writes it into a spare buffer, and the two change places: the next step
finds its state where this one wrote it. A state that becomes another, as in `before, now = now, after`, hands its buffer
on. No element moves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.ir import SSAValue

from ..dialects.shaped import shape_of
from .buffer_plan import BufferPlan

FEW = 64
"""Elements of a state that is copied all the same: some cache lines, or values that may end up in registers."""


@dataclass(frozen=True)
class Exchange:
    """
    The buffers that change places, in slots: first the one of each state in `states`, by number, then the spare ones of
    those in `computed`. After a step, a slot has the buffer that the slot of the same position in `following` had.
    """

    states: tuple[int, ...] = ()
    computed: tuple[int, ...] = ()
    following: tuple[int, ...] = ()

    def spare(self, number: int) -> int:
        """The slot that a step writes the next state of that number into."""
        return len(self.states) + self.computed.index(number)

    def origin(self, slot: int, steps: int) -> int:
        """The slot in which the buffer was at the start that is in a slot after so many steps."""
        cycle = [slot]
        while (before := self.following[cycle[-1]]) != slot:
            cycle.append(before)
        return cycle[steps % len(cycle)]


def plan_exchange(
    plan: BufferPlan, values: Sequence[SSAValue], state: Mapping[int, SSAValue]
) -> Exchange:
    """What changes places in a loop whose step yields `values`, of which those in `state` replace these arguments."""
    numbers = {argument: number for number, argument in state.items()}
    taken: dict[int, int | None] = {}
    """for each state the one whose buffer it gets, None where it is computed into a spare one"""
    for number, argument in state.items():
        value = values[number]
        if value is argument or number in plan.updated or prod(shape_of(argument)) <= FEW:
            continue
        if plan.homes[value].root == number:
            taken[number] = None
        elif value in numbers and numbers[value] not in taken.values():
            taken[number] = numbers[value]
    while lost := [n for n, source in taken.items() if source is not None and source not in taken]:
        for number in lost:
            del taken[number]
    states = tuple(taken)
    computed = tuple(number for number, source in taken.items() if source is None)
    slot = {number: place for place, number in enumerate(states)}
    handed = {slot[source]: slot[n] for n, source in taken.items() if source is not None}
    following = [0] * (len(states) + len(computed))
    for source, place in handed.items():
        following[place] = source
    for spare, number in enumerate(computed, len(states)):
        place = slot[number]
        following[place] = spare
        while place in handed:
            place = handed[place]
        following[spare] = place  # what nobody takes over is spare in the next step
    return Exchange(states, computed, tuple(following))
