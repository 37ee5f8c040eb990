"""The order of matrix products takes the fewest operations; joined products are what they were apart."""

from __future__ import annotations

from functools import cache
from itertools import pairwise

import numpy as np
import pytest
import stepwell as sw
from hypothesis import given, settings
from hypothesis import strategies as st
from stepwell.interpreters.harness import interpret
from stepwell.transforms.graph.merge_products import GraphMergeProductsPass
from stepwell.transforms.graph.order_products import GraphOrderProductsPass, best_order
from xdsl.context import Context


@given(st.lists(st.integers(1, 50), min_size=2, max_size=8))
def test_no_order_takes_fewer_multiplications(extents):
    @cache
    def fewest(i: int, j: int) -> int:
        """Of every way to set parentheses."""
        ways = [
            fewest(i, k) + fewest(k, j) + extents[i] * extents[k] * extents[j]
            for k in range(i + 1, j)
        ]
        return min(ways, default=0)

    assert best_order(extents)[0] == fewest(0, len(extents) - 1)


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_ordered_products_keep_values(data):
    extents = data.draw(st.lists(st.integers(1, 9), min_size=4, max_size=6))
    rng = np.random.default_rng(0)
    matrices = [rng.standard_normal((m, n)).astype(np.float32) for m, n in pairwise(extents)]

    def product(*factors):
        factors = list(factors)
        while len(factors) > 1:
            at = data.draw(st.integers(0, len(factors) - 2))
            factors[at : at + 2] = [factors[at] @ factors[at + 1]]
        return factors[0]

    module = sw.jit(product).lower(*matrices).module("graph").clone()
    GraphOrderProductsPass().apply(Context(), module)
    module.verify()
    (found,) = interpret(module, matrices)
    expected = np.linalg.multi_dot([m.astype(np.float64) for m in matrices])
    bound = np.linalg.multi_dot([np.abs(m) for m in matrices]) if len(matrices) > 1 else 1
    assert np.all(np.abs(found - expected) <= 64 * np.finfo(np.float32).eps * bound)


@pytest.mark.parametrize("shape", [(5, 7), (2, 5, 7)])
@pytest.mark.parametrize("with_bias", [False, True])
def test_joined_products_keep_values(shape, with_bias):
    rng = np.random.default_rng(0)
    x = rng.integers(-8, 8, shape).astype(np.float32)
    sizes = (3, 4, 1)
    weights = [rng.integers(-8, 8, (7, n)).astype(np.float32) for n in sizes]
    biases = [rng.integers(-8, 8, n).astype(np.float32) for n in sizes]

    def layers(x):
        found = [x @ w for w in weights]
        if with_bias:
            found = [y + b for y, b in zip(found, biases, strict=True)]
        return tuple(sw.swapaxes(y, -1, -2) for y in found)

    module = sw.jit(layers).lower(x).module("graph").clone()
    expected = interpret(module, [x])
    GraphMergeProductsPass().apply(Context(), module)
    module.verify()
    assert str(module).count("graph.matmul") == 1
    for found, array in zip(interpret(module, [x]), expected, strict=True):
        assert np.array_equal(found, array)
    for found, array in zip(sw.jit(layers)(x), expected, strict=True):
        assert np.array_equal(found, array)
