"""Layers with their activation in `com.microsoft`, compared with NumPy and, where it is installed, ONNX Runtime."""

import numpy as np
import pytest
from stepwell import StepwellError

from .onnx_node import found_of, model_of, runtime_results

RNG = np.random.default_rng(5)


def floats(*shape):
    return RNG.uniform(-1, 1, shape).astype(np.float32)


def convolved(x, w):
    """Images (n, c, h, w) by weights (f, c, 3, 3)."""
    windows = np.lib.stride_tricks.sliding_window_view(x, (3, 3), (-2, -1))
    return np.einsum("nchwij,fcij->nfhw", windows, w)


def last(x):
    return np.ascontiguousarray(np.moveaxis(x, 1, -1))


X, W, B = floats(1, 3, 6, 7), floats(4, 3, 3, 3), floats(4)
PADDED = np.pad(X, ((0, 0), (0, 0), (1, 1), (1, 1)))
PADS = {"pads": [1, 1, 1, 1]}
Y = convolved(PADDED, W) + B[:, None, None]
Z = floats(*Y.shape)
M, N, C = floats(3, 5), floats(4, 5), floats(4)

CASES = {
    "FusedConv": ({"activation": "Relu", **PADS}, [X, W, B, Z], np.maximum(Y + Z, 0)),
    "FusedConv clipped": (
        {"activation": "Clip", "activation_params": [-0.5, 0.75], **PADS},
        [X, W, B],
        np.clip(Y, -0.5, 0.75),
    ),
    "NhwcFusedConv": (
        {"activation": "LeakyRelu", "activation_params": [0.25], **PADS},
        [last(X), W, B, last(Z)],
        last(np.where(Y + Z < 0, (Y + Z) / 4, Y + Z)),
    ),
    "NhwcConv": (PADS, [last(X), last(W), B], last(Y)),
    "FusedGemm": (
        {
            "alpha": 0.5,
            "beta": 2.0,
            "transB": 1,
            "activation": "LeakyRelu",
            "activation_alpha": 0.1,
        },
        [M, N, C],
        np.where(0.5 * M @ N.T + 2 * C < 0, 0.1, 1) * (0.5 * M @ N.T + 2 * C),
    ),
}

WITHOUT_RUNTIME = ("NhwcConv", "NhwcFusedConv")
"""What ONNX Runtime has no kernel for on an x86-64 processor."""


@pytest.mark.sampled(3)
@pytest.mark.parametrize("case", CASES)
def test_it_computes_what_its_formula_says(case):
    attributes, arrays, expected = CASES[case]
    operator = case.split()[0]
    model, inputs = model_of(operator, attributes, arrays)
    (found,) = found_of(model, inputs)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
    others = None if operator in WITHOUT_RUNTIME else runtime_results(model, inputs)
    if others is not None:
        np.testing.assert_allclose(found, others[0], rtol=1e-4, atol=1e-5)


def test_an_activation_it_does_not_know_is_refused_by_name():
    model, inputs = model_of("FusedConv", {"activation": "Cosine"}, [X, W])
    with pytest.raises(StepwellError, match="activation 'Cosine'"):
        found_of(model, inputs)
