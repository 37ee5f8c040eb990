"""Softmax and its kin, and normalization by statistics: batch, instance, layer, group, RMS, local response."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any

import numpy as np
from onnx import TensorProto

from ...errors import StepwellError
from ..nn import normalization
from ..numpy import elementwise, manipulation, padding, reductions
from ..traceable import traceable
from .movement import axis_of
from .reductions import flattened
from .registry import Unsupported, Value, onnx_op
from .tensors import required_dtype


@onnx_op("Softmax", since=13)
def softmax(x: Value, *, axis: int = -1) -> Value:
    return normalization.softmax(x, axis)


@onnx_op("Softmax")
def softmax_flattened(x: Value, *, axis: int = 1) -> Value:
    return flattened(softmax, x, axis)


@onnx_op("LogSoftmax", since=13)
def log_softmax(x: Value, *, axis: int = -1) -> Value:
    return normalization.log_softmax(x, axis)


@onnx_op("LogSoftmax")
def log_softmax_flattened(x: Value, *, axis: int = 1) -> Value:
    return flattened(log_softmax, x, axis)


def statistics(x: Value, axes: Sequence[int]) -> tuple[Value, Value]:
    """The mean and the variance along axes, which are kept."""
    mean = reductions.mean(x, axes, keepdims=True)
    return mean, reductions.mean(
        elementwise.square(elementwise.subtract(x, mean)), axes, keepdims=True
    )


def inverse_root(variance: Value, epsilon: float) -> Value:
    return elementwise.rsqrt(elementwise.add(variance, np.asarray(epsilon).astype(variance.dtype)))


def along_channels(x: Value, rank: int) -> Value:
    """A vector with an element for each channel, for tensors of this rank whose second axis is that of channels."""
    return manipulation.reshape(x, (-1, *[1] * (rank - 2)))


def require_by_channel(x: Value, **parameters: Value) -> None:
    """
    Raises StepwellError unless each of these has one element for each channel of `x`, which are its second axis; what has none is one channel.
    """
    _require_elements(x, x.shape[1] if len(x.shape) > 1 else 1, "channel", parameters)


def _require_elements(x: Value, count: int, each: str, parameters: Mapping[str, Value]) -> None:
    for name, parameter in parameters.items():
        if list(parameter.shape) != [count]:
            raise StepwellError(
                f"found '{name}' of shape {list(parameter.shape)} for an input of shape {list(x.shape)}, expected [{count}], "
                f"an element for each {each}; export the model again"
            )


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
    require_by_channel(x, scale=scale, bias=bias, mean=mean, variance=variance)
    rank = len(x.shape)
    running: list[Value] = []
    if training_mode:
        now = statistics(
            manipulation.astype(x, mean.dtype), [axis for axis in range(rank) if axis != 1]
        )
        for old, new in zip((mean, variance), now, strict=True):
            kept = elementwise.multiply(old, momentum)
            running.append(
                elementwise.add(
                    kept, elementwise.multiply(manipulation.reshape(new, old.shape), 1 - momentum)
                )
            )
        mean, variance = (manipulation.reshape(one, (-1,)) for one in now)
    factor, summand = _by_channel(scale, bias, mean, variance, epsilon, x.dtype, rank)
    return [elementwise.add(elementwise.multiply(x, factor), summand), *running]


@traceable
def _by_channel(
    scale: Value,
    bias: Value,
    mean: Value,
    variance: Value,
    epsilon: float,
    dtype: np.dtype,
    rank: int,
) -> tuple[Value, Value]:
    """One factor and one summand for each channel: of constants they are computed now, together."""
    factor = elementwise.multiply(scale, inverse_root(variance, epsilon))
    summand = elementwise.subtract(bias, elementwise.multiply(mean, factor))
    channels = (manipulation.astype(one, dtype) for one in (factor, summand))
    factor, summand = (along_channels(one, rank) for one in channels)
    return factor, summand


@onnx_op("InstanceNormalization")
def instance_normalization(x: Value, scale: Value, bias: Value, *, epsilon: float = 1e-5) -> Value:
    require_by_channel(x, scale=scale, bias=bias)
    rank = len(x.shape)
    mean, variance = statistics(x, range(2, rank))
    normalized = elementwise.multiply(
        elementwise.subtract(x, mean), inverse_root(variance, epsilon)
    )
    return elementwise.add(
        elementwise.multiply(normalized, along_channels(scale, rank)), along_channels(bias, rank)
    )


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
    require_by_channel(x, scale=scale, bias=bias)
    _require_groups(x, num_groups)
    normalized = _by_groups(x, num_groups, epsilon, stash_type)
    rank = len(x.shape)
    return elementwise.add(
        elementwise.multiply(normalized, along_channels(scale, rank)), along_channels(bias, rank)
    )


@onnx_op("GroupNormalization", since=18)
def group_normalization_scaled_by_group(
    x: Value, scale: Value, bias: Value, *, num_groups: int, epsilon: float = 1e-5
) -> Value:
    """With one scale and bias for each group."""
    _require_elements(x, num_groups, "group", {"scale": scale, "bias": bias})
    _require_groups(x, num_groups)
    channels = x.shape[1] // num_groups
    spread = [
        manipulation.reshape(
            manipulation.broadcast_to(
                manipulation.reshape(one, (num_groups, 1)), (num_groups, channels)
            ),
            (-1,),
        )
        for one in (scale, bias)
    ]
    return group_normalization(x, *spread, num_groups=num_groups, epsilon=epsilon)


def _require_groups(x: Value, groups: int) -> None:
    if groups < 1 or x.shape[1] % groups:
        raise StepwellError(
            f"found num_groups={groups} for an input of shape {list(x.shape)}, expected a number that its {x.shape[1]} channels "
            "are a multiple of; export the model again"
        )


def _by_groups(x: Value, groups: int, epsilon: float, stash_type: int) -> Value:
    n, c, *spatial = x.shape
    wide = manipulation.astype(
        x, required_dtype(stash_type, "the statistics of GroupNormalization")
    )
    grouped = manipulation.reshape(wide, (n, groups, c // groups, *spatial))
    mean, variance = statistics(grouped, range(2, len(grouped.shape)))
    normalized = elementwise.multiply(
        elementwise.subtract(grouped, mean), inverse_root(variance, epsilon)
    )
    return manipulation.astype(manipulation.reshape(normalized, x.shape), x.dtype)


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
    results = [normalization.layer_norm(x, scale, bias, axis=axis, eps=epsilon)]
    if node.uses(1) or node.uses(2):
        mean, variance = statistics(manipulation.astype(x, stash), range(axis, rank))
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
    wide = manipulation.astype(x, required_dtype(stash_type, "the statistics of RMSNormalization"))
    norm = inverse_root(reductions.mean(elementwise.square(wide), axes, keepdims=True), epsilon)
    return elementwise.multiply(
        manipulation.astype(elementwise.multiply(wide, norm), x.dtype), scale
    )


@onnx_op("MeanVarianceNormalization")
def mean_variance_normalization(x: Value, *, axes: Sequence[int] = (0, 2, 3)) -> Value:
    mean, variance = statistics(x, [axis_of(axis, len(x.shape)) for axis in axes])
    return elementwise.divide(
        elementwise.subtract(x, mean), elementwise.add(elementwise.sqrt(variance), 1e-9)
    )


@onnx_op("LpNormalization")
def lp_normalization(x: Value, *, axis: int = -1, p: int = 2) -> Value:
    """x divided by its norm along an axis; 0 where the norm is 0."""
    if p not in (1, 2):
        raise Unsupported(f"p={p}")
    if p == 1:
        norm = reductions.sum(elementwise.absolute(x), axis, x.dtype, keepdims=True)
    else:
        norm = elementwise.sqrt(reductions.sum(elementwise.square(x), axis, x.dtype, keepdims=True))
    zero = np.zeros((), x.dtype)
    return elementwise.where(elementwise.equal(norm, zero), zero, elementwise.divide(x, norm))


@onnx_op("LRN")
def local_response_normalization(
    x: Value, *, size: int, alpha: float = 1e-4, beta: float = 0.75, bias: float = 1.0
) -> Value:
    """x / (bias + alpha/size · sum of the squares of `size` channels around)^beta"""
    channels = x.shape[1]
    low, high = min((size - 1) // 2, channels), min(size // 2, channels)
    widths = [(low, high) if axis == 1 else (0, 0) for axis in range(len(x.shape))]
    squares = padding.pad(elementwise.square(x), widths)
    windows = [squares[:, start : start + channels] for start in range(low + high + 1)]
    scale = elementwise.add(
        elementwise.multiply(reduce(elementwise.add, windows), alpha / size), bias
    )
    return elementwise.divide(x, elementwise.power(scale, np.asarray(beta).astype(x.dtype)))
