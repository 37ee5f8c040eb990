"""
Operators of random numbers, by the generator of `numpy.random`. Without a seed they take 0: a model gives the same
numbers at each call, and on every machine.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..numpy import random
from .registry import Value, onnx_op
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
