"""Attention by blocks of rows: agrees with NumPy, and never holds all the scores."""

from __future__ import annotations

import re

import numpy as np
import pytest
import stepwell as sw


def attention(q, k, v):
    return sw.softmax(q @ sw.swapaxes(k, -1, -2) * np.float32(0.3), axis=-1) @ v


def expected(q: np.ndarray, k: np.ndarray, v: np.ndarray) -> np.ndarray:
    scores = q @ k.swapaxes(-1, -2) * np.float32(0.3)
    exp = np.exp(scores - scores.max(-1, keepdims=True))
    return exp / exp.sum(-1, keepdims=True) @ v


def operands(batch: int, rows: int, columns: int, width: int) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    shapes = ((batch, rows, width), (batch, columns, width), (batch, columns, width))
    return [rng.standard_normal(shape, np.float32) for shape in shapes]


@pytest.mark.parametrize(
    "shape", [(2, 6, 6, 4), (2, 16, 16, 8), (3, 33, 31, 17), (2, 37, 100, 16), (1, 5, 7, 3)]
)
def test_agrees_with_numpy(shape: tuple[int, int, int, int]):
    """Also where a block of rows is all there are, and where rows and columns are left over."""
    arrays = operands(*shape)
    assert np.allclose(sw.jit(attention)(*arrays), expected(*arrays), atol=1e-5)


def test_scores_are_never_all_there():
    arrays = operands(2, 64, 96, 16)
    text = sw.jit(attention).lower(*arrays).as_text("loop")
    sizes = [
        np.prod([int(n) for n in shape.split("x")[:-1]])
        for shape in re.findall(r"loop\.alloc \w+ : memref<([^>]*)>", text)
    ]
    assert sizes and max(sizes) < 2 * 64 * 96 // 4
