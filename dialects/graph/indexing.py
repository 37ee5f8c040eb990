"""Operations that join and cut: concat, split, slice, pad."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    DenseArrayBase,
    FloatAttr,
    IndexType,
    IntegerAttr,
    TensorType,
    i64,
)
from xdsl.ir import SSAValue
from xdsl.irdl import operand_def, prop_def, result_def, var_operand_def, var_result_def
from xdsl.utils.exceptions import VerifyException

from ..interfaces import Array, DefinedInTe
from ..scalar import ScalarBuilder
from ..shaped import Tensor, shape_of, tensor_type
from ..te.builder import Access, TeBuilder
from ..te.index_maps import dims
from .base import GraphOp, Value, graph_op, number_attr, number_of, verify_same_element
from .shapes import concatenated, normalized_axis, require_canonical_axis, shape_text


@graph_op
class ConcatOp(GraphOp, DefinedInTe):
    """
    Tensors joined along an axis (`numpy.concatenate`).

        %r = graph.concat %a, %b axis = 0 : tensor<2x3xf32>, tensor<1x3xf32> -> tensor<3x3xf32>
    """

    name = "graph.concat"
    COMPUTES: ClassVar = False

    inputs = var_operand_def()
    axis = prop_def(IntegerAttr.constr(i64))
    result = result_def()

    assembly_format = "$inputs `axis` `=` $axis attr-dict `:` type($inputs) `->` type($result)"

    def __init__(self, inputs: Sequence[Value], axis: int = 0):
        types = [tensor_type(value) for value in inputs]
        if not types:
            raise VerifyException("found no tensors to join, expected at least one; give some")
        axis = normalized_axis(axis, types[0].get_num_dims())
        super().__init__(
            operands=[inputs],
            properties={"axis": IntegerAttr(axis, i64)},
            result_types=[self.infer_type(types, axis)],
        )

    @classmethod
    def infer_type(cls, inputs: Sequence[Tensor], axis: int) -> Tensor:
        """The result type; `axis` counted from 0. Raises VerifyException for shapes that do not join."""
        shape = concatenated([type_.get_shape() for type_ in inputs], axis)
        return TensorType(inputs[0].get_element_type(), shape)

    def inferred_types(self) -> Sequence[Tensor]:
        types = [tensor_type(value) for value in self.inputs]
        if not types:
            raise VerifyException("found no tensors to join, expected at least one; give some")
        require_canonical_axis(self.axis.value.data, types[0].get_num_dims())
        return (self.infer_type(types, self.axis.value.data),)

    def numpy(self, *arrays: Array) -> Array:
        return np.concatenate(arrays, axis=self.axis.value.data)

    def define(self, te: TeBuilder) -> SSAValue:
        """
        Every input is read where the result's index falls into it (elsewhere the read gives 0, not used), and the
        index decides between them.
        """
        result, axis = tensor_type(self.result), self.axis.value.data
        parts = [value for value in self.inputs if shape_of(value)[axis] != 0] or self.inputs[:1]
        zero = number_attr(0, result.get_element_type()) if len(parts) > 1 else None
        ends: list[int] = []
        accesses: list[Access] = []
        for value in parts:
            indices = dims(result.get_num_dims())
            offset = ends[-1] if ends else 0
            indices[axis] = indices[axis] - offset
            accesses.append(Access(value, indices, zero))
            ends.append(offset + shape_of(value)[axis])

        def body(
            b: ScalarBuilder, iterators: Sequence[SSAValue], elements: Sequence[SSAValue]
        ) -> SSAValue:
            index = b.of_type(IndexType())
            chosen = elements[-1]
            for element, end in list(zip(elements, ends, strict=True))[-2::-1]:
                inside = index.compare("lt", iterators[axis], index.constant(end))
                chosen = b.select(inside, element, chosen)
            return chosen

        return te.compute(result, accesses, body)

    def simplified(self) -> SSAValue | None:
        """concat(x) → x"""
        return self.inputs[0] if len(self.inputs) == 1 else None

    def flops(self) -> int:
        return 0


@graph_op
class SplitOp(GraphOp, DefinedInTe):
    """
    A tensor cut along an axis into parts of these sizes.

        %a, %b = graph.split %x axis = 0 sizes = [2, 1] : tensor<3x4xf32> -> tensor<2x4xf32>, tensor<1x4xf32>
    """

    name = "graph.split"
    COMPUTES: ClassVar = False

    operand = operand_def()
    axis = prop_def(IntegerAttr.constr(i64))
    sizes = prop_def(DenseArrayBase.constr(i64))
    parts = var_result_def()

    assembly_format = (
        "$operand `axis` `=` $axis `sizes` `=` $sizes attr-dict "
        "`:` type($operand) `->` type($parts)"
    )

    def __init__(self, operand: Value, sizes: Sequence[int], axis: int = 0):
        type_ = tensor_type(operand)
        axis = normalized_axis(axis, type_.get_num_dims())
        super().__init__(
            operands=[operand],
            properties={
                "axis": IntegerAttr(axis, i64),
                "sizes": DenseArrayBase.from_list(i64, sizes),
            },
            result_types=[self.infer_types(type_, sizes, axis)],
        )

    @classmethod
    def infer_types(cls, operand: Tensor, sizes: Sequence[int], axis: int) -> list[Tensor]:
        """The result types. Raises VerifyException when the sizes do not add up to the extent."""
        shape = list(operand.get_shape())
        if not sizes or min(sizes) < 0 or shape[axis] not in (sum(sizes), DYNAMIC_INDEX):
            raise VerifyException(
                f"found sizes {list(sizes)} for axis {axis} of shape {shape_text(shape)}, expected sizes of at "
                "least 0 that add up to its extent; mend the sizes"
            )
        return [
            TensorType(operand.get_element_type(), [*shape[:axis], size, *shape[axis + 1 :]])
            for size in sizes
        ]

    def inferred_types(self) -> Sequence[Tensor]:
        type_ = tensor_type(self.operand)
        require_canonical_axis(self.axis.value.data, type_.get_num_dims())
        return self.infer_types(type_, self.sizes.get_values(), self.axis.value.data)

    def offsets(self) -> list[int]:
        """Where along the axis each part begins."""
        sizes = self.sizes.get_values()
        return [sum(sizes[:number]) for number in range(len(sizes))]

    def numpy(self, x: Array) -> tuple[Array, ...]:
        return tuple(np.split(x, self.offsets()[1:], axis=self.axis.value.data))

    def define(self, te: TeBuilder) -> Sequence[SSAValue]:
        axis = self.axis.value.data
        values: list[SSAValue] = []
        for part, offset in zip(self.parts, self.offsets(), strict=True):
            indices = dims(tensor_type(part).get_num_dims())
            indices[axis] = indices[axis] + offset
            hint = part.name_hint or "part"
            values.append(te.compute(tensor_type(part), [Access(self.operand, indices)], hint=hint))
        return values

    def simplified(self) -> SSAValue | None:
        """A split into one part → the operand"""
        return self.operand if len(self.parts) == 1 else None

    def flops(self) -> int:
        return 0


@graph_op
class SliceOp(GraphOp, DefinedInTe):
    """
    Every step-th element from start up to, without, stop, on each axis. Starts and stops are counted
    from 0: those of Python's `slice.indices`, so a stop of -1 with a negative step is before the first.

        %r = graph.slice %x starts = [0, 3] stops = [2, -1] steps = [1, -2]
            : tensor<2x4xf32> -> tensor<2x2xf32>
    """

    name = "graph.slice"
    COMPUTES: ClassVar = False

    operand = operand_def()
    starts = prop_def(DenseArrayBase.constr(i64))
    stops = prop_def(DenseArrayBase.constr(i64))
    steps = prop_def(DenseArrayBase.constr(i64))
    result = result_def()

    assembly_format = (
        "$operand `starts` `=` $starts `stops` `=` $stops `steps` `=` $steps attr-dict "
        "`:` type($operand) `->` type($result)"
    )

    def __init__(self, operand: Value, slices: Sequence[slice]):
        """
        `slices` are Python's, one for each axis; None and negative bounds mean what they do there.
        """
        type_ = tensor_type(operand)
        shape = type_.get_shape()
        if len(slices) != len(shape):
            raise VerifyException(
                f"found {len(slices)} slices for a tensor of rank {len(shape)}, expected one for each axis; "
                "give slice(None) for whole axes"
            )
        if any(part.step == 0 for part in slices):
            raise VerifyException("found a slice of step 0, expected any other step; give one")
        bounds = [_slice_bounds(part, extent) for part, extent in zip(slices, shape, strict=True)]
        starts, stops, steps = ([b[i] for b in bounds] for i in range(3))
        super().__init__(
            operands=[operand],
            properties={
                "starts": DenseArrayBase.from_list(i64, starts),
                "stops": DenseArrayBase.from_list(i64, stops),
                "steps": DenseArrayBase.from_list(i64, steps),
            },
            result_types=[self.infer_type(type_, bounds)],
        )

    @classmethod
    def infer_type(cls, operand: Tensor, bounds: Sequence[tuple[int, int, int]]) -> Tensor:
        """
        The result type for (start, stop, step) of each axis. Raises VerifyException for a step of 0 and
        for an index outside the operand.
        """
        shape = operand.get_shape()
        if len(bounds) != len(shape):
            raise VerifyException(
                f"found starts, stops and steps for {len(bounds)} axes, expected {len(shape)}; give one of each "
                "for each axis"
            )
        result = [
            _sliced_extent(axis, extent, *bound)
            for axis, (extent, bound) in enumerate(zip(shape, bounds, strict=True))
        ]
        return TensorType(operand.get_element_type(), result)

    def inferred_types(self) -> Sequence[Tensor]:
        lists = [self.starts.get_values(), self.stops.get_values(), self.steps.get_values()]
        if len({len(values) for values in lists}) != 1:
            raise VerifyException(
                "found starts, stops and steps of different lengths, expected equal ones; give one of "
                "each for each axis"
            )
        return (self.infer_type(tensor_type(self.operand), self.bounds),)

    @property
    def bounds(self) -> list[tuple[int, int, int]]:
        """(start, stop, step) for each axis."""
        return list(
            zip(
                self.starts.get_values(),
                self.stops.get_values(),
                self.steps.get_values(),
                strict=True,
            )
        )

    def numpy(self, x: Array) -> Array:
        return x[tuple(slice(a, None if b < 0 else b, step) for a, b, step in self.bounds)]

    def define(self, te: TeBuilder) -> SSAValue:
        bounds = self.bounds
        indices = [
            expr * step + start
            for expr, (start, _, step) in zip(dims(len(bounds)), bounds, strict=True)
        ]
        return te.compute(tensor_type(self.result), [Access(self.operand, indices)])

    def simplified(self) -> SSAValue | None:
        """A slice of everything → the operand"""
        everything = all(
            bound == (0, extent, 1)
            for bound, extent in zip(self.bounds, shape_of(self.operand), strict=True)
        )
        return self.operand if everything else None

    def flops(self) -> int:
        return 0


def _slice_bounds(part: slice, extent: int) -> tuple[int, int, int]:
    if extent != DYNAMIC_INDEX:
        start, stop, step = part.indices(extent)
        # Of the many ways to say "nothing", one.
        return (start, stop, step) if range(start, stop, step) else (0, 0, 1)
    step = 1 if part.step is None else part.step
    start = 0 if part.start is None else part.start
    if step < 0 or start < 0 or part.stop is None or part.stop < 0:
        raise VerifyException(
            "found a slice of an axis of extent '?', expected a start and a stop counted from 0 and a "
            "positive step; give the extent"
        )
    return start, part.stop, step


def _sliced_extent(axis: int, extent: int, start: int, stop: int, step: int) -> int:
    if step == 0:
        raise VerifyException(f"found step 0 on axis {axis}, expected any other step; give one")
    indices = range(start, stop, step)
    if not indices:
        return 0
    low, high = min(indices[0], indices[-1]), max(indices[0], indices[-1])
    if low < 0 or (extent != DYNAMIC_INDEX and high >= extent):
        raise VerifyException(
            f"found indices {low} to {high} on axis {axis}, expected them within its extent {extent}; "
            "mend the bounds"
        )
    return len(indices)


@graph_op
class PadOp(GraphOp, DefinedInTe):
    """
    A constant put before and after the elements of each axis (`numpy.pad`).

        %r = graph.pad %x low = [0, 1] high = [0, 2] value = 0.000000e+00 : f32
            : tensor<2x3xf32> -> tensor<2x6xf32>
    """

    name = "graph.pad"
    COMPUTES: ClassVar = False

    operand = operand_def()
    low = prop_def(DenseArrayBase.constr(i64))
    high = prop_def(DenseArrayBase.constr(i64))
    value = prop_def(FloatAttr | IntegerAttr)
    result = result_def()

    assembly_format = (
        "$operand `low` `=` $low `high` `=` $high `value` `=` $value attr-dict "
        "`:` type($operand) `->` type($result)"
    )

    def __init__(
        self, operand: Value, low: Sequence[int], high: Sequence[int], value: float | int = 0
    ):
        type_ = tensor_type(operand)
        super().__init__(
            operands=[operand],
            properties={
                "low": DenseArrayBase.from_list(i64, low),
                "high": DenseArrayBase.from_list(i64, high),
                "value": number_attr(value, type_.get_element_type()),
            },
            result_types=[self.infer_type(type_, low, high)],
        )

    @classmethod
    def infer_type(cls, operand: Tensor, low: Sequence[int], high: Sequence[int]) -> Tensor:
        """The result type. Raises VerifyException unless there is one amount of at least 0 for each axis."""
        shape = operand.get_shape()
        if not len(low) == len(high) == len(shape) or any(amount < 0 for amount in (*low, *high)):
            raise VerifyException(
                f"found low {list(low)} and high {list(high)} for a tensor of rank {len(shape)}, expected one "
                "amount of at least 0 for each axis; cut with graph.slice"
            )
        padded = [
            extent if extent == DYNAMIC_INDEX else before + extent + after
            for before, extent, after in zip(low, shape, high, strict=True)
        ]
        return TensorType(operand.get_element_type(), padded)

    def inferred_types(self) -> Sequence[Tensor]:
        type_ = tensor_type(self.operand)
        verify_same_element(self.value.type, type_.get_element_type(), "a pad value")
        return (self.infer_type(type_, self.low.get_values(), self.high.get_values()),)

    def numpy(self, x: Array) -> Array:
        amounts = list(zip(self.low.get_values(), self.high.get_values(), strict=True))
        # numpy.pad of a scalar wants no amounts at all, and gives it back.
        return np.pad(x, amounts, constant_values=number_of(self.value)) if amounts else x

    def define(self, te: TeBuilder) -> SSAValue:
        low = self.low.get_values()
        indices = [expr - amount for expr, amount in zip(dims(len(low)), low, strict=True)]
        return te.compute(tensor_type(self.result), [Access(self.operand, indices, self.value)])

    def simplified(self) -> SSAValue | None:
        """A pad by nothing → the operand"""
        return None if any((*self.low.get_values(), *self.high.get_values())) else self.operand

    def flops(self) -> int:
        return 0
