"""The classifier as a function of Stepwell's API, and the same computation in NumPy."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import stepwell as sw

HERE = Path(__file__).parent


class Weights(NamedTuple):
    """float32: w1 (64, 32), b1 (32,), w2 (32, 10), b2 (10,)."""

    w1: np.ndarray
    b1: np.ndarray
    w2: np.ndarray
    b2: np.ndarray


def load_weights() -> Weights:
    """What `train.py` wrote."""
    with np.load(HERE / "weights.npz") as file:
        return Weights(*(file[name] for name in Weights._fields))


def hidden_layer(x, w1, b1):
    """The first layer, the kernel that the demo shows: (n, 64) → (n, 32)."""
    return sw.relu(x @ w1 + b1)


def hidden_layer_reference(x: np.ndarray, w1: np.ndarray, b1: np.ndarray) -> np.ndarray:
    """The first layer by NumPy alone."""
    return np.maximum(x @ w1 + b1, 0)


def classifier(weights: Weights) -> Callable[[np.ndarray], np.ndarray]:
    """The network with `weights` as constants: images (n, 64) → probabilities (n, 10)."""
    w1, b1, w2, b2 = weights

    def digits(x):
        return sw.softmax(hidden_layer(x, w1, b1) @ w2 + b2, axis=-1)

    return digits


def reference(weights: Weights, x: np.ndarray) -> np.ndarray:
    """The same probabilities by NumPy alone."""
    w1, b1, w2, b2 = weights
    scores = hidden_layer_reference(x, w1, b1) @ w2 + b2
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)
