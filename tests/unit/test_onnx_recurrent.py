"""RNN, GRU and LSTM of ONNX, step by step in NumPy: directions, layouts, lengths, peepholes, clips, functions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper
from stepwell.frontend.onnx.importer import import_model
from stepwell.frontend.onnx.reading import checked_model
from stepwell.interpreters.harness import interpret

T, B, INPUT, H = 5, 3, 4, 2
GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
EACH = pytest.mark.parametrize("kind", GATES)


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def step(kind: str, x: Any, h: Any, c: Any, w: Any, r: Any, b: Any, p: Any, **options: Any) -> Any:
    """The next h and c, from the equations of the operators' specification."""
    limit = options.get("clip", np.inf)

    def clipped(v: Any) -> Any:
        return np.clip(v, -limit, limit)

    ws, rs = np.split(w, GATES[kind]), np.split(r, GATES[kind])
    biases = np.split(b, 2 * GATES[kind])
    wb, rb = biases[: GATES[kind]], biases[GATES[kind] :]
    if kind == "RNN":
        return np.tanh(clipped(x @ w.T + h @ r.T + wb[0] + rb[0])), c
    parts = [x @ one.T + bias for one, bias in zip(ws, wb, strict=True)]
    if kind == "GRU":
        z = sigmoid(clipped(parts[0] + h @ rs[0].T + rb[0]))
        reset = sigmoid(clipped(parts[1] + h @ rs[1].T + rb[1]))
        if options.get("linear_before_reset"):
            new = np.tanh(clipped(parts[2] + reset * (h @ rs[2].T + rb[2])))
        else:
            new = np.tanh(clipped(parts[2] + (reset * h) @ rs[2].T + rb[2]))
        return (1 - z) * new + z * h, c
    pi, po, pf = np.split(p, 3)
    i, o, f, g = (v + h @ one.T + bias for v, one, bias in zip(parts, rs, rb, strict=True))
    i, f = sigmoid(clipped(i + pi * c)), sigmoid(clipped(f + pf * c))
    if options.get("input_forget"):
        f = 1 - i
    c = f * c + i * np.tanh(clipped(g))
    return sigmoid(clipped(o + po * c)) * np.tanh(c), c


def expected(kind: str, arrays: dict[str, np.ndarray], options: dict[str, Any]) -> list[np.ndarray]:
    """Y, Y_h and, of an LSTM, Y_c."""
    options = dict(options)
    layout, direction = options.pop("layout", 0), options.pop("direction", "forward")
    x = arrays["x"].swapaxes(0, 1) if layout else arrays["x"]
    count = arrays["w"].shape[0]
    y = np.zeros((T, count, B, H), np.float32)
    last = {"h": np.zeros((count, B, H), np.float32), "c": np.zeros((count, B, H), np.float32)}
    for d in range(count):
        backwards = direction == "reverse" or d == 1
        for n, length in enumerate(arrays.get("lens", [T] * B)):
            h, c = (
                (arrays[name].swapaxes(0, 1) if layout else arrays[name])[d, n]
                if name in arrays
                else np.zeros(H, np.float32)
                for name in ("h0", "c0")
            )
            p = arrays["p"][d] if "p" in arrays else np.zeros(3 * H, np.float32)
            b = arrays["b"][d] if "b" in arrays else np.zeros(2 * GATES[kind] * H, np.float32)
            times = range(length)
            for t in reversed(times) if backwards else times:
                h, c = step(kind, x[t, n], h, c, arrays["w"][d], arrays["r"][d], b, p, **options)
                y[t, d, n] = h
            last["h"][d, n], last["c"][d, n] = h, c
    results = [y, last["h"], *([last["c"]] if kind == "LSTM" else [])]
    if layout:
        results = [y.transpose(2, 0, 1, 3), *(one.swapaxes(0, 1) for one in results[1:])]
    return results


def agree(kind: str, names: str = "x w r b", **options: Any) -> None:
    """The imported operator, interpreted at the graph level, gives what the equations do."""
    rng = np.random.default_rng(1)
    d, g = 2 if options.get("direction") == "bidirectional" else 1, GATES[kind]
    shapes = {
        "x": (T, B, INPUT),
        "w": (d, g * H, INPUT),
        "r": (d, g * H, H),
        "b": (d, 2 * g * H),
        "h0": (d, B, H),
        "c0": (d, B, H),
        "p": (d, 3 * H),
    }
    arrays = {
        n: rng.standard_normal(shapes[n]).astype(np.float32) for n in shapes if n in names.split()
    }
    if "lens" in names:
        arrays["lens"] = np.array([5, 2, 0], np.int32)
    if options.get("layout"):
        arrays |= {
            n: np.ascontiguousarray(a.swapaxes(0, 1))
            for n, a in arrays.items()
            if n in ("x", "h0", "c0")
        }
    order = ["x", "w", "r", "b", "lens", "h0", "c0", "p"][: 8 if kind == "LSTM" else 6]
    outputs = ["y", "yh", "yc"][: 3 if kind == "LSTM" else 2]
    node = helper.make_node(
        kind, [n if n in arrays else "" for n in order], outputs, hidden_size=H, **options
    )
    inputs = [
        helper.make_tensor_value_info(
            n, TensorProto.INT32 if n == "lens" else TensorProto.FLOAT, a.shape
        )
        for n, a in arrays.items()
    ]
    results = [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in outputs]
    graph = helper.make_graph([node], "main", inputs, results)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=8)
    module = import_model(checked_model(model, "model"))
    found = interpret(module, list(arrays.values()))
    for got, wanted in zip(found, expected(kind, arrays, options), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-5)


@EACH
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("layout", [0, 1])
def test_directions_and_layouts(kind: str, direction: str, layout: int):
    agree(
        kind,
        "x w r b h0 c0" if kind == "LSTM" else "x w r b h0",
        direction=direction,
        layout=layout,
    )


@EACH
@pytest.mark.parametrize("direction", ["forward", "reverse"])
def test_sequences_that_are_shorter(kind: str, direction: str):
    agree(kind, "x w r b lens", direction=direction)


@EACH
def test_clip_without_bias(kind: str):
    agree(kind, "x w r", clip=0.25)


def test_peepholes():
    agree("LSTM", "x w r b c0 p")


def test_coupled_gates():
    agree("LSTM", "x w r b c0", input_forget=1)


def test_linear_before_reset():
    agree("GRU", "x w r b h0", linear_before_reset=1)
