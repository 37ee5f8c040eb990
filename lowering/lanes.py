"""
Vector loops as `vector` operations: all iterations of a loop at once, each in a lane.

Every operation of the body runs for all lanes before the next one does, which is what the step
`vectorize` has proved harmless. A value that is the same in all lanes stays a scalar.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Protocol, cast

from xdsl.builder import Builder
from xdsl.dialects import affine, arith, memref, scf, vector
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    IndexType,
    NoneAttr,
    VectorType,
    i1,
)
from xdsl.dialects.vector import CombiningKindAttr, CombiningKindFlag
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineConstraintExpr, AffineConstraintKind, AffineExpr
from xdsl.rewriter import InsertPoint
from xdsl.traits import is_side_effect_free

from ..analysis.affine_isl import applied
from ..analysis.reductions import ReductionUpdate
from ..dialects import loop
from ..dialects.affine_bounds import linear_form
from ..dialects.combiner import Combiner
from ..dialects.dtypes import is_float
from ..dialects.shaped import memref_type
from ..dialects.vector_ops import VectorCmpfOp, VectorCmpiOp, VectorSelectOp
from .affine_to_arith import AffineExpander
from .lane_count import is_written_out


class ScalarConverter(Protocol):
    """What the conversion of a function offers for the parts that are the same in all lanes."""

    expander: AffineExpander
    values: dict[SSAValue, SSAValue]
    updates: Mapping[Operation, ReductionUpdate]

    def convert_op(self, op: Operation, builder: Builder) -> None: ...

    def open_for(self, op: loop.ForOp, builder: Builder) -> Builder: ...

    def open_copies(self, op: loop.ForOp, builder: Builder) -> Iterator[Builder]: ...


class LaneConverter:
    """Converts the body of one vector loop. The loop's variable stands for the first lane's value."""

    def __init__(self, scalar: ScalarConverter, for_op: loop.ForOp, lanes: int, builder: Builder):
        self.scalar = scalar
        self.lanes = lanes
        self.variable = for_op.induction_variable
        self.step = for_op.step.value.data
        self.mask: SSAValue | None = None
        """the lanes that run; None when all do"""
        low = for_op.lower_map.data.results[0]
        operands = [scalar.values[v] for v in for_op.lower_operands]
        self._first = scalar.expander.expand(builder, low, operands)
        scalar.expander.ranges[self._first] = scalar.expander.range_of(low, operands)
        self._reductions = _reductions(for_op, scalar.updates)
        scalar.values[self.variable] = self._first

    # Values.

    def _varies(self, value: SSAValue) -> bool:
        return value is self.variable or isinstance(self.scalar.values[value].type, VectorType)

    def _vector(self, builder: Builder, value: SSAValue) -> SSAValue:
        """The value in all lanes."""
        if value is self.variable:
            return self._counted(builder, self._first, self.step)
        return self._spread(builder, self.scalar.values[value])

    def _spread(self, builder: Builder, new: SSAValue) -> SSAValue:
        if isinstance(new.type, VectorType):
            return new
        return builder.insert(vector.BroadcastOp(new, self._type(new.type))).vector

    def _type(self, element: Attribute) -> VectorType[Attribute]:
        return VectorType(element, (self.lanes,))

    def _counted(self, builder: Builder, first: SSAValue, stride: int) -> SSAValue:
        """`first + stride * lane`"""
        type_ = self._type(first.type)
        offsets = builder.insert(
            _dense(type_, [stride * lane for lane in range(self.lanes)])
        ).result
        return builder.insert(arith.AddiOp(self._spread(builder, first), offsets)).result

    def _zero(self, builder: Builder, element: Attribute) -> SSAValue:
        return builder.insert(_dense(self._type(element), [0.0 if is_float(element) else 0])).result

    @contextmanager
    def _in_lane(
        self, builder: Builder, lane: int, operands: Sequence[SSAValue]
    ) -> Generator[None]:
        """Inside, the variable and `operands` have the values of one lane."""
        values = self.scalar.values
        kept = {v: values[v] for v in operands if self._varies(v)} | {self.variable: self._first}
        for value, new in kept.items():
            if value is self.variable:
                offset = self.scalar.expander.constant(lane * self.step)
                here = builder.insert(arith.AddiOp(self._first, offset)).result if lane else new
            else:
                here = _extract(builder, new, lane)
            values[value] = here
        yield
        values.update(kept)

    # Operations.

    def convert(self, block: Block, builder: Builder) -> None:
        """Append what the operations of `block` become, a `loop.yield` excepted."""
        for op in block.ops:
            match op:
                case loop.YieldOp():
                    pass
                case loop.ForOp() if is_written_out(op):
                    for inside in self.scalar.open_copies(op, builder):
                        self.convert(op.body.block, inside)
                case loop.ForOp():
                    inside = self.scalar.open_for(op, builder)
                    self.convert(op.body.block, inside)
                    inside.insert(scf.YieldOp())
                case loop.IfOp():
                    self._if(op, builder)
                case loop.LoadOp():
                    self._load(op, builder)
                case loop.StoreOp():
                    self._store(op, builder)
                case affine.ApplyOp() if any(self._varies(v) for v in op.operands):
                    self._apply(op, builder)
                case loop.PrefetchOp() | affine.ApplyOp():
                    self.scalar.convert_op(op, builder)
                case _:
                    self._elementwise(op, builder)

    def _bind(self, old: SSAValue, new: SSAValue) -> None:
        new.name_hint = old.name_hint
        self.scalar.values[old] = new

    def _elementwise(self, op: Operation, builder: Builder) -> None:
        update = self._reductions.get(op)
        if update is not None:
            self._reduce(update, builder)
        elif not any(self._varies(v) for v in op.operands):
            self.scalar.convert_op(op, builder)
        else:
            new = _ON_VECTORS.get(type(op), type(op)).create(
                operands=[self._vector(builder, v) for v in op.operands],
                result_types=[self._type(op.results[0].type)],
                properties=op.properties,
                attributes=op.attributes,
            )
            self._bind(op.results[0], builder.insert(new).results[0])

    def _apply(self, op: affine.ApplyOp, builder: Builder) -> None:
        expr, operands = applied(op), list(op.mapOperands)
        self._bind(op.result, self._indices(builder, expr, operands))

    def _indices(
        self, builder: Builder, expr: AffineExpr, operands: Sequence[SSAValue]
    ) -> SSAValue:
        """A vector of the expression's values."""
        stride = self._stride(expr, operands)
        if stride is not None:
            return self._counted(builder, self._expand(builder, expr, operands), stride)
        result = self._zero(builder, IndexType())
        for lane in range(self.lanes):
            with self._in_lane(builder, lane, operands):
                value = self._expand(builder, expr, operands)
            result = builder.insert(vector.InsertOp(value, result, [lane])).result
        return result

    def _expand(self, builder: Builder, expr: AffineExpr, operands: Sequence[SSAValue]) -> SSAValue:
        new = [self.scalar.values[v] for v in operands]
        return self.scalar.expander.expand(builder, expr, new)

    def _stride(self, expr: AffineExpr, operands: Sequence[SSAValue]) -> int | None:
        """How much the expression grows from lane to lane, None when that is not constant."""
        used = expr.used_dims()
        if any(
            n in used and v is not self.variable and self._varies(v) for n, v in enumerate(operands)
        ):
            return None
        if not any(n in used and v is self.variable for n, v in enumerate(operands)):
            return 0
        form = linear_form(expr, len(operands))
        if form is None:
            return None
        return self.step * sum(
            c for c, v in zip(form[0], operands, strict=True) if v is self.variable
        )

    # Conditions.

    def _if(self, op: loop.IfOp, builder: Builder) -> None:
        operands = list(op.condition_operands)
        if any(self._varies(v) for v in operands):
            self._masked_if(op, operands, builder)
            return
        new = [self.scalar.values[v] for v in operands]
        condition = self.scalar.expander.condition(builder, op.condition.data.constraints, new)
        blocks: list[Block] = []
        yields: list[list[SSAValue]] = []
        for region in op.regions:
            if region.blocks:
                block = Block()
                self.convert(region.block, Builder(InsertPoint.at_end(block)))
                blocks.append(block)
                yields.append(self._yielded(region.block))
        for column in range(len(op.outputs)):
            if any(isinstance(row[column].type, VectorType) for row in yields):
                for block, row in zip(blocks, yields, strict=True):
                    row[column] = self._spread(Builder(InsertPoint.at_end(block)), row[column])
        for block, row in zip(blocks, yields, strict=True):
            block.add_op(scf.YieldOp(*row))
        regions = [*(Region(block) for block in blocks), Region()]
        types = [value.type for value in yields[0]]
        made = builder.insert(scf.IfOp(condition, types, regions[0], regions[1]))
        for old, result in zip(op.outputs, made.results, strict=True):
            self._bind(old, result)

    def _yielded(self, block: Block) -> list[SSAValue]:
        last = block.last_op
        assert isinstance(last, loop.YieldOp)
        return [self.scalar.values[v] for v in last.values]

    def _masked_if(self, op: loop.IfOp, operands: list[SSAValue], builder: Builder) -> None:
        """Both branches run, each with the lanes that take it."""
        condition: SSAValue | None = None
        for constraint in op.condition.data.constraints:
            holds = self._holds(builder, constraint, operands)
            condition = _both(builder, condition, holds)
        assert condition is not None
        outer = self.mask
        yields: list[list[SSAValue]] = []
        for region, is_else in zip(op.regions, (False, True), strict=True):
            if not region.blocks:
                continue
            taken = self._inverted(builder, condition) if is_else else condition
            self.mask = _both(builder, outer, taken)
            self.convert(region.block, builder)
            yields.append(self._yielded(region.block))
        self.mask = outer
        for n, old in enumerate(op.outputs):
            then, other = (self._spread(builder, row[n]) for row in yields)
            self._bind(old, builder.insert(VectorSelectOp(condition, then, other)).result)

    def _inverted(self, builder: Builder, mask: SSAValue) -> SSAValue:
        all_lanes = builder.insert(_dense(self._type(i1), [1])).result
        return builder.insert(arith.XOrIOp(mask, all_lanes)).result

    def _holds(
        self, builder: Builder, constraint: AffineConstraintExpr, operands: Sequence[SSAValue]
    ) -> SSAValue:
        """The lanes in which a constraint (against zero) holds."""
        expr, kind = constraint.lhs, constraint.kind
        stride = self._stride(expr, operands)
        expander = self.scalar.expander
        if stride == -1 and kind is AffineConstraintKind.ge:
            first = self._expand(builder, expr + 1, operands)
            return builder.insert(vector.CreateMaskOp([first], self._type(i1))).mask_vector
        predicate = {
            AffineConstraintKind.ge: "sge",
            AffineConstraintKind.le: "sle",
            AffineConstraintKind.eq: "eq",
        }[kind]
        values = self._indices(builder, expr, operands)
        zeros = self._spread(builder, expander.constant(0))
        return builder.insert(VectorCmpiOp(values, zeros, predicate)).result

    # Memory.

    def _load(self, op: loop.LoadOp, builder: Builder) -> None:
        operands = list(op.operands_)
        if not any(self._varies(v) for v in operands):
            self._load_one(op, builder)
            return
        buffer = self.scalar.values[op.buffer]
        element = memref_type(buffer).get_element_type()
        if self._is_contiguous(op):
            indices = [self._expand(builder, e, operands) for e in op.map.data.results]
            type_ = self._type(element)
            if self.mask is None or self._is_private(op):
                new = builder.insert(vector.LoadOp(buffer, indices, type_)).result
            else:
                rest = self._zero(builder, element)
                masked = vector.MaskedLoadOp(buffer, indices, self.mask, rest)
                new = builder.insert(masked).result
            self._bind(op.result, new)
            return
        result = self._zero(builder, element)
        for lane in range(self.lanes):
            with self._in_lane(builder, lane, operands):
                value = self._guarded_load(op, builder, lane)
            result = builder.insert(vector.InsertOp(value, result, [lane])).result
        self._bind(op.result, result)

    def _guarded_load(self, op: loop.LoadOp, builder: Builder, lane: int) -> SSAValue:
        """A scalar load where the lane runs, else zero."""
        condition = None if self.mask is None else _extract(builder, self.mask, lane)
        return self._load_where(op, builder, condition)

    def _load_one(self, op: loop.LoadOp, builder: Builder) -> None:
        """The element that all lanes read. When none of them runs it need not exist."""
        condition = None if self.mask is None or self._exists(op) else _any(builder, self.mask)
        self._bind(op.result, self._load_where(op, builder, condition))

    def _load_where(
        self, op: loop.LoadOp, builder: Builder, condition: SSAValue | None
    ) -> SSAValue:
        buffer = self.scalar.values[op.buffer]
        if condition is None:
            indices = self._subscripts(op, builder)
            return builder.insert(memref.LoadOp.get(buffer, indices)).res
        element = memref_type(buffer).get_element_type()
        then, other = Block(), Block()
        inside = Builder(InsertPoint.at_end(then))
        value = inside.insert(memref.LoadOp.get(buffer, self._subscripts(op, inside))).res
        inside.insert(scf.YieldOp(value))
        outside = Builder(InsertPoint.at_end(other))
        zero = outside.insert(arith.ConstantOp(Combiner.ADD.identity(element))).result
        outside.insert(scf.YieldOp(zero))
        made = scf.IfOp(condition, [element], Region(then), Region(other))
        return builder.insert(made).results[0]

    def _subscripts(self, op: loop.LoadOp | loop.StoreOp, builder: Builder) -> list[SSAValue]:
        return [self._expand(builder, e, list(op.operands_)) for e in op.map.data.results]

    def _exists(self, op: loop.LoadOp) -> bool:
        """Whether the subscripts are inside the buffer's shape whatever the conditions say."""
        new = [self.scalar.values[v] for v in op.operands_]
        for expr, size in zip(op.map.data.results, memref_type(op.buffer).get_shape(), strict=True):
            low, high = self.scalar.expander.range_of(expr, new)
            if low is None or high is None or low < 0 or not high < size:
                return False
        return True

    def _is_private(self, op: loop.LoadOp | loop.StoreOp) -> bool:
        """Whether the elements of all lanes exist, those that do not run included, and nobody else's are."""
        alloc = op.buffer.owner
        if not isinstance(alloc, loop.AllocOp) or alloc.scope.data not in _PRIVATE:
            return False
        new = [self.scalar.values[v] for v in op.operands_]
        sizes = memref_type(op.buffer).get_shape()
        for axis, (expr, size) in enumerate(zip(op.map.data.results, sizes, strict=True)):
            low, high = self.scalar.expander.range_of(expr, new)
            last = self.lanes - 1 if axis == len(sizes) - 1 else 0
            if low is None or high is None or low < 0 or not high + last < size:
                return False
        return True

    def _is_contiguous(self, op: loop.LoadOp | loop.StoreOp) -> bool:
        """Whether neighbouring lanes use neighbouring elements."""
        type_ = memref_type(op.buffer)
        if not isinstance(type_.layout, NoneAttr) and (type_.get_strides() or [None])[-1] != 1:
            return False
        if self.mask is not None and type_.get_element_type() == i1:
            return False
        strides = [self._stride(e, list(op.operands_)) for e in op.map.data.results]
        return strides[-1:] == [1] and not any(strides[:-1])

    def _store(self, op: loop.StoreOp, builder: Builder) -> None:
        operands = list(op.operands_)
        buffer = self.scalar.values[op.buffer]
        element = memref_type(buffer).get_element_type()
        if any(self._varies(v) for v in operands) and self._is_contiguous(op):
            indices = self._subscripts(op, builder)
            value = self._vector(builder, op.value)
            if self.mask is not None and self._is_private(op):
                # Unlike a masked store this leaves a buffer in registers.
                old = builder.insert(vector.LoadOp(buffer, indices, self._type(element)))
                value = builder.insert(VectorSelectOp(self.mask, value, old.result)).result
                builder.insert(vector.StoreOp(value, buffer, indices))
            elif self.mask is None:
                builder.insert(vector.StoreOp(value, buffer, indices))
            else:
                builder.insert(vector.MaskedStoreOp(buffer, indices, self.mask, value))
            return
        if not any(self._varies(v) for v in operands) and not self._varies(op.value):
            condition = None if self.mask is None else _any(builder, self.mask)
            self._store_where(op, self.scalar.values[op.value], builder, condition)
            return
        # Lane after lane, so that of several writes to one element the last one stays.
        varies = any(self._varies(v) for v in operands)
        lanes = range(self.lanes) if varies or self.mask is not None else (self.lanes - 1,)
        vector_value = self._vector(builder, op.value)
        for lane in lanes:
            value = _extract(builder, vector_value, lane)
            condition = None if self.mask is None else _extract(builder, self.mask, lane)
            with self._in_lane(builder, lane, operands):
                self._store_where(op, value, builder, condition)

    def _store_where(
        self, op: loop.StoreOp, value: SSAValue, builder: Builder, condition: SSAValue | None
    ) -> None:
        if condition is not None:
            block = Block()
            inside = Builder(InsertPoint.at_end(block))
            self._store_where(op, value, inside, None)
            inside.insert(scf.YieldOp())
            builder.insert(scf.IfOp(condition, [], Region(block), Region()))
            return
        buffer = self.scalar.values[op.buffer]
        builder.insert(memref.StoreOp.get(value, buffer, self._subscripts(op, builder)))

    # Reductions.

    def _reduce(self, update: ReductionUpdate, builder: Builder) -> None:
        """`x = x + value` in every lane: the lanes' values are joined first."""
        combine = update.combine
        other = next(v for v in combine.operands if v is not update.load.result)
        value = self._vector(builder, other)
        element = combine.results[0].type
        if self.mask is not None:
            identity = _identity(update.operator, element)
            rest = builder.insert(_dense(self._type(element), [identity])).result
            value = builder.insert(VectorSelectOp(self.mask, value, rest)).result
        properties: dict[str, Attribute] = {"kind": CombiningKindAttr(_KINDS[type(combine)])}
        if "fastmath" in combine.properties:
            properties["fastmath"] = combine.properties["fastmath"]
        start = self.scalar.values[update.load.result]
        new = vector.ReductionOp.build(
            operands=[value, start], result_types=[element], properties=properties
        )
        self._bind(combine.results[0], builder.insert(new).dest)


_PRIVATE = (loop.Scope.REGISTER, loop.Scope.STACK)

_ON_VECTORS: dict[type[Operation], type[Operation]] = {
    arith.CmpiOp: VectorCmpiOp,
    arith.CmpfOp: VectorCmpfOp,
    arith.SelectOp: VectorSelectOp,
}
"""Operations that are other ones on vectors."""

_KINDS: dict[type[Operation], CombiningKindFlag] = {
    arith.AddfOp: CombiningKindFlag.ADD,
    arith.AddiOp: CombiningKindFlag.ADD,
    arith.MulfOp: CombiningKindFlag.MUL,
    arith.MuliOp: CombiningKindFlag.MUL,
    arith.MaxSIOp: CombiningKindFlag.MAXSI,
    arith.MinSIOp: CombiningKindFlag.MINSI,
    arith.MaxUIOp: CombiningKindFlag.MAXUI,
    arith.MinUIOp: CombiningKindFlag.MINUI,
    arith.AndIOp: CombiningKindFlag.AND,
    arith.OrIOp: CombiningKindFlag.OR,
    arith.XOrIOp: CombiningKindFlag.XOR,
    arith.MaximumfOp: CombiningKindFlag.MAXIMUMF,
    arith.MinimumfOp: CombiningKindFlag.MINIMUMF,
}


def _identity(operator: str, element: Attribute) -> int | float:
    if operator == "xor":
        return 0
    return Combiner(operator).identity(element).value.data


def _reductions(
    for_op: loop.ForOp, updates: Mapping[Operation, ReductionUpdate]
) -> dict[Operation, ReductionUpdate]:
    """The updates of one element by all lanes, by the operation that combines."""
    varying: set[SSAValue] = {for_op.induction_variable}
    found: dict[Operation, ReductionUpdate] = {}
    for op in for_op.body.walk():
        is_pure = not op.regions and is_side_effect_free(op)
        if any(v in varying for v in op.operands) or (op.results and not is_pure):
            varying.update(op.results)
        update = updates.get(op)
        if update is None or op is not update.load:
            continue
        if not any(v in varying for v in update.load.operands_):
            found[update.combine] = update
    return found


def _dense(type_: VectorType[Attribute], values: Sequence[int | float]) -> arith.ConstantOp:
    """The vector of these numbers, or of one number in every lane."""
    elements = DenseIntOrFPElementsAttr.from_list(type_, values)  # pyright: ignore[reportArgumentType, reportCallIssue, reportUnknownVariableType, reportUnknownMemberType]
    return arith.ConstantOp(elements)  # pyright: ignore[reportUnknownArgumentType]


def _extract(builder: Builder, value: SSAValue, lane: int) -> SSAValue:
    element = cast("VectorType[Attribute]", value.type).element_type
    return builder.insert(vector.ExtractOp(value, [lane], element)).result


def _both(builder: Builder, a: SSAValue | None, b: SSAValue) -> SSAValue:
    return b if a is None else builder.insert(arith.AndIOp(a, b)).result


def _any(builder: Builder, mask: SSAValue) -> SSAValue:
    """Whether some lane runs."""
    new = vector.ReductionOp.build(
        operands=[mask, None],
        result_types=[i1],
        properties={"kind": CombiningKindAttr(CombiningKindFlag.OR)},
    )
    return builder.insert(new).dest
