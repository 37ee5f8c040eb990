"""Updates `x = x ⊕ …` whose order does not matter: where a loop reduces rather than depends."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from xdsl.dialects import arith, func
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import IsTerminator, MemoryEffectKind, RecursiveMemoryEffect, get_effects

from ..dialects import loop
from ..dialects.scalar import SECOND_IS_NUMBER
from ..frozen import frozen
from .alias import Aliases
from .effects import has_no_effect
from .operations import operands_of, operations_in

_EXACT = {
    arith.AddiOp: "add",
    arith.MuliOp: "mul",
    arith.MaxSIOp: "max",
    arith.MinSIOp: "min",
    arith.MaxUIOp: "umax",
    arith.MinUIOp: "umin",
    arith.AndIOp: "and",
    arith.OrIOp: "or",
    arith.XOrIOp: "xor",
    arith.MaximumfOp: "max",
    arith.MinimumfOp: "min",
}
"""Operators that are associative and commutative exactly."""

_WITH_REASSOCIATION = {arith.AddfOp: "add", arith.MulfOp: "mul"}
"""Operators that are so only where the operation's flags let it be reassociated."""


@frozen
class ReductionUpdate:
    """
    A load, a combination with the loaded value, and a store to the same element.

    Nothing in between writes the element, so that a whole update may change places with another.
    """

    operator: str
    load: loop.LoadOp
    combine: Operation
    store: loop.StoreOp


def operator_name(op: Operation) -> str | None:
    """The name of an operator that reductions use, whether or not its flags let it be reordered."""
    return _exact(op) or _WITH_REASSOCIATION.get(type(op))  # pyright: ignore[reportArgumentType]


def operator_of(op: Operation) -> str | None:
    """The name of the operator when the operation may be reordered with others of its kind."""
    exact = _exact(op)
    if exact is not None:
        return exact
    if (
        type(op) is arith.AddfOp or type(op) is arith.MulfOp
    ) and FastMathFlag.REASSOC in op.fastmath.data:
        return _WITH_REASSOCIATION[type(op)]
    return None


def _exact(op: Operation) -> str | None:
    """The name of an operator that is associative and commutative; of a maximum of numbers where what is joined is one."""
    if type(op) is arith.MaxnumfOp:
        return "maxnum" if SECOND_IS_NUMBER in op.attributes else None
    return _EXACT.get(type(op))  # pyright: ignore[reportArgumentType]


class Updates(Mapping[Operation, ReductionUpdate]):
    """The update each load and store belongs to, for those that belong to one; each found when it is asked for."""

    def __init__(self, operations: Sequence[Operation], aliases: Aliases):
        """`operations` are a function's, in textual order."""
        self._operations, self._aliases = operations, aliases
        self._known: dict[Operation, ReductionUpdate | None] = {}

    def __getitem__(self, op: Operation) -> ReductionUpdate:
        found = self.of(op)
        if found is None:
            raise KeyError(op)
        return found

    def of(self, op: Operation) -> ReductionUpdate | None:
        """As `get`, without an error on the way: most accesses belong to none."""
        try:
            return self._known[op]
        except KeyError:
            found = self._known[op] = self._find(op)
            return found

    def __iter__(self) -> Iterator[Operation]:
        return iter(self.found())

    def __len__(self) -> int:
        return len(self.found())

    def found(self) -> dict[Operation, ReductionUpdate]:
        """All of them."""
        found: dict[Operation, ReductionUpdate] = {}
        for op in self._operations:
            update = self.of(op) if type(op) is loop.StoreOp else None
            if update is not None:
                found[update.load] = found[op] = update
        return found

    def _find(self, op: Operation) -> ReductionUpdate | None:
        if type(op) is loop.LoadOp:
            store = _store_of(op)
            found = self.of(store) if store is not None else None
            return found if found is not None and found.load is op else None
        found = _update(op) if type(op) is loop.StoreOp else None
        return found if found is not None and _is_undisturbed(found, self._aliases) else None


def _store_of(load: loop.LoadOp) -> Operation | None:
    """What stores the combination of a loaded value, where that is all that is done with it."""
    combine = load.result.get_user_of_unique_use()
    if combine is None or len(combine.results) != 1:
        return None
    return combine.results[0].get_user_of_unique_use()


def find_updates(function: func.FuncOp) -> Mapping[Operation, ReductionUpdate]:
    """The update each load and store of a function belongs to, for those that belong to one."""
    return Updates(operations_in(function), Aliases(function)).found()


def find_running(for_op: loop.ForOp, aliases: Aliases) -> dict[Operation, ReductionUpdate]:
    """
    The running reductions of a loop, by their loads and stores: `x = x + a[i]; y[i] = x`.

    As in a reduction each iteration updates one element, which nothing else in the loop reads or writes, by an operator
    that may be reassociated; what it is by then is used further on in the iteration. All prefixes can be computed
    together (Hillis and Steele, "Data Parallel Algorithms", CACM 29(12), 1986).
    """
    found: dict[Operation, ReductionUpdate] = {}
    for op in operations_in(for_op):
        update = _update(op, is_running=True) if type(op) is loop.StoreOp else None
        if update is not None and _loop_around(op) is for_op and _is_alone(update, for_op, aliases):
            found[update.load] = update
            found[update.store] = update
    return found


def _is_alone(update: ReductionUpdate, for_op: loop.ForOp, aliases: Aliases) -> bool:
    """Whether the element stays the same one, and nothing else in the loop has to do with its buffer."""
    outside = [value for value in update.store.operands_ if for_op.is_ancestor(_place(value))]
    buffer = aliases.root(update.store.buffer)
    for op in for_op.body.walk():
        if op is update.load or op is update.store:
            continue
        if isinstance(op, loop.LoadOp | loop.StoreOp):
            if aliases.may_alias(aliases.root(op.buffer), buffer):
                return False
        elif (not isinstance(op, loop.ForOp | loop.IfOp) and get_effects(op) is None) or _may_write(
            op
        ):
            return False
    return not outside


def _loop_around(op: Operation) -> Operation | None:
    """The innermost loop around an operation."""
    around = op.parent_op()
    while isinstance(around, loop.IfOp):
        around = around.parent_op()
    return around


def _place(value: SSAValue) -> Operation:
    """The operation that defines a value, or the one around the block that has it for an argument."""
    owner = value.owner
    around = owner if isinstance(owner, Operation) else owner.parent_op()
    assert around is not None
    return around


def _update(store: loop.StoreOp, *, is_running: bool = False) -> ReductionUpdate | None:
    value = operands_of(store)[0]
    combine = value.owner
    if isinstance(combine, Block) or value.has_one_use() is is_running:
        return None
    operator = operator_of(combine)
    if operator is None or combine.parent is not store.parent:
        return None
    loads = [load for operand in combine.operands if (load := _own_load(operand, store))]
    if len(loads) != 1:
        return None
    return ReductionUpdate(operator, loads[0], combine, store)


def _may_write(op: Operation) -> bool:
    """Whether the operation itself writes memory; what is inside of it is asked for itself."""
    if has_no_effect(type(op)) and not op.regions:
        return False
    if op.has_trait(RecursiveMemoryEffect) or op.has_trait(IsTerminator):
        return False
    effects = get_effects(op)
    return effects is None or any(e.kind is MemoryEffectKind.WRITE for e in effects)


def _is_undisturbed(update: ReductionUpdate, aliases: Aliases) -> bool:
    """Whether nothing writes the buffer between the load and the store."""
    buffer = aliases.root(update.store.buffer)
    current = update.load.next_op
    while current is not None and current is not update.store:
        for op in current.walk():
            if isinstance(op, loop.StoreOp):
                if aliases.may_alias(aliases.root(op.buffer), buffer):
                    return False
            elif _may_write(op):
                return False
        current = current.next_op
    return True


def _own_load(value: SSAValue, store: loop.StoreOp) -> loop.LoadOp | None:
    """The load of the stored element that gives `value`, when nothing else uses it."""
    load = value.owner
    if (
        type(load) is loop.LoadOp
        and value.has_one_use()
        and load.parent is store.parent
        and operands_of(load) == operands_of(store)[1:]  # the buffer and what subscripts are over
        and load.map == store.map
    ):
        return load
    return None
