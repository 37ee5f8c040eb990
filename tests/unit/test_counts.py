"""Counting: products of one-hot matrices, and updates of which a few steps are written out, agree with NumPy."""

from __future__ import annotations

import numpy as np
import pytest
import stepwell as sw


def pairs(np, x, y, names):
    return (x[:, None] == names).T.astype("float64") @ (y[:, None] == names).astype("float64")


def ranges(np, x, y, names):
    """Of names that are known, in other orders of the axes."""
    return (np.arange(3, 5)[:, None] == x).astype("int64") @ (y[:, None] == np.arange(2)).astype(
        "int64"
    )


@pytest.mark.parametrize("program", [pairs, ranges])
@pytest.mark.parametrize("dtype", ["int64", "uint8", "int8"])
def test_products_of_one_hot_matrices(program, dtype: str):
    rng = np.random.default_rng(1)
    x, y = rng.integers(0, 6, (2, 201)).astype(dtype)
    compiled = sw.jit(lambda *given: program(sw, *given))
    for names in ([4, 0, 3], [2, 5, 2], [0, 0, 0]):  # with names that are there twice
        found, expected = (
            compiled(x, y, np.array(names, dtype)),
            program(np, x, y, np.array(names, dtype)),
        )
        np.testing.assert_array_equal(found, expected)
        assert found.dtype == expected.dtype


@pytest.mark.parametrize("count", [1, 7, 8, 33, 100, 3001])
def test_steps_that_are_written_out_leave_a_rest(count: int):
    rng = np.random.default_rng(count)
    x, weights = rng.integers(-1, 3, count), rng.random(count)

    def counted(np, x, weights, **length):
        kept = np.where(x < 0, 3, x)
        return np.bincount(kept, **length), np.bincount(kept, weights, **length)

    found = sw.jit(lambda *given: counted(sw, *given, length=5))(x, weights)
    for one, other in zip(found, counted(np, x, weights, minlength=5), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-14)


@pytest.mark.parametrize("n", [1, 33, 2063, 4096])
def test_sums_of_what_is_computed_ahead(n: int):
    rng = np.random.default_rng(n)
    d, x = rng.normal(size=n), rng.normal(size=50)
    c, r = rng.integers(-50, 50, n), rng.integers(0, 17, n)
    found = sw.jit(lambda d, c, r, x: sw.bincount(r, weights=d * x[c], length=17))(d, c, r, x)
    wanted = np.bincount(r, weights=d * x[c], minlength=17)
    np.testing.assert_allclose(found, wanted, rtol=1e-11, atol=1e-13)
