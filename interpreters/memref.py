"""What `memref` operations mean: NumPy arrays and views of them."""

# The values an evaluator is called with are dynamic, so lambdas over them have no types to infer.
# pyright: reportUnknownLambdaType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from xdsl.dialects import memref
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    DenseIntOrFPElementsAttr,
    DenseResourceAttr,
    MemRefType,
)
from xdsl.interpreter import Interpreter, InterpreterFunctions, PythonValues, impl
from xdsl.ir import Operation

from ..dialects.resources import GLOBAL_VALUE, elements_to_numpy
from ..dialects.upstream.memref import PrefetchOp
from ..errors import StepwellError
from .evaluators import Evaluator, EvaluatorMaker, poisoned, value_dtype, with_evaluators
from .memory import (
    allocate,
    buffer_of,
    element_strides,
    loader,
    memref_type,
    mixed,
    offset_in_buffer,
    out_of_bounds,
    refused_store,
    resolved_shape,
    storer,
    strided,
)


def _alloc(op: memref.AllocOp | memref.AllocaOp) -> Evaluator:
    type_ = memref_type(op.memref.type)
    count = len(op.dynamic_sizes)
    return lambda *sizes: allocate(type_, resolved_shape(type_, sizes[:count], op), op)


def _load(op: memref.LoadOp) -> Evaluator:
    return loader(op, len(op.indices), memref_type(op.memref.type).element_type)


def _store(op: memref.StoreOp) -> Evaluator:
    return storer(op, len(op.indices))


def _keep(op: Operation) -> Evaluator:
    return lambda array: array


def _discard(op: Operation) -> Evaluator:
    return lambda *values: None


def _dim(op: memref.DimOp) -> Evaluator:
    return lambda array, axis: extent(op, array, axis)


def extent(op: Operation, array: np.ndarray, axis: int) -> int:
    """The extent of one axis. Raises StepwellError when the array has no such axis."""
    if not 0 <= axis < array.ndim:
        raise StepwellError(
            f"found '{op.name}' of axis {axis}, expected 0 to {array.ndim - 1}; mend the index",
            op=op,
        )
    return array.shape[axis]


def _rank(op: memref.RankOp) -> Evaluator:
    return lambda array: array.ndim


def _cast(op: memref.CastOp) -> Evaluator:
    type_ = op.dest.type
    if not isinstance(type_, MemRefType):
        return lambda array: array
    expected = memref_type(type_)

    def cast(array: np.ndarray) -> np.ndarray:
        sizes = [array.shape[i] for i, s in enumerate(expected.get_shape()) if s == DYNAMIC_INDEX]
        shape = (
            mixed(expected.get_shape(), sizes, op) if array.ndim == expected.get_num_dims() else ()
        )
        if shape != array.shape:
            raise StepwellError(
                f"found '{op.name}' of a buffer of shape {list(array.shape)} to {expected}, expected the sizes "
                "to agree; mend the type",
                op=op,
            )
        return array

    return cast


def _copy(op: memref.CopyOp) -> Evaluator:
    def copy(source: np.ndarray, destination: np.ndarray) -> None:
        if source.shape != destination.shape:
            raise StepwellError(
                f"found '{op.name}' from shape {list(source.shape)} to {list(destination.shape)}, expected "
                "equal shapes; mend the types",
                op=op,
            )
        if not destination.flags.writeable:
            refused_store(op, (), destination)
        destination[...] = source

    return copy


def _view(op: memref.ViewOp) -> Evaluator:
    type_ = memref_type(op.result.type)
    dtype = value_dtype(type_, op)

    def view(source: np.ndarray, shift: int, *sizes: int) -> np.ndarray:
        shape = resolved_shape(type_, sizes, op)
        count = int(np.prod(shape, dtype=np.int64))
        end = shift + count * dtype.itemsize
        if shift < 0 or end > source.size:
            raise StepwellError(
                f"found '{op.name}' of bytes {shift} to {end} of a buffer of {source.size}, expected it to lie "
                "inside; enlarge the buffer or mend the shift",
                op=op,
            )
        return np.frombuffer(memoryview(cast(Any, source))[shift:end], dtype, count).reshape(shape)

    return view


def _segments(
    op: memref.SubviewOp | memref.ReinterpretCastOp, dynamic: Sequence[int]
) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """Offsets, sizes and strides of an operation that has each partly static, partly as operands."""
    first, second = len(op.offsets), len(op.offsets) + len(op.sizes)
    return (
        mixed(op.static_offsets.get_values(), dynamic[:first], op),
        mixed(op.static_sizes.get_values(), dynamic[first:second], op),
        mixed(op.static_strides.get_values(), dynamic[second:], op),
    )


def _subview(op: memref.SubviewOp) -> Evaluator:
    kept = kept_axes(op.static_sizes.get_values(), memref_type(op.result.type).get_shape())

    def subview(source: np.ndarray, *dynamic: int) -> np.ndarray:
        offsets, sizes, steps = _segments(op, dynamic)
        strides = element_strides(source)
        start = offset_in_buffer(source)
        for axis, (offset, size, step) in enumerate(zip(offsets, sizes, steps, strict=True)):
            last = offset + (size - 1) * step
            if size and not 0 <= last < source.shape[axis]:
                out_of_bounds(op, [*offsets[:axis], last, *offsets[axis + 1 :]], source.shape)
            start += offset * strides[axis] if size else 0
        return strided(
            buffer_of(source),
            start if all(sizes) else 0,
            [sizes[axis] for axis in kept],
            [strides[axis] * steps[axis] for axis in kept],
            op,
        )

    return subview


def kept_axes(static_sizes: Sequence[int], result_shape: Sequence[int]) -> list[int]:
    """
    The axes that stay when a slice of these sizes drops axes of extent 1 to get the result's rank.

    Which of several such axes goes does not matter: they are all of extent 1.
    """
    kept: list[int] = []
    for axis, size in enumerate(static_sizes):
        missing = len(result_shape) - len(kept)
        if missing and (result_shape[len(kept)] == size or missing == len(static_sizes) - axis):
            kept.append(axis)
    return kept


def _reinterpret_cast(op: memref.ReinterpretCastOp) -> Evaluator:
    def reinterpret(source: np.ndarray, *dynamic: int) -> np.ndarray:
        offsets, sizes, strides = _segments(op, dynamic)
        return strided(buffer_of(source), offsets[0], sizes, strides, op)

    return reinterpret


def _collapse_shape(op: memref.CollapseShapeOp) -> Evaluator:
    groups = [[axis.value.data for axis in group.data] for group in op.reassociation.data]

    def collapse(source: np.ndarray) -> np.ndarray:
        shape = [int(np.prod([source.shape[axis] for axis in group])) for group in groups]
        return _reshaped(op, source, shape)

    return collapse


def _expand_shape(op: memref.ExpandShapeOp) -> Evaluator:
    static = op.static_output_shape.get_values()
    return lambda source, *sizes: _reshaped(op, source, mixed(static, sizes, op))


def _reshaped(op: Operation, source: np.ndarray, shape: Sequence[int]) -> np.ndarray:
    result = source.reshape(tuple(shape))
    if result.size and not np.may_share_memory(result, source):
        raise StepwellError(
            f"found '{op.name}' of a buffer with strides {list(element_strides(source))} to shape {list(shape)}, "
            "expected axes that are contiguous; copy the buffer first",
            op=op,
        )
    return result


def _metadata(op: memref.ExtractStridedMetaDataOp) -> Evaluator:
    def metadata(source: np.ndarray) -> tuple[Any, ...]:
        buffer = buffer_of(source).reshape(-1)
        offset = offset_in_buffer(source)
        return buffer[:1].reshape(()), offset, *source.shape, *element_strides(source)

    return metadata


def _aligned_pointer(op: memref.ExtractAlignedPointerAsIndexOp) -> Evaluator:
    return lambda source: buffer_of(source).ctypes.data


EVALUATORS: dict[type[Operation], EvaluatorMaker] = {
    memref.AllocOp: _alloc,
    memref.AllocaOp: _alloc,
    memref.DeallocOp: _discard,
    PrefetchOp: _discard,
    memref.LoadOp: _load,
    memref.StoreOp: _store,
    memref.DimOp: _dim,
    memref.RankOp: _rank,
    memref.CastOp: _cast,
    memref.MemorySpaceCastOp: _keep,
    memref.AssumeAlignmentOp: _keep,
    memref.CopyOp: _copy,
    memref.ViewOp: _view,
    memref.SubviewOp: _subview,
    memref.ReinterpretCastOp: _reinterpret_cast,
    memref.CollapseShapeOp: _collapse_shape,
    memref.ExpandShapeOp: _expand_shape,
    memref.ExtractStridedMetaDataOp: _metadata,
    memref.ExtractAlignedPointerAsIndexOp: _aligned_pointer,
}


@with_evaluators(EVALUATORS, yields=(memref.AllocaScopeReturnOp,))
class MemRefFunctions(InterpreterFunctions):
    """`memref`, but for atomics and DMA."""

    @impl(memref.GlobalOp)
    def run_global(
        self, interpreter: Interpreter, op: memref.GlobalOp, args: PythonValues
    ) -> PythonValues:
        return ()

    @impl(memref.GetGlobalOp)
    def run_get_global(
        self, interpreter: Interpreter, op: memref.GetGlobalOp, args: PythonValues
    ) -> PythonValues:
        name = op.name_.string_value()
        return (interpreter.get_data(MemRefFunctions, name, lambda: _global(interpreter, op)),)

    @impl(memref.AllocaScopeOp)
    def run_alloca_scope(
        self, interpreter: Interpreter, op: memref.AllocaScopeOp, args: PythonValues
    ) -> PythonValues:
        return interpreter.run_ssacfg_region(op.scope, (), "alloca_scope")


def _global(interpreter: Interpreter, op: memref.GetGlobalOp) -> np.ndarray:
    """The memory of a global; one array for as long as the interpreter lives."""
    definition = interpreter.get_op_for_symbol(op.name_)
    if not isinstance(definition, memref.GlobalOp):
        raise StepwellError(
            f"found '{op.name_.string_value()}', a {definition.name}, expected a memref.global; name one",
            op=op,
        )
    type_ = memref_type(definition.type)
    initial = definition.attributes.get(GLOBAL_VALUE, definition.initial_value)
    if not isinstance(initial, DenseIntOrFPElementsAttr | DenseResourceAttr):
        return poisoned(resolved_shape(type_, (), op), value_dtype(type_, op))
    memory = np.array(elements_to_numpy(initial), order="C")
    memory.setflags(write=definition.constant is None)
    return memory
