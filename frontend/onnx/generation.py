"""Operators that make tensors: constants, ranges, one-hot and identity matrices."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..numpy import elementwise, manipulation
from .indices import counting, counting_along
from .registry import Unsupported, Value, integers, known, onnx_op
from .tensors import required_dtype


@onnx_op("Constant")
def constant(
    *,
    value: np.ndarray | None = None,
    value_float: float | None = None,
    value_floats: Sequence[float] | None = None,
    value_int: int | None = None,
    value_ints: Sequence[int] | None = None,
) -> Value:
    if value is not None:
        return value
    if value_float is not None or value_floats is not None:
        return np.asarray(value_floats if value_float is None else value_float, np.float32)
    if value_int is not None or value_ints is not None:
        return np.asarray(value_ints if value_int is None else value_int, np.int64)
    raise Unsupported("a constant without a value of numbers")


@onnx_op("ConstantOfShape")
def constant_of_shape(shape: Value, *, value: np.ndarray | None = None) -> Value:
    number = np.zeros((), np.float32) if value is None else value.reshape(())
    return manipulation.broadcast_to(number, integers(shape, "the shape"))


@onnx_op("Range")
def range_(start: Value, limit: Value, delta: Value) -> Value:
    """From `start`, by `delta`, up to and without `limit`; it is as long as ONNX's formula says."""
    first, last, step = (
        known(value, what).reshape(())[()]
        for value, what in ((start, "the start"), (limit, "the limit"), (delta, "the step"))
    )
    dtype = start.dtype
    wide = np.float64 if dtype.kind not in "iu" else np.int64
    count = max(int(np.ceil((np.float64(last) - np.float64(first)) / np.float64(step))), 0)
    steps = manipulation.astype(counting(count), wide)
    return manipulation.astype(
        elementwise.add(elementwise.multiply(steps, wide(step)), wide(first)), dtype
    )


@onnx_op("EyeLike")
def eye_like(x: Value, *, dtype: int | None = None, k: int = 0) -> Value:
    rows, columns = (counting_along(axis, x.shape[axis], 2) for axis in (0, 1))
    element = x.dtype if dtype is None else required_dtype(dtype, "an identity matrix")
    return manipulation.astype(elementwise.equal(elementwise.add(rows, k), columns), element)
