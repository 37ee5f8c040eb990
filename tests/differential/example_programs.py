"""
The programs of examples/: the module, inputs, and what they must give, by NumPy formulas that have
nothing to do with Stepwell.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from stepwell.analysis.signature import entry_function
from stepwell.frontend.text import parse_file
from stepwell.interpreters.harness import random_inputs
from xdsl.dialects.builtin import ModuleOp

from .monte_carlo import Value

Array = np.ndarray[Any, Any]

FOLDER = Path(__file__).resolve().parents[2] / "examples"
NAMES = tuple(sorted(path.stem for path in FOLDER.glob("*.mlir")))

TOLERANCES = {np.dtype(np.float32): 2e-6, np.dtype(np.float64): 1e-14}
"""Of the largest element of a result: a few roundings of sums of up to 64 terms."""


@dataclass(frozen=True)
class Example:
    module: ModuleOp
    inputs: tuple[Array, ...]
    expected: tuple[Value, ...]


class _Near(Value):
    """A result that is known up to a tolerance of its own."""

    def tolerance(self) -> Array:
        relative = TOLERANCES.get(self.array.dtype, 0.0)
        largest = float(np.abs(self.array).max(initial=0)) if relative else 0.0
        return np.full(self.array.shape, relative * max(1.0, largest))


def example(name: str, seed: int = 0) -> Example:
    """The program examples/`name`.mlir on random inputs."""
    module = parse_file(FOLDER / f"{name}.mlir")
    inputs = random_inputs(entry_function(module), seed)
    return Example(module, inputs, nearly(FORMULAS[name](*inputs)))


def nearly(arrays: Sequence[Array] | Array) -> tuple[Value, ...]:
    """Results that rounding may change a little."""
    arrays = arrays if isinstance(arrays, tuple) else (arrays,)
    return tuple(_Near.known(np.asarray(array)) for array in arrays)


def digits_example(batch: int = 3) -> Example:
    """The digits network on its first test images."""
    sys.path.insert(0, str(FOLDER / "digits"))
    try:
        import data
        import model
    finally:
        sys.path.pop(0)
    import stepwell as sw

    images = data.load_digits().x_test[:batch]
    weights = model.load_weights()
    lowered = sw.jit(model.classifier(weights)).lower(images)
    return Example(lowered.module("graph"), (images,), nearly(model.reference(weights, images)))


# Formulas.


def _hidden(x: Array, w: Array, b: Array) -> Array:
    return np.maximum(x @ w + b, 0)


def _softmax_of(x: Array) -> Array:
    powers = np.exp(x - x.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def _mlp(x: Array, w1: Array, b1: Array, w2: Array, b2: Array) -> Array:
    return _softmax_of(_hidden(x, w1, b1) @ w2 + b2)


def _softmax(x: Array) -> tuple[Array, Array]:
    logits = x * np.float32(100)
    exact = logits.astype(np.float64)
    log_sum = np.log(np.exp(exact - exact.max(axis=1, keepdims=True)).sum(axis=1, keepdims=True))
    log = exact - exact.max(axis=1, keepdims=True) - log_sum
    return _softmax_of(logits), log.astype(np.float32)


def _layer_norm(x: Array, residual: Array, scale: Array, bias: Array) -> Array:
    total = (x + residual).astype(np.float64)
    cubic = np.sqrt(2 / np.pi) * (total + 0.044715 * total**3)
    gelu = 0.5 * total * (1 + np.tanh(cubic))
    centered = gelu - gelu.mean(axis=1, keepdims=True)
    normal = centered / np.sqrt(gelu.var(axis=1, keepdims=True) + 1e-5)
    return (normal * scale + bias).astype(np.float32)


def _attention(q: Array, k: Array, v: Array) -> Array:
    scores = np.einsum("hid,hjd->hij", q, k) / np.float32(np.sqrt(5))
    masked = np.where(np.tril(np.ones((7, 7), bool)), scores, np.float32(-np.inf))
    return np.einsum("hij,hjd->ihd", _softmax_of(masked), v).reshape(7, 10)


def _embedding(table: Array, words: Array, w: Array) -> tuple[Array, Array]:
    logits = table[words % 11].mean(axis=1) @ w
    return logits, logits.argmax(axis=1)


def _image_normalize(image: Array, mean: Array) -> tuple[Array, Array]:
    normal = (image.astype(np.float32) - mean) / np.float32(4.5)
    lit = np.where(image < 3, np.float32(0), np.clip(normal, -2, 2).astype(np.float32))
    return lit, np.clip(np.trunc(lit * np.float32(127)), 0, 255).astype(np.uint8)


def _nearest(points: Array, centres: Array) -> tuple[Array, Array]:
    distances = np.linalg.norm(points[:, None] - centres, axis=2)
    nearest = distances.argmin(axis=1)
    return nearest, np.bincount(nearest, minlength=5).astype(np.int32)


def _shuffle(x: Array) -> tuple[Array, Array]:
    reversed_ = x[::-1]
    joined = np.hstack([reversed_[:, 3:], x[:, 1::2]])
    return joined, np.pad(reversed_[:, :3], ((1, 1), (0, 3)), constant_values=-1)


def _conv2d(image: Array, filter_: Array, bias: Array) -> Array:
    padded = np.pad(image, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
    summed = np.einsum("ncyxij,fcij->nfyx", windows[:, :, ::2, ::2], filter_)
    return summed + bias[:, None, None]


def _blur(image: Array) -> Array:
    rows = np.pad(image, ((0, 0), (1, 1)), mode="edge")
    rows = (rows[:, :-2] + 2 * rows[:, 1:-1] + rows[:, 2:]) / 4
    columns = np.pad(rows, ((1, 1), (0, 0)), mode="edge")
    return (columns[:-2] + 2 * columns[1:-1] + columns[2:]) / 4


def _jacobi(grid: Array, out: Array) -> tuple[Array, Array]:
    after = out.copy()
    after[1:-1, 1:-1] = (grid[:-2, 1:-1] + grid[2:, 1:-1] + grid[1:-1, :-2] + grid[1:-1, 2:]) / 4
    return grid, after


def _triangular_solve(matrix: Array, b: Array) -> tuple[Array, Array]:
    x = b.copy()
    for row in range(len(b)):
        for column in range(row):
            x[row] -= matrix[row, column] * x[column]
    return matrix, x


def _dot(x: Array, y: Array) -> Array:
    return np.dot(x, y)


FORMULAS: dict[str, Callable[..., Any]] = {
    "attention": _attention,
    "blur": _blur,
    "conv2d": _conv2d,
    "dot": _dot,
    "embedding": _embedding,
    "hidden": _hidden,
    "image_normalize": _image_normalize,
    "jacobi": _jacobi,
    "layer_norm": _layer_norm,
    "mlp": _mlp,
    "nearest": _nearest,
    "shuffle": _shuffle,
    "softmax": _softmax,
    "triangular_solve": _triangular_solve,
}
