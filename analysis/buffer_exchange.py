"""
Which states of a loop change buffers from step to step, instead of being copied (double buffering).

A step that cannot compute its next state in place writes it into a spare buffer, and the two change places: the next step
finds its state where this one wrote it. A state that becomes another, as in `before, now = now, after`, hands its buffer on.
Where nobody takes over the buffer of a state, and a step reads that element for element as it writes, as in leapfrog schemes,
the next state is written over it. A state that is also a result for each step is read from that result's row of the step
before. No element moves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from math import prod

from xdsl.ir import Block, Operation, SSAValue

from ..dialects import te
from ..dialects.shaped import shape_of
from ..frozen import frozen
from .buffer_plan import BufferPlan
from .strided_views import Placing

FEW = 64
"""Elements of a state that is copied all the same: some cache lines, or values that may end up in registers."""


@frozen
class Exchange:
    """
    The buffers that change places, in slots: first the one of each state in `states`, by number, then the spare ones of
    those in `computed`. After a step, a slot has the buffer that the slot of the same position in `following` had.
    """

    states: tuple[int, ...] = ()
    computed: tuple[int, ...] = ()
    following: tuple[int, ...] = ()
    over: Mapping[int, int] = field(default_factory=dict[int, int])
    """by number the slot of a state that nobody takes over, which what computes the next state is written over"""

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
    while apart := [n for n, source in taken.items() if source is not None and source not in taken]:
        for number in apart:
            del taken[number]
    states = tuple(taken)
    slot = {number: place for place, number in enumerate(states)}
    handed = {slot[source]: slot[n] for n, source in taken.items() if source is not None}
    lost: dict[int, int] = {}
    """for each state that is computed the slot of that whose buffer nobody takes over"""
    for number, source in taken.items():
        if source is None:
            place = slot[number]
            while place in handed:
                place = handed[place]
            lost[number] = place
    over = {
        number: place
        for number, place in lost.items()
        if (number, states[place]) in plan.overwriting
    }
    computed = tuple(number for number in lost if number not in over)
    following = [0] * (len(states) + len(computed))
    for source, place in handed.items():
        following[place] = source
    for number, place in lost.items():
        spare = place if number in over else len(states) + computed.index(number)
        following[slot[number]] = spare
        if number not in over:
            following[spare] = place  # what nobody takes over is spare in the next step
    return Exchange(states, computed, tuple(following), over)


def states_in_rows(
    plan: BufferPlan,
    block: Block,
    state: Mapping[int, SSAValue],
    starts: Mapping[int, Placing],
) -> dict[int, int]:
    """
    The states of a scan's body that a step can read where the step before wrote them as a row of a result: by number that
    of the result. `starts` has how each lies before the first step.

    The row is given from step to step as a buffer whose offset is open, of which there are no views: kernels alone read it,
    and all of it.
    """
    terminator = block.last_op
    assert terminator is not None
    values, found = terminator.operands, dict[int, int]()
    for number, argument in state.items():
        home = plan.homes[values[number]]
        if not isinstance(home.root, int) or home.root in state or home.root in plan.returned:
            continue
        seen = [value for value, at in plan.homes.items() if at.root is argument]
        straight = any(at.home.root is argument for at in plan.straightened.values())
        if (
            values[home.root] is values[number]
            and prod(shape_of(argument)) > FEW
            and seen == [argument]
            and not straight
            and all(_is_read_by_kernel(use.operation, block, plan) for use in argument.uses)
            and home.placing.strides
            == plan.homes[argument].placing.strides
            == starts[number].strides
        ):
            found[number] = home.root
    return found


def _is_read_by_kernel(op: Operation, block: Block, plan: BufferPlan) -> bool:
    """Whether an operation of a block is a kernel that reads what it has."""
    return isinstance(op, te.KernelOp) and op.parent is block and op not in plan.placed
