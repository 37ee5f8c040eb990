"""GroupQueryAttention of `com.microsoft`, attention on a cache, which exporters of language models write."""

from __future__ import annotations

import math

import numpy as np

from ..nn import normalization
from ..numpy import elementwise, joining, manipulation, products, selection
from .indices import counting
from .microsoft import DOMAIN, join_heads, rotary_embedding, split_heads
from .registry import Maybe, Unsupported, Value, integer, onnx_op


@onnx_op("GroupQueryAttention", domain=DOMAIN)
def group_query_attention(
    query: Value,
    key: Maybe,
    value: Maybe,
    past_key: Maybe,
    past_value: Maybe,
    seqlens_k: Value,
    total_sequence_length: Value,
    cos_cache: Value = None,
    sin_cache: Value = None,
    position_ids: Value = None,
    attention_bias: Value = None,
    *,
    num_heads: int,
    kv_num_heads: int,
    scale: float = 0.0,
    softcap: float = 0.0,
    do_rotary: int = 0,
    rotary_interleaved: int = 0,
    local_window_size: int = -1,
    causal: int = 1,
    smooth_softmax: int = 0,
    sliding_window_cache: int = 0,
    qk_output: int = 0,
    kv_cache_bit_width: int = 0,
    k_quant_type: str = "NONE",
    v_quant_type: str = "NONE",
    qk_norm_epsilon: float = 1e-6,
) -> list[Value]:
    """
    Attention of (batch, length, num_heads · size) on kv_num_heads heads of keys and values, each for the same number of
    heads of queries; and the keys and values with those of before, (batch, kv_num_heads, cache length, size).

    A sequence of the batch has seqlens_k + 1 positions by now, the last of which are new. Their keys and values go behind
    those of before; a cache that has room for all of them keeps its length. Without `key` and `value` the queries hold
    all three, one behind the other along the last axis.
    """
    for name, found, known in (
        ("local_window_size", local_window_size, -1),
        ("causal", causal, 1),
        ("smooth_softmax", max(smooth_softmax, 0), 0),
        ("sliding_window_cache", sliding_window_cache, 0),
        ("qk_output", qk_output, 0),
        ("k_quant_type", k_quant_type, "NONE"),
        ("v_quant_type", v_quant_type, "NONE"),
    ):
        if found != known:
            raise Unsupported(f"{name}={found}")
    if (key is None) != (value is None):
        raise Unsupported("one of 'key' and 'value' alone")
    if do_rotary and (cos_cache is None or sin_cache is None):
        raise Unsupported("do_rotary=1 without 'cos_cache' and 'sin_cache'")
    if key is None:
        size = query.shape[-1] // (num_heads + 2 * kv_num_heads)
        ends = [num_heads * size, (num_heads + kv_num_heads) * size]
        query, key, value = joining.split(query, ends, -1)
    batch, length = query.shape[:2]
    total = integer(total_sequence_length, "total_sequence_length")
    if length == total:
        before: Value = np.zeros((batch, 1), np.int64)
    else:
        counts = manipulation.astype(manipulation.reshape(seqlens_k, (batch, 1)), np.int64)
        before = elementwise.add(counts, 1 - length)
    places = elementwise.add(before, counting(length))
    q, k, v = (
        split_heads(query, num_heads),
        split_heads(key, kv_num_heads),
        split_heads(value, kv_num_heads),
    )
    if do_rotary:
        turn = places if position_ids is None or length == total else position_ids
        q, k = (
            rotary_embedding(one, turn, cos_cache, sin_cache, interleaved=rotary_interleaved)
            for one in (q, k)
        )
    keys = _cached(past_key, k, before, total)
    values = _cached(past_value, v, before, total)
    k, v = keys[:, :, :total], values[:, :, :total]
    scores = _scaled(_grouped(q, manipulation.swapaxes(k, -1, -2)), scale, softcap, q.shape[-1])
    if attention_bias is not None:
        scores = elementwise.add(scores, attention_bias)
    is_seen = elementwise.less_equal(counting(total), manipulation.expand_dims(places, (1, 3)))
    lowest = np.asarray(np.finfo(np.float32).min).astype(q.dtype)
    shares = normalization.softmax(elementwise.where(is_seen, scores, lowest), -1)
    return [join_heads(_grouped(shares, v)), keys, values]


def _grouped(rows: Value, matrices: Value) -> Value:
    """Products of the rows of all heads by the matrices of fewer: heads with the same matrix are one product."""
    batch, heads, length, _ = rows.shape
    groups = matrices.shape[1]
    joined = manipulation.reshape(rows, (batch, groups, heads // groups * length, rows.shape[-1]))
    product = products.matmul(joined, matrices)
    return manipulation.reshape(product, (batch, heads, length, matrices.shape[-1]))


def _scaled(scores: Value, scale: float, softcap: float, size: int) -> Value:
    """Scores times the scale, and bent below the cap where there is one."""
    factor = np.asarray(scale or 1 / math.sqrt(size)).astype(scores.dtype)
    scores = elementwise.multiply(scores, factor)
    if not softcap:
        return scores
    cap = np.asarray(softcap).astype(scores.dtype)
    return elementwise.multiply(elementwise.tanh(elementwise.divide(scores, cap)), cap)


def _cached(past: Value, new: Value, before: Value, total: int) -> Value:
    """The cache (batch, heads, length, size) with what is new from the position `before` [batch, 1] of each sequence on."""
    if past is None or past.shape[2] == 0:
        return new
    batch, heads, length, size = new.shape
    room = max(past.shape[2], total) - past.shape[2]
    if room:
        zeros = np.zeros((batch, heads, room, size), new.dtype)
        past = joining.concatenate([past, zeros], 2)
    # Which of the new stands at each position of the cache; none where it is negative or too large.
    number = elementwise.subtract(counting(past.shape[2]), before)
    number = manipulation.expand_dims(number, (1, 3))
    is_new = elementwise.logical_and(
        elementwise.greater_equal(number, 0), elementwise.less(number, length)
    )
    chosen = manipulation.broadcast_to(elementwise.clip(number, 0, length - 1), past.shape)
    return elementwise.where(is_new, selection.take_along_axis(new, chosen, 2), past)
