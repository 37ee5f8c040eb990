"""Loads and stores of a vector loop: of neighbours at once, with a few between them by shuffles, of others lane by lane."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import memref, scf, vector
from xdsl.dialects.builtin import NoneAttr
from xdsl.ir import Block, SSAValue
from xdsl.ir.affine import AffineExpr

from ..analysis.interleaved import InterleavedStores
from ..analysis.operations import operands_of
from ..dialects import loop
from ..dialects.combiner import Combiner
from ..dialects.shaped import memref_type
from ..dialects.upstream.arith import VectorSelectOp
from .core_builder import NONTEMPORAL, PLAIN, CoreBuilder
from .lane_strides import load_strided, store_interleaved, strided_place
from .lane_values import LaneValues, any_lane, extract, inserted
from .vector_loops import LaneAccess


class LaneAccesses:
    """Converts the loads and stores that lanes do together."""

    def __init__(self, values: LaneValues):
        self.values = values

    def load(self, op: loop.LoadOp, builder: CoreBuilder) -> None:
        access = self._access(op)
        if not access.varies:
            self._load_one(op, builder)
            return
        forwarded = self.values.loop.stores.forwarded
        stored = forwarded.get(op) if forwarded else None
        if stored is not None:
            self.values.bind(op.results[0], self.values.vector(builder, stored.value))
            return
        buffer = self.values.scalar.values[access.buffer]
        element = memref_type(buffer).element_type
        if access.is_contiguous:
            mask = self.values.mask
            if mask is not None and self._is_private(op):
                mask = None
            new = self._vector(builder, access.buffer, self._subscripts(access, builder), mask)
            self._bind_loaded(op, new, mask)
            return
        place = strided_place(op, self.values, builder)
        if place is not None:
            loaded, is_zero = load_strided(place, self.values, builder)
            self._bind_loaded(op, loaded, self.values.mask if is_zero else None)
            return
        result = self.values.zero(element)
        for lane in range(self.values.lanes):
            with self.values.in_lane(builder, lane, access.operands):
                value = self._guarded_load(op, builder, lane)
            result = inserted(builder, value, result, lane)
        self.values.bind(op.results[0], result)

    def _bind_loaded(self, op: loop.LoadOp, loaded: SSAValue, mask: SSAValue | None) -> None:
        """What was loaded, by masks if there is one."""
        if mask is not None:
            self.values.zero_outside[loaded] = mask
        self.values.bind(op.results[0], loaded)

    def _vector(
        self,
        builder: CoreBuilder,
        source: SSAValue,
        indices: Sequence[SSAValue],
        mask: SSAValue | None,
    ) -> SSAValue:
        """The elements of a buffer from an index on, one in each lane that runs."""
        scalar = self.values.scalar
        buffer = scalar.values[source]
        element = memref_type(buffer).element_type
        type_ = self.values.type_of(element)
        if mask is None:
            used, may_leave = (buffer, *indices), scalar.may_leave_copies(source)
            return builder.load(vector.LoadOp, used, type_, may_leave, mark=self.values.lanes)
        masked = (buffer, *indices, mask, self.values.zero(element))
        return builder.read(vector.MaskedLoadOp, masked, type_)

    def _guarded_load(self, op: loop.LoadOp, builder: CoreBuilder, lane: int) -> SSAValue:
        """A scalar load where the lane runs, else zero."""
        condition = None if self.values.mask is None else extract(builder, self.values.mask, lane)
        return self._load_where(op, builder, condition)

    def _load_one(self, op: loop.LoadOp, builder: CoreBuilder) -> None:
        """The element that all lanes read. When none of them runs it need not exist."""
        condition = (
            None
            if self.values.mask is None or self.values.scalar.is_inside(op)
            else any_lane(builder, self.values.mask)
        )
        self.values.bind(op.results[0], self._load_where(op, builder, condition))

    def _load_where(
        self, op: loop.LoadOp, builder: CoreBuilder, condition: SSAValue | None
    ) -> SSAValue:
        if condition is None:
            return self.values.scalar.load_element(op, builder)
        access = self._access(op)
        buffer = self.values.scalar.values[access.buffer]
        element = memref_type(buffer).element_type
        then, other = builder.inside(Block()), builder.inside(Block())
        value = then.emit(memref.LoadOp, (buffer, *self._subscripts(access, then)), element)
        then.append(scf.YieldOp, (value,))
        zero = self.values.scalar.expander.constant_of(Combiner.ADD.identity(element))
        other.append(scf.YieldOp, (zero,))
        return builder.branch(condition, then.block, other.block, (element,)).results[0]

    def _subscripts(self, access: LaneAccess, builder: CoreBuilder) -> list[SSAValue]:
        scalar = self.values.scalar
        values, expand = scalar.values, scalar.expander.expand
        new = [values[v] for v in access.operands]
        return [expand(builder, expr, new) for expr in access.subscripts]

    def _access(self, op: loop.LoadOp | loop.StoreOp) -> LaneAccess:
        known = self.values.loop.accesses.get(op)
        if known is None:
            used, subscripts = operands_of(op), op.map.data.results
            buffer, *operands = used[1:] if type(op) is loop.StoreOp else used
            varies = any(self.values.varies(v) for v in operands)
            is_contiguous = varies and self._is_contiguous(buffer, subscripts, operands)
            known = LaneAccess(buffer, subscripts, tuple(operands), varies, is_contiguous)
            self.values.loop.accesses[op] = known
        return known

    def _is_private(self, op: loop.LoadOp | loop.StoreOp) -> bool:
        """Whether the elements of all lanes exist, those that do not run included, and nobody else's are."""
        alloc = op.buffer.owner
        if not isinstance(alloc, loop.AllocOp) or alloc.scope.data not in _PRIVATE:
            return False
        new = [self.values.scalar.values[v] for v in op.operands_]
        sizes = memref_type(op.buffer).get_shape()
        for axis, (expr, size) in enumerate(zip(op.map.data.results, sizes, strict=True)):
            low, high = self.values.scalar.expander.range_of(expr, new)
            last = self.values.lanes - 1 if axis == len(sizes) - 1 else 0
            if low is None or high is None or low < 0 or not high + last < size:
                return False
        return True

    def _is_contiguous(
        self, buffer: SSAValue, subscripts: Sequence[AffineExpr], operands: Sequence[SSAValue]
    ) -> bool:
        """Whether neighbouring lanes use neighbouring elements."""
        type_ = memref_type(buffer)
        if not isinstance(type_.layout, NoneAttr) and (type_.get_strides() or [None])[-1] != 1:
            return False
        strides = [self.values.stride(expr, operands) for expr in subscripts]
        return strides[-1:] == [1] and all(stride == 0 for stride in strides[:-1])

    def store(self, op: loop.StoreOp, builder: CoreBuilder) -> None:
        if op in self.values.loop.stores.overwritten:
            return
        access = self._access(op)
        buffer = self.values.scalar.values[access.buffer]
        element = memref_type(buffer).element_type
        if access.is_contiguous:
            indices = self._subscripts(access, builder)
            if self.values.mask is not None and self._is_private(op):
                value = self.values.vector(builder, op.value)
                # Unlike a masked store this leaves a buffer in registers.
                old = builder.emit(vector.LoadOp, (buffer, *indices), self.values.type_of(element))
                value = builder.emit(VectorSelectOp, (self.values.mask, value, old), old.type)
                builder.append(vector.StoreOp, (value, buffer, *indices), PLAIN)
            else:
                self._store_vector(op, builder, buffer, indices)
            return
        group = self.values.loop.stores.groups.get(op)
        if group is not None:
            if op is group.last:
                self._store_group(group, builder)
            return
        place = strided_place(op, self.values, builder) if access.varies else None
        if place is not None and place.apart == 1 and not place.is_reversed:
            # As of a column that is a matrix of its own: the dimensions behind have one element.
            exprs = (*place.outer, place.varying + place.constant)
            indices = [self.values.expand(builder, e, place.operands) for e in exprs]
            self._store_vector(op, builder, place.buffer, indices)
            return
        if not access.varies and not self.values.varies(op.value):
            condition = None if self.values.mask is None else any_lane(builder, self.values.mask)
            self._store_where(op, self.values.scalar.values[op.value], builder, condition)
            return
        # Lane after lane, so that of several writes to one element the last one stays.
        lanes = (
            range(self.values.lanes)
            if access.varies or self.values.mask is not None
            else (self.values.lanes - 1,)
        )
        vector_value = self.values.vector(builder, op.value)
        for lane in lanes:
            value = extract(builder, vector_value, lane)
            condition = (
                None if self.values.mask is None else extract(builder, self.values.mask, lane)
            )
            with self.values.in_lane(builder, lane, access.operands):
                self._store_where(op, value, builder, condition)

    def _store_vector(
        self,
        op: loop.StoreOp,
        builder: CoreBuilder,
        buffer: SSAValue,
        indices: Sequence[SSAValue],
    ) -> None:
        """Store the lanes that run as neighbours, from an index on."""
        stored, *_ = operands_of(op)
        value = self.values.vector(builder, stored)
        if self.values.mask is None:
            hint = NONTEMPORAL if op.is_nontemporal else PLAIN
            builder.append(vector.StoreOp, (value, buffer, *indices), hint)
        else:
            masked = (buffer, *indices, self.values.mask, value)
            builder.append(vector.MaskedStoreOp, masked)

    def store_one(self, op: loop.StoreOp, value: SSAValue, builder: CoreBuilder) -> None:
        """A scalar to the element that all lanes store to."""
        self._store_where(op, value, builder, None)

    def _store_group(self, group: InterleavedStores, builder: CoreBuilder) -> None:
        """All stores of a group where the last of them stands."""
        place = strided_place(group.stores[0], self.values, builder)
        assert place is not None, "the stores of a group are evenly apart"
        stored = [self.values.vector(builder, store.value) for store in group.stores]
        is_past = all(store.is_nontemporal for store in group.stores)
        hint = NONTEMPORAL if is_past else PLAIN
        store_interleaved(place, stored, self.values, builder, hint)

    def _store_where(
        self, op: loop.StoreOp, value: SSAValue, builder: CoreBuilder, condition: SSAValue | None
    ) -> None:
        if condition is not None:
            inside = builder.inside(Block())
            self._store_where(op, value, inside, None)
            inside.append(scf.YieldOp, ())
            builder.branch(condition, inside.block)
            return
        access = self._access(op)
        buffer = self.values.scalar.values[access.buffer]
        builder.append(memref.StoreOp, (value, buffer, *self._subscripts(access, builder)))


_PRIVATE = (loop.Scope.REGISTER, loop.Scope.STACK)
