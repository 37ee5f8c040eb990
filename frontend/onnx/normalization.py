"""Softmax and its kin, and normalization by statistics: batch, instance, layer, group, RMS, local response."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np
from onnx import TensorProto

from .. import array_functions as arrays
from .. import functions as f
from .movement import axis_of
from .reductions import flattened
from .registry import Unsupported, Value, onnx_op
from .tensors import required_dtype


@onnx_op("Softmax", since=13)
def softmax(x: Value, *, axis: int = -1) -> Value:
    return f.softmax(x, axis)


@onnx_op("Softmax")
def softmax_flattened(x: Value, *, axis: int = 1) -> Value:
    return flattened(softmax, x, axis)


@onnx_op("LogSoftmax", since=13)
def log_softmax(x: Value, *, axis: int = -1) -> Value:
    return f.log_softmax(x, axis)


@onnx_op("LogSoftmax")
def log_softmax_flattened(x: Value, *, axis: int = 1) -> Value:
    return flattened(log_softmax, x, axis)


def statistics(x: Value, axes: Sequence[int]) -> tuple[Value, Value]:
    """The mean and the variance along axes, which are kept."""
    mean = f.mean(x, axes, keepdims=True)
    return mean, f.mean(f.square(f.subtract(x, mean)), axes, keepdims=True)


def inverse_root(variance: Value, epsilon: float) -> Value:
    return f.rsqrt(f.add(variance, np.asarray(epsilon).astype(variance.dtype)))


def along_channels(x: Value, rank: int) -> Value:
    """A vector with an element for each channel, for tensors of this rank whose second axis is that of channels."""
    return arrays.reshape(x, (-1, *[1] * (rank - 2)))


@onnx_op("BatchNormalization")
def batch_normalization(
    x: Value,
    scale: Value,
    bias: Value,
    mean: Value,
    variance: Value,
    *,
    epsilon: float = 1e-5,
    momentum: float = 0.9,
    training_mode: int = 0,
    spatial: int = 1,
    is_test: int = 0,
) -> Any:
    """
    (x - mean) / sqrt(variance + epsilon) · scale + bias for each channel. In training the statistics are those of
    `x`, and the running ones are given as well.
    """
    if not spatial:
        raise Unsupported("spatial=0")
    rank = len(x.shape)
    running: list[Value] = []
    if training_mode:
        now = statistics(arrays.astype(x, mean.dtype), [axis for axis in range(rank) if axis != 1])
        for old, new in zip((mean, variance), now, strict=True):
            kept = f.multiply(old, momentum)
            running.append(f.add(kept, f.multiply(arrays.reshape(new, old.shape), 1 - momentum)))
        mean, variance = (arrays.reshape(one, (-1,)) for one in now)
    # One factor and one summand for each channel: of constants they are computed once.
    factor = f.multiply(scale, inverse_root(variance, epsilon))
    summand = f.subtract(bias, f.multiply(mean, factor))
    factor, summand = (
        along_channels(arrays.astype(one, x.dtype), rank) for one in (factor, summand)
    )
    return [f.add(f.multiply(x, factor), summand), *running]


@onnx_op("InstanceNormalization")
def instance_normalization(x: Value, scale: Value, bias: Value, *, epsilon: float = 1e-5) -> Value:
    rank = len(x.shape)
    mean, variance = statistics(x, range(2, rank))
    normalized = f.multiply(f.subtract(x, mean), inverse_root(variance, epsilon))
    return f.add(f.multiply(normalized, along_channels(scale, rank)), along_channels(bias, rank))


@onnx_op("GroupNormalization", since=21)
def group_normalization(
    x: Value,
    scale: Value,
    bias: Value,
    *,
    num_groups: int,
    epsilon: float = 1e-5,
    stash_type: int = TensorProto.FLOAT,
) -> Value:
    normalized = _by_groups(x, num_groups, epsilon, stash_type)
    rank = len(x.shape)
    return f.add(f.multiply(normalized, along_channels(scale, rank)), along_channels(bias, rank))


@onnx_op("GroupNormalization", since=18)
def group_normalization_scaled_by_group(
    x: Value, scale: Value, bias: Value, *, num_groups: int, epsilon: float = 1e-5
) -> Value:
    """With one scale and bias for each group."""
    channels = x.shape[1] // num_groups
    spread = [
        arrays.reshape(
            arrays.broadcast_to(arrays.reshape(one, (num_groups, 1)), (num_groups, channels)), (-1,)
        )
        for one in (scale, bias)
    ]
    return group_normalization(x, *spread, num_groups=num_groups, epsilon=epsilon)


def _by_groups(x: Value, groups: int, epsilon: float, stash_type: int) -> Value:
    n, c, *spatial = x.shape
    wide = arrays.astype(x, required_dtype(stash_type, "the statistics of GroupNormalization"))
    grouped = arrays.reshape(wide, (n, groups, c // groups, *spatial))
    mean, variance = statistics(grouped, range(2, len(grouped.shape)))
    normalized = f.multiply(f.subtract(grouped, mean), inverse_root(variance, epsilon))
    return arrays.astype(arrays.reshape(normalized, x.shape), x.dtype)


@onnx_op("LayerNormalization")
@onnx_op("LayerNormalization", domain="com.microsoft")
def layer_normalization(
    x: Value,
    scale: Value,
    bias: Value = None,
    *,
    axis: int = -1,
    epsilon: float = 1e-5,
    stash_type: int = TensorProto.FLOAT,
    node: Any,
) -> list[Value]:
    """The normalized tensor and, where they are used, the mean and the inverse standard deviation."""
    rank = len(x.shape)
    axis = axis_of(axis, rank)
    stash = required_dtype(stash_type, "the statistics of LayerNormalization")
    results = [f.layer_norm(x, scale, bias, axis=axis, eps=epsilon)]
    if node.uses(1) or node.uses(2):
        mean, variance = statistics(arrays.astype(x, stash), range(axis, rank))
        results += [mean, inverse_root(variance, epsilon)]
    return results


@onnx_op("RMSNormalization")
def rms_normalization(
    x: Value,
    scale: Value,
    *,
    axis: int = -1,
    epsilon: float = 1e-5,
    stash_type: int = TensorProto.FLOAT,
) -> Value:
    """x / sqrt(mean(x²) + epsilon) · scale over the axes from `axis` on."""
    rank = len(x.shape)
    axes = range(axis_of(axis, rank), rank)
    wide = arrays.astype(x, required_dtype(stash_type, "the statistics of RMSNormalization"))
    norm = inverse_root(f.mean(f.square(wide), axes, keepdims=True), epsilon)
    return f.multiply(arrays.astype(f.multiply(wide, norm), x.dtype), scale)


@onnx_op("MeanVarianceNormalization")
def mean_variance_normalization(x: Value, *, axes: Sequence[int] = (0, 2, 3)) -> Value:
    mean, variance = statistics(x, [axis_of(axis, len(x.shape)) for axis in axes])
    return f.divide(f.subtract(x, mean), f.add(f.sqrt(variance), 1e-9))


@onnx_op("LpNormalization")
def lp_normalization(x: Value, *, axis: int = -1, p: int = 2) -> Value:
    """x divided by its norm along an axis; 0 where the norm is 0."""
    if p not in (1, 2):
        raise Unsupported(f"p={p}")
    if p == 1:
        norm = f.sum(f.absolute(x), axis, x.dtype, keepdims=True)
    else:
        norm = f.sqrt(f.sum(f.square(x), axis, x.dtype, keepdims=True))
    zero = np.zeros((), x.dtype)
    return f.where(f.equal(norm, zero), zero, f.divide(x, norm))


@onnx_op("LRN")
def local_response_normalization(
    x: Value, *, size: int, alpha: float = 1e-4, beta: float = 0.75, bias: float = 1.0
) -> Value:
    """x / (bias + alpha/size · sum of the squares of `size` channels around)^beta"""
    channels = x.shape[1]
    low, high = min((size - 1) // 2, channels), min(size // 2, channels)
    widths = [(low, high) if axis == 1 else (0, 0) for axis in range(len(x.shape))]
    squares = arrays.pad(f.square(x), widths)
    windows = [squares[:, start : start + channels] for start in range(low + high + 1)]
    scale = f.add(f.multiply(reduce(f.add, windows), alpha / size), bias)
    return f.divide(x, f.power(scale, np.asarray(beta).astype(x.dtype)))
