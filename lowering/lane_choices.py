"""Loads at computed indices in lanes: of neighbours where the lanes find that they are, and of tables held in registers."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager

from xdsl.dialects import arith, memref, scf, vector
from xdsl.dialects.builtin import IndexType, MemRefType, i1
from xdsl.ir import Attribute, Block, Region, SSAValue

from ..analysis.neighbours import ChosenLoad, Neighbours
from ..dialects.shaped import memref_type
from ..dialects.upstream.arith import VectorCmpiOp, VectorSelectOp
from .core_builder import PLAIN, CoreBuilder, predicate
from .lane_values import LaneValues, both


def load_chosen(
    op: memref.LoadOp, chosen: ChosenLoad, values: LaneValues, builder: CoreBuilder
) -> None:
    """Append what a load becomes of an element that differs from lane to lane."""
    load = _Load(op, chosen.axis, values)
    if chosen.neighbours is None:
        loaded = load.from_table(builder)
    else:
        loaded = load.of_neighbours(chosen.neighbours, builder)
    values.bind(op.res, loaded)


class _Load:
    """A load whose index along one axis differs from lane to lane."""

    def __init__(self, op: memref.LoadOp, axis: int, values: LaneValues):
        self.op, self.axis, self.values = op, axis, values
        self.scalar = values.scalar
        self.buffer = self.scalar.values[op.memref]
        self.shape = memref_type(self.buffer).get_shape()
        self.element = memref_type(self.buffer).element_type
        self.type = values.type_of(self.element)

    # Neighbours.

    def of_neighbours(self, found: Neighbours, builder: CoreBuilder) -> SSAValue:
        """
        One vector where the first and the last lane say that all are neighbours, one element where they say that all load
        the same, and otherwise lane after lane.
        """
        own = self.op.indices[self.axis]
        asked = (own, *found.rising, *found.equal, *(v for pair in found.alike for v in pair))
        first = self._in_lane(builder, found, self.values.first, asked)
        if found.is_certain:
            return self._neighbours(builder, first[own])
        distance = self._last_lane(builder)
        end = self.scalar.expander.add(builder, self.values.first, distance)
        last = self._in_lane(builder, found, end, asked)
        holds = [
            *(_compared(builder, "sge", last[v], first[v]) for v in found.rising),
            *(_compared(builder, "eq", last[v], first[v]) for v in found.equal),
            *(_alike(builder, [(first[v], last[v]) for v in pair]) for pair in found.alike),
        ]
        grown = builder.emit(arith.SubiOp, (last[own], first[own]), IndexType())
        are_next = _all(builder, [_compared(builder, "eq", grown, distance), *holds])
        then, other = builder.inside(Block()), builder.inside(Block())
        then.append(scf.YieldOp, (self._neighbours(then, first[own]),))
        if self.values.mask is None:
            zero = self.scalar.expander.constant(0)
            is_one = _all(other, [_compared(other, "eq", grown, zero), *holds])
            same, apart = other.inside(Block()), other.inside(Block())
            element = same.emit(memref.LoadOp, self._at(same, first[own]), self.element)
            same.append(scf.YieldOp, (self.values.spread(same, element),))
            apart.append(scf.YieldOp, (self._one_by_one(apart, found),))
            loaded = _chosen(other, is_one, same, apart, self.type)
        else:
            loaded = self._one_by_one(other, found)
        other.append(scf.YieldOp, (loaded,))
        return _chosen(builder, are_next, then, other, self.type)

    def _last_lane(self, builder: CoreBuilder) -> SSAValue:
        """The number of the last lane that runs where the mask is so many lanes from the first on; else of the last lane."""
        constant, mask = self.scalar.expander.constant, self.values.mask
        if mask is None or not isinstance(mask.owner, vector.CreateMaskOp):
            return constant(self.values.lanes - 1)
        (count,) = mask.owner.mask_dim_sizes
        before = builder.emit(arith.SubiOp, (count, constant(1)), IndexType())
        return self._inside(builder, before, self.values.lanes)

    def _neighbours(self, builder: CoreBuilder, first: SSAValue) -> SSAValue:
        place, mask = self._at(builder, first), self.values.mask
        if mask is None:
            return builder.emit(vector.LoadOp, place, self.type)
        masked = (*place, mask, self.values.zero(self.element))
        return builder.emit(vector.MaskedLoadOp, masked, self.type)

    def _one_by_one(self, builder: CoreBuilder, found: Neighbours) -> SSAValue:
        """Each lane's element, through memory: a loop is short to write, and seldom runs."""
        expander, lanes = self.scalar.expander, self.values.lanes
        kept = self.scalar.stack_buffer(MemRefType(self.element, (lanes,)))
        zero, end, one = (expander.constant(n) for n in (0, lanes, 1))
        new = builder.insert(scf.ForOp(zero, end, one, [], Region(Block(arg_types=[IndexType()]))))
        inside, lane = builder.inside_loop(new), new.body.block.args[0]
        expander.ranges[lane] = (0, lanes - 1)
        own = self.op.indices[self.axis]
        here = expander.add(inside, self.values.first, lane)
        index = self._in_lane(inside, found, here, (own,))[own]
        element = inside.emit(memref.LoadOp, self._at(inside, index, is_any=True), self.element)
        inside.append(memref.StoreOp, (element, kept, lane), PLAIN)
        inside.append(scf.YieldOp, ())
        return builder.emit(vector.LoadOp, (kept, zero), self.type)

    def _in_lane(
        self, builder: CoreBuilder, found: Neighbours, here: SSAValue, asked: Iterable[SSAValue]
    ) -> dict[SSAValue, SSAValue]:
        """What some values of the chain are in the lane where the loop's variable is `here`."""
        with self._kept([self.values.variable, *(op.results[0] for op in found.chain)]):
            self.scalar.values[self.values.variable] = here
            for op in found.chain:
                self.scalar.convert_op(op, builder)
            return {value: self.scalar.values[value] for value in asked}

    @contextmanager
    def _kept(self, changed: Sequence[SSAValue]) -> Generator[None]:
        """Afterwards these values are what they were, or nothing yet."""
        values = self.scalar.values
        before = {value: values.get(value) for value in changed}
        yield
        for value, old in before.items():
            if old is None:
                values.pop(value, None)
            else:
                values[value] = old

    # Tables.

    def from_table(self, builder: CoreBuilder) -> SSAValue:
        """
        The elements, of which each bit of the lanes' indices chooses half.

        The lowest bit says which of two neighbours it is, the next one which pair, and so on.
        """
        index = self.values.vector(builder, self.op.indices[self.axis])
        entries = [
            self.values.spread(
                builder, builder.emit(memref.LoadOp, self._at(builder, number, True), self.element)
            )
            for number in map(self.scalar.expander.constant, range(self.shape[self.axis]))
        ]
        bit = 1
        while len(entries) > 1:
            chosen = self._has_bit(builder, index, bit)
            pairs = zip(entries[::2], entries[1::2], strict=False)
            halved = [
                builder.emit(VectorSelectOp, (chosen, odd, even), self.type) for even, odd in pairs
            ]
            entries = halved + entries[len(halved) * 2 :]
            bit *= 2
        return entries[0]

    def _has_bit(self, builder: CoreBuilder, index: SSAValue, bit: int) -> SSAValue:
        spread = self.values.spread
        wanted = spread(builder, self.scalar.expander.constant(bit))
        zero = spread(builder, self.scalar.expander.constant(0))
        rest = builder.shared(arith.AndIOp, (index, wanted), index.type)
        mask = self.values.type_of(i1)
        return builder.shared(VectorCmpiOp, (rest, zero), mask, predicate("ne"), mark="ne")

    # Places.

    def _at(
        self, builder: CoreBuilder, index: SSAValue, is_any: bool = False
    ) -> tuple[SSAValue, ...]:
        """
        The buffer, and the indices of its element that is at `index` along the axis.

        `is_any` says that lanes which do not run load it too: some element of the buffer, whatever their indices are.
        """
        own = self.op.indices[self.axis]
        indices = [index if v is own else self.scalar.values[v] for v in self.op.indices]
        if is_any and self.values.mask is not None:
            indices = [
                self._inside(builder, value, size)
                for value, size in zip(indices, self.shape, strict=True)
            ]
        return self.buffer, *indices

    def _inside(self, builder: CoreBuilder, index: SSAValue, size: int) -> SSAValue:
        zero, last = (self.scalar.expander.constant(n) for n in (0, size - 1))
        raised = builder.emit(arith.MaxSIOp, (index, zero), index.type)
        return builder.emit(arith.MinSIOp, (raised, last), index.type)


def _compared(builder: CoreBuilder, how: str, a: SSAValue, b: SSAValue) -> SSAValue:
    return builder.emit(arith.CmpiOp, (a, b), i1, predicate(how))


def _alike(builder: CoreBuilder, grown: Sequence[tuple[SSAValue, SSAValue]]) -> SSAValue:
    """Whether values have grown by as much from the first to the last."""
    one, other = (builder.emit(arith.SubiOp, (last, first), first.type) for first, last in grown)
    return _compared(builder, "eq", one, other)


def _all(builder: CoreBuilder, conditions: Sequence[SSAValue]) -> SSAValue:
    joined, *rest = conditions
    for condition in rest:
        joined = both(builder, joined, condition)
    return joined


def _chosen(
    builder: CoreBuilder,
    condition: SSAValue,
    then: CoreBuilder,
    other: CoreBuilder,
    type_: Attribute,
) -> SSAValue:
    regions = Region(then.block), Region(other.block)
    return builder.insert(scf.IfOp(condition, [type_], *regions)).results[0]
