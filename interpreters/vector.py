"""What `vector` operations mean: arrays as values, copied out of and into buffers."""

# The values an evaluator is called with are dynamic, so lambdas over them have no types to infer.
# pyright: reportUnknownLambdaType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from xdsl.dialects import vector
from xdsl.dialects.builtin import VectorType
from xdsl.dialects.vector import CombiningKindFlag
from xdsl.interpreter import InterpreterFunctions
from xdsl.ir import Attribute, Operation, SSAValue

from ..dialects.dtypes import is_float_dtype
from .affine import compile_map
from .arith import integer_evaluator, maximumf, minimumf, number_or_other
from .evaluators import Evaluator, EvaluatorMaker, integer_info, value_dtype, with_evaluators
from .math import fma
from .memory import mixed, out_of_bounds, refused_store


def _type(value: SSAValue) -> VectorType[Attribute]:
    assert isinstance(value.type, VectorType)
    return cast("VectorType[Attribute]", value.type)


def _window(
    op: Operation, array: np.ndarray, index: Sequence[int], shape: Sequence[int]
) -> tuple[Any, ...]:
    """Where a vector of this shape lies in the trailing axes of a buffer, from `index` on."""
    if len(shape) == 1 and len(index) == array.ndim:
        first, end = index[-1], index[-1] + shape[0]
        if min(index) >= 0 and end <= array.shape[-1]:
            # NumPy checks the other indices.
            return (*index[:-1], slice(first, end))
    leading = array.ndim - len(shape)
    last = [*index[:leading], *(i + n - 1 for i, n in zip(index[leading:], shape, strict=True))]
    for corner in (index, last):
        if any(not 0 <= i < size for i, size in zip(corner, array.shape, strict=True)):
            out_of_bounds(op, corner, array.shape)
    slices = (slice(i, i + n) for i, n in zip(index[leading:], shape, strict=True))
    return (*index[:leading], *slices)


def _load(op: vector.LoadOp) -> Evaluator:
    shape = _type(op.result).get_shape()

    def load(array: np.ndarray, *index: int) -> np.ndarray:
        try:
            return array[_window(op, array, index, shape)].copy()
        except IndexError:
            out_of_bounds(op, index, array.shape)

    return load


def _store(op: vector.StoreOp) -> Evaluator:
    shape = _type(op.vector).get_shape()

    def store(value: np.ndarray, array: np.ndarray, *index: int) -> None:
        window = _window(op, array, index, shape)
        if not array.flags.writeable:
            refused_store(op, index, array)
        try:
            array[window] = value
        except IndexError:
            out_of_bounds(op, index, array.shape)

    return store


def _lanes(
    op: Operation, array: np.ndarray, index: Sequence[int], mask: np.ndarray
) -> tuple[Any, ...]:
    """The positions of the lanes that are on: only those must lie inside the buffer."""
    lanes = np.flatnonzero(mask)
    for lane in lanes[:1], lanes[-1:]:
        if lane.size:
            _window(op, array, [*index[:-1], index[-1] + int(lane[0])], (1,))
    return (*index[:-1], index[-1] + lanes)


def _masked_load(op: vector.MaskedLoadOp) -> Evaluator:
    def load(array: np.ndarray, *rest: Any) -> np.ndarray:
        *index, mask, otherwise = rest
        result = otherwise.copy()
        if mask.any():
            result[mask] = array[_lanes(op, array, index, mask)]
        return result

    return load


def _masked_store(op: vector.MaskedStoreOp) -> Evaluator:
    def store(array: np.ndarray, *rest: Any) -> None:
        *index, mask, value = rest
        if not array.flags.writeable:
            refused_store(op, index, array)
        if mask.any():
            array[_lanes(op, array, index, mask)] = value[mask]

    return store


def _transfer_positions(
    op: vector.TransferReadOp | vector.TransferWriteOp,
    array: np.ndarray,
    index: Sequence[int],
    shape: Sequence[int],
) -> tuple[tuple[Any, ...], np.ndarray]:
    """For each lane its position in the buffer (clipped to it), and whether it lies inside."""
    lanes = np.indices(shape)
    permutation = compile_map(op.permutation_map.data)
    axes = permutation(*range(array.ndim))
    constant = [not expr.used_dims() for expr in op.permutation_map.data.results]
    positions: list[Any] = [np.full(shape, i) for i in index]
    for lane, axis, broadcast in zip(lanes, axes, constant, strict=True):
        if not broadcast:
            positions[axis] = positions[axis] + lane
    inside = np.ones(shape, np.bool_)
    for position, size in zip(positions, array.shape, strict=True):
        inside &= (position >= 0) & (position < size)
    promised = [axis.value.data != 0 for axis in op.in_bounds]
    if promised and all(promised) and not inside.all():
        out_of_bounds(op, index, array.shape)
    clipped = tuple(
        np.clip(position, 0, max(size - 1, 0))
        for position, size in zip(positions, array.shape, strict=True)
    )
    return clipped, inside


def _transfer_read(op: vector.TransferReadOp) -> Evaluator:
    rank = len(op.indices)
    shape = _type(op.result).get_shape()

    def read(array: np.ndarray, *rest: Any) -> np.ndarray:
        padding = rest[rank]
        positions, inside = _transfer_positions(op, array, rest[:rank], shape)
        if len(rest) > rank + 1:
            inside = inside & rest[rank + 1]
        if not inside.any():
            return np.full(shape, padding, array.dtype)
        return np.where(inside, array[positions], padding).astype(array.dtype)

    return read


def _transfer_write(op: vector.TransferWriteOp) -> Evaluator:
    rank = len(op.indices)
    on_tensor = op.result is not None

    def write(value: np.ndarray, array: np.ndarray, *rest: Any) -> np.ndarray | None:
        positions, inside = _transfer_positions(op, array, rest[:rank], value.shape)
        if len(rest) > rank:
            inside = inside & rest[rank]
        target = array.copy() if on_tensor else array
        if not target.flags.writeable:
            refused_store(op, rest[:rank], array)
        target[tuple(position[inside] for position in positions)] = value[inside]
        return target if on_tensor else None

    return write


def _broadcast(op: vector.BroadcastOp) -> Evaluator:
    type_ = _type(op.vector)
    shape, dtype = type_.get_shape(), value_dtype(type_, op)
    return lambda value: np.full(shape, value, dtype)


def _fma(op: vector.FMAOp) -> Evaluator:
    return fma(value_dtype(op.res.type, op))


def _shuffle(op: vector.ShuffleOp) -> Evaluator:
    chosen = np.array(op.mask.get_values(), np.int64)
    return lambda a, b: np.concatenate([np.atleast_1d(a), np.atleast_1d(b)])[chosen]


def _create_mask(op: vector.CreateMaskOp) -> Evaluator:
    shape = _type(op.mask_vector).get_shape()

    def create(*sizes: int) -> np.ndarray:
        mask = np.zeros(shape, np.bool_)
        mask[tuple(slice(0, max(size, 0)) for size in sizes)] = True
        return mask

    return create


def _position(
    op: vector.ExtractOp | vector.InsertOp, dynamic: Sequence[int], shape: Sequence[int]
) -> tuple[int, ...]:
    position = mixed(op.static_position.get_values(), dynamic, op)
    if any(i >= size for i, size in zip(position, shape, strict=False)):
        out_of_bounds(op, position, shape)
    return position


def _extract(op: vector.ExtractOp) -> Evaluator:
    return lambda array, *dynamic: array[_position(op, dynamic, array.shape)]


def _insert(op: vector.InsertOp) -> Evaluator:
    def insert(value: Any, array: np.ndarray, *dynamic: int) -> np.ndarray:
        result = array.copy()
        result[_position(op, dynamic, array.shape)] = value
        return result

    return insert


def _bitcast(op: vector.BitcastOp) -> Evaluator:
    dtype = value_dtype(op.result.type, op)
    return lambda array: np.ascontiguousarray(array).view(dtype)


# region: reductions


def _joiner(op: vector.ReductionOp) -> Evaluator:
    """The operation that joins two elements of a reduction."""
    Kind = CombiningKindFlag
    type_ = op.dest.type
    kind = op.kind.data
    on_floats: dict[CombiningKindFlag, Evaluator] = {
        Kind.MAXIMUMF: maximumf,
        Kind.MINIMUMF: minimumf,
        Kind.MAXNUMF: number_or_other(maximumf),
        Kind.MINNUMF: number_or_other(minimumf),
        Kind.ADD: lambda a, b: a + b,
        Kind.MUL: lambda a, b: a * b,
    }
    if is_float_dtype(value_dtype(type_, op)):
        return on_floats[kind]
    on_integers: dict[CombiningKindFlag, tuple[Any, bool]] = {
        Kind.ADD: (lambda a, b: a + b, False),
        Kind.MUL: (lambda a, b: a * b, False),
        Kind.MINSI: (min, False),
        Kind.MAXSI: (max, False),
        Kind.MINUI: (min, True),
        Kind.MAXUI: (max, True),
        Kind.AND: (lambda a, b: a & b, False),
        Kind.OR: (lambda a, b: a | b, False),
        Kind.XOR: (lambda a, b: a ^ b, False),
    }
    on_ints, unsigned = on_integers[kind]
    return integer_evaluator(integer_info(type_, op), on_ints, on_ints, unsigned=unsigned)


def _reduction(op: vector.ReductionOp) -> Evaluator:
    """Lanes are joined from the first to the last, after the accumulator."""
    join = _joiner(op)

    def reduce(array: np.ndarray, *accumulator: Any) -> Any:
        values = [*accumulator, *array.reshape(-1)]
        result = values[0]
        for value in values[1:]:
            result = join(result, value)
        return result

    return reduce


# endregion

EVALUATORS: dict[type[Operation], EvaluatorMaker] = {
    vector.BitcastOp: _bitcast,
    vector.BroadcastOp: _broadcast,
    vector.CreateMaskOp: _create_mask,
    vector.ExtractOp: _extract,
    vector.FMAOp: _fma,
    vector.InsertOp: _insert,
    vector.LoadOp: _load,
    vector.MaskedLoadOp: _masked_load,
    vector.MaskedStoreOp: _masked_store,
    vector.ReductionOp: _reduction,
    vector.ShuffleOp: _shuffle,
    vector.StoreOp: _store,
    vector.TransferReadOp: _transfer_read,
    vector.TransferWriteOp: _transfer_write,
}


@with_evaluators(EVALUATORS)
class VectorFunctions(InterpreterFunctions):
    """`vector`, but for printing."""
