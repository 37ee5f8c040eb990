"""Attention on operands that are one array or computed in the kernel, and with masks, goes by blocks of rows."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import stepwell as sw

Array = Any  # a NumPy array, or what traces as one
F32 = np.float32
LOW = F32(-1e9)


class Library:
    """What attention is written with: Stepwell's functions, or NumPy's."""

    def __init__(self, module: Any, softmax: Callable[[Array], Array]):
        self.module, self.softmax = module, softmax

    def __getattr__(self, name: str) -> Any:
        return getattr(self.module, name)

    def attention(self, q: Array, k: Array, v: Array, finish: Any = lambda scores: scores) -> Array:
        scores = q @ self.module.swapaxes(k, -1, -2) * F32(0.3)
        return self.softmax(finish(scores)) @ v

    def of_two(self, q: Array, k: Array) -> Array:
        return self.attention(q, k, k)

    def of_one(self, q: Array) -> Array:
        return self.attention(q, q, q)

    def normed(self, x: Array) -> Array:
        return x / self.module.sqrt(self.module.mean(x * x, axis=-1, keepdims=True) + F32(1e-3))


def np_softmax(x: np.ndarray) -> np.ndarray:
    exp = np.exp(x - x.max(-1, keepdims=True))
    return exp / exp.sum(-1, keepdims=True)


STEPWELL = Library(sw, lambda x: sw.softmax(x, axis=-1))
NUMPY = Library(np, np_softmax)

Variant = Callable[[Library, Array, Array, Array, Array], Array]
"""Of a library, `q`, `k`, `v`, and numbers per row and column of the scores."""

VARIANTS: dict[str, Variant] = {
    "k is v": lambda m, q, k, v, s: m.of_two(q, k),
    "q is k": lambda m, q, k, v, s: m.attention(q, q, v),
    "all are one": lambda m, q, k, v, s: m.of_one(q),
    "k scaled": lambda m, q, k, v, s: m.attention(q, k * F32(0.5), v),
    "v shifted": lambda m, q, k, v, s: m.attention(q, k, v + F32(1)),
    "all computed": lambda m, q, k, v, s: m.attention(q * F32(2), m.tanh(k), v + k),
    "k and v computed as one": lambda m, q, k, v, s: m.of_two(q, k * v),
    "all computed as one": lambda m, q, k, v, s: m.of_one(q * F32(0.5)),
    "normed": lambda m, q, k, v, s: m.attention(m.normed(q), m.normed(k), v),
    "all normed as one": lambda m, q, k, v, s: m.of_one(m.normed(q)),
    "mask": lambda m, q, k, v, s: m.attention(q, k, v, lambda scores: scores + s),
    "mask per column": lambda m, q, k, v, s: m.attention(q, k, v, lambda scores: scores + s[:1]),
    "choice": lambda m, q, k, v, s: m.attention(q, k, v, lambda x: m.where(s > 0, x, LOW)),
    "choice and shifted v": lambda m, q, k, v, s: m.attention(
        q, k, v + F32(1), lambda x: m.where(s > 0, x, LOW)
    ),
}
SHAPES = [((2,), 17, 16), ((), 100, 64), ((3,), 33, 5), ((2,), 128, 64), ((1, 2), 64, 16)]
"""The batch, the rows of each operand and their width: tiles that come out even, and others."""

CASES = [(name, SHAPES[n % len(SHAPES)]) for n, name in enumerate(VARIANTS)]
SMALL = [("k is v", ((2,), 1, 5)), ("all computed", ((2,), 3, 16)), ("mask", ((), 3, 5))]


def operands(batch: tuple[int, ...], rows: int, width: int) -> list[np.ndarray]:
    rng = np.random.default_rng(rows)
    shapes = [(*batch, rows, width)] * 3 + [(rows, rows)]
    q, k, v, scores = (rng.standard_normal(shape, F32) for shape in shapes)
    return [q, k, v, scores + 2 * np.eye(rows, dtype=F32)]


def check(name: str, shape: tuple[tuple[int, ...], int, int]) -> str:
    """Compare with NumPy; what the loops are."""
    function, arrays = VARIANTS[name], operands(*shape)
    low = sw.jit(lambda q, k, v, s: function(STEPWELL, q, k, v, s)).lower(*arrays)
    np.testing.assert_allclose(
        low.compile(threads=1)(*arrays), function(NUMPY, *arrays), rtol=1e-4, atol=2e-5
    )
    return low.as_text("loop")


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("name", "shape"), CASES, ids=VARIANTS)
def test_by_blocks_of_rows(name: str, shape: tuple[tuple[int, ...], int, int]):
    assert "exp.rows" in check(name, shape)


@pytest.mark.parametrize(("name", "shape"), SMALL)
def test_least_sizes(name: str, shape: tuple[tuple[int, ...], int, int]):
    """By whatever rule."""
    check(name, shape)


def test_what_is_computed_is_computed_where_it_is_packed():
    """Of two operands that are computed there are panels, and no other memory."""
    text = check("all computed", ((2,), 128, 64))
    made = re.findall(r"%([\w.]+) = loop\.alloc", text)
    assert sum(name.endswith(".right") for name in made) == 2
    assert not any(name.startswith(("transpose", "add")) for name in made)


def test_two_operands_that_are_one_array_are_packed_apart():
    """The scores read panels of `k` transposed, and the product with the values others, or `k` as it is."""
    text = check("k is v", ((2,), 128, 64))
    scores, values = text.split('"matmul_2.k"')
    assert re.search(r'"matmul_1\.k"[^}]*loop\.load %matmul_1\.right\[', scores)
    assert re.search(r"^[^}]*loop\.load %(matmul_2\.right|k)\[", values)


@pytest.mark.parametrize("batch", [(), (2,)])
def test_heads_that_lie_side_by_side_in_the_rows_of_one_array(batch: tuple[int, ...]):
    """
    As one product makes queries, keys and values: what each reads is viewed with a dimension for the heads, and the
    result is written to where they go.
    """
    rows, heads, width = 33, 3, 20
    x = np.random.default_rng(5).standard_normal((*batch, rows, 3 * heads * width), F32)

    def mixed(m: Library, x: Array) -> Array:
        parts = (x[..., n * heads * width : (n + 1) * heads * width] for n in range(3))
        split = (
            m.swapaxes(m.reshape(part, (*batch, rows, heads, width)), -2, -3) for part in parts
        )
        return m.reshape(m.swapaxes(m.attention(*split), -2, -3), (*batch, rows, heads * width))

    low = sw.jit(lambda x: mixed(STEPWELL, x)).lower(x)
    np.testing.assert_allclose(low.compile(threads=1)(x), mixed(NUMPY, x), rtol=1e-4, atol=2e-5)
    assert "exp.rows" in low.as_text("loop")
