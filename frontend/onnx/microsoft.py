"""Operators of `com.microsoft`, which ONNX Runtime's optimizer and exporters of transformers write."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ..nn import activations, normalization
from ..numpy import elementwise, joining, manipulation, products, reductions, selection
from .contraction import fused_matmul
from .indices import counting
from .normalization import inverse_root
from .quantized_layers import matmul_integer_to_float
from .registry import Unsupported, Value, onnx_op

DOMAIN = "com.microsoft"

onnx_op("TransposeMatMul", domain=DOMAIN)(fused_matmul)  # its name before


# Activations.


@onnx_op("BiasGelu", domain=DOMAIN)
def bias_gelu(x: Value, bias: Value) -> Value:
    return activations.gelu(elementwise.add(x, bias))


@onnx_op("FastGelu", domain=DOMAIN)
def fast_gelu(x: Value, bias: Value = None) -> Value:
    return activations.gelu(x if bias is None else elementwise.add(x, bias), "tanh")


@onnx_op("QuickGelu", domain=DOMAIN)
def quick_gelu(x: Value, *, alpha: float = 1.702) -> Value:
    return elementwise.multiply(x, activations.sigmoid(elementwise.multiply(x, alpha)))


# Normalization.


def _rms(x: Value, scale: Value, epsilon: float) -> tuple[Value, Value]:
    """x / sqrt(mean(x²) + epsilon) · scale along the last axis, and the factor of x."""
    factor = inverse_root(reductions.mean(elementwise.square(x), -1, keepdims=True), epsilon)
    return elementwise.multiply(elementwise.multiply(x, factor), scale), factor


@onnx_op("SimplifiedLayerNormalization", domain=DOMAIN)
@onnx_op("SimplifiedLayerNormalization")  # where ONNX Runtime registers it
def simplified_layer_normalization(
    x: Value, scale: Value, *, axis: int = -1, epsilon: float = 1e-5, stash_type: int = 1
) -> tuple[Value, Value]:
    if axis not in (-1, len(x.shape) - 1):
        raise Unsupported(f"axis={axis}")
    return _rms(x, scale, epsilon)


@onnx_op("SkipSimplifiedLayerNormalization", domain=DOMAIN)
def skip_simplified_layer_normalization(
    x: Value, skip: Value, scale: Value, bias: Value = None, *, epsilon: float = 1e-12
) -> list[Value]:
    total = _skipped(x, skip, bias)
    return [*_skip_results(_rms(total, scale, epsilon)[0]), total]


@onnx_op("SkipLayerNormalization", domain=DOMAIN)
def skip_layer_normalization(
    x: Value,
    skip: Value,
    scale: Value,
    shift: Value = None,
    bias: Value = None,
    *,
    epsilon: float = 1e-12,
) -> list[Value]:
    """The normalized sum of `x`, `skip` and `bias`; and that sum."""
    total = _skipped(x, skip, bias)
    normalized = normalization.layer_norm(total, scale, shift, eps=epsilon)
    return [*_skip_results(normalized), total]


def _skipped(x: Value, skip: Value, bias: Value) -> Value:
    total = elementwise.add(x, skip)
    return total if bias is None else elementwise.add(total, bias)


def _skip_results(normalized: Value) -> list[Value]:
    """The first result of three, without the statistics, which training alone uses."""
    return [normalized, None, None]


@onnx_op("EmbedLayerNormalization", domain=DOMAIN)
def embed_layer_normalization(
    ids: Value,
    segments: Value,
    words: Value,
    positions: Value,
    segment_table: Value,
    scale: Value,
    shift: Value,
    mask: Value = None,
    position_ids: Value = None,
    *,
    epsilon: float = 1e-12,
    mask_index_type: int = 1,
) -> list[Value]:
    """The normalized sum of the embeddings of words, positions and segments; the lengths of masks; the sum."""
    places = counting(ids.shape[1]) if position_ids is None else position_ids
    total = elementwise.add(selection.take(words, ids, 0), selection.take(positions, places, 0))
    if segments is not None:
        total = elementwise.add(total, selection.take(segment_table, segments, 0))
    lengths = (
        np.zeros(ids.shape[0], np.int32) if mask is None else reductions.sum(mask, 1, np.int32)
    )
    return [normalization.layer_norm(total, scale, shift, eps=epsilon), lengths, total]


# Attention.


def split_heads(x: Value, heads: int) -> Value:
    """(batch, length, heads · size) as (batch, heads, length, size)"""
    batch, length, width = x.shape
    return manipulation.transpose(
        manipulation.reshape(x, (batch, length, heads, width // heads)), (0, 2, 1, 3)
    )


def join_heads(x: Value) -> Value:
    """(batch, heads, length, size) as (batch, length, heads · size)"""
    batch, heads, length, size = x.shape
    return manipulation.reshape(
        manipulation.transpose(x, (0, 2, 1, 3)), (batch, length, heads * size)
    )


def attend(q: Value, k: Value, v: Value, scale: float, biases: Sequence[Value]) -> Value:
    """softmax(scale · q @ kᵀ + biases) @ v for each head; biases that are None are left out."""
    factor = np.asarray(scale or 1 / math.sqrt(q.shape[-1])).astype(q.dtype)
    scores = products.matmul(elementwise.multiply(q, factor), manipulation.swapaxes(k, -1, -2))
    for bias in biases:
        scores = scores if bias is None else elementwise.add(scores, bias)
    return products.matmul(normalization.softmax(scores, -1), v)


def causal_bias(queries: int, keys: int, value: float, dtype: np.dtype) -> np.ndarray:
    """`value` where a key stands after the query, 0 elsewhere; the last query stands at the last key."""
    is_later = ~np.tri(queries, keys, keys - queries, dtype=np.bool_)
    return np.where(is_later, value, 0).astype(dtype)


def mask_bias(mask: Value, queries: int, keys: int, value: float, dtype: np.dtype) -> Value:
    """`value` where a mask of ONNX Runtime leaves out a key: lengths, or 1 for each key that takes part."""
    if mask is None:
        return None
    match len(mask.shape):
        case 1:
            takes_part = elementwise.less(
                counting(keys), manipulation.expand_dims(manipulation.astype(mask, np.int64), 1)
            )
            takes_part = manipulation.expand_dims(takes_part, (1, 2))
        case 2:
            takes_part = manipulation.expand_dims(elementwise.not_equal(mask, 0), (1, 2))
        case 3:
            takes_part = manipulation.expand_dims(elementwise.not_equal(mask, 0), 1)
        case rank:
            raise Unsupported(f"a mask of {rank} axes")
    return elementwise.where(takes_part, np.zeros((), dtype), np.asarray(value, dtype))


def _checked_mask(mask: Value, batch: int) -> Value:
    if mask is not None and len(mask.shape) == 1 and mask.shape[0] != batch:
        raise Unsupported(f"a mask of {mask.shape[0]} positions for {batch} sequences")
    return mask


@onnx_op("Attention", domain=DOMAIN)
def attention(
    x: Value,
    weights: Value,
    bias: Value = None,
    mask: Value = None,
    past: Value = None,
    attention_bias: Value = None,
    *,
    num_heads: int,
    unidirectional: int = 0,
    scale: float = 0.0,
    mask_filter_value: float = -10000.0,
    qkv_hidden_sizes: Sequence[int] | None = None,
) -> list[Value]:
    """Attention on projections of `x`, which one product makes of it; and the keys and values, with those of before."""
    projected = products.matmul(x, weights)
    projected = projected if bias is None else elementwise.add(projected, bias)
    sizes = list(qkv_hidden_sizes or [projected.shape[-1] // 3] * 3)
    parts = joining.split(projected, [sizes[0], sizes[0] + sizes[1]], -1)
    biases = [attention_bias]
    return _attended(parts, num_heads, mask, past, biases, scale, mask_filter_value, unidirectional)


@onnx_op("QAttention", domain=DOMAIN)
def quantized_attention(
    x: Value,
    weights: Value,
    bias: Value,
    x_scale: Value,
    weight_scale: Value,
    mask: Value = None,
    x_zero_point: Value = None,
    weight_zero_point: Value = None,
    past: Value = None,
    *,
    num_heads: int,
    unidirectional: int = 0,
    scale: float = 0.0,
    mask_filter_value: float = -10000.0,
    do_rotary: int = 0,
    past_present_share_buffer: int = 0,
) -> list[Value]:
    """Attention whose projections are a product of quantized numbers, which is exact."""
    if do_rotary or past_present_share_buffer:
        raise Unsupported("do_rotary" if do_rotary else "past_present_share_buffer")
    projected = matmul_integer_to_float(
        x, weights, x_scale, weight_scale, x_zero_point, weight_zero_point, bias
    )
    parts = joining.split(projected, 3, -1)
    return _attended(parts, num_heads, mask, past, [], scale, mask_filter_value, unidirectional)


def _attended(
    parts: Sequence[Value],
    heads: int,
    mask: Value,
    past: Value,
    biases: Sequence[Value],
    scale: float,
    mask_filter_value: float,
    unidirectional: int,
) -> list[Value]:
    """Attention on the three projections; and the keys and values, with those of before."""
    q, k, v = (split_heads(part, heads) for part in parts)
    if past is not None:
        k, v = (joining.concatenate([past[i], new], 2) for i, new in enumerate((k, v)))
    batch, queries, keys, dtype = q.shape[0], q.shape[2], k.shape[2], q.dtype
    masks = [
        mask_bias(_checked_mask(mask, batch), queries, keys, mask_filter_value, dtype),
        causal_bias(queries, keys, mask_filter_value, dtype) if unidirectional else None,
    ]
    result = join_heads(attend(q, k, v, scale, [*biases, *masks]))
    return [result, *([joining.stack([k, v])] if k.shape == v.shape else [])]


@onnx_op("MultiHeadAttention", domain=DOMAIN)
def multi_head_attention(
    query: Value,
    key: Value = None,
    value: Value = None,
    bias: Value = None,
    mask: Value = None,
    attention_bias: Value = None,
    past_key: Value = None,
    past_value: Value = None,
    *,
    num_heads: int,
    unidirectional: int = 0,
    scale: float = 0.0,
    mask_filter_value: float = -10000.0,
) -> list[Value]:
    """Attention on queries, keys and values; and the keys and values, with those of before."""
    if key is None or value is None or len(query.shape) != 3:
        raise Unsupported("packed queries, keys and values")
    if bias is not None:
        width, end = (
            query.shape[-1],
            bias.shape[0] - (value.shape[-1] if len(value.shape) == 3 else 0),
        )
        query = elementwise.add(query, bias[:width])
        key = elementwise.add(key, bias[width:end]) if len(key.shape) == 3 else key
        value = elementwise.add(value, bias[end:]) if len(value.shape) == 3 else value
    q = split_heads(query, num_heads)
    k, v = (one if len(one.shape) == 4 else split_heads(one, num_heads) for one in (key, value))
    if past_key is not None:
        k, v = (
            joining.concatenate([past_key, k], 2),
            joining.concatenate([past_value, v], 2),
        )
    queries, keys = q.shape[2], k.shape[2]
    biases = [
        attention_bias,
        mask_bias(_checked_mask(mask, q.shape[0]), queries, keys, mask_filter_value, q.dtype),
        causal_bias(queries, keys, mask_filter_value, q.dtype) if unidirectional else None,
    ]
    return [join_heads(attend(q, k, v, scale, biases)), k, v]


@onnx_op("RotaryEmbedding", domain=DOMAIN)
def rotary_embedding(
    x: Value,
    position_ids: Value,
    cos_cache: Value,
    sin_cache: Value,
    *,
    interleaved: int = 0,
    num_heads: int = 0,
    rotary_embedding_dim: int = 0,
    scale: float = 1.0,
    is_packed_batching: int = 0,
) -> Value:
    """Pairs of elements of each head turned by the angles of their positions."""
    is_flat = len(x.shape) == 3
    rotated = rotary_embedding_dim or 2 * cos_cache.shape[-1]
    heads = num_heads or (x.shape[-1] // rotated if is_flat else x.shape[1])
    split = split_heads(x, heads) if is_flat else x
    if position_ids.shape in ((), (1,)):
        position_ids = manipulation.expand_dims(
            elementwise.add(counting(split.shape[2]), position_ids), 0
        )
    cos, sin = (
        manipulation.expand_dims(selection.take(cache, position_ids, 0), 1)
        for cache in (cos_cache, sin_cache)
    )
    turned, rest = split[..., :rotated], split[..., rotated:]
    if interleaved:
        a, b = turned[..., ::2], turned[..., 1::2]
    else:
        a, b = turned[..., : rotated // 2], turned[..., rotated // 2 :]
    real = elementwise.subtract(elementwise.multiply(a, cos), elementwise.multiply(b, sin))
    imaginary = elementwise.add(elementwise.multiply(a, sin), elementwise.multiply(b, cos))
    if interleaved:
        turned = manipulation.reshape(joining.stack([real, imaginary], -1), turned.shape)
    else:
        turned = joining.concatenate([real, imaginary], -1)
    whole = joining.concatenate([turned, rest], -1) if rest.shape[-1] else turned
    return join_heads(whole) if is_flat else whole
