"""What `fp` lets be done to floating-point results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import stepwell as sw


def in_order(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The matrix product with each product and each sum rounded, k after k."""
    result = np.zeros((a.shape[0], b.shape[1]), a.dtype)
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


@pytest.mark.parametrize(
    "function",
    [lambda x: sw.softmax(x), lambda x: sw.layer_norm(x), lambda x: (sw.sum(x, axis=-1), x * 2)],
)
@pytest.mark.parametrize("columns", [5, 200])
def test_strict_rows_are_vectors_but_for_their_sums(function: Callable[[Any], Any], columns: int):
    x = np.random.default_rng(2).standard_normal((40, columns), np.float32)
    low = sw.jit(function, fp="strict").lower(x)
    assert low.script(), "no rule has scheduled it"
    assert "vector.store" in low.as_text("core") or "vector.maskedstore" in low.as_text("core")
    assert np.allclose(low.compile()(x)[0], np.asarray(sw.jit(function)(x)[0]), atol=1e-5)


def test_strict_attention_goes_by_blocks_of_rows():
    """The sum of a row of exponentials stays a loop of its own, and they are computed in front of it."""
    q = np.random.default_rng(3).standard_normal((32, 16))
    k, v = np.random.default_rng(4).standard_normal((2, 33, 16))
    low = sw.jit(lambda q, k, v: sw.softmax(q @ k.T) @ v, fp="strict").lower(q, k, v)
    assert "matmul_max_exp_sum_softmax_matmul/" in low.script()
    assert "register" in low.as_text("loop"), "no register tile: the rule was refused"
    scores = in_order(q, k.T)
    e = np.exp(scores - scores.max(-1, keepdims=True))
    total = np.zeros((32, 1))
    for column in e.T:
        total = total + column[:, None]
    assert np.allclose(low.compile()(q, k, v), (e / total) @ v, rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize(("fp", "calls"), [("strict", True), ("contract", False), ("fast", False)])
def test_functions_of_the_c_library(fp: str, calls: bool):
    x = np.linspace(-3, 3, 100, dtype=np.float32)
    function = sw.jit(lambda x: sw.exp(x), fp=fp)
    assert ("intr.exp" in function.lower(x).as_text("llvm")) is calls
    assert np.allclose(function(x), np.exp(x), rtol=1e-6)


def test_mistake():
    with pytest.raises(sw.StepwellError, match=r"found fp='loose', expected one of strict, con"):
        sw.jit(lambda x: x, fp="loose")(np.ones(3, np.float32))
