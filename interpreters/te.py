"""
What `te` operations mean: the whole iteration space of a compute at once, by NumPy.

Every iterator becomes an array of its values that varies along its own axis only; reads gather through
their maps, the body runs once on arrays, and the reduction axes are joined.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.interpreter import Interpreter, InterpreterFunctions, PythonValues, impl
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineMap

from ..dialects import te
from ..dialects.combiner import Combiner
from ..dialects.dtypes import is_float_dtype
from ..errors import StepwellError
from .affine import compile_map, selected_dims
from .arith import constant_value
from .evaluators import element_of, poisoned, value_dtype, with_evaluators
from .memory import resolved_shape
from .tensor import gather

CHUNK_POINTS = 1 << 24
"""Points of an iteration space evaluated at a time; larger ones are cut along their first parallel axis."""


@with_evaluators({}, yields=(te.YieldOp,))
class TeFunctions(InterpreterFunctions):
    """Every operation of `te`."""

    @impl(te.KernelOp)
    def run_kernel(
        self, interpreter: Interpreter, op: te.KernelOp, args: PythonValues
    ) -> PythonValues:
        inputs, destinations = args[: len(op.inputs)], args[len(op.inputs) :]
        results = interpreter.run_ssacfg_region(op.body, inputs, op.kernel_name.data)
        if not destinations:
            return results
        # The body sees what was there before: a result that is an input must not change under the first write.
        values = [np.array(result) for result in results]
        for destination, value in zip(destinations, values, strict=True):
            destination[...] = value
        return ()

    @impl(te.LoopsOp)
    def run_loops(
        self, interpreter: Interpreter, op: te.LoopsOp, args: PythonValues
    ) -> PythonValues:
        sources, starts = args[: len(op.sources)], args[len(op.sources) :]
        fresh = [
            poisoned(resolved_shape(result.type, (), op), value_dtype(result.type, op))
            for result in op.outputs[len(starts) :]
        ]
        results = [*(np.array(start) for start in starts), *fresh]
        interpreter.run_ssacfg_region(op.body, (*sources, *results), op.loops_name.data)
        return tuple(results)

    @impl(te.ComputeOp)
    def run_compute(
        self, interpreter: Interpreter, op: te.ComputeOp, args: PythonValues
    ) -> PythonValues:
        sources = args[: len(op.sources)]
        dynamic = iter(args[len(op.sources) :])
        extents = [
            int(next(dynamic)) if extent == DYNAMIC_INDEX else extent
            for extent in op.static_extents
        ]
        if any(extent < 0 for extent in extents):
            raise StepwellError(
                f"found the extents {extents} in 'te.compute', expected none below 0; mend the values",
                op=op,
            )
        parallel = op.num_parallel.value.data
        points = int(np.prod(extents, dtype=np.float64))
        if points <= CHUNK_POINTS or not parallel:
            return _evaluate(interpreter, op, sources, extents, 0)
        size = max(1, extents[0] * CHUNK_POINTS // points)
        chunks = [
            _evaluate(interpreter, op, sources, [min(size, extents[0] - low), *extents[1:]], low)
            for low in range(0, extents[0], size)
        ]
        return tuple(np.concatenate(parts) for parts in zip(*chunks, strict=True))


def _evaluate(
    interpreter: Interpreter,
    op: te.ComputeOp,
    sources: Sequence[np.ndarray],
    extents: Sequence[int],
    first: int,
) -> tuple[np.ndarray, ...]:
    """The elements of each result for the first iterator from `first` on, `extents[0]` of them."""
    combiners = op.combiners or (None,) * len(op.outputs)
    if 0 in extents:
        shape = extents[: op.num_parallel.value.data]
        pairs = zip(op.outputs, combiners, strict=True)
        return tuple(
            np.full(shape, _identity(op, result, combiner), value_dtype(result.type, op))
            for result, combiner in pairs
        )
    grids = _grids(extents, first)
    reads = [
        source if read.map is None else _read(op, source, read, read.map, grids, extents)
        for source, read in zip(sources, op.reads, strict=True)
    ]
    yielded = interpreter.run_ssacfg_region(op.body, (*grids, *reads), "te.compute")
    values = iter(np.broadcast_to(np.asarray(value), extents) for value in yielded)
    axes = tuple(range(op.num_parallel.value.data, len(extents)))
    return tuple(
        np.asarray(_joined(combiner, values, axes), value_dtype(result.type, op))
        for result, combiner in zip(op.outputs, combiners, strict=True)
    )


def _joined(combiner: Combiner | None, values: Iterator[np.ndarray], axes: tuple[int, ...]) -> Any:
    """One result from the next of the yielded values."""
    if combiner is None:
        return np.array(next(values))
    if combiner.is_arg:
        return _arg_reduce(combiner, next(values), next(values), axes)
    return _reduce(combiner, next(values), axes)


def _grids(extents: Sequence[int], first: int) -> list[np.ndarray]:
    """The values of each iterator, as an array of the space's rank that varies along its axis."""
    grids: list[np.ndarray] = []
    for axis, extent in enumerate(extents):
        shape = [1] * len(extents)
        shape[axis] = extent
        values = np.arange(extent, dtype=np.int64) + (first if axis == 0 else 0)
        grids.append(values.reshape(shape))
    return grids


def _read(
    op: te.ComputeOp,
    source: np.ndarray,
    read: te.Read,
    map_: AffineMap,
    grids: Sequence[np.ndarray],
    extents: Sequence[int],
) -> Any:
    """The elements a read sees, broadcastable to the iteration space."""
    dims = selected_dims(map_.results)
    if dims is not None and all(
        extents[dim] == source.shape[axis] and grids[dim].flat[0] == 0
        for axis, dim in enumerate(dims)
    ):
        return _spread_axes(source, dims, len(extents))
    index = compile_map(map_)(*grids)
    if read.pad is None:
        return gather(op, source, index)
    inside: Any = np.True_
    for positions, size in zip(index, source.shape, strict=True):
        inside = inside & (positions >= 0) & (positions < size)
    pad = constant_value(read.pad, op)
    if not np.any(inside):
        return np.full(np.shape(inside), pad, source.dtype)
    clipped = [
        np.clip(positions, 0, size - 1) for positions, size in zip(index, source.shape, strict=True)
    ]
    return np.where(inside, source[tuple(clipped)], pad).astype(source.dtype, copy=False)


def _spread_axes(source: np.ndarray, dims: tuple[int, ...], rank: int) -> np.ndarray:
    """A view whose axis `dims[i]` is axis i of the source, all others of extent 1."""
    order = sorted(range(len(dims)), key=lambda axis: dims[axis])
    shape = [1] * rank
    for axis in order:
        shape[dims[axis]] = source.shape[axis]
    return source.transpose(order).reshape(shape)


# region: reductions


def _identity(op: te.ComputeOp, result: SSAValue, combiner: Combiner | None) -> Any:
    """What an empty reduction gives; an empty arg-reduction gives index 0."""
    if combiner is None or combiner.is_arg:
        return 0
    return constant_value(combiner.identity(element_of(result.type)), op)


def _reduce(combiner: Combiner, values: np.ndarray, axes: tuple[int, ...]) -> Any:
    """
    The values joined over the axes. Float sums are taken in double precision and rounded once: the
    order of a sum is not part of what the operation means.
    """
    dtype = values.dtype
    is_bool = dtype == np.bool_
    match combiner:
        case Combiner.ADD if is_bool:
            return (
                np.logical_xor.reduce(values, axis=axes)
                if len(axes) == 1
                else _parity(values, axes)
            )
        case Combiner.ADD:
            return np.add.reduce(values, axis=axes, dtype=_accumulator(dtype)).astype(dtype)
        case Combiner.MUL if is_bool:
            return np.logical_and.reduce(values, axis=axes)
        case Combiner.MUL:
            return np.multiply.reduce(values, axis=axes, dtype=_accumulator(dtype)).astype(dtype)
        case Combiner.AND:
            return np.bitwise_and.reduce(values, axis=axes)
        case Combiner.OR:
            return np.bitwise_or.reduce(values, axis=axes)
        case _:
            return _extreme(combiner, values, axes)


def _accumulator(dtype: np.dtype) -> np.dtype:
    return np.dtype(np.float64) if is_float_dtype(dtype) else dtype


def _parity(values: np.ndarray, axes: tuple[int, ...]) -> Any:
    return np.add.reduce(values, axis=axes, dtype=np.int64) % 2 == 1


def _extreme(combiner: Combiner, values: np.ndarray, axes: tuple[int, ...]) -> Any:
    greatest = combiner in (Combiner.MAX, Combiner.UMAX)
    ufunc = np.maximum if greatest else np.minimum
    if combiner is Combiner.MAXNUM:
        values, greatest, ufunc = (
            np.where(np.isnan(values), -np.inf, values).astype(values.dtype),
            True,
            np.maximum,
        )
    if is_float_dtype(values.dtype):
        return _signed_zeros(ufunc.reduce(values, axis=axes), values, axes, greatest)
    unsigned = combiner in (Combiner.UMAX, Combiner.UMIN)
    if values.dtype == np.bool_:
        # The signed values of an i1 are 0 and -1.
        ufunc = np.logical_or if greatest == unsigned else np.logical_and
        return ufunc.reduce(values, axis=axes)
    if not unsigned:
        return ufunc.reduce(values, axis=axes)
    # (a fresh scalar is returned when every axis is reduced)
    reduced = ufunc.reduce(values.view(f"u{values.itemsize}"), axis=axes)
    return reduced.view(values.dtype)


def _signed_zeros(result: Any, values: np.ndarray, axes: tuple[int, ...], greatest: bool) -> Any:
    """0 is above -0, which NumPy leaves open."""
    if not np.any(result == 0):
        return result
    wanted = (values == 0) & (np.signbit(values) != greatest)
    sign = np.where(np.any(wanted, axis=axes) == greatest, 1, -1)
    return np.where(result == 0, np.copysign(np.zeros((), values.dtype), sign), result)


def _arg_reduce(
    combiner: Combiner, values: np.ndarray, indices: np.ndarray, axes: tuple[int, ...]
) -> Any:
    """The smallest index of an extreme value; NaN is more extreme than any number."""
    ufunc = np.maximum if combiner is Combiner.ARGMAX else np.minimum
    if values.dtype == np.bool_:
        values = -values.astype(np.int8)  # as signed numbers
    best = ufunc.reduce(values, axis=axes, keepdims=True)
    extreme = (values == best) | ((values != values) & (best != best))
    last = np.iinfo(indices.dtype).max
    return np.min(np.where(extreme, indices, last), axis=axes)


# endregion
