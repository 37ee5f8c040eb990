"""Operators of `com.microsoft`, compared with ONNX Runtime, which defines them."""

import numpy as np
import pytest

from .onnx_node import found_of, model_of, runtime_results

pytest.importorskip("onnxruntime")

B, S, N, H = 2, 5, 3, 4
D = N * H


def floats(*shape):
    return np.random.default_rng(sum(shape)).uniform(-1, 1, shape).astype(np.float32)


MASK = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], np.int32)
ANGLES = np.arange(16)[:, None] / 10.0 ** np.arange(H // 2)
COS, SIN = np.cos(ANGLES).astype(np.float32), np.sin(ANGLES).astype(np.float32)
X, W, BIAS = floats(B, S, D), floats(D, 3 * D), floats(3 * D)
PAST = floats(2, B, N, 3, H)

CASES = {
    "FusedMatMul": (1, {"alpha": 0.5, "transB": 1}, [X, floats(7, D)]),
    "BiasGelu": (1, {}, [X, floats(D)]),
    "FastGelu": (1, {}, [X, floats(D)]),
    "QuickGelu": (1, {"alpha": 1.5}, [X]),
    "SkipLayerNormalization": (
        4,
        {"epsilon": 1e-5},
        [X, floats(B, S, D), floats(D), floats(D), floats(D)],
    ),
    "SkipSimplifiedLayerNormalization": (
        4,
        {"epsilon": 1e-5},
        [X, floats(B, S, D), floats(D), floats(D)],
    ),
    "EmbedLayerNormalization": (
        2,
        {"epsilon": 1e-5},
        [MASK, MASK, floats(9, D), floats(S, D), floats(2, D), floats(D), floats(D), MASK],
    ),
    "Attention": (1, {"num_heads": N}, [X, W, BIAS]),
    "Attention causal": (1, {"num_heads": N, "unidirectional": 1}, [X, W, BIAS]),
    "Attention masked": (1, {"num_heads": N}, [X, W, BIAS, MASK]),
    "Attention lengths": (1, {"num_heads": N}, [X, W, BIAS, np.array([3, 5], np.int32)]),
    "Attention past": (2, {"num_heads": N, "unidirectional": 1}, [X, W, BIAS, None, PAST]),
    "MultiHeadAttention": (1, {"num_heads": N}, [X, floats(B, 7, D), floats(B, 7, D), BIAS]),
    "MultiHeadAttention masked": (
        1,
        {"num_heads": N, "scale": 0.3},
        [X, X, floats(B, S, D), None, MASK, floats(1, N, S, S)],
    ),
    "MultiHeadAttention past": (
        3,
        {"num_heads": N},
        [X, X, X, None, None, None, PAST[0], PAST[1]],
    ),
    "RotaryEmbedding": (1, {}, [X, np.array([2]), COS, SIN]),
    "RotaryEmbedding interleaved": (
        1,
        {"interleaved": 1},
        [floats(B, N, S, H), np.arange(B * S).reshape(B, S), COS, SIN],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_it_computes_what_onnx_runtime_computes(case):
    count, attributes, arrays = CASES[case]
    outputs = [f"y{i}" for i in range(count)]
    if "Skip" in case:
        outputs = ["y0", "", "", "y3"]
    model, inputs = model_of(case.split()[0], attributes, arrays, outputs)
    found, expected = found_of(model, inputs), runtime_results(model, inputs)
    for own, other in zip(found, expected, strict=True):
        assert own.dtype == other.dtype
        np.testing.assert_allclose(own, other, rtol=1e-4, atol=1e-5)
