"""What `fp` lets be done to floating-point results."""

from __future__ import annotations

import numpy as np
import pytest
import stepwell as sw


def in_order(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The matrix product with each product and each sum rounded, k after k."""
    result = np.zeros((a.shape[0], b.shape[1]), np.float32)
    for k in range(a.shape[1]):
        result = result + a[:, k : k + 1] * b[k : k + 1]
    return result


@pytest.mark.parametrize("shape", [(3, 5, 7), (65, 70, 33), (1, 200, 200)])
def test_strict_products_are_rounded_in_order(shape: tuple[int, int, int]):
    """Also where the kernel is blocked, packed and in vectors: no step changes the order of a sum."""
    rng = np.random.default_rng(0)
    m, k, n = shape
    a, b = rng.standard_normal((m, k), np.float32), rng.standard_normal((k, n), np.float32)
    strict = sw.jit(lambda a, b: a @ b, fp="strict")
    assert np.array_equal(strict(a, b), in_order(a, b))


def test_strict_kernels_are_vectors_too():
    a, b = np.ones((65, 70), np.float32), np.ones((70, 33), np.float32)
    text = sw.jit(lambda a, b: a @ b, fp="strict").lower(a, b).as_text("core")
    assert "vector.store" in text
    assert "fastmath" not in text


def test_strict_sums_are_in_order():
    x = np.random.default_rng(1).standard_normal((9, 100), np.float32)
    expected = np.zeros(9, np.float32)
    for column in x.T:
        expected = expected + column
    assert np.array_equal(sw.jit(lambda x: sw.sum(x, axis=1), fp="strict")(x), expected)


@pytest.mark.parametrize(("fp", "calls"), [("strict", True), ("contract", False), ("fast", False)])
def test_functions_of_the_c_library(fp: str, calls: bool):
    x = np.linspace(-3, 3, 100, dtype=np.float32)
    function = sw.jit(lambda x: sw.exp(x), fp=fp)
    assert ("intr.exp" in function.lower(x).as_text("llvm")) is calls
    assert np.allclose(function(x), np.exp(x), rtol=1e-6)


def test_mistake():
    with pytest.raises(sw.StepwellError, match=r"found fp='loose', expected one of strict, con"):
        sw.jit(lambda x: x, fp="loose")(np.ones(3, np.float32))
