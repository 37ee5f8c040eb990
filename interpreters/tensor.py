"""What `tensor` operations mean: NumPy arrays as values, never changed in place."""

# The values an evaluator is called with are dynamic, so lambdas over them have no types to infer.
# pyright: reportUnknownLambdaType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.dialects import tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType
from xdsl.interpreter import InterpreterFunctions
from xdsl.ir import Operation, SSAValue

from ..errors import StepwellError
from .evaluators import Evaluator, EvaluatorMaker, poisoned, value_dtype, with_evaluators
from .memory import loader, mixed, out_of_bounds
from .memref import extent, kept_axes


def _type(value: SSAValue) -> TensorType[Any]:
    assert isinstance(value.type, TensorType)
    return value.type


def _extract(op: tensor.ExtractOp) -> Evaluator:
    """One element; with arrays of indices (in the body of a te.compute), an element for each."""
    load = loader(op, len(op.indices), _type(op.tensor).get_element_type())

    def extract(source: np.ndarray, *index: Any) -> Any:
        if any(type(i) is np.ndarray for i in index):
            return gather(op, source, index)
        return load(source, *index)

    return extract


def gather(op: Operation, source: np.ndarray, index: Sequence[Any]) -> np.ndarray:
    """`source[index]` for arrays of indices, all of which must be inside."""
    for axis, (positions, size) in enumerate(zip(index, source.shape, strict=True)):
        found = np.asarray(positions)
        wrong = (found < 0) | (found >= size)
        if wrong.any():
            bad: list[Any] = [0] * source.ndim
            bad[axis] = found[wrong].flat[0]
            out_of_bounds(op, bad, source.shape)
    return source[tuple(index)]


def _insert(op: tensor.InsertOp) -> Evaluator:
    def insert(value: Any, destination: np.ndarray, *index: int) -> np.ndarray:
        if any(not 0 <= i < size for i, size in zip(index, destination.shape, strict=True)):
            out_of_bounds(op, index, destination.shape)
        result = destination.copy()
        result[index] = value
        return result

    return insert


def _empty(op: tensor.EmptyOp) -> Evaluator:
    type_ = _type(op.tensor)
    dtype = value_dtype(type_, op)
    return lambda *sizes: poisoned(mixed(type_.get_shape(), sizes, op), dtype)


def _dim(op: tensor.DimOp) -> Evaluator:
    return lambda array, axis: extent(op, array, axis)


def _cast(op: tensor.CastOp) -> Evaluator:
    expected = op.dest.type

    def cast(array: np.ndarray) -> np.ndarray:
        shape = (
            expected.get_shape()
            if isinstance(expected, TensorType)
            else (DYNAMIC_INDEX,) * array.ndim
        )
        if len(shape) != array.ndim or any(
            size not in (DYNAMIC_INDEX, found)
            for size, found in zip(shape, array.shape, strict=True)
        ):
            raise StepwellError(
                f"found '{op.name}' of a tensor of shape {list(array.shape)} to {expected}, expected the sizes "
                "to agree; mend the type",
                op=op,
            )
        return array

    return cast


def _from_elements(op: tensor.FromElementsOp) -> Evaluator:
    type_ = _type(op.result)
    dtype = value_dtype(type_, op)
    return lambda *values: np.array(values, dtype).reshape(type_.get_shape())


def _splat(op: tensor.SplatOp) -> Evaluator:
    type_ = _type(op.result)
    dtype = value_dtype(type_, op)
    return lambda value, *sizes: np.full(mixed(type_.get_shape(), sizes, op), value, dtype)


def _collapse_shape(op: tensor.CollapseShapeOp) -> Evaluator:
    groups = [[axis.value.data for axis in group.data] for group in op.reassociation.data]
    return lambda array: array.reshape(
        [int(np.prod([array.shape[axis] for axis in group])) for group in groups]
    )


def _expand_shape(op: tensor.ExpandShapeOp) -> Evaluator:
    static = op.static_output_shape.get_values()
    return lambda array, *sizes: array.reshape(mixed(static, sizes, op))


def _reshape(op: tensor.ReshapeOp) -> Evaluator:
    return lambda array, shape: array.reshape(tuple(int(size) for size in shape))


def _concat(op: tensor.ConcatOp) -> Evaluator:
    axis = op.dim.value.data
    return lambda *arrays: np.concatenate(arrays, axis)


def _slices(
    op: tensor.ExtractSliceOp | tensor.InsertSliceOp,
    dynamic: Sequence[int],
    shape: Sequence[int],
) -> tuple[tuple[slice, ...], tuple[int, ...]]:
    """The slices of every axis of a tensor of this shape, and the sizes."""
    first, second = len(op.offsets), len(op.offsets) + len(op.sizes)
    offsets = mixed(op.static_offsets.get_values(), dynamic[:first], op)
    sizes = mixed(op.static_sizes.get_values(), dynamic[first:second], op)
    steps = mixed(op.static_strides.get_values(), dynamic[second:], op)
    slices: list[slice] = []
    for axis, (offset, size, step) in enumerate(zip(offsets, sizes, steps, strict=True)):
        last = offset + (size - 1) * step
        if size and last >= shape[axis]:
            out_of_bounds(op, [*offsets[:axis], last, *offsets[axis + 1 :]], shape)
        slices.append(slice(offset, last + 1 if size else offset, max(step, 1)))
    return tuple(slices), sizes


def _extract_slice(op: tensor.ExtractSliceOp) -> Evaluator:
    kept = kept_axes(op.static_sizes.get_values(), _type(op.result).get_shape())

    def extract_slice(source: np.ndarray, *dynamic: int) -> np.ndarray:
        slices, sizes = _slices(op, dynamic, source.shape)
        return source[slices].reshape([sizes[axis] for axis in kept])

    return extract_slice


def _insert_slice(op: tensor.InsertSliceOp) -> Evaluator:
    def insert_slice(source: np.ndarray, destination: np.ndarray, *dynamic: int) -> np.ndarray:
        slices, sizes = _slices(op, dynamic, destination.shape)
        result = destination.copy()
        result[slices] = source.reshape(sizes)
        return result

    return insert_slice


EVALUATORS: dict[type[Operation], EvaluatorMaker] = {
    tensor.CastOp: _cast,
    tensor.CollapseShapeOp: _collapse_shape,
    tensor.ConcatOp: _concat,
    tensor.DimOp: _dim,
    tensor.EmptyOp: _empty,
    tensor.ExpandShapeOp: _expand_shape,
    tensor.ExtractOp: _extract,
    tensor.ExtractSliceOp: _extract_slice,
    tensor.FromElementsOp: _from_elements,
    tensor.InsertOp: _insert,
    tensor.InsertSliceOp: _insert_slice,
    tensor.ReshapeOp: _reshape,
    tensor.SplatOp: _splat,
}


@with_evaluators(EVALUATORS)
class TensorFunctions(InterpreterFunctions):
    """`tensor`, but for `tensor.pad`."""
