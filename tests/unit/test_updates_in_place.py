"""Slices and multiples that are replaced, with what is computed for them in the same loops."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
import stepwell as sw


def test_multiples_are_replaced() -> None:
    @sw.jit
    def replaced(x: Any, step: Any, start: Any) -> Any:
        i = sw.arange(x.shape[0])
        from_start = (i % step == 0) & (i >= start)
        return sw.where(from_start, -1.0, x), (x > 0) & ~from_start, (x < 0) | (i % step == 0)

    steps = (1, 2, 7, 200, -3, 0, np.iinfo(np.int64).min)
    for n in (1, 5, 33):
        x, i = np.arange(n) - 2.5, np.arange(n)
        for step, start in product(map(np.asarray, steps), map(np.asarray, (-3, 0, 4, 40))):
            with np.errstate(divide="ignore"):
                every = np.mod(i, step) == 0
            later = every & (i >= start)
            expected = np.where(later, -1.0, x), (x > 0) & ~later, (x < 0) | every
            for found, wanted in zip(replaced(x, step, start), expected, strict=True):
                np.testing.assert_array_equal(found, wanted)


def smoothed(np: Any, x: Any) -> Any:
    around = x[:-2] + x[2:] - 2 * x[1:-1]
    return around / (1 + abs(around))


@pytest.mark.parametrize("how", ["set", "add"])
def test_slices_are_replaced_by_what_is_computed(how: str) -> None:
    @sw.jit
    def steps(x: Any) -> Any:
        def step(_: Any, x: Any) -> Any:
            return getattr(x.at[1:-1], how)(smoothed(sw, x))

        return sw.fori_loop(0, 3, step, x)

    for n in (3, 17, 100):
        x = np.random.default_rng(n).standard_normal(n)
        wanted = x.copy()
        for _ in range(3):
            inner = smoothed(np, wanted)
            after = inner if how == "set" else wanted[1:-1] + inner
            wanted = np.concatenate([wanted[:1], after, wanted[-1:]])
        np.testing.assert_allclose(steps(x), wanted, rtol=1e-12, atol=1e-13)


def test_borders_are_computed_in_one_kernel() -> None:
    @sw.jit
    def bordered(x: Any) -> Any:
        return x.at[1:-1, 2:].multiply(3).at[0, :].set(0).at[:, -1].set(7)

    for n in (3, 33):
        x = np.random.default_rng(n).standard_normal((n, n + 2))
        wanted = x.copy()
        wanted[1:-1, 2:] *= 3
        wanted[0, :], wanted[:, -1] = 0, 7
        np.testing.assert_allclose(bordered(x), wanted, rtol=1e-14)
        assert bordered.lower(x).as_text("te").count("te.kernel") == 1


def test_a_long_vector_is_crossed_out_in_steps_and_not_in_tiles() -> None:
    @sw.jit
    def sieve(x: Any) -> Any:
        i = sw.arange(x.shape[0])

        def cross_out(k: Any, x: Any) -> Any:
            return x & ~((i % k == 0) & (i >= k * k))

        return sw.fori_loop(2, 101, cross_out, x)

    assert "fill_multiples" in sieve.lower(np.ones(20_000, bool)).as_text("te")


def test_stores_along_a_row_are_no_updates_of_computed_places():
    """The loops of a triangular solve have one name; what stores to the next place of a row stays for lanes."""
    rng = np.random.default_rng(0)
    matrix, right = rng.normal(size=(9, 9)) + 9 * np.eye(9), rng.normal(size=(9, 17))
    low = sw.jit(lambda a, b: sw.linalg.solve(a, b)).lower(matrix, right)
    np.testing.assert_allclose(
        low.compile(threads=1)(matrix, right), np.linalg.solve(matrix, right)
    )
    assert 'loop.for serial "column" %column = 0 to 17' in low.as_text("loop")
