"""
Operators of random numbers, by the generator of `numpy.random`. Without a seed they take 0: a model gives the same
numbers at each call, and on every machine.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..numpy import elementwise, manipulation, random
from .registry import Unsupported, Value, known, onnx_op
from .tensors import required_dtype


def _seed(seed: float) -> int:
    """The bits of a seed, which ONNX has as a float."""
    return struct.unpack("<I", struct.pack("<f", seed))[0]


def _dtype(dtype: int | None, x: Value = None) -> Any:
    if dtype is not None:
        return required_dtype(dtype, "random numbers")
    return np.float32 if x is None else x.dtype


@onnx_op("RandomUniform")
def random_uniform(
    *, shape: Sequence[int], low: float = 0, high: float = 1, seed: float = 0, dtype: int = 1
) -> Value:
    return random.random_uniform(_seed(seed), shape, low, high, dtype=_dtype(dtype))


@onnx_op("RandomUniformLike")
def random_uniform_like(
    x: Value, *, low: float = 0, high: float = 1, seed: float = 0, dtype: int | None = None
) -> Value:
    return random.random_uniform(_seed(seed), tuple(x.shape), low, high, dtype=_dtype(dtype, x))


@onnx_op("RandomNormal")
def random_normal(
    *, shape: Sequence[int], mean: float = 0, scale: float = 1, seed: float = 0, dtype: int = 1
) -> Value:
    return random.random_normal(_seed(seed), shape, mean, scale, dtype=_dtype(dtype))


@onnx_op("RandomNormalLike")
def random_normal_like(
    x: Value, *, mean: float = 0, scale: float = 1, seed: float = 0, dtype: int | None = None
) -> Value:
    return random.random_normal(_seed(seed), tuple(x.shape), mean, scale, dtype=_dtype(dtype, x))


@onnx_op("Bernoulli")
def bernoulli(x: Value, *, seed: float = 0, dtype: int | None = None) -> Value:
    return random.bernoulli(x, _seed(seed), dtype=_dtype(dtype, x))


@onnx_op("Multinomial")
def multinomial(x: Value, *, sample_size: int = 1, seed: float = 0, dtype: int = 6) -> Value:
    return random.multinomial(x, _seed(seed), sample_size, dtype=_dtype(dtype))


@onnx_op("Dropout", since=12)
def dropout(
    x: Value,
    ratio: Value = None,
    training_mode: Value = None,
    *,
    seed: int = 0,
) -> tuple[Value, Value]:
    """
    The input as it is, as in inference, and a mask that keeps everything; in training what is kept, by the generator of
    `numpy.random`, is as much greater as there is less of it.
    """
    is_training = training_mode is not None and bool(known(training_mode, "training_mode"))
    dropped = 0.5 if ratio is None else float(known(ratio, "ratio").reshape(()))
    if not is_training or dropped == 0:
        return x, manipulation.broadcast_to(np.bool_(True), x.shape)
    kept = elementwise.greater_equal(
        random.random_uniform(seed, tuple(x.shape)), np.float32(dropped)
    )
    factor = np.asarray(1 / (1 - dropped) if dropped < 1 else 0).astype(x.dtype)
    return elementwise.where(kept, elementwise.multiply(x, factor), np.zeros((), x.dtype)), kept


@onnx_op("Dropout")
def dropout_by_attribute(
    x: Value, *, ratio: float = 0.5, is_test: int = 1, consumed_inputs: Any = None
) -> tuple[Value, Value]:
    """Before version 12, in inference; `is_test` says so of those before version 7."""
    if not is_test:
        raise Unsupported("is_test=0")
    return x, manipulation.broadcast_to(np.bool_(True), x.shape)
