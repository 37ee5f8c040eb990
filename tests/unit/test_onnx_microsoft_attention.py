"""Attention on caches and on quantized numbers in `com.microsoft`, compared with NumPy and ONNX Runtime."""

import numpy as np
import pytest
from stepwell import StepwellError

from .onnx_node import found_of, model_of, runtime_results

RNG = np.random.default_rng(7)
B, N, KV, H = 2, 4, 2, 16
ANGLES = np.arange(12)[:, None] / 10.0 ** np.arange(H // 2)
COS, SIN = np.cos(ANGLES).astype(np.float32), np.sin(ANGLES).astype(np.float32)


def floats(*shape):
    return RNG.uniform(-1, 1, shape).astype(np.float32)


def heads(x, count):
    return x.reshape(*x.shape[:2], count, H).swapaxes(1, 2)


def turned(x, places):
    """Heads (n, length, H) rotated by the angles of their places; the second half is the imaginary part."""
    a, b = x[..., : H // 2], x[..., H // 2 :]
    cos, sin = COS[places], SIN[places]
    return np.concatenate([a * cos - b * sin, a * sin + b * cos], -1)


def expected(q, k, v, past, counts, rotary, cap=0.0, bias=0.0):
    """One sequence of the batch after the other, one head after the other."""
    length = q.shape[1]
    total = max(counts)
    room = max(total, 0 if past is None else past[0].shape[2])
    out = np.zeros((B, N, length, H))
    cache = np.zeros((2, B, KV, room, H))
    if past is not None:
        cache[:, :, :, : past[0].shape[2]] = past
    q, k, v = heads(q, N), heads(k, KV), heads(v, KV)
    for b, count in enumerate(counts):
        before = 0 if length == total else count - length
        places = before + np.arange(length)
        qb, kb = (turned(one[b], places) if rotary else one[b] for one in (q, k))
        cache[0, b, :, places] = kb.swapaxes(0, 1)
        cache[1, b, :, places] = v[b].swapaxes(0, 1)
        for n in range(N):
            keys, values = cache[:, b, n // (N // KV), :total]
            scores = qb[n] @ keys.T / np.sqrt(H)
            scores = cap * np.tanh(scores / cap) if cap else scores
            scores = scores + (bias if np.ndim(bias) == 0 else bias[0, 0])
            scores = np.where(np.arange(total) <= places[:, None], scores, -np.inf)
            shares = np.exp(scores - scores.max(-1, keepdims=True))
            out[b, n] = shares / shares.sum(-1, keepdims=True) @ values
    return out.swapaxes(1, 2).reshape(B, length, N * H), cache[0], cache[1]


def new(length):
    return floats(B, length, N * H), floats(B, length, KV * H), floats(B, length, KV * H)


def past(length):
    return floats(2, B, KV, length, H)


CASES = {
    "first positions": (new(5), None, [5, 5], {}),
    "rotary": (new(5), None, [5, 5], {"do_rotary": 1}),
    "past": (new(1), past(4), [5, 5], {"do_rotary": 1}),
    "past of different lengths in a cache": (new(1), past(8), [6, 3], {"do_rotary": 1}),
    "cap": (new(5), None, [5, 5], {"softcap": 0.5}),
    "packed": (new(5), None, [5, 5], {"do_rotary": 1}),
    "bias": (new(1), past(4), [5, 5], {"do_rotary": 1}),
    "two more": (new(2), past(3), [5, 5], {"do_rotary": 1}),
}
BIAS = floats(1, 1, 1, 5)

WITHOUT_RUNTIME = ("two more",)
"""What ONNX Runtime has for batches of one alone."""


def node_of(case):
    (q, k, v), cache, counts, attributes = CASES[case]
    given = [np.concatenate([q, k, v], -1), None, None] if case == "packed" else [q, k, v]
    before = [None, None] if cache is None else list(cache)
    lengths = [np.array(counts, np.int32) - 1, np.array(max(counts), np.int32)]
    bias = BIAS if case == "bias" else None
    arrays = [*given, *before, *lengths, COS, SIN, None, bias]
    attributes = {"num_heads": N, "kv_num_heads": KV, **attributes}
    return model_of("GroupQueryAttention", attributes, arrays, ("y", "k", "v"))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("case", CASES)
def test_groups_of_heads_share_keys_and_values(case):
    model, inputs = node_of(case)
    found = found_of(model, inputs)
    given, cache, counts, attributes = CASES[case]
    rotary, cap = attributes.get("do_rotary", 0), attributes.get("softcap", 0)
    wanted = expected(*given, cache, counts, rotary, cap, BIAS if case == "bias" else 0.0)
    for own, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(own, other, rtol=1e-4, atol=1e-5)
    results = None if case in WITHOUT_RUNTIME else runtime_results(model, inputs)
    if results is not None:
        np.testing.assert_allclose(found[0], results[0], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("attribute", ["local_window_size=3", "do_rotary=1 without 'cos_cache'"])
def test_what_it_cannot_do_is_refused_by_name(attribute):
    name, number = attribute.split()[0].split("=")
    node = {"num_heads": N, "kv_num_heads": KV, name: int(number)}
    lengths = [np.array([4, 4], np.int32), np.array(5, np.int32)]
    model, inputs = model_of("GroupQueryAttention", node, [*new(5), None, None, *lengths])
    with pytest.raises(StepwellError, match=attribute):
        found_of(model, inputs)


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def test_projections_of_quantized_numbers_are_exact():
    length, width = 3, 2 * H
    x = RNG.integers(0, 256, (B, length, width)).astype(np.uint8)
    w = RNG.integers(-128, 128, (width, 3 * width)).astype(np.int8)
    bias, zero = floats(3 * width), np.uint8(120)
    scales = np.float32(0.01), np.float32(0.005)
    mask = np.array([3, 2], np.int32)
    model, inputs = model_of(
        "QAttention",
        {"num_heads": 2, "unidirectional": 1},
        [x, w, bias, *scales, mask, zero, np.int8(0)],
        ("y", "present"),
    )
    found = found_of(model, inputs)
    exact = (x.astype(np.int32) - 120) @ w.astype(np.int32)
    projected = exact * (scales[0] * scales[1]) + bias
    q, k, v = (heads(part, 2) for part in np.split(projected, 3, -1))
    is_seen = np.tri(length, dtype=bool) & (np.arange(length) < mask[:, None])[:, None, None]
    shares = softmax(q @ k.swapaxes(-1, -2) / np.sqrt(H) + np.where(is_seen, 0, -10000.0))
    wanted = (shares @ v).swapaxes(1, 2).reshape(B, length, width)
    np.testing.assert_allclose(found[0], wanted, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(found[1], np.stack([k, v]), rtol=1e-4, atol=1e-5)
    if (results := runtime_results(model, inputs)) is not None:
        for own, other in zip(found, results, strict=True):
            np.testing.assert_allclose(own, other, rtol=1e-4, atol=1e-5)
