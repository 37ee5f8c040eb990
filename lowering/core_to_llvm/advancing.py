"""
Pointers that advance with a loop, for loads whose element goes into all lanes of a vector.

A register tile multiplies vectors of one operand with single elements of the other. AVX-512 has an operand that is loaded and
put into all lanes within the multiply-add, which is one instruction for the core too; but not where its address has an index:
Intel's cores split such an instruction in two ("unlamination", Intel 64 and IA-32 Architectures Optimization Reference Manual,
on micro-fusion). LLVM has one counter for a loop and all addresses in it, as in `[base + 4 * counter + offset]`, since that takes
the fewest registers. So a pointer of its own goes through the loop here, of which LLVM does not know how it advances: all that is
left to add to it are numbers.

Where a core has loads to spare, an element that goes into all lanes of two registers is loaded for each of them, by a pointer each: LLVM
would share the load of one address, and have two multiply-adds with a third instruction that loads.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from xdsl.dialects import arith, memref, scf, vector
from xdsl.ir import Block, Operation, SSAValue

from ...analysis.frames import constant_value
from ...analysis.operations import operands_of, operations_of
from ...dialects.upstream.memref import PrefetchOp
from ...targets.rates import OWN_MOST_LOADS, OWN_VECTORS
from .emitter import Emitter
from .loop_hints import is_written_out
from .types import Index, MemRefValue, element_bytes, memory_type

LEAST_COPIES = 4
"""Fewer loads from a pointer, with all iterations written out, are not worth the instruction that advances it."""

ALL_LANES_BITS = 512
"""Of vectors for which operands are put into all lanes: those of AVX-512."""

ALL_LANES_BYTES = (4, 8)
"""Of the elements that there are such operands of."""

TO_L1 = 3
"""The locality of hints that ask for a line to L1: they take what loads take, as long as it does not come. Those to L2 end sooner."""

MOST_TERMS = 64
"""Of an index, looked at one by one: of sums of sums of themselves there would be no end."""

MOST_POINTERS = 6
"""Of a loop: other pointers, its counter and its end are in general registers too, of which there are fifteen."""

_LOADS = (memref.LoadOp, vector.LoadOp, vector.MaskedLoadOp)

Terms = dict[SSAValue, int]
"""The values of a sum, and what each is multiplied with."""

_NOTHING: tuple[list[SSAValue], tuple[Terms, int]] = ([], ({}, 0))


@dataclass
class _Place:
    """One index of a load as a sum: of what stays or advances with the loop, of counters of loops that are written out, and of a number."""

    around: Terms = field(default_factory=Terms)
    written_out: Terms = field(default_factory=Terms)
    number: int = 0
    seen: int = 0
    """how many values were looked at"""


@dataclass
class _Group:
    """Loads of one memref whose addresses differ by numbers, once their loops are written out."""

    source: SSAValue
    around: list[Terms]
    """of each index"""
    loads: list[tuple[Operation, list[_Place]]] = field(
        default_factory=list[tuple[Operation, list[_Place]]]
    )
    copies: int = 0
    registers: int = 1
    """of the vectors that are filled, each of which has a pointer of its own"""


class AdvancingPointers:
    """The pointers of one loop: built before it is entered, where `start` has their first values."""

    def __init__(self, e: Emitter, op: scf.ForOp, body: Block):
        self._e = e
        self._groups = _groups(e, op, body)
        self.start: list[SSAValue] = []
        self._steps: list[int] = []
        if not self._groups:
            return
        counter, (lower, _, step, *_) = body.args[0], operands_of(op)
        first, each = e.index(lower), constant_value(step)
        assert each is not None
        for group in self._groups:
            source = e.memref(group.source)
            indices = [_sum(e, terms, counter, first) for terms in group.around]
            start = e.element_pointer(source, indices, inbounds=False)
            self.start += [start] * group.registers
            self._steps.append(each * _moved(source, group.around, counter))

    def enter(self, pointers: Sequence[SSAValue]) -> None:
        """The loads of the body take these."""
        for group, own in self._shared_out(pointers):
            strides = self._e.memref(group.source).strides
            for load, places in group.loads:
                self._e.advancing[load] = own, _offset(places, strides)

    def advanced(self, pointers: Sequence[SSAValue]) -> list[SSAValue]:
        """For the next iteration."""
        e = self._e
        found: list[SSAValue] = []
        for (group, own), step in zip(self._shared_out(pointers), self._steps, strict=True):
            stored = memory_type(e.memref(group.source).type.element_type)
            found += [e.hidden(e.pointer_at(p, (step,), stored, inbounds=False)) for p in own]
        return found

    def _shared_out(self, pointers: Sequence[SSAValue]) -> Iterator[tuple[_Group, list[SSAValue]]]:
        rest = iter(pointers)
        for group in self._groups:
            yield group, list(islice(rest, group.registers))


def advancing_address(e: Emitter, load: Operation, register: int = 0) -> SSAValue | None:
    """The address of a load by the pointer for the register of that number; None where there is no such pointer."""
    pointers, (terms, number) = e.advancing.get(load, _NOTHING)
    if register >= len(pointers):
        return None
    stored = memory_type(e.memref(operands_of(load)[0]).type.element_type)
    position = e.add(_sum(e, terms), number)
    return e.pointer_at(pointers[register], (position,), stored, inbounds=False)


def _groups(e: Emitter, op: scf.ForOp, body: Block) -> list[_Group]:
    if e.symbols.vector_bits < ALL_LANES_BITS or constant_value(operands_of(op)[2]) is None:
        return []
    most = OWN_VECTORS if e.symbols.own_loads and _has_loads_to_spare(body) else 1
    found: dict[tuple[object, ...], _Group] = {}
    for load, copies in _written_out(body):
        registers = _registers(load)
        if not 0 < registers <= most:
            continue
        source, *indices = operands_of(load)
        places = [place for index in indices if (place := _place(index, op, body))]
        if len(places) < len(indices) or _is_inside(source.owner, op):
            continue
        if not _advances(e.memref(source), places, body.args[0]):
            continue
        around = [place.around for place in places]
        key = (registers, source, *(frozenset(terms.items()) for terms in around))
        group = found.setdefault(key, _Group(source, around, registers=registers))
        group.loads.append((load, places))
        group.copies += copies
    groups = [group for group in found.values() if group.copies >= LEAST_COPIES]
    return groups if sum(group.registers for group in groups) <= MOST_POINTERS else []


def _written_out(block: Block, copies: int = 1) -> Iterator[tuple[Operation, int]]:
    """The operations of a block and of loops in it that are written out, and how often each is then there."""
    for op in operations_of(block):
        if not op.regions:
            yield op, copies
        elif type(op) is scf.ForOp and is_written_out(op):
            lower, upper, step = (constant_value(value) or 0 for value in operands_of(op)[:3])
            yield from _written_out(op.body.block, copies * len(range(lower, upper, step or 1)))


def _registers(load: Operation) -> int:
    """
    How many multiply-adds could load the element themselves, if all that is made of it are vectors with it in all lanes: one for each
    register of a vector, or two that use one register. 0 where there is something else, or more.
    """
    if type(load) is not memref.LoadOp:
        return 0
    (element,) = load.results
    filled = element.get_user_of_unique_use()
    if type(filled) is not vector.BroadcastOp or element_bytes(element.type) not in ALL_LANES_BYTES:
        return 0
    registers, rest = divmod(8 * element_bytes(filled.results[0].type), ALL_LANES_BITS)
    if rest or registers > OWN_VECTORS:
        return 0
    return registers if registers > 1 else len(_users(filled))


def _users(filled: Operation) -> list[Operation]:
    """The operations that use a vector, where these are two in its block at most; none where there are more."""
    (result,) = filled.results
    users: list[Operation] = []
    for use in result.uses:
        user = use.operation
        if len(users) == OWN_VECTORS or user in users or user.parent is not filled.parent:
            return []
        users.append(user)
    return users


def second_user(filled: Operation) -> Operation:
    """The latter of the two operations that use a vector."""
    first, second = _users(filled)
    return first if second.is_before_in_block(first) else second


def _has_loads_to_spare(body: Block) -> bool:
    """Whether multiply-adds that load by themselves, in a loop that is not written out, leave the others their time."""
    own, others = 0, 0
    for op, copies in _written_out(body):
        if _registers(op) == OWN_VECTORS:
            own += OWN_VECTORS * copies
        elif type(op) is PrefetchOp:
            others += copies if op.localityHint.value.data == TO_L1 else 0
        elif type(op) in _LOADS and not isinstance(operands_of(op)[0].owner, memref.AllocaOp):
            others += -(-8 * element_bytes(op.results[0].type) // ALL_LANES_BITS) * copies
    return own + others <= OWN_MOST_LOADS * own


def _place(index: SSAValue, op: scf.ForOp, body: Block) -> _Place | None:
    """An index of a load in the loop as a sum; None where it is none, or of something else that the loop computes."""
    place = _Place()
    return place if _add_terms(place, index, 1, op, body) else None


def _add_terms(place: _Place, value: SSAValue, factor: int, op: scf.ForOp, body: Block) -> bool:
    """Add a multiple of a value to the sum. False where that cannot be done."""
    place.seen += 1
    if place.seen > MOST_TERMS:
        return False
    number = constant_value(value)
    if number is not None:
        place.number += factor * number
        return True
    owner = value.owner
    if type(owner) is arith.AddiOp:
        return all(_add_terms(place, term, factor, op, body) for term in operands_of(owner))
    if type(owner) is arith.MuliOp:
        a, b = operands_of(owner)
        for one, times in ((a, constant_value(b)), (b, constant_value(a))):
            if times is not None:
                return _add_terms(place, one, factor * times, op, body)
    if value is body.args[0] or not _is_inside(owner, op):
        place.around[value] = place.around.get(value, 0) + factor
        return True
    if isinstance(owner, Operation) or owner.parent_op() is op or value is not owner.args[0]:
        return False  # another operation, or what iterations carry
    place.written_out[value] = place.written_out.get(value, 0) + factor
    return True


def _is_inside(owner: Operation | Block, op: scf.ForOp) -> bool:
    around = owner.parent_op()
    while around is not None and around is not op:
        around = around.parent_op()
    return around is op


def _advances(source: MemRefValue, places: Sequence[_Place], counter: SSAValue) -> bool:
    """Whether a load advances with the loop, by a number of elements each time, and is that far from others of its group."""
    is_number = [isinstance(stride, int) for stride in source.strides]
    needed = [
        bool(place.written_out or place.number or counter in place.around) for place in places
    ]
    moves = any(counter in place.around for place in places)
    return moves and all(known or not need for known, need in zip(is_number, needed, strict=True))


def _moved(source: MemRefValue, around: Sequence[Terms], counter: SSAValue) -> int:
    """How many elements further a load is when the counter is one more."""
    moved = 0
    for stride, terms in zip(source.strides, around, strict=True):
        if counter in terms:
            assert isinstance(stride, int)
            moved += stride * terms[counter]
    return moved


def _offset(places: Sequence[_Place], strides: Sequence[Index]) -> tuple[Terms, int]:
    """In elements from the group's pointer: counters of loops that are written out, and a number."""
    terms, number = Terms(), 0
    for place, stride in zip(places, strides, strict=True):
        if place.written_out or place.number:
            assert isinstance(stride, int)
            number += stride * place.number
            for value, factor in place.written_out.items():
                terms[value] = terms.get(value, 0) + stride * factor
    return terms, number


def _sum(
    e: Emitter, terms: Mapping[SSAValue, int], counter: SSAValue | None = None, first: Index = 0
) -> Index:
    """The sum, in which the counter is its first value."""
    total: Index = 0
    for value, factor in terms.items():
        total = e.add(total, e.mul(first if value is counter else e.value(value), factor))
    return total
