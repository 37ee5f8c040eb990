"""
Buffers of which every access is to a known element become values: `mem2reg` and `sroa` of MLIR and LLVM in one.

The control flow is structured, so that no dominance frontier is needed: a slot is carried by exactly those loops
that store to it and whose later iterations, or what comes after, may read what they stored (liveness over regions, as
in Appel, "Modern Compiler Implementation", chapter 10).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import prod
from typing import Any, cast

from xdsl.context import Context
from xdsl.dialects import arith, func, memref, scf, vector
from xdsl.dialects.builtin import (
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    NoneAttr,
    VectorType,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from ...analysis.frames import constant_value
from ...analysis.levels import Level
from ...analysis.operations import operands_of, operations_in, operations_of
from ...dialects.combiner import Combiner
from ...dialects.dtypes import is_float
from ...dialects.leaf_operations import erase_leaf, replace_uses
from ...dialects.upstream.arith import VectorSelectOp
from ...frozen import frozen
from ..stepwell_pass import StepwellPass

MOST_SLOTS = 64
"""A buffer of more values stays in memory: twice as many as the most registers that a core has."""

MOST_FOLLOWED = 256
"""Values that are looked at to find what becomes of one that is loaded."""

_LOADS = (memref.LoadOp, vector.LoadOp, vector.MaskedLoadOp)
_STORES = (memref.StoreOp, vector.StoreOp, vector.MaskedStoreOp)
_MASKED = (vector.MaskedLoadOp, vector.MaskedStoreOp)
_STORED: dict[type[Operation], int] = {
    memref.StoreOp: 0,
    vector.StoreOp: 0,
    vector.MaskedStoreOp: -1,
}
"""Which operand of a store is what it stores."""
_SUBSCRIPTS: dict[type[Operation], slice] = {
    memref.LoadOp: slice(1, None),
    memref.StoreOp: slice(2, None),
    vector.LoadOp: slice(1, None),
    vector.StoreOp: slice(2, None),
    vector.MaskedLoadOp: slice(1, -2),
    vector.MaskedStoreOp: slice(1, -2),
}
"""Which operands of an access are its subscripts: what there is most of is looked up without xDSL's accessors."""
_RELEVANT = frozenset((*_SUBSCRIPTS, scf.ForOp, scf.IfOp))


@frozen
class CoreMem2RegPass(StepwellPass):
    """
    Turn stack buffers into values that loops and branches hand on.

    Before: `%acc = memref.alloca() : memref<16xf32>`, which a loop loads from and stores to at `[%c0]`. After: `scf.for
    ... iter_args(%acc = %zero)`. Every access must be at constant subscripts, of the same elements as others or of none
    of theirs, or a load of a few lanes of a vector that is stored, and stand in nothing but `scf.for` and `scf.if`
    around. An element that is read before it is written is 0.
    """

    name = "core-mem2reg"
    level_in = Level.CORE
    level_out = Level.CORE

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.ops:
            if isinstance(function, func.FuncOp):
                promote_buffers(function)


def promote_buffers(function: func.FuncOp) -> None:
    """Turn the stack buffers of a function into values where that can be."""
    roots: dict[Block, list[memref.AllocaOp]] = {}
    for op in _allocas(function):
        block = op.parent
        assert block is not None
        roots.setdefault(block, []).append(op)
    for root, allocas in roots.items():
        found = [(alloca, slots) for alloca in allocas if (slots := plan_slots(alloca))]
        if found:
            _Promotion(root, found).run()


def _allocas(function: func.FuncOp) -> list[memref.AllocaOp]:
    """Those of the function's blocks and of the bodies of its parallel loops."""
    return [op for op in operations_in(function) if type(op) is memref.AllocaOp]


# Slots.


@dataclass(frozen=True, order=True)
class Slot:
    """Elements of one row of a buffer that are always used together, as a value of `type`."""

    row: int
    """the number of all subscripts but the last, in row-major order"""
    column: int
    type: Attribute = field(compare=False)

    def overlaps(self, later: Slot) -> bool:
        return self.row == later.row and self.column + _count(self.type) > later.column

    def holds(self, other: Slot) -> bool:
        """Whether the other's elements are some of this one's."""
        end, other_end = (slot.column + _count(slot.type) for slot in (self, other))
        return self.row == other.row and self.column <= other.column and other_end <= end


def _count(type_: Attribute) -> int:
    return prod(type_.get_shape()) if isinstance(type_, VectorType) else 1


def plan_slots(alloca: memref.AllocaOp) -> dict[Operation, Slot] | None:
    """The slot that each access to a buffer uses; None when the buffer stays in memory."""
    type_ = alloca.memref.type
    if not type_.has_static_shape() or not isinstance(type_.layout, NoneAttr):
        return None
    found: dict[Operation, Slot] = {}
    for use in alloca.memref.uses:
        slot = _slot_of(use.operation, type_)
        if slot is None or not _is_structured(use.operation, alloca.parent):
            return None
        found[use.operation] = slot
    slots = _distinct(found)
    return None if slots is None or len(slots) > MOST_SLOTS else found


def _distinct(found: dict[Operation, Slot]) -> list[Slot] | None:
    """
    The slots of all accesses, no two of which overlap; None where they do. Plain loads of a few lanes of a vector that is stored as
    one get the slot of that vector.
    """
    stored: dict[int, dict[Slot, None]] = {}
    for op, slot in found.items():
        if type(op) in _STORES and isinstance(slot.type, VectorType):
            stored.setdefault(slot.row, {})[slot] = None
    types: dict[Slot, Attribute] = {}
    for op, slot in found.items():
        if type(op) is vector.LoadOp:
            wider = (one for one in stored.get(slot.row, ()) if one.holds(slot))
            slot = found[op] = max(wider, key=lambda one: _count(one.type), default=slot)
        known = types.setdefault(slot, slot.type)
        if known is not slot.type and known != slot.type:
            return None
    slots = sorted(types)
    return None if any(one.overlaps(other) for one, other in pairwise(slots)) else slots


def _slot_of(op: Operation, type_: MemRefType[Attribute]) -> Slot | None:
    """What an operation uses of the buffer of this type; None when that is not known."""
    place = _SUBSCRIPTS.get(type(op))
    if place is None:
        return None
    value_type = op.results[0].type if op.results else _stored(op).type
    row = column = 0
    width = 1
    for value, width in zip(operands_of(op)[place], type_.get_shape(), strict=True):
        index = constant_value(value)
        if index is None or not 0 <= index < width:
            return None
        row, column = (row + column) * width, index
    # Lanes that do not run may be outside of the row.
    is_inside = column + _count(value_type) <= width or type(op) in _MASKED
    return Slot(row, column, value_type) if is_inside else None


def _stored(op: Operation) -> SSAValue:
    return operands_of(op)[_STORED[type(op)]]


def _is_structured(op: Operation, root: Block | None) -> bool:
    """Whether there are only loops and branches between an operation and the block that makes the buffer."""
    while op.parent is not root:
        parent = op.parent_op()
        if not isinstance(parent, scf.ForOp | scf.IfOp):
            return False
        op = parent
    return True


# Which slots a block uses. Sets of slots are integers, with a bit for each.


@frozen
class Effects:
    """What a block, or an operation with its regions, does to slots."""

    exposed: int = 0
    """those that are read as they are before it"""
    written: int = 0
    """those that it may store to"""
    surely: int = 0
    """those that it stores to in any case, as a whole"""

    def then(self, after: Effects) -> Effects:
        return Effects(
            self.exposed | (after.exposed & ~self.surely),
            self.written | after.written,
            self.surely | after.surely,
        )

    def live_before(self, live: int) -> int:
        """The slots that are read later, before this, from those that are after it."""
        return self.exposed | (live & ~self.surely)


class _Promotion:
    """The buffers of one block that become values."""

    def __init__(
        self, root: Block, found: Sequence[tuple[memref.AllocaOp, dict[Operation, Slot]]]
    ) -> None:
        self._root = root
        self._allocas = [alloca for alloca, _ in found]
        self._slot_of: dict[Operation, int] = {}
        self._types: list[Attribute] = []
        self._hints: list[str | None] = []
        self._columns: list[int] = []
        for alloca, slots in found:
            first = len(self._types)
            numbers = {slot: first + n for n, slot in enumerate(sorted(set(slots.values())))}
            self._types += [slot.type for slot in numbers]
            self._hints += [alloca.memref.name_hint] * len(numbers)
            self._slot_of |= {op: numbers[slot] for op, slot in slots.items()}
            self._columns += [slot.column for slot in numbers]
        self._unmasked = self._slots_seen_through_one_mask()
        self._around = self._operations_around()
        self._effects: dict[Block, Effects] = {}
        self._known_steps: dict[Block, list[Operation]] = {}
        self._undefined: dict[Attribute, SSAValue] = {}

    def _operations_around(self) -> set[Operation]:
        """The loops and branches that have accesses inside."""
        found: set[Operation] = set()
        for op in self._slot_of:
            parent = op.parent_op()
            while op.parent is not self._root and parent is not None and parent not in found:
                found.add(parent)
                op, parent = parent, parent.parent_op()
        return found

    def _slots_seen_through_one_mask(self) -> set[int]:
        """Those of which nothing sees the lanes that one mask leaves out: accesses need not mind it."""
        masks: dict[int, set[SSAValue | None]] = {}
        for op, slot in self._slot_of.items():
            masks.setdefault(slot, set()).add(self._mask_that_is_seen_through(op))
        return {slot for slot, found in masks.items() if len(found) == 1 and None not in found}

    def _mask_that_is_seen_through(self, op: Operation) -> SSAValue | None:
        if type(op) not in _MASKED:
            return None
        assert isinstance(op, _MASKED)
        is_seen = isinstance(op, vector.MaskedLoadOp) and not _is_unseen(op.result, op.mask)
        return None if is_seen else op.mask

    def _is_masked(self, op: Operation) -> bool:
        return type(op) in _MASKED and self._slot_of[op] not in self._unmasked

    def run(self) -> None:
        self._look_at(self._root)
        self._rewrite(self._root, 0, {})
        for alloca in self._allocas:
            self._root.erase_op(alloca)

    # What is read and written.

    def _steps(self, block: Block) -> list[Operation]:
        known = self._known_steps.get(block)
        if known is None:
            known = self._known_steps[block] = [
                op
                for op in operations_of(block)
                if type(op) in _RELEVANT and (op in self._slot_of or op in self._around)
            ]
        return known

    def _look_at(self, block: Block) -> Effects:
        total = Effects()
        for op in self._steps(block):
            for region in op.regions:
                for inner in region.blocks:
                    self._look_at(inner)
            total = total.then(self._effects_of(op))
        self._effects[block] = total
        return total

    def _effects_of(self, op: Operation) -> Effects:
        if op in self._slot_of:
            bit = 1 << self._slot_of[op]
            is_load, is_masked = type(op) in _LOADS, self._is_masked(op)
            return Effects(
                bit if is_load or is_masked else 0,
                0 if is_load else bit,
                0 if is_load or is_masked else bit,
            )
        parts = [self._effects[block] for region in op.regions for block in region.blocks]
        exposed = written = 0
        for part in parts:
            exposed |= part.exposed
            written |= part.written
        is_either = isinstance(op, scf.IfOp) and len(parts) == 2  # a loop may have no iteration
        return Effects(exposed, written, parts[0].surely & parts[1].surely if is_either else 0)

    # The rewriting, with the values that slots have.

    def _rewrite(self, block: Block, live: int, values: dict[int, SSAValue]) -> None:
        """Rewrite a block after which the slots `live` are read. `values` become those at its end."""
        steps = self._steps(block)
        after: list[int] = []
        for op in reversed(steps):
            after.append(live)
            live = self._effects_of(op).live_before(live)
        for op, live_after in zip(steps, reversed(after), strict=True):
            if op in self._slot_of:
                self._access(op, values)
            elif isinstance(op, scf.ForOp):
                self._for(op, live_after, values)
            else:
                assert isinstance(op, scf.IfOp)
                self._if(op, live_after, values)

    def _value(self, slot: int, values: dict[int, SSAValue]) -> SSAValue:
        known = values.get(slot)
        return self._zero(self._types[slot]) if known is None else known

    def _zero(self, type_: Attribute) -> SSAValue:
        if type_ not in self._undefined:
            constant = arith.ConstantOp(_zero_of(type_))
            Rewriter.insert_op(constant, InsertPoint.at_start(self._root))
            self._undefined[type_] = constant.result
        return self._undefined[type_]

    def _access(self, op: Operation, values: dict[int, SSAValue]) -> None:
        slot = self._slot_of[op]
        if type(op) in _LOADS:
            value = self._value(slot, values)
            if self._is_masked(op):
                assert isinstance(op, vector.MaskedLoadOp)
                value = _select(op, op.mask, value, op.pass_thru)
            (result,) = op.results
            if result.type != value.type:
                value = self._lanes_of(op, value, slot)
            replace_uses(result, value)
        else:
            value = _stored(op)
            if self._is_masked(op):
                assert isinstance(op, vector.MaskedStoreOp)
                value = _select(op, op.mask, value, self._value(slot, values))
            values[slot] = value
        erase_leaf(op)

    def _lanes_of(self, op: Operation, value: SSAValue, slot: int) -> SSAValue:
        """The lanes of a slot's vector that a load is of."""
        (result,) = op.results
        last = constant_value(operands_of(op)[-1])
        assert last is not None
        first = last - self._columns[slot]
        lanes = DenseArrayBase.from_list(i64, range(first, first + _count(result.type)))
        part = vector.ShuffleOp(value, value, lanes, result_type=cast(Any, result.type))
        block = op.parent
        assert block is not None
        block.insert_op_before(part, op)
        return part.results[0]

    def _for(self, op: scf.ForOp, live: int, values: dict[int, SSAValue]) -> None:
        body = op.body.block
        effects = self._effects[body]
        live_inside = live | effects.exposed
        carried = list(_bits(effects.written & live_inside))
        starts = [self._value(slot, values) for slot in carried]
        inside = dict(values)
        for slot in carried:
            inside[slot] = self._named(slot, body.insert_arg(self._types[slot], len(body.args)))
        self._rewrite(body, live_inside, inside)
        if not carried:
            return
        _yield_also(body, [inside[slot] for slot in carried])
        region = op.detach_region(op.body)
        new = scf.ForOp(op.lb, op.ub, op.step, [*op.iter_args, *starts], region)
        self._replace(op, new, carried, values)

    def _if(self, op: scf.IfOp, live: int, values: dict[int, SSAValue]) -> None:
        written = self._effects_of(op).written
        changed = list(_bits(written & live))
        if changed and not op.false_region.blocks:
            op.false_region.add_block(Block([scf.YieldOp()]))
        for region in op.regions:
            for block in region.blocks:
                inside = dict(values)
                self._rewrite(block, live, inside)
                if changed:
                    _yield_also(block, [self._value(slot, inside) for slot in changed])
        if not changed:
            return
        types = [*op.result_types, *(self._types[slot] for slot in changed)]
        then, other = op.true_region, op.false_region  # by name while both are there
        then, other = op.detach_region(then), op.detach_region(other)
        self._replace(op, scf.IfOp(op.cond, types, then, other), changed, values)

    def _replace(
        self, op: Operation, new: Operation, slots: Sequence[int], values: dict[int, SSAValue]
    ) -> None:
        """Put `new` in the place of `op`; its last results are the values of slots."""
        block = op.parent
        assert block is not None
        new.attributes |= op.attributes
        new.location = op.location
        block.insert_op_before(new, op)
        for old, result in zip(op.results, new.results, strict=False):
            result.name_hint = old.name_hint
            old.replace_all_uses_with(result)
        for slot, result in zip(slots, new.results[len(op.results) :], strict=True):
            values[slot] = self._named(slot, result)
        block.erase_op(op)

    def _named(self, slot: int, value: SSAValue) -> SSAValue:
        value.name_hint = self._hints[slot]
        return value


def _is_unseen(value: SSAValue, mask: SSAValue) -> bool:
    """
    Whether the lanes that the mask leaves out reach nothing but operations that leave them out too.

    Of floats: what an integer division does there must not change.
    """
    if not is_float(cast("VectorType[Attribute]", value.type).element_type):
        return False
    pending, seen = [value], set[SSAValue]()
    while pending:
        current = pending.pop()
        for use in current.uses:
            op = use.operation
            if isinstance(op, vector.MaskedStoreOp) and op.mask is mask:
                continue
            if isinstance(op, VectorSelectOp) and op.cond is mask and use.index == 1:
                continue
            if op.dialect_name() not in ("arith", "math") or op.regions or len(op.results) != 1:
                return False
            if op.results[0] not in seen and len(seen) < MOST_FOLLOWED:
                seen.add(op.results[0])
                pending.append(op.results[0])
            elif op.results[0] not in seen:
                return False
    return True


def _zero_of(type_: Attribute) -> IntegerAttr | FloatAttr | DenseIntOrFPElementsAttr:
    if not isinstance(type_, VectorType):
        return Combiner.ADD.identity(type_)
    of_vectors = cast("VectorType[Attribute]", type_)
    zero = 0.0 if is_float(of_vectors.element_type) else 0
    return DenseIntOrFPElementsAttr.from_list(of_vectors, [zero])  # pyright: ignore[reportArgumentType, reportCallIssue, reportUnknownVariableType]


def _bits(slots: int) -> Iterator[int]:
    while slots:
        lowest = slots & -slots
        yield lowest.bit_length() - 1
        slots ^= lowest


def _select(before: Operation, mask: SSAValue, value: SSAValue, other: SSAValue) -> SSAValue:
    new = VectorSelectOp.create(operands=(mask, value, other), result_types=(value.type,))
    block = before.parent
    assert block is not None
    block.insert_op_before(new, before)
    return new.results[0]


def _yield_also(block: Block, values: Sequence[SSAValue]) -> None:
    last = block.last_op
    assert isinstance(last, scf.YieldOp)
    last.operands = [*last.operands, *values]
