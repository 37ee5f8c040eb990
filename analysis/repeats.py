"""
Operations that a block repeats with other operands, as a network does its layers: found, so that what is decided about
one of them is decided for all.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from itertools import groupby
from math import prod
from typing import TypeAlias

import numpy as np
from xdsl.builder import Builder
from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint
from xdsl.traits import is_side_effect_free

from ..dialects.graph import (
    ConstantOp,
    ConvOp,
    ConvTransposeOp,
    ElementwiseOp,
    GraphOp,
    MatmulOp,
)
from ..dialects.graph.base import splat_number
from ..dialects.graph.expressions import Decomposable, Expr
from ..dialects.graph.movement import MovementOp
from ..dialects.shaped import shape_of
from ..errors import StepwellError
from ..frozen import frozen

REPEATED = "stepwell.repeated"
"""marks a function that is one of the repeated parts of its caller, in which it is going to be again"""

LEAST_OPERATIONS = 6
"""of a part: about a kernel or two, below which nothing is gained"""

LEAST_SAVED = 24
"""operations that need not be looked at: a call and a copy cost about as much as a few of them"""


@frozen
class Part:
    """One of several equal parts of a block, and what it takes from outside, in the order of first uses."""

    ops: tuple[Operation, ...]
    values: tuple[SSAValue, ...]


@frozen
class Repeat:
    """
    Parts that follow one another in a block, each with the same operations, whose operands come from the same places in
    it or from outside.
    """

    parts: tuple[Part, ...]
    results: tuple[tuple[int, int], ...]
    """what is used outside of a part: the number of its operation, and of that one's result"""


def find_repeat(
    block: Block, operations: int = LEAST_OPERATIONS, saved: int = LEAST_SAVED
) -> Repeat | None:
    """
    The longest repeat of a block at the graph level that lets nothing become dearer; None where there is none of parts
    of so many `operations`, of which as many as `saved` need not be looked at.

    Constants are outside, but for numbers, which all parts have in common. Cuts between parts are where no kernel would
    go on: what passes one is stored anyway; see `_Cuts`.
    """
    ops = [op for op in block.ops if not isinstance(op, ConstantOp)]
    found = _longest_run(_labels(ops), operations, saved)
    if found is None:
        return None
    start, count, period = found
    rotation = _Cuts(block, ops).best(start, count, period)
    if rotation is None:
        return None
    first = start + rotation
    starts = range(first, start + count - period + 1, period)
    parts = [_part(ops[at : at + period]) for at in starts]
    alike = max(
        (list(group) for _, group in groupby(parts, key=lambda part: part[1])),
        key=len,
    )
    if (len(alike) - 1) * period < saved:
        return None
    chosen = tuple(part for part, _ in alike)
    return Repeat(chosen, _results(chosen))


def _labels(ops: Sequence[Operation]) -> np.ndarray:
    """A number for each operation: equal ones do the same to operands of the same types."""
    numbers: dict[Hashable, int] = {}
    return np.array(
        [numbers.setdefault(_label(op, place), len(numbers)) for place, op in enumerate(ops)]
    )


def _label(op: Operation, place: int) -> Hashable:
    if not isinstance(op, GraphOp) or op.regions or not is_side_effect_free(op):
        return place  # like no other
    return (
        type(op),
        tuple(op.properties.items()),
        tuple(op.attributes.items()),
        tuple(value.type for value in op.operands),
        tuple(result.type for result in op.results),
    )


def _longest_run(labels: np.ndarray, operations: int, saved: int) -> tuple[int, int, int] | None:
    """Where labels begin to repeat, how many of them do, and after how many; the most that need not be looked at."""
    best = None
    for period in range(operations, len(labels) // 2 + 1):
        differs = np.flatnonzero(labels[period:] != labels[:-period])
        ends = np.concatenate(([-1], differs, [len(labels) - period]))
        lengths = np.diff(ends) - 1
        longest = int(lengths.argmax())
        repeated = int(lengths[longest]) // period * period
        if repeated > saved - (best is None):
            saved = repeated
            best = (int(ends[longest]) + 1, int(lengths[longest]) + period, period)
    return best


def _part(ops: Sequence[Operation]) -> tuple[Part, Hashable]:
    """A part, and where each operand is from: equal ones are parts of one repeat."""
    inside: dict[SSAValue, Hashable] = {
        result: (place, number)
        for place, op in enumerate(ops)
        for number, result in enumerate(op.results)
    }
    outside: dict[SSAValue, int] = {}

    def origin(value: SSAValue) -> Hashable:
        if value in inside:
            return inside[value]
        constant = common_constant(value)
        if constant is not None:
            return constant.value
        return outside.setdefault(value, len(outside)), isinstance(value.owner, ConstantOp)

    origins = tuple(tuple(map(origin, op.operands)) for op in ops)
    return Part(tuple(ops), tuple(outside)), origins


def common_constant(value: SSAValue) -> ConstantOp | None:
    """What defines a constant that is one number: it is to be the same in all parts, and stands in their function."""
    op = value.owner
    return op if isinstance(op, ConstantOp) and splat_number(value) is not None else None


def _results(parts: Iterable[Part]) -> tuple[tuple[int, int], ...]:
    found = {
        (place, number)
        for part in parts
        for own in [set(part.ops)]
        for place, op in enumerate(part.ops)
        for number, result in enumerate(op.results)
        if any(use.operation not in own for use in result.uses)
    }
    return tuple(sorted(found))


def is_element_wise(op: Operation) -> bool:
    """
    Whether an operation computes element by element, or decomposes to such operations and to what moves elements, as
    batch normalisation does.
    """
    if not isinstance(op, Decomposable):
        return isinstance(op, ElementwiseOp)
    steps = Block(arg_types=[value.type for value in op.operands])
    builder = Builder(InsertPoint.at_end(steps))
    try:
        op.decompose(*(Expr(arg, builder) for arg in steps.args))
    except StepwellError:  # it needs an extent that is `?`: graph-decompose is who says so
        return False
    return all(
        isinstance(step, ConstantOp | MovementOp) or is_element_wise(step) for step in steps.ops
    )


Product: TypeAlias = MatmulOp | ConvOp | ConvTransposeOp


def _is_as_large(one: SSAValue, other: SSAValue) -> bool:
    """Whether a tensor is known to have as many elements as another one, or more."""
    shapes = shape_of(one), shape_of(other)
    if any(DYNAMIC_INDEX in shape for shape in shapes):
        return False
    return prod(shapes[0]) >= prod(shapes[1])


class _Cuts:
    """
    Where a block may be cut between operations without a kernel that would have been over both sides.

    What passes the cut is stored anyway. Either it is a product of matrices or a convolution, finished element by element,
    and another product needs it, or is done before all of what needs it; or both a product and something after that need
    it, as the result of a normalisation between two layers. No element-wise operation behind the cut could have finished
    it more, as each has an operand that is yet to be reduced.
    """

    def __init__(self, block: Block, ops: Sequence[Operation]):
        self.block, self.ops = block, ops
        self.place = {op: place for place, op in enumerate(ops)}
        self._places: dict[SSAValue, list[int]] = {}
        """what `_users` has found"""
        self._element_wise: dict[Operation, bool] = {}
        """what `is_element_wise` has said"""

    def best(self, start: int, count: int, period: int) -> int | None:
        """How many operations after the start the first part begins: where the fewest values pass a cut."""
        middle = start + (count // period) // 2 * period
        found: tuple[int, int] | None = None
        for rotation in range(period):
            passing = self._passing(middle + rotation, period)
            is_fewer = passing and (found is None or len(passing) < found[0])
            if is_fewer and self._is_allowed(passing, middle + rotation, period):
                found = len(passing), rotation
        return found and found[1]

    def _passing(self, cut: int, period: int) -> list[SSAValue]:
        """What is made before a cut, in the part there, and used behind it."""
        return [
            result
            for op in self.ops[cut - period : cut]
            for result in op.results
            if any(place >= cut for place in self._users(result))
        ]

    def _users(self, value: SSAValue) -> list[int]:
        """The places of the operations of the block that use a value, or in which one does."""
        known = self._places.get(value)
        if known is not None:
            return known
        found = self._places[value] = list[int]()
        for use in value.uses:
            op = use.operation
            while op.parent is not self.block:
                outer = op.parent_op()
                assert outer is not None
                op = outer
            found.append(self.place[op])
        return found

    def _is_allowed(self, passing: Sequence[SSAValue], cut: int, period: int) -> bool:
        if not all(
            (self._is_finished_product(value, cut - period) and self._is_stored(value, cut))
            or self._is_needed_later(value, cut)
            for value in passing
        ):
            return False
        reached = set(passing)
        for op in self.ops[cut : cut + period]:
            if not any(value in reached for value in op.operands):
                continue
            is_late = any(v not in reached and self._made_at(v) >= cut for v in op.operands)
            if is_late:
                continue
            if self._is_element_wise(op):
                return False
            if isinstance(op, MovementOp):
                reached.update(op.results)
        return True

    def _is_element_wise(self, op: Operation) -> bool:
        known = self._element_wise.get(op)
        if known is None:
            known = self._element_wise[op] = is_element_wise(op)
        return known

    def _goes_on(self, op: Operation) -> bool:
        """Whether what makes an operand of an operation may be finished by it."""
        return isinstance(op, MovementOp) or self._is_element_wise(op)

    def _made_at(self, value: SSAValue) -> int:
        owner = value.owner
        return self.place.get(owner, -1) if isinstance(owner, Operation) else -1

    def _is_finished_product(self, value: SSAValue, since: int) -> bool:
        """Whether a value is made element by element of products, and of what is there before."""
        inner = [op for op in self._makers(value, since, self._goes_on) if not self._goes_on(op)]
        return bool(inner) and all(isinstance(op, Product) for op in inner)

    def _is_stored(self, value: SSAValue, cut: int) -> bool:
        users = (self.ops[place] for place in self._users(value) if place >= cut)
        return any(
            isinstance(made, Product)
            for user in users
            for made in (user, *self._makers(user.operands, cut, lambda _: True))
        )

    def _is_needed_later(self, value: SSAValue, cut: int) -> bool:
        """
        Whether products need a value and something else does, too, so that no product computes it as an operand of its own,
        nor goes on with its rows: blocks of rows would read weights of at least its size again, to save reading it once.
        """
        users = [self.ops[place] for place in self._users(value) if place >= cut]
        products = [op for op in users if isinstance(op, Product)]
        return 0 < len(products) < len(users) and all(
            any(_is_as_large(other, value) for other in op.operands if other is not value)
            for op in products
        )

    def _makers(
        self,
        values: SSAValue | Sequence[SSAValue],
        since: int,
        through: Callable[[Operation], bool],
    ) -> Iterator[Operation]:
        """The operations from a place on that values are made by; those before the ones one looks `through`."""
        pending = [values] if isinstance(values, SSAValue) else list(values)
        seen: set[Operation] = set()
        while pending:
            place = self._made_at(pending.pop())
            if place < since or self.ops[place] in seen:
                continue
            op = self.ops[place]
            seen.add(op)
            yield op
            if through(op):
                pending += op.operands
