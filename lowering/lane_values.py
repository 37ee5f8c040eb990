"""
The values of the lanes of a vector loop: which differ from lane to lane, and how they do.

A value that is the same in all lanes stays a scalar.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Protocol, cast

from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    IndexType,
    MemRefType,
    VectorType,
    i1,
    i64,
)
from xdsl.dialects.vector import CombiningKindAttr, CombiningKindFlag
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineExpr

from ..dialects import loop
from ..dialects.affine_bounds import linear_form
from ..dialects.affine_substitution import plus, used_dims
from ..dialects.dtypes import is_float
from ..dialects.leaf_operations import numbers_attribute, take_name, vector_of
from .affine_to_arith import AffineExpander
from .core_builder import CoreBuilder, CoreLoop, Properties, lane_position
from .vector_loops import VectorLoop


class ScalarConverter(Protocol):
    """What the conversion of a function offers for the parts that are the same in all lanes."""

    expander: AffineExpander
    values: dict[SSAValue, SSAValue]

    def vector_loop(self, op: loop.ForOp) -> VectorLoop: ...

    def convert_op(self, op: Operation, builder: CoreBuilder) -> None: ...

    def load_element(self, op: loop.LoadOp, builder: CoreBuilder) -> SSAValue: ...

    def is_inside(self, op: loop.LoadOp) -> bool: ...

    def may_leave_copies(self, buffer: SSAValue) -> Callable[[CoreLoop], bool]: ...

    def stack_buffer(self, type_: MemRefType[Attribute]) -> SSAValue: ...

    def open_for(self, op: loop.ForOp, builder: CoreBuilder) -> CoreBuilder: ...

    def open_copies(self, op: loop.ForOp, builder: CoreBuilder) -> Iterator[CoreBuilder]: ...


class LaneValues:
    """
    Some lanes of one vector loop, those of `lanes` iterations from the `skipped`th one on.

    The loop's variable stands for the first lane's value.
    """

    def __init__(
        self,
        scalar: ScalarConverter,
        for_op: loop.ForOp,
        skipped: int,
        lanes: int,
        builder: CoreBuilder,
    ):
        self.scalar = scalar
        self.lanes = lanes
        self.loop = scalar.vector_loop(for_op)
        self.variable, self.step = self.loop.variable, self.loop.step
        self.mask: SSAValue | None = None
        """the lanes that run; None when all do"""
        self.zero_outside: dict[SSAValue, SSAValue] = {}
        """of loaded vectors the mask outside of which their lanes are zero"""
        low = plus(self.loop.low, skipped * self.step)
        if isinstance(low, AffineConstantExpr):
            self.first = scalar.expander.constant(low.value)
        else:
            operands = [scalar.values[v] for v in self.loop.low_operands]
            self.first = scalar.expander.expand(builder, low, operands)
            scalar.expander.ranges[self.first] = scalar.expander.range_of(low, operands)
        scalar.values[self.variable] = self.first

    def varies(self, value: SSAValue) -> bool:
        return value is self.variable or type(self.scalar.values[value].type) is VectorType

    def vector(self, builder: CoreBuilder, value: SSAValue) -> SSAValue:
        """The value in all lanes."""
        if value is self.variable:
            return self.counted(builder, self.first, self.step)
        return self.spread(builder, self.scalar.values[value])

    def spread(self, builder: CoreBuilder, new: SSAValue) -> SSAValue:
        if type(new.type) is VectorType:
            return new
        return builder.shared(vector.BroadcastOp, (new,), self.type_of(new.type), mark=self.lanes)

    def type_of(self, element: Attribute) -> VectorType[Attribute]:
        return vector_of(element, self.lanes)

    def counted(self, builder: CoreBuilder, first: SSAValue, stride: int) -> SSAValue:
        """`first + stride * lane`"""
        type_ = self.type_of(first.type)
        offsets = self.dense(type_, [stride * lane for lane in range(self.lanes)])
        return builder.shared(arith.AddiOp, (self.spread(builder, first), offsets), type_)

    def zero(self, element: Attribute) -> SSAValue:
        return self.scalar.expander.constant_of(_zeros(element, self.lanes))

    def dense(self, type_: VectorType[Attribute], values: Sequence[int | float]) -> SSAValue:
        """The vector of these numbers, or of one number in every lane."""
        if is_float(type_.element_type):
            return self.scalar.expander.constant_of(elements(type_, values))
        return self.scalar.expander.constant_of(_whole_elements(type_, tuple(values)))

    @contextmanager
    def in_lane(
        self, builder: CoreBuilder, lane: int, operands: Sequence[SSAValue]
    ) -> Generator[None]:
        """Inside, the variable and `operands` have the values of one lane."""
        values = self.scalar.values
        kept = {v: values[v] for v in operands if self.varies(v)} | {self.variable: self.first}
        for value, new in kept.items():
            if value is self.variable:
                offset = self.scalar.expander.constant(lane * self.step)
                here = self.scalar.expander.add(builder, self.first, offset)
            else:
                here = extract(builder, new, lane)
            values[value] = here
        yield
        values.update(kept)

    def bind(self, old: SSAValue, new: SSAValue) -> None:
        take_name(old, new)
        self.scalar.values[old] = new

    def indices(
        self, builder: CoreBuilder, expr: AffineExpr, operands: Sequence[SSAValue]
    ) -> SSAValue:
        """A vector of the expression's values."""
        stride = self.stride(expr, operands)
        if stride is not None:
            return self.counted(builder, self.expand(builder, expr, operands), stride)
        result = self.zero(IndexType())
        for lane in range(self.lanes):
            with self.in_lane(builder, lane, operands):
                value = self.expand(builder, expr, operands)
            result = inserted(builder, value, result, lane)
        return result

    def expand(
        self, builder: CoreBuilder, expr: AffineExpr, operands: Sequence[SSAValue]
    ) -> SSAValue:
        new = [self.scalar.values[v] for v in operands]
        return self.scalar.expander.expand(builder, expr, new)

    def stride(self, expr: AffineExpr, operands: Sequence[SSAValue]) -> int | None:
        """How much the expression grows from lane to lane, None when that is not constant."""
        used = [operands[n] for n in used_dims(expr)]
        if any(v is not self.variable and self.varies(v) for v in used):
            return None
        if not any(v is self.variable for v in used):
            return 0
        form = linear_form(expr, len(operands))
        if form is None:
            return None
        return self.step * sum(
            c for c, v in zip(form[0], operands, strict=True) if v is self.variable
        )


@lru_cache(maxsize=256)
def _zeros(element: Attribute, lanes: int) -> DenseIntOrFPElementsAttr:
    return elements(vector_of(element, lanes), [0.0 if is_float(element) else 0])


@lru_cache(maxsize=256)
def _whole_elements(
    type_: VectorType[Attribute], values: tuple[int | float, ...]
) -> DenseIntOrFPElementsAttr:
    """Of whole numbers: masks and offsets of lanes come again, and xDSL looks at each lane in turn."""
    return elements(type_, values)


def elements(
    type_: VectorType[Attribute], values: Sequence[int | float]
) -> DenseIntOrFPElementsAttr:
    return DenseIntOrFPElementsAttr.from_list(type_, values)  # pyright: ignore[reportArgumentType, reportCallIssue, reportUnknownVariableType]


def extract(builder: CoreBuilder, value: SSAValue, lane: int) -> SSAValue:
    element = cast("VectorType[Attribute]", value.type).element_type
    return builder.shared(vector.ExtractOp, (value,), element, lane_position(lane), mark=lane)


def inserted(builder: CoreBuilder, value: SSAValue, into: SSAValue, lane: int) -> SSAValue:
    """The vector `into` with another value in one lane."""
    return builder.emit(vector.InsertOp, (value, into), into.type, lane_position(lane))


def shuffled(builder: CoreBuilder, a: SSAValue, b: SSAValue, lanes: Sequence[int]) -> SSAValue:
    """The vector of these lanes of two vectors; those of the second are counted on from the first's."""
    type_ = vector_of(cast("VectorType[Attribute]", a.type).element_type, len(lanes))
    chosen = tuple(lanes)
    return builder.shared(vector.ShuffleOp, (a, b), type_, _mask(chosen), mark=chosen)


@lru_cache(maxsize=1024)
def _mask(lanes: tuple[int, ...]) -> Properties:
    return {"mask": numbers_attribute(i64, lanes)}


def both(builder: CoreBuilder, a: SSAValue | None, b: SSAValue) -> SSAValue:
    return b if a is None else builder.shared(arith.AndIOp, (a, b), b.type)


def any_lane(builder: CoreBuilder, mask: SSAValue) -> SSAValue:
    """Whether some lane runs."""
    new = vector.ReductionOp.build(
        operands=[mask, None],
        result_types=[i1],
        properties={"kind": CombiningKindAttr(CombiningKindFlag.OR)},
    )
    return builder.insert(new).dest
