"""What operations of `tensor` are at te: mostly what an operation of the graph level that means the same is there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np
from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType, IntegerAttr, TensorType
from xdsl.ir import Operation, SSAValue

from ..dialects import graph
from ..dialects.dtypes import numpy_dtype
from ..dialects.graph.base import number_attr
from ..dialects.interfaces import DefinedInTe
from ..dialects.resources import tensor_elements
from ..dialects.scalar import ScalarBuilder
from ..dialects.shaped import Tensor, shape_of, tensor_type
from ..dialects.te.builder import Access, TeBuilder
from ..dialects.te.index_maps import dims
from ..dialects.upstream.tensor import GenerateOp
from ..errors import StepwellError
from .structured_to_te import emitted, extracted, splat_of


def _defined(op: Operation, te: TeBuilder) -> SSAValue:
    """What an operation of the graph level on values of te is at te."""
    assert isinstance(op, DefinedInTe)
    value = op.define(te)
    op.drop_all_references()
    assert isinstance(value, SSAValue)
    return value


def _filled(te: TeBuilder, result: Tensor, value: float | SSAValue) -> SSAValue:
    def body(
        b: ScalarBuilder, indices: Sequence[SSAValue], elements: Sequence[SSAValue]
    ) -> SSAValue:
        return value if isinstance(value, SSAValue) else b.constant(value)

    return te.compute(result, [], body)


def _number(op: Operation, te: TeBuilder, value: SSAValue) -> int:
    """An index that is known."""
    attr = splat_of(te.values[value])
    if attr is None:
        raise StepwellError(
            f"found {op.name} with an offset, size, stride or axis that is computed, expected a constant; give the number",
            op=op,
        )
    return int(attr.value.data)


def _mixed(
    op: Operation, te: TeBuilder, static: Sequence[int], dynamic: Sequence[SSAValue]
) -> list[int]:
    """A list of numbers, of which some stand as values."""
    values = iter(dynamic)
    return [
        _number(op, te, next(values)) if number == DYNAMIC_INDEX else number for number in static
    ]


def _empty(op: tensor.EmptyOp, te: TeBuilder) -> SSAValue:
    type_ = op.tensor.type
    shape = _mixed(op, te, type_.get_shape(), op.dynamic_sizes)
    return _filled(te, TensorType(type_.get_element_type(), shape), 0)


def _cast(op: tensor.CastOp, te: TeBuilder) -> SSAValue:
    """The same tensor: at te its extents are known either way."""
    value, type_ = te.values[op.source], op.dest.type
    if isinstance(type_, TensorType):
        expected = type_.get_shape()
        if any(e not in (DYNAMIC_INDEX, f) for e, f in zip(expected, shape_of(value), strict=True)):
            raise StepwellError(
                f"found a cast of {value.type} to {type_}, expected equal extents", op=op
            )
    return value


def _dim(op: tensor.DimOp, te: TeBuilder) -> SSAValue:
    extent = shape_of(te.values[op.source])[_number(op, te, op.index)]
    return te.insert(arith.ConstantOp(IntegerAttr(extent, IndexType()))).result


def _reshaped(op: Any, te: TeBuilder, source: SSAValue, shape: Sequence[int]) -> SSAValue:
    return _defined(graph.ReshapeOp(te.values[source], shape), te)


def _collapse_shape(op: tensor.CollapseShapeOp, te: TeBuilder) -> SSAValue:
    shape = shape_of(te.values[op.src])
    collapsed = [prod(shape[axis] for axis in group) for group in _groups(op.reassociation)]
    return _reshaped(op, te, op.src, collapsed)


def _expand_shape(op: tensor.ExpandShapeOp, te: TeBuilder) -> SSAValue:
    shape = _mixed(op, te, op.static_output_shape.get_values(), op.dynamic_output_shape)
    return _reshaped(op, te, op.src, shape)


def _reshape(op: tensor.ReshapeOp, te: TeBuilder) -> SSAValue:
    return _reshaped(op, te, op.source, shape_of(op.result))


def _groups(reassociation: Any) -> list[list[int]]:
    return [[axis.value.data for axis in group] for group in reassociation]


_Slice = tuple[list[int], list[int], list[int]]


def _slice_of(op: tensor.ExtractSliceOp | tensor.InsertSliceOp, te: TeBuilder) -> _Slice:
    """Offsets, sizes and strides."""
    offsets = _mixed(op, te, op.static_offsets.get_values(), op.offsets)
    sizes = _mixed(op, te, op.static_sizes.get_values(), op.sizes)
    strides = _mixed(op, te, op.static_strides.get_values(), op.strides)
    return offsets, sizes, strides


def _extract_slice(op: tensor.ExtractSliceOp, te: TeBuilder) -> SSAValue:
    """A slice, without the axes of extent 1 that the result's type leaves out."""
    offsets, sizes, strides = _slice_of(op, te)
    source = te.values[op.source]
    parts = [
        slice(offset, offset + (size - 1) * stride + 1 if size else offset, stride)
        for offset, size, stride in zip(offsets, sizes, strides, strict=True)
    ]
    part = _defined(graph.SliceOp(source, parts), te)
    if shape_of(part) != tuple(sizes):
        raise StepwellError(
            f"found a slice from {offsets} of {sizes} elements, expected one inside of {source.type}; mend it",
            op=op,
        )
    result = shape_of(op.result)
    if len(result) == len(sizes):
        return part
    # A type of lower rank leaves axes of extent 1 out.
    shape = [size for size in sizes if size != 1] if DYNAMIC_INDEX in result else result
    return _defined(graph.ReshapeOp(part, shape), te)


def _insert_slice(op: tensor.InsertSliceOp, te: TeBuilder) -> SSAValue:
    """
    Of the destination, but where an index is in the slice, of the source: that is read at (index - offset) / stride,
    with 0 for what is outside, and compared.
    """
    offsets, sizes, strides = _slice_of(op, te)
    destination, source = te.values[op.dest], te.values[op.source]
    if shape_of(source) != tuple(sizes):
        source = _defined(graph.ReshapeOp(source, sizes), te)
    result = tensor_type(destination)
    index = dims(result.get_num_dims())
    inside = [
        (expr - offset) // stride if stride > 1 else expr - offset
        for expr, offset, stride in zip(index, offsets, strides, strict=True)
    ]
    zero = number_attr(0, result.get_element_type())

    def body(
        b: ScalarBuilder, indices: Sequence[SSAValue], elements: Sequence[SSAValue]
    ) -> SSAValue:
        old, new = elements
        i = b.of_type(IndexType())
        choice: SSAValue | None = None

        def require(condition: SSAValue) -> None:
            nonlocal choice
            choice = condition if choice is None else i.bit_and(choice, condition)

        for position, offset, size, stride, extent in zip(
            indices, offsets, sizes, strides, result.get_shape(), strict=True
        ):
            last = offset + (size - 1) * stride
            if offset > 0:
                require(i.compare("ge", position, i.constant(offset)))
            if last < extent - 1:
                require(i.compare("le", position, i.constant(last)))
            if stride > 1:
                distance = i.sub(position, i.constant(offset))
                rest = i.emit(arith.RemSIOp(distance, i.constant(stride)))
                require(i.compare("eq", rest, i.constant(0)))
        return new if choice is None else b.select(choice, new, old)

    return te.compute(result, [Access(destination, index), Access(source, inside, zero)], body)


def _concat(op: tensor.ConcatOp, te: TeBuilder) -> SSAValue:
    parts = [te.values[value] for value in op.inputs]
    return _defined(graph.ConcatOp(parts, op.dim.value.data), te)


def _pad(op: tensor.PadOp, te: TeBuilder) -> SSAValue:
    """A read with the number for what is outside of the source. Amounts below 0 are refused by the graph's pad."""
    low = _mixed(op, te, op.static_low.get_values(), op.low)
    high = _mixed(op, te, op.static_high.get_values(), op.high)
    last = op.region.block.last_op
    value = last.operands[0] if last is not None else None
    attr = None if value is None else splat_of(te.values.get(value, value))
    if attr is None:
        raise StepwellError(
            "found a tensor.pad whose value is computed, expected a constant; pad with 0 and select",
            op=op,
        )
    number = numpy_dtype(attr.type).type(attr.value.data)  # true is -1 in an attribute of i1
    return _defined(graph.PadOp(te.values[op.source], low, high, number), te)


def _splat(op: tensor.SplatOp, te: TeBuilder) -> SSAValue:
    attr = splat_of(te.values[op.input])
    value = te.values[op.input] if attr is None else attr.value.data
    return _filled(te, op.result.type, value)


def _from_elements(op: tensor.FromElementsOp, te: TeBuilder) -> SSAValue:
    """A constant, or one element that is computed."""
    numbers = [splat_of(te.values[value]) for value in op.elements]
    type_ = op.result.type
    if len(numbers) == 1 and numbers[0] is None:
        return _filled(te, type_, te.values[op.elements[0]])
    known = [number.value.data for number in numbers if number is not None]
    if len(known) < len(numbers):
        raise StepwellError(
            "found tensor.from_elements of several values that are computed, expected constants; insert them one by one",
            op=op,
        )
    array = np.array(known, numpy_dtype(type_.get_element_type())).reshape(type_.get_shape())
    return te.insert(arith.ConstantOp(tensor_elements(array))).result


def _generate(op: GenerateOp, te: TeBuilder) -> SSAValue:
    """The body, with its tensors read whole."""
    type_ = op.result.type
    shape = _mixed(op, te, type_.get_shape(), op.dynamic_extents)
    last = op.body.block.last_op
    assert last is not None
    term = last.operands[0]
    sources = extracted([term], te.values)

    def body(
        b: ScalarBuilder, indices: Sequence[SSAValue], elements: Sequence[SSAValue]
    ) -> SSAValue:
        inside = dict(zip((*op.body.block.args, *sources), (*indices, *elements), strict=True))
        return emitted(term, b.builder, inside, te.values)

    result = TensorType(type_.get_element_type(), shape)
    return te.compute(result, [Access(source) for source in sources], body)


TENSOR_CONVERSIONS: dict[type[Operation], Callable[[Any, TeBuilder], SSAValue]] = {
    tensor.EmptyOp: _empty,
    tensor.CastOp: _cast,
    tensor.DimOp: _dim,
    tensor.CollapseShapeOp: _collapse_shape,
    tensor.ExpandShapeOp: _expand_shape,
    tensor.ReshapeOp: _reshape,
    tensor.ExtractSliceOp: _extract_slice,
    tensor.InsertSliceOp: _insert_slice,
    tensor.ConcatOp: _concat,
    tensor.PadOp: _pad,
    tensor.SplatOp: _splat,
    tensor.FromElementsOp: _from_elements,
    GenerateOp: _generate,
}
"""For each operation what makes its result, from values that `TeBuilder.values` has. Raises StepwellError."""
