"""The rules' transpositions: of whole arrays, and of operands that are packed."""

from __future__ import annotations

import numpy as np
import pytest
import stepwell as sw

RNG = np.random.default_rng(0)


def floats(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize(
    ("shape", "order"),
    [
        ((17, 33), (1, 0)),
        ((3, 70), (1, 0)),
        ((70, 3), (1, 0)),
        ((2, 3, 7, 20), (0, 2, 3, 1)),
        ((2, 7, 9, 3), (0, 3, 1, 2)),
        ((33, 2, 34), (2, 0, 1)),
        ((1088, 1088), (1, 0)),
    ],
)
@pytest.mark.parametrize("dtype", [np.float32, np.int8])
def test_transpositions(shape: tuple[int, ...], order: tuple[int, ...], dtype: type) -> None:
    x = RNG.integers(-100, 100, shape).astype(dtype)
    lowered = sw.jit(lambda x: sw.transpose(x, order)).lower(x)
    assert "vector.shuffle" in lowered.as_text("core")
    np.testing.assert_array_equal(lowered.compile()(x), x.transpose(order))


def test_arithmetic_on_the_way() -> None:
    x, y = floats(40, 50), floats(50, 40)
    np.testing.assert_array_equal(sw.jit(lambda x, y: sw.transpose(x) * 2 + y)(x, y), x.T * 2 + y)


@pytest.mark.parametrize("rows", [1601, 1613])
def test_packing_of_rows(rows: int) -> None:
    """Panels are whole, and copied without conditions, but for the last one."""
    x, w, b = floats(rows, 270), floats(301, 270), floats(301)
    function = sw.jit(lambda x, w, b: x @ w.T + b, target="x86-64-v4")
    assert "vector.shuffle" in function.lower(x, w, b).as_text("core")
    native = sw.jit(lambda x, w, b: x @ w.T + b)
    np.testing.assert_allclose(native(x, w, b), x @ w.T + b, rtol=1e-4, atol=1e-4)


def test_packing_of_a_transposed_operand() -> None:
    a, b = floats(50, 70), floats(45, 70)
    lowered = sw.jit(lambda a, b: a @ sw.transpose(b)).lower(a, b)
    assert "vector.shuffle" in lowered.as_text("core")
    np.testing.assert_allclose(lowered.compile()(a, b), a @ b.T, rtol=1e-4, atol=1e-4)
