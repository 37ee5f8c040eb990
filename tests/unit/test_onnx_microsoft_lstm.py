"""DynamicQuantizeLSTM of `com.microsoft`, compared with NumPy and, where it is installed, ONNX Runtime."""

import numpy as np
import pytest

from .onnx_node import found_of, model_of, runtime_results

RNG = np.random.default_rng(0)
T, B, INPUT, H = 5, 2, 3, 4
ZERO = 3


def floats(*shape):
    return RNG.uniform(-1, 1, shape).astype(np.float32)


def weights(rows):
    return RNG.integers(-100, 100, (1, rows, 4 * H)).astype(np.int8)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def product(a, matrix, scale, zero_point=0):
    """`a`, quantized by its range, by quantized weights."""
    low, high = min(a.min(), 0), max(a.max(), 0)
    step = np.float32((high - low) / 255) or np.float32(1)
    zero = np.rint(-low / step)
    codes = np.clip(np.rint(a / step) + zero, 0, 255) - zero
    return codes @ (matrix.astype(np.float64) - zero_point) * step * scale


def expected(x, w, r, b, h, c, lengths, w_scale, r_scale):
    """Y of one direction; a sequence that is over has zeros there, and no part in what is quantized."""
    x = np.where(np.arange(T)[:, None, None] < max(lengths), x, 0)
    inputs = product(x.reshape(T * B, INPUT), w[0], w_scale).reshape(T, B, -1)
    inputs = inputs + b[0, : 4 * H] + b[0, 4 * H :]
    ys = np.zeros((T, B, H))
    h, c = h[0], c[0]
    for t in range(T):
        runs = t < np.array(lengths)[:, None]
        i, o, f, g = np.split(inputs[t] + product(h, r[0], r_scale, ZERO), 4, axis=1)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = ys[t] = np.where(runs, sigmoid(o) * np.tanh(c), 0)
    return ys


@pytest.mark.parametrize("lengths", [pytest.param(None, marks=pytest.mark.slow), [2, 4]])
def test_states_are_quantized_in_each_step(lengths):
    x, w, r, b = floats(T, B, INPUT), weights(INPUT), weights(H), floats(1, 8 * H)
    h, c = floats(1, B, H), floats(1, B, H)
    by_column = np.linspace(0.005, 0.02, 4 * H, dtype=np.float32)
    w_scale, r_scale, zero = by_column[None], np.float32([0.012]), np.int8([ZERO])
    lens = None if lengths is None else np.array(lengths, np.int32)
    zeros = np.zeros((1, 4 * H), np.int8)  # ONNX Runtime has no others by column
    arrays = [x, w, r, b, lens, h, c, None, w_scale, zeros, r_scale, zero]
    model, inputs = model_of("DynamicQuantizeLSTM", {"hidden_size": H}, arrays, ("y", "h", "c"))
    found = found_of(model, inputs)
    ys = expected(x, w, r, b, h, c, lengths or [T] * B, by_column, r_scale)
    np.testing.assert_allclose(found[0][:, 0], ys, rtol=1e-4, atol=1e-5)
    if (results := runtime_results(model, inputs)) is not None:
        for own, other in zip(found, results, strict=True):
            np.testing.assert_allclose(own, other, rtol=1e-4, atol=1e-5)


@pytest.mark.slow
def test_two_directions_agree_with_onnx_runtime():
    w, r = (np.concatenate([weights(rows), weights(rows)]) for rows in (INPUT, H))
    scale, zero = np.float32([0.01, 0.02]), np.int8([0, ZERO])
    lengths = np.array([4, 4], np.int32)
    arrays = [floats(T, B, INPUT), w, r, floats(2, 8 * H), lengths, None, None, None]
    model, inputs = model_of(
        "DynamicQuantizeLSTM",
        {"hidden_size": H, "direction": "bidirectional"},
        [*arrays, scale, zero, scale, zero],
        ("y", "h", "c"),
    )
    if (results := runtime_results(model, inputs)) is None:
        pytest.skip("onnxruntime is not installed")
    for own, other in zip(found_of(model, inputs), results, strict=True):
        np.testing.assert_allclose(own, other, rtol=1e-4, atol=1e-5)
